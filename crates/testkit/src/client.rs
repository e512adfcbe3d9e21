//! One HTTP/1.1 connection, kept open, that sends what it is given and judges nothing.

use std::{io, net::SocketAddr};

use bytes::Bytes;
use http::{
    HeaderMap, Method, Request, Response, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST},
};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::Incoming,
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{net::TcpStream, task::JoinHandle};

use crate::events::{Event, Reader};

/// An open connection.
#[derive(Debug)]
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    address: SocketAddr,
    authorization: String,
    task: JoinHandle<()>,
}

/// An answer, read to its end.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// An answer whose head is read, and whose body is read on demand. It lives no longer than its connection.
#[derive(Debug)]
pub struct Stream {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    body: Incoming,
    reader: Reader,
    end: Option<BodyEnd>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum BodyEnd {
    Orderly,
    Broken,
}

impl Connection {
    /// Opens a connection whose requests carry `token`.
    pub async fn open(address: SocketAddr, token: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        let task = tokio::spawn(async move {
            // What ends a connection is told by the request that it cuts short.
            let _ended = connection.await;
        });
        Ok(Self {
            sender,
            address,
            authorization: format!("Bearer {token}"),
            task,
        })
    }

    /// Sends one request and reads the whole answer.
    pub async fn send(&mut self, method: Method, path: &str, body: Bytes) -> io::Result<Reply> {
        let (head, body) = self.ask(method, path, body).await?.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        Ok(Reply {
            status: head.status,
            headers: head.headers,
            body,
        })
    }

    /// Asks for a path.
    pub async fn get(&mut self, path: &str) -> io::Result<Reply> {
        self.send(Method::GET, path, Bytes::new()).await
    }

    /// Posts a JSON body.
    pub async fn post(&mut self, path: &str, body: &Value) -> io::Result<Reply> {
        self.send(Method::POST, path, body.to_string().into()).await
    }

    /// Posts a JSON body and reads no more than the answer's head.
    pub async fn open_stream(&mut self, path: &str, body: &Value) -> io::Result<Stream> {
        let body = body.to_string().into();
        let (head, body) = self.ask(Method::POST, path, body).await?.into_parts();
        Ok(Stream {
            status: head.status,
            headers: head.headers,
            body,
            reader: Reader::default(),
            end: None,
        })
    }

    /// Waits until the last answer is through, and says whether the connection is open then.
    pub async fn is_open(&mut self) -> bool {
        self.sender.ready().await.is_ok()
    }

    /// Closes the connection, whatever is under way on it; when this returns, the socket is closed.
    pub async fn hang_up(mut self) {
        self.task.abort();
        let _aborted = (&mut self.task).await;
    }

    async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> io::Result<Response<Incoming>> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, self.address.to_string())
            .header(AUTHORIZATION, &self.authorization)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(io::Error::other)?;
        self.sender.ready().await.map_err(io::Error::other)?;
        let answer = self.sender.send_request(request).await;
        answer.map_err(io::Error::other)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Reply {
    /// Returns the body as JSON, `null` if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl Stream {
    /// Returns the next event as soon as it is there, nothing after the body's end. May be dropped and asked again.
    pub async fn next_event(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.reader.next() {
                return Some(event);
            }
            if self.end.is_some() {
                return None;
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(bytes) = frame.data_ref() {
                        self.reader.feed(bytes);
                    }
                }
                Some(Err(_)) => self.end = Some(BodyEnd::Broken),
                None => self.end = Some(BodyEnd::Orderly),
            }
        }
    }

    /// Returns all events that are still to come, once the body has ended.
    pub async fn rest(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next_event().await {
            events.push(event);
        }
        events
    }

    /// Says whether the body has come to its proper end; a body that broke off or goes on has not.
    pub fn ended_orderly(&self) -> bool {
        self.end == Some(BodyEnd::Orderly)
    }

    /// Returns the comments seen so far.
    pub fn comments(&self) -> &[String] {
        self.reader.comments()
    }

    /// Returns what has come and is no whole event: after the end, an event without its empty line.
    pub fn unread(&self) -> &[u8] {
        self.reader.unread()
    }

    /// Reads the body to its end as one answer, for refusals; what was read as events is not in it.
    pub async fn into_reply(self) -> io::Result<Reply> {
        let mut whole = self.reader.unread().to_vec();
        let body = self.body.collect().await.map_err(io::Error::other)?;
        whole.extend_from_slice(&body.to_bytes());
        Ok(Reply {
            status: self.status,
            headers: self.headers,
            body: whole.into(),
        })
    }
}
