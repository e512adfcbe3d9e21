//! A conversation as input items: turns, calls, and their results, each an item of its own.

use std::borrow::Cow;

use domain::{
    Message, Part, Role,
    seams::{ProviderError, ProviderErrorKind},
};
use serde::Serialize;

use crate::openai::{
    ids,
    parts::{base64_data, document_name, sound_format},
};

/// How many characters the id of a call may have.
const LONGEST_ID: usize = 64;

/// An item.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item<'a> {
    Message {
        role: Role,
        content: Content<'a>,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: &'a str,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: Content<'a>,
    },
}

/// What is said.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(&'a str),
    Parts(Vec<ContentPart<'a>>),
}

/// A piece of it.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentPart<'a> {
    InputText {
        text: &'a str,
    },
    OutputText {
        text: &'a str,
    },
    InputImage {
        image_url: &'a str,
        detail: &'static str,
    },
    InputAudio {
        input_audio: Sound<'a>,
    },
    InputFile(Document<'a>),
}

#[derive(Serialize)]
pub(super) struct Sound<'a> {
    data: &'a str,
    format: Cow<'a, str>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Document<'a> {
    Data {
        filename: String,
        file_data: &'a str,
    },
    Address {
        file_url: &'a str,
    },
}

/// The items of a conversation.
pub(super) fn items(messages: &[Message]) -> Result<Vec<Item<'_>>, ProviderError> {
    let mut items = Vec::with_capacity(messages.len());
    for message in messages {
        let content = content(message)?;
        if message.role == Role::Tool {
            let call_id = message.tool_call_id.as_deref().unwrap_or_default();
            let call_id = ids::short(call_id, LONGEST_ID);
            let output = content;
            items.push(Item::FunctionCallOutput { call_id, output });
            continue;
        }
        let role = message.role;
        // A turn that does nothing but call says nothing.
        if !matches!(content, Content::Text("")) || message.tool_calls.is_empty() {
            items.push(Item::Message { role, content });
        }
        items.extend(message.tool_calls.iter().map(|call| Item::FunctionCall {
            call_id: ids::short(&call.id, LONGEST_ID),
            name: &call.name,
            arguments: &call.arguments,
        }));
    }
    Ok(items)
}

fn content(message: &Message) -> Result<Content<'_>, ProviderError> {
    match message.parts.as_slice() {
        [] => Ok(Content::Text("")),
        [Part::Text(text)] => Ok(Content::Text(text)),
        parts => {
            let parts = parts.iter().map(|part| content_part(message.role, part));
            parts.collect::<Result<_, _>>().map(Content::Parts)
        }
    }
}

fn content_part(role: Role, part: &Part) -> Result<ContentPart<'_>, ProviderError> {
    Ok(match (role, part) {
        (Role::Assistant, Part::Text(text)) => ContentPart::OutputText { text },
        (Role::Assistant, _) => return Err(misplaced("a turn of the assistant has text alone")),
        (_, Part::Text(text)) => ContentPart::InputText { text },
        (_, Part::Image(url)) => ContentPart::InputImage {
            image_url: url,
            detail: "auto",
        },
        (_, Part::Audio(url)) => {
            let sound = base64_data(url);
            let (subtype, data) =
                sound.ok_or_else(|| misplaced("the `data:` URL of a sound is no base64"))?;
            let format = sound_format(subtype);
            ContentPart::InputAudio {
                input_audio: Sound { data, format },
            }
        }
        (_, Part::File(url)) => ContentPart::InputFile(if url.starts_with("data:") {
            Document::Data {
                filename: document_name(url),
                file_data: url,
            }
        } else {
            Document::Address { file_url: url }
        }),
    })
}

fn misplaced(why: &str) -> ProviderError {
    let reason = format!("the messages cannot be put into the Responses API's words: {why}");
    ProviderError::new(ProviderErrorKind::Invalid, reason)
}
