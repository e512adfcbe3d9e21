//! Media in a conversation: addresses that a provider may fetch from, and those that are fetched for it.

use std::{borrow::Cow, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::BytesMut;
use domain::{
    ChatRequest, Part,
    seams::{ProviderError, ProviderErrorKind as Kind, Target},
};
use http::header;
use url::Url;

use super::{Client, client};

/// For all media of one request (`reliability.md` 3).
const MAX_BYTES: usize = 50 * 1024 * 1024;
const TIMEOUT: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 3;

impl Client {
    /// The request with the bytes of every part that `needs_bytes`, as `data:` URLs; the other addresses are checked,
    /// since the provider will fetch from them.
    pub(crate) async fn with_media<'r>(
        &self,
        target: &Target,
        request: &'r ChatRequest,
        needs_bytes: impl Fn(&Part) -> bool,
    ) -> Result<Cow<'r, ChatRequest>, ProviderError> {
        let is_remote = |part: &Part| address(part).is_some_and(|url| !url.starts_with("data:"));
        let mut parts = request.messages.iter().flat_map(|message| &message.parts);
        if !parts.any(is_remote) {
            return Ok(Cow::Borrowed(request));
        }
        let mut request = Cow::Borrowed(request);
        let fetching = async {
            let mut left = MAX_BYTES;
            for (turn, part) in remote_parts(&request) {
                let given = &request.messages[turn].parts[part];
                let url = address(given).unwrap_or_default().to_owned();
                if !needs_bytes(given) {
                    self.egress.check_document(&url).await?;
                    continue;
                }
                let fetched = self.fetch(&url, &mut left).await?;
                let part = &mut request.to_mut().messages[turn].parts[part];
                if let Part::Image(url) | Part::Audio(url) | Part::File(url) = part {
                    *url = fetched;
                }
            }
            Ok(())
        };
        client::within(target, fetching).await?;
        Ok(request)
    }

    /// What is at an address, as a `data:` URL.
    async fn fetch(&self, url: &str, left: &mut usize) -> Result<String, ProviderError> {
        let fetching = tokio::time::timeout(TIMEOUT, self.follow(url, left)).await;
        fetching.unwrap_or_else(|_| Err(failed("its host did not answer within 30 s")))
    }

    async fn follow(&self, url: &str, left: &mut usize) -> Result<String, ProviderError> {
        let mut url = url.to_owned();
        for _ in 0..=MAX_REDIRECTS {
            let answer = client::send(self.egress.admit_document(&url)?.get()).await?;
            let head = |name| answer.headers().get(name)?.to_str().ok();
            if answer.status().is_redirection() {
                let next =
                    head(header::LOCATION).and_then(|to| Url::parse(&url).ok()?.join(to).ok());
                url = next
                    .ok_or_else(|| failed("it is a redirect to nowhere"))?
                    .into();
                continue;
            }
            if !answer.status().is_success() {
                return Err(failed(&format!(
                    "its host answered with status {}",
                    answer.status().as_u16()
                )));
            }
            let kind = head(header::CONTENT_TYPE).unwrap_or("application/octet-stream");
            let kind = kind
                .split(';')
                .next()
                .unwrap_or(kind)
                .trim()
                .to_ascii_lowercase();
            return take_in(answer, &kind, left).await;
        }
        Err(failed("it has more than three redirects"))
    }
}

async fn take_in(
    mut answer: reqwest::Response,
    kind: &str,
    left: &mut usize,
) -> Result<String, ProviderError> {
    let mut body = BytesMut::new();
    loop {
        match answer.chunk().await {
            Ok(Some(chunk)) if chunk.len() > *left => {
                return Err(failed("all media of the request have more than 50 MiB"));
            }
            Ok(Some(chunk)) => {
                *left -= chunk.len();
                body.extend_from_slice(&chunk);
            }
            Ok(None) => return Ok(format!("data:{kind};base64,{}", STANDARD.encode(&body))),
            Err(_) => return Err(failed("its host broke off")),
        }
    }
}

/// That media cannot be had. Another model would not get them either.
fn failed(why: &str) -> ProviderError {
    ProviderError::new(
        Kind::Invalid,
        format!("a media URL cannot be fetched: {why}"),
    )
}

/// The places of all parts with an address that is none of data: turn, then part.
fn remote_parts(request: &ChatRequest) -> Vec<(usize, usize)> {
    let turns = request.messages.iter().enumerate();
    let places = turns.flat_map(|(turn, message)| {
        let parts = message.parts.iter().enumerate();
        let remote =
            parts.filter(|(_, part)| address(part).is_some_and(|url| !url.starts_with("data:")));
        remote.map(move |(part, _)| (turn, part))
    });
    places.collect()
}

/// The address of a part that has one.
fn address(part: &Part) -> Option<&str> {
    match part {
        Part::Text(_) => None,
        Part::Image(url) | Part::Audio(url) | Part::File(url) => Some(url),
    }
}
