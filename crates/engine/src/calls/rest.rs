//! What is left to send of a JSON answer that one model began and another one completes.
//!
//! What was sent stands: finished values win over the other model's, and the other model fills in the rest. Whether
//! the whole satisfies its schema is not asked here.

use std::collections::HashSet;

use domain::{Json, JsonObject};

use crate::calls::pieces::{Fault, Grammar, Piece};

/// The text of a JSON answer that was sent before its model failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfinished {
    text: String,
}

/// The rest of an answer, as another model completed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completed {
    /// What is left to send.
    pub(crate) pieces: Vec<Piece>,
    /// The whole: what was sent and what is left.
    pub(crate) value: Json,
}

/// Why a value cannot go on from what was sent, in one line that repeats nothing of either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contradiction(String);

/// The open end of a text that was sent.
#[derive(Debug, Default)]
struct Sent {
    /// The open containers, the root first.
    levels: Vec<Level>,
    /// Where the open string's content begins.
    string: Option<usize>,
}

#[derive(Debug)]
struct Level {
    is_object: bool,
    /// How many members or items were begun, the open one among them; never none.
    begun: usize,
    /// The keys of an object's members, in order.
    keys: Vec<String>,
}

impl Unfinished {
    /// What is known of an answer of which this text was sent.
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
        }
    }

    /// The text, exactly as it was sent; empty if nothing was.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Completes what was sent with a whole value by another model.
    ///
    /// # Errors
    /// `whole` is not what was sent and more: a finished field that differs, another kind of value where a container is
    /// open, fewer items than were begun, a string that does not begin with what was sent of it.
    pub(crate) fn rest(&self, whole: &Json) -> Result<Completed, Contradiction> {
        let rest = if self.text.is_empty() {
            whole.text().to_owned()
        } else {
            Sent::of(&self.text).rest(&self.text, whole)?
        };
        let broken = |fault: Fault| Contradiction(fault.line().to_owned());
        let mut pieces = Vec::new();
        let mut grammar = Grammar::resumed(&self.text).map_err(broken)?;
        grammar.finish_with(&rest, &mut pieces).map_err(broken)?;
        let value = Json::parse(&format!("{}{rest}", self.text))
            .map_err(|invalid| Contradiction(invalid.message))?;
        // Half of one value and half of another is a value that nobody gave.
        if value.to_value() != whole.to_value() {
            return Err(Contradiction::new(DIFFERENT));
        }
        Ok(Completed { pieces, value })
    }
}

const DIFFERENT: &str =
    "the value differs from what was already given of it: that has to stay exactly as it is";

impl Contradiction {
    fn new(line: &str) -> Self {
        Self(line.to_owned())
    }

    /// The line.
    pub(crate) fn line(&self) -> &str {
        &self.0
    }
}

impl Sent {
    /// Finds what is open at the end of a text that a reader let out.
    fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut sent = Self::default();
        let mut at = 0;
        let mut after_key = false;
        while at < bytes.len() {
            let byte = bytes[at];
            let start = at;
            at += 1;
            match byte {
                b'}' | b']' => drop(sent.levels.pop()),
                b',' | b' ' | b'\t' | b'\n' | b'\r' => {}
                b':' => after_key = true,
                b'"' => {
                    let Some(end) = string_end(bytes, at) else {
                        sent.begin(&mut after_key);
                        sent.string = Some(at);
                        break;
                    };
                    at = end;
                    match sent.levels.last_mut() {
                        Some(level) if level.is_object && !after_key => {
                            level.keys.push(decoded(&text[start..at]));
                        }
                        _ => sent.begin(&mut after_key),
                    }
                }
                b'{' | b'[' => {
                    sent.begin(&mut after_key);
                    sent.levels.push(Level {
                        is_object: byte == b'{',
                        begun: 0,
                        keys: Vec::new(),
                    });
                }
                _ => {
                    sent.begin(&mut after_key);
                    while at < bytes.len() && !is_delimiter(bytes[at]) {
                        at += 1;
                    }
                }
            }
        }
        sent
    }

    fn begin(&mut self, after_key: &mut bool) {
        *after_key = false;
        if let Some(level) = self.levels.last_mut() {
            level.begun += 1;
        }
    }

    /// The text that completes what was sent.
    fn rest(&self, text: &str, whole: &Json) -> Result<String, Contradiction> {
        // What closes each level, and the other model's value at the place that is open in it.
        let mut tails = Vec::new();
        let mut open = Some(whole.clone());
        for level in &self.levels {
            let (tail, inner) = level.tail(open.as_ref())?;
            tails.push(tail);
            open = inner;
        }
        let mut rest = match self.string {
            None => String::new(),
            Some(start) => string_rest(&text[start..], open.as_ref())?,
        };
        rest.extend(tails.into_iter().rev());
        Ok(rest)
    }
}

impl Level {
    /// What follows the open member or item, and the other model's value for that one.
    fn tail(&self, whole: Option<&Json>) -> Result<(String, Option<Json>), Contradiction> {
        let closer = if self.is_object { '}' } else { ']' };
        let Some(whole) = whole else {
            return Ok((closer.to_string(), None));
        };
        let (mut tail, inner) = if self.is_object {
            self.members(whole)?
        } else {
            self.items(whole)?
        };
        tail.push(closer);
        Ok((tail, inner))
    }

    fn members(&self, whole: &Json) -> Result<(String, Option<Json>), Contradiction> {
        let mut members: JsonObject = serde_json::from_str(whole.text())
            .map_err(|_| Contradiction::new("an object was begun where the value has none"))?;
        let sent: HashSet<&str> = self.keys.iter().map(String::as_str).collect();
        let mut tail = String::new();
        for (key, value) in &members {
            if !sent.contains(key.as_str()) {
                tail.push(',');
                tail.push_str(Json::of(key).text());
                tail.push(':');
                tail.push_str(value.text());
            }
        }
        let inner = self.keys.last().and_then(|key| members.swap_remove(key));
        Ok((tail, inner))
    }

