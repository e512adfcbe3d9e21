//! The models' common tongue: what a dialect translates to and from.

use std::pin::Pin;

use futures_core::Stream;
use serde::Serialize;

use crate::{Json, Usage, seams::ProviderError};

/// A conversation to be continued by a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRequest {
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// What the answer must satisfy, if it must be a JSON value.
    pub demand: Option<Demand>,
}

/// The demand for a JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    /// A name that every provider accepts: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// The JSON Schema.
    pub schema: Json,
    /// How the host is held to it, beside the words in the prompt.
    pub rung: Rung,
}

/// A rung of the ladder: how a host is held to a schema, the firmest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// The host itself holds the answer to the schema.
    NativeSchema,
    /// The answer is the arguments of a tool that must be called, whose parameters are the schema.
    ForcedTool,
    /// The host promises JSON, of whatever shape.
    JsonMode,
    /// Nothing but the words in the prompt.
    Prompt,
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

/// A piece of a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// The next piece of the text, never empty; of the arguments, where the answer comes as a tool call.
    Text(String),
    /// The next piece of the reason why the model would not answer.
    Refusal(String),
    /// The orderly end. Nothing follows it, and a stream that ends without it was cut.
    End {
        /// Why it stopped.
        finish_reason: FinishReason,
        /// The provider's own count, where it gave one.
        usage: Option<Usage>,
    },
}

/// A generation as it comes. Dropping it closes the connection.
///
/// It ends after [`Delta::End`] or after the first error; a host that just stops is an error.
pub type Deltas = Pin<Box<dyn Stream<Item = Result<Delta, ProviderError>> + Send>>;
