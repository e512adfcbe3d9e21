//! Tools and the choice among them. What the chat dialect nests under its kind lies flat here.

use domain::{
    ChatRequest, Json, Tool, ToolChoice, ToolMode,
    seams::{ProviderError, ProviderErrorKind},
};
use serde::Serialize;
use serde_json::json;

use super::request::object;

/// Tools that the host itself runs, by how the names of their kinds begin: they ask nothing of the caller.
const RUN_BY_HOST: [&str; 5] = [
    "code_interpreter",
    "file_search",
    "image_generation",
    "mcp",
    "web_search",
];

/// The members `tools` and `tool_choice`: of the request, and of what is `given` beside it in either dialect.
pub(super) fn worded(
    request: &ChatRequest,
    given: Option<&Json>,
    given_choice: Option<&Json>,
) -> Result<(Option<Json>, Option<Json>), ProviderError> {
    let mut tools = Vec::new();
    for tool in &request.tools {
        tools.push(declared(tool)?);
    }
    let choice = match (&request.tool_choice, given_choice) {
        (_, Some(given)) => Some(flat(given)),
        (Some(choice), None) if !tools.is_empty() => Some(chosen(choice)?),
        _ => None,
    };
    let listed = given.map(|given| serde_json::from_str::<Vec<Json>>(given.text()));
    match listed {
        // What is no list is for the provider to refuse.
        Some(Err(_)) => return Ok((given.cloned(), choice)),
        Some(Ok(given)) => tools.extend(given.iter().map(flat)),
        None => {}
    }
    let tools = (!tools.is_empty()).then(|| Json::of(&tools));
    Ok((tools, choice))
}

fn declared(tool: &Tool) -> Result<Json, ProviderError> {
    #[derive(Serialize)]
    struct Function<'a> {
        #[serde(rename = "type")]
        kind: &'static str,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        parameters: Json,
        strict: Json,
    }
    if RUN_BY_HOST.iter().any(|kind| tool.kind.starts_with(kind)) {
        return Ok(flat(&tool.as_given));
    }
    if tool.kind != "function" {
        let kind = &tool.kind;
        let reason = format!("a tool of the kind `{kind}` cannot be used with the Responses API");
        return Err(ProviderError::new(ProviderErrorKind::Invalid, reason));
    }
    let given = object(object(Some(&tool.as_given)).get("function"));
    let nothing = || Json::of(&json!({ "type": "object", "properties": {} }));
    Ok(Json::of(&Function {
        kind: "function",
        name: &tool.name,
        description: tool.description.as_deref(),
        parameters: tool.parameters.clone().unwrap_or_else(nothing),
        // Strict is the default here, and not in the chat dialect.
        strict: given
            .get("strict")
            .cloned()
            .unwrap_or_else(|| Json::of(&false)),
    }))
}

fn chosen(choice: &ToolChoice) -> Result<Json, ProviderError> {
    Ok(match &choice.mode {
        ToolMode::Auto => Json::of(&"auto"),
        ToolMode::None => Json::of(&"none"),
        ToolMode::Required => Json::of(&"required"),
        ToolMode::Named(name) => Json::of(&json!({ "type": "function", "name": name })),
        ToolMode::Other => {
            let given = choice.as_given.text();
            let reason = format!("the tool choice `{given}` cannot be used with the Responses API");
            return Err(ProviderError::new(ProviderErrorKind::Invalid, reason));
        }
    })
}

/// `{"type": "x", "x": {…}}` with the inner members beside the kind; anything else as it is.
pub(super) fn flat(given: &Json) -> Json {
    let mut outer = object(Some(given));
    let kind = outer.get("type").and_then(Json::as_string);
    let inner = kind.as_ref().and_then(|kind| outer.shift_remove(kind));
    let Some(inner) = inner.filter(Json::is_object) else {
        return given.clone();
    };
    outer.extend(object(Some(&inner)));
    if kind.as_deref() == Some("function") && outer.contains_key("parameters") {
        let strict = "strict".to_owned();
        outer.entry(strict).or_insert_with(|| Json::of(&false));
    }
    Json::of(&outer)
}
