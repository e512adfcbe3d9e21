//! Streams of messages: blocks that begin, grow and end in, deltas out.
//! <https://platform.claude.com/docs/en/build-with-claude/streaming>
//!
//! A stream has ended with `message_stop` alone. Anything else that stops is a stream that broke off.

use std::mem;

use domain::{Delta, FinishReason, ToolCallDelta};
use serde_json::{Map, Value};

use super::{
    answer,
    demand::{Joined, Reading},
};
use crate::{
    adapter::Decoder,
    wire::{Event, Fault},
};

/// Reads one stream.
pub(crate) struct EventDecoder {
    reading: Reading,
    joined: Joined,
    /// The call that grows.
    call: Option<Call>,
    /// How many calls of the caller's tools have begun.
    calls: usize,
    finish_reason: Option<FinishReason>,
    /// Some of it comes first, some last; what is counted twice is counted on.
    usage: Map<String, Value>,
    /// Whether more was counted than was told.
    has_counted: bool,
    /// Whether anything was told.
    has_told: bool,
}

/// A call, as far as it has come.
struct Call {
    number: u64,
    /// Its arguments where they came with its beginning.
    input: Value,
    has_grown: bool,
}

impl EventDecoder {
    /// Reads the answer to a request of that `reading`.
    pub(super) fn new(reading: Reading) -> Self {
        Self {
            joined: reading.joining(),
            reading,
            call: None,
            calls: 0,
            finish_reason: None,
            usage: Map::new(),
            has_counted: false,
            has_told: false,
        }
    }

    fn event(&mut self, data: &str) -> Result<Vec<Delta>, Fault> {
        let event = answer::value(data.as_bytes())?;
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                self.count(&event["message"]["usage"]);
                Ok(Vec::new())
            }
            "content_block_start" => self.begin(&event),
            "content_block_delta" => self.grow(&event["delta"]),
            "content_block_stop" => self.end_block(),
            "message_delta" => {
                self.count(&event["usage"]);
                Ok(self.stop(&event["delta"]))
            }
            "message_stop" => self.end(),
            // Pings, and events that are yet to be thought of.
            _ => Ok(Vec::new()),
        }
    }

    /// The deltas with what was counted so far behind them. A host that has but counted has not begun to answer.
    fn with_count(&mut self, mut deltas: Vec<Delta>) -> Vec<Delta> {
        self.has_told |= !deltas.is_empty();
        let is_over = matches!(deltas.last(), Some(Delta::End { .. }));
        if self.has_told && !is_over && mem::take(&mut self.has_counted) {
            let usage = answer::usage(&Value::Object(self.usage.clone()));
            deltas.extend(usage.map(Delta::Usage));
        }
        deltas
    }

    fn count(&mut self, usage: &Value) {
        self.has_counted = true;
        let counted = usage.as_object().into_iter().flatten();
        let counted = counted.filter(|(_, count)| !count.is_null());
        self.usage
            .extend(counted.map(|(name, count)| (name.clone(), count.clone())));
    }

    fn begin(&mut self, event: &Value) -> Result<Vec<Delta>, Fault> {
        let block = &event["content_block"];
        let text = |name: &str| block[name].as_str().unwrap_or_default();
        match text("type") {
            "text" => Ok(self.said(text("text"))),
            "thinking" => Ok(thought(text("thinking"))),
            "tool_use" => {
                let number = event["index"].as_u64();
                let number = number.ok_or_else(|| Fault::protocol("a block has no number"))?;
                self.call = Some(Call {
                    number,
                    input: block["input"].clone(),
                    has_grown: false,
                });
                if !self.reading.has_tools() {
                    return Ok(Vec::new());
                }
                self.calls += 1;
                let begins = (text("id").to_owned(), text("name").to_owned());
                Ok(vec![self.call_delta(Some(begins), String::new())])
            }
            _ => Ok(Vec::new()),
        }
    }

    fn grow(&mut self, delta: &Value) -> Result<Vec<Delta>, Fault> {
        let text = |name: &str| delta[name].as_str().unwrap_or_default();
        match text("type") {
            "text_delta" => Ok(self.said(text("text"))),
            "thinking_delta" => Ok(thought(text("thinking"))),
            "input_json_delta" => self.called(text("partial_json")),
            _ => Ok(Vec::new()),
        }
    }

    /// A call without arguments has never grown.
    fn end_block(&mut self) -> Result<Vec<Delta>, Fault> {
        let whole = match &self.call {
            Some(call) if !call.has_grown && call.input.is_object() => call.input.to_string(),
            Some(call) if !call.has_grown => "{}".to_owned(),
            _ => String::new(),
        };
        let deltas = self.called(&whole);
        self.call = None;
        deltas
    }

    fn said(&mut self, piece: &str) -> Vec<Delta> {
        told(self.joined.said(piece))
    }

    fn called(&mut self, piece: &str) -> Result<Vec<Delta>, Fault> {
        let Some(call) = self.call.as_mut().filter(|_| !piece.is_empty()) else {
            return Ok(Vec::new());
        };
        call.has_grown = true;
        if self.reading.has_tools() {
            return Ok(vec![self.call_delta(None, piece.to_owned())]);
        }
        Ok(told(self.joined.called(call.number, piece)?))
    }

    fn call_delta(&self, begins: Option<(String, String)>, arguments: String) -> Delta {
        Delta::ToolCall(ToolCallDelta {
            index: self.calls.saturating_sub(1),
            begins,
            arguments,
        })
    }

    fn stop(&mut self, delta: &Value) -> Vec<Delta> {
        let Some(reason) = delta["stop_reason"].as_str() else {
            return Vec::new();
        };
        self.finish_reason = Some(answer::finish_reason(&self.reading, Some(reason)));
        let refusal = answer::refusal(Some(reason), &delta["stop_details"]);
        refusal.map(Delta::Refusal).into_iter().collect()
    }

    fn end(&mut self) -> Result<Vec<Delta>, Fault> {
        let finish_reason = self.finish_reason.ok_or_else(Fault::broken_off)?;
        let mut deltas = told(self.joined.finish());
        deltas.push(Delta::End {
            finish_reason,
            usage: answer::usage(&Value::Object(mem::take(&mut self.usage))),
        });
        Ok(deltas)
    }
}

