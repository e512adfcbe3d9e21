//! Sends one request and takes one answer in: headers, deadlines, sizes.
//!
//! It does not ask again and follows no redirect; what the bytes mean is the dialect's.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use domain::{
    Message, Part,
    seams::{ProviderError, ProviderErrorKind as Kind, Target},
};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use tokio::time::Instant;

use super::{Egress, EgressError, EventStream, Fault, egress, failure, filter};
use crate::options::{EgressOptions, UpstreamOptions};

const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;
/// Of an error only the words are read.
const MAX_ERROR_BYTES: usize = 256 * 1024;
/// What is said of rejected keys; the provider's own words may repeat the key.
const PROVIDER_AUTH: &str = "provider_auth";

/// Headers that a client of ours may not set: framing, credentials, and where a request comes from.
const OWN_HEADERS: [&str; 16] = [
    "accept-encoding",
    "api-key",
    "authorization",
    "connection",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-api-key",
    "x-goog-api-key",
    "x-real-ip",
];
const OWN_PREFIXES: [&str; 3] = ["content-", "proxy-", "x-forwarded-"];

/// A request as a dialect words it.
#[derive(Debug, Clone)]
pub(crate) struct WireRequest {
    /// What follows the target's address.
    pub(crate) path: &'static str,
    /// The dialect's headers, the key among them.
    pub(crate) headers: HeaderMap,
    /// A JSON text.
    pub(crate) body: Vec<u8>,
}

/// What stands above an answer's body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    /// The status.
    pub(crate) status: u16,
    pub(super) retry_after: Option<Duration>,
}

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct WireAnswer {
    /// Its head.
    pub(crate) head: Head,
    /// The body, decompressed.
    pub(crate) body: Bytes,
}

/// What came back of a request for a stream.
pub(crate) enum Opened {
    /// An error, or the answer of a host that does not stream.
    Whole(WireAnswer),
    /// The stream.
    Events(Box<EventStream>),
}

/// Sends requests for all dialects.
pub(crate) struct Client {
    egress: Egress,
    idle_timeout: Duration,
}

impl Client {
    /// Reads the options and sets up the way out.
    pub(crate) fn new(
        options: &EgressOptions,
        upstream: &UpstreamOptions,
    ) -> Result<Self, EgressError> {
        let idle_timeout = egress::seconds(
            "upstream.idle_timeout_seconds",
            upstream.idle_timeout_seconds,
        )?;
        let egress = Egress::new(options, upstream)?;
        Ok(Self {
            egress,
            idle_timeout,
        })
    }

    /// Checks the addresses in a conversation, which the provider will fetch from.
    pub(crate) async fn check_media(
        &self,
        target: &Target,
        messages: &[Message],
    ) -> Result<(), ProviderError> {
        let checking = async {
            for part in messages.iter().flat_map(|message| &message.parts) {
                if let Part::Image(url) | Part::Audio(url) | Part::File(url) = part
                    && !url.starts_with("data:")
                {
                    self.egress.check_document(url).await?;
                }
            }
            Ok(())
        };
        within(target, checking).await
    }

    /// Sends, and takes the whole answer in.
    pub(crate) async fn send(
        &self,
        target: &Target,
        request: WireRequest,
    ) -> Result<WireAnswer, ProviderError> {
        let sending = self.post(target, &request)?;
        let sending = sending.headers(headers(target, request.headers));
        within(target, receive(sending.body(request.body))).await
    }

    /// Sends, and hands on a stream of events as soon as the answer's head says that it is one.
    ///
    /// The target's time holds until the first event; from then on, no pause may be longer than the idle timeout.
    pub(crate) async fn stream(
        &self,
        target: &Target,
        request: WireRequest,
    ) -> Result<Opened, ProviderError> {
        let sending = self.post(target, &request)?;
        let mut headers = headers(target, request.headers);
        headers.insert(
            header::ACCEPT,
            HeaderValue::from_static("text/event-stream, application/json"),
        );
        // Compressing, many a server and proxy holds events back until a block is full.
        headers.insert(
            header::ACCEPT_ENCODING,
            HeaderValue::from_static("identity"),
        );
        let sending = sending.headers(headers).body(request.body);
        let first_by = Instant::now().checked_add(target.timeout);
        let opening = async {
            let answer = send(sending).await?;
            let head = head_of(&answer);
            match Form::of(&answer) {
                Form::Whole => take_in(answer).await.map(Opened::Whole),
                Form::Events => Ok(Opened::Events(Box::new(EventStream::new(
                    answer,
                    head,
                    first_by.map(|by| (by, target.timeout)),
                    self.idle_timeout,
                )))),
                Form::Other => Err(ProviderError {
                    status: Some(head.status),
                    ..ProviderError::new(
                        Kind::Protocol,
                        "the provider's answer is neither a stream of events nor JSON",
                    )
                }),
            }
        };
        within(target, opening).await
    }

