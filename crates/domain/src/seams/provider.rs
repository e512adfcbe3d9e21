//! Hosts of models, as the engine sees them.

use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use thiserror::Error;

use crate::{
    ChatRequest, Deltas, DocumentFault, EmbeddingRequest, Embeddings, ExtraHeaders, Generation,
    ImageRequest, Images, JsonObject, ModelName, OcrPages, OcrRequest, RerankRequest, Reranking,
    Rung, Secret, UsageReport,
};

/// What a model is asked for, as far as it matters to its options.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'r> {
    /// An answer to a conversation.
    Chat(&'r ChatRequest),
    /// An image.
    Image,
    /// Vectors of texts.
    Embedding,
    /// The order of texts.
    Rerank(&'r RerankRequest),
}

/// Whose addresses may be dialled (`reliability.md` 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EgressPolicy {
    /// An address out of the operator's own file or our table: anywhere.
    Operator,
    /// An address that a tenant gave: public ones, and what the operator's list allows.
    Tenant,
}

/// One model with options and key, ready to be asked.
#[derive(Debug, Clone)]
pub struct Target {
    /// The name that it was asked for under.
    pub name: ModelName,
    /// The provider's name.
    pub provider: String,
    /// What the host calls the model.
    pub model: String,
    /// Where the host is; `None` for one without a network.
    pub api_base: Option<String>,
    /// Whose address that is.
    pub egress: EgressPolicy,
    /// The key for that host: the first of `keys`, or the one that a request is made with.
    pub key: Option<Secret>,
    /// All keys for that host. With several, each request takes one by weight, and another one where that is refused.
    pub keys: Arc<[Key]>,
    /// Passed on in the body.
    pub options: JsonObject,
    /// Passed on as headers.
    pub extra_headers: ExtraHeaders,
    /// Settings of the dialect: `api_version`, `region`, `project` and the like.
    pub settings: BTreeMap<String, String>,
    /// How long one request may take; a streamed one, until its first piece.
    pub timeout: Duration,
    /// Where it is told which requests were refused for their key alone.
    pub key_refusals: KeyRefusals,
}

impl Target {
    /// That its dialect has no such request.
    pub fn lacks(&self, what: &str) -> ProviderError {
        let reason = format!(
            "the model `{}` cannot be asked for {what}: the dialect of the provider `{}` has no such request",
            self.name, self.provider
        );
        ProviderError::new(ProviderErrorKind::Misconfigured, reason)
    }
}

/// The requests of a target that its host refused for their key, whereupon another key was taken. Its clones are one: who
/// asks takes out what the dialect put in.
#[derive(Debug, Clone, Default)]
pub struct KeyRefusals(Arc<Mutex<Vec<KeyRefusal>>>);

/// A request that was refused for its key.
#[derive(Debug, Clone)]
pub struct KeyRefusal {
    /// What the host said.
    pub error: ProviderError,
    /// How long it took to say so.
    pub took: Duration,
}

impl KeyRefusals {
    /// Adds one.
    pub fn add(&self, refusal: KeyRefusal) {
        self.locked().push(refusal);
    }

    /// Takes all out, in their order.
    pub fn take(&self) -> Vec<KeyRefusal> {
        mem::take(&mut *self.locked())
    }

    fn locked(&self) -> MutexGuard<'_, Vec<KeyRefusal>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of several keys for a host.
#[derive(Debug, Clone)]
pub struct Key {
    /// The key.
    pub secret: Secret,
    /// How often it is taken, relative to the others; at least 1.
    pub weight: u32,
}

/// What is known of a provider.
#[derive(Debug, Clone)]
pub struct Host {
    /// The provider's name.
    pub provider: String,
    /// The dialect that it speaks.
    pub protocol: String,
    /// Its address, if it has one of its own. `{region}` and the like in it stand for settings.
    pub api_base: Option<String>,
    /// Where the provider itself is, whatever stands in the operator's file; `None` for one that is nobody's but his.
    pub home: Option<Home>,
    /// The operator's keys for it.
    pub keys: Arc<[Key]>,
    /// Whether its models can be asked for without a registration.
    pub configured: bool,
    /// The sensible model to start with, without the provider's name.
    pub default_model: Option<String>,
    /// A model whose vectors have 1536 dimensions, without the provider's name.
    pub default_embedding_model: Option<String>,
    /// Its models that put texts in order, as far as they are known.
    pub rerank_models: &'static [&'static str],
    /// Its models that read documents, as far as they are known.
    pub ocr: OcrModels,
    /// Settings of the dialect.
    pub settings: BTreeMap<String, String>,
}

