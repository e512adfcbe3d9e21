//! The budget for retries of one origin: a dead host gets a fifth more load, not three times as much.

use std::time::Duration;

use super::window::Window;

const CALLS: usize = 0;
const RETRIES: usize = 1;
/// Retries per window that are free: three a second.
const FREE: u64 = 30;
/// One retry for so many calls.
const CALLS_PER_RETRY: u64 = 5;

/// The calls and retries of the last ten seconds.
#[derive(Debug, Default)]
pub(super) struct Budget(Window);

impl Budget {
    pub(super) fn note_call(&mut self, now: Duration) {
        self.0.add(now, CALLS);
    }

    /// Whether one more retry fits; if so, it is counted.
    pub(super) fn may_retry(&mut self, now: Duration) -> bool {
        let [calls, retries] = self.0.sums(now);
        let fits = (retries + 1).saturating_sub(FREE) * CALLS_PER_RETRY <= calls;
        if fits {
            self.0.add(now, RETRIES);
        }
        fits
    }
}
