//! How the body of a stream is cut into events.

use std::{collections::VecDeque, mem};

use super::{client::MAX_BODY_BYTES, frames::Frames, sse::ServerSent};

/// For one event, and for one line of whatever kind.
pub(super) const MAX_EVENT_BYTES: usize = 1024 * 1024;
/// The same where an image may come in one event: as much as a whole answer may be.
const MAX_IMAGE_EVENT_BYTES: usize = MAX_BODY_BYTES;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// What kind of event, where its framing says so; empty for plain ones.
    pub(crate) name: String,
    /// What it says.
    pub(crate) data: String,
}

/// Why bytes are no events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Garbled {
    /// An event or a line exceeds its limit.
    TooLarge,
    /// It is not what the framing asks for.
    NoSense,
}

/// Takes bytes in and gives events out.
#[derive(Debug)]
pub(crate) struct Framing {
    kind: Kind,
    /// How large an event may be.
    limit: usize,
}

#[derive(Debug)]
enum Kind {
    Events(ServerSent),
    Lines(Vec<u8>),
    Frames(Frames),
}

impl Framing {
    /// Server-sent events.
    pub(crate) fn events() -> Self {
        Self::of(Kind::Events(ServerSent::default()))
    }

    /// One JSON text per line; what follows the last line feed is a line as well.
    pub(crate) const fn lines() -> Self {
        Self::of(Kind::Lines(Vec::new()))
    }

    /// Amazon's event streams.
    pub(crate) fn frames() -> Self {
        Self::of(Kind::Frames(Frames::default()))
    }

    const fn of(kind: Kind) -> Self {
        let limit = MAX_EVENT_BYTES;
        Self { kind, limit }
    }

    /// The same of a dialect whose hosts may put a whole image into one event.
    pub(crate) const fn with_images(mut self) -> Self {
        self.limit = MAX_IMAGE_EVENT_BYTES;
        self
    }

    /// The media types of such a stream and of an answer that is none, as an `Accept` header has them.
    pub(super) const fn media_types(&self) -> &'static str {
        match self.kind {
            Kind::Events(_) => "text/event-stream, application/json",
            Kind::Lines(_) => "application/x-ndjson, application/json",
            Kind::Frames(_) => "application/vnd.amazon.eventstream, application/json",
        }
    }

    /// Takes the next bytes in and appends the events that they complete.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        events: &mut VecDeque<Event>,
    ) -> Result<(), Garbled> {
        let limit = self.limit;
        match &mut self.kind {
            Kind::Events(framing) => framing.push(bytes, limit, events),
            Kind::Lines(line) => {
                let mut rest = bytes;
                while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                    extend(line, &rest[..at], limit)?;
                    events.extend(whole(line)?);
                    rest = &rest[at + 1..];
                }
                extend(line, rest, limit)
            }
            Kind::Frames(framing) => framing.push(bytes, limit, events),
        }
    }

    /// What the end of the body completes.
    pub(super) fn finish(&mut self) -> Result<Option<Event>, Garbled> {
        match &mut self.kind {
            Kind::Events(framing) => Ok(framing.finish()),
            Kind::Frames(_) => Ok(None),
            Kind::Lines(line) => whole(line),
        }
    }
}

fn extend(line: &mut Vec<u8>, bytes: &[u8], limit: usize) -> Result<(), Garbled> {
    if line.len() + bytes.len() > limit {
        return Err(Garbled::TooLarge);
    }
    line.extend_from_slice(bytes);
    Ok(())
}

/// The line, unless it is blank.
fn whole(line: &mut Vec<u8>) -> Result<Option<Event>, Garbled> {
    let line = String::from_utf8(mem::take(line)).map_err(|_| Garbled::NoSense)?;
    let data = line.trim();
    Ok((!data.is_empty()).then(|| Event {
        name: String::new(),
        data: data.to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::frame_tests::frame;

    fn lines(chunks: &[&[u8]]) -> Result<Vec<String>, Garbled> {
        let mut framing = Framing::lines();
        let mut events = VecDeque::new();
        for chunk in chunks {
            framing.push(chunk, &mut events)?;
        }
        events.extend(framing.finish()?);
        Ok(events.into_iter().map(|event| event.data).collect())
    }

    #[test]
    fn a_line_is_an_event_however_it_is_split() {
        let body = "{\"a\":\"\u{e5}\"}\r\n\n{}\n[1]".as_bytes();
        let expected = ["{\"a\":\"\u{e5}\"}", "{}", "[1]"];

        for at in 0..=body.len() {
            let (one, other) = body.split_at(at);
            assert_eq!(lines(&[one, other]).unwrap(), expected, "{at}");
        }
    }

    #[test]
    fn a_line_without_measure_or_sense_is_refused() {
        let long = vec![b'a'; MAX_EVENT_BYTES];

        assert!(lines(&[&long]).is_ok());
        assert_eq!(lines(&[&long, b"a"]), Err(Garbled::TooLarge));
        assert_eq!(lines(&[b"\xff\n"]), Err(Garbled::NoSense));
    }

    #[test]
    fn an_event_with_an_image_may_be_as_large_as_a_whole_answer() {
        let framings = || [Framing::events(), Framing::lines(), Framing::frames()];
        let bodies = |length: usize| {
            let data = "A".repeat(length);
            let text = [format!("data: {data}\n\n"), format!("{data}\n")];
            let [event, line] = text.map(String::into_bytes);
            [event, line, frame("contentBlockDelta", &data)]
        };
        let read = |framings: [Framing; 3], bodies: [Vec<u8>; 3]| {
            let read = framings.into_iter().zip(bodies).map(|(mut framing, body)| {
                let mut events = VecDeque::new();
                let mut chunks = body.chunks(16 * 1024);
                let pushed = chunks.try_for_each(|chunk| framing.push(chunk, &mut events));
                pushed.map(|()| events.len())
            });
            read.collect::<Vec<_>>()
        };
        let image = 27_000_000;
        let with_images = || framings().map(Framing::with_images);

        assert_eq!(read(with_images(), bodies(image)), [Ok(1); 3]);
        let too_large = [Err(Garbled::TooLarge); 3];
        assert_eq!(read(framings(), bodies(image)), too_large);
        let beyond = bodies(MAX_IMAGE_EVENT_BYTES + 1);
        assert_eq!(read(with_images(), beyond), too_large);
    }
}
