//! Attempts: targets in order, a second one beside a slow first, repairs of an answer that misses its schema.

use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicUsize, Ordering},
};

use domain::{Beside, ChatRequest, FinishReason, Generation, Output, seams::ProviderError};
use tokio::{pin, select, time::Instant};

use crate::{
    error::{CallDetail, Code, Error},
    route::{Reachable, Stop},
};

use super::{
    Answer,
    asking::{Asked, Asking, Chosen, Whole},
    failures::{Failures, told},
    ledger::{Attempt, Ledger},
    open::Call,
    output::{Complaint, Read},
    rest::Unfinished,
};

const LAST_OUTPUT_CHARS: usize = 2000;

/// One way along the stops of a call.
pub(super) struct Walk<'a> {
    pub(super) call: &'a Call,
    pub(super) ledger: &'a Ledger,
    /// How many model answers may still be tried, over all models.
    pub(super) answers_left: &'a AtomicU32,
    /// Which stop comes next.
    pub(super) next_stop: &'a AtomicUsize,
    /// When the whole call has to be over.
    pub(super) deadline: Instant,
    /// Whether it was begun because another one took its time.
    pub(super) is_hedge: bool,
    /// Whether a target may be asked again.
    pub(super) may_retry: bool,
    /// What was sent of an answer that broke off, if that is to be completed.
    pub(super) unfinished: Option<&'a Unfinished>,
}

/// Why one target gave no answer.
pub(super) enum Missed {
    /// Another target cannot help.
    ForGood(Error),
    /// The next target may.
    Unavailable(ProviderError),
    /// A part of the answer was passed on, then it broke off.
    Broken(ProviderError, Option<Unfinished>),
}

impl Asking {
    /// Asks along the stops until an answer does. Where the settings say so, a first model that takes its time is not
    /// waited for alone.
    pub(super) async fn run(
        &self,
        walk: &Walk<'_>,
        stops: &[Stop],
        chat: Arc<ChatRequest>,
    ) -> Result<Answer, Error> {
        let Some(after) = walk.call.settings().hedge_after() else {
            return self.walk(walk, stops, chat).await;
        };
        let first = self.walk(walk, stops, chat.clone());
        pin!(first);
        if let Ok(answer) = tokio::time::timeout(after, &mut first).await {
            return answer;
        }
        // The two share what is left of the stops. Where nothing is, the last one is asked once more.
        let (last, of_its_own) = (&stops[stops.len() - 1..], AtomicUsize::new(0));
        let has_next = walk.next_stop.load(Ordering::Relaxed) < stops.len();
        let (others, next_stop) = if has_next {
            (stops, walk.next_stop)
        } else {
            (last, &of_its_own)
        };
        let beside = Walk {
            is_hedge: true,
            // Asked once more beside itself, a model is asked often enough.
            may_retry: has_next,
            next_stop,
            ..*walk
        };
        let second = self.walk(&beside, others, chat);
        pin!(second);
        select! {
            answer = &mut first => match answer {
                Err(error) if may_be_waited_out(&error) => second.await,
                answer => answer,
            },
            // What the second one is refused says nothing of the first.
            answer = &mut second => match answer {
                Err(_) => first.await,
                answer => answer,
            },
        }
    }

    /// Asks along the stops, one after the other.
    pub(super) async fn walk(
        &self,
        walk: &Walk<'_>,
        stops: &[Stop],
        mut chat: Arc<ChatRequest>,
    ) -> Result<Answer, Error> {
        let mut failures = Failures::default();
        while let Some((stop, has_fallback)) = walk.next(stops) {
            let Some(reachable) = stop.reachable(walk.ledger) else {
                continue;
            };
            match self.target(walk, reachable, &mut chat, has_fallback).await {
                Ok(answer) => return Ok(answer),
                Err(Missed::ForGood(error)) => return Err(error),
                Err(Missed::Unavailable(failure) | Missed::Broken(failure, _)) => {
                    failures.add(failure);
                }
            }
        }
        Err(failures.told(walk.ledger))
    }

    /// Asks one target, and has it repair its answer while attempts are left.
    async fn target(
        &self,
        walk: &Walk<'_>,
        reachable: &Reachable,
        chat: &mut Arc<ChatRequest>,
        has_fallback: bool,
    ) -> Result<Answer, Missed> {
        loop {
            let Asked {
                mut attempt,
                pass,
                got: mut generation,
                rung,
            } = self
                .ask::<Whole>(walk, reachable, chat, has_fallback)
                .await
                .map_err(|failure| Missed::by(failure, walk.ledger))?;
            pass.succeeded();
            attempt.answered(&mut generation);
            if reachable.makes_images() {
                walk.spend_answer();
                return Ok(reachable.drawn(generation));
            }
            refuse_a_refusal(walk, &generation, &mut attempt)?;
            let read = walk
                .call
                .wanted_of(&generation)
                .read(&generation, walk.unfinished, self.checks_of(walk.call))
                .await;
            match read {
                Ok(read) => return Ok(self.accept(walk, reachable, (generation, rung), read)),
                Err(complaint) => {
                    self.complain(
                        walk,
                        reachable,
                        &complaint,
                        (&generation, rung.as_ref()),
                        &mut attempt,
                    )?;
                    Arc::make_mut(chat)
                        .messages
                        .extend(complaint.turns(&generation.text, walk.call.wanted()));
                }
            }
        }
    }

