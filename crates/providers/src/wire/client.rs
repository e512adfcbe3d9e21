//! Sends one request and takes one answer in: headers, deadlines, sizes.
//!
//! It does not ask again and follows no redirect; what the bytes mean is the dialect's.

use std::{borrow::Cow, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use domain::{
    UsageReport, Usd,
    seams::{Clock, ProviderError, ProviderErrorKind as Kind, Target},
};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde::Serialize;
use tokio::time::Instant;
use url::Url;

use super::{
    Egress, EgressError, EventStream, Fault, Framing, address, egress, failure, filter,
    grant::Tokens,
    keys::KeyRing,
    transport::{Answer, Broken, Sending},
};
use crate::options::{EgressOptions, UpstreamOptions};

/// For a whole answer, after decompression.
pub(crate) const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;
/// The same for one with the pages of a document, which may have all their pictures in it.
pub(crate) const MAX_PAGES_BYTES: usize = 160 * 1024 * 1024;
/// Of an error only the words are read.
const MAX_ERROR_BYTES: usize = 256 * 1024;
/// What is said of rejected keys; the provider's own words may repeat the key.
pub(super) const PROVIDER_AUTH: &str = "provider_auth";
/// Of a good key: what is wrong is its account's balance.
const PAYMENT_REQUIRED: u16 = 402;

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
    /// What is taken off the end of the target's address, if that is its last segment.
    pub(crate) instead_of: Option<&'static str>,
    /// What follows the target's address, segment by segment, as plain text.
    pub(crate) segments: Vec<Cow<'static, str>>,
    /// What follows that after a question mark.
    pub(crate) query: Vec<(&'static str, String)>,
    /// The dialect's headers, the key among them.
    pub(crate) headers: HeaderMap,
    /// A JSON text.
    pub(crate) body: Vec<u8>,
    /// How large the answer may be, after decompression.
    pub(crate) max_answer_bytes: usize,
}

impl WireRequest {
    /// A JSON text to a path of fixed segments, without headers.
    pub(crate) fn json(path: &'static str, body: &impl Serialize) -> Self {
        Self {
            body: serde_json::to_vec(body).expect("the body serializes: its keys are strings"),
            ..Self::bare(path)
        }
    }

    /// What is asked of a path of fixed segments without saying anything.
    pub(crate) fn bare(path: &'static str) -> Self {
        Self {
            instead_of: None,
            segments: path.split('/').map(Cow::Borrowed).collect(),
            query: Vec::new(),
            headers: HeaderMap::new(),
            body: Vec::new(),
            max_answer_bytes: MAX_BODY_BYTES,
        }
    }

    /// The whole address, after the target's.
    pub(crate) fn address(&self, mut api_base: Url) -> Url {
        let last = last_segment(&api_base).filter(|last| Some(*last) == self.instead_of);
        let is_in_the_way = last.is_some();
        if let Ok(mut segments) = api_base.path_segments_mut() {
            segments.pop_if_empty();
            if is_in_the_way {
                segments.pop();
            }
            segments.extend(&self.segments);
        }
        if !self.query.is_empty() {
            api_base.query_pairs_mut().extend_pairs(&self.query);
        }
        api_base
    }
}

/// The last segment of an address, whether or not a slash follows it.
fn last_segment(url: &Url) -> Option<&str> {
    let mut segments = url.path_segments()?.rev();
    segments.find(|segment| !segment.is_empty())
}

/// What stands above an answer's body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    /// The status.
    pub(crate) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) cost: Option<Usd>,
}

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct WireAnswer {
    /// Its head.
    pub(crate) head: Head,
    /// The type of an error, as AWS names it in the head.
    pub(crate) error_type: Option<String>,
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
    pub(super) egress: Egress,
    pub(super) tokens: Tokens,
    pub(super) keys: KeyRing,
    pub(super) clock: Arc<dyn Clock>,
    idle_timeout: Duration,
}

