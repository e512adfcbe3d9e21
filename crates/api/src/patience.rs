//! How long a connection may keep quiet: before its first request, between requests, within the head of one, and while
//! it takes nothing of its answer; and how it is closed on a client that is still sending.
//!
//! While a request is worked on, nothing here runs out; bodies have their own time.

mod reclaim;
mod unsent;

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

pub(crate) use self::{reclaim::Reclaimed, unsent::bound};

/// How long a connection may keep quiet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// From the connect, or from the first byte of a later request, to the end of the request's head. Dribbling does
    /// not extend it.
    pub(crate) head: Duration,
    /// From the end of an answer to the first byte of the next request.
    pub(crate) idle: Duration,
    /// For a client to take some of what waits for it.
    pub(crate) reader: Duration,
}

/// How long what a client still sends is dropped after its answer, so that it reads an answer and not a reset.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 16 * 1024;

/// The requests of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Requests(Arc<State>);

#[derive(Debug)]
struct State {
    of_all_connections: TaskTracker,
    begun: AtomicUsize,
    answered_to_the_end: AtomicUsize,
    last_is_unread: AtomicBool,
    is_stalled: AtomicBool,
}

/// A request that is not answered to the end.
#[derive(Debug)]
pub(crate) struct UnderWay {
    requests: Requests,
    _counted: Option<TaskTrackerToken>,
}

impl Requests {
    /// Of a new connection. `of_all_connections` counts the requests of all of them, until it is closed: whoever comes
    /// then is sent away, and is not what the end of serving waits for.
    pub(crate) fn of(of_all_connections: &TaskTracker) -> Self {
        Self(Arc::new(State {
            of_all_connections: of_all_connections.clone(),
            begun: AtomicUsize::new(0),
            answered_to_the_end: AtomicUsize::new(0),
            last_is_unread: AtomicBool::new(false),
            is_stalled: AtomicBool::new(false),
        }))
    }

    pub(crate) fn begin(&self) -> UnderWay {
        self.0.begun.fetch_add(1, Ordering::Relaxed);
        UnderWay {
            requests: self.clone(),
            _counted: (!self.0.of_all_connections.is_closed())
                .then(|| self.0.of_all_connections.token()),
        }
    }

    /// The rest of a request will not be read: the connection can serve no other one.
    pub(crate) fn leave_unread(&self) {
        self.0.last_is_unread.store(true, Ordering::Relaxed);
    }

    pub(crate) fn last_is_unread(&self) -> bool {
        self.0.last_is_unread.load(Ordering::Relaxed)
    }

    fn is_stalled(&self) -> bool {
        self.0.is_stalled.load(Ordering::Relaxed)
    }

    fn begun(&self) -> usize {
        self.0.begun.load(Ordering::Relaxed)
    }

    fn answered_to_the_end(&self) -> usize {
        self.0.answered_to_the_end.load(Ordering::Relaxed)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.requests
            .0
            .answered_to_the_end
            .fetch_add(1, Ordering::Relaxed);
    }
}

/// A stream that ends when its client has kept quiet for too long, or has taken nothing for too long.
pub(crate) struct Patient<S> {
    stream: S,
    patience: Patience,
    requests: Requests,
    /// How many requests had begun at the last look: a quick one begins and ends between two looks.
    seen: usize,
    phase: Phase,
    deadline: Pin<Box<Sleep>>,
    /// Runs while a write waits for the client.
    stalled: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A head is expected or arriving.
    Head,
    /// A request is under way.
    Busy,
    /// The next request may come.
    Idle,
    /// The answer is out, and what still comes in is dropped.
    Lingering,
}

