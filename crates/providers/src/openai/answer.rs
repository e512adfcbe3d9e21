//! Answers to chat requests, and what their bodies have in common with all others.

use domain::{FinishReason, Generation, Json, seams::ProviderErrorKind};
use serde_json::Value;

use super::{calling, content::Content, demand::Reading, fault, remarks, usage};
use crate::wire::Fault;

/// Reads the answer to a chat request.
pub(super) fn generation(reading: &Reading, body: &[u8]) -> Result<Generation, Fault> {
    let answer = answer(body)?;
    let choices = answer["choices"].as_array();
    // Of several answers, one was asked for.
    let choice = choices
        .and_then(|choices| choices.iter().find(|it| is_first(it)).or(choices.first()))
        .ok_or_else(|| Fault::protocol("the provider's answer has no choices"))?;
    if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
        return Err(fault::of_error(error));
    }
    let message = &choice["message"];
    if !message.is_object() {
        return Err(Fault::protocol("the provider's answer has no message"));
    }
    let said = Content::of(message)?;
    let (text, tool_calls) = if reading.has_tools() {
        (
            reading.content(said.text),
            calling::calls(message, &answer)?,
        )
    } else {
        (text(reading, message, said.text)?, Vec::new())
    };
    let refusal = message["refusal"].as_str();
    let refusal = refusal.filter(|refusal| !refusal.is_empty());
    let finish_reason = finish_reason(choice["finish_reason"].as_str())?;
    Ok(Generation {
        text,
        reasoning: said.reasoning,
        refusal: refusal.map(str::to_owned),
        finish_reason: waiting(finish_reason, !tool_calls.is_empty()),
        tool_calls,
        images: said.images,
        logprobs: logprobs(choice),
        remarks: remarks::of(&answer, message),
        usage: usage::of_chat(&answer["usage"], body),
    })
}

/// The text of a whole message whose calls are a part of it.
fn text(reading: &Reading, message: &Value, content: String) -> Result<String, Fault> {
    let content = reading.content(content);
    // The pieces of a call are numbered; whole calls are each another.
    let calls: Vec<String> = calls(message).map(|(_, arguments)| arguments).collect();
    // Some models breathe before they call.
    let is_called = calls.iter().any(|arguments| !arguments.is_empty());
    let mut joining = reading.joining();
    let mut text = if is_called && content.trim().is_empty() {
        String::new()
    } else {
        joining.content(&content)
    };
    for (number, arguments) in (0..).zip(&calls) {
        text += &joining.call(number, arguments)?;
    }
    Ok(text + &joining.finish())
}

/// The answer, or the part of a stream, as a value, unless it is an error.
pub(crate) fn answer(body: &[u8]) -> Result<Value, Fault> {
    let answer: Value = serde_json::from_slice(body).map_err(|_| Fault::no_json())?;
    match answer.get("error").filter(|error| !error.is_null()) {
        Some(error) => Err(fault::of_error(error)),
        // vLLM once put the error where the answer should be.
        None if answer["object"] == "error" => Err(fault::of_error(&answer)),
        None => Ok(answer),
    }
}

/// Whether it is the first of its list by its own number; one without a number is.
pub(super) fn is_first(item: &Value) -> bool {
    matches!(item["index"].as_u64(), None | Some(0))
}

/// The tool calls of a message, or of a piece of one: which call it is, and the text of its arguments.
pub(super) fn calls(message: &Value) -> impl Iterator<Item = (u64, String)> {
    let tools = message["tool_calls"].as_array().into_iter().flatten();
    let tools = (0..).zip(tools).map(|(position, call)| {
        let number = call["index"].as_u64().unwrap_or(position);
        (number, &call["function"]["arguments"])
    });
    // The dialect's older way, which some hosts have beside the other.
    let has_tools = message["tool_calls"][0]["function"]["arguments"] != Value::Null;
    let older = &message["function_call"]["arguments"];
    let older = (!has_tools).then_some((0, older));
    tools.chain(older).filter_map(|(number, arguments)| {
        let text = match arguments {
            Value::Null => return None,
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        Some((number, text))
    })
}

pub(super) fn finish_reason(reason: Option<&str>) -> Result<FinishReason, Fault> {
    match reason {
        Some("length" | "max_tokens" | "model_length") => Ok(FinishReason::Length),
        Some("content_filter") => Ok(FinishReason::ContentFilter),
        Some("error" | "insufficient_system_resource") => Err(Fault {
            kind: ProviderErrorKind::Failed,
            status: None,
            words: Some("the provider broke its answer off".to_owned()),
            wait: None,
            may_be_demand: false,
        }),
        _ => Ok(FinishReason::Stop),
    }
}

/// The reason for the end of an answer that has calls of the caller's tools, or none. Some hosts say `stop` either way.
pub(super) const fn waiting(reason: FinishReason, has_calls: bool) -> FinishReason {
    match reason {
        FinishReason::Stop if has_calls => FinishReason::ToolCalls,
        reason => reason,
    }
}

/// How probable the tokens of a choice were, if the host tells it in the dialect's own shape.
pub(super) fn logprobs(choice: &Value) -> Option<Json> {
    let logprobs = &choice["logprobs"];
    let has = |name: &str| {
        logprobs[name]
            .as_array()
            .is_some_and(|tokens| !tokens.is_empty())
    };
    (has("content") || has("refusal")).then(|| Json::of(logprobs))
}
