//! The whole answer to a chat completion, and what its chunks share with it.

use domain::{
    Beside, CallResult, Cost, FinishReason, Json, Output, SpanId, Timestamp, ToolCall, Usage,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::tools::Customs;
use crate::schemas;

/// A chat completion. The last three members are the gateway's own.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletion)]
pub(crate) struct CompletionBody {
    /// `chatcmpl-` and the id of the span.
    id: String,
    /// `chat.completion`.
    object: &'static str,
    /// When the call began, in seconds since 1970.
    created: i64,
    /// The model that answered.
    model: String,
    /// One choice.
    choices: [Choice; 1],
    /// Which of the host's machines answered, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    system_fingerprint: Option<Json>,
    /// At which tier the host was asked, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    service_tier: Option<Json>,
    /// Where the answer is from, by address, if the host says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    citations: Option<Json>,
    /// What the host's search found, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    search_results: Option<Json>,
    usage: UsageBody,
    #[schema(value_type = schemas::Cost)]
    cost: Cost,
    /// The span that recorded the call.
    #[schema(value_type = uuid::Uuid)]
    span_id: SpanId,
    /// Whether the answer came from the cache.
    cached: bool,
}

/// The answer.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletionChoice)]
struct Choice {
    /// 0.
    index: u8,
    message: AnswerBody,
    /// How probable each token was, where that was asked for.
    #[schema(value_type = Option<schemas::Object>, required)]
    logprobs: Option<Json>,
    #[schema(value_type = schemas::ChatFinishReason)]
    finish_reason: FinishReason,
}

/// The model's turn.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletionMessage)]
struct AnswerBody {
    /// `assistant`.
    role: &'static str,
    /// The text; null where there is none beside calls of tools or a refusal.
    #[schema(required)]
    content: Option<String>,
    /// Why the model would not answer.
    #[schema(required)]
    refusal: Option<String>,
    /// The calls of the caller's tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    tool_calls: Vec<ToolCallBody>,
    /// What the model thought aloud.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    reasoning_content: String,
    /// Images beside the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    images: Vec<ImageBody>,
    /// What in the text is from where, if the host says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    annotations: Option<Json>,
    /// What the model thought, to be given back as it is; of hosts that want it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    reasoning_details: Option<Json>,
}

/// A call of a tool.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletionToolCall)]
struct ToolCallBody {
    id: String,
    /// `function` or `custom`: it has the member of that name.
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = FunctionBody, required = false)]
    function: Option<FunctionBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = CustomBody, required = false)]
    custom: Option<CustomBody>,
}

/// The tool and its arguments.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletionFunctionCall)]
struct FunctionBody {
    name: String,
    /// A JSON text, though no more than the model's word for that.
    arguments: String,
}

/// A tool that takes a text, and that text.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletionCustomCall)]
struct CustomBody {
    name: String,
    input: String,
}

/// An image.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletionImage)]
pub(super) struct ImageBody {
    /// `image_url`.
    #[serde(rename = "type")]
    kind: &'static str,
    image_url: ImageAddress,
}

/// Where an image is.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletionImageUrl)]
struct ImageAddress {
    /// A `data:` or `https:` URL.
    url: String,
}

/// The tokens of all attempts.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletionUsage)]
pub(super) struct UsageBody {
    /// Tokens sent.
    prompt_tokens: u64,
    /// Tokens received.
    completion_tokens: u64,
    /// The sum of both.
    total_tokens: u64,
    prompt_tokens_details: PromptDetails,
    completion_tokens_details: CompletionDetails,
}

/// What the sent tokens were.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletionPromptDetails)]
struct PromptDetails {
    /// The part that the provider read from its cache.
    cached_tokens: u64,
    /// The part that was sound.
    audio_tokens: u64,
}

/// What the received tokens were.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletionCompletionDetails)]
struct CompletionDetails {
    /// The part that was reasoning.
    reasoning_tokens: u64,
    /// The part that was sound.
    audio_tokens: u64,
}

