//! Callers: one call after the other on a connection of their own, plain or streamed.

use std::{io, net::SocketAddr, time::Instant};

use http::{HeaderMap, StatusCode, header::CONNECTION};
use serde_json::{Value, json};

use super::TOKEN;
use crate::client::{Connection, Reply};

/// How a call is answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Way {
    /// As a whole.
    Plain,
    /// In events.
    Streamed,
}

/// What became of a call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum End {
    /// It was answered with success, to the last byte.
    Answered,
    /// It was answered with an error, to the last byte: its class and detail or message.
    Refused(String),
    /// A stream was ended by an event `error`: its type and message.
    ErrorEvent(String),
    /// Nobody listened.
    NotConnected,
    /// The answer is missing, or a part of it.
    Broken(String),
}

/// What a caller saw of one call.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The span's id, as soon as it had left the server.
    pub span: Option<String>,
    /// What became of it.
    pub end: End,
    /// When.
    pub at: Instant,
}

/// One caller.
#[derive(Debug)]
pub struct Caller {
    address: SocketAddr,
    path: String,
    way: Way,
    connection: Option<Connection>,
}

impl Caller {
    /// A caller of a function, by its id.
    pub fn new(address: SocketAddr, function: &str, way: Way) -> Self {
        let end = match way {
            Way::Plain => "call",
            Way::Streamed => "call/stream",
        };
        Self {
            address,
            path: format!("/v2/functions/{function}/{end}"),
            way,
            connection: None,
        }
    }

    /// Calls once with this input, on the connection of the last call where that is still open.
    pub async fn call(&mut self, input: &str) -> Outcome {
        let body = json!({ "input": input });
        let mut outcome = Outcome {
            span: None,
            end: End::NotConnected,
            at: Instant::now(),
        };
        if let Err(error) = self.try_call(&body, &mut outcome).await {
            self.connection = None;
            outcome.end = match error.kind() {
                io::ErrorKind::ConnectionRefused | io::ErrorKind::NotConnected => End::NotConnected,
                _ => End::Broken(told(&error)),
            };
        }
        outcome.at = Instant::now();
        outcome
    }

    /// The connection of the last call; one that was closed while nothing was asked is opened anew.
    async fn connection(&mut self) -> io::Result<Connection> {
        if let Some(mut connection) = self.connection.take()
            && connection.is_open().await
        {
            return Ok(connection);
        }
        Connection::open(self.address, TOKEN).await
    }

    async fn try_call(&mut self, body: &Value, outcome: &mut Outcome) -> io::Result<()> {
        let mut connection = self.connection().await?;
        let headers = match self.way {
            Way::Plain => {
                let reply = connection.post(&self.path, body).await?;
                outcome.span = span_id(&reply.headers);
                outcome.end = end_of(&reply);
                reply.headers
            }
            Way::Streamed => {
                let mut stream = connection.open_stream(&self.path, body).await?;
                let headers = stream.headers.clone();
                outcome.span = span_id(&headers);
                if stream.status == StatusCode::OK {
                    outcome.end = End::Broken("no event ended the stream".to_owned());
                    while let Some(event) = stream.next_event().await {
                        match event.name.as_deref() {
                            Some("done") => outcome.end = End::Answered,
                            Some("error") => outcome.end = error_event(&event.json()),
                            _ => {}
                        }
                    }
                    if !stream.ended_orderly() {
                        outcome.end = End::Broken("the stream broke off".to_owned());
                    }
                } else {
                    outcome.end = end_of(&stream.into_reply().await?);
                }
                headers
            }
        };
        if headers.get(CONNECTION).is_none_or(|value| value != "close") {
            self.connection = Some(connection);
        }
        Ok(())
    }
}

fn end_of(reply: &Reply) -> End {
    if reply.status.is_success() {
        return End::Answered;
    }
    let body = reply.json();
    let detail = body["detail"].as_str().or(body["message"].as_str());
    let class = body["type"].as_str().unwrap_or("no class");
    End::Refused(format!("{class}: {}", detail.unwrap_or_default()))
}

fn error_event(data: &Value) -> End {
    let of = |member: &str| data[member].as_str().unwrap_or_default().to_owned();
    End::ErrorEvent(format!("{}: {}", of("error_type"), of("error_message")))
}

fn span_id(headers: &HeaderMap) -> Option<String> {
    Some(headers.get("x-span-id")?.to_str().ok()?.to_owned())
}

/// An error with all that it came from.
fn told(error: &io::Error) -> String {
    let mut told = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        told = format!("{told}: {cause}");
        source = cause.source();
    }
    told
}
