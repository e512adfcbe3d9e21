//! Bodies of answers: a list of items, of which messages, calls, thoughts and images say something.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{
    FinishReason, Generation, Json, ToolCall, Usage, UsageReport, seams::ProviderErrorKind,
};
use serde_json::{Value, json};

use super::Reading;
use crate::{
    call_id,
    count::whole,
    openai::{answer::answer, usage::total},
    wire::Fault,
};

/// What stands between two thoughts.
pub(super) const BREAK: &str = "\n\n";

/// Reads an answer.
pub(super) fn generation(reading: &Reading, body: &[u8]) -> Result<Generation, Fault> {
    response(reading, &answer(body)?)
}

/// Reads the response in an answer, or in the last event of a stream.
pub(super) fn response(reading: &Reading, response: &Value) -> Result<Generation, Fault> {
    let finish_reason = finish_reason(response)?;
    let items = response["output"].as_array();
    let items = items.ok_or_else(|| Fault::protocol("the provider's answer has no output"))?;
    let mut said = Said::default();
    for item in items {
        said.take(item);
    }
    let logprobs = (!said.logprobs.is_empty()).then(|| logprobs(&said.logprobs));
    let (content, calls) = (reading.demanded.content(said.content), said.calls);
    let mut joining = reading.demanded.joining();
    // Some models breathe before they call.
    let is_called = calls.iter().any(|call| !call.arguments.is_empty());
    let is_breath = !reading.has_tools && is_called && content.trim().is_empty();
    let mut text = if is_breath {
        String::new()
    } else {
        joining.content(&content)
    };
    if !reading.has_tools {
        for (number, call) in (0..).zip(&calls) {
            text += &joining.call(number, &call.arguments)?;
        }
    }
    text += &joining.finish();
    let tool_calls = if reading.has_tools { calls } else { Vec::new() };
    Ok(Generation {
        text,
        reasoning: said.thoughts.join(BREAK),
        refusal: Some(said.refusal).filter(|refusal| !refusal.is_empty()),
        finish_reason: with_calls(finish_reason, !tool_calls.is_empty()),
        tool_calls,
        images: said.images,
        logprobs,
        usage: usage(&response["usage"]),
        ..Generation::default()
    })
}

/// What the items of an answer say.
#[derive(Default)]
struct Said {
    content: String,
    thoughts: Vec<String>,
    refusal: String,
    calls: Vec<ToolCall>,
    images: Vec<String>,
    logprobs: Vec<Value>,
}

impl Said {
    fn take(&mut self, item: &Value) {
        match item["type"].as_str() {
            Some("message") if is_aside(item) => self.thoughts.extend(texts(&item["content"])),
            Some("message") => self.message(item),
            Some("reasoning") => {
                self.thoughts.extend(texts(&item["summary"]));
                self.thoughts.extend(texts(&item["content"]));
            }
            Some("function_call") => {
                let (id, name) = called(item, self.calls.len());
                self.calls.push(ToolCall {
                    id,
                    name,
                    arguments: arguments(item).to_owned(),
                });
            }
            Some("image_generation_call") => self.images.extend(image(item)),
            // Tools that the host ran itself, and what is yet to come.
            _ => {}
        }
    }

    fn message(&mut self, item: &Value) {
        for part in item["content"].as_array().into_iter().flatten() {
            let text = |name: &str| part[name].as_str().unwrap_or_default();
            match part["type"].as_str() {
                Some("output_text") => self.content += text("text"),
                Some("refusal") => self.refusal += text("refusal"),
                _ => {}
            }
            let logprobs = part["logprobs"].as_array();
            self.logprobs
                .extend(logprobs.into_iter().flatten().cloned());
        }
    }
}

/// Whether a message is what the model says while it works, and not its answer.
pub(super) fn is_aside(item: &Value) -> bool {
    item["phase"] == "commentary"
}

fn texts(parts: &Value) -> impl Iterator<Item = String> {
    let parts = parts.as_array().into_iter().flatten();
    let texts = parts.filter_map(|part| part["text"].as_str());
    texts.filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The id and the name of a call that is the answer's `number`th.
pub(super) fn called(item: &Value, number: usize) -> (String, String) {
    let id = item["call_id"].as_str().or(item["id"].as_str());
    let id = id.filter(|id| !id.is_empty());
    let id = id.map_or_else(|| call_id::made_up(None, number), str::to_owned);
    (id, item["name"].as_str().unwrap_or_default().to_owned())
}

/// The arguments of a call, whole.
pub(super) fn arguments(item: &Value) -> &str {
    item["arguments"].as_str().unwrap_or_default()
}

/// The image that the host's own tool made, if it did.
pub(super) fn image(item: &Value) -> Option<String> {
    let data = item["result"].as_str().filter(|data| !data.is_empty())?;
    let format = item["output_format"].as_str().unwrap_or("png");
    let is_sound = format.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_data = STANDARD.decode(data).is_ok();
    (is_sound && is_data).then(|| format!("data:image/{format};base64,{data}"))
}

/// In the chat dialect's shape.
pub(super) fn logprobs(content: &[Value]) -> Json {
    Json::of(&json!({ "content": content, "refusal": null }))
}

/// Why a response ended, if it did in order.
pub(super) fn finish_reason(response: &Value) -> Result<FinishReason, Fault> {
    match response["status"].as_str() {
        // What Perplexity waits for is the results of calls.
        None | Some("completed" | "requires_action") => Ok(FinishReason::Stop),
        Some("incomplete") => match response["incomplete_details"]["reason"].as_str() {
            Some("content_filter") => Ok(FinishReason::ContentFilter),
            _ => Ok(FinishReason::Length),
        },
        Some("failed" | "cancelled") => Err(Fault {
            kind: ProviderErrorKind::Failed,
            ..Fault::protocol("the provider broke its answer off")
        }),
        Some(other) => {
            let words = format!("the provider's answer is not there yet: it is `{other}`");
            Err(Fault::protocol(words))
        }
    }
}

/// The reason of an answer that calls, or does not.
pub(super) const fn with_calls(reason: FinishReason, has_calls: bool) -> FinishReason {
    match reason {
        FinishReason::Stop if has_calls => FinishReason::ToolCalls,
        reason => reason,
    }
}

/// The provider's count, if it makes sense: with no more out of the cache than was sent.
pub(super) fn usage(usage: &Value) -> Option<UsageReport> {
    let input_tokens = whole(&usage["input_tokens"])?;
    let output_tokens = whole(&usage["output_tokens"])?;
    let sent = &usage["input_tokens_details"];
    let of_sent = |names: [&str; 2]| names.into_iter().find_map(|name| whole(&sent[name]));
    // The second names are Perplexity's.
    let cached = of_sent(["cached_tokens", "cache_read_input_tokens"]).unwrap_or(0);
    let written = of_sent(["cache_write_tokens", "cache_creation_input_tokens"]).unwrap_or(0);
    let thought = whole(&usage["output_tokens_details"]["reasoning_tokens"]).unwrap_or(0);
    if cached + written > input_tokens {
        return None;
    }
    Some(UsageReport {
        usage: Usage {
            input_tokens,
            output_tokens,
            reasoning_tokens: thought.min(output_tokens),
            cached_tokens: cached,
            cache_write_tokens: written,
            ..Usage::default()
        },
        cost: total(&usage["cost"]),
        raw: Some(Json::of(usage)),
    })
}
