//! An HTTP server that speaks the shape of the OpenAI dialect and follows a [`Script`].
//!
//! It checks nothing that a test does not check: every request is kept as it came.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, header::CONTENT_TYPE};
use http_body_util::BodyExt;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

mod course;
mod dialect;
mod playback;
mod record;

pub use self::record::{Ending, EndingKind};

use self::{
    course::Course,
    playback::Playback,
    record::{Record, UnderWay},
};
use crate::{Answer, Script, answer::Cut};

/// A running upstream. It ends when it is dropped.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    record: Arc<Record>,
    task: JoinHandle<()>,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// The method.
    pub method: Method,
    /// Path and query, for instance `/v1/chat/completions`.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl Upstream {
    /// Starts an upstream on a free port of the loopback address.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn start(script: impl Into<Script>) -> Self {
        Self::start_on(0, script)
            .await
            .expect("the loopback address has a free port")
    }

    /// Starts an upstream on this port of the loopback address.
    pub async fn start_on(port: u16, script: impl Into<Script>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let address = listener.local_addr()?;
        let record = Arc::default();
        let stage = Arc::new(Stage {
            script: script.into(),
            record: Arc::clone(&record),
        });
        Ok(Self {
            address,
            record,
            task: tokio::spawn(accept(listener, stage)),
        })
    }

    /// Returns the address that a model's `api_base` names, ending in `/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns `host:port`, as the egress lists name it.
    pub fn authority(&self) -> String {
        self.address.to_string()
    }

    /// Returns every request so far, in the order of arrival.
    pub fn requests(&self) -> Vec<Received> {
        self.record.received()
    }

    /// Returns how each request ended that has ended, in the order in which they did.
    pub fn endings(&self) -> Vec<Ending> {
        self.record.endings()
    }

    /// Returns how many requests have come and are neither answered to the end nor given up.
    pub fn open_requests(&self) -> usize {
        self.record.counts().requests
    }

    /// Returns how many connections are open, idle ones included.
    pub fn open_connections(&self) -> usize {
        self.record.counts().connections
    }

    /// Waits until no request is under way; `false` if one still is after that time.
    pub async fn wait_until_idle(&self, within: Duration) -> bool {
        let idle = self.record.wait_for(within, |counts| counts.requests == 0);
        idle.await
    }

    /// Waits until this many requests have come since the start; `false` if they have not within that time.
    pub async fn wait_for_requests(&self, number: usize, within: Duration) -> bool {
        let come = self
            .record
            .wait_for(within, |counts| counts.arrived >= number);
        come.await
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Received {
    /// Returns the body as JSON, `null` if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns a header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

struct Stage {
    script: Script,
    record: Arc<Record>,
}

async fn accept(listener: TcpListener, stage: Arc<Stage>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, Arc::clone(&stage)));
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream, stage: Arc<Stage>) {
    let _open = stage.record.open();
    // Pieces must leave one by one. Where it cannot be set, the client is gone already.
    let _set = stream.set_nodelay(true);
    let service = service_fn(|request| play(&stage, request));
    // A client that goes away, and a cut that the script asks for, both end here; neither is a fault.
    let _ended = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn play(stage: &Stage, request: Request<Incoming>) -> io::Result<Response<Playback>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let path = head.uri.path_and_query().map(ToString::to_string);
    let request = Received {
        method: head.method,
        path: path.unwrap_or_default(),
        headers: head.headers,
        body,
    };
    let answer = stage.script.next(&request);
    let asked = request.json();
    // Held across the delay: a client that leaves meanwhile takes this future with it.
    let under_way = stage.record.receive(request);

    tokio::time::sleep(answer.delay).await;
    respond(&answer, &asked, under_way)
}

fn respond(
    answer: &Answer,
    asked: &Value,
    mut under_way: UnderWay,
) -> io::Result<Response<Playback>> {
    if answer.cut == Cut::BeforeHead {
        under_way.will_end(EndingKind::Cut);
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
    let course = Course::of(answer, asked);
    let mut response = Response::builder().status(answer.status);
    let told = answer.headers.iter().any(|(name, _)| name == CONTENT_TYPE);
    if !told {
        let content_type = if course.streamed {
            "text/event-stream"
        } else {
            "application/json"
        };
        response = response.header(CONTENT_TYPE, content_type);
    }
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    response
        .body(Playback::new(course, under_way))
        .map_err(io::Error::other)
}

#[cfg(test)]
mod tests;