/// Where a provider is by our table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Home {
    /// The address, with places for settings.
    pub api_base: &'static str,
    /// The dialect that is spoken there.
    pub protocol: &'static str,
}

/// What is known of a provider's models that read documents.
#[derive(Debug, Clone, Copy, Default)]
pub struct OcrModels {
    /// Their names, without the provider's.
    pub names: &'static [&'static str],
    /// Where they are, if there is but one place.
    pub location: Option<&'static str>,
}

/// What keeps a demand for a value from a place that the caller's tools have.
pub const BESIDE_TOOLS: &str = "has no place beside the caller's tools";

/// A dialect, connected. What it does not say it does, it lacks.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Has a model continue a conversation. Dropping the future closes the connection.
    async fn chat(&self, target: &Target, _: &ChatRequest) -> Result<Generation, ProviderError> {
        Err(target.lacks("chat"))
    }

    /// Has a model continue a conversation, piece by piece. Returns when the host has begun to answer: a host that
    /// refuses has refused by then. Dropping future or stream closes the connection.
    async fn chat_stream(&self, target: &Target, _: &ChatRequest) -> Result<Deltas, ProviderError> {
        Err(target.lacks("chat"))
    }

    /// The rungs on which the target can be asked for a JSON value, the firmest first; at least one.
    fn rungs(&self, target: &Target) -> &'static [Rung];

    /// What keeps a request from being asked on one of these rungs, in words that follow the rung's name.
    fn obstacle(&self, _: &Target, request: &ChatRequest, rung: Rung) -> Option<&'static str> {
        (rung == Rung::ForcedTool && !request.tools.is_empty()).then_some(BESIDE_TOOLS)
    }

    /// The option by which the target's client brings functions of its own, if one does: calls of these are for whoever
    /// reads the answer.
    fn brings_functions(&self, _: &Target) -> Option<&'static str> {
        None
    }

    /// Whether the host runs tools of its own for a request: what it takes for them comes beside the price of the tokens.
    fn runs_tools(&self, _: &Target, _: &ChatRequest) -> bool {
        false
    }

    /// What of the target's options is left out because its dialect has no place for it, a sentence each. An option
    /// that cannot be left out without changing the answer is refused instead.
    fn warnings(&self, _: &Target, _: Wanted<'_>) -> Vec<String> {
        Vec::new()
    }

    /// Whether the host reads a turn as the caller wrote it ([`crate::Message::as_given`]), so that also what nobody here
    /// can read reaches it.
    fn reads_as_given(&self, _: &Target, _: &ChatRequest) -> bool {
        false
    }

    /// Whether the target's address, key and settings are what its dialect needs, as far as that can be told without
    /// asking; else what is wrong.
    fn check(&self, target: &Target) -> Result<(), ProviderError>;

    /// Has a model embed texts, no more than [`Provider::embedding_batch`] of them.
    async fn embed(
        &self,
        target: &Target,
        _: &EmbeddingRequest,
    ) -> Result<Embeddings, ProviderError> {
        Err(target.lacks("embeddings"))
    }

    /// How many texts the target takes in one request; at least one.
    fn embedding_batch(&self, _: &Target) -> usize {
        1
    }

    /// How many tokens it takes in one request, of all texts together.
    fn embedding_tokens(&self, _: &Target) -> usize {
        usize::MAX
    }

    /// Has a model make images.
    async fn generate_images(
        &self,
        target: &Target,
        _: &ImageRequest,
    ) -> Result<Images, ProviderError> {
        Err(target.lacks("images"))
    }

    /// Has a model put texts in order, no more than [`Provider::rerank_batch`] of them.
    async fn rerank(&self, target: &Target, _: &RerankRequest) -> Result<Reranking, ProviderError> {
        Err(target.lacks("reranking"))
    }

    /// How many texts the target puts in order in one request; at least one.
    fn rerank_batch(&self, _: &Target) -> usize {
        usize::MAX
    }

    /// Has a document read.
    async fn recognize(&self, target: &Target, _: &OcrRequest) -> Result<OcrPages, ProviderError> {
        Err(target.lacks("reading documents"))
    }
}

