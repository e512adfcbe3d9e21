//! Answers that nobody takes.
//!
//! Over HTTP/1 a client that takes nothing holds up a write, and writes have their time. Over HTTP/2 it may keep the
//! window of one stream shut on a connection that is alive: then nothing is written, and the body is not even asked.

use std::{
    mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use axum::BoxError;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::STALLED;

/// A body that is dropped, with all that it holds, when it was not asked for more in a long time.
pub(crate) enum Reclaimed<B> {
    /// Over HTTP/1, or small: it is not watched.
    Unwatched(B),
    /// Over HTTP/2. The watch ends with it.
    Watched(
        Arc<Mutex<Held<B>>>,
        #[expect(dead_code, reason = "its drop ends the watch")] DropGuard,
    ),
}

/// A body under watch.
pub(crate) struct Held<B> {
    body: Option<B>,
    was_asked: bool,
}

/// The client took nothing for so long that the body was dropped.
#[derive(Debug, thiserror::Error)]
#[error("the client took nothing of the answer for too long")]
struct Dropped;

impl<B: Send + 'static> Reclaimed<B> {
    /// Watches `body`: it is dropped between one and two times [`STALLED`] after it was last asked.
    pub(crate) fn watched(body: B) -> Self {
        let held = Arc::new(Mutex::new(Held {
            body: Some(body),
            was_asked: true,
        }));
        let gone = CancellationToken::new();
        tokio::spawn(watch(held.clone(), gone.clone()));
        Self::Watched(held, gone.drop_guard())
    }
}

async fn watch<B>(held: Arc<Mutex<Held<B>>>, gone: CancellationToken) {
    loop {
        tokio::select! {
            () = gone.cancelled() => return,
            () = tokio::time::sleep(STALLED) => {}
        }
        let mut held = locked(&held);
        if !mem::take(&mut held.was_asked) {
            let unread = held.body.take();
            drop(held);
            drop(unread);
            return;
        }
    }
}

fn locked<B>(held: &Mutex<Held<B>>) -> MutexGuard<'_, Held<B>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<B> Body for Reclaimed<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = match &mut *self {
            Self::Unwatched(body) => Pin::new(body).poll_frame(context),
            Self::Watched(held, _) => {
                let mut held = locked(held);
                held.was_asked = true;
                match &mut held.body {
                    Some(body) => Pin::new(body).poll_frame(context),
                    None => return Poll::Ready(Some(Err(Dropped.into()))),
                }
            }
        };
        frame.map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Unwatched(body) => body.is_end_stream(),
            Self::Watched(held, _) => locked(held).body.as_ref().is_some_and(Body::is_end_stream),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Unwatched(body) => body.size_hint(),
            Self::Watched(held, _) => {
                let held = locked(held);
                held.body.as_ref().map(Body::size_hint).unwrap_or_default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, Full};

    use super::*;

    struct Counted(
        Full<Bytes>,
        #[expect(dead_code, reason = "counted")] Arc<()>,
    );

    impl Body for Counted {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
            Pin::new(&mut self.0).poll_frame(context)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_nobody_asks_is_dropped() {
        let count = Arc::new(());
        let body = Counted(Full::from("some text"), count.clone());
        let mut body = Reclaimed::watched(body);

        tokio::time::sleep(STALLED * 2 + STALLED / 10).await;

        assert_eq!(Arc::strong_count(&count), 1);
        assert!(body.frame().await.unwrap().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_asked_now_and_then_is_kept() {
        let count = Arc::new(());
        let body = Counted(Full::from("some text"), count.clone());
        let mut body = Reclaimed::watched(body);

        for _ in 0..10 {
            assert!(body.frame().await.is_none_or(|frame| frame.is_ok()));
            tokio::time::sleep(STALLED / 2).await;
        }

        assert_eq!(Arc::strong_count(&count), 2);
        drop(body);
        tokio::task::yield_now().await;
        assert_eq!(Arc::strong_count(&count), 1);
    }
}
