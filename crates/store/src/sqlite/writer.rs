//! The writer: the one thread that changes rows. What waits together is committed together.
//!
//! Each write stands or falls alone, through savepoints; an answer is given after the commit that holds the write.

#[cfg(test)]
mod tests;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use domain::seams::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::{
    options::Durability,
    sqlite::{
        checkpoint::Checkpoints,
        connect::{self, SharedConnection},
        fault::Fault,
        health::Health,
        queue::Queued,
        spans::{self, Packed},
    },
};

/// How many writes share a transaction at most.
const MAX_GROUP: usize = 256;
/// How long a commit may stay unsynced (`reliability.md` D2 allows a second, the sync itself included).
const SYNC_AFTER: Duration = Duration::from_millis(500);

/// Changes rows and says whether there was one to change.
pub(super) type Change = Box<dyn FnOnce(&Connection) -> Result<bool, Fault> + Send>;

/// What is to be written.
pub(super) enum Write {
    /// Spans, all or none.
    Spans(Vec<Packed>),
    /// What may be lost as a span may (`reliability.md` D2).
    Remark(Change),
    /// Anything else. It is synced before it is answered.
    Change(Change),
}

/// A write and who waits for it.
pub(super) struct Job {
    pub(super) write: Write,
    pub(super) answer: oneshot::Sender<Answer>,
}

/// Whether there was a row to change, or why the write is not kept.
pub(super) type Answer = Result<bool, StoreError>;

/// The thread's state.
pub(super) struct Writer {
    connection: SharedConnection,
    jobs: Receiver<Queued<Job>>,
    durability: Durability,
    health: Arc<Health>,
    /// Absent where there is no log.
    checkpoints: Option<Checkpoints>,
    /// How many pages the log has, told by the commits that wrote any.
    log_pages: Arc<AtomicU32>,
    /// When the oldest unsynced commit must be synced.
    sync_due: Option<Instant>,
    syncs: bool,
}

