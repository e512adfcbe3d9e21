//! After a stop that was none, the database is looked through in the background: calls do not wait for it.
//!
//! A look keeps the log from being folded back. Where the log grows under load meanwhile, the look gives way and comes
//! again later.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode};

use crate::sqlite::inspect;

/// The log may have so many pages of 4 KiB meanwhile: 32 MiB.
const GIVE_WAY_FROM: u32 = 8 << 10;
/// How many steps of the database's own machine lie between two questions whether to give way.
const STEPS: i32 = 10_000;
/// How often it is tried, and the pause after the first time, which doubles.
const TRIES: u32 = 8;
const PAUSE: Duration = Duration::from_secs(5);
/// Others of this machine come first.
const NICENESS: i32 = 19;

/// A look that is under way.
pub(super) struct Look {
    thread: JoinHandle<()>,
    stopped: Arc<AtomicBool>,
}

/// Begins to look through a database, whose log has so many pages.
pub(super) fn begin(
    mut connection: Connection,
    log_pages: Arc<AtomicU32>,
) -> std::io::Result<Look> {
    let stopped = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stopped);
    let thread = thread::Builder::new()
        .name("store-integrity".to_owned())
        .spawn(move || {
            // Refused or not, the look is right.
            let _ = rustix::process::nice(NICENESS);
            look(&mut connection, &log_pages, &asked);
        })?;
    Ok(Look { thread, stopped })
}

impl Look {
    /// Gives up what is not done yet.
    pub(super) fn stop(self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        // A panic was reported by its thread already.
        let _ = self.thread.join();
    }
}

fn look(connection: &mut Connection, log_pages: &Arc<AtomicU32>, stopped: &Arc<AtomicBool>) {
    let began = Instant::now();
    for attempt in 0..TRIES {
        let watched = (Arc::clone(log_pages), Arc::clone(stopped));
        let gives_way = move || {
            watched.1.load(Ordering::Relaxed) || watched.0.load(Ordering::Relaxed) > GIVE_WAY_FROM
        };
        let found = connection
            .progress_handler(STEPS, Some(gives_way))
            .and_then(|()| inspect::check(connection, "integrity_check"));
        match found {
            Ok(complaint) => return tell(complaint.as_deref(), began.elapsed()),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {}
            Err(error) => return tell(Some(&error.to_string()), began.elapsed()),
        }
        let pause = Instant::now() + PAUSE * 2_u32.pow(attempt);
        while !stopped.load(Ordering::Relaxed) && Instant::now() < pause {
            thread::park_timeout(pause.saturating_duration_since(Instant::now()));
        }
        if stopped.load(Ordering::Relaxed) {
            return;
        }
    }
    tracing::warn!(
        "the database could not be looked through after an unclean stop: there was too much to write; `gatewright doctor` does"
    );
}

fn tell(complaint: Option<&str>, took: Duration) {
    let ms = took.as_millis();
    let gauge = metrics::gauge!("gatewright_store_intact");
    if let Some(complaint) = complaint {
        gauge.set(0);
        tracing::error!(
            complaint,
            ms,
            "the database is damaged: put a backup back with `gatewright restore`"
        );
    } else {
        gauge.set(1);
        tracing::info!(
            ms,
            "the last stop was unclean: the database was looked through and is whole"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::sqlite::connect;

    #[test]
    fn damage_is_found_and_a_look_that_is_in_the_way_gives_way() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        let mut made = Connection::open(&file).unwrap();
        made.execute_batch("CREATE TABLE t (a TEXT UNIQUE); INSERT INTO t VALUES ('kept-7')")
            .unwrap();
        let check = |connection: &Connection| inspect::check(connection, "integrity_check");
        assert_eq!(check(&made).unwrap(), None);
        made.progress_handler(1, Some(|| true)).unwrap();
        let interrupted = check(&made).unwrap_err().sqlite_error_code();
        assert_eq!(interrupted, Some(ErrorCode::OperationInterrupted));
        drop(made);

        let mut bytes = fs::read(&file).unwrap();
        let found = bytes.windows(6).rposition(|bytes| bytes == b"kept-7");
        bytes[found.unwrap()] = b'l';
        fs::write(&file, bytes).unwrap();

        let damaged = connect::immutable(&file).unwrap();
        assert!(check(&damaged).unwrap().is_some());
    }
}
