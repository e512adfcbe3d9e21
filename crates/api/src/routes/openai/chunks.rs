//! A chat completion as it comes: chunks, and `[DONE]` after the orderly end alone.

use std::collections::HashSet;

use bytes::{BufMut, BytesMut};
use domain::{CallResult, Cost, Delta, FinishReason, Json, Remarks, SpanId, ToolCallDelta};
use engine::{CallStream, Detail, Error, StreamEvent};
use serde::Serialize;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{Ref, RefOr, Schema, schema::AnyOfBuilder},
};

use super::{
    completion::{ImageBody, UsageBody, id, seconds},
    tools::Customs,
};
use crate::{
    problem::ErrorBody,
    schemas,
    sse::{Notation, reported, write_on_one_line},
};

/// Writes the chunks of one completion.
pub(super) struct Chunks {
    span_id: SpanId,
    id: String,
    created: i64,
    model: String,
    includes_usage: bool,
    has_begun: bool,
    /// Those of the next piece of text.
    logprobs: Option<Json>,
    customs: Customs,
    /// Which calls are of these.
    custom_calls: HashSet<usize>,
    /// Of the whole answer, from its end on.
    remarks: Remarks,
}

/// A chunk of a chat completion.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletionChunk)]
pub(crate) struct Chunk<'a> {
    /// `chatcmpl-` and the id of the span.
    id: &'a str,
    /// `chat.completion.chunk`.
    object: &'static str,
    /// When the call began, in seconds since 1970.
    created: i64,
    /// The model that answers.
    model: &'a str,
    /// One choice; none in the chunk that has the usage.
    choices: &'a [Choice<'a>],
    /// Which of the host's machines answered; at the end, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    system_fingerprint: Option<&'a Json>,
    /// At which tier the host was asked; at the end, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    service_tier: Option<&'a Json>,
    /// Where the answer is from, by address; at the end, if the host says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    citations: Option<&'a Json>,
    /// What the host's search found; at the end, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    search_results: Option<&'a Json>,
    /// Where it was asked for: null in every chunk but the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<UsageBody>)]
    usage: Option<Said<UsageBody>>,
    /// Beside the usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schemas::Cost, required = false)]
    cost: Option<Cost>,
    /// Beside the usage: whether the answer came from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool, required = false)]
    cached: Option<bool>,
}

/// What a member says, where it is there.
#[derive(Serialize)]
#[serde(untagged)]
enum Said<T> {
    Nothing,
    This(T),
}

/// A piece of the answer.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletionChunkChoice)]
struct Choice<'a> {
    /// 0.
    index: u8,
    delta: Piece<'a>,
    /// How probable the tokens of the piece were, where that was asked for.
    #[schema(value_type = Option<schemas::Object>, required)]
    logprobs: Option<Json>,
    /// Null until the end.
    #[schema(value_type = Option<schemas::ChatFinishReason>, required)]
    finish_reason: Option<FinishReason>,
}

/// What it adds.
#[derive(Default, Serialize, ToSchema)]
#[schema(as = ChatCompletionDelta)]
struct Piece<'a> {
    /// `assistant`, in the first chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    content: Option<Said<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[CallPiece<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    images: Option<[ImageBody; 1]>,
    /// What in the text is from where; at the end, if the host says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    annotations: Option<&'a Json>,
    /// What the model thought, to be given back as it is; at the end, of hosts that want it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    reasoning_details: Option<&'a Json>,
}

/// A piece of a call of a tool.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletionToolCallDelta)]
struct CallPiece<'a> {
    /// Which call of the answer.
    index: usize,
    /// In the call's first piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    /// `function` or `custom`, in the call's first piece.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = FunctionPiece<'a>, required = false)]
    function: Option<FunctionPiece<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = CustomPiece<'a>, required = false)]
    custom: Option<CustomPiece<'a>>,
}

/// What it adds.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletionFunctionCallDelta)]
struct FunctionPiece<'a> {
    /// In the call's first piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    arguments: &'a str,
}

