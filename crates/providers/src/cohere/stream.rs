//! Streams of chats: events in, deltas out.
//!
//! <https://docs.cohere.com/docs/streaming>. A stream has ended with `message-end`; anything else that stops is a stream
//! that broke off.

use std::slice;

use domain::{Delta, UsageReport};
use serde_json::Value;

use super::{
    answer::{self, reasoning},
    demand::Reading,
};
use crate::{
    adapter::Decoder,
    assembly::Assembly,
    openai::fault,
    wire::{Event, Fault},
};

/// Reads one stream.
pub(crate) struct EventDecoder {
    assembly: Assembly,
}

impl EventDecoder {
    /// Reads the answer to a request of that `reading`.
    pub(super) fn new(reading: &Reading) -> Self {
        Self {
            assembly: reading.assembly(),
        }
    }

    fn event(&mut self, event: &Value) -> Result<Vec<Delta>, Fault> {
        let delta = &event["delta"];
        let message = &delta["message"];
        let mut told = Vec::new();
        match event["type"].as_str().unwrap_or_default() {
            "content-start" | "content-delta" => {
                let content = &message["content"];
                told.extend(answer::logprobs(slice::from_ref(&event["logprobs"])));
                told.extend(reasoning(content["thinking"].as_str().unwrap_or_default()));
                let text = content["text"].as_str().unwrap_or_default();
                told.extend(self.assembly.content(text));
            }
            "tool-plan-delta" => {
                told.extend(reasoning(message["tool_plan"].as_str().unwrap_or_default()));
            }
            "tool-call-start" => {
                let call = answer::call(first(&message["tool_calls"]));
                told.extend(self.assembly.call(call)?);
            }
            "tool-call-delta" => {
                let function = &first(&message["tool_calls"])["function"];
                let arguments = function["arguments"].as_str().unwrap_or_default();
                told.extend(self.assembly.further(arguments)?);
            }
            "message-end" => {
                let reason = answer::finish_reason(delta)?;
                told.extend(self.assembly.finish());
                told.push(Delta::End {
                    finish_reason: answer::with_calls(reason, self.assembly.calls_tools()),
                    usage: answer::usage(&delta["usage"]),
                });
            }
            _ => {}
        }
        Ok(told)
    }
}

/// The one call of an event, which some versions put in a list.
fn first(calls: &Value) -> &Value {
    calls.get(0).unwrap_or(calls)
}

impl Decoder for EventDecoder {
    fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault> {
        match event.name.as_str() {
            "error" => Err(fault::of_event(&event.data)),
            _ if event.data.trim() == "[DONE]" => Ok(Vec::new()),
            _ => answer::answer(event.data.as_bytes()).and_then(|event| self.event(&event)),
        }
    }

    fn counted(&mut self, event: Option<&Event>) -> Option<UsageReport> {
        let event: Value = serde_json::from_str(&event?.data).ok()?;
        answer::usage(&event["delta"]["usage"])
    }
}

#[cfg(test)]
mod tests {
    use domain::{FinishReason, Usage};
    use proptest::prelude::*;

    use super::*;
    use crate::{adapter, wire::tests::events};

    const BODY: &str = r#"event: message-start
data: {"id":"1","type":"message-start","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}

event: content-start
data: {"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}

event: content-delta
data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"Hel"}}}}

event: content-delta
data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"loå"}}}}

event: content-end
data: {"type":"content-end","index":0}

event: message-end
data: {"type":"message-end","delta":{"finish_reason":"COMPLETE","usage":{"billed_units":{"input_tokens":5.0,"output_tokens":2.0}}}}

"#;

    /// What comes of a body that ends there: its text, and whether its end was an orderly one.
    fn read(body: &[u8]) -> (String, Option<(FinishReason, Option<Usage>)>) {
        adapter::tests::read(EventDecoder::new(&Reading::default()), &events(body))
    }

    #[test]
    fn a_stream_cut_after_any_byte_ends_in_order_only_with_its_last_event() {
        let usage = Usage {
            input_tokens: 5,
            output_tokens: 2,
            ..Usage::default()
        };
        let whole = ("Hello\u{e5}", usage);
        adapter::tests::assert_ends_after(BODY.len(), BODY.as_bytes(), whole, read);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_no_panic(
            data in "\\PC{0,40}|(\\{|\\}|\\[|\\]|\"type\"|\"delta\"|\"message-end\"|:|,|null|0){0,30}",
        ) {
            let mut decoder = EventDecoder::new(&Reading::default());
            let event = Event { name: String::new(), data };

            let _ = decoder.push(&event);

            prop_assert!(decoder.finish().is_err());
        }
    }
}
