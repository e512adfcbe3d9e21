//! Bodies of answers.

use domain::{
    Delta, FinishReason, Generation, Json, ToolCall, Usage, UsageReport,
    seams::ProviderErrorKind as Kind,
};
use serde_json::{Value, json};

use super::demand::Reading;
use crate::{assembly, count::whole, openai::fault, wire::Fault};

/// Reads the answer to a chat request.
pub(super) fn generation(reading: &Reading, body: &[u8]) -> Result<Generation, Fault> {
    let answer = answer(body)?;
    let message = &answer["message"];
    if !message.is_object() {
        return Err(Fault::protocol("the provider's answer has no message"));
    }
    let mut assembly = reading.assembly();
    let mut deltas = Vec::new();
    let probable = answer["logprobs"].as_array();
    deltas.extend(logprobs(probable.map_or(&[], Vec::as_slice)));
    let plan = message["tool_plan"].as_str();
    let (thoughts, content) = content(&message["content"])?;
    let thoughts = thoughts + plan.unwrap_or_default();
    deltas.extend(reasoning(&thoughts));
    let calls = message["tool_calls"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    // Some models breathe before they call.
    if calls.is_empty() || !content.trim().is_empty() {
        deltas.extend(assembly.content(&content));
    }
    for given in calls {
        deltas.extend(assembly.call(call(given))?);
    }
    deltas.extend(assembly.finish());
    let finish_reason = finish_reason(&answer)?;
    deltas.push(Delta::End {
        finish_reason: with_calls(finish_reason, assembly.calls_tools()),
        usage: usage(&answer["usage"]),
    });
    Ok(assembly::whole(deltas))
}

/// The answer, or the event of a stream, as a value, unless it is an error.
pub(super) fn answer(body: &[u8]) -> Result<Value, Fault> {
    let answer: Value = serde_json::from_slice(body).map_err(|_| Fault::no_json())?;
    // Where a message should be, an error has its words.
    let is_error = answer["message"].is_string();
    let error = answer.get("error").filter(|error| !error.is_null());
    match error.or(is_error.then_some(&answer)) {
        Some(error) => Err(fault::of_words(error)),
        None => Ok(answer),
    }
}

/// What a message's content has of thought and of text.
fn content(content: &Value) -> Result<(String, String), Fault> {
    let mut told = (String::new(), String::new());
    match content {
        Value::Null => {}
        Value::String(text) => told.1.push_str(text),
        Value::Array(parts) => {
            for part in parts {
                told.0 += part["thinking"].as_str().unwrap_or_default();
                told.1 += part["text"].as_str().unwrap_or_default();
            }
        }
        _ => {
            return Err(Fault::protocol("the content of the answer is no text"));
        }
    }
    Ok(told)
}

/// A piece of what the model thinks, or plans.
pub(super) fn reasoning(piece: &str) -> Option<Delta> {
    (!piece.is_empty()).then(|| Delta::Reasoning(piece.to_owned()))
}

/// How probable the tokens of some pieces of text were, in the OpenAI dialect's shape. Which token has which part of a
/// piece is not said; so the first has all of it.
pub(super) fn logprobs(pieces: &[Value]) -> Option<Delta> {
    let mut content = Vec::new();
    for piece in pieces {
        let mut text = piece["text"].as_str();
        for logprob in piece["logprobs"].as_array().into_iter().flatten() {
            let text = text.take();
            content.push(json!({
                "token": text.unwrap_or_default(),
                "logprob": logprob,
                "bytes": text.map(str::as_bytes),
                "top_logprobs": [],
            }));
        }
    }
    let logprobs = || Json::of(&json!({ "content": content, "refusal": null }));
    (!content.is_empty()).then(|| Delta::Logprobs(logprobs()))
}

/// A call, as far as it was told.
pub(super) fn call(call: &Value) -> ToolCall {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let function = &call["function"];
    ToolCall {
        id: text(&call["id"]),
        name: text(&function["name"]),
        arguments: text(&function["arguments"]),
    }
}

/// Why a message, or the end of a streamed one, says that it ends.
pub(super) fn finish_reason(end: &Value) -> Result<FinishReason, Fault> {
    let broken = |kind, words: &str| {
        let own = end["error"].as_str().filter(|words| !words.is_empty());
        Err(Fault {
            kind,
            status: None,
            words: Some(own.unwrap_or(words).to_owned()),
            wait: None,
            may_be_demand: false,
        })
    };
    match end["finish_reason"].as_str().unwrap_or_default() {
        "MAX_TOKENS" | "ERROR_LIMIT" => Ok(FinishReason::Length),
        "ERROR_TOXIC" => Ok(FinishReason::ContentFilter),
        "ERROR" => broken(Kind::Failed, "the provider broke its answer off"),
        "TIMEOUT" => broken(Kind::Timeout, "the provider gave its answer up as too slow"),
        _ => Ok(FinishReason::Stop),
    }
}

/// The reason, where the caller's tools may have been called.
pub(super) const fn with_calls(reason: FinishReason, calls_tools: bool) -> FinishReason {
    match reason {
        FinishReason::Stop if calls_tools => FinishReason::ToolCalls,
        reason => reason,
    }
}

/// The provider's count, if it makes sense. What is billed leaves out what the host adds to a prompt of its own, and has
/// no lower price for what came out of a cache.
pub(super) fn usage(usage: &Value) -> Option<UsageReport> {
    let (billed, all) = (&usage["billed_units"], &usage["tokens"]);
    let count = |name: &str| whole(&billed[name]).or_else(|| whole(&all[name]));
    let input_tokens = count("input_tokens")?;
    let output_tokens = count("output_tokens")?;
    let is_billed = whole(&billed["input_tokens"]).is_some();
    let cached_tokens = whole(&usage["cached_tokens"]).filter(|_| !is_billed);
    let cached_tokens = cached_tokens.unwrap_or(0);
    // More out of the cache than was sent is no count at all.
    if cached_tokens > input_tokens {
        return None;
    }
    Some(UsageReport {
        usage: Usage {
            input_tokens,
            output_tokens,
            cached_tokens,
            ..Usage::default()
        },
        cost: None,
        raw: Some(Json::of(usage)),
    })
}
