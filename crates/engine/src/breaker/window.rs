//! What was counted in the last ten seconds, the current one included.

use std::time::Duration;

const SECONDS: usize = 10;

/// Two counts for each of the last seconds.
#[derive(Debug, Default)]
pub(super) struct Window {
    counts: [[u32; 2]; SECONDS],
    newest: u64,
}

impl Window {
    /// Adds one to the first or the second count.
    pub(super) fn add(&mut self, now: Duration, count: usize) {
        self.move_to(now);
        let second = &mut self.counts[slot(self.newest)];
        second[count] = second[count].saturating_add(1);
    }

    /// The sums of both counts.
    pub(super) fn sums(&mut self, now: Duration) -> [u64; 2] {
        self.move_to(now);
        [0, 1].map(|count| {
            let counts = self.counts.iter().map(|second| u64::from(second[count]));
            counts.sum()
        })
    }

    /// Forgets the seconds that are over. Two threads may come a little out of order: time never goes back here.
    fn move_to(&mut self, now: Duration) {
        let now = now.as_secs().max(self.newest);
        for second in (self.newest + 1..=now).rev().take(SECONDS) {
            self.counts[slot(second)] = [0, 0];
        }
        self.newest = now;
    }
}

fn slot(second: u64) -> usize {
    usize::try_from(second % SECONDS as u64).expect("the remainder is below ten")
}
