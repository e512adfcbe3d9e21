//! What an upstream remembers: the requests that came, how each ended, and what is open now.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use tokio::{sync::watch, time::timeout};

use super::Received;

/// How a request ended at the upstream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ending {
    /// Its place in [`Upstream::requests`](crate::Upstream::requests).
    pub request: usize,
    /// What ended it.
    pub kind: EndingKind,
    /// When it ended.
    pub at: Instant,
}

/// What ended a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EndingKind {
    /// The whole answer was handed over.
    Answered,
    /// The script cut it.
    Cut,
    /// Its client closed the connection before the answer's end.
    Left,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) arrived: usize,
    pub(super) requests: usize,
    pub(super) connections: usize,
}

#[derive(Debug, Default)]
pub(super) struct Record {
    received: Mutex<Vec<Received>>,
    endings: Mutex<Vec<Ending>>,
    counts: watch::Sender<Counts>,
}

/// A request under way: it ends when this is dropped.
pub(super) struct UnderWay {
    record: Arc<Record>,
    request: usize,
    kind: EndingKind,
}

/// A connection: it is closed when this is dropped.
pub(super) struct Open(Arc<Record>);

impl Record {
    /// Keeps a request.
    pub(super) fn receive(self: &Arc<Self>, request: Received) -> UnderWay {
        let mut received = lock(&self.received);
        received.push(request);
        let request = received.len() - 1;
        drop(received);
        self.counts.send_modify(|counts| {
            counts.arrived += 1;
            counts.requests += 1;
        });
        UnderWay {
            record: Arc::clone(self),
            request,
            kind: EndingKind::Left,
        }
    }

    pub(super) fn open(self: &Arc<Self>) -> Open {
        self.counts.send_modify(|counts| counts.connections += 1);
        Open(Arc::clone(self))
    }

    pub(super) fn received(&self) -> Vec<Received> {
        lock(&self.received).clone()
    }

    pub(super) fn endings(&self) -> Vec<Ending> {
        lock(&self.endings).clone()
    }

    pub(super) fn counts(&self) -> Counts {
        *self.counts.borrow()
    }

    /// Waits until the counts are as wished; `false` if they were not within that time.
    pub(super) async fn wait_for(
        &self,
        within: Duration,
        wished: impl Fn(&Counts) -> bool,
    ) -> bool {
        let mut counts = self.counts.subscribe();
        matches!(timeout(within, counts.wait_for(wished)).await, Ok(Ok(_)))
    }
}

impl UnderWay {
    /// Says how the request will have ended if nothing comes between.
    pub(super) fn will_end(&mut self, kind: EndingKind) {
        self.kind = kind;
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        lock(&self.record.endings).push(Ending {
            request: self.request,
            kind: self.kind,
            at: Instant::now(),
        });
        self.record
            .counts
            .send_modify(|counts| counts.requests -= 1);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.counts.send_modify(|counts| counts.connections -= 1);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no holder of the lock panics")
}