fn thought(piece: &str) -> Vec<Delta> {
    let piece = Some(piece).filter(|piece| !piece.is_empty());
    let piece = piece.map(|piece| Delta::Reasoning(piece.to_owned()));
    piece.into_iter().collect()
}

fn told(text: String) -> Vec<Delta> {
    let text = Some(text).filter(|text| !text.is_empty());
    text.map(Delta::Text).into_iter().collect()
}

impl Decoder for EventDecoder {
    fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault> {
        let data = event.data.trim();
        if data.is_empty() {
            return Ok(Vec::new());
        }
        let deltas = self.event(data)?;
        Ok(self.with_count(deltas))
    }
}

#[cfg(test)]
mod tests {
    use domain::Usage;
    use proptest::prelude::*;

    use super::*;
    use crate::{adapter, wire::tests::events};

    /// What comes of a body that ends there: its text, and whether its end was an orderly one.
    fn read(body: &[u8]) -> (String, Option<(FinishReason, Option<Usage>)>) {
        adapter::tests::read(EventDecoder::new(Reading::default()), &events(body))
    }

    const STOP: &str = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

    fn recorded() -> String {
        let event = |name: &str, rest: &str| {
            format!("event: {name}\ndata: {{\"type\":\"{name}\"{rest}}}\n\n")
        };
        let piece = |text: &str| {
            let delta = serde_json::json!({ "type": "text_delta", "text": text });
            event(
                "content_block_delta",
                &format!(",\"index\":0,\"delta\":{delta}"),
            )
        };
        let begin = r#","message":{"id":"msg_1","content":[],"usage":{"input_tokens":9,"cache_read_input_tokens":4,"output_tokens":1}}"#;
        let block = r#","index":0,"content_block":{"type":"text","text":""}"#;
        let stop = r#","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}"#;
        [
            event("message_start", begin),
            event("content_block_start", block),
            event("ping", ""),
            piece("Hel"),
            piece("lo\u{e5}"),
            piece(" you"),
            event("content_block_stop", ",\"index\":0"),
            event("message_delta", stop),
            STOP.to_owned(),
        ]
        .concat()
    }

    #[test]
    fn a_stream_cut_after_any_byte_ends_in_order_only_with_its_last_event() {
        let body = recorded();
        let usage = Usage {
            input_tokens: 13,
            output_tokens: 2,
            cached_tokens: 4,
            ..Usage::default()
        };
        let whole = ("Hello\u{e5} you", usage);
        adapter::tests::assert_ends_after(body.len(), body.as_bytes(), whole, read);
    }

    #[test]
    fn what_is_counted_is_told_as_soon_as_the_answer_has_begun() {
        let mut decoder = EventDecoder::new(Reading::default());
        let mut told = Vec::new();

        for event in &events(recorded().as_bytes()) {
            told.extend(decoder.push(event).unwrap());
        }

        let counts = told.iter().map(|delta| match delta {
            Delta::Usage(report) => Some((report.usage.input_tokens, report.usage.output_tokens)),
            _ => None,
        });
        let counts: Vec<Option<(u64, u64)>> = counts.collect();
        let expected = [None, Some((13, 1)), None, None, Some((13, 2)), None];
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_stream_that_stops_without_a_reason_broke_off() {
        let body = recorded();
        let events: Vec<&str> = body.split_inclusive("\n\n").collect();

        for count in 0..events.len() {
            let given = &events[..count];
            let is_reasoned = given.iter().any(|event| event.contains("message_delta"));
            let (_, end) = read((given.concat() + STOP).as_bytes());
            assert_eq!(end.is_some(), is_reasoned, "{count}");
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_is_no_panic(
            kind in "message_start|content_block_(start|delta|stop)|message_(delta|stop)|error|x",
            rest in "\\PC{0,40}|(\\{|\\}|\\[|\\]|\"index\"|\"delta\"|\"content_block\"|\"type\"|\"tool_use\"|:|,|null|0){0,30}",
        ) {
            let mut decoder = EventDecoder::new(Reading::default());
            let data = format!("{{\"type\":\"{kind}\",\"x\":0{rest}}}");

            for data in [rest, data] {
                let pushed = decoder.push(&Event { name: kind.clone(), data });

                let has_ended = |deltas: Vec<Delta>| deltas.iter().any(|it| matches!(it, Delta::End { .. }));
                prop_assert!(!pushed.is_ok_and(has_ended));
            }
        }
    }
}
