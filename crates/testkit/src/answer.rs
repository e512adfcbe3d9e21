//! One answer: what an upstream says, and how it misbehaves.
//!
//! How an answer is spread over time when it is streamed stands in `flow`.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};

use crate::flow::Flow;

/// One answer of an upstream.
///
/// A chat completion is told as a stream of chunks to a request that asks for one with `"stream": true`.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Body,
    pub(crate) delay: Duration,
    pub(crate) cut: Cut,
    pub(crate) flow: Flow,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    Chat {
        message: Value,
        finish_reason: &'static str,
        usage: Option<(u64, u64)>,
    },
    Embeddings(Vec<Vec<f32>>),
    /// Server-sent events, each as it stands.
    Events(Vec<Bytes>),
    Bytes(Bytes),
    /// So many bytes of one JSON string that never ends.
    Flood(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cut {
    Nowhere,
    BeforeHead,
    /// After so many bytes of the body.
    After(usize),
}

impl Answer {
    /// A chat completion whose message is `text`, with a usage of 12 and 5 tokens.
    pub fn text(text: &str) -> Self {
        Self::message(json!({"role": "assistant", "content": text}))
    }

    /// A chat completion whose message is `value` as compact JSON text.
    pub fn json(value: &Value) -> Self {
        Self::text(&value.to_string())
    }

    /// A chat completion with this `message` object, for refusals, tool calls and content parts.
    pub fn message(message: Value) -> Self {
        Self::new(
            200,
            Body::Chat {
                message,
                finish_reason: "stop",
                usage: Some((12, 5)),
            },
        )
    }

    /// A chat completion that calls one tool with these arguments, which are told as they stand.
    pub fn tool_call(name: &str, arguments: &str) -> Self {
        let call = json!({
            "id": "call_scripted",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        });
        let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        Self::message(message).finish_reason("tool_calls")
    }

    /// Server-sent events whatever was asked for, each as it stands, its empty line included; nothing is added.
    ///
    /// Each counts as one piece for [`Answer::pause`] and the ways to break a stream.
    pub fn events<T: Into<Bytes>>(events: impl IntoIterator<Item = T>) -> Self {
        let events = events.into_iter().map(Into::into).collect();
        Self::new(200, Body::Events(events))
    }

    /// An embeddings answer with one vector per input.
    pub fn embeddings(vectors: Vec<Vec<f32>>) -> Self {
        Self::new(200, Body::Embeddings(vectors))
    }

    /// Any JSON body under any status.
    pub fn body(status: u16, body: &Value) -> Self {
        Self::bytes(status, "application/json", body.to_string())
    }

    /// An error in the dialect's shape.
    pub fn error(status: u16, message: &str) -> Self {
        Self::body(
            status,
            &json!({"error": {"message": message, "type": "scripted"}}),
        )
    }

    /// Any bytes under any content type.
    pub fn bytes(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self::new(status, Body::Bytes(body.into())).header("content-type", content_type)
    }

    /// A page for people, as proxies send it.
    pub fn html(status: u16) -> Self {
        let page = "<!doctype html><html><body><h1>Bad gateway</h1></body></html>";
        Self::bytes(status, "text/html", page)
    }

    /// A success that is neither JSON nor UTF-8.
    pub fn garbage() -> Self {
        Self::bytes(200, "application/json", &b"\xff\xfe{\"choices\":[[["[..])
    }

    /// A success of `limit_bytes` bytes and no end of sense.
    pub fn oversize(limit_bytes: usize) -> Self {
        Self::new(200, Body::Flood(limit_bytes))
    }

    /// A connection closed before anything is said.
    pub fn cut() -> Self {
        let mut answer = Self::text("");
        answer.cut = Cut::BeforeHead;
        answer
    }

    /// Adds a header, for instance `retry-after`.
    ///
    /// # Panics
    /// When `value` cannot stand in a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        let value =
            HeaderValue::from_str(value).expect("a header value without control characters");
        self.headers.push((HeaderName::from_static(name), value));
        self
    }

    /// Waits before answering, the head included.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Closes the connection after so many bytes of the body.
    #[must_use]
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.cut = Cut::After(bytes);
        self
    }

    /// Says why the model stopped, where it is not `stop`.
    #[must_use]
    pub fn finish_reason(mut self, reason: &'static str) -> Self {
        if let Body::Chat { finish_reason, .. } = &mut self.body {
            *finish_reason = reason;
        }
        self
    }

    /// Counts other tokens than 12 and 5.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        if let Body::Chat { usage, .. } = &mut self.body {
            *usage = Some((input, output));
        }
        self
    }

    /// Leaves the usage out.
    #[must_use]
    pub fn without_usage(mut self) -> Self {
        if let Body::Chat { usage, .. } = &mut self.body {
            *usage = None;
        }
        self
    }

    fn new(status: u16, body: Body) -> Self {
        Self {
            status: StatusCode::from_u16(status).expect("a status of three digits"),
            headers: Vec::new(),
            body,
            delay: Duration::ZERO,
            cut: Cut::Nowhere,
            flow: Flow::default(),
        }
    }
}
