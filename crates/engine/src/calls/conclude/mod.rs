//! Concluding a call: cost, span, result; also when the call failed.

mod meta;

use std::{sync::Arc, time::Instant};

use domain::{
    Beside, CallResult, FinishReason, Json, Kept, Observation, Output, Span, SpanWrite, ToolCall,
    seams::Clock,
};
use serde::Serialize;

use crate::{
    error::{CallDetail, Code, Error},
    observer::{self, Judged, Observer},
    spans::{Committed, SpanWriter, kept},
};

pub(super) use self::meta::{Tried, is_false, warnings};

use self::meta::{Beginning, meta};

use super::{
    Answer,
    ledger::{Entry, Ledger, Status},
    open::Call,
    task::Task,
};

pub(crate) const CLIENT_GONE: &str = "client disconnected";
pub(crate) const CLIENT_STALLED: &str = "client stalled";

/// How a call ended.
pub(super) enum Ending {
    /// With an answer.
    Answered(Answer),
    /// With an answer that was made for an equal call.
    Kept(Kept),
    /// With an error.
    Failed(Error),
    /// The caller left before it was over.
    CallerGone,
    /// The caller took nothing of a stream for too long.
    CallerStalled,
}

/// Concludes calls.
pub(super) struct Closing {
    spans: SpanWriter,
    observer: Arc<Observer>,
    clock: Arc<dyn Clock>,
}

impl Closing {
    pub(super) fn new(spans: SpanWriter, observer: Arc<Observer>, clock: Arc<dyn Clock>) -> Self {
        Self {
            spans,
            observer,
            clock,
        }
    }

    /// Keeps the beginning of a call's span.
    pub(super) fn begin(&self, call: &Call) -> impl Future<Output = Committed> + use<> {
        let (input, ..) = kept(call.input(), None);
        let meta = Json::of(&Beginning::of(call, true));
        let span = SpanWrite::Begin(row(call, (input, None), meta));
        let spans = self.spans.clone();
        async move { spans.commit(span).await }
    }

    /// The span of a call that has ended; `sent` is what was passed on of a stream.
    pub(super) fn span(
        &self,
        call: &Call,
        ledger: &Ledger,
        ending: &Ending,
        sent: Option<&str>,
    ) -> Span {
        let output = match ending {
            Ending::Answered(Answer { output, beside, .. })
            | Ending::Kept(Kept { output, beside, .. }) => Some(said(call, output, beside)),
            Ending::Failed(_) | Ending::CallerGone | Ending::CallerStalled => sent
                .filter(|sent| !sent.is_empty())
                .map(|sent| Json::of(&sent)),
        };
        let (input, output, truncated) = kept(call.input(), output);
        let observation = self.observation(ledger, ending);
        let meta = meta(
            Beginning::of(call, sent.is_some()),
            (call, ledger, ending),
            observation.as_ref(),
            truncated,
        );
        Span {
            end_time: Some(self.clock.now().max(call.started)),
            error: match ending {
                Ending::Answered(_) | Ending::Kept(_) => None,
                Ending::Failed(error) => Some(error.to_string()),
                Ending::CallerGone => Some(CLIENT_GONE.to_owned()),
                Ending::CallerStalled => Some(CLIENT_STALLED.to_owned()),
            },
            score: observation.map(|observation| observation.score),
            ..row(call, (input, output), meta)
        }
    }

    /// Writes the span and says what the caller is told. Without a durable span nothing is answered as a success.
    pub(super) async fn conclude(
        &self,
        call: Call,
        ledger: Ledger,
        ending: Ending,
        write: SpanWrite,
    ) -> Result<CallResult, Error> {
        observe(&call, &ending);
        let span_id = call.span_id;
        if let Err(cause) = self.spans.commit(write).await {
            let mut error = Error::unavailable("storage");
            error.cause = Some(cause);
            return Err(error.of_span(span_id));
        }
        let started = call.started;
        let (output, beside, model, finish_reason, cached, failover) = match ending {
            Ending::Answered(answer) => {
                self.offer(&call, &answer);
                let Answer {
                    output,
                    beside,
                    model,
                    finish_reason,
                    failover,
                    ..
                } = answer;
                (output, beside, model, finish_reason, false, failover)
            }
            Ending::Kept(kept) => {
                let Kept {
                    output,
                    beside,
                    model,
                    finish_reason,
                } = kept;
                (output, beside, model, finish_reason, true, false)
            }
            Ending::Failed(error) => return Err(error.of_span(span_id)),
            Ending::CallerGone | Ending::CallerStalled => {
                let detail = CallDetail::because(CLIENT_GONE);
                return Err(Error::call(Code::Upstream, detail).of_span(span_id));
            }
        };
        Ok(CallResult {
            span_id,
            started,
            output,
            beside,
            model,
            finish_reason,
            cached,
            failover,
            usage: ledger.usage(),
            cost: ledger.bill().cost,
        })
    }

