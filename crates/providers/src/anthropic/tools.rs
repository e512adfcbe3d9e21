//! Tools: the caller's, which of them may be called, and how their calls are named.
//! <https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview>

use std::borrow::Cow;

use domain::{
    ChatRequest, Json, JsonObject, Tool, ToolMode,
    seams::{ProviderError, ProviderErrorKind, Target},
};
use serde::Serialize;

/// A choice of tools.
#[derive(Debug, Serialize)]
pub(super) struct Choice<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) disable_parallel_tool_use: Option<bool>,
}

/// The caller's tools.
pub(super) fn declared(tools: &[Tool]) -> Result<Json, ProviderError> {
    #[derive(Serialize)]
    struct Declared<'a> {
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        input_schema: JsonObject,
    }
    let declared = tools.iter().map(|tool| {
        if tool.kind != "function" {
            let reason = format!(
                "a tool of the type `{}` cannot be carried: the dialect knows functions alone",
                tool.kind
            );
            return Err(ProviderError::new(ProviderErrorKind::Invalid, reason));
        }
        let input_schema = parameters(tool);
        Ok(Declared {
            name: &tool.name,
            description: tool.description.as_deref(),
            input_schema,
        })
    });
    let declared: Vec<Declared<'_>> = declared.collect::<Result<_, _>>()?;
    Ok(Json::of(&declared))
}

/// The arguments of a tool, which are an object whether or not its schema says so; here it has to.
fn parameters(tool: &Tool) -> JsonObject {
    let given = tool.parameters.as_ref();
    let given = given.and_then(|given| serde_json::from_str(given.text()).ok());
    let mut schema: JsonObject = given.unwrap_or_default();
    if !schema.contains_key("type") {
        schema.shift_insert(0, "type".to_owned(), Json::of(&"object"));
    }
    schema
}

/// Which of the caller's tools may be called; `None` where the caller says nothing of it.
pub(super) fn choice<'a>(
    target: &Target,
    request: &'a ChatRequest,
) -> Result<Option<Choice<'a>>, ProviderError> {
    let parallel = target.options.get("parallel_tool_calls").map(Json::text);
    let one_at_most = (parallel == Some("false")).then_some(true);
    let (kind, name) = match request.tool_choice.as_ref().map(|choice| &choice.mode) {
        None if one_at_most.is_none() => return Ok(None),
        None | Some(ToolMode::Auto) => ("auto", None),
        Some(ToolMode::None) => ("none", None),
        Some(ToolMode::Required) => ("any", None),
        Some(ToolMode::Named(name)) => ("tool", Some(name.as_str())),
        Some(ToolMode::Other) => {
            let reason = "the `tool_choice` cannot be carried: the dialect has nothing like it";
            return Err(ProviderError::new(ProviderErrorKind::Invalid, reason));
        }
    };
    Ok(Some(Choice {
        kind,
        name,
        // Nothing is told of calls where there are none.
        disable_parallel_tool_use: one_at_most.filter(|_| kind != "none"),
    }))
}

/// The id of a call, which another host may have made up of characters that are refused here.
pub(super) fn call_id(id: &str) -> Cow<'_, str> {
    let is_taken = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    if id.chars().all(is_taken) {
        return Cow::Borrowed(id);
    }
    let taken = id.chars();
    let taken = taken.map(|char| if is_taken(char) { char } else { '_' });
    Cow::Owned(taken.collect())
}
