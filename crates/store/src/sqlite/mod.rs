//! The embedded database: SQLite, in a data directory or in memory.
//!
//! One thread writes, a few read, one folds the log back; the nouns' files say what, `writer` and `readers` say when.

mod aliases;
mod backup;
mod checkpoint;
mod connect;
mod datasets;
mod fault;
mod files;
mod functions;
mod health;
mod inspect;
mod integrity;
mod metrics;
mod migrate;
mod models;
mod notes;
mod packing;
mod queue;
mod readers;
mod record;
mod restore;
mod retention;
mod revisions;
mod row;
mod space;
mod spans;
#[cfg(test)]
mod tests;
mod tokens;
mod writer;

use std::{
    fmt::Display,
    fs, io,
    path::Path,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use async_trait::async_trait;
use domain::seams::{Store, StoreError};
use rusqlite::Connection;
use tokio::sync::{Mutex, oneshot};

pub(crate) use self::{
    backup::back_up,
    inspect::inspect,
    restore::{look_into, restore},
};
use self::{
    checkpoint::{Checkpointer, checkpoints},
    connect::SharedConnection,
    fault::Fault,
    health::Health,
    integrity::Look,
    migrate::MigrateError,
    queue::Queue,
    readers::Readers,
    space::Space,
    writer::{Change, Job, Write, Writer},
};
use crate::{
    Stores, cache,
    error::OpenError,
    lock::{DirLock, LockError},
    options::{Durability, Options},
};

/// How many writes may wait for the writer.
const WRITES_WAITING: usize = 1024;
const MAX_READERS: usize = 4;
/// How old the last good commit may be to answer for the next one.
const PROOF_AGE: Duration = Duration::from_secs(1);

/// Who opens a data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// A server, which keeps other servers out.
    Server,
    /// A command, which may work beside a server.
    Command,
}

/// The store. Closing or dropping it waits until everything that was accepted is written.
pub(crate) struct Sqlite {
    writes: Queue<Job>,
    readers: Readers,
    health: Arc<Health>,
    /// Absent where there is no disk.
    space: Option<Space>,
    /// Gone when the store is closed.
    threads: Mutex<Option<Threads>>,
}

struct Threads {
    readers: Vec<JoinHandle<()>>,
    writer: JoinHandle<()>,
    look: Option<Look>,
    checkpointer: Option<JoinHandle<Checkpointer>>,
    _lock: Option<DirLock>,
}

/// What the threads of a store work with.
struct Parts {
    writer: SharedConnection,
    readers: Vec<SharedConnection>,
    checkpointer: Option<Connection>,
    durability: Durability,
    space: Option<Space>,
    /// To look through the database with, where the last stop was none.
    unclean: Option<Connection>,
    lock: Option<DirLock>,
}

/// Opens a data directory.
pub(crate) async fn open(options: Options, access: Access) -> Result<Stores, OpenError> {
    let path = options.data_dir.clone();
    apart(move || open_directory(&options, access))
        .await
        .unwrap_or_else(|error| Err(refused(&path, error)))
}

/// Opens an empty database that is never on disk.
pub(crate) async fn open_in_memory() -> Result<Stores, OpenError> {
    let path = Path::new(":memory:");
    apart(|| open_memory(path))
        .await
        .unwrap_or_else(|error| Err(refused(path, error)))
}

fn open_memory(path: &Path) -> Result<Stores, OpenError> {
    let mut connection = connect::in_memory().map_err(|error| refused(path, error))?;
    let is_new = migrated(path, &mut connection)?;
    let connection = connect::share(connection);
    let parts = Parts {
        writer: Arc::clone(&connection),
        readers: vec![connection],
        checkpointer: None,
        durability: Durability::Strict,
        space: None,
        unclean: None,
        lock: None,
    };
    let store = Sqlite::start(parts).map_err(|error| refused(path, error))?;
    Ok(Stores {
        store: Arc::new(store),
        cache: cache::in_memory(),
        is_new,
    })
}

fn open_directory(options: &Options, access: Access) -> Result<Stores, OpenError> {
    let path = options.data_dir.as_path();
    let unusable = |error: io::Error| OpenError::Directory {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let directory = files::make_directory(path).map_err(unusable)?;
    let lock = match access {
        Access::Command => None,
        Access::Server => Some(DirLock::take(&directory).map_err(|error| match error {
            LockError::Io(error) => unusable(error),
            LockError::Held(holder) => OpenError::InUse {
                path: path.to_owned(),
                holder,
            },
        })?),
    };
    let file = files::make_database(&directory).map_err(unusable)?;
    // A server that was closed has folded its log back.
    let log = fs::metadata(files::beside(&file, "-wal")).map_or(0, |log| log.len());
    let is_unclean = access == Access::Server && log > 0;

    let mut writer = connect::writing(&file).map_err(|error| refused(path, error))?;
    let is_new = migrated(path, &mut writer)?;
    let reader_count =
        thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_READERS));
    let readers = (0..reader_count)
        .map(|_| connect::reading(&file).map(connect::share))
        .collect::<Result<_, _>>()
        .map_err(|error| refused(path, error))?;
    let checkpointer = connect::writing(&file).map_err(|error| refused(path, error))?;
    let unclean = is_unclean.then(|| connect::reading(&file)).transpose();
    let unclean = unclean.map_err(|error| refused(path, error))?;
    let parts = Parts {
        writer: connect::share(writer),
        readers,
        checkpointer: Some(checkpointer),
        durability: options.durability,
        space: Some(Space::new(&directory, options.min_free_mib)),
        unclean,
        lock,
    };
    let store = Sqlite::start(parts).map_err(|error| refused(path, error))?;
    Ok(Stores {
        store: Arc::new(store),
        cache: cache::in_memory(),
        is_new,
    })
}

