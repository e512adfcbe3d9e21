//! One HTTP/1.1 connection, kept open, that sends what it is given and judges nothing.

use std::{io, net::SocketAddr};

use bytes::Bytes;
use http::{
    HeaderMap, Method, Request, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST},
};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{net::TcpStream, task::JoinHandle};

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
        let (head, body) = answer.map_err(io::Error::other)?.into_parts();
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
