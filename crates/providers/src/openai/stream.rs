//! Streams of chat completions: chunks in, deltas out.
//!
//! A stream has ended when a choice named its reason and `[DONE]`, or the body's end, followed; the count of tokens
//! may come in between. Anything else that stops is a stream that broke off.

use domain::{Delta, FinishReason, UsageReport};
use serde_json::Value;

use super::{
    answer::{self, calls, finish_reason, is_first},
    calling::Calling,
    content::Content,
    demand::Reading,
    fault,
    joining::Joining,
    remarks, usage,
};
use crate::{
    adapter::Decoder,
    wire::{Event, Fault},
};

const DONE: &str = "[DONE]";

/// Reads one stream.
pub(crate) struct ChunkDecoder {
    reading: Reading,
    joining: Joining,
    calling: Calling,
    remarks: remarks::Gathered,
    /// Whether any of the answer has come.
    has_begun: bool,
    finish_reason: Option<FinishReason>,
    usage: Option<UsageReport>,
}

impl ChunkDecoder {
    /// Reads the answer to a request of that `reading`.
    pub(super) fn new(reading: Reading) -> Self {
        Self {
            joining: reading.joining(),
            calling: Calling::default(),
            remarks: remarks::Gathered::default(),
            reading,
            has_begun: false,
            finish_reason: None,
            usage: None,
        }
    }

    fn chunk(&mut self, data: &str) -> Result<Vec<Delta>, Fault> {
        let chunk = answer::answer(data.as_bytes())?;
        let choices = chunk["choices"].as_array();
        // Azure's first chunk and the one with the count have no choice; of several answers, one was asked for.
        let choice = choices.and_then(|choices| choices.iter().find(|choice| is_first(choice)));
        let choice = choice.unwrap_or(&Value::Null);
        if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
            return Err(fault::of_error(error));
        }
        // Some count on from chunk to chunk: the last holds.
        self.usage = count(&chunk, choice, data).or_else(|| self.usage.take());
        // Some say nothing with an empty text rather than with `null`.
        let reason = choice["finish_reason"].as_str();
        if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
            self.finish_reason = Some(finish_reason(Some(reason))?);
        }
        self.remarks.take(&chunk, self.message(choice)?);
        self.deltas(choice, &chunk)
    }

    fn deltas(&mut self, choice: &Value, chunk: &Value) -> Result<Vec<Delta>, Fault> {
        let message = self.message(choice)?;
        let said = Content::of(message)?;
        let mut has_begun = !said.is_empty();
        let mut text = self.joining.content(&said.text);
        let mut called = Vec::new();
        if self.reading.has_tools() {
            called = self.calling.push(message, chunk)?;
            has_begun |= self.calling.is_any();
        } else {
            for (number, arguments) in calls(message) {
                has_begun |= !arguments.is_empty();
                text += &self.joining.call(number, &arguments)?;
            }
        }
        let refusal = message["refusal"].as_str().unwrap_or_default().to_owned();
        self.has_begun |= has_begun || !refusal.is_empty();
        let piece = |text: String| Some(text).filter(|text| !text.is_empty());
        let mut deltas = Vec::new();
        deltas.extend(piece(said.reasoning).map(Delta::Reasoning));
        deltas.extend(answer::logprobs(choice).map(Delta::Logprobs));
        deltas.extend(piece(text).map(Delta::Text));
        deltas.extend(said.images.into_iter().map(Delta::Image));
        deltas.extend(called);
        deltas.extend(piece(refusal).map(Delta::Refusal));
        Ok(deltas)
    }

    /// What a choice adds to the message.
    fn message<'a>(&self, choice: &'a Value) -> Result<&'a Value, Fault> {
        let (delta, message) = (&choice["delta"], &choice["message"]);
        let is_sound = |value: &Value| value.is_object() || value.is_null();
        // Completions of plain text are another protocol.
        let is_other = delta.is_null() && message.is_null() && choice["text"].is_string();
        if !is_sound(choice) || !is_sound(delta) || !is_sound(message) || is_other {
            return Err(Fault::protocol("a piece of the stream has no message"));
        }
        // A host that does not stream may still send its one message as an event.
        let is_whole = delta.is_null() && !self.has_begun;
        Ok(if is_whole { message } else { delta })
    }
}

/// The count in a chunk. Groq and Moonshot have places of their own for it.
fn count(chunk: &Value, choice: &Value, data: &str) -> Option<UsageReport> {
    let counts = [&chunk["usage"], &chunk["x_groq"]["usage"], &choice["usage"]];
    let mut counts = counts.into_iter();
    counts.find_map(|count| usage::of_chat(count, data.as_bytes()))
}

impl Decoder for ChunkDecoder {
    fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault> {
        let data = event.data.trim();
        match (event.name.as_str(), data) {
            (_, "") => Ok(Vec::new()),
            (_, DONE) => self.finish(),
            ("error", data) => Err(fault::of_event(data)),
            (_, data) => self.chunk(data),
        }
    }