    /// Takes an answer that does.
    pub(super) fn accept(
        &self,
        walk: &Walk<'_>,
        reachable: &Reachable,
        (generation, rung): (Generation, Option<Chosen>),
        read: Read,
    ) -> Answer {
        walk.spend_answer();
        if let Some(rung) = &rung {
            self.ladder
                .kept(&reachable.line(walk.call.scope), rung.rung);
        }
        Answer {
            output: read.output,
            model: reachable.target.name.clone(),
            finish_reason: generation.finish_reason,
            beside: walk.call.beside(generation),
            rung,
            mended: read.mended,
            rest: read.rest,
            failover: walk.unfinished.is_some(),
        }
    }

    /// Books an answer that does not do. An error if it was the last that may be tried.
    pub(super) fn complain(
        &self,
        walk: &Walk<'_>,
        reachable: &Reachable,
        complaint: &Complaint,
        (generation, rung): (&Generation, Option<&Chosen>),
        attempt: &mut Attempt<'_>,
    ) -> Result<(), Missed> {
        attempt.mismatched(&complaint.faults.join("; "));
        if let Some(rung) =
            rung.filter(|rung| complaint.breaks(rung.rung, generation.finish_reason))
        {
            self.ladder
                .broke(&reachable.line(walk.call.scope), rung.rung);
        }
        if walk.spend_answer() {
            return Ok(());
        }
        let faults = complaint.faults.clone();
        Err(Missed::ForGood(walk.never_fitted(&generation.text, faults)))
    }
}

impl Reachable {
    /// The images of a model that makes nothing else, as an answer.
    pub(super) fn drawn(&self, generation: Generation) -> Answer {
        Answer {
            output: Output::Images(generation.images),
            beside: Beside::default(),
            model: self.target.name.clone(),
            finish_reason: generation.finish_reason,
            rung: None,
            mended: Vec::new(),
            rest: Vec::new(),
            failover: false,
        }
    }
}

impl Walk<'_> {
    /// The next stop, and whether another one comes after it.
    pub(super) fn next<'s>(&self, stops: &'s [Stop]) -> Option<(&'s Stop, bool)> {
        let index = self.next_stop.fetch_add(1, Ordering::Relaxed);
        Some((stops.get(index)?, index + 1 < stops.len()))
    }

    /// An answer was tried. Says whether another one may be.
    pub(super) fn spend_answer(&self) -> bool {
        let spend = |left: u32| Some(left.saturating_sub(1));
        let before = self
            .answers_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend);
        before.is_ok_and(|left| left > 1)
    }

    /// That no answer satisfied the output schema.
    pub(super) fn never_fitted(&self, last: &str, faults: Vec<String>) -> Error {
        let allowed = self.call.settings().max_attempts();
        let left = self.answers_left.load(Ordering::Relaxed);
        let mut detail = CallDetail::because("the answer does not satisfy the output schema");
        detail.attempts = Some(allowed.saturating_sub(left));
        detail.last_output = Some(last.chars().take(LAST_OUTPUT_CHARS).collect());
        detail.validation_errors = Some(faults);
        Error::call(Code::StructuredGeneration, detail)
    }
}

impl Missed {
    /// What a failure to ask means for the targets that are left.
    pub(super) fn by(failure: ProviderError, ledger: &Ledger) -> Self {
        if failure.kind.may_fall_back() {
            Self::Unavailable(failure)
        } else {
            Self::ForGood(told(&failure, ledger))
        }
    }
}

impl Stop {
    /// Where the way leads; booked, if it leads nowhere.
    pub(super) fn reachable(&self, ledger: &Ledger) -> Option<&Reachable> {
        match &self.leads_to {
            Ok(reachable) => Some(reachable),
            Err(reason) => {
                ledger.unresolved(&self.name, reason.clone());
                None
            }
        }
    }
}

/// Whether the other of two walks may still succeed where one failed so.
fn may_be_waited_out(error: &Error) -> bool {
    matches!(
        error.code,
        Code::Upstream | Code::UpstreamTimeout | Code::RateLimit
    )
}

/// A model that declines, or whose host's filter left nothing of its answer, is not asked again (`interface.md` 1.6 and
/// 15.3). A text or an image beside that is an answer; in a conversation, the refusal itself is one.
pub(super) fn refuse_a_refusal(
    walk: &Walk<'_>,
    generation: &Generation,
    attempt: &mut Attempt<'_>,
) -> Result<(), Missed> {
    if !walk.call.is_failed_by_refusal() {
        return Ok(());
    }
    let is_text = walk.call.wanted().schema().is_none();
    if is_text && !(generation.text.is_empty() && generation.images.is_empty()) {
        return Ok(());
    }
    let reason = match (&generation.refusal, generation.finish_reason) {
        (Some(refusal), _) => refusal.as_str(),
        (None, FinishReason::ContentFilter) => "the provider's content filter stopped the answer",
        _ => return Ok(()),
    };
    attempt.refused(reason);
    Err(Missed::ForGood(Error::call(
        Code::ContentPolicyViolation,
        CallDetail::because(reason),
    )))
}
