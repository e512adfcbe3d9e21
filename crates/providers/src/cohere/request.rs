//! Bodies of chat requests. A target's options follow our own members.

use domain::{
    ChatRequest, Json, JsonObject, Tool, ToolMode,
    seams::{ProviderError, ProviderErrorKind, Target},
};
use serde_json::Value;

use super::{demand::Members, message, options};
use crate::{adapter::Manner, openai::function::Declared, vocabulary};

/// The body of a chat request.
pub(super) fn body(
    target: &Target,
    request: &ChatRequest,
    manner: Manner,
    demand: Members,
) -> Result<JsonObject, ProviderError> {
    let mut body = JsonObject::new();
    let mut put = |member: &str, value: Json| {
        body.entry(member.to_owned()).or_insert(value);
    };
    put("model", Json::of(&target.model));
    put("messages", Json::of(&message::messages(target, request)?));
    for (member, value) in demand.into_iter().chain(tools(request)?) {
        put(member, value);
    }
    if manner == Manner::Streamed {
        put("stream", Json::of(&true));
    }
    for (member, value) in options::own(target) {
        put(member, value);
    }
    for (member, value) in vocabulary::carried(target, options::VOCABULARY) {
        put(member, value.clone());
    }
    Ok(body)
}

/// The caller's tools. There is no choice of one by name: it is the only one there is then.
fn tools(request: &ChatRequest) -> Result<Members, ProviderError> {
    let (mut tools, mut choice): (Vec<&Tool>, _) = (request.tools.iter().collect(), None);
    if tools.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(other) = tools.iter().find(|tool| tool.kind != "function") {
        return Err(unknown(&format!("tools of the kind `{}`", other.kind)));
    }
    match request.tool_choice.as_ref().map(|choice| &choice.mode) {
        None | Some(ToolMode::Auto) => {}
        Some(ToolMode::None) => choice = Some("NONE"),
        Some(ToolMode::Required) => choice = Some("REQUIRED"),
        Some(ToolMode::Named(name)) => {
            choice = Some("REQUIRED");
            tools.retain(|tool| tool.name == *name);
            if tools.is_empty() {
                let reason = format!("the tool choice names `{name}`, which is none of the tools");
                return Err(ProviderError::new(ProviderErrorKind::Invalid, reason));
            }
        }
        Some(ToolMode::Other) => {
            let given = request.tool_choice.as_ref().map(|choice| &choice.as_given);
            let given = given.map_or("", Json::text);
            return Err(unknown(&format!("the tool choice `{given}`")));
        }
    }
    let is_strict = tools.iter().all(|tool| is_strict(tool));
    let declared: Vec<Declared> = tools.into_iter().map(Declared::of).collect();
    let mut members = vec![("tools", Json::of(&declared))];
    members.extend(is_strict.then(|| ("strict_tools", Json::of(&true))));
    members.extend(choice.map(|choice| ("tool_choice", Json::of(&choice))));
    Ok(members)
}

/// Whether the caller wants the arguments held to their schema. Here that is said of all tools or of none.
fn is_strict(tool: &Tool) -> bool {
    tool.as_given.to_value()["function"]["strict"] == Value::Bool(true)
}

fn unknown(what: &str) -> ProviderError {
    let reason = format!("{what} cannot be used here: the dialect of Cohere has nothing like it");
    ProviderError::new(ProviderErrorKind::Invalid, reason)
}