impl Client {
    /// Reads the options and sets up the way out.
    pub(crate) fn new(
        options: &EgressOptions,
        upstream: &UpstreamOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, EgressError> {
        let idle_timeout = egress::seconds(
            "upstream.idle_timeout_seconds",
            upstream.idle_timeout_seconds,
        )?;
        let egress = Egress::new(options, upstream)?;
        Ok(Self {
            egress,
            tokens: Tokens::new(),
            keys: KeyRing::new(),
            clock,
            idle_timeout,
        })
    }

    /// Sends, and takes the whole answer in.
    pub(crate) async fn send(
        &self,
        target: &Target,
        request: WireRequest,
    ) -> Result<WireAnswer, ProviderError> {
        let sending = self.post(target, &request)?;
        let sending = sending.headers(headers(target, request.headers));
        let limit = request.max_answer_bytes;
        within(target, receive(sending.body(request.body), limit)).await
    }

    /// Asks for what is there, and takes the whole answer in.
    pub(crate) async fn get(
        &self,
        target: &Target,
        request: WireRequest,
    ) -> Result<WireAnswer, ProviderError> {
        let passage = self.egress.admit(target.egress, &address(target)?)?;
        let mut headers = headers(target, request.headers.clone());
        headers.remove(header::CONTENT_TYPE);
        let sending = passage.get_at(&request).headers(headers);
        within(target, receive(sending, request.max_answer_bytes)).await
    }

    /// Sends, and hands on a stream of events as soon as the answer's head says that it is one.
    ///
    /// The target's time holds until the first event; from then on, no pause may be longer than the idle timeout.
    pub(crate) async fn stream(
        &self,
        target: &Target,
        request: WireRequest,
        framing: Framing,
    ) -> Result<Opened, ProviderError> {
        let sending = self.post(target, &request)?;
        let mut headers = headers(target, request.headers);
        headers.insert(
            header::ACCEPT,
            HeaderValue::from_static(framing.media_types()),
        );
        // Compressing, many a server and proxy holds events back until a block is full.
        headers.insert(
            header::ACCEPT_ENCODING,
            HeaderValue::from_static("identity"),
        );
        let limit = request.max_answer_bytes;
        let sending = sending.headers(headers).body(request.body);
        let first_by = Instant::now().checked_add(target.timeout);
        let opening = async {
            let answer = send(sending).await?;
            let head = head_of(&answer);
            match Form::of(&answer) {
                Form::Whole => take_in(answer, limit).await.map(Opened::Whole),
                Form::Events => Ok(Opened::Events(Box::new(EventStream::new(
                    (answer, head),
                    framing,
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

    /// Whether the target's address may be dialled, as far as that can be told without looking its name up.
    pub(crate) fn check(&self, target: &Target) -> Result<(), ProviderError> {
        self.egress.admit(target.egress, &address(target)?)?;
        Ok(())
    }

    fn post(&self, target: &Target, request: &WireRequest) -> Result<Sending, ProviderError> {
        let passage = self.egress.admit(target.egress, &address(target)?)?;
        Ok(passage.post(request))
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
    fn of(answer: &Answer) -> Self {
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
            "text/event-stream" | "application/x-ndjson" | "application/vnd.amazon.eventstream" => {
                Self::Events
            }
            "application/json" | "text/json" | "text/plain" => Self::Whole,
            _ => Self::Other,
        }
    }
}

/// The value of a header that holds a key.
pub(crate) fn secret_header(value: String) -> Result<HeaderValue, ProviderError> {
    let value = HeaderValue::try_from(value);
    let mut value = value.map_err(|_| {
        let reason = "the key holds characters that no header can carry";
        ProviderError::new(Kind::Misconfigured, reason)
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// The request with the target's key, if it has one.
pub(crate) fn with_bearer(
    mut wire: WireRequest,
    target: &Target,
) -> Result<WireRequest, ProviderError> {
    if let Some(key) = &target.key {
        let bearer = secret_header(format!("Bearer {}", key.expose()))?;
        wire.headers.insert(header::AUTHORIZATION, bearer);
    }
    Ok(wire)
}

/// Holds a request to its target's time.
pub(crate) async fn within<T>(
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
        if !is_own(name.as_str()) {
            headers.insert(name, value);
        }
    }
    headers.insert(header::CONTENT_TYPE, json);
    headers.extend(own);
    headers
}

/// Whether a client of ours may not set a header of that name, in small letters.
fn is_own(name: &str) -> bool {
    let has_own_beginning = OWN_PREFIXES.iter().any(|own| name.starts_with(own));
    has_own_beginning || OWN_HEADERS.contains(&name)
}

/// A sentence for every header of a client's that is left out.
pub(crate) fn left_out_headers(target: &Target) -> Vec<String> {
    let names = target.extra_headers.iter().map(|(name, _)| name);
    let left_out = names.filter(|name| is_own(&name.to_ascii_lowercase()));
    left_out
        .map(|name| format!("the header `{name}` was left out: it is the gateway's to set"))
        .collect()
}

pub(super) async fn receive(sending: Sending, limit: usize) -> Result<WireAnswer, ProviderError> {
    take_in(send(sending).await?, limit).await
}

async fn send(sending: Sending) -> Result<Answer, ProviderError> {
    let url = sending.url().clone();
    let sent = sending.send().await;
    sent.map_err(|error| failure::of_sending(&error, &url))
}

fn head_of(answer: &Answer) -> Head {
    Head {
        status: answer.status().as_u16(),
        retry_after: failure::retry_after(answer.headers()),
        cost: cost(answer.headers()),
    }
}

/// What `LiteLLM`'s proxy says that an answer cost; of a model that it knows no price of, it says 0.
/// <https://docs.litellm.ai/docs/proxy/response_headers>
fn cost(headers: &HeaderMap) -> Option<Usd> {
    let text = headers.get("x-litellm-response-cost")?.to_str().ok()?;
    Usd::from_decimal(text).filter(|cost| cost.nanos() > 0)
}

/// Takes the whole body in, if it has no more than `limit` bytes.
async fn take_in(mut answer: Answer, limit: usize) -> Result<WireAnswer, ProviderError> {
    let head = head_of(&answer);
    let error_type = answer.headers().get("x-amzn-errortype");
    let error_type = error_type
        .and_then(|it| it.to_str().ok())
        .map(str::to_owned);
    let limit = if head.is_success() {
        limit
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
            Err(Broken::TooLarge) => break Some(failure::TOO_LARGE),
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
    Ok(WireAnswer {
        head,
        error_type,
        body,
    })
}

impl Head {
    /// Of an answer with nothing but its body to say.
    pub(crate) const fn plain() -> Self {
        Self {
            status: 200,
            retry_after: None,
            cost: None,
        }
    }

    /// Whether the status is a good one.
    pub(crate) const fn is_success(self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// The report of the answer's body, with the cost that only its head tells.
    pub(crate) fn billed(self, usage: Option<UsageReport>) -> Option<UsageReport> {
        let mut usage = usage?;
        usage.cost = usage.cost.or(self.cost);
        Some(usage)
    }

    /// What may be told of a fault in this answer.
    pub(crate) fn failure(self, target: &Target, fault: Fault) -> ProviderError {
        let status = fault.status.unwrap_or(self.status);
        let words = fault.words.map(|words| filter::filtered(&words, target));
        let words = words.filter(|words| !words.is_empty());
        let reason = match fault.kind {
            Kind::Auth if status != PAYMENT_REQUIRED => PROVIDER_AUTH.to_owned(),
            kind => words.unwrap_or_else(|| failure::own_words(kind, status)),
        };
        ProviderError {
            status: Some(status),
            retry_after: self.retry_after.or(fault.wait),
            ..ProviderError::new(fault.kind, reason)
        }
    }
}
