//! The bodies of the OpenAI dialect: values in, JSON out.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::flow::Pieces;

/// A chat completion, before it is told in one body or in chunks.
#[derive(Clone, Copy)]
pub(super) struct Chat<'a> {
    pub(super) model: &'a Value,
    pub(super) message: &'a Value,
    pub(super) finish_reason: &'a str,
    pub(super) usage: Option<(u64, u64)>,
}

/// One event of a stream.
pub(super) struct Event {
    pub(super) part: Part,
    pub(super) bytes: Bytes,
}

/// What an event is to the stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part {
    /// The role, or the name of a tool: no piece of text yet.
    Opening,
    Piece,
    /// The finish reason, the usage, the end mark.
    Ending,
}

impl Chat<'_> {
    /// Returns the completion as one body.
    pub(super) fn whole(&self) -> Value {
        let choice = json!({
            "index": 0,
            "message": self.message,
            "finish_reason": self.finish_reason,
        });
        let mut body = json!({
            "id": "chatcmpl-scripted",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": self.model,
            "choices": [choice],
        });
        if let Some(usage) = self.usage {
            body["usage"] = tokens(usage);
        }
        body
    }

    /// Returns the completion as chunks: the role, the pieces, the finish reason, and the usage if it is wanted.
    pub(super) fn chunks(&self, pieces: &Pieces, wants_usage: bool) -> Vec<Event> {
        let mut events = Vec::new();
        let mut tell = |part, delta: Value, finish_reason: Option<&str>| {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": finish_reason});
            let mut chunk = self.chunk(json!([choice]));
            if wants_usage {
                chunk["usage"] = Value::Null;
            }
            events.push(event(part, &chunk));
        };
        tell(Part::Opening, opening(self.message), None);
        for name in ["content", "refusal"] {
            for piece in pieces.of(&text(&self.message[name])) {
                tell(Part::Piece, json!({name: piece}), None);
            }
        }
        let calls = self.message["tool_calls"].as_array();
        for (index, call) in calls.into_iter().flatten().enumerate() {
            let mut named = call.clone();
            let arguments = text(&named["function"]["arguments"]);
            named["function"]["arguments"] = "".into();
            named["index"] = index.into();
            tell(Part::Opening, json!({"tool_calls": [named]}), None);
            for piece in pieces.of(&arguments) {
                let more = json!({"index": index, "function": {"arguments": piece}});
                tell(Part::Piece, json!({"tool_calls": [more]}), None);
            }
        }
        tell(Part::Ending, json!({}), Some(self.finish_reason));
        if let Some(usage) = self.usage.filter(|_| wants_usage) {
            let mut chunk = self.chunk(json!([]));
            chunk["usage"] = tokens(usage);
            events.push(event(Part::Ending, &chunk));
        }
        events
    }

    fn chunk(&self, choices: Value) -> Value {
        let mut chunk = json!({
            "id": "chatcmpl-scripted",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": self.model,
        });
        chunk["choices"] = choices;
        chunk
    }
}

/// Returns the first delta: the role, and every member of the message that is not told in pieces.
fn opening(message: &Value) -> Value {
    let mut delta: Map<String, Value> = message.as_object().cloned().unwrap_or_default();
    delta
        .entry("role")
        .or_insert_with(|| Value::from("assistant"));
    delta.remove("tool_calls");
    if let Some(content) = delta
        .get_mut("content")
        .filter(|content| !content.is_null())
    {
        *content = "".into();
    }
    if let Some(refusal) = delta.get_mut("refusal") {
        *refusal = Value::Null;
    }
    delta.into()
}

/// Returns a text, or the texts of content parts in a row: a stream has no parts.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

fn tokens((input, output): (u64, u64)) -> Value {
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input + output,
    })
}

fn event(part: Part, data: &Value) -> Event {
    Event {
        part,
        bytes: data_event(data),
    }
}

/// Returns an event with this data.
pub(super) fn data_event(data: &Value) -> Bytes {
    format!("data: {data}\n\n").into()
}

/// Returns an embeddings answer.
pub(super) fn embeddings(model: &Value, vectors: &[Vec<f32>]) -> Value {
    let rows = vectors
        .iter()
        .enumerate()
        .map(|(index, vector)| json!({"object": "embedding", "index": index, "embedding": vector}));
    json!({
        "object": "list",
        "model": model,
        "data": rows.collect::<Vec<_>>(),
        "usage": {"prompt_tokens": 8, "total_tokens": 8},
    })
}
