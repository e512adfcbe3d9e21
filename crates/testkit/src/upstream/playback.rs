//! A response body that follows its course.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::Sleep;

use super::{
    course::{Course, Step},
    record::{EndingKind, UnderWay},
};

/// A course being played. The request is under way as long as this lives.
pub(super) struct Playback {
    course: Course,
    waiting: Option<Pin<Box<Sleep>>>,
    request: UnderWay,
}

impl Playback {
    pub(super) fn new(course: Course, request: UnderWay) -> Self {
        Self {
            course,
            waiting: None,
            request,
        }
    }
}

impl http_body::Body for Playback {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                ready!(waiting.as_mut().poll(cx));
                self.waiting = None;
            }
            match self.course.steps.pop_front() {
                None => {
                    self.request.will_end(EndingKind::Answered);
                    return Poll::Ready(None);
                }
                Some(Step::Send(bytes)) => {
                    // A body of known length is not asked for what follows its last byte.
                    if self.course.steps.is_empty() {
                        self.request.will_end(EndingKind::Answered);
                    }
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Some(Step::Wait(pause)) => {
                    self.waiting = Some(Box::pin(tokio::time::sleep(pause)));
                }
                Some(Step::Flush) => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(Step::Cut) => {
                    self.request.will_end(EndingKind::Cut);
                    return Poll::Ready(Some(Err(io::ErrorKind::ConnectionAborted.into())));
                }
                Some(Step::Silence) => {
                    self.course.steps.push_front(Step::Silence);
                    return Poll::Pending;
                }
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        if !self.course.measured {
            return SizeHint::default();
        }
        let lengths = self.course.steps.iter().map(|step| match step {
            Step::Send(bytes) => bytes.len() as u64,
            _ => 0,
        });
        SizeHint::with_exact(lengths.sum())
    }
}
