//! What lies at an address that a tenant gave: brought through the guard, redirects and all (`reliability.md` 7).

use std::{fmt, time::Duration};

use async_trait::async_trait;
use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::{Bytes, BytesMut};
use domain::{
    DocumentFault, data_of,
    seams::{Fetched, Fetcher, ProviderError, ProviderErrorKind as Kind},
};
use http::header;
use tokio::time::timeout;
use url::Url;

use super::{
    Client,
    egress::{self},
    innermost,
    media::told,
    transport::{Answer, Unsent},
};

const MAX_REDIRECTS: usize = 3;
/// For a document as a whole.
const TIMEOUT: Duration = Duration::from_secs(30);
/// With or without its end.
const PATIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, PATIENT);

/// What lay at an address.
pub(super) struct Brought {
    pub(super) bytes: BytesMut,
    /// What its host calls the type.
    pub(super) media_type: Option<String>,
}

/// Why nothing was brought.
pub(super) enum Unbrought {
    /// An address may not be dialled: the document's, or one that its host redirects to.
    Refused { is_redirect: bool },
    /// There is more than was to be brought.
    TooLarge,
    /// Anything else.
    Failed(String),
}

impl Unbrought {
    fn failed(why: impl fmt::Display) -> Self {
        Self::Failed(why.to_string())
    }
}

impl Client {
    /// What lies at an address, if that is no more than so many bytes.
    pub(super) async fn bring(&self, url: &str, max_bytes: usize) -> Result<Brought, Unbrought> {
        let mut url = url.to_owned();
        for hop in 0..=MAX_REDIRECTS {
            let refused = || Unbrought::Refused {
                is_redirect: hop > 0,
            };
            let passage = self.egress.admit_document(&url).ok_or_else(refused)?;
            let answer = passage.get().send().await;
            let answer = answer.map_err(|error| {
                if egress::was_refused(&error) {
                    refused()
                } else {
                    unreachable(&error)
                }
            })?;
            let head = |name| answer.headers().get(name)?.to_str().ok();
            if answer.status().is_redirection() {
                let next =
                    head(header::LOCATION).and_then(|to| Url::parse(&url).ok()?.join(to).ok());
                let nowhere = || Unbrought::failed("it is a redirect to nowhere");
                url = next.ok_or_else(nowhere)?.into();
                continue;
            }
            if !answer.status().is_success() {
                let status = answer.status().as_u16();
                return Err(Unbrought::failed(format_args!(
                    "its host answered with status {status}"
                )));
            }
            let media_type = head(header::CONTENT_TYPE).map(str::to_owned);
            let bytes = take_in(answer, max_bytes).await?;
            return Ok(Brought { bytes, media_type });
        }
        Err(Unbrought::failed("it has more than three redirects"))
    }
}

fn unreachable(error: &Unsent) -> Unbrought {
    let innermost = innermost(error);
    Unbrought::failed(format_args!("its host cannot be reached: {innermost}"))
}

