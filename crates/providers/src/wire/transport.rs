//! How a request goes out and its answer comes in: connections, their pool, and the bounds on what a host may say.
//!
//! It neither follows redirects nor reads the environment for proxies, and sends nothing twice. Which addresses may be dialled
//! is the guard's, with whom a client is made.

use std::{
    error::Error,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use futures_util::TryFutureExt;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, header,
};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Incoming};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo, TokioTimer},
};
use percent_encoding::percent_decode_str;
use tokio::net::TcpStream;
use tower::Service;
use url::Url;

use super::{
    guard::{Guard, GuardedConnector, GuardedResolver},
    tls::Tls,
    unpack::{Unpacked, Unpacking},
};

type BoxError = Box<dyn Error + Send + Sync>;

const USER_AGENT: &str = concat!("gatewright/", env!("CARGO_PKG_VERSION"));
const MAX_IDLE_PER_ORIGIN: usize = 256;
const IDLE: Duration = Duration::from_secs(90);
/// The longest head of an answer, and all that waits unread of one connection (`reliability.md` 3).
const MAX_BUFFERED_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;
/// When a silent connection is asked whether it is still there, and after how much silence it is not.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const KEEP_ALIVE_TRIES: u32 = 3;

/// Sends requests, and keeps connections for the next ones.
#[derive(Clone)]
pub(super) struct Transport(Arc<legacy::Client<Connector, Full<Bytes>>>);

/// A request that is being worded.
pub(super) struct Sending {
    transport: Transport,
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Bytes,
}

/// An answer whose head is there.
pub(super) struct Answer {
    response: Response<Incoming>,
    unpacking: Unpacking,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unsent {
    /// The request is none.
    #[error("no request can be made")]
    Request(#[from] http::Error),
    /// It did not go out, or nothing came back.
    #[error("the request was not answered")]
    Client(#[from] legacy::Error),
}

/// Why an answer has no orderly end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// The connection broke, or what came over it is no HTTP.
    #[error("the connection broke")]
    Connection(#[from] hyper::Error),
    /// What was packed cannot be unpacked.
    #[error("the answer cannot be unpacked")]
    Packing(#[from] std::io::Error),
    /// It unpacks to far more than was sent.
    #[error("the answer unpacks to too much")]
    TooLarge,
}

/// No connection was there in time.
#[derive(Debug, thiserror::Error)]
#[error("no connection in time")]
pub(super) struct ConnectTimeout;

impl Transport {
    /// A transport that is held to a guard, if there is one.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that builds clients"
    )]
    pub(super) fn new(tls: &Tls, connect_timeout: Duration, guard: Option<Arc<Guard>>) -> Self {
        let mut http = HttpConnector::new_with_resolver(GuardedResolver(guard.clone()));
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(connect_timeout));
        http.set_keepalive(Some(KEEP_ALIVE));
        http.set_keepalive_interval(Some(KEEP_ALIVE));
        http.set_keepalive_retries(Some(KEEP_ALIVE_TRIES));
        let guarded = GuardedConnector::new(http, guard);
        let connector = Connector {
            https: HttpsConnector::from((guarded, tls.of_client())),
            connect_timeout,
        };
        let client = legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(MAX_IDLE_PER_ORIGIN)
            .http1_max_buf_size(MAX_BUFFERED_BYTES)
            .http1_max_headers(MAX_HEADERS)
            .build(connector);
        Self(Arc::new(client))
    }

    /// A request to that address.
    pub(super) fn request(self, method: Method, mut url: Url) -> Sending {
        let mut headers = HeaderMap::new();
        headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        if let Some(credentials) = taken_out(&mut url) {
            headers.insert(header::AUTHORIZATION, credentials);
        }
        Sending {
            transport: self,
            method,
            url,
            headers,
            body: Bytes::new(),
        }
    }
}

/// The name and password of an address, as a header; they are taken out of it.
fn taken_out(url: &mut Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let user = plain(url.username());
    let password = plain(url.password().unwrap_or_default());
    // An address with a host takes both.
    let _ = (url.set_username(""), url.set_password(None));
    let encoded = STANDARD.encode(format!("{user}:{password}"));
    let mut value = HeaderValue::try_from(format!("Basic {encoded}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

impl Sending {
    /// With these headers, which go before those that every request has.
    pub(super) fn headers(mut self, headers: HeaderMap) -> Self {
        self.headers.extend(headers);
        self
    }

    /// With this header.
    pub(super) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// With this body.
    pub(super) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Where it goes.
    pub(super) const fn url(&self) -> &Url {
        &self.url
    }

    /// Sends it, and waits for the head of the answer.
    pub(super) async fn send(self) -> Result<Answer, Unsent> {
        let uri = Uri::try_from(self.url.as_str()).map_err(http::Error::from)?;
        let mut request = Request::new(Full::new(self.body));
        *request.method_mut() = self.method;
        *request.uri_mut() = uri;
        *request.headers_mut() = self.headers;
        let response = self.transport.0.request(request).await?;
        let unpacking = Unpacking::of(response.headers());
        Ok(Answer {
            response,
            unpacking,
        })
    }
}

impl Answer {
    pub(super) fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// How long the body is on the wire, if that is said.
    pub(super) fn content_length(&self) -> Option<u64> {
        self.response.body().size_hint().exact()
    }

    /// The next piece of the body, unpacked; `None` at its orderly end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, Broken> {
        loop {
            match self.unpacking.next()? {
                Unpacked::Piece(piece) => return Ok(Some(piece)),
                Unpacked::End => return Ok(None),
                Unpacked::WantsMore => {}
            }
            match self.response.body_mut().frame().await {
                Some(frame) => {
                    if let Ok(data) = frame?.into_data() {
                        self.unpacking.push(data);
                    }
                }
                None => self.unpacking.finish(),
            }
        }
    }
}

/// Connects within a time, TLS included.
#[derive(Clone)]
struct Connector {
    https: HttpsConnector<GuardedConnector<HttpConnector<GuardedResolver>>>,
    connect_timeout: Duration,
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.https.poll_ready(context)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connecting = self.https.call(to);
        let connecting = tokio::time::timeout(self.connect_timeout, connecting);
        Box::pin(
            connecting
                .map_err(|_| BoxError::from(ConnectTimeout))
                .and_then(std::future::ready),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_password_go_into_a_header_and_out_of_the_address() {
        let mut url: Url = "https://us%65r:p%40ss@host/v1".parse().unwrap();

        let value = taken_out(&mut url).unwrap();

        assert_eq!(value, "Basic dXNlcjpwQHNz");
        assert!(value.is_sensitive());
        assert_eq!(url.as_str(), "https://host/v1");
        assert_eq!(taken_out(&mut url), None);
    }
}
