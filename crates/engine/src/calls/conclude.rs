//! Concluding a call: cost, span, result; also when the call failed.

use std::sync::Arc;

use domain::{
    CallResult, Cost, CostStatus, FinishReason, Json, ModelName, Output, Span, SpanKind, Tags,
    Usage, seams::Clock,
};
use serde::Serialize;

use crate::{
    error::{CallDetail, Code, Error},
    price::Bill,
    spans::SpanWriter,
};

use super::{
    Answer,
    ledger::{Entry, Ledger, Status, elapsed_ms},
    open::Call,
};

/// What a span keeps of input and output together.
const MAX_KEPT_BYTES: usize = 8 * 1024 * 1024;

/// How a call ended.
pub(super) enum Ending {
    /// With an answer.
    Answered(Answer),
    /// With an error.
    Failed(Error),
    /// The caller left before it was over.
    CallerGone,
}

/// Concludes calls.
pub(super) struct Closing {
    spans: SpanWriter,
    clock: Arc<dyn Clock>,
}

/// The members of `meta` (`interface.md` 8.3).
#[derive(Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the members are the contract's"
)]
struct Meta<'a> {
    tags: &'a Tags,
    function_id: domain::FunctionId,
    function_name: &'a str,
    revision_id: domain::RevisionId,
    model: Option<&'a ModelName>,
    models_tried: Vec<Tried<'a>>,
    attempts: usize,
    cached: bool,
    streamed: bool,
    finish_reason: Option<FinishReason>,
    usage: Usage,
    cost: Cost,
    cost_status: CostStatus,
    latency_ms: u64,
    few_shot_count: u32,
    #[serde(skip_serializing_if = "is_false")]
    usage_estimated: bool,
    #[serde(skip_serializing_if = "is_false")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_type: Option<&'static str>,
}

#[derive(Serialize)]
struct Tried<'a> {
    model: &'a ModelName,
    status: Status,
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_status: Option<u16>,
    ms: u64,
    usage: Usage,
    cost: Cost,
}

impl Closing {
    pub(super) fn new(spans: SpanWriter, clock: Arc<dyn Clock>) -> Self {
        Self { spans, clock }
    }

    /// Writes the span and says what the caller is told. Without a durable span nothing is answered as a success.
    pub(super) async fn conclude(
        &self,
        call: Call,
        ledger: Ledger,
        ending: Ending,
    ) -> Result<CallResult, Error> {
        let (usage, bill) = (ledger.usage(), ledger.bill());
        let span = self.span(&call, &ledger, &ending, bill);
        observe(&call, &ending);
        let span_id = call.span_id;
        if let Err(cause) = self.spans.commit(span).await {
            let mut error = Error::unavailable("storage");
            error.cause = Some(cause);
            return Err(error);
        }
        match ending {
            Ending::Answered(answer) => Ok(CallResult {
                span_id,
                output: answer.output,
                cached: false,
                usage,
                cost: bill.cost,
            }),
            Ending::Failed(error) => Err(error.of_span(span_id)),
            Ending::CallerGone => Err(Error::call(
                Code::Upstream,
                CallDetail::because("client disconnected"),
            )
            .of_span(span_id)),
        }
    }

    fn span(&self, call: &Call, ledger: &Ledger, ending: &Ending, bill: Bill) -> Span {
        let output = match ending {
            Ending::Answered(answer) => Some(match &answer.output {
                Output::Message(text) => Json::of(text),
                Output::Payload(value) => value.clone(),
            }),
            _ => None,
        };
        let (input, output, truncated) = kept(call.request.input.clone(), output);
        let meta = meta(call, ledger, ending, bill, truncated);
        Span {
            id: call.span_id,
            project: call.scope.project(),
            name: call.function.name.to_string(),
            kind: SpanKind::GENERATION,
            trace_id: call.trace_id,
            parent_id: call.request.parent_span_id,
            start_time: call.started,
            end_time: Some(self.clock.now().max(call.started)),
            input,
            output,
            error: match ending {
                Ending::Answered(_) => None,
                Ending::Failed(error) => Some(error.to_string()),
                Ending::CallerGone => Some("client disconnected".to_owned()),
            },
            meta,
        }
    }
}