async fn take_in(mut answer: Answer, max_bytes: usize) -> Result<BytesMut, Unbrought> {
    let mut body = BytesMut::new();
    let stated = answer.content_length().unwrap_or(0);
    if usize::try_from(stated).map_or(true, |stated| stated > max_bytes) {
        return Err(Unbrought::TooLarge);
    }
    loop {
        match answer.chunk().await {
            Ok(Some(chunk)) if chunk.len() > max_bytes - body.len() => {
                return Err(Unbrought::TooLarge);
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return Ok(body),
            Err(_) => return Err(Unbrought::failed("its host broke off")),
        }
    }
}

#[async_trait]
impl Fetcher for Client {
    async fn fetch(&self, url: &str, max_bytes: usize) -> Result<Fetched, ProviderError> {
        if let Some(data) = data_of(url) {
            return decoded(data, max_bytes);
        }
        let parsed = Url::parse(url).ok();
        let is_web = |url: &Url| matches!(url.scheme(), "https" | "http");
        let parsed = parsed.filter(is_web).ok_or_else(|| {
            let what =
                "the document's address is neither an `https:`, an `http:` nor a `data:` URL";
            of_document(DocumentFault::FetchFailed, what)
        })?;
        let too_long = || Unbrought::failed("its host took longer than 30 s");
        let bringing = timeout(TIMEOUT, self.bring(url, max_bytes)).await;
        let brought = bringing.unwrap_or_else(|_| Err(too_long()));
        let told = told(url);
        let has_user = !parsed.username().is_empty() || parsed.password().is_some();
        let brought = brought.map_err(|why| match why {
            Unbrought::Refused { .. } if has_user => {
                let what = "the URL has a user or a password in it, which are sent to nobody";
                of_document(DocumentFault::NotAllowed, what)
            }
            Unbrought::Refused { is_redirect } => {
                let which = if is_redirect {
                    format!("what `{told}` redirects to")
                } else {
                    format!("`{told}`")
                };
                let what = format!(
                    "{which} is neither a public one (`https`, or `http` on port 80) nor in the operator's list \
                     `egress.allow_documents`"
                );
                of_document(DocumentFault::NotAllowed, what)
            }
            Unbrought::TooLarge => too_large(max_bytes),
            Unbrought::Failed(why) => {
                let what = format!("the document at `{told}` cannot be fetched: {why}");
                of_document(DocumentFault::FetchFailed, what)
            }
        })?;
        let name = parsed.path_segments().and_then(Iterator::last);
        Ok(Fetched {
            content: brought.bytes.freeze(),
            name: name.filter(|name| !name.is_empty()).map(str::to_owned),
        })
    }
}

/// What stands in a `data:` URL (RFC 2397), of which this is the part after the colon.
fn decoded(data: &str, max_bytes: usize) -> Result<Fetched, ProviderError> {
    let broken = |what: &str| of_document(DocumentFault::Invalid, what);
    let (head, data) = data
        .split_once(',')
        .ok_or_else(|| broken("the `data:` URL of the document has no comma before its data"))?;
    if !head.ends_with(";base64") {
        return Err(broken("the `data:` URL of the document is not in base64"));
    }
    if data.len() / 4 > max_bytes / 3 + 1 {
        return Err(too_large(max_bytes));
    }
    let mut digits = data.as_bytes().to_vec();
    digits.retain(|byte| !byte.is_ascii_whitespace());
    let content = BASE64
        .decode(digits)
        .map_err(|_| broken("the data of the document's `data:` URL are no base64"))?;
    Ok(Fetched {
        content: Bytes::from(content),
        name: None,
    })
}

fn too_large(max_bytes: usize) -> ProviderError {
    let mebibytes = max_bytes / (1024 * 1024);
    let what = format!("the document has more than {mebibytes} MiB (`ocr.max_document_bytes`)");
    of_document(DocumentFault::TooManyBytes, what)
}

fn of_document(fault: DocumentFault, what: impl Into<String>) -> ProviderError {
    ProviderError::new(Kind::Document(fault), what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_urls_are_read_in_base64_alone_and_within_their_limit() {
        let fetched = decoded("application/pdf;base64,JVBE Ri0=", 100).unwrap();
        assert_eq!(&*fetched.content, b"%PDF-");
        assert_eq!(&*decoded(";base64,JVBERi0", 100).unwrap().content, b"%PDF-");

        let slug = |data: &str| match decoded(data, 3).unwrap_err().kind {
            Kind::Document(fault) => fault.slug(),
            kind => panic!("{kind:?}"),
        };
        assert_eq!(slug("application/pdf;base64"), "invalid_document");
        assert_eq!(slug("text/plain,hello"), "invalid_document");
        assert_eq!(slug(";base64,@@@@"), "invalid_document");
        assert_eq!(slug(";base64,AAAAAAAAAAAAAAAA"), "document_too_large");
    }
}
