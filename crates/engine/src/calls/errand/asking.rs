//! Asking one target for what is no conversation: again where that may help, and not at all while it rests.

use std::sync::Arc;

use domain::{
    ChatRequest, EmbeddingRequest, Embeddings, FinishReason, Generation, OcrPages, OcrRequest,
    ProjectScope, Ranked, RerankRequest, Reranking, Usage, UsageReport,
    seams::{ProviderError, ProviderErrorKind as Kind},
};
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use crate::{calls::ledger::Ledger, retries::Again, route::Reachable, tokens::Sent};

use super::Errands;

/// One target that is being asked.
pub(crate) struct Asking<'a> {
    pub(super) errands: &'a Errands,
    pub(super) ledger: &'a Ledger,
    /// Whom to ask.
    pub(crate) reachable: &'a Reachable,
    pub(super) scope: ProjectScope,
    pub(super) has_fallback: bool,
    pub(super) deadline: Instant,
}

/// What is there when a host has answered once, and its own count.
type Answered<T> = Result<(T, Option<UsageReport>), ProviderError>;

/// An answer that may be of no use: it was made all the same.
fn checked<T>(
    got: T,
    usage: Option<UsageReport>,
    checked: Result<(), ProviderError>,
) -> Answered<T> {
    match checked {
        Ok(()) => Ok((got, usage)),
        Err(failure) => Err(ProviderError {
            taken: usage.into(),
            ..failure
        }),
    }
}

/// Whether a model said all that it had to say.
fn read_whole(came: &Generation) -> Result<(), ProviderError> {
    let reason = match (&came.refusal, came.finish_reason) {
        (Some(refusal), _) => return Err(ProviderError::new(Kind::ContentPolicy, refusal.clone())),
        (None, FinishReason::ContentFilter) => "the provider's filter cut the answer off",
        (None, FinishReason::Length) => "the answer was cut off at the model's limit of length",
        _ => return Ok(()),
    };
    Err(ProviderError::new(Kind::Protocol, reason))
}

impl Asking<'_> {
    /// Whether this is the model that embeds when nobody is named, by whatever name it was asked for.
    pub(crate) fn is_default_embedding(&self) -> bool {
        let routes = &self.errands.routes;
        routes.is_default_embedding(&self.reachable.target)
    }

    /// Whether the target has failed too often of late, so that one request at a time may show that it is well again.
    pub(crate) fn is_on_probation(&self) -> bool {
        let line = self.reachable.line(self.scope);
        self.errands.retries.is_on_probation(&line)
    }

    /// Has texts embedded by one request, again while that may help. `check` looks at what came.
    pub(crate) async fn embed(
        &self,
        request: &Arc<EmbeddingRequest>,
        check: impl Fn(&Embeddings) -> Result<(), ProviderError> + Send + Sync,
    ) -> Result<Vec<Vec<f32>>, ProviderError> {
        let Reachable {
            provider, target, ..
        } = self.reachable;
        let ask = || -> BoxFuture<'_, Answered<_>> {
            Box::pin(async {
                let came = provider.embed(target, request).await?;
                let sound = check(&came);
                checked(came.vectors, came.usage, sound)
            })
        };
        self.request(Sent::Embedding(request.clone()), ask).await
    }

    /// Has texts put in order by one request, again while that may help. `check` looks at what came.
    pub(crate) async fn rerank(
        &self,
        request: &Arc<RerankRequest>,
        check: impl Fn(&Reranking) -> Result<(), ProviderError> + Send + Sync,
    ) -> Result<Vec<Ranked>, ProviderError> {
        let Reachable {
            provider, target, ..
        } = self.reachable;
        let ask = || -> BoxFuture<'_, Answered<_>> {
            Box::pin(async {
                let came = provider.rerank(target, request).await?;
                let sound = check(&came);
                checked(came.results, came.usage, sound)
            })
        };
        self.request(Sent::Rerank(request.clone()), ask).await
    }

    /// Has a document read by one request, again while that may help.
    pub(crate) async fn recognize(
        &self,
        request: &Arc<OcrRequest>,
    ) -> Result<OcrPages, ProviderError> {
        let Reachable {
            provider, target, ..
        } = self.reachable;
        let ask = || -> BoxFuture<'_, Answered<_>> {
            Box::pin(async {
                let mut came = provider.recognize(target, request).await?;
                // The pages that came are what is billed, unless the provider counts otherwise.
                let pages = came.pages.len() as u64;
                let by_page = || {
                    UsageReport::from(Usage {
                        pages,
                        ..Usage::default()
                    })
                };
                let usage = came.usage.take().unwrap_or_else(by_page);
                Ok((came, Some(usage)))
            })
        };
        self.request(Sent::Document, ask).await
    }

    /// Has a model answer a conversation, again while that may help.
    pub(crate) async fn chat(&self, request: &Arc<ChatRequest>) -> Result<String, ProviderError> {
        let Reachable {
            provider, target, ..
        } = self.reachable;
        let ask = || -> BoxFuture<'_, Answered<_>> {
            Box::pin(async {
                let came = provider.chat(target, request).await?;
                let sound = read_whole(&came);
                checked(came.text, came.usage, sound)
            })
        };
        self.request(Sent::Chat(request.clone()), ask).await
    }

    async fn request<'r, T: Send>(
        &self,
        sent: Sent,
        ask: impl Fn() -> BoxFuture<'r, Answered<T>> + Send + Sync,
    ) -> Result<T, ProviderError> {
        let (errands, reachable) = (self.errands, self.reachable);
        let again = Again::usual(self.has_fallback);
        let line = reachable.line(self.scope);
        let mut tries = errands.retries.begin(line, again, self.deadline);
        loop {
            let pass = tries.admit().inspect_err(|failure| {
                self.ledger.resting(&reachable.target.name, failure);
            })?;
            let mut attempt = self
                .ledger
                .begin(sent.clone(), reachable, &errands.prices, false);
            let failure = match ask().await {
                Ok((got, usage)) => {
                    pass.succeeded();
                    attempt.done(usage);
                    return Ok(got);
                }
                Err(failure) => failure,
            };
            attempt.failed(&failure);
            drop(attempt);
            pass.failed(&failure);
            if !tries.wait(&failure).await {
                return Err(failure);
            }
        }
    }
}
