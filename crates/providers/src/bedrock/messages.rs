//! Conversations: turns as blocks, user and assistant in turn, instructions apart
//! (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html>).

use std::{borrow::Cow, mem};

use domain::{
    Json, Message, Part, Role, ToolCall,
    seams::{ProviderError, ProviderErrorKind as Kind, Target},
};
use serde::Serialize;
use serde_json::json;

use crate::ending;

/// As many characters as the id of a call may have.
const MAX_ID: usize = 64;

const IMAGES: [(&str, &str); 5] = [
    ("image/png", "png"),
    ("image/jpeg", "jpeg"),
    ("image/jpg", "jpeg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
];
const SOUNDS: [(&str, &str); 14] = [
    ("audio/mpeg", "mp3"),
    ("audio/mp3", "mp3"),
    ("audio/wav", "wav"),
    ("audio/x-wav", "wav"),
    ("audio/wave", "wav"),
    ("audio/vnd.wave", "wav"),
    ("audio/ogg", "ogg"),
    ("audio/opus", "opus"),
    ("audio/flac", "flac"),
    ("audio/x-flac", "flac"),
    ("audio/aac", "aac"),
    ("audio/mp4", "m4a"),
    ("audio/x-m4a", "m4a"),
    ("audio/webm", "webm"),
];
/// The documents that Converse takes, by how their names end.
const DOCUMENTS: [&str; 9] = [
    "csv", "doc", "docx", "html", "md", "pdf", "txt", "xls", "xlsx",
];

/// A conversation.
pub(super) struct Conversation<'a> {
    pub(super) system: Vec<Block<'a>>,
    pub(super) turns: Vec<Turn<'a>>,
}

/// All that one side says before the other does.
#[derive(Serialize)]
pub(super) struct Turn<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

/// A piece of a turn.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Block<'a> {
    Text(Cow<'a, str>),
    Image(Medium<'a>),
    Audio(Medium<'a>),
    Document(Medium<'a>),
    ToolUse(ToolUse<'a>),
    ToolResult(ToolResult<'a>),
}

#[derive(Serialize)]
pub(super) struct Medium<'a> {
    format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    source: Bytes<'a>,
}

#[derive(Serialize)]
struct Bytes<'a> {
    bytes: &'a str,
}

#[derive(Serialize)]
pub(super) struct ToolUse<'a> {
    #[serde(rename = "toolUseId")]
    id: String,
    name: &'a str,
    input: Json,
}

#[derive(Serialize)]
pub(super) struct ToolResult<'a> {
    #[serde(rename = "toolUseId")]
    call_id: String,
    content: Vec<Block<'a>>,
}

impl<'a> Conversation<'a> {
    /// Words a conversation.
    pub(super) fn of(target: &Target, messages: &'a [Message]) -> Result<Self, ProviderError> {
        let mut system = Vec::new();
        let mut turns: Vec<Turn> = Vec::new();
        let mut writing = Writing {
            target,
            documents: 0,
        };
        for message in messages {
            let mut blocks = writing.blocks(&message.parts)?;
            let role = match message.role {
                Role::System => {
                    system.append(&mut blocks);
                    continue;
                }
                Role::User => "user",
                Role::Assistant => {
                    blocks.extend(message.tool_calls.iter().map(tool_use));
                    "assistant"
                }
                Role::Tool => {
                    let id = message.tool_call_id.as_deref().unwrap_or_default();
                    blocks = vec![Block::ToolResult(ToolResult {
                        call_id: call_id(id),
                        content: blocks,
                    })];
                    "user"
                }
            };
            match turns.last_mut() {
                _ if blocks.is_empty() => {}
                Some(turn) if turn.role == role => turn.content.append(&mut blocks),
                _ => turns.push(Turn {
                    role,
                    content: blocks,
                }),
            }
        }
        if !system.iter().all(|block| matches!(block, Block::Text(_))) {
            return Err(refused(target, "media in a system message"));
        }
        if turns.is_empty() {
            // Somebody has to speak.
            let content = mem::take(&mut system);
            turns.push(Turn {
                role: "user",
                content,
            });
        }
        turns.iter_mut().for_each(Turn::speak_of_documents);
        Ok(Self { system, turns })
    }
}

impl Turn<'_> {
    /// A turn with a document must have text, too.
    fn speak_of_documents(&mut self) {
        let is_text = |block: &Block| matches!(block, Block::Text(_));
        if self.content.iter().any(is_text) {
            return;
        }
        let name = self.content.iter().find_map(|block| match block {
            Block::Document(document) => document.name.clone(),
            _ => None,
        });
        self.content
            .extend(name.map(|name| Block::Text(name.into())));
    }
}