    fn finish(&mut self) -> Result<Vec<Delta>, Fault> {
        let finish_reason = self.finish_reason.ok_or_else(Fault::broken_off)?;
        let rest = Some(self.joining.finish()).filter(|rest| !rest.is_empty());
        let finish_reason = answer::waiting(finish_reason, self.calling.is_any());
        let mut deltas: Vec<Delta> = rest.map(Delta::Text).into_iter().collect();
        deltas.extend(self.calling.finish()?);
        deltas.extend(self.remarks.told().map(Delta::Remarks));
        deltas.push(Delta::End {
            finish_reason,
            usage: self.usage.take(),
        });
        Ok(deltas)
    }

    fn counted(&mut self, event: Option<&Event>) -> Option<UsageReport> {
        let data = event.map_or("", |event| event.data.trim());
        let chunk: Value = serde_json::from_str(data).unwrap_or_default();
        count(&chunk, &chunk["choices"][0], data).or_else(|| self.usage.take())
    }
}

#[cfg(test)]
mod tests {
    use domain::Usage;
    use proptest::prelude::*;

    use super::*;
    use crate::{adapter, wire::tests::events};

    /// Of a request with tools of the caller.
    fn with_tools() -> Reading {
        Reading::default().beside_tools(true)
    }

    /// What comes of a body that ends there: its text, and whether its end was an orderly one.
    fn read(body: &[u8]) -> (String, Option<(FinishReason, Option<Usage>)>) {
        adapter::tests::read(ChunkDecoder::new(Reading::default()), &events(body))
    }

    const FINISH: &str =
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\n";

    fn recorded() -> String {
        let chunk = |text: &str| {
            let delta = serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]});
            format!("data: {delta}\n\n")
        };
        let count = r#"data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}"#;
        let begun = ["", "Hel", "lo\u{e5}", " you"].map(chunk).concat();
        format!(": hi\n\n{begun}{FINISH}{count}\n\ndata: [DONE]\n\n")
    }

    #[test]
    fn a_stream_cut_after_any_byte_ends_in_order_only_with_its_finish_chunk() {
        let body = recorded();
        // The line feed after the last carriage return is not needed.
        let finished = body.find(FINISH).unwrap() + FINISH.len() - 1;
        let usage = Usage {
            input_tokens: 9,
            output_tokens: 2,
            ..Usage::default()
        };
        let whole = ("Hello\u{e5} you", usage);
        adapter::tests::assert_ends_after(finished, body.as_bytes(), whole, read);
    }

    #[test]
    fn a_stream_cut_at_any_event_ends_in_order_only_with_its_finish_chunk() {
        let body = recorded().replace("\r\n", "\n");
        let events: Vec<&str> = body.split_inclusive("\n\n").collect();
        let finish = FINISH.replace("\r\n", "\n");

        for count in 0..=events.len() {
            let given = &events[..count];
            let (_, end) = read(given.concat().as_bytes());
            assert_eq!(end.is_some(), given.contains(&finish.as_str()), "{count}");
            // The end that the host declares is none without a reason.
            let (_, end) = read((given.concat() + "data: [DONE]\n\n").as_bytes());
            assert_eq!(end.is_some(), given.contains(&finish.as_str()), "{count}");
        }
    }

    #[test]
    fn a_stream_of_calls_cut_at_any_event_ends_in_order_only_with_its_finish_chunk() {
        let call = |call: &str| {
            format!(
                r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}},"finish_reason":null}}]}}"#
            )
        };
        let data = [
            call(r#"{"index":0,"id":"a","function":{"name":"f","arguments":""}}"#),
            call(r#"{"index":0,"function":{"arguments":"{}"}}"#),
            call(r#"{"index":1,"id":"b","function":{"name":"f"}}"#),
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned(),
        ];

        for count in 0..=data.len() {
            let mut decoder = ChunkDecoder::new(with_tools());
            for data in &data[..count] {
                let name = String::new();
                let data = data.clone();
                decoder.push(&Event { name, data }).unwrap();
            }
            let end = decoder.finish();
            let last = end.ok().and_then(|mut deltas| deltas.pop());
            let whole = Delta::End {
                finish_reason: FinishReason::ToolCalls,
                usage: None,
            };
            assert_eq!(last, (count == data.len()).then_some(whole), "{count}");
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_is_no_panic(
            data in "\\PC{0,40}|(\\{|\\}|\\[|\\]|\"choices\"|\"delta\"|\"tool_calls\"|\"function\"|:|,|null|0){0,30}",
            has_tools: bool,
        ) {
            let reading = if has_tools { with_tools() } else { Reading::default() };
            let mut decoder = ChunkDecoder::new(reading);
            let event = Event { name: String::new(), data };

            let pushed = decoder.push(&event);

            let has_ended = |deltas: Vec<Delta>| deltas.iter().any(|it| matches!(it, Delta::End { .. }));
            prop_assert!(!pushed.is_ok_and(has_ended));
        }
    }
}
