//! Whether writes go through, as far as the last ones tell.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use domain::seams::StoreError;
use tokio::sync::SetOnce;

use crate::sqlite::fault::Fault;

/// What the threads of a store know of its health.
#[derive(Debug)]
pub(super) struct Health {
    /// Why no write may ever follow.
    lost: SetOnce<String>,
    opened: Instant,
    /// When the last commit succeeded, in milliseconds after `opened` and at least one; 0 after one that did not.
    proved_at: AtomicU64,
    /// Whether the last commit failed for want of room.
    is_full: AtomicBool,
}

impl Health {
    pub(super) fn new() -> Self {
        Self {
            lost: SetOnce::new(),
            opened: Instant::now(),
            proved_at: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
        }
    }

    /// Refuses everything after a failed sync.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match self.lost.get() {
            None => Ok(()),
            Some(reason) => Err(StoreError::Unavailable(format!(
                "a sync failed, restart to recover: {reason}"
            ))),
        }
    }

    /// Refuses what could not be written, until a commit has succeeded again.
    pub(super) fn check_room(&self) -> Result<(), StoreError> {
        if self.is_full() {
            return Err(StoreError::Full("the last write found no room".to_owned()));
        }
        Ok(())
    }

    /// Whether the last commit failed for want of room.
    pub(super) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Waits for a failed sync.
    pub(super) async fn lost(&self) {
        self.lost.wait().await;
    }

    /// A commit succeeded just now.
    pub(super) fn proved(&self) {
        self.proved_at.store(self.now_ms(), Ordering::Relaxed);
        if self.is_full() {
            self.is_full.store(false, Ordering::Relaxed);
            tracing::info!("writes go through again: calls are let in");
        }
    }

    /// Whether the last commit succeeded, and that not longer ago.
    pub(super) fn proved_within(&self, age: Duration) -> bool {
        let proved_at = self.proved_at.load(Ordering::Relaxed);
        let age_ms = self.now_ms().saturating_sub(proved_at);
        proved_at != 0 && u128::from(age_ms) <= age.as_millis()
    }

    /// A commit or a checkpoint failed.
    pub(super) fn failed(&self, fault: &Fault) {
        self.proved_at.store(0, Ordering::Relaxed);
        if let StoreError::Full(reason) = fault.answer()
            && !self.is_full.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                reason,
                "a write found no room: calls are refused until one goes through"
            );
        }
        if let Fault::Sync(error) = fault
            && self.lost.set(error.to_string()).is_ok()
        {
            tracing::error!(%error, "a sync failed: nothing more is written until a restart");
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis())
            .unwrap_or(u64::MAX)
            .max(1)
    }
}
