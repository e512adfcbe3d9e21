//! An HTTP server that speaks the shape of the OpenAI dialect and follows a [`Script`].
//!
//! It checks nothing that a test does not check: every request is kept as it came.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, header::CONTENT_TYPE};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

use crate::{
    Answer, Script,
    script::{Body, Cut},
};

/// A running upstream. It ends when it is dropped.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
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
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("the loopback address has a free port");
        let address = listener.local_addr().expect("a bound listener has one");
        let received = Arc::default();
        let stage = Arc::new(Stage {
            script: script.into(),
            received: Arc::clone(&received),
        });
        Self {
            address,
            received,
            task: tokio::spawn(accept(listener, stage)),
        }
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
        self.received
            .lock()
            .expect("no holder of the lock panics")
            .clone()
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
    received: Arc<Mutex<Vec<Received>>>,
}

async fn accept(listener: TcpListener, stage: Arc<Stage>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, Arc::clone(&stage)));
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream, stage: Arc<Stage>) {
    let service = service_fn(|request| play(&stage, request));
    // A client that goes away, and a cut that the script asks for, both end here; neither is a fault.
    let _ended = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn play(stage: &Stage, request: Request<Incoming>) -> io::Result<Response<Pieces>> {
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
    let model = request.json()["model"].clone();
    stage
        .received
        .lock()
        .expect("no holder of the lock panics")
        .push(request);

    tokio::time::sleep(answer.delay).await;
    respond(&answer, &model)
}

fn respond(answer: &Answer, model: &Value) -> io::Result<Response<Pieces>> {
    if answer.cut == Cut::BeforeHead {
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
    let mut response = Response::builder().status(answer.status);
    if !matches!(answer.body, Body::Bytes(_)) {
        response = response.header(CONTENT_TYPE, "application/json");
    }
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    response
        .body(Pieces::of(answer, model))
        .map_err(io::Error::other)
}

fn chat(model: &Value, message: &Value, finish: &str, usage: Option<(u64, u64)>) -> Value {
    let mut body = json!({
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    });
    if let Some((input, output)) = usage {
        body["usage"] = json!({
            "prompt_tokens": input,
            "completion_tokens": output,
            "total_tokens": input + output,
        });
    }
    body
}

fn embeddings(model: &Value, vectors: &[Vec<f32>]) -> Value {
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

/// A body in pieces, complete or cut.
struct Pieces {
    left: VecDeque<Bytes>,
    end: End,
}

enum End {
    Whole,
    /// The cut, after one more turn in which the pieces before it are flushed.
    Flush,
    Cut,
}

impl Pieces {
    fn of(answer: &Answer, model: &Value) -> Self {
        let whole = match &answer.body {
            Body::Chat {
                message,
                finish_reason,
                usage,
            } => chat(model, message, finish_reason, *usage)
                .to_string()
                .into(),
            Body::Embeddings(vectors) => embeddings(model, vectors).to_string().into(),
            Body::Bytes(bytes) => bytes.clone(),
            Body::Flood(bytes) => return Self::flood(*bytes),
        };
        let Cut::After(bytes) = answer.cut else {
            return Self {
                left: [whole].into(),
                end: End::Whole,
            };
        };
        Self {
            left: [whole.slice(..bytes.min(whole.len()))].into(),
            end: End::Flush,
        }
    }

    fn flood(bytes: usize) -> Self {
        let opening = Bytes::from_static(b"{\"choices\":[{\"message\":{\"content\":\"");
        let piece = Bytes::from(vec![b'a'; 64 * 1024]);
        let rest = bytes.saturating_sub(opening.len());
        let mut left = VecDeque::from([opening]);
        left.extend(std::iter::repeat_n(piece.clone(), rest / piece.len()));
        left.push_back(piece.slice(..rest % piece.len()));
        Self {
            left,
            end: End::Whole,
        }
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(piece) = self.left.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        match self.end {
            End::Whole => Poll::Ready(None),
            End::Flush => {
                self.end = End::Cut;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            End::Cut => Poll::Ready(Some(Err(io::ErrorKind::ConnectionAborted.into()))),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self.end {
            End::Whole => SizeHint::with_exact(self.left.iter().map(|p| p.len() as u64).sum()),
            End::Flush | End::Cut => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests;
