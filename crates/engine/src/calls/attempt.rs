//! Attempts: targets in order, retries of one target, repairs of an answer that misses its schema.

use std::{sync::Arc, time::Duration};

use domain::{
    ChatRequest, FinishReason, Generation, Message, Output, Part, Usage,
    seams::{Ids, ProviderError, ProviderErrorKind},
};

use crate::{
    error::{CallDetail, Code, Error},
    price::{Prices, estimated_tokens},
    route::{Reachable, Route},
};

use super::{Answer, checks::Checks, ledger::Ledger, open::Call, output, output::Complaint};

/// The waits before a retry, each give or take half of it (`reliability.md` 10).
const WAITS: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(800)];
/// A provider that asks for more than this is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
const LAST_OUTPUT_CHARS: usize = 2000;

/// Runs attempts.
pub(super) struct Attempts {
    prices: Prices,
    checks: Arc<Checks>,
    ids: Arc<dyn Ids>,
}

/// Why one target gave no answer.
enum Missed {
    /// Another target cannot help.
    ForGood(Error),
    /// The next target may.
    Unavailable(ProviderError),
}

impl Attempts {
    pub(super) fn new(prices: Prices, checks: Arc<Checks>, ids: Arc<dyn Ids>) -> Self {
        Self {
            prices,
            checks,
            ids,
        }
    }

    /// Asks along the route until an answer does.
    pub(super) async fn run(
        &self,
        call: &Call,
        route: Route,
        mut chat: ChatRequest,
        ledger: &mut Ledger,
    ) -> Result<Answer, Error> {
        let mut answers_left = call.definition().configuration.max_attempts();
        let mut last_failure = None;
        let mut stops = route.into_iter().peekable();
        while let Some(stop) = stops.next() {
            let reachable = match stop.leads_to {
                Ok(reachable) => reachable,
                Err(reason) => {
                    ledger.unresolved(&stop.name, reason);
                    continue;
                }
            };
            // With a fallback in reserve, one retry is enough.
            let retries = if stops.peek().is_some() {
                1
            } else {
                WAITS.len()
            };
            match self
                .target(
                    call,
                    &reachable,
                    &mut chat,
                    (retries, &mut answers_left),
                    ledger,
                )
                .await
            {
                Ok(answer) => return Ok(answer),
                Err(Missed::ForGood(error)) => return Err(error),
                Err(Missed::Unavailable(failure)) => last_failure = Some(failure),
            }
        }
        let last_failure = last_failure.expect("a route holds a target that can be asked");
        Err(told(&last_failure, ledger))
    }

    /// Asks one target, and has it repair its answer while attempts are left.
    async fn target(
        &self,
        call: &Call,
        reachable: &Reachable,
        chat: &mut ChatRequest,
        (retries, answers_left): (usize, &mut u32),
        ledger: &mut Ledger,
    ) -> Result<Answer, Missed> {
        let is_structured = call.callee.output_schema.is_some();
        loop {
            let generation =
                self.ask(reachable, chat, retries, ledger)
                    .await
                    .map_err(|failure| {
                        if failure.kind.may_fall_back() {
                            Missed::Unavailable(failure)
                        } else {
                            Missed::ForGood(told(&failure, ledger))
                        }
                    })?;
            if is_structured {
                refuse_a_refusal(&generation, ledger).map_err(Missed::ForGood)?;
            }
            *answers_left = answers_left.saturating_sub(1);
            let complaint = match self.read(call, &generation).await {
                Ok(output) => {
                    let (model, finish_reason) =
                        (reachable.target.name.clone(), generation.finish_reason);
                    return Ok(Answer {
                        output,
                        model,
                        finish_reason,
                    });
                }
                Err(complaint) => complaint,
            };
            ledger.mismatched(&complaint.faults.join("; "));
            if *answers_left == 0 {
                return Err(Missed::ForGood(never_fitted(
                    call,
                    &generation,
                    complaint.faults,
                )));
            }
            chat.messages.extend(complaint.turns(&generation.text));
        }
    }

    /// Reads an answer. With a schema it must be one JSON value that satisfies it; without one it is text as it came.
    async fn read(&self, call: &Call, generation: &Generation) -> Result<Output, Complaint> {
        let Some(schema) = &call.callee.output_schema else {
            return Ok(Output::Message(generation.text.clone()));
        };
        let value = output::value(&generation.text)?;
        let mismatches = self
            .checks
            .mismatches(call.scope.project(), schema, &value)
            .await;
        if mismatches.is_empty() {
            Ok(Output::Payload(value))
        } else {
            Err(Complaint::about(&mismatches))
        }
    }

