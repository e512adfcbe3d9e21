//! Circuit breakers, rests, the bound on what is under way, and the budget for retries (`reliability.md` 3 and 10).
//!
//! They only say who may be asked now. Who is asked instead, and what the caller is told, is `calls/attempt.rs`'s.

mod budget;
mod state;
mod window;

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::seams::{Ids, ProviderError, ProviderErrorKind};
use moka::{policy::EvictionPolicy, sync::Cache};
use tokio::time::Instant;

use crate::line::Line;

use budget::Budget;
use state::{Breaker, Sign};

/// So many lines and origins are remembered; the ones least recently used are forgotten.
const MOST_ENTRIES: u64 = 10_000;
/// A host that asks for no longer wait than this is waited for, and its model does not rest.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Why a line is not to be used now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The model failed too often lately, or its probe is under way.
    Open,
    /// The host asked this project to wait.
    Resting {
        /// What is left of the wait.
        wait: Duration,
    },
    /// This project has as many attempts under way there as it may.
    Full,
}

/// All breakers and budgets of this node.
pub(crate) struct Breakers {
    lines: Cache<Line, Arc<Mutex<Breaker>>>,
    budgets: Cache<String, Arc<Mutex<Budget>>>,
    /// How many attempts of a line may be under way.
    most: usize,
    ids: Arc<dyn Ids>,
    started: Instant,
}

impl Breakers {
    /// All closed, with at most `most` attempts of a line under way. `ids` gives the chance for the jitter.
    pub(crate) fn new(most: usize, ids: Arc<dyn Ids>) -> Self {
        Self {
            lines: bounded(),
            budgets: bounded(),
            most,
            ids,
            started: Instant::now(),
        }
    }

    /// Lets one attempt pass. What became of it is told to the [`Pass`].
    pub(crate) fn admit(&self, line: &Line) -> Result<Pass, Refused> {
        let breaker = self.lines.get_with_by_ref(line, Arc::default);
        let epoch = locked(&breaker).admit(self.started.elapsed(), self.most)?;
        Ok(Pass {
            breaker,
            epoch,
            ids: Arc::clone(&self.ids),
            started: self.started,
        })
    }

    /// Whether a line lets nobody pass but its probe.
    pub(crate) fn is_open(&self, line: &Line) -> bool {
        let breaker = self.lines.get(line);
        breaker.is_some_and(|breaker| locked(&breaker).is_open())
    }

    /// Counts the first attempt of a call at an origin.
    pub(crate) fn note_call(&self, origin: &str) {
        let budget = self.budgets.get_with_by_ref(origin, Arc::default);
        locked(&budget).note_call(self.started.elapsed());
    }

    /// Whether an origin may be asked once more for the same call; if so, the retry is counted.
    pub(crate) fn may_retry(&self, origin: &str) -> bool {
        let budget = self.budgets.get_with_by_ref(origin, Arc::default);
        locked(&budget).may_retry(self.started.elapsed())
    }
}

/// Leave for one attempt. Dropped without a word, as by a caller who left, it counts as nothing.
#[must_use = "an attempt's end is told to its pass"]
pub(crate) struct Pass {
    breaker: Arc<Mutex<Breaker>>,
    epoch: u64,
    ids: Arc<dyn Ids>,
    started: Instant,
}

impl Pass {
    /// The model answered.
    pub(crate) fn succeeded(self) {
        self.ended(Sign::Sound);
    }

    /// The attempt failed.
    pub(crate) fn failed(self, failure: &ProviderError) {
        if failure.kind == ProviderErrorKind::RateLimited
            && let Some(wait) = failure.retry_after.filter(|wait| *wait > LONGEST_WAIT)
        {
            locked(&self.breaker).rest(self.started.elapsed(), wait);
        }
        self.ended(Sign::of(failure));
    }

    fn ended(&self, sign: Sign) {
        let chance = || chance(&*self.ids);
        locked(&self.breaker).ended(self.started.elapsed(), self.epoch, sign, chance);
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        // After a verdict the epoch is another one, and this does nothing.
        locked(&self.breaker).left(self.epoch);
    }
}

fn bounded<K, V>() -> Cache<K, V>
where
    K: std::hash::Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    Cache::builder()
        .max_capacity(MOST_ENTRIES)
        .eviction_policy(EvictionPolicy::lru())
        .build()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number from 0 to 1 out of an id's random end.
fn chance(ids: &dyn Ids) -> f64 {
    let bytes = ids.next().into_bytes();
    f64::from(u16::from_be_bytes([bytes[14], bytes[15]])) / f64::from(u16::MAX)
}
