//! Server-sent events: a call's stream as bytes (`interface.md` 4.1, 4.2).
//!
//! What is streamed, and how much of it may wait for a slow client, is the engine's. Here it is only written down: a
//! function's events by [`Lines`], a conversation's by a notation of their own.

mod payload;
#[cfg(test)]
mod tests;

use std::{
    fmt::Write,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    Extension,
    body::Body,
    http::{HeaderName, header},
    response::{IntoResponse, Response},
};
use bytes::{BufMut, Bytes, BytesMut};
use domain::SpanId;
use engine::{CallStream, Error, StreamEvent};
use http_body::Frame;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::ReusableBoxFuture;

use crate::{
    admission::Permit,
    patience::OnStall,
    problem::{Problem, SPAN_ID, span_header},
};

use self::payload::ChunkKind;
pub(crate) use self::payload::{AnyEvent, TextEvent, write_on_one_line};

/// After how much silence a comment tells that the stream is alive (`reliability.md` S4).
const SILENCE: Duration = Duration::from_secs(15);
const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");
/// Events that are there at once share a frame, up to this size.
const FRAME_BYTES: usize = 16 * 1024;
const FIRST_BYTES: usize = 1024;
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Where events come from.
pub(crate) trait Source: Send + 'static {
    /// The next event; `None` before a terminal one breaks the connection.
    fn next(&mut self) -> impl Future<Output = Option<StreamEvent>> + Send;
}

impl Source for CallStream {
    fn next(&mut self) -> impl Future<Output = Option<StreamEvent>> + Send {
        CallStream::next(self)
    }
}

/// How the events of a stream are written down.
pub(crate) trait Notation: Unpin + Send + 'static {
    /// Writes one event, its empty line included.
    fn write(&mut self, event: StreamEvent, out: &mut BytesMut);
}

/// The answer that writes a function's stream out.
pub(crate) fn answer(stream: CallStream, permit: Permit) -> Response {
    let lines = Lines::of(stream.span_id, stream.is_structured);
    answer_in(lines, stream, permit)
}

/// The answer that writes `stream` out. The permit is given back with the last event, or when the client leaves.
pub(crate) fn answer_in(notation: impl Notation, stream: CallStream, permit: Permit) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream".parse()),
        (header::CACHE_CONTROL, "no-store".parse()),
        (X_ACCEL_BUFFERING, "no".parse()),
        (SPAN_ID, Ok(span_header(stream.span_id))),
    ];
    let headers = headers.map(|(name, value)| (name, value.expect("the values are visible ASCII")));
    let on_stall = Extension(OnStall(stream.stalled()));
    let events = Events::new(stream, notation, permit);
    (on_stall, headers, Body::new(events)).into_response()
}

/// The engine gave the call up.
#[derive(Debug, thiserror::Error)]
#[error("the call was given up")]
pub(crate) struct GivenUp;

/// A body of events. It ends in order after a terminal event and in no other way: a stream without one fails, so that
/// the connection breaks where a client would take an end for the end.
pub(crate) struct Events<S, N = Lines> {
    state: State<S>,
    notation: N,
    /// What is written and has not left.
    buffer: BytesMut,
    /// When bytes were last handed on.
    last: Instant,
    silence: Pin<Box<Sleep>>,
}

enum State<S> {
    /// The source is asked in a future of its own, which outlives a comment that is sent while it waits.
    Open {
        next: ReusableBoxFuture<'static, (S, Option<StreamEvent>)>,
        _permit: Permit,
    },
    /// The source fell silent, and what was written before has to leave first.
    Broken,
    Ended,
}

impl<S: Source, N: Notation> Events<S, N> {
    fn new(source: S, notation: N, permit: Permit) -> Self {
        Self {
            state: State::Open {
                next: ReusableBoxFuture::new(next_of(source)),
                _permit: permit,
            },
            notation,
            buffer: BytesMut::with_capacity(FIRST_BYTES),
            last: Instant::now(),
            silence: Box::pin(tokio::time::sleep(SILENCE)),
        }
    }

