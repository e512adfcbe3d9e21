//! The provider that reads documents on this machine, with no network and no key (`ocr.md` 2).

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    ChatRequest, Deltas, EmbeddingRequest, Embeddings, Generation, ImageRequest, Images, OcrPages,
    OcrRequest, RerankRequest, Reranking, Rung,
    seams::{Documents, Provider, ProviderError, ProviderErrorKind as Kind, Target},
};

use crate::{adapter::lacks, compatible::RUNGS};

/// The provider's name, and its dialect's.
pub(crate) const NAME: &str = "local";
/// Its one model.
pub(crate) const MODEL: &str = "ocr";

/// The provider.
pub(crate) struct Local(pub(crate) Arc<dyn Documents>);

#[async_trait]
impl Provider for Local {
    async fn recognize(
        &self,
        target: &Target,
        request: &OcrRequest,
    ) -> Result<OcrPages, ProviderError> {
        self.check(target)?;
        self.0.read(request).await
    }

    async fn chat(&self, target: &Target, _: &ChatRequest) -> Result<Generation, ProviderError> {
        Err(lacks(target, "chat"))
    }

    async fn chat_stream(&self, target: &Target, _: &ChatRequest) -> Result<Deltas, ProviderError> {
        Err(lacks(target, "chat"))
    }

    fn rungs(&self, _: &Target) -> &'static [Rung] {
        &RUNGS
    }

    fn warnings(&self, _: &Target, _: &ChatRequest) -> Vec<String> {
        Vec::new()
    }

    fn reads_as_given(&self, _: &Target, _: &ChatRequest) -> bool {
        false
    }

    fn check(&self, target: &Target) -> Result<(), ProviderError> {
        if target.model == MODEL {
            return Ok(());
        }
        let reason = format!(
            "`{NAME}/{}` does not exist; the engine for documents is `{NAME}/{MODEL}`",
            target.model
        );
        Err(ProviderError::new(Kind::Invalid, reason))
    }

    async fn embed(
        &self,
        target: &Target,
        _: &EmbeddingRequest,
    ) -> Result<Embeddings, ProviderError> {
        Err(lacks(target, "embeddings"))
    }

    fn embedding_batch(&self, _: &Target) -> usize {
        1
    }

    fn embedding_tokens(&self, _: &Target) -> usize {
        usize::MAX
    }

    async fn generate_images(
        &self,
        target: &Target,
        _: &ImageRequest,
    ) -> Result<Images, ProviderError> {
        Err(lacks(target, "images"))
    }

    async fn rerank(&self, target: &Target, _: &RerankRequest) -> Result<Reranking, ProviderError> {
        Err(lacks(target, "reranking"))
    }

    fn rerank_batch(&self, _: &Target) -> usize {
        usize::MAX
    }
}
