//! Bodies of requests: turns that alternate, each a list of blocks that are not blank.

use std::borrow::Cow;

use domain::{
    ChatRequest, Json, JsonObject, Message, Part, Role, ToolCall,
    seams::{ProviderError, ProviderErrorKind, Target},
};
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{
    media::{self, Medium},
    tools::call_id,
};
use crate::adapter::Manner;

const USER: &str = "user";
const ASSISTANT: &str = "assistant";

/// The body of a chat request.
pub(super) struct ChatBody<'a> {
    pub(super) target: &'a Target,
    pub(super) turns: Turns<'a>,
    /// All other members.
    pub(super) members: JsonObject,
    pub(super) manner: Manner,
}

impl Serialize for ChatBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry("model", &self.target.model)?;
        if let Some(system) = &self.turns.system {
            body.serialize_entry("system", system)?;
        }
        body.serialize_entry("messages", &self.turns.messages)?;
        if self.manner == Manner::Streamed {
            body.serialize_entry("stream", &true)?;
        }
        for (member, value) in &self.members {
            body.serialize_entry(member, value)?;
        }
        body.end()
    }
}

/// A conversation in the dialect's form.
#[derive(Debug, Default)]
pub(super) struct Turns<'a> {
    system: Option<String>,
    messages: Vec<Turn<'a>>,
}

#[derive(Debug, Serialize)]
struct Turn<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Block<'a> {
    Spoken(Spoken<'a>),
    Medium(Medium<'a>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Spoken<'a> {
    Text {
        text: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: Json,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Block<'a>>,
    },
}

/// Words a conversation. System messages stand apart, wherever they were; turns of one side that follow each other are
/// one.
pub(super) fn turns<'a>(
    target: &Target,
    request: &'a ChatRequest,
) -> Result<Turns<'a>, ProviderError> {
    let mut turns = Turns::default();
    let has_turns = request.messages.iter().any(is_turn);
    for message in &request.messages {
        match message.role {
            // There has to be a turn to answer to.
            Role::System if !has_turns => turns.add(USER, blocks(target, message)?),
            Role::System => turns.instruct(message)?,
            Role::User => turns.add(USER, blocks(target, message)?),
            Role::Assistant => {
                let mut content = blocks(target, message)?;
                for call in &message.tool_calls {
                    content.push(Block::Spoken(tool_use(call)?));
                }
                turns.add(ASSISTANT, content);
            }
            Role::Tool => {
                let result = Spoken::ToolResult {
                    tool_use_id: call_id(message.tool_call_id.as_deref().unwrap_or_default()),
                    content: blocks(target, message)?,
                };
                turns.add(USER, vec![Block::Spoken(result)]);
            }
        }
    }
    turns.trim_end();
    Ok(turns)
}

/// Whether a message makes a turn: instructions stand apart, and a turn that says nothing is none.
fn is_turn(message: &Message) -> bool {
    let is_blank = |part: &Part| matches!(part, Part::Text(text) if text.trim().is_empty());
    match message.role {
        Role::System => false,
        Role::Tool => true,
        Role::User | Role::Assistant => {
            !message.tool_calls.is_empty() || !message.parts.iter().all(is_blank)
        }
    }
}

impl<'a> Turns<'a> {
    fn add(&mut self, role: &'static str, content: Vec<Block<'a>>) {
        match self.messages.last_mut() {
            _ if content.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(content),
            _ => self.messages.push(Turn { role, content }),
        }
    }

    fn instruct(&mut self, message: &Message) -> Result<(), ProviderError> {
        for part in &message.parts {
            let Part::Text(text) = part else {
                let reason = "a system message of the dialect holds text alone";
                return Err(ProviderError::new(ProviderErrorKind::Invalid, reason));
            };
            if text.trim().is_empty() {
                continue;
            }
            match &mut self.system {
                Some(system) => {
                    system.push_str("\n\n");
                    system.push_str(text);
                }
                None => self.system = Some(text.clone()),
            }
        }
        Ok(())
    }

    /// The beginning of an answer, which the model is to go on with, may not end with white space.
    fn trim_end(&mut self) {
        if let Some(last) = self.messages.last_mut()
            && last.role == ASSISTANT
            && let Some(Block::Spoken(Spoken::Text { text })) = last.content.last_mut()
        {
            *text = text.trim_end();
        }
    }
}

/// The parts of a message. Blank texts are refused by the provider, and say nothing.
fn blocks<'a>(target: &Target, message: &'a Message) -> Result<Vec<Block<'a>>, ProviderError> {
    let mut blocks = Vec::new();
    for part in &message.parts {
        blocks.push(match part {
            Part::Text(text) if text.trim().is_empty() => continue,
            Part::Text(text) => Block::Spoken(Spoken::Text { text }),
            Part::Image(url) => Block::Medium(media::image(url)?),
            Part::File(url) => Block::Medium(media::document(url)?),
            Part::Audio(_) => return Err(media::no_audio(target)),
        });
    }
    Ok(blocks)
}

/// A call that the model made, whose arguments have to be an object here.
fn tool_use(call: &ToolCall) -> Result<Spoken<'_>, ProviderError> {
    let text = call.arguments.trim();
    let input: Option<Json> = match text {
        "" => Some(Json::of(&JsonObject::new())),
        text => serde_json::from_str(text).ok().filter(Json::is_object),
    };
    let input = input.ok_or_else(|| {
        let reason = format!(
            "the arguments of the tool call `{}` are no JSON object",
            call.id
        );
        ProviderError::new(ProviderErrorKind::Invalid, reason)
    })?;
    Ok(Spoken::ToolUse {
        id: call_id(&call.id),
        name: &call.name,
        input,
    })
}
