//! Bodies of answers: blocks in, one text and the calls beside it out.

use std::iter;

use domain::{FinishReason, Generation, Json, ToolCall, Usage, UsageReport};
use serde::Deserialize;
use serde_json::Value;

use super::{demand::Reading, fault};
use crate::{
    count::{self, whole},
    wire::Fault,
};

/// What is told of among the iterations of an answer, and is no part of the sums beside them.
const BESIDE_ITS_SUMS: [&str; 2] = ["advisor_message", "compaction"];

/// What calls are made with, which is handed on as it came.
#[derive(Deserialize)]
struct Inputs {
    content: Vec<Input>,
}

#[derive(Deserialize)]
struct Input {
    input: Option<Json>,
}

/// Reads the answer to a chat request.
pub(super) fn generation(reading: &Reading, body: &[u8]) -> Result<Generation, Fault> {
    let answer = value(body)?;
    let blocks = answer["content"].as_array();
    let inputs = serde_json::from_slice(body).ok();
    let (Some(blocks), Some(Inputs { content: inputs })) = (blocks, inputs) else {
        return Err(Fault::protocol("the provider's answer has no content"));
    };
    let mut joined = reading.joining();
    let mut read = Generation::default();
    for (number, (block, Input { input })) in (0..).zip(blocks.iter().zip(inputs)) {
        let text = |name: &str| block[name].as_str().unwrap_or_default();
        let arguments = || input.as_ref().map_or("{}", Json::text);
        match text("type") {
            "text" => read.text += &joined.said(text("text")),
            "thinking" => read.reasoning += text("thinking"),
            "tool_use" if reading.has_tools() => read.tool_calls.push(ToolCall {
                id: text("id").to_owned(),
                name: text("name").to_owned(),
                arguments: arguments().to_owned(),
            }),
            "tool_use" => read.text += &joined.called(number, arguments())?,
            // Thoughts that nobody may read, and what the provider's own tools did.
            _ => {}
        }
    }
    read.text += &joined.finish();
    let reason = answer["stop_reason"].as_str();
    Ok(Generation {
        finish_reason: finish_reason(reading, reason),
        refusal: refusal(reason, &answer["stop_details"]),
        usage: usage(&answer["usage"]),
        ..read
    })
}

/// The answer, or the event of a stream, as a value, unless it is an error.
pub(super) fn value(body: &[u8]) -> Result<Value, Fault> {
    let value: Value = serde_json::from_slice(body).map_err(|_| Fault::no_json())?;
    if value["type"] == "error" || value["error"].is_object() {
        return Err(fault::of_error(&value));
    }
    Ok(value)
}

/// <https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons>
pub(super) fn finish_reason(reading: &Reading, reason: Option<&str>) -> FinishReason {
    match reason {
        // A turn that pauses has come to the limit of the provider's own tools.
        Some("max_tokens" | "model_context_window_exceeded" | "pause_turn") => FinishReason::Length,
        Some("tool_use") if reading.has_tools() => FinishReason::ToolCalls,
        Some("refusal") => FinishReason::ContentFilter,
        _ => FinishReason::Stop,
    }
}

/// Why nothing more was said, if that was for reasons of safety.
pub(super) fn refusal(reason: Option<&str>, details: &Value) -> Option<String> {
    if reason != Some("refusal") {
        return None;
    }
    let explanation = details["explanation"].as_str();
    let category = details["category"].as_str();
    Some(match (explanation, category) {
        (Some(explanation), _) => explanation.to_owned(),
        (None, Some(category)) => format!("the provider's safeguards stopped it ({category})"),
        (None, None) => "the provider's safeguards stopped it".to_owned(),
    })
}

/// The provider's count, if it makes sense. What it took to make a conversation shorter, or to ask an adviser, is billed and
/// not in its sums (<https://platform.claude.com/docs/en/build-with-claude/compaction-threshold>).
pub(super) fn usage(usage: &Value) -> Option<UsageReport> {
    let iterations = usage["iterations"].as_array().into_iter().flatten();
    let beside = iterations.filter(|it| BESIDE_ITS_SUMS.iter().any(|kind| it["type"] == *kind));
    let all: Option<Vec<Usage>> = iter::once(usage).chain(beside).map(tokens).collect();
    Some(UsageReport {
        usage: count::sum(all?)?,
        cost: None,
        raw: Some(Json::of(usage)),
    })
}

/// Tokens read from the cache and written to it stand beside the others there.
fn tokens(usage: &Value) -> Option<Usage> {
    let count = |name: &str| whole(&usage[name]);
    let uncached = count("input_tokens")?;
    let output_tokens = count("output_tokens")?;
    let cached_tokens = count("cache_read_input_tokens").unwrap_or(0);
    let cache_write_tokens = count("cache_creation_input_tokens").unwrap_or(0);
    let for_an_hour = whole(&usage["cache_creation"]["ephemeral_1h_input_tokens"]);
    let thought = whole(&usage["output_tokens_details"]["thinking_tokens"]);
    Some(Usage {
        input_tokens: uncached + cached_tokens + cache_write_tokens,
        output_tokens,
        reasoning_tokens: thought.unwrap_or(0).min(output_tokens),
        cached_tokens,
        cache_write_tokens,
        cache_write_1h_tokens: for_an_hour.unwrap_or(0).min(cache_write_tokens),
        ..Usage::default()
    })
}