impl Writer {
    pub(super) fn new(
        connection: SharedConnection,
        jobs: Receiver<Queued<Job>>,
        durability: Durability,
        health: Arc<Health>,
        checkpoints: Option<Checkpoints>,
    ) -> Result<Self, rusqlite::Error> {
        let log_pages = Arc::new(AtomicU32::new(0));
        let told = Arc::clone(&log_pages);
        connect::lock(&connection).wal_hook(Some(move |_: &mut _, pages| {
            told.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Self {
            connection,
            jobs,
            durability,
            health,
            checkpoints,
            log_pages,
            sync_due: None,
            syncs: true,
        })
    }

    /// How many pages the log has, as the last commit told.
    pub(super) fn log_pages(&self) -> Arc<AtomicU32> {
        Arc::clone(&self.log_pages)
    }

    /// Serves until the queue is closed and empty.
    pub(super) fn run(mut self) {
        loop {
            let first = match self.sync_due {
                Some(due) => self.jobs.recv_deadline(due),
                None => self.jobs.recv().map_err(RecvTimeoutError::from),
            };
            match first {
                Ok(first) => self.serve(first.take()),
                Err(RecvTimeoutError::Timeout) => self.sync(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if self.sync_due.is_some() {
            self.sync();
        }
    }

    /// Writes what waits and answers it.
    fn serve(&mut self, first: Job) {
        let mut writes = vec![first.write];
        let mut answers = vec![first.answer];
        while writes.len() < MAX_GROUP
            && let Ok(next) = self.jobs.try_recv()
        {
            let next = next.take();
            writes.push(next.write);
            answers.push(next.answer);
        }

        let results = match self.commit(writes) {
            Ok(results) => results,
            Err(fault) => answers.iter().map(|_| Err(fault.answer())).collect(),
        };
        for (answer, result) in answers.into_iter().zip(results) {
            // Who no longer waits does not hear it; the row is kept all the same.
            let _ = answer.send(result);
        }
        self.watch_log();
    }

    /// Makes what was committed unsynced safe from a power loss.
    fn sync(&mut self) {
        let mark: Change = Box::new(touch_mark);
        if self.commit(vec![Write::Change(mark)]).is_err() {
            self.sync_due = Some(Instant::now() + SYNC_AFTER);
        }
        if self.health.check().is_err() {
            self.sync_due = None;
        }
        self.watch_log();
    }

    /// Runs the writes in one transaction. An error means that none of them is kept.
    fn commit(&mut self, writes: Vec<Write>) -> Result<Vec<Answer>, Fault> {
        self.health.check()?;
        let synced = self.durability == Durability::Strict
            || self.sync_due.is_some_and(|due| due <= Instant::now())
            || writes.iter().any(|write| matches!(write, Write::Change(_)));
        self.log_pages.store(0, Ordering::Relaxed);

        let connection = connect::lock(&self.connection);
        let result = switch(&connection, &mut self.syncs, synced)
            .and_then(|()| transact(&connection, writes));
        if result.is_err() && !connection.is_autocommit() {
            // What cannot be rolled back is not committed either.
            let _ = connect::execute(&connection, "ROLLBACK");
        }
        drop(connection);

        match &result {
            Ok(_) => self.committed(synced),
            Err(fault) => self.failed(fault),
        }
        result
    }

    fn committed(&mut self, synced: bool) {
        self.health.proved();
        // A transaction that changed nothing syncs nothing, so the older commits still wait for it.
        if self.log_pages.load(Ordering::Relaxed) == 0 {
            return;
        }
        self.sync_due = match self.sync_due {
            _ if synced => None,
            Some(due) => Some(due),
            None => Some(Instant::now() + SYNC_AFTER),
        };
    }

    fn failed(&mut self, fault: &Fault) {
        self.health.failed(fault);
        // Nobody is let in who would find out that there is room again, so the next sync does.
        if self.health.is_full() {
            self.sync_due = self.sync_due.or(Some(Instant::now() + SYNC_AFTER));
        }
        // On a full disk, folding the log back may make room in it, and syncs what it holds.
        if let Some(checkpoints) = &self.checkpoints {
            checkpoints.soon();
        }
    }

    fn watch_log(&mut self) {
        let pages = self.log_pages.load(Ordering::Relaxed);
        if let Some(checkpoints) = &mut self.checkpoints
            && pages > 0
        {
            checkpoints.log_has(pages);
        }
    }
}

/// Writes the row that is there to be written.
pub(super) fn touch_mark(connection: &Connection) -> Result<bool, Fault> {
    connect::execute(connection, "UPDATE mark SET count = count + 1")?;
    Ok(true)
}

fn switch(connection: &Connection, syncs: &mut bool, synced: bool) -> Result<(), Fault> {
    if *syncs != synced {
        connect::set_synchronous(connection, synced)?;
        *syncs = synced;
    }
    Ok(())
}

fn transact(connection: &Connection, writes: Vec<Write>) -> Result<Vec<Answer>, Fault> {
    connect::execute(connection, "BEGIN IMMEDIATE")?;
    let mut answers = Vec::with_capacity(writes.len());
    for write in writes {
        answers.push(apply(connection, write)?);
    }
    connect::execute(connection, "COMMIT").map_err(Fault::at_commit)?;
    Ok(answers)
}

/// Runs one write so that its failure leaves no trace. The outer error means that the transaction is lost.
fn apply(connection: &Connection, write: Write) -> Result<Answer, Fault> {
    let result = match write {
        // One statement leaves no trace by itself when it fails.
        Write::Spans(writes) if writes.len() == 1 => caught(|| spans::write(connection, &writes)),
        Write::Spans(writes) => in_savepoint(connection, || spans::write(connection, &writes)),
        Write::Remark(change) | Write::Change(change) => {
            in_savepoint(connection, || change(connection))
        }
    };
    match result {
        Ok(changed) => Ok(Ok(changed)),
        // Some failures end the whole transaction.
        Err(fault) if connection.is_autocommit() || matches!(fault, Fault::Sync(_)) => Err(fault),
        Err(fault) => Ok(Err(fault.answer())),
    }
}

fn in_savepoint(
    connection: &Connection,
    change: impl FnOnce() -> Result<bool, Fault>,
) -> Result<bool, Fault> {
    connect::execute(connection, "SAVEPOINT one")?;
    let result = caught(change);
    if connection.is_autocommit() {
        return result;
    }
    if result.is_err() {
        connect::execute(connection, "ROLLBACK TO one")?;
    }
    connect::execute(connection, "RELEASE one")?;
    result
}

/// A bug in one write must not cost the thread, nor the writes beside it.
fn caught(change: impl FnOnce() -> Result<bool, Fault>) -> Result<bool, Fault> {
    catch_unwind(AssertUnwindSafe(change)).unwrap_or_else(|_| {
        let reason = "the write failed unexpectedly".to_owned();
        Err(StoreError::Unavailable(reason).into())
    })
}
