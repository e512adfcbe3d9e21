//! A call: one execution of a function, or one continuation of a conversation that the caller brought along.

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{
    Cost, FinishReason, Generation, Invalid, Json, JsonObject, ModelName, Remarks, SpanId,
    Timestamp, ToolCall, Usage,
};

/// What a caller asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallRequest {
    /// The input; absent counts as `null`.
    pub input: Option<Json>,
    /// The span under which this call is recorded.
    pub parent_span_id: Option<SpanId>,
    /// Demonstrations, all of which are used.
    pub examples: Vec<Example>,
    /// Kept with the span.
    pub tags: Tags,
}

/// A demonstration of what an input should lead to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Example {
    /// An input.
    pub input: Json,
    /// The output that it should lead to.
    pub output: Json,
    /// What to note about it.
    pub comment: Option<String>,
}

/// Key/value tags of a span. Values are strings, numbers or booleans.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Tags(JsonObject);

impl<'de> Deserialize<'de> for Tags {
    /// Checks number, lengths and types (`reliability.md` 3).
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = IndexMap::<String, TagValue>::deserialize(deserializer)?;
        if given.len() > 64 {
            return Err(de::Error::custom(Invalid::new(
                "too_long",
                "at most 64 tags",
            )));
        }
        if given.keys().any(|key| key.chars().count() > 128) {
            let fault = "a tag's key has at most 128 characters";
            return Err(de::Error::custom(Invalid::new("string_too_long", fault)));
        }
        Ok(Self(
            given
                .into_iter()
                .map(|(key, TagValue(value))| (key, value))
                .collect(),
        ))
    }
}

struct TagValue(Json);

impl<'de> Deserialize<'de> for TagValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Json::deserialize(deserializer)?;
        let fault = if value.text().starts_with(['{', '[']) || value.is_null() {
            Invalid::new(
                "value_error",
                "a tag's value is a string, number or boolean",
            )
        } else if value.as_string().unwrap_or_default().len() > 1024 {
            Invalid::new("string_too_long", "a tag's value has at most 1 KiB")
        } else {
            return Ok(Self(value));
        };
        Err(de::Error::custom(fault))
    }
}

/// What comes out of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Text, from a function without an output schema.
    Message(String),
    /// A value that satisfies the output schema.
    Payload(Json),
    /// Images, from a model that makes nothing else: URLs or base64, whichever its provider gives.
    Images(Vec<String>),
}

/// What a model said beside its output. A function has a place for the images alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beside {
    /// What it thought aloud.
    pub reasoning: String,
    /// Why it would not answer.
    pub refusal: Option<String>,
    /// The calls of the caller's tools.
    pub tool_calls: Vec<ToolCall>,
    /// Images, as `https:` or `data:` URLs.
    pub images: Vec<String>,
    /// How probable each token was.
    pub logprobs: Option<Json>,
    /// What its host said as well.
    pub remarks: Remarks,
}

impl From<Generation> for Beside {
    fn from(generation: Generation) -> Self {
        Self {
            reasoning: generation.reasoning,
            refusal: generation.refusal,
            tool_calls: generation.tool_calls,
            images: generation.images,
            logprobs: generation.logprobs,
            remarks: generation.remarks,
        }
    }
}

/// An answer as the cache keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What came out.
    pub output: Output,
    /// What came beside it.
    pub beside: Beside,
    /// Who gave it.
    pub model: ModelName,
    /// Why the model stopped.
    pub finish_reason: FinishReason,
}

/// A call that went well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// The span that recorded it.
    pub span_id: SpanId,
    /// When the call began.
    pub started: Timestamp,
    /// What came out.
    pub output: Output,
    /// What came beside it.
    pub beside: Beside,
    /// Who gave it.
    pub model: ModelName,
    /// Why the model stopped.
    pub finish_reason: FinishReason,
    /// Whether it came from the cache.
    pub cached: bool,
    /// Whether another model went on after output had begun (`invocation.stream.failover`).
    pub failover: bool,
    /// Tokens of all attempts.
    pub usage: Usage,
    /// Cost of all attempts.
    pub cost: Cost,
}

impl CallResult {
    /// The images of a result that has some, whether they are all of it or came beside it.
    pub fn all_images(&self) -> Option<Vec<String>> {
        match &self.output {
            Output::Images(images) => Some(images.clone()),
            _ if self.beside.images.is_empty() => None,
            _ => Some(self.beside.images.clone()),
        }
    }
}
