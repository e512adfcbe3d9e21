//! Time and chance, so that a test can hold both still.

use std::{
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use uuid::Uuid;

use crate::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// Makes identifiers.
pub trait Ids: Send + Sync {
    /// A new, time-ordered id.
    fn next(&self) -> Uuid;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the seam itself")]
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        Timestamp::from_micros(0).plus(since_epoch)
    }
}

/// Version 7 UUIDs: time in front, chance behind.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    #[expect(clippy::disallowed_methods, reason = "this is the seam itself")]
    fn next(&self) -> Uuid {
        Uuid::now_v7()
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    /// Stands at `start`.
    pub const fn at(start: Timestamp) -> Self {
        Self(AtomicI64::new(start.micros()))
    }

    /// Moves forward.
    pub fn advance(&self, by: Duration) {
        self.0.store(self.now().plus(by).micros(), Ordering::SeqCst);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Counts up from one: `00000000-0000-7000-8000-000000000001` and so on.
#[derive(Debug, Default)]
pub struct CountingIds(AtomicU64);

impl Ids for CountingIds {
    fn next(&self) -> Uuid {
        let count = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        Uuid::from_u128(0x7000_8000_0000_0000_0000 | u128::from(count))
    }
}
