//! The models' common tongue: what a dialect translates to and from.

use std::pin::Pin;

use futures_core::Stream;
use serde::Serialize;

use crate::{ImageRequest, Json, UsageReport, seams::ProviderError};

/// A conversation to be continued by a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatRequest {
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// What the answer must satisfy, if it must be a JSON value.
    pub demand: Option<Demand>,
    /// Tools that the model may call. They are the caller's: nobody here runs them.
    pub tools: Vec<Tool>,
    /// Which of them it may, or must, call; with no tools, nothing.
    pub tool_choice: Option<ToolChoice>,
}

impl ChatRequest {
    /// What it says, for a model that makes images: its texts, an empty line between two turns, and its media.
    pub fn to_draw(&self) -> ImageRequest {
        let (mut prompt, mut media) = (String::new(), Vec::new());
        for message in &self.messages {
            let mut is_begun = prompt.is_empty();
            for part in &message.parts {
                let Part::Text(text) = part else {
                    media.push(part.clone());
                    continue;
                };
                if !std::mem::replace(&mut is_begun, true) {
                    prompt.push_str("\n\n");
                }
                prompt.push_str(text);
            }
        }
        ImageRequest { prompt, media }
    }
}

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// `function`, or a kind that only some hosts of the OpenAI dialect know; of those, only `as_given` says more.
    pub kind: String,
    /// What it is called by.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The JSON Schema of its arguments; without one, it has none.
    pub parameters: Option<Json>,
    /// All of it as the caller wrote it, in the OpenAI dialect.
    pub as_given: Json,
}

/// Which tools a model may, or must, call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolChoice {
    /// What it comes to.
    pub mode: ToolMode,
    /// As the caller wrote it, in the OpenAI dialect.
    pub as_given: Json,
}

/// What a choice of tools comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolMode {
    /// Any or none.
    Auto,
    /// None.
    None,
    /// At least one.
    Required,
    /// The function of that name.
    Named(String),
    /// Something that only some hosts of the OpenAI dialect know.
    Other,
}

/// A call of a tool, by a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// What its result refers to it by. An adapter makes one up where a host gives none.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Its arguments: a JSON text, though no more than the model's word for that.
    pub arguments: String,
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
    /// The `response_format` that the caller wrote for it in the OpenAI dialect. Hosts of that dialect get it as it is
    /// on the rung [`Rung::NativeSchema`].
    pub as_given: Option<Json>,
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
    /// The tools that an assistant's turn calls.
    pub tool_calls: Vec<ToolCall>,
    /// The call whose result a tool's turn is.
    pub tool_call_id: Option<String>,
    /// The whole turn as the caller wrote it in the OpenAI dialect. Hosts of that dialect get it as it is.
    pub as_given: Option<Json>,
}

impl Message {
    /// A turn.
    pub const fn new(role: Role, parts: Vec<Part>) -> Self {
        Self {
            role,
            parts,
            tool_calls: Vec::new(),
            tool_call_id: None,
            as_given: None,
        }
    }

    /// A turn of text alone.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self::new(role, vec![Part::Text(text.into())])
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
    /// The result of a tool that the model called.
    Tool,
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Generation {
    /// The text; the arguments, where a demanded value came as a tool call.
    pub text: String,
    /// What the model thought aloud, where the host tells it.
    pub reasoning: String,
    /// Why the model would not answer, if it said so.
    pub refusal: Option<String>,
    /// The calls of the caller's tools; empty where neither the request nor the target's options have any.
    pub tool_calls: Vec<ToolCall>,
    /// Images beside the text, as `https:` or `data:` URLs.
    pub images: Vec<String>,
    /// How probable each token was, in the OpenAI dialect's shape, where that was asked for.
    pub logprobs: Option<Json>,
    /// What a host of the OpenAI dialect said beside all that.
    pub remarks: Remarks,
    /// Why it stopped.
    pub finish_reason: FinishReason,
    /// The provider's own count, where it gave one.
    pub usage: Option<UsageReport>,
}

/// What hosts of the OpenAI dialect say beside an answer, as they say it, for callers who speak that dialect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Remarks {
    /// Of the message: what in the text is from where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Json>,
    /// Of the message: its thoughts, to be given back as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_details: Option<Json>,
    /// Where all is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub citations: Option<Json>,
    /// What a search found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_results: Option<Json>,
    /// Which of the host's machines answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_fingerprint: Option<Json>,
    /// At which tier it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<Json>,
}

impl Remarks {
    /// How long they are.
    pub fn bytes(&self) -> usize {
        let Self {
            annotations,
            reasoning_details,
            citations,
            search_results,
            system_fingerprint,
            service_tier,
        } = self;
        let all = [
            annotations,
            reasoning_details,
            citations,
            search_results,
            system_fingerprint,
            service_tier,
        ];
        all.into_iter()
            .flatten()
            .map(|json| json.text().len())
            .sum()
    }
}

/// Why a generation ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model was done.
    #[default]
    Stop,
    /// A length limit cut it.
    Length,
    /// A filter of the provider cut it.
    ContentFilter,
    /// The model waits for the results of the tools that it called; only where the caller has tools.
    ToolCalls,
}

/// A piece of a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// The next piece of the text, never empty; of the arguments, where a demanded value comes as a tool call.
    Text(String),
    /// The next piece of what the model thinks aloud.
    Reasoning(String),
    /// The next piece of the reason why the model would not answer.
    Refusal(String),
    /// The next piece of a call of one of the caller's tools.
    ToolCall(ToolCallDelta),
    /// An image beside the text.
    Image(String),
    /// How probable the tokens of the next piece were.
    Logprobs(Json),
    /// What the host has counted so far, for a stream that is cut: never the first delta, and of no use after the end.
    Usage(UsageReport),
    /// What was said beside the answer; once at most, and nothing but the end follows.
    Remarks(Remarks),
    /// The orderly end. Nothing follows it, and a stream that ends without it was cut.
    End {
        /// Why it stopped.
        finish_reason: FinishReason,
        /// The provider's own count, where it gave one.
        usage: Option<UsageReport>,
    },
}

/// A piece of a call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCallDelta {
    /// Which call of the answer, counted from 0.
    pub index: usize,
    /// Its id and the tool's name, with its first piece.
    pub begins: Option<(String, String)>,
    /// The next piece of its arguments; may be empty.
    pub arguments: String,
}

/// A generation as it comes. Dropping it closes the connection.
///
/// It ends after [`Delta::End`] or after the first error; a host that just stops is an error.
pub type Deltas = Pin<Box<dyn Stream<Item = Result<Delta, ProviderError>> + Send>>;
