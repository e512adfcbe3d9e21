//! Asking one target: on the rung that it takes, again where that may help, and not at all while it rests.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{
    ChatRequest, Generation, ProjectId, Rung,
    seams::{Ids, ProviderError, ProviderErrorKind as Kind},
};

use tokio::time::Instant;

use crate::{
    breaker::{Breakers, Pass, Refused},
    ladder::Ladder,
    line::Line,
    price::Prices,
    route::Reachable,
};

pub(super) use crate::ladder::Chosen;

use super::{attempt::Walk, checks::Checks, ledger::Attempt, open::Call};

/// The waits before a retry, each give or take half of it (`reliability.md` 10).
const WAITS: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(800)];
/// A provider that asks for more than this is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Asks targets.
pub(super) struct Asking {
    pub(super) prices: Prices,
    pub(super) checks: Arc<Checks>,
    pub(super) ids: Arc<dyn Ids>,
    pub(super) ladder: Ladder,
    pub(super) breakers: Breakers,
}

/// A target that has answered, or begun to.
pub(super) struct Asked<'a, T> {
    pub(super) attempt: Attempt<'a>,
    pub(super) pass: Pass,
    pub(super) got: T,
    /// The rung that it was asked on, where JSON was demanded.
    pub(super) rung: Option<Chosen>,
}

/// A way of asking: for an answer as a whole, or as it comes.
#[async_trait]
pub(super) trait Way {
    /// What is there when the host has answered.
    type Got: Send;

    /// Asks once.
    async fn ask(reachable: &Reachable, chat: &ChatRequest) -> Result<Self::Got, ProviderError>;
}

/// Asking for an answer as a whole.
pub(super) struct Whole;

#[async_trait]
impl Way for Whole {
    type Got = Generation;

    async fn ask(reachable: &Reachable, chat: &ChatRequest) -> Result<Generation, ProviderError> {
        reachable.provider.chat(&reachable.target, chat).await
    }
}

impl Asking {
    /// Asks one target once, again while that may help, and one rung lower where it does not take the demand. The
    /// conversation's rung is set on the way.
    pub(super) async fn ask<'a, W: Way>(
        &'a self,
        walk: &Walk<'a>,
        reachable: &'a Reachable,
        chat: &mut Arc<ChatRequest>,
        has_fallback: bool,
    ) -> Result<Asked<'a, W::Got>, ProviderError> {
        let line = reachable.line(walk.call.scope);
        // With a fallback in reserve, one retry is enough.
        let retries = match (walk.may_retry, has_fallback) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => WAITS.len(),
        };
        let mut waits = WAITS.iter().take(retries);
        self.breakers.note_call(&line.origin);
        loop {
            let pass = self.breakers.admit(&line).map_err(|refused| {
                let failure = resting(&refused);
                walk.ledger.resting(&reachable.target.name, &failure);
                failure
            })?;
            let rung = self.choose_rung(reachable, &line, chat);
            let mut attempt = walk
                .ledger
                .begin(chat, reachable, &self.prices, walk.is_hedge);
            let failure = match W::ask(reachable, chat).await {
                Ok(got) => {
                    return Ok(Asked {
                        attempt,
                        pass,
                        got,
                        rung,
                    });
                }
                Err(failure) => failure,
            };
            attempt.failed(&failure);
            drop(attempt);
            let refused = rung.as_ref().filter(|rung| rung.rung != Rung::Prompt);
            if let (Kind::Demand, Some(rung)) = (failure.kind, refused) {
                pass.succeeded();
                self.ladder.refused(&line, rung.rung);
                continue;
            }
            pass.failed(failure.kind, failure.retry_after);
            let too_long = failure.retry_after.is_some_and(|wait| wait > LONGEST_WAIT);
            let may_retry = failure.kind.may_retry() && !too_long;
            let wait = waits
                .next()
                .filter(|_| may_retry && self.breakers.may_retry(&line.origin));
            let Some(wait) = wait else {
                return Err(failure);
            };
            let wait = failure.retry_after.unwrap_or_else(|| self.jittered(*wait));
            if Instant::now() + wait >= walk.deadline {
                return Err(failure);
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// What checks values, and for whom.
    pub(super) fn checks_of(&self, call: &Call) -> (&Checks, ProjectId) {
        (&self.checks, call.scope.project())
    }

    fn choose_rung(
        &self,
        reachable: &Reachable,
        line: &Line,
        chat: &mut Arc<ChatRequest>,
    ) -> Option<Chosen> {
        let demanded = chat.demand.as_ref()?.rung;
        let chosen = self
            .ladder
            .rung(line, reachable.provider.rungs(&reachable.target));
        if chosen.rung != demanded
            && let Some(demand) = &mut Arc::make_mut(chat).demand
        {
            demand.rung = chosen.rung;
        }
        Some(chosen)
    }

    /// Between half of `wait` and one and a half of it.
    fn jittered(&self, wait: Duration) -> Duration {
        let chance = self.ids.next().as_u128() & 0xffff;
        let percent = 50 + u32::try_from(chance * 100 / 0xffff).unwrap_or(0);
        wait * percent / 100
    }
}

/// A model that is left alone for a while, as a failure.
fn resting(refused: &Refused) -> ProviderError {
    match refused {
        Refused::Open => {
            let reason =
                "the model has failed too often of late and is left alone for some seconds";
            ProviderError::new(Kind::Overloaded, reason)
        }
        Refused::Resting { wait } => {
            let reason = "the provider asked to be left alone for a while (status 429)";
            let mut failure = ProviderError::new(Kind::RateLimited, reason);
            failure.retry_after = Some(*wait);
            failure
        }
    }
}
