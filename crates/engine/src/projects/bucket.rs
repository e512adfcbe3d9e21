//! A bucket of so many a minute: full at first, filled evenly, and in debt where more was taken than anybody could know before.

use std::time::Duration;

use tokio::time::Instant;

const MINUTE: f64 = 60.0;

/// So many a minute.
#[derive(Debug)]
pub(super) struct Bucket {
    per_minute: f64,
    level: f64,
    at: Instant,
}

impl Bucket {
    /// A full one.
    pub(super) fn new(per_minute: u32, now: Instant) -> Self {
        let per_minute = f64::from(per_minute);
        Self {
            per_minute,
            level: per_minute,
            at: now,
        }
    }

    /// What is in it, after [`Bucket::lacks`] was asked.
    pub(super) const fn level(&self) -> f64 {
        self.level
    }

    /// After how long there is so much in it; `None` if there is now. More than it can hold is there when it is full.
    pub(super) fn lacks(&mut self, amount: f64, now: Instant) -> Option<Duration> {
        let minutes = now.saturating_duration_since(self.at).as_secs_f64() / MINUTE;
        self.level = (self.level + self.per_minute * minutes).min(self.per_minute);
        self.at = self.at.max(now);
        let missing = amount.min(self.per_minute) - self.level;
        (missing > 0.0).then(|| Duration::from_secs_f64(missing / self.per_minute * MINUTE))
    }

    /// Takes so much out of it.
    pub(super) fn take(&mut self, amount: f64) {
        self.level -= amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_full_at_first_and_fills_evenly() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut bucket = Bucket::new(60, start);

        for _ in 0..60 {
            assert_eq!(bucket.lacks(1.0, start), None);
            bucket.take(1.0);
        }

        assert_eq!(bucket.lacks(1.0, start), Some(Duration::from_secs(1)));
        assert_eq!(bucket.lacks(2.0, after(1)), Some(Duration::from_secs(1)));
        assert_eq!(bucket.lacks(3.0, after(3)), None);
        assert_eq!(bucket.lacks(60.0, after(3600)), None);
        assert!(bucket.lacks(1.0, start).is_none(), "time never runs back");
    }

    #[test]
    fn a_debt_is_worked_off_and_what_it_cannot_hold_waits_for_a_full_one() {
        let start = Instant::now();
        let mut bucket = Bucket::new(60, start);

        bucket.take(90.0);

        assert_eq!(bucket.lacks(0.0, start), Some(Duration::from_secs(30)));
        assert_eq!(bucket.lacks(600.0, start), Some(Duration::from_secs(90)));
    }
}
