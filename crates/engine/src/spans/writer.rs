//! Writing spans: those that wait at the same time share a commit.

use std::sync::Arc;

use domain::{
    SpanWrite,
    seams::{Store, StoreError},
};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::keeping::Keeping;

/// How many spans share one commit at most (`reliability.md` 13).
const GROUP: usize = 256;
/// How many spans may wait; beyond that a call waits to conclude.
const WAITING: usize = 4096;

/// Whether a span is kept, or what kept the commit from happening.
pub(crate) type Committed = Result<(), Arc<StoreError>>;

type Waiting = (SpanWrite, oneshot::Sender<Committed>);

/// Hands finished spans to storage; those that wait at the same time share a commit.
#[derive(Clone)]
pub(crate) struct SpanWriter {
    queue: mpsc::Sender<Waiting>,
    keeping: Arc<Keeping>,
}

/// The task behind a [`SpanWriter`].
pub(crate) struct SpanWriterTask {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl SpanWriter {
    /// Starts the writer.
    pub(crate) fn start(store: Arc<dyn Store>, keeping: Arc<Keeping>) -> (Self, SpanWriterTask) {
        let (queue, waiting) = mpsc::channel(WAITING);
        let stop = CancellationToken::new();
        let task = tokio::spawn(commit_groups(store, waiting, stop.clone()));
        (Self { queue, keeping }, SpanWriterTask { stop, task })
    }

    /// What is kept of what is written.
    pub(crate) fn keeping(&self) -> &Keeping {
        &self.keeping
    }

    /// Returns when the span is durable, as far as it is kept.
    ///
    /// # Errors
    /// What kept the commit from happening; the span is then not kept.
    pub(crate) async fn commit(&self, span: SpanWrite) -> Committed {
        let span = self.keeping.write(span).await.map_err(Arc::new)?;
        let (done, durable) = oneshot::channel();
        self.queue.send((span, done)).await.map_err(|_| stopped())?;
        durable.await.map_err(|_| stopped())?
    }
}

/// Nothing is written any more.
pub(crate) fn stopped() -> Arc<StoreError> {
    let reason = "the span writer has stopped".to_owned();
    Arc::new(StoreError::Unavailable(reason))
}

impl SpanWriterTask {
    /// Takes no more spans, and returns when those that wait are committed.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        // A panic in the task was reported by the panic hook; there is nothing left to wait for.
        let _ = self.task.await;
    }
}

async fn commit_groups(
    store: Arc<dyn Store>,
    mut waiting: mpsc::Receiver<Waiting>,
    stop: CancellationToken,
) {
    let mut group = Vec::with_capacity(GROUP);
    loop {
        let count = tokio::select! {
            count = waiting.recv_many(&mut group, GROUP) => count,
            () = stop.cancelled(), if !waiting.is_closed() => {
                waiting.close();
                continue;
            }
        };
        if count == 0 {
            return;
        }
        let (spans, waiters): (Vec<_>, Vec<_>) = group.drain(..).unzip();
        let outcome = store.commit_spans(spans).await.map_err(Arc::new);
        for waiter in waiters {
            // A waiter that has left needs no word.
            let _ = waiter.send(outcome.clone());
        }
    }
}