    fn items(&self, whole: &Json) -> Result<(String, Option<Json>), Contradiction> {
        let mut items: Vec<Json> = serde_json::from_str(whole.text())
            .map_err(|_| Contradiction::new("an array was begun where the value has none"))?;
        if items.len() < self.begun {
            return Err(Contradiction::new(
                "more items were begun than the value has",
            ));
        }
        let mut tail = String::new();
        for item in &items[self.begun..] {
            tail.push(',');
            tail.push_str(item.text());
        }
        items.truncate(self.begun);
        Ok((tail, items.pop()))
    }
}

/// The other model's raw text behind the part of a string that was sent, its closing quote included.
fn string_rest(sent: &str, whole: Option<&Json>) -> Result<String, Contradiction> {
    let other = || Contradiction::new("a string was begun that the value has not or not so");
    let raw = whole.ok_or_else(other)?.text();
    let mut left = raw.strip_prefix('"').ok_or_else(other)?;
    for expected in decoded(&format!("\"{sent}\"")).chars() {
        let length = character_length(left);
        let found = if left.starts_with('\\') {
            decoded(&format!("\"{}\"", &left[..length])).chars().next()
        } else if left.len() > length {
            left.chars().next()
        } else {
            // The closing quote is no character of the string.
            None
        };
        if found != Some(expected) {
            return Err(other());
        }
        left = &left[length..];
    }
    Ok(left.to_owned())
}

/// How many bytes a checked string's first character or escape takes.
fn character_length(raw: &str) -> usize {
    let bytes = raw.as_bytes();
    match bytes {
        [
            b'\\',
            b'u',
            b'd' | b'D',
            b'8' | b'9' | b'a' | b'b' | b'A' | b'B',
            ..,
        ] => 12,
        [b'\\', b'u', ..] => 6,
        [b'\\', ..] => 2,
        _ => raw.chars().next().map_or(0, char::len_utf8),
    }
}

/// The content of a whole string that was checked.
fn decoded(raw: &str) -> String {
    serde_json::from_str(raw).expect("what went out are whole characters of a valid string")
}

/// Where a string ends, behind its closing quote.
fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::pieces::{Begins, Reader};

    fn continued(sent: &str, whole: &str) -> Result<String, String> {
        let mut reader = Reader::new(Begins::Anything);
        reader.push(sent, &mut Vec::new()).unwrap();
        let unfinished = reader.unfinished();
        let completed = unfinished
            .rest(&Json::parse(whole).unwrap())
            .map_err(|contradiction| contradiction.line().to_owned())?;
        let rest: String = completed
            .pieces
            .into_iter()
            .map(|piece| piece.raw)
            .collect();
        Ok(format!("{}|{rest}", unfinished.text()))
    }

    #[test]
    fn what_was_sent_stands_and_the_rest_follows() {
        let cases = [
            ("", "[1]", "|[1]"),
            ("{\"a\": 1, \"b", r#"{"b":2,"a":1}"#, r#"{"a": 1|,"b":2}"#),
            (
                "{\"a\":\"on",
                r#"{"c":[1],"a":"one","b":null}"#,
                r#"{"a":"on|e","c":[1],"b":null}"#,
            ),
            (
                "{\"a\":\"é\\u00",
                r#"{"a":"\u00e9\ud83d\ude00"}"#,
                r#"{"a":"é|\ud83d\ude00"}"#,
            ),
            (
                "{\"a\":[{\"b\":1},{\"b\":2",
                r#"{"a":[{"b":1},{"b":8}]}"#,
                r#"{"a":[{"b":1}|,{"b":8}]}"#,
            ),
            ("{\"a\":[1,2 ,", r#"{"a":[1,2,9]}"#, r#"{"a":[1,2 |,9]}"#),
            ("[1]", "[1]", "[1]|"),
            ("\"ab", "\"abc\"", "\"ab|c\""),
            ("12", "13", "|13"),
        ];

        for (sent, whole, expected) in cases {
            assert_eq!(continued(sent, whole), Ok(expected.to_owned()), "{sent}");
        }
    }

    #[test]
    fn a_value_that_differs_from_what_was_sent_contradicts() {
        let cases = [
            ("{\"a\": 1, \"b", r#"{"b":2,"a":3}"#),
            ("{\"a\":[{\"b\":1},{\"b\":2", r#"{"a":[{"b":7},{"b":2}]}"#),
            ("{\"a\":[1,2 ,", r#"{"a":[2,1,2]}"#),
            ("{\"a\":{\"b\":true,", r#"{"c":1}"#),
            ("{\"ok\":true,\"n\":", r#"{"ok":false,"n":2}"#),
            ("[1]", "[2]"),
            ("{\"a\":\"on", r#"{"a":"two"}"#),
            ("{\"a\":\"on", r#"{"a":"o"}"#),
            ("{\"a\":\"on", r#"{"a":1}"#),
            ("{\"a\":\"on", r#"{"b":"one"}"#),
            ("{\"a\":{\"b\":\"on", r#"{"b":"one"}"#),
            ("{\"a\":[1,2,", r#"{"a":[1]}"#),
            ("{\"a\":[1,", r#"{"a":null}"#),
            ("{\"a\":[1,", "[[1]]"),
            ("{\"a\":1,\"a\":2,", r#"{"a":1}"#),
        ];

        for (sent, whole) in cases {
            assert!(continued(sent, whole).is_err(), "{sent} {whole}");
        }
    }
}
