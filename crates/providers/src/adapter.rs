//! A dialect as pure translation, and what makes a provider of it.
//!
//! An [`Adapter`] does no I/O: values in, bytes out, and back. So it is tested with bytes alone.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    ChatRequest, EmbeddingRequest, Embeddings, Generation,
    seams::{Provider, ProviderError, Target},
};

use crate::wire::{Client, Fault, WireAnswer, WireRequest};

/// A dialect.
pub(crate) trait Adapter: Send + Sync + 'static {
    /// Words a conversation.
    fn chat(&self, target: &Target, request: &ChatRequest) -> Result<WireRequest, ProviderError>;

    /// Reads the answer to a conversation.
    fn generation(&self, body: &[u8]) -> Result<Generation, Fault>;

    /// Words texts to embed.
    fn embed(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<WireRequest, ProviderError>;

    /// Reads the vectors for `request`.
    fn embeddings(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
        body: &[u8],
    ) -> Result<Embeddings, Fault>;

    /// Reads the body of an answer whose status is not a good one.
    fn fault(&self, status: u16, body: &[u8]) -> Fault;
}

/// A dialect spoken over HTTP.
pub(crate) struct HttpProvider<A> {
    adapter: A,
    client: Arc<Client>,
}

impl<A: Adapter> HttpProvider<A> {
    /// Speaks `adapter`'s dialect through `client`.
    pub(crate) const fn new(adapter: A, client: Arc<Client>) -> Self {
        Self { adapter, client }
    }

    async fn ask<T: Send>(
        &self,
        target: &Target,
        request: WireRequest,
        read: impl FnOnce(&[u8]) -> Result<T, Fault> + Send,
    ) -> Result<T, ProviderError> {
        let answer: WireAnswer = self.client.send(target, request).await?;
        let read = if answer.is_success() {
            read(&answer.body)
        } else {
            Err(self.adapter.fault(answer.status, &answer.body))
        };
        read.map_err(|fault| answer.failure(target, fault))
    }
}

#[async_trait]
impl<A: Adapter> Provider for HttpProvider<A> {
    async fn chat(
        &self,
        target: &Target,
        request: &ChatRequest,
    ) -> Result<Generation, ProviderError> {
        let wire = self.adapter.chat(target, request)?;
        self.client.check_media(target, &request.messages).await?;
        let read = |body: &[u8]| self.adapter.generation(body);
        self.ask(target, wire, read).await
    }

    async fn embed(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<Embeddings, ProviderError> {
        let wire = self.adapter.embed(target, request)?;
        let read = |body: &[u8]| self.adapter.embeddings(target, request, body);
        self.ask(target, wire, read).await
    }
}
