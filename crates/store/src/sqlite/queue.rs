//! A bounded queue from tasks to threads: pushing waits without blocking a thread, taking blocks one.

use std::sync::{Arc, PoisonError, RwLock};

use crossbeam_channel::{Receiver, Sender};
use domain::seams::StoreError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The pushing end.
pub(super) struct Queue<T> {
    /// One permit per place; the channel behind it needs no bound of its own.
    places: Arc<Semaphore>,
    /// Gone when the queue is closed. Pushes hold the lock, so nothing is pushed after [`Queue::close`] returned.
    sender: RwLock<Option<Sender<Queued<T>>>>,
}

/// An item together with its place, which is free again when the item is taken out.
pub(super) struct Queued<T> {
    item: T,
    _place: OwnedSemaphorePermit,
}

impl<T> Queued<T> {
    pub(super) fn take(self) -> T {
        self.item
    }
}

impl<T> Queue<T> {
    /// A queue of so many places. Its receiver ends after the queue was closed and all items were taken.
    pub(super) fn new(places: usize) -> (Self, Receiver<Queued<T>>) {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let queue = Self {
            places: Arc::new(Semaphore::new(places)),
            sender: RwLock::new(Some(sender)),
        };
        (queue, receiver)
    }

    /// Waits for a place and takes it. An item that was pushed is served, whatever becomes of the caller.
    pub(super) async fn push(&self, item: T) -> Result<(), StoreError> {
        let place = Arc::clone(&self.places)
            .acquire_owned()
            .await
            .map_err(|_| closed())?;
        let queued = Queued {
            item,
            _place: place,
        };
        let sender = self.sender.read().unwrap_or_else(PoisonError::into_inner);
        let sender = sender.as_ref().ok_or_else(closed)?;
        sender.send(queued).map_err(|_| closed())
    }

    /// Lets nothing more in.
    pub(super) fn close(&self) {
        self.places.close();
        self.sender
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.places.is_closed()
    }
}

/// What is said of everything that comes too late.
pub(super) fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".to_owned())
}

#[cfg(test)]
mod tests {
    use std::{future::Future, pin::pin, task::Poll};

    use super::*;

    #[tokio::test]
    async fn a_full_queue_waits_and_a_closed_one_refuses() {
        let (queue, items) = Queue::new(1);
        queue.push(1).await.unwrap();
        {
            let mut second = pin!(queue.push(2));
            std::future::poll_fn(|context| {
                assert!(second.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;

            assert_eq!(items.recv().unwrap().take(), 1);
            second.await.unwrap();
        }
        queue.close();

        assert!(matches!(
            queue.push(3).await,
            Err(StoreError::Unavailable(_))
        ));
        assert_eq!(items.recv().unwrap().take(), 2);
        assert!(items.recv().is_err());
    }
}
