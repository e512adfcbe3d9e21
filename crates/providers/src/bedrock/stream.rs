//! Streams of Converse: events in, deltas out
//! (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html>).
//!
//! `messageStop` ends the answer; the count of tokens follows it, and is waited for. Anything else that stops is a
//! stream that broke off.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{Delta, FinishReason, Json, UsageReport};
use serde::Deserialize;
use serde_json::Value;

use super::{answer, demand::Reading, fault, telling::Telling};
use crate::{
    adapter::Decoder,
    wire::{EXCEPTION, Event, Fault},
};

/// Reads one stream.
pub(crate) struct EventDecoder {
    reading: Reading,
    telling: Telling,
    /// The block that is being told, if it is one with an end of its own.
    open: Option<Open>,
    finish_reason: Option<FinishReason>,
    usage: Option<UsageReport>,
}

enum Open {
    Call,
    /// One that is none of ours.
    Foreign,
    Image {
        format: String,
        bytes: Vec<u8>,
    },
}

/// What a count of tokens comes in.
#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    usage: Option<Json>,
}

impl EventDecoder {
    /// Reads the answer to a request of that `reading`.
    pub(super) fn new(reading: Reading) -> Self {
        Self {
            telling: Telling::new(&reading),
            reading,
            open: None,
            finish_reason: None,
            usage: None,
        }
    }

    fn read(&mut self, name: &str, data: &str) -> Result<Vec<Delta>, Fault> {
        if let Some(exception) = name.strip_prefix(EXCEPTION) {
            return Err(fault::of_exception(exception, data));
        }
        let known = [
            "contentBlockStart",
            "contentBlockDelta",
            "contentBlockStop",
            "messageStop",
            "metadata",
        ];
        if !known.contains(&name) {
            return Ok(Vec::new());
        }
        let event: Value = serde_json::from_str(data).map_err(|_| Fault::no_json())?;
        match name {
            "contentBlockStart" => self.start(&event["start"]),
            "contentBlockDelta" => self.piece(&event["delta"]),
            "contentBlockStop" => Ok(self.stop()),
            "messageStop" => {
                let reason = event["stopReason"].as_str();
                let reason = answer::finish_reason(&self.reading, reason)?;
                self.finish_reason = Some(reason);
                Ok(Vec::new())
            }
            _ => {
                let metadata: Option<Metadata> = serde_json::from_str(data).ok();
                let raw = metadata.and_then(|metadata| metadata.usage);
                self.usage = raw.as_ref().and_then(answer::usage);
                self.finish()
            }
        }
    }

    fn start(&mut self, start: &Value) -> Result<Vec<Delta>, Fault> {
        let call = &start["toolUse"];
        self.open = None;
        if let Some(format) = start["image"]["format"].as_str() {
            self.open = Some(Open::Image {
                format: format.to_owned(),
                bytes: Vec::new(),
            });
        } else if !call["type"].is_null() || start["toolResult"].is_object() {
            self.open = Some(Open::Foreign);
        } else if call.is_object() {
            let (Some(id), Some(name)) = (call["toolUseId"].as_str(), call["name"].as_str()) else {
                return Err(Fault::protocol("a call in the stream has no name"));
            };
            self.open = Some(Open::Call);
            return Ok(self.telling.begin(id, name)?.into_iter().collect());
        }
        Ok(Vec::new())
    }

    fn piece(&mut self, piece: &Value) -> Result<Vec<Delta>, Fault> {
        let mut deltas = Vec::new();
        if let Some(text) = piece["text"].as_str() {
            deltas.extend(self.telling.text(text));
        }
        if let Some(text) = piece["reasoningContent"]["text"].as_str() {
            let text = Some(text).filter(|text| !text.is_empty());
            deltas.extend(text.map(|text| Delta::Reasoning(text.to_owned())));
        }
        if let Some(arguments) = piece["toolUse"]["input"].as_str() {
            match self.open {
                Some(Open::Call) => deltas.extend(self.telling.arguments(arguments)),
                Some(Open::Foreign) => {}
                _ => {
                    let words = "a piece of the stream is of a call that never began";
                    return Err(Fault::protocol(words));
                }
            }
        }
        if let (Some(Open::Image { bytes, .. }), Some(more)) =
            (&mut self.open, piece["image"]["source"]["bytes"].as_str())
        {
            let more = STANDARD.decode(more);
            bytes.extend(more.map_err(|_| Fault::protocol("an image of the stream is none"))?);
        }
        Ok(deltas)
    }

    fn stop(&mut self) -> Vec<Delta> {
        let delta = match self.open.take() {
            Some(Open::Call) => self.telling.end_call(),
            Some(Open::Image { format, bytes }) if !bytes.is_empty() => {
                let bytes = STANDARD.encode(bytes);
                Some(Delta::Image(format!("data:image/{format};base64,{bytes}")))
            }
            _ => None,
        };
        delta.into_iter().collect()
    }
}

impl Decoder for EventDecoder {
    fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault> {
        self.read(&event.name, &event.data)
    }

    fn finish(&mut self) -> Result<Vec<Delta>, Fault> {
        let finish_reason = self.finish_reason.ok_or_else(Fault::broken_off)?;
        let usage = self.usage.take();
        let end = Delta::End {
            finish_reason,
            usage,
        };
        Ok(self.telling.finish().into_iter().chain([end]).collect())
    }

    fn counted(&mut self, _event: Option<&Event>) -> Option<UsageReport> {
        self.usage.take()
    }
}
