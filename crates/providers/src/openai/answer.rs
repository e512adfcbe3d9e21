//! Bodies of answers.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{
    EmbeddingRequest, Embeddings, FinishReason, Generation, Usage, seams::ProviderErrorKind,
};
use serde_json::Value;

use super::{demand::Reading, fault};
use crate::{count::estimated_tokens, wire::Fault};

/// Above this, whole numbers have gaps in many a JSON reader; a count that large is none.
const MAX_COUNT: u64 = 1 << 53;

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
    let text = text(reading, message)?;
    let refusal = message["refusal"].as_str();
    let refusal = refusal.filter(|refusal| !refusal.is_empty());
    Ok(Generation {
        text,
        refusal: refusal.map(str::to_owned),
        finish_reason: finish_reason(choice["finish_reason"].as_str())?,
        usage: usage(&answer["usage"]),
    })
}

/// The text of a whole message.
fn text(reading: &Reading, message: &Value) -> Result<String, Fault> {
    let content = reading.content(content(&message["content"])?);
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
pub(super) fn answer(body: &[u8]) -> Result<Value, Fault> {
    let answer: Value = serde_json::from_slice(body)
        .map_err(|_| Fault::protocol("the provider's answer is not JSON"))?;
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

/// A text, or the texts of a list of parts; thinking and the like are left out.
pub(super) fn content(content: &Value) -> Result<String, Fault> {
    match content {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => {
            let is_text = |part: &&Value| matches!(part["type"].as_str(), None | Some("text"));
            let texts = parts.iter().filter(is_text);
            Ok(texts.filter_map(|part| part["text"].as_str()).collect())
        }
        _ => Err(Fault::protocol("the content of the answer is no text")),
    }
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
            may_be_demand: false,
        }),
        _ => Ok(FinishReason::Stop),
    }
}

/// The provider's count, if it makes sense.
pub(super) fn usage(usage: &Value) -> Option<Usage> {
    let count = |names: [&str; 2]| names.into_iter().find_map(|name| whole(&usage[name]));
    let input_tokens = count(["prompt_tokens", "input_tokens"])?;
    let answered = count(["completion_tokens", "output_tokens"])?;
    let details = ["completion_tokens_details", "output_tokens_details"];
    let reasoning_tokens = details
        .into_iter()
        .find_map(|name| whole(&usage[name]["reasoning_tokens"]))
        .unwrap_or(0);
    // xAI counts reasoning beside the answer, the others inside of it; the total tells which.
    let is_beside = reasoning_tokens > 0
        && whole(&usage["total_tokens"]) == Some(input_tokens + answered + reasoning_tokens);
    let output_tokens = if is_beside {
        answered + reasoning_tokens
    } else {
        answered
    };
    Some(Usage {
        input_tokens,
        output_tokens,
        reasoning_tokens: reasoning_tokens.min(output_tokens),
    })
}

fn whole(number: &Value) -> Option<u64> {
    number.as_u64().filter(|count| *count <= MAX_COUNT)
}

/// Reads the answer to an embedding request: one vector per text, each as long as was asked for.
pub(super) fn embeddings(
    request: &EmbeddingRequest,
    dimensions: Option<usize>,
    body: &[u8],
) -> Result<Embeddings, Fault> {
    let answer = answer(body)?;
    let items = answer["data"].as_array();
    let items = items.ok_or_else(|| Fault::protocol("the provider's answer has no vectors"))?;
    let asked = request.input.len();
    if items.len() != asked {
        let found = items.len();
        let words = format!("the provider answered {asked} texts with {found} vectors");
        return Err(Fault::protocol(words));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; asked];
    for (position, item) in items.iter().enumerate() {
        let index = item["index"]
            .as_u64()
            .and_then(|at| usize::try_from(at).ok());
        let place = vectors.get_mut(index.unwrap_or(position));
        let place = place.filter(|place| place.is_none());
        let place = place.ok_or_else(|| Fault::protocol("the vectors' indices make no sense"))?;
        let vector = vector(&item["embedding"])
            .ok_or_else(|| Fault::protocol("a vector of the provider's answer is none"))?;
        if dimensions.is_some_and(|dimensions| dimensions != vector.len()) {
            let found = vector.len();
            let words = format!("the provider answered with vectors of length {found}");
            return Err(Fault::protocol(words));
        }
        *place = Some(vector);
    }
    Ok(Embeddings {
        vectors: vectors.into_iter().flatten().collect(),
        usage: Usage {
            input_tokens: input_tokens(&answer["usage"], request),
            ..Usage::default()
        },
    })
}

/// Numbers, or the base64 of 32-bit floats, low byte first.
fn vector(embedding: &Value) -> Option<Vec<f32>> {
    let vector: Vec<f32> = match embedding {
        #[expect(clippy::cast_possible_truncation, reason = "a vector is 32-bit floats")]
        Value::Array(numbers) => {
            let read = |number: &Value| number.as_f64().map(|number| number as f32);
            numbers.iter().map(read).collect::<Option<_>>()?
        }
        Value::String(text) => {
            let bytes = STANDARD.decode(text).ok()?;
            let (numbers, []) = bytes.as_chunks::<4>() else {
                return None;
            };
            numbers.iter().copied().map(f32::from_le_bytes).collect()
        }
        _ => return None,
    };
    let is_sound = !vector.is_empty() && vector.iter().all(|number| number.is_finite());
    is_sound.then_some(vector)
}

/// The provider's count, else a quarter of the characters.
fn input_tokens(usage: &Value, request: &EmbeddingRequest) -> u64 {
    let counted = ["prompt_tokens", "input_tokens", "total_tokens"];
    let counted = counted.into_iter().find_map(|name| whole(&usage[name]));
    counted.unwrap_or_else(|| estimated_tokens(&request.input))
}
