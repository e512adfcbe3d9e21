//! Folds the log back into the database, on a thread and a connection of its own so that commits need not wait for it.

use std::{sync::Arc, time::Duration};

use crossbeam_channel::{Receiver, Sender, TrySendError};
use rusqlite::{Connection, ErrorCode, config::DbConfig, wal::CheckpointMode};

use crate::sqlite::{fault::Fault, health::Health};

/// Pages of 4 KiB by which the log grows between two checkpoints.
const STEP: u32 = 1 << 10;
/// From here on the writer stands still for a checkpoint that lets the log begin anew: 64 MiB.
const RESTART_FROM: u32 = 16 << 10;
/// The cap, 256 MiB: from here on the log's file is cut as well.
const TRUNCATE_FROM: u32 = 64 << 10;
/// How long readers may hold back a checkpoint for which the writer stands still.
const PATIENCE: Duration = Duration::from_millis(100);

/// The writer's side: decides when.
pub(super) struct Checkpoints {
    requests: Sender<Request>,
    seen: u32,
    next: u32,
}

/// The thread's side.
pub(super) struct Checkpointer {
    connection: Connection,
    requests: Receiver<Request>,
    health: Arc<Health>,
}

struct Request {
    mode: CheckpointMode,
    done: Option<Sender<()>>,
}

/// Both sides. The thread ends after the writer's side is dropped.
pub(super) fn checkpoints(
    connection: Connection,
    health: Arc<Health>,
) -> Result<(Checkpoints, Checkpointer), rusqlite::Error> {
    connection.busy_timeout(PATIENCE)?;
    let (sender, requests) = crossbeam_channel::bounded(1);
    let checkpoints = Checkpoints {
        requests: sender,
        seen: 0,
        next: STEP,
    };
    let checkpointer = Checkpointer {
        connection,
        requests,
        health,
    };
    Ok((checkpoints, checkpointer))
}

impl Checkpoints {
    /// Looks at the length of the log after a commit. May wait for a checkpoint, so answer the callers first.
    pub(super) fn log_has(&mut self, pages: u32) {
        if pages < self.seen {
            self.next = STEP;
        }
        self.seen = pages;
        if pages < self.next {
            return;
        }
        self.next = pages + STEP;
        match pages {
            ..RESTART_FROM => self.soon(),
            RESTART_FROM..TRUNCATE_FROM => self.now(CheckpointMode::RESTART),
            TRUNCATE_FROM.. => self.now(CheckpointMode::TRUNCATE),
        }
    }

    /// Asks for a checkpoint beside the writes. It syncs the log, too.
    pub(super) fn soon(&self) {
        let request = Request {
            mode: CheckpointMode::PASSIVE,
            done: None,
        };
        match self.requests.try_send(request) {
            // One that waits will do for this one, too.
            Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }

    fn now(&self, mode: CheckpointMode) {
        let (done, finished) = crossbeam_channel::bounded(1);
        let done = Some(done);
        if self.requests.send(Request { mode, done }).is_ok() {
            // An error means that the thread dropped its end: it is done as well.
            let _ = finished.recv();
        }
    }
}

impl Checkpointer {
    /// Serves until the writer is gone.
    pub(super) fn run(self) -> Self {
        for request in &self.requests {
            self.checkpoint(request.mode);
            drop(request.done);
        }
        self
    }

    /// Closes the database, after all others who have it open here.
    pub(super) fn close(self) {
        if self.health.check().is_err() {
            return;
        }
        // The last one to close folds the whole log back and removes it, unless another process is at work.
        let config = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        if let Err(error) = self.connection.set_db_config(config, false) {
            tracing::warn!(%error, "the log is left for the next start");
        }
    }

    fn checkpoint(&self, mode: CheckpointMode) {
        if self.health.check().is_err() {
            return;
        }
        let Err(error) = self.connection.wal_checkpoint_v2(None::<&str>, mode) else {
            return;
        };
        if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) {
            tracing::debug!("a reader held back a checkpoint");
            return;
        }
        tracing::warn!(%error, "a checkpoint failed");
        let fault = Fault::from(error);
        if matches!(fault, Fault::Sync(_)) {
            self.health.failed(&fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn the_longer_the_log_the_harder_it_is_folded_back() {
        let (sender, requests) = crossbeam_channel::bounded::<Request>(1);
        let mut checkpoints = Checkpoints {
            requests: sender,
            seen: 0,
            next: STEP,
        };
        let (told, modes) = crossbeam_channel::unbounded();
        let thread = thread::spawn(move || {
            for request in requests {
                told.send(request.mode as i32).unwrap();
            }
        });
        let (passive, restart, truncate) = (
            CheckpointMode::PASSIVE as i32,
            CheckpointMode::RESTART as i32,
            CheckpointMode::TRUNCATE as i32,
        );

        for (pages, expected) in [
            (STEP - 1, None),
            (STEP, Some(passive)),
            (2 * STEP - 1, None),
            (2 * STEP, Some(passive)),
            (RESTART_FROM, Some(restart)),
            (RESTART_FROM + 1, None),
            (RESTART_FROM + STEP, Some(restart)),
            (TRUNCATE_FROM, Some(truncate)),
            (1, None),
            (STEP, Some(passive)),
        ] {
            checkpoints.log_has(pages);
            let mode = modes.recv_timeout(Duration::from_millis(if expected.is_some() {
                5000
            } else {
                20
            }));
            assert_eq!(mode.ok(), expected, "{pages}");
        }
        drop(checkpoints);
        thread.join().unwrap();
    }
}
