//! Server-sent events out of bytes, split however they come.
//!
//! Framing alone: what an event says is the dialect's. An event that no empty line ends is none. A JSON text that stands
//! between events as it is, is one: so Gemini says that it failed in the middle of an answer.

use std::{collections::VecDeque, mem};

use serde::de::IgnoredAny;

use super::framing::{Event, Garbled};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Takes bytes in and gives events out.
#[derive(Debug, Default)]
pub(super) struct ServerSent {
    line: Vec<u8>,
    name: String,
    /// `None` until the event has a line of data; an empty one counts.
    data: Option<String>,
    /// The lines so far of a JSON text outside of any event.
    bare: String,
    has_begun: bool,
    /// A line feed right after a carriage return belongs to it, in whatever chunk it comes.
    is_after_return: bool,
}

impl ServerSent {
    /// Takes the next bytes in and appends the events that they complete, each within the limit.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        limit: usize,
        events: &mut VecDeque<Event>,
    ) -> Result<(), Garbled> {
        let mut rest = bytes;
        if mem::take(&mut self.is_after_return) {
            match rest.first() {
                Some(b'\n') => rest = &rest[1..],
                Some(_) => {}
                None => self.is_after_return = true,
            }
        }
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend_line(&rest[..at], limit)?;
            events.extend(self.end_line()?);
            let is_return = rest[at] == b'\r';
            rest = &rest[at + 1..];
            if is_return {
                match rest.first() {
                    Some(b'\n') => rest = &rest[1..],
                    Some(_) => {}
                    None => self.is_after_return = true,
                }
            }
        }
        self.extend_line(rest, limit)
    }

    /// What the end of the body completes: a JSON text outside of any event, if it is whole.
    pub(super) fn finish(&mut self) -> Option<Event> {
        let last = String::from_utf8(mem::take(&mut self.line)).ok()?;
        let data = mem::take(&mut self.bare) + &last;
        let is_whole = data.starts_with(['{', '[']) && self.is_between_events();
        let is_json = || serde_json::from_str::<IgnoredAny>(&data).is_ok();
        (is_whole && is_json()).then(|| Event {
            name: String::new(),
            data,
        })
    }

    fn is_between_events(&self) -> bool {
        self.data.is_none() && self.name.is_empty()
    }

    fn extend_line(&mut self, bytes: &[u8], limit: usize) -> Result<(), Garbled> {
        let data = self.data.as_ref().map_or(0, String::len);
        let held = self.line.len() + self.name.len() + data + self.bare.len();
        if held + bytes.len() > limit {
            return Err(Garbled::TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Reads the line that has come to its end; an empty one ends the event.
    fn end_line(&mut self) -> Result<Option<Event>, Garbled> {
        let line = mem::take(&mut self.line);
        let is_first = !mem::replace(&mut self.has_begun, true);
        let line = match line.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if is_first => rest,
            _ => &line,
        };
        let line = std::str::from_utf8(line).map_err(|_| Garbled::NoSense)?;
        if !self.bare.is_empty() || (self.is_between_events() && line.starts_with(['{', '['])) {
            return Ok(self.add_bare(line));
        }
        if line.is_empty() {
            let name = mem::take(&mut self.name);
            return Ok(self.data.take().map(|data| Event { name, data }));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => self.add_data(value),
            "event" => value.clone_into(&mut self.name),
            // No field of the format: llama.cpp's server said so that it failed, until autumn 2025.
            "error" => {
                "error".clone_into(&mut self.name);
                self.add_data(value);
            }
            // Comments have an empty name.
            _ => {}
        }
        Ok(None)
    }

    /// Takes in a line of a JSON text, which ends where its first character is closed: on that line, or with a line of
    /// its own.
    fn add_bare(&mut self, line: &str) -> Option<Event> {
        let is_first = self.bare.is_empty();
        self.bare.push_str(line);
        let end = if self.bare.starts_with('{') { "}" } else { "]" };
        let is_end = line.is_empty() || line == end || (is_first && line.ends_with(end));
        if !is_end {
            self.bare.push('\n');
            return None;
        }
        Some(Event {
            name: String::new(),
            data: mem::take(&mut self.bare),
        })
    }

    fn add_data(&mut self, line: &str) {
        match &mut self.data {
            None => self.data = Some(line.to_owned()),
            Some(data) => {
                data.push('\n');
                data.push_str(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::{FutureExt, TryStreamExt, stream};
    use proptest::prelude::*;
    use sse_stream::SseByteStream;

    use super::*;
    use crate::wire::framing::MAX_EVENT_BYTES;

    fn parsed<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Event>, Garbled> {
        let mut framing = ServerSent::default();
        let mut events = VecDeque::new();
        for piece in pieces {
            framing.push(piece, MAX_EVENT_BYTES, &mut events)?;
        }
        Ok(events.into())
    }

    fn whole(bytes: &[u8]) -> Vec<(String, String)> {
        let events = parsed([bytes]).unwrap();
        let pair = |event: Event| (event.name, event.data);
        events.into_iter().map(pair).collect()
    }

    #[test]
    fn a_json_text_between_events_is_one_however_it_is_split() {
        let error = "{\n  \"error\": {\n    \"code\": 503\n  }\n}";
        let cases = [
            (format!("data: a\n\n{error}\n"), vec!["a", error]),
            (format!("data: a\n\n{error}"), vec!["a", error]),
            (format!("[{error}\n]\n\ndata: b\n\n"), vec!["", "b"]),
            (
                "{\"a\":1}\n{\"b\":2}".to_owned(),
                vec!["{\"a\":1}", "{\"b\":2}"],
            ),
            ("data: a\n{\"b\":1}\n\n".to_owned(), vec!["a"]),
            ("data: a\n{\"b\":1}".to_owned(), vec![]),
            (error[..20].to_owned(), vec![]),
        ];

        for (body, mut expected) in cases {
            let list = format!("[{error}\n]");
            for text in expected.iter_mut().filter(|text| text.is_empty()) {
                *text = &list;
            }
            for at in 0..=body.len() {
                let (one, other) = body.as_bytes().split_at(at);
                let mut framing = ServerSent::default();
                let mut events = VecDeque::new();
                framing.push(one, MAX_EVENT_BYTES, &mut events).unwrap();
                framing.push(other, MAX_EVENT_BYTES, &mut events).unwrap();
                events.extend(framing.finish());
                let read: Vec<String> = events.into_iter().map(|event| event.data).collect();
                assert_eq!(read, expected, "{body:?} {at}");
            }
        }
    }

    #[test]
    fn fields_are_read_as_the_format_says() {
        let cases: [(&str, &[(&str, &str)]); 14] = [
            ("data: a\n\n", &[("", "a")]),
            ("data:a\r\n\r\n", &[("", "a")]),
            ("data:  a\r\r", &[("", " a")]),
            ("data: a\ndata: b\n\n", &[("", "a\nb")]),
            ("data\n\n", &[("", "")]),
            ("data\ndata\n\n", &[("", "\n")]),
            (": a\n\n:b\ndata: c\n\n", &[("", "c")]),
            ("id: 1\nretry: 5\nother: x\ndata: a\n\n", &[("", "a")]),
            ("event: e\ndata: a\n\ndata: b\n\n", &[("e", "a"), ("", "b")]),
            ("event: e\n\ndata: b\n\n", &[("", "b")]),
            ("\u{feff}data: a\n\n", &[("", "a")]),
            ("data: a\n\n\u{feff}data: b\n\n", &[("", "a")]),
            ("error: {}\n\n", &[("error", "{}")]),
            ("data: a\n\ndata: cut\n", &[("", "a")]),
        ];

        for (text, events) in cases {
            let owned = |(name, data): &(&str, &str)| ((*name).to_owned(), (*data).to_owned());
            let events: Vec<_> = events.iter().map(owned).collect();
            assert_eq!(whole(text.as_bytes()), events, "{text:?}");
        }
    }

    #[test]
    fn an_event_beyond_its_limit_is_refused() {
        let line = |length: usize| ["data: ", &"x".repeat(length), "\n"].concat();
        let fits = line(MAX_EVENT_BYTES - 6) + "\n";
        let long_line = line(MAX_EVENT_BYTES);
        let many_lines = line(1000).repeat(1100);
        let comment = ":".repeat(MAX_EVENT_BYTES + 1);

        assert_eq!(whole(fits.as_bytes()).len(), 1);
        for text in [long_line, many_lines, comment] {
            let pieces = text.as_bytes().chunks(700);
            assert_eq!(parsed(pieces), Err(Garbled::TooLarge));
        }
    }

    #[test]
    fn what_is_no_text_is_refused() {
        assert_eq!(parsed([&b"data: \xff\n\n"[..]]), Err(Garbled::NoSense));
    }

    /// Lines out of which streams are made: fields, comments, the empty line.
    fn line() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => Just(String::new()),
            4 => "data: ?[a-zåé🦀: ]{0,6}",
            1 => Just("data".to_owned()),
            1 => "event: ?[a-z]{1,4}",
            1 => ":[a-zå ]{0,4}",
            1 => "(id|retry|more): ?[0-9]{0,2}",
        ]
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
        let lines = prop::collection::vec((line(), end), 0..24);
        (any::<bool>(), lines).prop_map(|(is_marked, lines)| {
            let mark = if is_marked { "\u{feff}" } else { "" };
            let lines = lines.iter().map(|(line, end)| format!("{line}{end}"));
            (mark.to_owned() + &lines.collect::<String>()).into_bytes()
        })
    }

    /// What another reader makes of it.
    async fn by_another(bytes: &[u8]) -> Vec<(String, String)> {
        let whole = stream::iter([Ok::<_, Infallible>(bytes)]);
        let events: Vec<_> = SseByteStream::new(whole).try_collect().await.unwrap();
        let events = events.into_iter();
        let named = events.filter_map(|event| Some((event.event.unwrap_or_default(), event.data?)));
        named.collect()
    }

    proptest! {
        #[test]
        fn events_are_the_same_however_the_bytes_are_split(
            bytes in text(),
            cuts in prop::collection::vec(0_usize..12, 0..40),
        ) {
            let mut pieces = Vec::new();
            let mut rest = bytes.as_slice();
            for cut in cuts {
                let (piece, more) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = more;
            }
            pieces.push(rest);

            let split = parsed(pieces).unwrap();

            let split: Vec<_> = split.into_iter().map(|event| (event.name, event.data)).collect();
            prop_assert_eq!(&split, &whole(&bytes));
            let another = by_another(&bytes).now_or_never().unwrap();
            prop_assert_eq!(split, another);
        }
    }
}
