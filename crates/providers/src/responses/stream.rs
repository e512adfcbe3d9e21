//! Streams: named events in, deltas out (<https://platform.openai.com/docs/api-reference/responses-streaming>).
//!
//! A stream has ended when an event brought the response that is `completed` or `incomplete`, with its count. Anything
//! else that stops is a stream that broke off.

use std::collections::{HashMap, HashSet};

use domain::{Delta, ToolCallDelta, UsageReport};
use serde_json::Value;

use super::{
    Reading,
    answer::{
        BREAK, arguments, called, finish_reason, image, is_aside, logprobs, response, usage,
        with_calls,
    },
};
use crate::{
    adapter::{self, Decoder},
    openai::{fault, joining::Joining},
    wire::{Event, Fault},
};

const DONE: &str = "[DONE]";

/// Reads one stream.
pub(crate) struct ResponseDecoder {
    reading: Reading,
    joining: Joining,
    /// Whether any of the answer has come.
    has_begun: bool,
    /// Whether a thought has.
    has_thought: bool,
    /// Items that are no answer, by their places in the output.
    asides: HashSet<u64>,
    /// Calls by their places.
    calls: HashMap<u64, Call>,
}

struct Call {
    /// Which of the calls it is.
    index: usize,
    has_arguments: bool,
}

impl ResponseDecoder {
    /// Reads the answer to a request of that `reading`.
    pub(super) fn new(reading: Reading) -> Self {
        Self {
            joining: reading.demanded.joining(),
            reading,
            has_begun: false,
            has_thought: false,
            asides: HashSet::new(),
            calls: HashMap::new(),
        }
    }

    fn event(&mut self, name: &str, data: &str) -> Result<Vec<Delta>, Fault> {
        let event: Value = serde_json::from_str(data).map_err(|_| Fault::no_json())?;
        let place = event["output_index"].as_u64().unwrap_or(0);
        let piece = event["delta"].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap_or(name) {
            "response.output_text.delta" if self.asides.contains(&place) => Ok(self.thought(piece)),
            "response.output_text.delta" => Ok(self.text(piece, &event["logprobs"])),
            "response.refusal.delta" => Ok(self.told(piece, Delta::Refusal)),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                Ok(self.thought(piece))
            }
            "response.reasoning_summary_part.added" => Ok(self.parted()),
            "response.output_item.added" => Ok(self.begun(place, &event["item"])),
            "response.function_call_arguments.delta" => self.arguments(place, piece),
            "response.output_item.done" => self.item(place, &event["item"]),
            "response.completed" | "response.incomplete" => self.end(&event["response"]),
            "response.failed" => Err(failed(&event)),
            "error" => Err(fault::of_event(data)),
            _ => match event.get("error").filter(|error| !error.is_null()) {
                Some(error) => Err(fault::of_error(error)),
                None => Ok(Vec::new()),
            },
        }
    }

    fn told(&mut self, piece: &str, delta: fn(String) -> Delta) -> Vec<Delta> {
        if piece.is_empty() {
            return Vec::new();
        }
        self.has_begun = true;
        vec![delta(piece.to_owned())]
    }

    fn thought(&mut self, piece: &str) -> Vec<Delta> {
        self.has_thought |= !piece.is_empty();
        self.told(piece, Delta::Reasoning)
    }

    /// What sets the next thought apart from the last.
    fn parted(&mut self) -> Vec<Delta> {
        if self.has_thought {
            self.thought(BREAK)
        } else {
            Vec::new()
        }
    }

    fn text(&mut self, piece: &str, probable: &Value) -> Vec<Delta> {
        self.has_begun |= !piece.is_empty();
        let probable = probable.as_array().filter(|list| !list.is_empty());
        let logprobs = probable.map(|list| Delta::Logprobs(logprobs(list)));
        let text = self.joining.content(piece);
        logprobs.into_iter().chain(told_text(text)).collect()
    }

    /// An item begins.
    fn begun(&mut self, place: u64, item: &Value) -> Vec<Delta> {
        if item["type"] == "message" && is_aside(item) {
            self.asides.insert(place);
            return self.parted();
        }
        if item["type"] != "function_call" || self.calls.contains_key(&place) {
            return Vec::new();
        }
        let index = self.calls.len();
        let call = Call {
            index,
            has_arguments: false,
        };
        self.calls.insert(place, call);
        if !self.reading.has_tools {
            return Vec::new();
        }
        self.has_begun = true;
        vec![Delta::ToolCall(ToolCallDelta {
            index,
            begins: Some(called(item, index)),
            arguments: String::new(),
        })]
    }

    fn arguments(&mut self, place: u64, piece: &str) -> Result<Vec<Delta>, Fault> {
        let call = self.calls.get_mut(&place);
        let Some(call) = call.filter(|_| !piece.is_empty()) else {
            return Ok(Vec::new());
        };
        call.has_arguments = true;
        self.has_begun = true;
        if self.reading.has_tools {
            return Ok(vec![Delta::ToolCall(ToolCallDelta {
                index: call.index,
                begins: None,
                arguments: piece.to_owned(),
            })]);
        }
        let text = self.joining.call(place, piece)?;
        Ok(told_text(text).into_iter().collect())
    }

    /// An item is whole; of a call that did not come in pieces, this is all.
    fn item(&mut self, place: u64, item: &Value) -> Result<Vec<Delta>, Fault> {
        match item["type"].as_str() {
            Some("function_call") => {
                let mut deltas = self.begun(place, item);
                if self.calls.get(&place).is_some_and(|it| !it.has_arguments) {
                    deltas.extend(self.arguments(place, arguments(item))?);
                }
                Ok(deltas)
            }
            Some("image_generation_call") => {
                let image = image(item);
                self.has_begun |= image.is_some();
                Ok(image.map(Delta::Image).into_iter().collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    fn end(&mut self, whole: &Value) -> Result<Vec<Delta>, Fault> {
        let finish_reason = finish_reason(whole)?;
        // Some hosts have the answer in the last event alone.
        if !self.has_begun && whole["output"].is_array() {
            return response(&self.reading, whole).map(adapter::deltas);
        }
        let has_calls = self.reading.has_tools && !self.calls.is_empty();
        let end = Delta::End {
            finish_reason: with_calls(finish_reason, has_calls),
            usage: usage(&whole["usage"]),
        };
        let rest = told_text(self.joining.finish());
        Ok(rest.into_iter().chain([end]).collect())
    }
}

fn told_text(text: String) -> Option<Delta> {
    Some(text).filter(|text| !text.is_empty()).map(Delta::Text)
}

/// The fault of a response that failed; Perplexity tells it beside the response.
fn failed(event: &Value) -> Fault {
    let errors = [&event["response"]["error"], &event["error"]];
    match errors.into_iter().find(|error| !error.is_null()) {
        Some(error) => fault::of_error(error),
        None => Fault::protocol("the provider broke its answer off"),
    }
}

impl Decoder for ResponseDecoder {
    fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault> {
        match event.data.trim() {
            // Neither says anything: the end is the response's own.
            "" | DONE => Ok(Vec::new()),
            data => self.event(&event.name, data),
        }
    }

    fn counted(&mut self, event: Option<&Event>) -> Option<UsageReport> {
        let event: Value = serde_json::from_str(&event?.data).ok()?;
        usage(&event["response"]["usage"])
    }
}

#[cfg(test)]
mod tests;
