//! Retries: whether a target may be asked now, and whether it may be asked once more (`interface.md` 15.6).

use std::{slice, sync::Arc, time::Duration};

use domain::seams::{Ids, ProviderError, ProviderErrorKind as Kind};
use tokio::time::Instant;

use crate::{
    breaker::{Breakers, Pass, Refused},
    line::Line,
};

/// The waits before a retry, each give or take half of it (`reliability.md` 10).
const WAITS: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(800)];
/// A provider that asks for more than this is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// For a model with too many calls under way, give or take half of it.
const WAIT_FOR_ROOM: Duration = Duration::from_secs(3);

/// What every way to ask a target shares.
pub(crate) struct Retries {
    breakers: Breakers,
    ids: Arc<dyn Ids>,
}

/// How often a target may be asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// Not at all.
    Never,
    /// Once: there is another one to ask instead.
    Once,
    /// Until it is hopeless: there is no other one.
    Often,
}

/// The tries of one target.
pub(crate) struct Tries<'a> {
    retries: &'a Retries,
    line: Line,
    waits: slice::Iter<'static, Duration>,
    deadline: Instant,
}

impl Again {
    /// As it is usual, with or without another target in reserve.
    pub(crate) const fn usual(has_fallback: bool) -> Self {
        if has_fallback {
            Self::Once
        } else {
            Self::Often
        }
    }

    fn waits(self) -> &'static [Duration] {
        match self {
            Self::Never => &[],
            Self::Once => &WAITS[..1],
            Self::Often => &WAITS,
        }
    }
}

impl Retries {
    /// All targets are well, and each project may have `model_calls` requests to one of them under way. `ids` gives the
    /// chance for the jitter.
    pub(crate) fn new(model_calls: usize, ids: Arc<dyn Ids>) -> Self {
        Self {
            breakers: Breakers::new(model_calls, ids.clone()),
            ids,
        }
    }

    /// A target is to be asked, until `deadline`.
    pub(crate) fn begin(&self, line: Line, again: Again, deadline: Instant) -> Tries<'_> {
        self.breakers.note_call(&line.origin);
        Tries {
            retries: self,
            line,
            waits: again.waits().iter(),
            deadline,
        }
    }

    /// Whether a target has failed too often of late to be asked more than once at a time.
    pub(crate) fn is_on_probation(&self, line: &Line) -> bool {
        self.breakers.is_open(line)
    }

    /// Between half of `wait` and one and a half of it.
    fn jittered(&self, wait: Duration) -> Duration {
        let chance = self.ids.next().as_u128() & 0xffff;
        let percent = 50 + u32::try_from(chance * 100 / 0xffff).unwrap_or(0);
        wait * percent / 100
    }
}

impl Tries<'_> {
    /// Whose they are.
    pub(crate) const fn line(&self) -> &Line {
        &self.line
    }

    /// Leave for one attempt.
    ///
    /// # Errors
    /// That the target is left alone for a while, as a failure.
    pub(crate) fn admit(&self) -> Result<Pass, ProviderError> {
        let pass = self.retries.breakers.admit(&self.line);
        pass.map_err(|refused| self.left_alone(&refused))
    }

    /// Waits until the target may be asked again after `failure`; `false` if it may not.
    pub(crate) async fn wait(&mut self, failure: &ProviderError) -> bool {
        let too_long = failure.retry_after.is_some_and(|wait| wait > LONGEST_WAIT);
        let may_retry = failure.kind.may_retry() && !too_long;
        let breakers = &self.retries.breakers;
        let wait = self
            .waits
            .next()
            .filter(|_| may_retry && breakers.may_retry(&self.line.origin));
        let Some(wait) = wait else {
            return false;
        };
        let wait = failure
            .retry_after
            .unwrap_or_else(|| self.retries.jittered(*wait));
        if Instant::now() + wait >= self.deadline {
            return false;
        }
        tokio::time::sleep(wait).await;
        true
    }

    /// A model that is left alone for a while, as a failure.
    fn left_alone(&self, refused: &Refused) -> ProviderError {
        let (reason, wait) = match refused {
            Refused::Open => {
                let reason =
                    "the model has failed too often of late and is left alone for some seconds";
                return ProviderError::new(Kind::Overloaded, reason);
            }
            Refused::Resting { wait } => {
                let reason = "the provider asked to be left alone for a while (status 429)";
                (reason, *wait)
            }
            Refused::Full => {
                let reason = "the project has as many calls of this model under way as it may";
                (reason, self.retries.jittered(WAIT_FOR_ROOM))
            }
        };
        let mut failure = ProviderError::new(Kind::RateLimited, reason);
        failure.retry_after = Some(wait);
        failure
    }
}
