//! The configuration keys of `[server]`, `[limits]` and `[metrics]`.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// Where the doors are.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ServerOptions {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// How long accepted calls may go on after SIGTERM.
    pub drain_seconds: f64,
}

/// What is refused early (`reliability.md` 3).
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsOptions {
    /// Open connections.
    pub connections: usize,
    /// Calls under way.
    pub calls: usize,
    /// Calls of one project under way.
    pub project_calls: usize,
    /// Calls of one project that ask one model at the same time.
    pub model_calls: usize,
    /// Calls that wait for a place.
    pub waiting_calls: usize,
    /// How long they may wait.
    pub waiting_seconds: f64,
    /// Bytes of a request body.
    pub body_bytes: usize,
    /// Bytes of a body with a document to read.
    pub ocr_body_bytes: usize,
    /// Bytes of a body that creates or changes a function.
    pub function_body_bytes: usize,
    /// Bytes of a body that registers or changes a custom model.
    pub model_body_bytes: usize,
    /// Bytes of all bodies that are being read or worked on.
    pub buffered_bytes: usize,
    /// Between the end of an answer and the next request on the same connection.
    pub idle_timeout_seconds: f64,
    /// For the head of a request to arrive.
    pub header_timeout_seconds: f64,
    /// For the body of a request to arrive.
    pub body_timeout_seconds: f64,
    /// For a client to take some of an answer that waits for it.
    pub reader_timeout_seconds: f64,
}

/// Where `/metrics` is served.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MetricsOptions {
    /// An address of its own; without one, on the main address while that is loopback.
    pub listen: Option<SocketAddr>,
}
