//! The models' common tongue: what a dialect translates to and from.

use serde::Serialize;

use crate::{Json, Usage};

/// A conversation to be continued by a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRequest {
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// What the answer must satisfy, if it must be a JSON value.
    pub output_schema: Option<OutputSchema>,
}

/// The demand for a JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSchema {
    /// A name that every provider accepts: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// The JSON Schema.
    pub schema: Json,
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub parts: Vec<Part>,
}

impl Message {
    /// A turn of text alone.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            parts: vec![Part::Text(text.into())],
        }
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The instructions' side.
    System,
    /// The caller's side.
    User,
    /// The model's side.
    Assistant,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text.
    Text(String),
    /// An image by `data:` or `https:` URL.
    Image(String),
    /// Sound by `data:` or `https:` URL.
    Audio(String),
    /// Another document by `data:` or `https:` URL.
    File(String),
}

/// All that a model said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    /// The text; the arguments, where the answer came as a tool call.
    pub text: String,
    /// Why the model would not answer, if it said so.
    pub refusal: Option<String>,
    /// Why it stopped.
    pub finish_reason: FinishReason,
    /// The provider's own count, where it gave one.
    pub usage: Option<Usage>,
}

/// Why a generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model was done.
    Stop,
    /// A length limit cut it.
    Length,
    /// A filter of the provider cut it.
    ContentFilter,
}
