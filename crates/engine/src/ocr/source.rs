//! Where a document comes from, and what is kept of it: never the document itself.

use std::{fmt::Write, sync::Arc, time::Duration};

use aws_lc_rs::digest::{SHA256, digest};
use domain::{
    Document, DocumentFault, DocumentKind, DocumentSource, Json, data_of,
    seams::{Documents, Fetched, Fetcher, ProviderError, ProviderErrorKind as Kind},
};
use serde_json::{Value, json};

use crate::options::Options;

/// How much of an address is kept.
const MAX_URL: usize = 2048;

/// What documents are had from.
pub(crate) struct Sources {
    /// Brings them.
    pub(crate) fetcher: Arc<dyn Fetcher>,
    /// Reads them on this machine.
    pub(crate) documents: Arc<dyn Documents>,
    /// How large one may be.
    pub(crate) max_bytes: usize,
    /// How long one may take, whoever reads it.
    pub(crate) timeout: Duration,
}

impl Sources {
    pub(crate) fn new(
        fetcher: Arc<dyn Fetcher>,
        documents: Arc<dyn Documents>,
        options: &Options,
    ) -> Arc<Self> {
        Arc::new(Self {
            fetcher,
            documents,
            max_bytes: options.max_document_bytes,
            timeout: options.document_timeout,
        })
    }

    /// The document, with what it is.
    pub(super) async fn bring(&self, source: &DocumentSource) -> Result<Document, ProviderError> {
        let (fetched, url) = match source {
            DocumentSource::Url(url) => {
                let fetched = self.fetcher.fetch(url, self.max_bytes).await?;
                (fetched, Some(url.clone()).filter(|url| is_address(url)))
            }
            DocumentSource::Bytes { content, name } => {
                let given = Fetched {
                    content: content.clone(),
                    name: name.clone(),
                };
                (given, None)
            }
        };
        let Fetched { content, name } = fetched;
        if content.len() > self.max_bytes {
            let limit = self.max_bytes;
            let reason =
                format!("the document has more than {limit} bytes (`ocr.max_document_bytes`)");
            return Err(fault(DocumentFault::TooManyBytes, reason));
        }
        if content.is_empty() {
            return Err(fault(DocumentFault::Invalid, "the document is empty"));
        }
        let kind = DocumentKind::of(&content).ok_or_else(|| {
            let reason =
                "the document is neither a PDF nor a PNG, JPEG, TIFF, WebP, GIF or BMP picture";
            fault(DocumentFault::Unsupported, reason)
        })?;
        Ok(Document {
            kind,
            content,
            name,
            url,
        })
    }
}

pub(super) fn fault(fault: DocumentFault, reason: impl Into<String>) -> ProviderError {
    ProviderError::new(Kind::Document(fault), reason)
}

fn is_address(url: &str) -> bool {
    data_of(url).is_none()
}

/// What the span says of where a document was said to be.
pub(super) fn told(source: &DocumentSource) -> Value {
    match source {
        // What stands behind a question mark may be what opens the document to anybody.
        DocumentSource::Url(url) if is_address(url) => {
            let bare = url.split(['?', '#']).next().unwrap_or_default();
            let bare = without_user(bare);
            json!({ "url": bare[..bare.floor_char_boundary(MAX_URL)] })
        }
        DocumentSource::Url(_) => json!({ "url": "data:" }),
        DocumentSource::Bytes { name, .. } => json!({ "name": name }),
    }
}

/// An address without the name and the password in it. Readers of addresses take either slash for the one, and any number of
/// them before the host.
fn without_user(url: &str) -> String {
    let slash = |sign: char| matches!(sign, '/' | '\\');
    let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
    let from_host = rest.trim_start_matches(slash);
    let (host, path) = from_host.split_at(from_host.find(slash).unwrap_or(from_host.len()));
    match host.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{host}{path}"),
        None => url.to_owned(),
    }
}

/// What the span says of a document in hand.
pub(super) fn described(document: &Document) -> Json {
    let hash = digest(&SHA256, &document.content);
    let mut hex = String::new();
    for byte in hash.as_ref() {
        write!(hex, "{byte:02x}").expect("a string takes all that is written");
    }
    Json::of(&json!({
        "kind": document.kind,
        "bytes": document.content.len(),
        "sha256": hex,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_opens_a_document_is_kept_of_its_address() {
        for (url, kept) in [
            ("https://host/a.pdf?sig=s3cret#x", "https://host/a.pdf"),
            ("https://u:s3cret@host/a@b.pdf", "https://host/a@b.pdf"),
            ("https://s3cret@host", "https://host"),
            ("https:\\\\u:s3cret@host\\a.pdf", "https://host\\a.pdf"),
            ("https:u:s3cret@host/a.pdf", "https://host/a.pdf"),
            ("https:////u:a@s3cret@host/a.pdf", "https://host/a.pdf"),
            ("u:s3cret@host/a.pdf", "u://host/a.pdf"),
            ("/a/b.pdf", "/a/b.pdf"),
        ] {
            let told = told(&DocumentSource::Url(url.to_owned()));
            assert_eq!(told, json!({ "url": kept }), "{url}");
        }
    }
}