    fn post(
        &self,
        target: &Target,
        request: &WireRequest,
    ) -> Result<reqwest::RequestBuilder, ProviderError> {
        let api_base = target.api_base.as_deref().ok_or_else(|| {
            let reason = format!("the provider `{}` has no address", target.provider);
            ProviderError::new(Kind::Misconfigured, reason)
        })?;
        let passage = self.egress.admit(target.egress, api_base)?;
        Ok(passage.post(request.path))
    }
}

/// What the body of an answer to a request for a stream is.
enum Form {
    /// One JSON text, or an error of whatever kind.
    Whole,
    /// The stream.
    Events,
    /// Neither.
    Other,
}

impl Form {
    fn of(answer: &reqwest::Response) -> Self {
        if !answer.status().is_success() {
            return Self::Whole;
        }
        let kind = answer.headers().get(header::CONTENT_TYPE);
        let Some(kind) = kind.and_then(|kind| kind.to_str().ok()) else {
            // Bare servers name no type for what they were asked for.
            return Self::Events;
        };
        let kind = kind.split(';').next().unwrap_or(kind).trim();
        match kind.to_ascii_lowercase().as_str() {
            "text/event-stream" => Self::Events,
            "application/json" | "text/json" | "text/plain" => Self::Whole,
            _ => Self::Other,
        }
    }
}

/// Holds a request to its target's time.
async fn within<T>(
    target: &Target,
    asking: impl Future<Output = Result<T, ProviderError>>,
) -> Result<T, ProviderError> {
    let answer = tokio::time::timeout(target.timeout, asking).await;
    answer.unwrap_or_else(|_| Err(failure::too_late(target.timeout)))
}

/// All headers of a request. A dialect's own headers win over a client's.
fn headers(target: &Target, own: HeaderMap) -> HeaderMap {
    let json = HeaderValue::from_static("application/json");
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, json.clone());
    for (name, value) in target.extra_headers.iter() {
        let name = HeaderName::try_from(name);
        let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value)) else {
            continue;
        };
        let is_own = OWN_HEADERS.contains(&name.as_str())
            || OWN_PREFIXES
                .iter()
                .any(|own| name.as_str().starts_with(own));
        if !is_own {
            headers.insert(name, value);
        }
    }
    headers.insert(header::CONTENT_TYPE, json);
    headers.extend(own);
    headers
}

async fn receive(sending: reqwest::RequestBuilder) -> Result<WireAnswer, ProviderError> {
    take_in(send(sending).await?).await
}

async fn send(sending: reqwest::RequestBuilder) -> Result<reqwest::Response, ProviderError> {
    let sent = sending.send().await;
    sent.map_err(|error| failure::of_sending(&error))
}

fn head_of(answer: &reqwest::Response) -> Head {
    Head {
        status: answer.status().as_u16(),
        retry_after: failure::retry_after(answer.headers()),
    }
}

/// Takes the whole body in.
async fn take_in(mut answer: reqwest::Response) -> Result<WireAnswer, ProviderError> {
    let head = head_of(&answer);
    let limit = if head.is_success() {
        MAX_BODY_BYTES
    } else {
        MAX_ERROR_BYTES
    };
    let mut body = BytesMut::new();
    let fault = loop {
        match answer.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > limit => {
                break Some(failure::TOO_LARGE);
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => break None,
            Err(_) => break Some("the provider's answer broke off"),
        }
    };
    // The status of an error says enough, whatever became of its body.
    if let Some(reason) = fault.filter(|_| head.is_success()) {
        return Err(ProviderError {
            status: Some(head.status),
            ..ProviderError::new(Kind::Protocol, reason)
        });
    }
    let body = body.freeze();
    Ok(WireAnswer { head, body })
}

impl Head {
    /// Whether the status is a good one.
    pub(crate) const fn is_success(self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// What may be told of a fault in this answer.
    pub(crate) fn failure(self, target: &Target, fault: Fault) -> ProviderError {
        let status = fault.status.unwrap_or(self.status);
        let words = fault.words.map(|words| filter::filtered(&words, target));
        let words = words.filter(|words| !words.is_empty());
        let reason = match fault.kind {
            Kind::Auth => PROVIDER_AUTH.to_owned(),
            kind => words.unwrap_or_else(|| failure::own_words(kind, status)),
        };
        ProviderError {
            kind: fault.kind,
            status: Some(status),
            retry_after: self.retry_after,
            reason,
        }
    }
}