/// The providers that there are.
pub trait Registry: Send + Sync {
    /// What is known of a provider by its name.
    fn host(&self, provider: &str) -> Option<&Host>;

    /// The configured hosts, in the order in which a default model is looked for.
    fn configured(&self) -> Vec<&Host>;

    /// Scheme, host and port of an address, as they will be dialled; `None` if it is no address.
    fn origin(&self, api_base: &str) -> Option<String>;

    /// Whether an address leads to the provider itself, whatever stands in the operator's file. If it does, what stands
    /// in the gaps of the provider's address: its `{region}` and the like.
    fn home(&self, provider: &str, api_base: &str) -> Option<BTreeMap<String, String>>;

    /// The dialect of that name.
    fn protocol(&self, name: &str) -> Option<Arc<dyn Provider>>;
}

/// What kind of failure an upstream request ended in. Retry, fallback and what the caller is told follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderErrorKind {
    /// No connection, or one that broke before the answer's head.
    Connection,
    /// No answer in time.
    Timeout,
    /// Status 429.
    RateLimited,
    /// Status 502, 503 or 504.
    Overloaded,
    /// Status 500, another 5xx, 408 or 425.
    Failed,
    /// Status 401 or 403, or 402: the key's account has nothing left to pay with.
    Auth,
    /// Status 404: the host does not know the model.
    UnknownModel,
    /// Status 400, 413, 422 or another 4xx: asking again cannot help.
    Invalid,
    /// The provider will not answer for reasons of policy.
    ContentPolicy,
    /// The prompt is too long.
    ContextWindow,
    /// The texts are too many for one request, or too many tokens together: fewer may do.
    Batch,
    /// The host does not take the request's [`Rung`]; a lower one may do (`interface.md` 15.3). Never said of
    /// [`Rung::Prompt`].
    Demand,
    /// A body that is not what the protocol promises.
    Protocol,
    /// The address may not be dialled.
    RefusedAddress,
    /// The target lacks something that its dialect needs.
    Misconfigured,
    /// The document cannot be read, whoever reads it.
    Document(DocumentFault),
    /// This machine has as much to read as it takes on.
    Busy,
}

impl ProviderErrorKind {
    /// Whether the same target may be asked again (`interface.md` 15.6).
    pub const fn may_retry(self) -> bool {
        matches!(
            self,
            Self::Connection | Self::RateLimited | Self::Overloaded
        )
    }

    /// Whether the next target may be asked.
    pub const fn may_fall_back(self) -> bool {
        !matches!(
            self,
            Self::Invalid
                | Self::ContentPolicy
                | Self::ContextWindow
                | Self::Batch
                | Self::Demand
                | Self::Document(_)
        )
    }
}

/// A failed upstream request.
#[derive(Debug, Clone, Error)]
#[error("{reason}")]
pub struct ProviderError {
    /// What kind of failure.
    pub kind: ProviderErrorKind,
    /// The status, if there was an answer.
    pub status: Option<u16>,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// What may be told: the provider's own words, filtered, or ours (`reliability.md` 8).
    pub reason: String,
    /// What it took all the same.
    pub taken: Taken,
}

/// What a failed request took: an answer that is of no use here is billed like any other (`interface.md` 15.9).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Taken {
    /// Nothing, as far as is known: no answer came.
    #[default]
    Nothing,
    /// An answer came that its host did not count.
    Uncounted,
    /// An answer came, with its host's own count.
    Counted(Box<UsageReport>),
}

impl From<Option<UsageReport>> for Taken {
    /// Of an answer that came, with its host's count, if it has one.
    fn from(usage: Option<UsageReport>) -> Self {
        usage.map_or(Self::Uncounted, |report| Self::Counted(Box::new(report)))
    }
}

impl ProviderError {
    /// A failure without an answer.
    pub fn new(kind: ProviderErrorKind, reason: impl Into<String>) -> Self {
        Self {
            kind,
            status: None,
            retry_after: None,
            reason: reason.into(),
            taken: Taken::Nothing,
        }
    }
}
