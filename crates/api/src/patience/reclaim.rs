//! Answers that nobody takes.
//!
//! Over HTTP/1 a client that takes nothing holds up a write, and writes have their time. Over HTTP/2 it may keep the
//! window of one stream shut on a connection that is alive: then nothing is written, and the body is not even asked.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use axum::BoxError;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::OnStall;

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
    /// Since when the client has taken nothing; `None` while it waits for us.
    stalled_since: Option<Instant>,
}

/// The client took nothing for so long that the body was dropped.
#[derive(Debug, thiserror::Error)]
#[error("the client took nothing of the answer for too long")]
struct Dropped;

impl<B: Send + 'static> Reclaimed<B> {
    /// Watches `body`: it is dropped when it was not asked for more for `patience`, once it had given some.
    pub(crate) fn watched(body: B, patience: Duration, on_stall: OnStall) -> Self {
        let held = Arc::new(Mutex::new(Held {
            body: Some(body),
            stalled_since: Some(Instant::now()),
        }));
        let gone = CancellationToken::new();
        let watch = watch(held.clone(), patience, on_stall);
        let ended = gone.clone();
        tokio::spawn(async move { ended.run_until_cancelled(watch).await });
        Self::Watched(held, gone.drop_guard())
    }
}

async fn watch<B>(held: Arc<Mutex<Held<B>>>, patience: Duration, on_stall: OnStall) {
    loop {
        let since = locked(&held).stalled_since.unwrap_or_else(Instant::now);
        tokio::time::sleep_until(since + patience).await;
        let unread = {
            let mut held = locked(&held);
            let is_stalled = held.stalled_since == Some(since);
            held.body.take_if(|_| is_stalled)
        };
        if unread.is_some() {
            on_stall.0.cancel();
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
                let Some(body) = &mut held.body else {
                    return Poll::Ready(Some(Err(Dropped.into())));
                };
                let frame = Pin::new(body).poll_frame(context);
                held.stalled_since = frame.is_ready().then(Instant::now);
                frame
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

    const PATIENCE: Duration = Duration::from_secs(30);

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
        let on_stall = OnStall::default();
        let mut body = Reclaimed::watched(body, PATIENCE, on_stall.clone());

        tokio::time::sleep(PATIENCE * 11 / 10).await;

        assert!(on_stall.0.is_cancelled());
        assert_eq!(Arc::strong_count(&count), 1);
        assert!(body.frame().await.unwrap().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_asked_now_and_then_is_kept() {
        let count = Arc::new(());
        let body = Counted(Full::from("some text"), count.clone());
        let on_stall = OnStall::default();
        let mut body = Reclaimed::watched(body, PATIENCE, on_stall.clone());

        for _ in 0..10 {
            assert!(body.frame().await.is_none_or(|frame| frame.is_ok()));
            tokio::time::sleep(PATIENCE / 2).await;
        }

        assert!(!on_stall.0.is_cancelled());
        assert_eq!(Arc::strong_count(&count), 2);
        drop(body);
        tokio::task::yield_now().await;
        assert_eq!(Arc::strong_count(&count), 1);
    }
}
