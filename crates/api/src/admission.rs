//! Who may come in now: permits, bytes, draining. What is refused here has cost nothing.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use engine::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::options::LimitsOptions;

/// Bytes are reserved in blocks of this size, since a semaphore counts no further than 2^29 on small machines.
const BLOCK_BYTES: usize = 1024;

/// Hands out permits.
pub(crate) struct Admission {
    calls: Arc<Semaphore>,
    blocks: Arc<Semaphore>,
    draining: AtomicBool,
}

impl Admission {
    pub(crate) fn new(limits: &LimitsOptions) -> Self {
        Self {
            calls: Arc::new(Semaphore::new(limits.calls.min(Semaphore::MAX_PERMITS))),
            blocks: Arc::new(Semaphore::new(limits.buffered_bytes.div_ceil(BLOCK_BYTES))),
            draining: AtomicBool::new(false),
        }
    }

    /// Leave for one call.
    pub(crate) fn call(&self) -> Result<OwnedSemaphorePermit, Error> {
        if self.is_draining() {
            return Err(Error::unavailable("draining"));
        }
        self.calls
            .clone()
            .try_acquire_owned()
            .map_err(|_| Error::unavailable("overloaded"))
    }

    /// Leave to hold so many bytes of a body.
    pub(crate) fn bytes(&self, count: usize) -> Result<OwnedSemaphorePermit, Error> {
        let blocks = u32::try_from(count.div_ceil(BLOCK_BYTES)).unwrap_or(u32::MAX);
        self.blocks
            .clone()
            .try_acquire_many_owned(blocks)
            .map_err(|_| Error::unavailable("overloaded"))
    }

    /// From now on no call is let in.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }
}