/// Counts the documents, whose names must differ.
struct Writing<'t> {
    target: &'t Target,
    documents: usize,
}

impl Writing<'_> {
    /// The parts as blocks. Blank texts are refused there, and say nothing.
    fn blocks<'a>(&mut self, parts: &'a [Part]) -> Result<Vec<Block<'a>>, ProviderError> {
        let mut blocks = Vec::new();
        for part in parts {
            match part {
                Part::Text(text) if text.trim().is_empty() => {}
                Part::Text(text) => blocks.push(Block::Text(text.into())),
                Part::Image(url) | Part::Audio(url) | Part::File(url) => {
                    blocks.push(self.medium(url)?);
                }
            }
        }
        Ok(blocks)
    }

    /// The block is that of what the data are, whatever part they stand in.
    fn medium<'a>(&mut self, url: &'a str) -> Result<Block<'a>, ProviderError> {
        let Some((kind, bytes)) = base64_data(url) else {
            return Err(refused(self.target, "a part that is no base64 `data:` URL"));
        };
        let kind = kind.to_ascii_lowercase();
        let format = |table: &[(&str, &'static str)]| {
            let row = table.iter().find(|(known, _)| *known == kind);
            row.map(|(_, format)| *format)
        };
        let medium = |format, name| Medium {
            format,
            name,
            source: Bytes { bytes },
        };
        if let Some(format) = format(&IMAGES) {
            Ok(Block::Image(medium(format, None)))
        } else if let Some(format) = format(&SOUNDS) {
            Ok(Block::Audio(medium(format, None)))
        } else if let Some(format) = document_format(&kind) {
            self.documents += 1;
            let name = format!("document-{}", self.documents);
            Ok(Block::Document(medium(format, Some(name))))
        } else {
            let what = format!("a part of the media type `{kind}`");
            Err(refused(self.target, &what))
        }
    }
}

/// What Converse calls the documents of a media type, if it takes them.
fn document_format(kind: &str) -> Option<&'static str> {
    match ending::of(kind)? {
        "json" | "xml" => Some("txt"),
        ending => DOCUMENTS.contains(&ending).then_some(ending),
    }
}

/// The media type and the text of `data:<type>;base64,<text>`.
fn base64_data(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let kind = head.strip_suffix(";base64")?;
    Some((kind.split(';').next().unwrap_or(kind), data))
}

fn tool_use(call: &ToolCall) -> Block<'_> {
    let input = match Json::parse(&call.arguments) {
        Ok(input) if input.is_object() => input,
        _ if call.arguments.trim().is_empty() => Json::of(&json!({})),
        // A model's slip, and an object is what must stand here.
        _ => Json::of(&json!({ "arguments": call.arguments })),
    };
    Block::ToolUse(ToolUse {
        id: call_id(&call.id),
        name: &call.name,
        input,
    })
}

/// The id with the characters that Converse allows in one: other hosts' ids may have more.
fn call_id(id: &str) -> String {
    let is_allowed = |char: char| char.is_ascii_alphanumeric() || "_.:-".contains(char);
    let allowed = id
        .chars()
        .map(|char| if is_allowed(char) { char } else { '_' });
    allowed.take(MAX_ID).collect()
}

fn refused(target: &Target, what: &str) -> ProviderError {
    let reason = format!(
        "{what} cannot be used with the model `{}`: the dialect of `{}` has no place for it",
        target.name, target.provider
    );
    ProviderError::new(Kind::Invalid, reason)
}