fn meta(call: &Call, ledger: &Ledger, ending: &Ending, bill: Bill, truncated: bool) -> Json {
    let answer = match ending {
        Ending::Answered(answer) => Some(answer),
        _ => None,
    };
    Json::of(&Meta {
        tags: &call.request.tags,
        function_id: call.function.id,
        function_name: call.function.name.as_str(),
        revision_id: call.callee.revision.id,
        model: answer.map(|answer| &answer.model),
        models_tried: ledger.entries.iter().map(Tried::from).collect(),
        attempts: ledger.entries.len(),
        cached: false,
        streamed: false,
        finish_reason: answer.map(|answer| answer.finish_reason),
        usage: ledger.usage(),
        cost: bill.cost,
        cost_status: bill.status,
        latency_ms: elapsed_ms(call.began),
        few_shot_count: 0,
        usage_estimated: ledger.entries.iter().any(|entry| entry.usage_estimated),
        truncated,
        error_type: match ending {
            Ending::Failed(error) => Some(error.code.name()),
            _ => None,
        },
    })
}

/// Input and output as far as a span keeps them, and whether anything was cut. The shorter one is cut last.
fn kept(input: Option<Json>, output: Option<Json>) -> (Option<Json>, Option<Json>, bool) {
    let bytes = |value: &Option<Json>| value.as_ref().map_or(0, |value| value.text().len());
    let (of_input, of_output) = (bytes(&input), bytes(&output));
    if of_input + of_output <= MAX_KEPT_BYTES {
        return (input, output, false);
    }
    let room_beside = |other: usize| MAX_KEPT_BYTES - other.min(MAX_KEPT_BYTES / 2);
    let input = input.map(|value| cut(value, room_beside(of_output)));
    let output = output.map(|value| cut(value, room_beside(of_input)));
    (input, output, true)
}

/// The value, or the beginning of its text as a string of at most `room` bytes.
fn cut(value: Json, room: usize) -> Json {
    if value.text().len() <= room {
        return value;
    }
    let text = value.as_string().unwrap_or_else(|| value.text().to_owned());
    let mut length = room;
    loop {
        // As JSON the text may be longer than it is: quotes and backslashes count twice.
        let kept = Json::of(&&text[..text.floor_char_boundary(length)]);
        if kept.text().len() <= room {
            return kept;
        }
        length = (length - 1).min(length * room / kept.text().len());
    }
}

fn observe(call: &Call, ending: &Ending) {
    let outcome = match ending {
        Ending::Answered(_) => "answered",
        Ending::Failed(error) => error.code.name(),
        Ending::CallerGone => "client_disconnected",
    };
    metrics::counter!("gatewright_calls_total", "outcome" => outcome).increment(1);
    metrics::histogram!("gatewright_call_seconds").record(call.began.elapsed());
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl<'a> From<&'a Entry> for Tried<'a> {
    fn from(entry: &'a Entry) -> Self {
        Self {
            model: &entry.model,
            status: entry.status,
            reason: entry.reason.as_deref(),
            upstream_status: entry.upstream_status,
            ms: entry.ms,
            usage: entry.usage,
            cost: entry.bill.map(|bill| bill.cost).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    fn text(bytes: usize) -> Json {
        Json::of(&"\"".repeat(bytes / 2))
    }

    #[test]
    fn what_fits_together_is_kept_whole() {
        let cases = [
            (Some(text(5 * MIB)), Some(text(2 * MIB))),
            (Some(text(7 * MIB)), None),
            (None, None),
        ];
        for (input, output) in cases {
            assert_eq!(kept(input.clone(), output.clone()), (input, output, false));
        }
    }

    #[test]
    fn what_does_not_is_cut_to_the_bound() {
        for (input, output) in [(9, 0), (9, 9), (1, 9), (6, 3), (30, 30)] {
            let (input, output, truncated) =
                kept(Some(text(input * MIB)), Some(text(output * MIB)));

            let sum = input.unwrap().text().len() + output.unwrap().text().len();
            assert!(
                truncated && sum <= MAX_KEPT_BYTES && sum > MAX_KEPT_BYTES * 3 / 4,
                "{sum}"
            );
        }
    }

    #[test]
    fn a_long_object_is_kept_as_the_beginning_of_its_text() {
        let value = Json::of(&serde_json::json!({"a": "x".repeat(9 * MIB)}));

        let (input, ..) = kept(Some(value.clone()), None);

        assert!(
            value
                .text()
                .starts_with(&input.unwrap().as_string().unwrap())
        );
    }
}
