//! Bodies of answers, whole ones and pieces alike: what a candidate says, why it stopped, what it took.

use domain::{FinishReason, Json, Usage, UsageReport, seams::ProviderErrorKind as Kind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::fault;
use crate::{count::whole, wire::Fault};

/// An answer, or a piece of one.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    candidates: Option<Vec<Candidate>>,
    #[serde(default)]
    prompt_feedback: Option<Value>,
    #[serde(default)]
    usage_metadata: Value,
    #[serde(default)]
    pub(super) response_id: Option<String>,
}

/// One of the answers that were asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    content: Option<Content>,
    #[serde(default)]
    finish_reason: Option<String>,
    #[serde(default)]
    finish_message: Option<String>,
    #[serde(default)]
    logprobs_result: Value,
}

#[derive(Debug, Deserialize)]
struct Content {
    #[serde(default)]
    parts: Option<Vec<Part>>,
}

/// A part of what a candidate says; code that the host ran and the like are left out.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part {
    #[serde(default)]
    pub(super) text: Option<String>,
    /// Whether the text is thought and not said.
    #[serde(default)]
    pub(super) thought: Option<bool>,
    #[serde(default)]
    pub(super) thought_signature: Option<String>,
    #[serde(default)]
    pub(super) inline_data: Option<Blob>,
    #[serde(default)]
    pub(super) function_call: Option<FunctionCall>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Blob {
    pub(super) mime_type: String,
    pub(super) data: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct FunctionCall {
    #[serde(default)]
    pub(super) id: Option<String>,
    pub(super) name: String,
    #[serde(default)]
    pub(super) args: Option<Json>,
}

/// Reads a body: one answer, or the list of pieces that a host sends where it does not stream events.
pub(super) fn answers(body: &[u8]) -> Result<Vec<Answer>, Fault> {
    let is_list = body.trim_ascii_start().starts_with(b"[");
    let answers: Result<Vec<Answer>, serde_json::Error> = if is_list {
        serde_json::from_slice(body)
    } else {
        serde_json::from_slice(body).map(|answer| vec![answer])
    };
    let mut answers = answers.map_err(|error| {
        Fault::protocol(if error.is_data() {
            "the provider's answer makes no sense"
        } else {
            "the provider's answer is not JSON"
        })
    })?;
    let error = answers.iter_mut().find_map(|answer| answer.error.take());
    match error {
        Some(error) => Err(fault::of_error(&error)),
        None => Ok(answers),
    }
}

/// An answer of whatever shape, unless it is an error.
pub(super) fn value(body: &[u8]) -> Result<Value, Fault> {
    let value: Value = serde_json::from_slice(body).map_err(|_| Fault::no_json())?;
    match value.get("error").filter(|error| !error.is_null()) {
        Some(error) => Err(fault::of_error(error)),
        None => Ok(value),
    }
}

impl Answer {
    /// The first candidate; of several, one was asked for.
    pub(super) fn candidate(&mut self) -> Result<Option<Candidate>, Fault> {
        if let Some(fault) = self.blocked() {
            return Err(fault);
        }
        let candidates = self.candidates.take().unwrap_or_default().into_iter();
        let is_first = |candidate: &Candidate| matches!(candidate.index, None | Some(0));
        Ok(candidates.into_iter().find(is_first))
    }

    /// All candidates.
    pub(super) fn candidates(&mut self) -> Result<Vec<Candidate>, Fault> {
        match self.blocked() {
            Some(fault) => Err(fault),
            None => Ok(self.candidates.take().unwrap_or_default()),
        }
    }

    /// That the prompt was not even answered.
    fn blocked(&self) -> Option<Fault> {
        let feedback = self.prompt_feedback.as_ref()?;
        let reason = feedback["blockReason"].as_str()?;
        let words = feedback["blockReasonMessage"].as_str();
        let words = words.map_or_else(
            || format!("the prompt was blocked: {reason}"),
            str::to_owned,
        );
        Some(Fault {
            kind: Kind::ContentPolicy,
            words: Some(words),
            ..Fault::protocol("")
        })
    }

    /// The provider's count, if it makes sense (<https://ai.google.dev/api/generate-content#UsageMetadata>).
    pub(super) fn usage(&self) -> Option<UsageReport> {
        let usage = &self.usage_metadata;
        let input_tokens = whole(&usage["promptTokenCount"])?;
        let tools = count(&usage["toolUsePromptTokenCount"])?;
        let answered = count(&usage["candidatesTokenCount"])?;
        let thoughts = count(&usage["thoughtsTokenCount"])?;
        let input_tokens = input_tokens + tools;
        let output_tokens = answered + thoughts;
        let cached_tokens = whole(&usage["cachedContentTokenCount"]).unwrap_or(0);
        // More out of the cache than was sent is no count at all.
        let uncached = input_tokens.checked_sub(cached_tokens)?;
        let part = |details: &str, modality: &str| of_modality(&usage[details], modality);
        // Cached sound is cached first of all.
        let audio = part("promptTokensDetails", "AUDIO")
            .saturating_sub(part("cacheTokensDetails", "AUDIO"));
        Some(UsageReport {
            usage: Usage {
                input_tokens,
                output_tokens,
                reasoning_tokens: thoughts,
                cached_tokens,
                audio_input_tokens: audio.min(uncached),
                audio_output_tokens: part("candidatesTokensDetails", "AUDIO").min(answered),
                image_output_tokens: part("candidatesTokensDetails", "IMAGE").min(answered),
                ..Usage::default()
            },
            cost: None,
            raw: Some(Json::of(usage)),
        })
    }
}

/// A count that is left out where it is zero; `None` if it is there and none.
fn count(number: &Value) -> Option<u64> {
    if number.is_null() {
        return Some(0);
    }
    whole(number)
}

fn of_modality(details: &Value, modality: &str) -> u64 {
    let details = details.as_array().into_iter().flatten();
    let of_it = details.filter(|detail| detail["modality"] == modality);
    of_it
        .filter_map(|detail| whole(&detail["tokenCount"]))
        .fold(0, u64::saturating_add)
}

impl Candidate {
    /// What it says, in order.
    pub(super) fn parts(&mut self) -> Vec<Part> {
        let content = self.content.take();
        content
            .and_then(|content| content.parts)
            .unwrap_or_default()
    }

    /// Why it stopped, once it has (<https://ai.google.dev/api/generate-content#FinishReason>).
    pub(super) fn finish_reason(&self) -> Result<Option<FinishReason>, Fault> {
        let Some(reason) = self.finish_reason.as_deref() else {
            return Ok(None);
        };
        let reason = match reason {
            "MAX_TOKENS" => FinishReason::Length,
            "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION"
            | "MODEL_ARMOR" => FinishReason::ContentFilter,
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" => {
                return Err(self.broken_off(reason, true));
            }
            "OTHER"
            | "IMAGE_OTHER"
            | "NO_IMAGE"
            | "MALFORMED_RESPONSE"
            | "MISSING_THOUGHT_SIGNATURE" => {
                return Err(self.broken_off(reason, false));
            }
            _ => FinishReason::Stop,
        };
        Ok(Some(reason))
    }

    fn broken_off(&self, reason: &str, may_be_demand: bool) -> Fault {
        let words = self.finish_message.as_deref();
        let words = words.map_or_else(
            || format!("the provider broke its answer off: {reason}"),
            str::to_owned,
        );
        Fault {
            kind: Kind::Failed,
            words: Some(words),
            may_be_demand,
            ..Fault::protocol("")
        }
    }

    /// That it was filtered, and why, for who needs more than a part of it.
    pub(super) fn filtered(&self) -> Option<Fault> {
        let reason = self.finish_reason.as_deref()?;
        let is_filtered = matches!(self.finish_reason(), Ok(Some(FinishReason::ContentFilter)));
        let words = self.finish_message.as_deref();
        let words = words.map_or_else(
            || format!("the answer was blocked: {reason}"),
            str::to_owned,
        );
        is_filtered.then(|| Fault {
            kind: Kind::ContentPolicy,
            words: Some(words),
            ..Fault::protocol("")
        })
    }

    /// How probable the tokens were, in the OpenAI dialect's shape.
    pub(super) fn logprobs(&self) -> Option<Json> {
        let chosen = self.logprobs_result["chosenCandidates"].as_array()?;
        let top = &self.logprobs_result["topCandidates"];
        let content = chosen.iter().enumerate().map(|(step, token)| {
            let mut worded = logprob(token);
            let others = top[step]["candidates"].as_array().into_iter().flatten();
            worded["top_logprobs"] = others.map(logprob).collect();
            worded
        });
        let content: Vec<Value> = content.collect();
        (!content.is_empty()).then(|| Json::of(&json!({ "content": content, "refusal": null })))
    }
}

fn logprob(token: &Value) -> Value {
    let text = token["token"].as_str().unwrap_or_default();
    json!({
        "token": text,
        "logprob": token["logProbability"],
        "bytes": text.as_bytes(),
    })
}
