//! Asking one target: on the rung that it takes, again where that may help, and not at all while it rests.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    ChatRequest, Generation, ProjectId, Rung,
    seams::{Ids, ProviderError, ProviderErrorKind as Kind},
};

use crate::{
    breaker::Pass,
    error::Error,
    ladder::Ladder,
    line::Line,
    price::Prices,
    retries::{Again, Retries},
    route::{self, Reachable, Route},
    tokens::Sent,
};

pub(super) use crate::ladder::Chosen;

use super::{attempt::Walk, checks::Checks, ledger::Attempt, open::Call, prompt};

/// Asks targets.
pub(super) struct Asking {
    pub(super) prices: Prices,
    pub(super) checks: Arc<Checks>,
    pub(super) ids: Arc<dyn Ids>,
    pub(super) ladder: Ladder,
    pub(super) retries: Arc<Retries>,
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
        reachable.chat(chat).await
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
        let again = if walk.may_retry {
            Again::usual(has_fallback)
        } else {
            Again::Never
        };
        let line = reachable.line(walk.call.scope);
        let mut tries = self.retries.begin(line, again, walk.deadline);
        loop {
            let pass = tries.admit().inspect_err(|failure| {
                walk.ledger.resting(&reachable.target.name, failure);
            })?;
            let rung = self.choose_rung(walk.call, (reachable, tries.line()), chat);
            let worded = if reachable.makes_images() {
                prompt::to_draw(walk.call)
            } else {
                prompt::worded(walk.call, chat)
            };
            let sent = Sent::Chat(worded.clone());
            let mut attempt = walk
                .ledger
                .begin(sent, reachable, &self.prices, walk.is_hedge);
            let failure = match W::ask(reachable, &worded).await {
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
                self.ladder.refused(tries.line(), rung.rung);
                continue;
            }
            pass.failed(&failure);
            if !tries.wait(&failure).await {
                return Err(failure);
            }
        }
    }

    /// What checks values, and for whom.
    pub(super) fn checks_of(&self, call: &Call) -> (&Checks, ProjectId) {
        (&self.checks, call.scope.project())
    }

    fn choose_rung(
        &self,
        call: &Call,
        (reachable, line): (&Reachable, &Line),
        chat: &mut Arc<ChatRequest>,
    ) -> Option<Chosen> {
        if reachable.makes_images() {
            return None;
        }
        let demanded = chat.demand.as_ref()?.rung;
        let (provider, target) = (&reachable.provider, &reachable.target);
        let rungs = call.rungs(provider.rungs(target));
        let obstacle = |rung| provider.obstacle(target, chat, rung);
        let chosen = self.ladder.rung(line, rungs, obstacle);
        if chosen.rung != demanded
            && let Some(demand) = &mut Arc::make_mut(chat).demand
        {
            demand.rung = chosen.rung;
        }
        Some(chosen)
    }
}

/// A call's route without a way to those that could answer with calls of functions: its result has no place for these.
///
/// # Errors
/// `BadRequest` if nobody else is left.
pub(super) fn without_functions(call: &Call, mut route: Route) -> Result<Route, Error> {
    if call.has_place_for_calls() {
        return Ok(route);
    }
    for stop in &mut route {
        let brings = |reachable: &Reachable| reachable.provider.brings_functions(&reachable.target);
        if let Some(option) = stop.leads_to.as_ref().ok().and_then(brings) {
            stop.leads_to = Err(format!(
                "the option `{option}` of the model `{}` brings functions, and the result of a function of ours has no \
                 place for calls of them: they can be used in chat completions",
                stop.name
            ));
        }
    }
    route::leading_somewhere(route)
}

/// The route without a way to those that cannot be told a part of the conversation: only a host that reads turns as they
/// were given may know what nobody here can read.
///
/// # Errors
/// `BadRequest` if nobody else is left.
pub(super) fn readable(call: &Call, mut route: Route) -> Result<Route, Error> {
    let Some((part, request)) = call.unread() else {
        return Ok(route);
    };
    for stop in &mut route {
        let reads = |reachable: &Reachable| {
            let provider = &reachable.provider;
            provider.reads_as_given(&reachable.target, request)
        };
        if stop
            .leads_to
            .as_ref()
            .is_ok_and(|reachable| !reads(reachable))
        {
            stop.leads_to = Err(format!(
                "{part} cannot be sent to the model `{}`: only hosts of the OpenAI dialect may know it",
                stop.name
            ));
        }
    }
    route::leading_somewhere(route)
}
