//! Documents: brought here, and read.

use async_trait::async_trait;
use bytes::Bytes;

use crate::{Dimensions, Document, OcrPages, OcrRequest};

use super::{ProviderError, ProviderErrorKind as Kind};

/// Brings what lies at an address that a tenant gave (`reliability.md` 7).
#[async_trait]
pub trait Fetcher: Send + Sync {
    /// What lies at an `http(s):` or `data:` address, and what it is called there.
    ///
    /// # Errors
    /// `RefusedAddress` for an address that may not be dialled; [`crate::DocumentFault::FetchFailed`] for one that leads to
    /// nothing, and [`crate::DocumentFault::TooManyBytes`] for one that leads to more than `max_bytes`.
    async fn fetch(&self, url: &str, max_bytes: usize) -> Result<Fetched, ProviderError>;
}

/// What lay at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// All of it.
    pub content: Bytes,
    /// The last part of the address's path, if there is one.
    pub name: Option<String>,
}

/// Reads documents with what this machine has. Whatever a document holds, it is parsed in a process of its own.
#[async_trait]
pub trait Documents: Send + Sync {
    /// The pages of a document that are wanted, all if none are named.
    ///
    /// # Errors
    /// [`crate::DocumentFault::Pages`] for one that it does not have, and for more of them than are read at once.
    async fn pages(
        &self,
        document: &Document,
        wanted: Option<&[u32]>,
    ) -> Result<Vec<u32>, ProviderError>;

    /// What stands on the pages of a document. Dropping the future ends the work.
    async fn read(&self, request: &OcrRequest) -> Result<OcrPages, ProviderError>;

    /// A page as a picture.
    async fn picture(&self, document: &Document, page: u32) -> Result<PagePicture, ProviderError>;
}

/// A page as a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PagePicture {
    /// A `data:` URL.
    pub data_url: String,
    /// Its size.
    pub dimensions: Dimensions,
}

/// A machine that reads no documents.
#[derive(Debug, Clone, Copy)]
pub struct NoDocuments;

impl NoDocuments {
    fn refusal() -> ProviderError {
        ProviderError::new(Kind::Misconfigured, "this machine reads no documents")
    }
}

#[async_trait]
impl Documents for NoDocuments {
    async fn pages(&self, _: &Document, _: Option<&[u32]>) -> Result<Vec<u32>, ProviderError> {
        Err(Self::refusal())
    }

    async fn read(&self, _: &OcrRequest) -> Result<OcrPages, ProviderError> {
        Err(Self::refusal())
    }

    async fn picture(&self, _: &Document, _: u32) -> Result<PagePicture, ProviderError> {
        Err(Self::refusal())
    }
}