    /// Asks one target once, and again while that may help.
    async fn ask(
        &self,
        reachable: &Reachable,
        chat: &ChatRequest,
        retries: usize,
        ledger: &mut Ledger,
    ) -> Result<Generation, ProviderError> {
        let mut waits = WAITS.iter().take(retries);
        loop {
            ledger.begin(&reachable.target.name);
            match reachable.provider.chat(&reachable.target, chat).await {
                Ok(generation) => {
                    self.book(reachable, chat, &generation, ledger);
                    return Ok(generation);
                }
                Err(failure) => {
                    ledger.failed(&failure);
                    let too_long = failure.retry_after.is_some_and(|wait| wait > LONGEST_WAIT);
                    let wait = waits
                        .next()
                        .filter(|_| failure.kind.may_retry() && !too_long);
                    let Some(wait) = wait else {
                        return Err(failure);
                    };
                    tokio::time::sleep(failure.retry_after.unwrap_or_else(|| self.jittered(*wait)))
                        .await;
                }
            }
        }
    }

    fn book(
        &self,
        reachable: &Reachable,
        chat: &ChatRequest,
        generation: &Generation,
        ledger: &mut Ledger,
    ) {
        let usage = generation
            .usage
            .unwrap_or_else(|| estimated(chat, generation));
        let usage_estimated = generation.usage.is_none();
        let bill = self
            .prices
            .bill(reachable.price.as_ref(), &usage, usage_estimated);
        ledger.answered(usage, usage_estimated, bill);
    }

    /// Between half of `wait` and one and a half of it.
    fn jittered(&self, wait: Duration) -> Duration {
        let chance = self.ids.next().as_u128() & 0xffff;
        let percent = 50 + u32::try_from(chance * 100 / 0xffff).unwrap_or(0);
        wait * percent / 100
    }
}

fn estimated(chat: &ChatRequest, generation: &Generation) -> Usage {
    let sent = chat.messages.iter().flat_map(|Message { parts, .. }| parts);
    let input_tokens = sent.map(|part| match part {
        Part::Text(text) => estimated_tokens(text),
        Part::Image(_) | Part::Audio(_) | Part::File(_) => 0,
    });
    let output_tokens = estimated_tokens(&generation.text);
    Usage {
        input_tokens: input_tokens.sum(),
        output_tokens,
        reasoning_tokens: 0,
    }
}

/// A model that declines a structured call is not asked again (`interface.md` 15.3).
fn refuse_a_refusal(generation: &Generation, ledger: &mut Ledger) -> Result<(), Error> {
    let reason = match (&generation.refusal, generation.finish_reason) {
        (Some(refusal), _) => refusal.clone(),
        (None, FinishReason::ContentFilter) => {
            "the provider's content filter stopped the answer".to_owned()
        }
        _ => return Ok(()),
    };
    ledger.refused(reason.clone());
    Err(Error::call(
        Code::ContentPolicyViolation,
        CallDetail::because(reason),
    ))
}

fn never_fitted(call: &Call, last: &Generation, faults: Vec<String>) -> Error {
    let attempts = call.definition().configuration.max_attempts();
    let mut detail = CallDetail::because("the answer does not satisfy the output schema");
    detail.attempts = Some(attempts);
    detail.last_output = Some(last.text.chars().take(LAST_OUTPUT_CHARS).collect());
    detail.validation_errors = Some(faults);
    Error::call(Code::StructuredGeneration, detail)
}

/// What the caller is told of a failure upstream (`interface.md` 1.6 and 15.6).
fn told(failure: &ProviderError, ledger: &Ledger) -> Error {
    let code = match failure.kind {
        ProviderErrorKind::RateLimited => Code::RateLimit,
        ProviderErrorKind::Timeout => Code::UpstreamTimeout,
        ProviderErrorKind::Invalid
        | ProviderErrorKind::RefusedAddress
        | ProviderErrorKind::Misconfigured => Code::BadRequest,
        ProviderErrorKind::ContentPolicy => Code::ContentPolicyViolation,
        ProviderErrorKind::ContextWindow => Code::ContextWindowExceeded,
        ProviderErrorKind::Connection
        | ProviderErrorKind::Overloaded
        | ProviderErrorKind::Failed
        | ProviderErrorKind::Auth
        | ProviderErrorKind::UnknownModel
        | ProviderErrorKind::Protocol => Code::Upstream,
    };
    let mut detail = CallDetail::because(failure.reason.clone());
    detail.upstream_status = failure.status;
    detail.models = ledger.models();
    let mut error = Error::call(code, detail);
    if code == Code::RateLimit {
        error.retry_after = Some(failure.retry_after.unwrap_or(Duration::from_secs(1)));
    }
    error
}