/// What it adds, where the tool takes a text.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletionCustomCallDelta)]
struct CustomPiece<'a> {
    /// In the call's first piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    input: &'a str,
}

/// The end in failure, after something was sent.
#[derive(Serialize, ToSchema)]
#[schema(as = ChatCompletionFailure)]
pub(crate) struct Failure<'a> {
    error: ErrorBody<'a>,
}

/// The `data` of one event, as the document shows it. After the orderly end it is `[DONE]`.
pub(crate) struct ChunkEvent;

impl PartialSchema for ChunkEvent {
    fn schema() -> RefOr<Schema> {
        let kinds = [Chunk::name(), Failure::name()];
        let any = kinds.iter().fold(AnyOfBuilder::new(), |any, name| {
            any.item(Ref::from_schema_name(name.as_ref()))
        });
        let about =
            "The data of one event of a streamed chat completion; `[DONE]` follows the last.";
        Schema::AnyOf(any.description(Some(about)).build()).into()
    }
}

impl ToSchema for ChunkEvent {
    fn name() -> std::borrow::Cow<'static, str> {
        "ChatCompletionEvent".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.extend([
            (Chunk::name().into(), Chunk::schema()),
            (Failure::name().into(), Failure::schema()),
        ]);
        Chunk::schemas(schemas);
        Failure::schemas(schemas);
    }
}

impl Chunks {
    pub(super) fn of(stream: &CallStream, includes_usage: bool, customs: Customs) -> Self {
        Self {
            span_id: stream.span_id,
            id: id(stream.span_id),
            created: seconds(stream.started),
            model: stream.model.to_string(),
            includes_usage,
            has_begun: false,
            logprobs: None,
            customs,
            custom_calls: HashSet::new(),
            remarks: Remarks::default(),
        }
    }

    fn piece(&mut self, piece: Piece<'_>, end: Option<FinishReason>, out: &mut BytesMut) {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        // The first chunk says who speaks, and that nothing was said, where that is so.
        let silent = if end.is_some() {
            Said::This("")
        } else {
            Said::Nothing
        };
        let piece = Piece {
            role: is_first.then_some("assistant"),
            content: piece.content.or(is_first.then_some(silent)),
            ..piece
        };
        let belongs = matches!(piece.content, Some(Said::This(_))) || end.is_some();
        let logprobs = if belongs { self.logprobs.take() } else { None };
        let choice = Choice {
            index: 0,
            delta: piece,
            logprobs,
            finish_reason: end,
        };
        let usage = self.includes_usage.then_some(Said::Nothing);
        write_data(&self.chunk(&[choice], usage), out);
    }

