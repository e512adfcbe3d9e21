//! The readers: a few threads, each with a connection of its own, that answer queries beside the writer.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    thread::{self, JoinHandle},
};

use crossbeam_channel::Receiver;
use domain::seams::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::sqlite::{
    connect::{self, SharedConnection},
    fault::Fault,
    queue::{Queue, Queued},
};

/// How many queries may wait.
const PLACES: usize = 1024;

type Query = Box<dyn FnOnce(&Connection) + Send>;

/// The queue in front of the threads.
pub(super) struct Readers {
    queries: Queue<Query>,
}

impl Readers {
    /// Starts a thread for each connection.
    pub(super) fn start(
        connections: Vec<SharedConnection>,
    ) -> io::Result<(Self, Vec<JoinHandle<()>>)> {
        let (queries, waiting) = Queue::new(PLACES);
        let mut threads = Vec::with_capacity(connections.len());
        for (number, connection) in connections.into_iter().enumerate() {
            let waiting = waiting.clone();
            let thread = thread::Builder::new()
                .name(format!("store-reader-{number}"))
                .spawn(move || serve(&connection, &waiting))?;
            threads.push(thread);
        }
        Ok((Self { queries }, threads))
    }

    /// Runs a query on one of the threads.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let query: Query = Box::new(move |connection| {
            if answer.is_closed() {
                return;
            }
            let result = query(connection).map_err(|fault| fault.answer());
            // Who asked may have gone meanwhile.
            let _ = answer.send(result);
        });
        self.queries.push(query).await?;
        answered.await.unwrap_or_else(|_| {
            let reason = "the query failed unexpectedly".to_owned();
            Err(StoreError::Unavailable(reason))
        })
    }

    /// Lets no more queries in; the threads end after those that wait.
    pub(super) fn close(&self) {
        self.queries.close();
    }
}

fn serve(connection: &SharedConnection, waiting: &Receiver<Queued<Query>>) {
    for queued in waiting {
        let query = queued.take();
        let connection = connect::lock(connection);
        // A bug in one query must not cost the thread. Its caller hears of it through the dropped answer.
        let _ = catch_unwind(AssertUnwindSafe(|| query(&connection)));
    }
}
