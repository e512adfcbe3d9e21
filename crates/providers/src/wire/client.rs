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

use super::{Egress, Fault, failure, filter};

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

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct WireAnswer {
    /// The status.
    pub(crate) status: u16,
    /// The body, decompressed.
    pub(crate) body: Bytes,
    pub(super) retry_after: Option<Duration>,
}

/// Sends requests for all dialects.
pub(crate) struct Client {
    egress: Egress,
}

impl Client {
    /// A client that goes out through `egress`.
    pub(crate) const fn new(egress: Egress) -> Self {
        Self { egress }
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
        let api_base = target.api_base.as_deref().ok_or_else(|| {
            let reason = format!("the provider `{}` has no address", target.provider);
            ProviderError::new(Kind::Misconfigured, reason)
        })?;
        let sending = self
            .egress
            .admit(target.egress, api_base)?
            .post(request.path)
            .headers(headers(target, request.headers))
            .body(request.body);
        within(target, receive(sending)).await
    }
}

/// Holds a request to its target's time.
async fn within<T>(
    target: &Target,
    asking: impl Future<Output = Result<T, ProviderError>>,
) -> Result<T, ProviderError> {
    let answer = tokio::time::timeout(target.timeout, asking).await;
    answer.unwrap_or_else(|_| {
        let seconds = target.timeout.as_secs_f64();
        let reason = format!("the provider did not answer within {seconds} s");
        Err(ProviderError::new(Kind::Timeout, reason))
    })
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
    let sent = sending.send().await;
    let mut answer = sent.map_err(|error| failure::of_sending(&error))?;
    let status = answer.status().as_u16();
    let retry_after = failure::retry_after(answer.headers());
    let is_success = answer.status().is_success();
    let limit = if is_success {
        MAX_BODY_BYTES
    } else {
        MAX_ERROR_BYTES
    };
    let mut body = BytesMut::new();
    let fault = loop {
        match answer.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > limit => {
                break Some("the provider's answer is too large");
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => break None,
            Err(_) => break Some("the provider's answer broke off"),
        }
    };
    // The status of an error says enough, whatever became of its body.
    if let Some(reason) = fault.filter(|_| is_success) {
        return Err(ProviderError {
            status: Some(status),
            ..ProviderError::new(Kind::Protocol, reason)
        });
    }
    Ok(WireAnswer {
        status,
        body: body.freeze(),
        retry_after,
    })
}

impl WireAnswer {
    /// Whether the status is a good one.
    pub(crate) const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// What may be told of a fault in this answer.
    pub(crate) fn failure(&self, target: &Target, fault: Fault) -> ProviderError {
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
