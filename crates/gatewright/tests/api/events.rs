//! Reading a stream, strictly by `interface.md` 4.1: what is lenient in clients is not taken here.

use reqwest::{Method, Response, StatusCode, header::HeaderMap};
use serde_json::{Value, json};

use crate::{
    contract,
    server::{Answer, Api},
};

/// A streamed answer, read to its end.
#[derive(Debug)]
pub struct Streamed {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The whole body.
    pub text: String,
    /// Every event: its name (empty for a chunk) and its data.
    pub events: Vec<(String, Value)>,
}

impl Api {
    /// Sends a request whose answer is a stream, and reads it to its end.
    pub async fn stream(&self, path: &str, body: &Value) -> Streamed {
        let response = self.open_stream(path, body).await;
        let (status, headers) = (response.status(), response.headers().clone());
        let text = response.text().await.unwrap();
        let is_stream = headers["content-type"] == "text/event-stream";
        let events = if is_stream { events(&text) } else { Vec::new() };
        if is_stream {
            let data = events.iter().map(|(_, data)| data);
            contract::hold_events(path, data);
        } else {
            let answer = Answer {
                status,
                headers: headers.clone(),
                body: serde_json::from_str(&text).unwrap_or_default(),
                text: text.clone(),
            };
            contract::hold_answer(&Method::POST, path, &answer);
        }
        Streamed {
            status,
            headers,
            text,
            events,
        }
    }

    /// Streams a function at its latest revision.
    pub async fn stream_of(&self, function: &Value, body: &Value) -> Streamed {
        let id = function["id"].as_str().unwrap();
        self.stream(&format!("/v2/functions/{id}/call/stream"), body)
            .await
    }

    /// The span of a stream.
    pub async fn span_of(&self, stream: &Streamed) -> Value {
        let id = stream.headers["x-span-id"].to_str().unwrap();
        self.get(&format!("/v2/spans/{id}")).await.body
    }
}

impl Streamed {
    /// The last event: its name and its data.
    pub fn last(&self) -> (&str, &Value) {
        let (name, data) = self.events.last().expect(&self.text);
        (name, data)
    }

    /// The closing event, which has to be `done`.
    pub fn done(&self) -> &Value {
        let (name, data) = self.last();
        assert_eq!(name, "done", "{}", self.text);
        data
    }

    /// The class of the closing event, which has to be `error`.
    pub fn error(&self) -> &str {
        let (name, data) = self.last();
        assert_eq!(name, "error", "{}", self.text);
        assert_eq!(
            (&data["delta"], &data["chunk_type"]),
            (&json!(""), &json!("error"))
        );
        assert!(data["error_message"].is_string(), "{data}");
        data["error_type"].as_str().unwrap()
    }

    /// All deltas in a row.
    pub fn joined(&self) -> String {
        self.deltas().concat()
    }

    /// The deltas of the chunks.
    pub fn deltas(&self) -> Vec<&str> {
        let chunks = self.events.iter().filter(|(name, _)| name.is_empty());
        chunks
            .map(|(_, data)| data["delta"].as_str().unwrap())
            .collect()
    }

    /// The value that the leaves of `/call/stream` make up, empty objects and lists apart.
    pub fn rebuilt(&self) -> Value {
        let mut root = Value::Null;
        for (_, data) in self.events.iter().filter(|(name, _)| name.is_empty()) {
            let path = data["json_path"].as_str().expect("a leaf has its path");
            put(&mut root, path, &data["delta"]);
        }
        root
    }
}

/// Cuts a stream's text into events, and fails on everything that the contract does not allow.
pub fn events(text: &str) -> Vec<(String, Value)> {
    assert!(
        text.ends_with("\n\n"),
        "the last event has its empty line: {text}"
    );
    assert!(!text.contains('\r'), "{text}");
    let mut events = Vec::new();
    for block in text.trim_end_matches('\n').split("\n\n") {
        if block == ": keep-alive" {
            continue;
        }
        let (mut id, mut name, mut data) = (None, String::new(), None);
        for line in block.lines() {
            let (field, value) = line.split_once(": ").expect(line);
            match field {
                "id" => assert!(id.replace(value).is_none()),
                "event" => value.clone_into(&mut name),
                "data" => assert!(data.replace(value).is_none()),
                other => panic!("unknown field `{other}`"),
            }
        }
        assert_eq!(id, Some(events.len().to_string().as_str()), "{block}");
        let data: Value = serde_json::from_str(data.expect("every event has data")).unwrap();
        assert!(data.is_object() && data["span_id"].is_string(), "{data}");
        assert!(["", "done", "error"].contains(&name.as_str()), "{name}");
        events.push((name, data));
    }
    let span_ids: std::collections::HashSet<_> = events
        .iter()
        .map(|(_, data)| data["span_id"].to_string())
        .collect();
    assert_eq!(span_ids.len(), 1);
    let closing = events.iter().position(|(name, _)| !name.is_empty());
    assert!(
        closing.is_none_or(|at| at + 1 == events.len()),
        "nothing follows the closing event: {text}"
    );
    events
}

/// Puts a leaf, or the next piece of a string leaf, where it belongs.
fn put(root: &mut Value, path: &str, delta: &Value) {
    let mut place = root;
    let steps = path.replace('[', ".[");
    for step in steps
        .split('.')
        .filter(|step| !step.is_empty() && *step != "_root")
    {
        let index = step
            .strip_prefix('[')
            .and_then(|step| step.strip_suffix(']'));
        place = if let Some(index) = index {
            let index: usize = index.parse().unwrap();
            if !place.is_array() {
                *place = json!([]);
            }
            let items = place.as_array_mut().unwrap();
            while items.len() <= index {
                items.push(Value::Null);
            }
            &mut items[index]
        } else {
            if !place.is_object() {
                *place = json!({});
            }
            &mut place[step]
        };
    }
    match (place, delta) {
        (Value::String(before), Value::String(piece)) => before.push_str(piece),
        (place, delta) => *place = delta.clone(),
    }
}

/// Reads a stream's next bytes as they come.
pub async fn next_text(response: &mut Response) -> Option<String> {
    let bytes = response.chunk().await.ok()??;
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}