    fn chunk<'a>(&'a self, choices: &'a [Choice<'a>], usage: Option<Said<UsageBody>>) -> Chunk<'a> {
        Chunk {
            id: &self.id,
            object: "chat.completion.chunk",
            created: self.created,
            model: &self.model,
            choices,
            system_fingerprint: self.remarks.system_fingerprint.as_ref(),
            service_tier: self.remarks.service_tier.as_ref(),
            citations: self.remarks.citations.as_ref(),
            search_results: self.remarks.search_results.as_ref(),
            usage,
            cost: None,
            cached: None,
        }
    }

    fn beside(&mut self, delta: &Delta, out: &mut BytesMut) {
        let mut piece = Piece::default();
        match delta {
            Delta::Reasoning(text) => piece.reasoning_content = Some(text),
            Delta::Refusal(text) => piece.refusal = Some(text),
            Delta::ToolCall(call) => piece.tool_calls = Some([self.call(call)]),
            Delta::Image(url) => piece.images = Some([ImageBody::of(url.clone())]),
            Delta::Logprobs(logprobs) => {
                self.logprobs = Some(logprobs.clone());
                return;
            }
            // These are events of their own, or stand in the result.
            Delta::Text(_) | Delta::Usage(_) | Delta::Remarks(_) | Delta::End { .. } => return,
        }
        self.piece(piece, None, out);
    }

    fn call<'a>(&mut self, call: &'a ToolCallDelta) -> CallPiece<'a> {
        let (id, name) = match &call.begins {
            Some((id, name)) => (Some(id.as_str()), Some(name.as_str())),
            None => (None, None),
        };
        if name.is_some_and(|name| self.customs.contains(name)) {
            self.custom_calls.insert(call.index);
        }
        let is_custom = self.custom_calls.contains(&call.index);
        let piece = &call.arguments;
        CallPiece {
            index: call.index,
            id,
            kind: id.map(|_| if is_custom { "custom" } else { "function" }),
            function: (!is_custom).then_some(FunctionPiece {
                name,
                arguments: piece,
            }),
            custom: is_custom.then_some(CustomPiece { name, input: piece }),
        }
    }

    fn done(&mut self, result: &CallResult, out: &mut BytesMut) {
        let remarks = &result.beside.remarks;
        self.remarks = remarks.clone();
        let last = Piece {
            annotations: remarks.annotations.as_ref(),
            reasoning_details: remarks.reasoning_details.as_ref(),
            ..Piece::default()
        };
        self.piece(last, Some(result.finish_reason), out);
        if self.includes_usage {
            let last = Chunk {
                cost: Some(result.cost),
                cached: Some(result.cached),
                ..self.chunk(&[], Some(Said::This(result.usage.into())))
            };
            write_data(&last, out);
        }
        out.put_slice(b"data: [DONE]\n\n");
    }

    fn failed(&self, error: Error, out: &mut BytesMut) {
        let problem = reported(error, self.span_id);
        let correlation = Detail::Text(format!("span {}", self.span_id));
        let error = problem.body(&correlation);
        write_data(&Failure { error }, out);
    }
}

impl Notation for Chunks {
    fn write(&mut self, event: StreamEvent, out: &mut BytesMut) {
        match event {
            StreamEvent::Text(text) => {
                let piece = Piece {
                    content: Some(Said::This(&text)),
                    ..Piece::default()
                };
                self.piece(piece, None, out);
            }
            StreamEvent::Beside(delta) => self.beside(&delta, out),
            StreamEvent::Done(result) => self.done(&result, out),
            StreamEvent::Failed(error) => self.failed(*error, out),
            // A conversation's value comes as text.
            StreamEvent::Leaf { .. } => {}
        }
    }
}

fn write_data(data: &impl Serialize, out: &mut BytesMut) {
    out.put_slice(b"data: ");
    write_on_one_line(data, out);
    out.put_slice(b"\n\n");
}

#[cfg(test)]
mod tests {
    use domain::{Beside, ModelName, Output, Timestamp, Tool, Usage};
    use engine::{CallDetail, Code};
    use serde_json::{Value, json};

    use super::*;

    const SPAN: &str = "0195b0c2-7a01-7000-8000-000000000001";

    fn customs() -> Customs {
        Customs::of(&[Tool {
            kind: "custom".to_owned(),
            name: "write".to_owned(),
            description: None,
            parameters: None,
            as_given: Json::null(),
        }])
    }

    fn written(includes_usage: bool, events: impl IntoIterator<Item = StreamEvent>) -> Vec<String> {
        let span_id = SpanId::parse(SPAN).unwrap();
        let mut chunks = Chunks {
            span_id,
            id: id(span_id),
            created: 7,
            model: "a/one".to_owned(),
            includes_usage,
            has_begun: false,
            logprobs: None,
            customs: customs(),
            custom_calls: HashSet::new(),
            remarks: Remarks::default(),
        };
        let mut out = BytesMut::new();
        events
            .into_iter()
            .for_each(|event| chunks.write(event, &mut out));
        let text = String::from_utf8(out.to_vec()).unwrap();
        let events = text.split_terminator("\n\n");
        let data = events.map(|event| event.strip_prefix("data: ").unwrap().to_owned());
        data.collect()
    }