impl<S> Patient<S> {
    pub(crate) fn new(stream: S, patience: Patience, requests: Requests) -> Self {
        let deadline = Box::pin(tokio::time::sleep(patience.head));
        Self {
            stream,
            patience,
            requests,
            seen: 0,
            phase: Phase::Head,
            deadline,
            stalled: None,
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        let time = match phase {
            Phase::Head => self.patience.head,
            Phase::Idle => self.patience.idle,
            Phase::Lingering => LINGER,
            Phase::Busy => return,
        };
        self.deadline.as_mut().reset(Instant::now() + time);
    }

    /// Gives `written` on, or gives up when a write has been waiting for too long.
    fn poll_stalled<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let new = || Box::pin(tokio::time::sleep(self.patience.reader));
        let stalled = self.stalled.get_or_insert_with(new);
        ready!(stalled.as_mut().poll(context));
        self.requests.0.is_stalled.store(true, Ordering::Relaxed);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Notes where the connection stands, now that so many bytes came in.
    fn note(&mut self, arrived: usize) {
        let begun = self.requests.begun();
        let served = begun != self.seen || self.phase == Phase::Busy;
        self.seen = begun;
        if begun != self.requests.answered_to_the_end() {
            self.phase = Phase::Busy;
        } else if served && arrived == 0 {
            self.enter(Phase::Idle);
        } else if arrived > 0 && (served || self.phase == Phase::Idle) {
            self.enter(Phase::Head);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let arrived = buffer.filled().len() - filled;
        self.note(arrived);
        if read.is_ready() || self.phase == Phase::Busy {
            return read;
        }
        self.deadline
            .as_mut()
            .poll(context)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> Patient<S> {
    /// Drops what comes in until the client is done or has had its time.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut dropped = [0; LINGER_BYTES];
        loop {
            let mut buffer = ReadBuf::new(&mut dropped);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return self.deadline.as_mut().poll(context),
            }
            if self.deadline.is_elapsed() {
                return Poll::Ready(());
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.poll_stalled(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.phase != Phase::Lingering {
            let shut = Pin::new(&mut self.stream).poll_shutdown(context);
            if shut.is_pending() || !self.requests.last_is_unread() {
                return shut;
            }
            self.enter(Phase::Lingering);
        }
        self.poll_linger(context).map(Ok)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.poll_stalled(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// Goes with an answer: what is to be cancelled before it is dropped because its client takes nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct OnStall(pub(crate) CancellationToken);

/// A body whose request is under way until it was sent or given up.
pub(crate) struct LastByte<B> {
    body: B,
    on_stall: OnStall,
    under_way: UnderWay,
}

impl<B> LastByte<B> {
    pub(crate) fn new(body: B, on_stall: OnStall, under_way: UnderWay) -> Self {
        Self {
            body,
            on_stall,
            under_way,
        }
    }
}

impl<B> Drop for LastByte<B> {
    fn drop(&mut self) {
        if self.under_way.requests.is_stalled() {
            self.on_stall.0.cancel();
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for LastByte<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    const PATIENCE: Patience = Patience {
        head: Duration::from_secs(10),
        idle: Duration::from_secs(75),
        reader: Duration::from_secs(30),
    };

    fn connection() -> (Patient<DuplexStream>, DuplexStream, Requests) {
        let (ours, theirs) = duplex(64);
        let requests = Requests::of(&TaskTracker::new());
        (
            Patient::new(ours, PATIENCE, requests.clone()),
            theirs,
            requests,
        )
    }

    async fn seconds_until_timed_out(connection: &mut Patient<DuplexStream>) -> u64 {
        let began = Instant::now();
        let mut buffer = [0; 64];
        let error = loop {
            match connection.read(&mut buffer).await {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        began.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_says_nothing_has_ten_seconds() {
        let (mut connection, _client, _requests) = connection();

        assert_eq!(seconds_until_timed_out(&mut connection).await, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_dribbled_head_has_no_longer() {
        let (mut connection, mut client, _requests) = connection();
        tokio::spawn(async move {
            while client.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });

        assert_eq!(seconds_until_timed_out(&mut connection).await, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn between_requests_there_is_more_time_and_then_ten_seconds_again() {
        let (mut connection, mut client, requests) = connection();
        client.write_all(b"GET").await.unwrap();
        connection.read_exact(&mut [0; 3]).await.unwrap();
        let under_way = requests.begin();
        let mut buffer = [0; 8];
        let waited =
            tokio::time::timeout(Duration::from_secs(500), connection.read(&mut buffer)).await;
        assert!(
            waited.is_err(),
            "nothing runs out while a request is under way"
        );

        drop(under_way);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(70)).await;
            client.write_all(b"G").await.unwrap();
            std::future::pending::<()>().await;
        });

        assert_eq!(seconds_until_timed_out(&mut connection).await, 80);
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_client_still_sends_is_dropped_for_two_seconds() {
        let (mut connection, mut client, requests) = connection();
        requests.leave_unread();
        let sent = tokio::spawn(async move {
            let mut sent = 0;
            while client.write_all(&[0; 64]).await.is_ok() {
                sent += 64;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            sent
        });
        let began = Instant::now();

        connection.shutdown().await.unwrap();

        assert_eq!(began.elapsed().as_secs(), 2);
        drop(connection);
        assert!(sent.await.unwrap() > 1000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_has_its_time() {
        let (mut connection, _client, requests) = connection();
        let _under_way = requests.begin();
        let began = Instant::now();

        let error = connection.write_all(&[0; 65]).await.unwrap_err();

        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed(), PATIENCE.reader);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_little_at_a_time_has_as_long_as_it_needs() {
        let (mut connection, mut client, requests) = connection();
        let _under_way = requests.begin();
        tokio::spawn(async move {
            while client.read_u8().await.is_ok() {
                tokio::time::sleep(PATIENCE.reader.mul_f64(0.9)).await;
            }
        });
        let began = Instant::now();

        connection.write_all(&[0; 74]).await.unwrap();

        assert!(began.elapsed() > PATIENCE.reader * 7);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_learns_before_its_end_whether_its_client_took_nothing() {
        for takes_something in [true, false] {
            let (mut connection, client, requests) = connection();
            let on_stall = OnStall::default();
            let body = LastByte::new((), on_stall.clone(), requests.begin());
            if takes_something {
                drop(client);
                assert!(connection.write_all(&[0; 65]).await.is_err());
            } else {
                let written = connection.write_all(&[0; 65]).await;
                assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
            }

            drop(body);

            assert_eq!(on_stall.0.is_cancelled(), !takes_something);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_ends() {
        let (mut connection, _client, requests) = connection();
        drop(requests.begin());

        assert_eq!(seconds_until_timed_out(&mut connection).await, 75);
    }
}
