//! Bodies of answers, and the pieces of streamed ones, which are alike.

use domain::{Delta, FinishReason, Generation, Json, ToolCall, Usage, UsageReport};
use serde_json::{Map, Value, json};

use super::Reading;
use crate::{
    assembly::{self, Assembly},
    call_id,
    count::whole,
    openai::fault,
    wire::Fault,
};

/// Reads the answer to a chat request.
pub(super) fn generation(reading: &Reading, body: &[u8]) -> Result<Generation, Fault> {
    let answer = answer(body)?;
    let deltas = deltas(&mut reading.assembly(), &answer)?;
    match deltas.last() {
        Some(Delta::End { .. }) => Ok(assembly::whole(deltas)),
        _ => Err(Fault::protocol("the provider broke its answer off")),
    }
}

/// The answer, or a piece of one, as a value, unless it is an error.
pub(super) fn answer(body: &[u8]) -> Result<Value, Fault> {
    let answer: Value = serde_json::from_slice(body).map_err(|_| Fault::no_json())?;
    match answer.get("error").filter(|error| !error.is_null()) {
        Some(error) => Err(fault::of_words(error)),
        None => Ok(answer),
    }
}

/// What a piece adds, be it the first and last.
pub(super) fn deltas(assembly: &mut Assembly, piece: &Value) -> Result<Vec<Delta>, Fault> {
    let message = &piece["message"];
    if !message.is_object() {
        return Err(Fault::protocol("the provider's answer has no message"));
    }
    let text = |name: &str| message[name].as_str().unwrap_or_default();
    let calls = message["tool_calls"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let mut told = Vec::new();
    let thoughts = Some(text("thinking")).filter(|thoughts| !thoughts.is_empty());
    told.extend(thoughts.map(|thoughts| Delta::Reasoning(thoughts.to_owned())));
    let logprobs = piece["logprobs"].as_array().filter(|list| !list.is_empty());
    told.extend(logprobs.map(|list| Delta::Logprobs(Json::of(&json!({ "content": list })))));
    // Some models breathe before they call.
    let content = text("content");
    if calls.is_empty() || !content.trim().is_empty() {
        told.extend(assembly.content(content));
    }
    for given in calls {
        let call = call(given, piece, assembly.count());
        told.extend(assembly.call(call)?);
    }
    if piece["done"] == true {
        told.extend(assembly.finish());
        told.push(Delta::End {
            finish_reason: match piece["done_reason"].as_str() {
                Some("length") => FinishReason::Length,
                _ if assembly.calls_tools() => FinishReason::ToolCalls,
                _ => FinishReason::Stop,
            },
            usage: usage(piece),
        });
    }
    Ok(told)
}

/// A call, which comes as a whole; of older versions, without an id. Nothing but its time tells an answer from others.
fn call(call: &Value, piece: &Value, number: usize) -> ToolCall {
    let function = &call["function"];
    let id = call["id"].as_str().filter(|id| !id.is_empty());
    ToolCall {
        id: id.map_or_else(
            || call_id::made_up(piece["created_at"].as_str(), number),
            str::to_owned,
        ),
        name: function["name"].as_str().unwrap_or_default().to_owned(),
        arguments: match &function["arguments"] {
            Value::Null => "{}".to_owned(),
            Value::String(text) => text.clone(),
            arguments => arguments.to_string(),
        },
    }
}

/// The provider's count, if it makes sense. What is zero is left out there.
pub(super) fn usage(answer: &Value) -> Option<UsageReport> {
    let input_tokens = whole(&answer["prompt_eval_count"])?;
    let output_tokens = match &answer["eval_count"] {
        Value::Null => 0,
        count => whole(count)?,
    };
    let is_measure = |name: &str| name.ends_with("_count") || name.ends_with("_duration");
    let measures = answer.as_object()?.iter();
    let measures = measures.filter(|(name, _)| is_measure(name));
    let raw: Map<String, Value> = measures
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Some(UsageReport {
        usage: Usage {
            input_tokens,
            output_tokens,
            ..Usage::default()
        },
        cost: None,
        raw: Some(Json::of(&raw)),
    })
}
