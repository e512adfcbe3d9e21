//! Server-sent events as they come, read without forgiveness: what a server wrote is kept beside what it means.

use serde_json::Value;

/// One event.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Event {
    /// The last `id` field.
    pub id: Option<String>,
    /// The last `event` field.
    pub name: Option<String>,
    /// The `data` fields, joined by line ends.
    pub data: String,
    /// The event as it came, with its empty line.
    pub raw: String,
}

impl Event {
    /// Returns the data as JSON, `null` if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_default()
    }
}

/// Bytes in, events out.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    unread: Vec<u8>,
    comments: Vec<String>,
}

impl Reader {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
    }

    /// Returns the next event that is there to its empty line. A block of comments alone is none.
    pub(crate) fn next(&mut self) -> Option<Event> {
        loop {
            let end = block_end(&self.unread)?;
            let block: Vec<u8> = self.unread.drain(..end).collect();
            let event = self.read(&String::from_utf8_lossy(&block));
            if event.is_some() {
                return event;
            }
        }
    }

    pub(crate) fn comments(&self) -> &[String] {
        &self.comments
    }

    pub(crate) fn unread(&self) -> &[u8] {
        &self.unread
    }

    fn read(&mut self, block: &str) -> Option<Event> {
        let mut event = Event::default();
        let mut data: Vec<&str> = Vec::new();
        let mut fields = 0;
        for line in block.lines().filter(|line| !line.is_empty()) {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "" => {
                    self.comments.push(value.to_owned());
                    continue;
                }
                "id" => event.id = Some(value.to_owned()),
                "event" => event.name = Some(value.to_owned()),
                "data" => data.push(value),
                _ => {}
            }
            fields += 1;
        }
        event.data = data.join("\n");
        block.clone_into(&mut event.raw);
        (fields > 0).then_some(event)
    }
}

/// Returns where the first block ends: behind its empty line.
fn block_end(bytes: &[u8]) -> Option<usize> {
    let mut start = 0;
    while let Some(length) = bytes[start..].iter().position(|byte| *byte == b'\n') {
        let line = &bytes[start..start + length];
        start += length + 1;
        if matches!(line, b"" | b"\r") {
            return Some(start);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: Option<&str>, name: Option<&str>, data: &str, raw: &str) -> Event {
        Event {
            id: id.map(str::to_owned),
            name: name.map(str::to_owned),
            data: data.to_owned(),
            raw: raw.to_owned(),
        }
    }

    #[test]
    fn events_are_found_however_their_bytes_are_split() {
        let first = "id: 0\ndata: {\"delta\":\"Grüße\"}\n\n";
        let second = "event: done\r\ndata:a\r\ndata: b\r\n\r\n";
        let text = format!("{first}: keep-alive\n\n{second}data: cut");

        for size in 1..text.len() {
            let mut reader = Reader::default();
            let mut events = Vec::new();
            for bytes in text.as_bytes().chunks(size) {
                reader.feed(bytes);
                events.extend(std::iter::from_fn(|| reader.next()));
            }

            assert_eq!(
                events,
                [
                    event(Some("0"), None, "{\"delta\":\"Grüße\"}", first),
                    event(None, Some("done"), "a\nb", second)
                ]
            );
            assert_eq!(reader.comments(), ["keep-alive"]);
            assert_eq!(reader.unread(), b"data: cut");
        }
    }
}
