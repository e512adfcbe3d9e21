//! The conversation, turn by turn: text in one place, images as bytes in another.

use domain::{
    ChatRequest, Json, JsonObject, Message, Part, Role, ToolCall,
    seams::{ProviderError, ProviderErrorKind, Target},
};
use serde::Serialize;
use serde_json::json;

#[derive(Serialize)]
pub(super) struct Turn<'a> {
    role: Role,
    content: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    arguments: Json,
}

/// The turns.
pub(super) fn messages<'a>(
    target: &Target,
    request: &'a ChatRequest,
) -> Result<Vec<Turn<'a>>, ProviderError> {
    let turns = request.messages.iter().enumerate();
    let turns = turns.map(|(at, message)| turn(target, message, &request.messages[..at]));
    turns.collect()
}

fn turn<'a>(
    target: &Target,
    message: &'a Message,
    before: &'a [Message],
) -> Result<Turn<'a>, ProviderError> {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for part in &message.parts {
        match part {
            Part::Text(text) => texts.push(text.as_str()),
            Part::Image(url) => images.push(base64(target, url)?),
            Part::Audio(_) => return Err(refused(target, "sound")),
            Part::File(_) => return Err(refused(target, "documents")),
        }
    }
    let answered = message.tool_call_id.as_deref();
    // Most models know a result by the tool's name.
    let mut calls = before.iter().rev().flat_map(|turn| &turn.tool_calls);
    let call = calls.find(|call| Some(call.id.as_str()) == answered);
    Ok(Turn {
        role: message.role,
        content: texts.join("\n"),
        images,
        tool_calls: message.tool_calls.iter().map(self::call).collect(),
        tool_name: call.map(|call| call.name.as_str()),
        tool_call_id: answered,
    })
}

/// A call as it was made. Its arguments are an object, even if the model's were not.
fn call(call: &ToolCall) -> Call<'_> {
    Call {
        id: &call.id,
        function: Called {
            name: &call.name,
            arguments: arguments(&call.arguments),
        },
    }
}

fn arguments(text: &str) -> Json {
    if text.trim().is_empty() {
        return Json::of(&JsonObject::new());
    }
    let object = Json::parse(text).ok().filter(Json::is_object);
    object.unwrap_or_else(|| Json::of(&json!({ "arguments": text })))
}

/// The bytes in a `data:` URL, as they stand there.
fn base64<'a>(target: &Target, url: &'a str) -> Result<&'a str, ProviderError> {
    let data = url
        .strip_prefix("data:")
        .and_then(|url| url.split_once(','));
    match data {
        Some((kind, data)) if kind.ends_with(";base64") => Ok(data),
        _ => Err(refused(target, "images that are not in base64")),
    }
}

fn refused(target: &Target, what: &str) -> ProviderError {
    let reason = format!(
        "the model `{}` cannot be given {what}: the dialect of Ollama has no place for such",
        target.name
    );
    ProviderError::new(ProviderErrorKind::Invalid, reason)
}
