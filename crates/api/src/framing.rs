//! Requests are let in only as two servers in a row would read them alike (`reliability.md` 5).
//!
//! A thin layer between the socket and the HTTP library. It holds the head of each request back until it is whole and in
//! order, and follows bodies by their lengths alone, so that it knows where the next head begins. In the place of a head
//! that is refused it puts a request of its own, which is answered in the shape of all refusals, after the answers that
//! are still due. Frames of HTTP/2 pass: their lengths are their own.

mod body;
mod head;

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use self::body::Chunks;
pub(crate) use self::head::{MAX_BYTES, MAX_FIELDS};

/// The header of the request that stands in for a refused one. Who sends it asks to be refused.
pub(crate) const REFUSED: &str = "gatewright-refused";
/// Its value where the head was too large.
pub(crate) const TOO_LARGE: &str = "too-large";

const READ_BYTES: usize = 8 * 1024;

/// Why a head is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// It can be read in two ways, or in none.
    Unclear,
    /// It is longer or has more fields than is taken.
    TooLarge,
}

impl Refusal {
    fn stand_in(self) -> &'static [u8] {
        match self {
            Self::Unclear => {
                b"GET /- HTTP/1.1\r\nconnection: close\r\ngatewright-refused: unclear\r\n\r\n"
            }
            Self::TooLarge => {
                b"GET /- HTTP/1.1\r\nconnection: close\r\ngatewright-refused: too-large\r\n\r\n"
            }
        }
    }
}

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A head, of which so many bytes were looked at.
    Head {
        seen: usize,
    },
    /// A body of which so many bytes are left.
    Body(u64),
    Chunks(Chunks),
    /// What nobody has to follow: HTTP/2, or a client that has ended within a head.
    Unfollowed,
    /// A refused request, and all that comes after it.
    Refused,
    /// A body that keeps to no length.
    Broken,
}

/// Where a connection stands.
#[derive(Debug)]
struct Course {
    place: Place,
    is_first: bool,
}

impl Course {
    /// Goes through the next bytes, and returns how many of them may be read on. The others begin an unfinished head, or
    /// one that is refused.
    fn walk(&mut self, bytes: &[u8]) -> (usize, Option<Refusal>) {
        let mut passed = 0;
        while passed < bytes.len() {
            let rest = &bytes[passed..];
            match &mut self.place {
                Place::Head { seen } => match head::read(rest, seen, self.is_first) {
                    Ok(None) => break,
                    Ok(Some((length, after))) => {
                        passed += length;
                        self.place = after;
                        self.is_first = false;
                    }
                    Err(refusal) => {
                        self.place = Place::Refused;
                        return (passed, Some(refusal));
                    }
                },
                Place::Body(left) => {
                    let taken = rest.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    passed += taken;
                    *left -= taken as u64;
                    if *left == 0 {
                        self.place = Place::Head { seen: 0 };
                    }
                }
                Place::Chunks(chunks) => {
                    let Some((taken, is_over)) = chunks.walk(rest) else {
                        self.place = Place::Broken;
                        break;
                    };
                    passed += taken;
                    if is_over {
                        self.place = Place::Head { seen: 0 };
                    }
                }
                Place::Unfollowed => passed = bytes.len(),
                Place::Refused | Place::Broken => break,
            }
        }
        (passed, None)
    }
}

/// A connection whose requests are looked at before they are read.
pub(crate) struct Framed<S> {
    stream: S,
    course: Course,
    /// What was read and not handed on.
    held: Vec<u8>,
    /// How much of it may be.
    cleared: usize,
}

impl<S> Framed<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream,
            course: Course {
                place: Place::Head { seen: 0 },
                is_first: true,
            },
            held: Vec::new(),
            cleared: 0,
        }
    }

    /// Keeps of `rest`, what did not pass, or has the stand-in go in its place.
    fn hold(&mut self, rest: &[u8], refusal: Option<Refusal>) {
        match refusal {
            None => self.held.extend_from_slice(rest),
            Some(refusal) => {
                self.held.extend_from_slice(refusal.stand_in());
                self.cleared = self.held.len();
            }
        }
    }

    fn hand_on(&mut self, buffer: &mut ReadBuf<'_>) {
        let length = self.cleared.min(buffer.remaining());
        buffer.put_slice(&self.held[..length]);
        self.cleared -= length;
        if length == self.held.len() {
            // An idle connection holds no memory for what may come.
            self.held = Vec::new();
        } else {
            self.held.drain(..length);
        }
    }
}

impl<S: AsyncRead + Unpin> Framed<S> {
    /// Reads of a head, or what nobody will read. Returns whether more may come.
    fn poll_head(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let mut bytes = [0; READ_BYTES];
        let mut fresh = ReadBuf::new(&mut bytes);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut fresh))?;
        let fresh = fresh.filled();
        if self.course.place == Place::Refused {
            return Poll::Ready(Ok(!fresh.is_empty()));
        }
        if fresh.is_empty() {
            self.course.place = Place::Unfollowed;
            self.cleared = self.held.len();
            return Poll::Ready(Ok(self.cleared > 0));
        }
        self.held.extend_from_slice(fresh);
        let (passed, refusal) = self.course.walk(&self.held);
        self.cleared = passed;
        if refusal.is_some() {
            self.held.truncate(passed);
            self.hold(&[], refusal);
        }
        Poll::Ready(Ok(true))
    }

    /// Reads of a body, straight to where it goes.
    fn poll_body(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let fresh = &buffer.filled()[before..];
        let (passed, refusal) = self.course.walk(fresh);
        self.hold(&fresh[passed..], refusal);
        buffer.set_filled(before + passed);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Framed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if this.cleared > 0 {
                this.hand_on(buffer);
                return Poll::Ready(Ok(()));
            }
            match this.course.place {
                Place::Broken => return Poll::Ready(Err(io::ErrorKind::InvalidData.into())),
                Place::Head { .. } | Place::Refused => {
                    if !ready!(this.poll_head(context))? {
                        return Poll::Ready(Ok(()));
                    }
                }
                Place::Body(_) | Place::Chunks(_) | Place::Unfollowed => {
                    let before = buffer.filled().len();
                    ready!(this.poll_body(context, buffer))?;
                    let has_ended = this.held.is_empty() && buffer.filled().len() == before;
                    if has_ended || buffer.filled().len() > before {
                        return Poll::Ready(Ok(()));
                    }
                }
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Framed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests;