fn migrated(path: &Path, connection: &mut Connection) -> Result<bool, OpenError> {
    migrate::migrate(connection).map_err(|error| match error {
        MigrateError::Sqlite(error) => refused(path, error),
        MigrateError::Newer { found, known } => OpenError::Newer {
            path: path.to_owned(),
            found,
            known,
        },
    })
}

fn refused(path: &Path, error: impl Display) -> OpenError {
    OpenError::Database {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

/// Runs something that blocks on a thread of its own, so that this needs no particular runtime.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let (answer, answered) = oneshot::channel();
    thread::Builder::new()
        .name("store-open-close".to_owned())
        .spawn(move || {
            let _ = answer.send(work());
        })?;
    answered.await.map_err(io::Error::other)
}

impl Sqlite {
    fn start(parts: Parts) -> Result<Self, Box<dyn std::error::Error>> {
        let health = Arc::new(Health::new());
        let (writes, jobs) = Queue::new(WRITES_WAITING);
        let (checkpoints, checkpointer) = match parts.checkpointer {
            None => (None, None),
            Some(connection) => {
                let (checkpoints, checkpointer) = checkpoints(connection, Arc::clone(&health))?;
                (Some(checkpoints), Some(checkpointer))
            }
        };
        let writer = Writer::new(
            parts.writer,
            jobs,
            parts.durability,
            Arc::clone(&health),
            checkpoints,
        )?;

        let log_pages = writer.log_pages();
        let look = parts
            .unclean
            .map(|connection| integrity::begin(connection, log_pages));
        let (readers, reader_threads) = Readers::start(parts.readers)?;
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let threads = Threads {
            readers: reader_threads,
            checkpointer: checkpointer
                .map(|checkpointer| named("store-checkpoint").spawn(|| checkpointer.run()))
                .transpose()?,
            look: look.transpose()?,
            writer: named("store-writer").spawn(|| writer.run())?,
            _lock: parts.lock,
        };
        Ok(Self {
            writes,
            readers,
            health,
            space: parts.space,
            threads: Mutex::new(Some(threads)),
        })
    }

    /// Answers a query.
    async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.readers.read(query).await
    }

    /// Changes something and says whether it was there.
    async fn change(
        &self,
        change: impl FnOnce(&Connection) -> Result<bool, Fault> + Send + 'static,
    ) -> Result<bool, StoreError> {
        self.write(Write::Change(Box::new(change))).await
    }

    /// Changes something and gives it as it is then, if it was there.
    async fn change_and_give<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Connection) -> Result<Option<T>, Fault> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        self.write_and_give(Write::Change, change).await
    }

    /// The same for any kind of change.
    async fn write_and_give<T: Send + 'static>(
        &self,
        kind: fn(Change) -> Write,
        change: impl FnOnce(&Connection) -> Result<Option<T>, Fault> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        let (give, mut given) = oneshot::channel();
        let change = move |connection: &Connection| {
            let found = change(connection)?;
            let was_there = found.is_some();
            // Whoever gave up waiting has no use for it.
            let _ = give.send(found);
            Ok(was_there)
        };
        self.write(kind(Box::new(change))).await?;
        // Only now it is kept, and so only now it is told.
        Ok(given.try_recv().ok().flatten())
    }

    async fn write(&self, write: Write) -> Result<bool, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.writes.push(Job { write, answer }).await?;
        answered.await.unwrap_or_else(|_| Err(queue::closed()))
    }

    /// Lets nothing more in; the threads end when what waits is done.
    fn stop(&self) {
        self.writes.close();
        self.readers.close();
    }
}

#[async_trait]
impl Store for Sqlite {
    fn takes_more(&self) -> Result<(), StoreError> {
        self.health.check()?;
        self.health.check_room()?;
        self.space.as_ref().map_or(Ok(()), Space::check)
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.health.check()?;
        self.space.as_ref().map_or(Ok(()), Space::check)?;
        if !self.writes.is_closed() && self.health.proved_within(PROOF_AGE) {
            return Ok(());
        }
        self.change(writer::touch_mark).await.map(drop)
    }

    async fn lost(&self) {
        self.health.lost().await;
    }

    async fn close(&self) {
        self.stop();
        let mut threads = self.threads.lock().await;
        if let Some(threads) = threads.take()
            && let Err(error) = apart(move || threads.join()).await
        {
            tracing::error!(%error, "the store was not closed in order; the next start recovers it");
        }
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.stop();
        if let Some(threads) = self.threads.get_mut().take() {
            threads.join();
        }
    }
}

impl Threads {
    /// Waits for all of them and closes the database. Then the lock goes.
    fn join(self) {
        if let Some(look) = self.look {
            look.stop();
        }
        for thread in self.readers.into_iter().chain([self.writer]) {
            // A panic was reported by its thread already.
            let _ = thread.join();
        }
        if let Some(Ok(checkpointer)) = self.checkpointer.map(JoinHandle::join) {
            checkpointer.close();
        }
    }
}