    /// The first choice of every chunk.
    fn choices(events: impl IntoIterator<Item = StreamEvent>) -> Vec<Value> {
        let written = written(false, events);
        let chunks = written.iter().filter(|data| *data != "[DONE]");
        let chunks = chunks.map(|data| serde_json::from_str::<Value>(data).unwrap());
        chunks.map(|mut chunk| chunk["choices"][0].take()).collect()
    }

    fn choice(delta: &Value, finish_reason: Option<&str>) -> Value {
        json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason})
    }

    fn done(finish_reason: FinishReason) -> StreamEvent {
        StreamEvent::Done(Box::new(CallResult {
            span_id: SpanId::parse(SPAN).unwrap(),
            started: Timestamp::from_micros(7_000_000),
            output: Output::Message(String::new()),
            beside: Beside::default(),
            model: ModelName::parse("a/one").unwrap(),
            finish_reason,
            cached: false,
            failover: false,
            usage: Usage {
                input_tokens: 3,
                output_tokens: 2,
                ..Usage::default()
            },
            cost: Cost::default(),
        }))
    }

    fn call(index: usize, begins: Option<(&str, &str)>, arguments: &str) -> StreamEvent {
        StreamEvent::Beside(Delta::ToolCall(ToolCallDelta {
            index,
            begins: begins.map(|(id, name)| (id.to_owned(), name.to_owned())),
            arguments: arguments.to_owned(),
        }))
    }

    #[test]
    fn an_empty_answer_says_who_says_nothing() {
        let written = written(false, [done(FinishReason::Stop)]);

        let expected = r#"{"id":"chatcmpl-0195b0c2-7a01-7000-8000-000000000001","object":"chat.completion.chunk","created":7,"model":"a/one","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":"stop"}]}"#;
        assert_eq!(written, [expected, "[DONE]"]);
    }

    #[test]
    fn the_usage_follows_the_last_choice() {
        let written = written(true, [done(FinishReason::Length)]);

        let chunks = written[..2].iter();
        let chunks: Vec<Value> = chunks
            .map(|data| serde_json::from_str(data).unwrap())
            .collect();
        assert_eq!(chunks[0]["usage"], Value::Null);
        assert!(chunks[0].as_object().unwrap().contains_key("usage"));
        assert_eq!(chunks[1]["choices"], json!([]));
        assert_eq!(chunks[1]["usage"]["total_tokens"], 5);
        assert_eq!(written[2], "[DONE]");
    }

    #[test]
    fn a_call_of_a_tool_is_named_with_its_first_piece() {
        let choices = choices([
            call(0, Some(("call_1", "f")), ""),
            call(0, None, "{}"),
            call(1, Some(("call_2", "g")), "{\"a\":"),
            call(1, None, "1}"),
            done(FinishReason::ToolCalls),
        ]);

        let piece = |piece: Value| choice(&json!({"tool_calls": [piece]}), None);
        let first = json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}});
        assert_eq!(
            choices,
            [
                choice(
                    &json!({"role": "assistant", "content": null, "tool_calls": [first]}),
                    None
                ),
                piece(json!({"index": 0, "function": {"arguments": "{}"}})),
                piece(
                    json!({"index": 1, "id": "call_2", "type": "function", "function": {"name": "g", "arguments": "{\"a\":"}})
                ),
                piece(json!({"index": 1, "function": {"arguments": "1}"}})),
                choice(&json!({}), Some("tool_calls")),
            ]
        );
    }

    #[test]
    fn a_call_of_a_tool_that_takes_a_text_is_told_as_such() {
        let choices = choices([
            call(0, Some(("call_1", "write")), ""),
            call(0, None, "no "),
            call(1, Some(("call_2", "f")), "{}"),
            call(0, None, "JSON"),
        ]);

        let told: Vec<&Value> = choices
            .iter()
            .map(|choice| &choice["delta"]["tool_calls"][0])
            .collect();
        assert_eq!(
            told,
            [
                &json!({"index": 0, "id": "call_1", "type": "custom", "custom": {"name": "write", "input": ""}}),
                &json!({"index": 0, "custom": {"input": "no "}}),
                &json!({"index": 1, "id": "call_2", "type": "function", "function": {"name": "f", "arguments": "{}"}}),
                &json!({"index": 0, "custom": {"input": "JSON"}}),
            ]
        );
    }

    #[test]
    fn thoughts_images_and_refusals_have_places_of_their_own() {
        let choices = choices([
            StreamEvent::Beside(Delta::Reasoning("hm".to_owned())),
            StreamEvent::Text("so".to_owned()),
            StreamEvent::Beside(Delta::Image("data:image/png;base64,AA==".to_owned())),
            StreamEvent::Beside(Delta::Refusal("no".to_owned())),
        ]);

        let image =
            json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}});
        assert_eq!(
            choices,
            [
                choice(
                    &json!({"role": "assistant", "content": null, "reasoning_content": "hm"}),
                    None
                ),
                choice(&json!({"content": "so"}), None),
                choice(&json!({"images": [image]}), None),
                choice(&json!({"refusal": "no"}), None),
            ]
        );
    }

    #[test]
    fn probabilities_stand_beside_the_text_that_they_are_of() {
        let logprobs = Json::parse(r#"{"content":[{"token":"so","logprob":-0.1}]}"#).unwrap();

        let choices = choices([
            StreamEvent::Beside(Delta::Reasoning("hm".to_owned())),
            StreamEvent::Beside(Delta::Logprobs(logprobs.clone())),
            StreamEvent::Text("so".to_owned()),
            StreamEvent::Beside(Delta::Logprobs(logprobs.clone())),
            done(FinishReason::Stop),
        ]);

        let found: Vec<&Value> = choices.iter().map(|choice| &choice["logprobs"]).collect();
        let logprobs = logprobs.to_value();
        assert_eq!(found, [&Value::Null, &logprobs, &logprobs]);
    }

    #[test]
    fn what_the_host_said_beside_the_answer_stands_at_its_end() {
        let StreamEvent::Done(mut result) = done(FinishReason::Stop) else {
            unreachable!()
        };
        let json = |text: &str| Some(Json::parse(text).unwrap());
        result.beside.remarks = Remarks {
            annotations: json("[{}]"),
            citations: json("[\"https://h\"]"),
            system_fingerprint: json("\"fp\""),
            ..Remarks::default()
        };
        let events = [
            StreamEvent::Text("so".to_owned()),
            StreamEvent::Done(result),
        ];

        let written = written(true, events);

        let chunks = written[..3].iter();
        let chunks = chunks.map(|data| serde_json::from_str::<Value>(data).unwrap());
        let found: Vec<Value> = chunks
            .map(|chunk| {
                let delta = &chunk["choices"][0]["delta"];
                json!([delta, chunk["citations"], chunk["system_fingerprint"]])
            })
            .collect();
        let cited = json!(["https://h"]);
        let expected = [
            json!([{"role": "assistant", "content": "so"}, null, null]),
            json!([{"annotations": [{}]}, cited, "fp"]),
            json!([null, cited, "fp"]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_failure_is_one_line_and_no_end() {
        let detail = CallDetail::because("it broke");
        let error = Error::call(Code::Upstream, detail).of_span(SpanId::parse(SPAN).unwrap());

        let written = written(
            true,
            [
                StreamEvent::Text("so".to_owned()),
                StreamEvent::Failed(Box::new(error)),
            ],
        );

        let expected = r#"{"error":{"type":"UpstreamError","message":"The model provider failed","detail":{"reason":"it broke","span_id":"0195b0c2-7a01-7000-8000-000000000001"}}}"#;
        assert_eq!(written.len(), 2);
        assert_eq!(written[1], expected);
    }
}