/// The id of the completion that a span records.
pub(super) fn id(span_id: SpanId) -> String {
    format!("chatcmpl-{span_id}")
}

/// Whole seconds since 1970.
pub(super) const fn seconds(time: Timestamp) -> i64 {
    time.micros().div_euclid(1_000_000)
}

impl ImageBody {
    pub(super) const fn of(url: String) -> Self {
        Self {
            kind: "image_url",
            image_url: ImageAddress { url },
        }
    }
}

impl CompletionBody {
    pub(super) fn of(result: CallResult, customs: &Customs) -> Self {
        let remarks = result.beside.remarks.clone();
        Self {
            id: id(result.span_id),
            object: "chat.completion",
            created: seconds(result.started),
            model: result.model.to_string(),
            choices: [Choice {
                index: 0,
                finish_reason: result.finish_reason,
                logprobs: result.beside.logprobs.clone(),
                message: AnswerBody::of(result.output, result.beside, customs),
            }],
            system_fingerprint: remarks.system_fingerprint,
            service_tier: remarks.service_tier,
            citations: remarks.citations,
            search_results: remarks.search_results,
            usage: result.usage.into(),
            cost: result.cost,
            span_id: result.span_id,
            cached: result.cached,
        }
    }
}

impl ToolCallBody {
    fn of(call: ToolCall, customs: &Customs) -> Self {
        let name = call.name;
        if customs.contains(&name) {
            let input = call.arguments;
            return Self {
                id: call.id,
                kind: "custom",
                function: None,
                custom: Some(CustomBody { name, input }),
            };
        }
        let arguments = call.arguments;
        Self {
            id: call.id,
            kind: "function",
            function: Some(FunctionBody { name, arguments }),
            custom: None,
        }
    }
}

impl AnswerBody {
    fn of(output: Output, beside: Beside, customs: &Customs) -> Self {
        let text = match output {
            Output::Message(text) => text,
            Output::Payload(value) => value.text().to_owned(),
            Output::Images(_) => String::new(),
        };
        let is_elsewhere = beside.refusal.is_some() || !beside.tool_calls.is_empty();
        let calls = beside.tool_calls.into_iter();
        let calls = calls.map(|call| ToolCallBody::of(call, customs));
        Self {
            role: "assistant",
            content: Some(text).filter(|text| !(text.is_empty() && is_elsewhere)),
            refusal: beside.refusal,
            tool_calls: calls.collect(),
            reasoning_content: beside.reasoning,
            annotations: beside.remarks.annotations,
            reasoning_details: beside.remarks.reasoning_details,
            images: beside.images.into_iter().map(ImageBody::of).collect(),
        }
    }
}

impl From<Usage> for UsageBody {
    fn from(usage: Usage) -> Self {
        Self {
            prompt_tokens: usage.input_tokens,
            completion_tokens: usage.output_tokens,
            total_tokens: usage.total_tokens(),
            prompt_tokens_details: PromptDetails {
                cached_tokens: usage.cached_tokens,
                audio_tokens: usage.audio_input_tokens,
            },
            completion_tokens_details: CompletionDetails {
                reasoning_tokens: usage.reasoning_tokens,
                audio_tokens: usage.audio_output_tokens,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::Tool;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_of_a_tool_that_takes_a_text_is_told_as_such() {
        let customs = Customs::of(&[Tool {
            kind: "custom".to_owned(),
            name: "write".to_owned(),
            description: None,
            parameters: None,
            as_given: Json::null(),
        }]);
        let call = |id: &str, name: &str, arguments: &str| ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        let beside = Beside {
            tool_calls: vec![call("a", "write", "no JSON"), call("b", "f", "{}")],
            ..Beside::default()
        };

        let told = AnswerBody::of(Output::Message(String::new()), beside, &customs);

        let expected = json!({"role": "assistant", "content": null, "refusal": null, "tool_calls": [
            {"id": "a", "type": "custom", "custom": {"name": "write", "input": "no JSON"}},
            {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        ]});
        assert_eq!(serde_json::to_value(&told).unwrap(), expected);
    }
}
