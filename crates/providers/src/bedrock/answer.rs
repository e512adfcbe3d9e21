//! Bodies of Converse answers
//! (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html#API_runtime_Converse_ResponseSyntax>).

use domain::{
    Delta, FinishReason, Generation, Json, ToolCall, Usage, UsageReport, seams::ProviderErrorKind,
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    demand::{Calls, Reading},
    fault,
    telling::Telling,
};
use crate::{count::whole, wire::Fault};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(default)]
    output: Option<Output>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Option<Json>,
}

#[derive(Deserialize)]
struct Output {
    #[serde(default)]
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Vec<Block>,
}

/// A block has one of these.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Block {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    tool_use: Option<ToolUse>,
    #[serde(default)]
    reasoning_content: Option<Value>,
    #[serde(default)]
    citations_content: Option<Value>,
    #[serde(default)]
    image: Option<Value>,
}

#[derive(Deserialize)]
struct ToolUse {
    #[serde(rename = "toolUseId")]
    id: String,
    name: String,
    input: Json,
    #[serde(default, rename = "type")]
    kind: Option<String>,
}

/// Reads the answer to a conversation.
pub(super) fn generation(reading: &Reading, body: &[u8]) -> Result<Generation, Fault> {
    let value: Value = serde_json::from_slice(body).map_err(|_| Fault::no_json())?;
    let no_message = || Fault::protocol("the provider's answer has no message");
    if value.get("output").is_none() && value.get("__type").is_some() {
        return Err(fault::of_status(200, None, body));
    }
    // The arguments of calls keep their text, which they would not as values.
    let answer: Answer = serde_json::from_slice(body).map_err(|_| no_message())?;
    let message = answer.output.and_then(|output| output.message);
    let message = message.ok_or_else(no_message)?;
    let finish_reason = finish_reason(reading, answer.stop_reason.as_deref())?;

    let mut telling = Telling::new(reading);
    let mut generation = Generation::default();
    for block in message.content {
        for delta in block_deltas(&mut telling, block)? {
            add(&mut generation, delta);
        }
    }
    if let Some(delta) = telling.finish() {
        add(&mut generation, delta);
    }
    Ok(Generation {
        finish_reason,
        usage: answer.usage.as_ref().and_then(usage),
        ..generation
    })
}

fn block_deltas(telling: &mut Telling, block: Block) -> Result<Vec<Delta>, Fault> {
    let mut deltas = Vec::new();
    let reasoning = block.reasoning_content.unwrap_or_default();
    let reasoning = reasoning["reasoningText"]["text"].as_str();
    let reasoning = reasoning.filter(|reasoning| !reasoning.is_empty());
    deltas.extend(reasoning.map(|text| Delta::Reasoning(text.to_owned())));
    deltas.extend(block.text.and_then(|text| telling.text(&text)));
    let cited = block.citations_content.unwrap_or_default();
    for piece in cited["content"].as_array().into_iter().flatten() {
        deltas.extend(piece["text"].as_str().and_then(|text| telling.text(text)));
    }
    // What the provider's own tools do is its affair.
    let call = block.tool_use.filter(|call| call.kind.is_none());
    if let Some(call) = call {
        deltas.extend(telling.begin(&call.id, &call.name)?);
        deltas.extend(telling.arguments(call.input.text()));
    }
    let image = block.image.unwrap_or_default();
    if let (Some(format), Some(bytes)) =
        (image["format"].as_str(), image["source"]["bytes"].as_str())
    {
        deltas.push(Delta::Image(format!("data:image/{format};base64,{bytes}")));
    }
    Ok(deltas)
}

fn add(generation: &mut Generation, delta: Delta) {
    match delta {
        Delta::Text(text) => generation.text += &text,
        Delta::Reasoning(text) => generation.reasoning += &text,
        Delta::Image(url) => generation.images.push(url),
        Delta::ToolCall(piece) => {
            if let Some((id, name)) = piece.begins {
                let arguments = String::new();
                generation.tool_calls.push(ToolCall {
                    id,
                    name,
                    arguments,
                });
            }
            if let Some(call) = generation.tool_calls.get_mut(piece.index) {
                call.arguments += &piece.arguments;
            }
        }
        Delta::Refusal(_)
        | Delta::Logprobs(_)
        | Delta::Usage(_)
        | Delta::Remarks(_)
        | Delta::End { .. } => {}
    }
}

pub(super) fn finish_reason(
    reading: &Reading,
    reason: Option<&str>,
) -> Result<FinishReason, Fault> {
    match reason {
        Some("tool_use") if reading.calls == Calls::Told => Ok(FinishReason::ToolCalls),
        Some("max_tokens" | "model_context_window_exceeded") => Ok(FinishReason::Length),
        Some("guardrail_intervened" | "content_filtered" | "refusal") => {
            Ok(FinishReason::ContentFilter)
        }
        Some("malformed_model_output" | "malformed_tool_use") => Err(Fault {
            kind: ProviderErrorKind::Failed,
            status: None,
            words: Some("the model's answer was malformed".to_owned()),
            may_be_demand: true,
            wait: None,
        }),
        _ => Ok(FinishReason::Stop),
    }
}

/// The provider's count, if it makes sense. What its cache took part in is counted beside the input.
pub(super) fn usage(raw: &Json) -> Option<UsageReport> {
    let counts: Value = serde_json::from_str(raw.text()).ok()?;
    let count = |name: &str| whole(&counts[name]);
    let cached_tokens = count("cacheReadInputTokens").unwrap_or(0);
    let cache_write_tokens = count("cacheWriteInputTokens").unwrap_or(0);
    let details = counts["cacheDetails"].as_array().into_iter().flatten();
    let for_an_hour: u64 = details
        .filter(|detail| detail["ttl"] == "1h")
        .filter_map(|detail| detail["inputTokens"].as_u64())
        .fold(0, u64::saturating_add);
    Some(UsageReport {
        usage: Usage {
            input_tokens: count("inputTokens")? + cached_tokens + cache_write_tokens,
            output_tokens: count("outputTokens")?,
            cached_tokens,
            cache_write_tokens,
            cache_write_1h_tokens: for_an_hour.min(cache_write_tokens),
            ..Usage::default()
        },
        cost: None,
        raw: Some(raw.clone()),
    })
}