    /// Writes down what is there now.
    fn poll_lines(&mut self, context: &mut Context<'_>) {
        while let State::Open { next, .. } = &mut self.state {
            if self.buffer.len() >= FRAME_BYTES {
                return;
            }
            let Poll::Ready((source, event)) = next.poll(context) else {
                return;
            };
            match event {
                Some(event @ (StreamEvent::Done(_) | StreamEvent::Failed(_))) => {
                    self.state = State::Ended;
                    self.notation.write(event, &mut self.buffer);
                }
                Some(event) => {
                    next.set(next_of(source));
                    self.notation.write(event, &mut self.buffer);
                }
                None => self.state = State::Broken,
            }
        }
    }

    fn take(&mut self) -> Option<Bytes> {
        if self.buffer.is_empty() {
            return None;
        }
        let bytes = self.buffer.split().freeze();
        if bytes.len() > FRAME_BYTES {
            // The room that one large event needed is not kept for the small ones after it.
            self.buffer = BytesMut::new();
        }
        Some(bytes)
    }

    /// Ready when nothing was sent for [`SILENCE`]. The timer is set anew once in that time, not for every event.
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.silence.as_mut().poll(context));
            let now = Instant::now();
            let due = self.last + SILENCE;
            if due <= now {
                self.silence.as_mut().reset(now + SILENCE);
                return Poll::Ready(());
            }
            self.silence.as_mut().reset(due);
        }
    }
}

impl<S: Source, N: Notation> http_body::Body for Events<S, N> {
    type Data = Bytes;
    type Error = GivenUp;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, GivenUp>>> {
        self.poll_lines(context);
        let bytes = match (self.take(), &self.state) {
            (Some(bytes), _) => bytes,
            (None, State::Open { .. }) => {
                ready!(self.poll_silence(context));
                KEEP_ALIVE
            }
            (None, State::Broken) => {
                self.state = State::Ended;
                return Poll::Ready(Some(Err(GivenUp)));
            }
            (None, State::Ended) => return Poll::Ready(None),
        };
        self.last = Instant::now();
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, State::Ended) && self.buffer.is_empty()
    }
}

async fn next_of<S: Source>(mut source: S) -> (S, Option<StreamEvent>) {
    let event = source.next().await;
    (source, event)
}

/// A function's events as text, numbered.
pub(crate) struct Lines {
    span_id: SpanId,
    kind: ChunkKind,
    number: u64,
}

impl Lines {
    fn of(span_id: SpanId, is_structured: bool) -> Self {
        Self {
            span_id,
            kind: if is_structured {
                ChunkKind::Json
            } else {
                ChunkKind::Text
            },
            number: 0,
        }
    }
}

impl Notation for Lines {
    /// `id`, `event` where it has a name, `data`, an empty line.
    fn write(&mut self, event: StreamEvent, out: &mut BytesMut) {
        let (name, payload) = match event {
            StreamEvent::Text(ref text) => ("", AnyEvent::text(text, self.span_id, self.kind)),
            StreamEvent::Leaf {
                ref path,
                ref value,
            } => ("", AnyEvent::leaf(value, path, self.span_id)),
            // A function has no place for it.
            StreamEvent::Beside(_) => return,
            StreamEvent::Done(result) => (
                "event: done\n",
                AnyEvent::done(*result, self.span_id, self.kind),
            ),
            StreamEvent::Failed(error) => {
                let reason = error.reason();
                let problem = reported(*error, self.span_id);
                let (class, message) = told(&problem, reason);
                (
                    "event: error\n",
                    AnyEvent::failed(class, message, self.span_id),
                )
            }
        };
        write!(out, "id: {}\n{name}data: ", self.number).expect("a buffer takes any text");
        write_on_one_line(&payload, out);
        out.put_slice(b"\n\n");
        self.number += 1;
    }
}

/// A failure of a stream. It is logged here, since no answer follows that could be logged.
pub(crate) fn reported(error: Error, span_id: SpanId) -> Problem {
    let problem = Problem::from(error);
    if let Some(cause) = problem.cause() {
        if problem.is_ours() {
            tracing::error!(call.span_id = %span_id, cause = %cause, "a stream failed for a fault of ours");
        } else {
            tracing::warn!(call.span_id = %span_id, error.code = problem.class(), cause = %cause, "a stream broke off");
        }
    }
    problem
}

/// What a client of a function is told of a failure: its class, and the reason that a plain call would have given.
fn told(problem: &Problem, reason: String) -> (&'static str, String) {
    let message = if reason.is_empty() || problem.is_ours() {
        problem.message().to_owned()
    } else {
        reason
    };
    (problem.class(), message)
}