    /// What the observer says of an answer by rule (`interface.md` 15.8).
    fn observation(&self, ledger: &Ledger, ending: &Ending) -> Option<Observation> {
        let Ending::Answered(answer) = ending else {
            return None;
        };
        self.observer
            .is_enabled()
            .then(|| rule_score(ledger, answer))
    }

    /// Has the judge look at an answer, if there is one.
    fn offer(&self, call: &Call, answer: &Answer) {
        if !self.observer.has_judge() {
            return;
        }
        self.observer.offer(Judged {
            scope: call.scope,
            span_id: call.span_id,
            trace_id: call.trace_id,
            instructions: call.instructions(),
            input: call.input().unwrap_or_else(Json::null),
            output: said(call, &answer.output, &answer.beside),
        });
    }
}

/// An output as a span keeps it: the turn, where a conversation's is more than its text.
fn said(call: &Call, output: &Output, beside: &Beside) -> Json {
    #[derive(Serialize)]
    struct Turn<'a> {
        content: Option<Json>,
        #[serde(skip_serializing_if = "Option::is_none")]
        refusal: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Called<'a>>,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        images: &'a [String],
    }
    #[derive(Serialize)]
    struct Called<'a> {
        id: &'a str,
        name: &'a str,
        arguments: &'a str,
    }
    impl<'a> From<&'a ToolCall> for Called<'a> {
        fn from(call: &'a ToolCall) -> Self {
            Self {
                id: &call.id,
                name: &call.name,
                arguments: &call.arguments,
            }
        }
    }
    let content = text_of(output);
    let is_more =
        beside.refusal.is_some() || !beside.tool_calls.is_empty() || !beside.images.is_empty();
    if matches!(call.task, Task::Function(_)) || !is_more {
        return content;
    }
    Json::of(&Turn {
        content: Some(content).filter(|content| content.text() != "\"\""),
        refusal: beside.refusal.as_deref(),
        tool_calls: beside.tool_calls.iter().map(Called::from).collect(),
        images: &beside.images,
    })
}

fn text_of(output: &Output) -> Json {
    match output {
        Output::Message(text) => Json::of(text),
        Output::Payload(value) => value.clone(),
        Output::Images(images) => Json::of(images),
    }
}

fn rule_score(ledger: &Ledger, answer: &Answer) -> Observation {
    let mismatched = |entry: &&Entry| entry.status == Status::Mismatched;
    let beside = &answer.beside;
    let said_nothing =
        beside.refusal.is_none() && beside.tool_calls.is_empty() && beside.images.is_empty();
    let mismatches = ledger.entries().iter().filter(mismatched).count();
    observer::rule_score(
        u32::try_from(mismatches)
            .unwrap_or(u32::MAX)
            .saturating_add(1),
        answer.finish_reason == FinishReason::Length,
        matches!(&answer.output, Output::Message(text) if text.is_empty()) && said_nothing,
    )
}

/// The row of a call's span, as far as it is known when the call begins.
fn row(call: &Call, (input, output): (Option<Json>, Option<Json>), meta: Json) -> Span {
    Span {
        id: call.span_id,
        project: call.scope.project(),
        name: call.name().to_owned(),
        kind: Some(call.kind()),
        trace_id: call.trace_id,
        parent_id: call.parent_span_id,
        start_time: Some(call.started),
        end_time: None,
        input,
        output,
        error: None,
        meta,
        score: None,
        feedback: None,
    }
}

fn observe(call: &Call, ending: &Ending) {
    let outcome = match ending {
        Ending::Answered(_) => "answered",
        Ending::Kept(_) => "cached",
        Ending::Failed(error) => error.code.name(),
        Ending::CallerGone => "client_disconnected",
        Ending::CallerStalled => "client_stalled",
    };
    measure(outcome, call.began);
}

/// Counts one call that has ended.
pub(super) fn measure(outcome: &'static str, began: Instant) {
    metrics::counter!("gatewright_calls_total", "outcome" => outcome).increment(1);
    metrics::histogram!("gatewright_call_seconds").record(began.elapsed());
}
