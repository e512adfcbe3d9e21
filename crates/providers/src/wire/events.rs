//! A stream of events as it comes: time between its pieces, and how much of it is taken.
//!
//! Dropping it closes the connection.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use domain::seams::{ProviderError, ProviderErrorKind as Kind};
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    Head, failure,
    framing::{Event, Framing, Garbled},
    transport::Answer,
};

/// For a whole stream, after decompression.
const MAX_STREAM_BYTES: usize = 64 * 1024 * 1024;
/// So much is cut into events at once: what waits for its reader waits uncut.
const SLICE_BYTES: usize = 4 * 1024;

/// The events of an answer.
pub(crate) struct EventStream {
    head: Head,
    answer: Answer,
    framing: Framing,
    /// What has come and is not cut into events.
    uncut: Bytes,
    ready: VecDeque<Event>,
    taken: usize,
    /// When the first event must be there, and what time that is; `None` once it is.
    first_by: Option<(Instant, Duration)>,
    idle_timeout: Duration,
}

impl EventStream {
    /// The events in the body of `answer`.
    pub(super) fn new(
        (answer, head): (Answer, Head),
        framing: Framing,
        first_by: Option<(Instant, Duration)>,
        idle_timeout: Duration,
    ) -> Self {
        Self {
            head,
            answer,
            framing,
            uncut: Bytes::new(),
            ready: VecDeque::new(),
            taken: 0,
            first_by,
            idle_timeout,
        }
    }

    /// The answer's head.
    pub(crate) const fn head(&self) -> Head {
        self.head
    }

    /// The next event; `None` when the body has come to its orderly end.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, ProviderError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.first_by = None;
                return Ok(Some(event));
            }
            if self.uncut.is_empty() {
                let Some(chunk) = self.chunk().await? else {
                    let rest = self.framing.finish();
                    return rest.map_err(|garbled| self.garbled(garbled));
                };
                self.taken += chunk.len();
                if self.taken > MAX_STREAM_BYTES {
                    return Err(self.garbled(Garbled::TooLarge));
                }
                self.uncut = chunk;
            }
            let slice = self.uncut.split_to(self.uncut.len().min(SLICE_BYTES));
            let pushed = self.framing.push(&slice, &mut self.ready);
            pushed.map_err(|garbled| self.garbled(garbled))?;
        }
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, ProviderError> {
        let reading = self.answer.chunk();
        let read = match self.first_by {
            Some((by, time)) => {
                let read = timeout_at(by, reading).await;
                read.map_err(|_| failure::too_late(time))
            }
            None => timeout(self.idle_timeout, reading).await.map_err(|_| {
                let seconds = self.idle_timeout.as_secs_f64();
                let reason = format!("the provider's stream stood still for {seconds} s");
                ProviderError::new(Kind::Timeout, reason)
            }),
        };
        let read = read.and_then(|read| read.map_err(|error| failure::of_reading(&error)));
        read.map_err(|error| self.failed(error))
    }

    fn garbled(&self, garbled: Garbled) -> ProviderError {
        let reason = match garbled {
            Garbled::TooLarge => failure::TOO_LARGE,
            Garbled::NoSense => "the provider's stream is garbled",
        };
        self.failed(ProviderError::new(Kind::Protocol, reason))
    }

    fn failed(&self, error: ProviderError) -> ProviderError {
        ProviderError {
            status: Some(self.head.status),
            ..error
        }
    }
}
