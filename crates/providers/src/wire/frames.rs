//! Frames of Amazon's event streams out of bytes, split however they come
//! (<https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html> has their layout).
//!
//! A frame that the body's end cuts is none, as an event of a stream of text is.

use std::collections::VecDeque;

use aws_smithy_eventstream::frame::read_message_from;
use aws_smithy_types::event_stream::Message;
use bytes::BytesMut;
use serde_json::json;

use super::framing::{Event, Garbled};

/// Two lengths and two checksums.
const MIN_FRAME_BYTES: usize = 16;
/// What the name of an event begins with that is an error; the error's own name follows.
pub(crate) const EXCEPTION: &str = "exception:";

/// Takes bytes in and gives events out.
#[derive(Debug, Default)]
pub(super) struct Frames(BytesMut);

impl Frames {
    /// Takes the next bytes in and appends the events that they complete, each within the limit.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        limit: usize,
        events: &mut VecDeque<Event>,
    ) -> Result<(), Garbled> {
        self.0.extend_from_slice(bytes);
        while let Some(length) = self.0.first_chunk::<4>() {
            let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
            if length > limit {
                return Err(Garbled::TooLarge);
            }
            if length < MIN_FRAME_BYTES {
                return Err(Garbled::NoSense);
            }
            if self.0.len() < length {
                break;
            }
            let frame = self.0.split_to(length).freeze();
            let message = read_message_from(frame).map_err(|_| Garbled::NoSense)?;
            events.extend(event(&message)?);
        }
        Ok(())
    }
}

/// The event in a frame; `None` for a kind of frame that nobody knows.
fn event(message: &Message) -> Result<Option<Event>, Garbled> {
    let header = |name: &str| {
        let mut headers = message.headers().iter();
        let header = headers.find(|header| header.name().as_str() == name)?;
        let value = header.value().as_string().ok()?;
        Some(value.as_str().to_owned())
    };
    let payload = || {
        let text = std::str::from_utf8(message.payload());
        text.map(str::to_owned).map_err(|_| Garbled::NoSense)
    };
    let event = match header(":message-type").as_deref() {
        Some("event") => Event {
            name: header(":event-type").unwrap_or_default(),
            data: payload()?,
        },
        Some("exception") => Event {
            name: EXCEPTION.to_owned() + &header(":exception-type").unwrap_or_default(),
            data: payload()?,
        },
        // An error that nobody foresaw stands in the headers alone.
        Some("error") => Event {
            name: EXCEPTION.to_owned() + &header(":error-code").unwrap_or_default(),
            data: json!({ "message": header(":error-message") }).to_string(),
        },
        _ => return Ok(None),
    };
    Ok(Some(event))
}

#[cfg(test)]
pub(crate) mod tests {
    use aws_smithy_eventstream::frame::write_message_to;
    use aws_smithy_types::event_stream::{Header, HeaderValue};
    use proptest::prelude::*;

    use super::*;
    use crate::wire::framing::MAX_EVENT_BYTES;

    /// A frame with those headers.
    fn framed(headers: &[(&'static str, &str)], payload: &str) -> Vec<u8> {
        let mut message = Message::new(payload.as_bytes().to_vec());
        for &(name, value) in headers {
            let value = HeaderValue::String(value.to_owned().into());
            message = message.add_header(Header::new(name, value));
        }
        let mut frame = Vec::new();
        write_message_to(&message, &mut frame).unwrap();
        frame
    }

    /// The frame of an event.
    pub(crate) fn frame(name: &str, data: &str) -> Vec<u8> {
        let headers = [
            (":event-type", name),
            (":content-type", "application/json"),
            (":message-type", "event"),
        ];
        framed(&headers, data)
    }

    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Event>, Garbled> {
        let mut frames = Frames::default();
        let mut events = VecDeque::new();
        for piece in pieces {
            frames.push(piece, MAX_EVENT_BYTES, &mut events)?;
        }
        Ok(events.into())
    }

    fn event(name: &str, data: &str) -> Event {
        let (name, data) = (name.to_owned(), data.to_owned());
        Event { name, data }
    }

    #[test]
    fn a_frame_is_an_event_however_it_is_split_and_a_cut_one_is_none() {
        let body = [
            frame("messageStart", r#"{"role":"assistant"}"#),
            framed(
                &[
                    (":message-type", "exception"),
                    (":exception-type", "throttlingException"),
                ],
                r#"{"message":"å"}"#,
            ),
            framed(&[(":message-type", "news")], "{}"),
            framed(
                &[
                    (":message-type", "error"),
                    (":error-code", "InternalError"),
                    (":error-message", "An error"),
                ],
                "",
            ),
        ];
        let ends: Vec<usize> = (1..=4).map(|count| body[..count].concat().len()).collect();
        let body = body.concat();
        let events = [
            event("messageStart", r#"{"role":"assistant"}"#),
            event("exception:throttlingException", r#"{"message":"å"}"#),
            event("exception:InternalError", r#"{"message":"An error"}"#),
        ];

        for at in 0..=body.len() {
            let (one, other) = body.split_at(at);
            assert_eq!(read([one, other]).unwrap(), events, "{at}");
            let whole = ends.iter().filter(|end| **end <= at).count();
            let told = [0, 1, 2, 2, 3][whole];
            assert_eq!(read([one]).unwrap(), events[..told], "{at}");
        }
        assert_eq!(read(body.chunks(1)).unwrap(), events);
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let good = frame("messageStart", r#"{"role":"assistant"}"#);
        for at in 4..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x20;
            assert_eq!(read([&*bad]), Err(Garbled::NoSense), "{at}");
        }
        let no_text = {
            let mut frame = Vec::new();
            let message = Message::new(vec![0xff]).add_header(Header::new(
                ":message-type",
                HeaderValue::String("event".into()),
            ));
            write_message_to(&message, &mut frame).unwrap();
            frame
        };
        let huge = u32::try_from(MAX_EVENT_BYTES + 1).unwrap().to_be_bytes();

        assert_eq!(read([&*no_text]), Err(Garbled::NoSense));
        assert_eq!(read([&b"\0\0\0\x0f"[..]]), Err(Garbled::NoSense));
        assert_eq!(read([&huge[..]]), Err(Garbled::TooLarge));
        assert_eq!(read([&b"data: x\n\n"[..]]), Err(Garbled::TooLarge));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_no_panic(
            mut headers in proptest::collection::vec(any::<u8>(), 0..40),
            payload in proptest::collection::vec(any::<u8>(), 0..10),
        ) {
            // Lengths and their checksum are right, so that the headers are read.
            let total = u32::try_from(16 + headers.len() + payload.len()).unwrap();
            let length = u32::try_from(headers.len()).unwrap();
            let mut frame = [total.to_be_bytes(), length.to_be_bytes()].concat();
            frame.extend(crc32(&frame).to_be_bytes());
            frame.append(&mut headers);
            frame.extend(payload);
            frame.extend([0; 4]);

            let _ = read([&*frame]);
        }
    }

    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
            })
        })
    }
}
