//! Storage. One method is one transaction; a backend keeps what it is given, ids and times are made above it.
//!
//! A write is durable when its method returns. Every look-up by an id from outside takes a [`ProjectScope`].

use async_trait::async_trait;
use thiserror::Error;

use crate::{
    Alias, AliasId, CustomModel, Dataset, DatasetId, Definition, Entry, EntryChange, EntryChanges,
    EntryId, Feedback, Function, FunctionFilter, FunctionId, FunctionName, MetaCorrection, Metric,
    MetricId, ModelId, ModelName, Named, Observation, Page, Paged, Project, ProjectId, ProjectName,
    ProjectScope, Recorded, Revision, RevisionId, Span, SpanBounds, SpanChange, SpanId, SpanRange,
    SpanWrite, Timestamp, Token, TokenId, TokenKey, TraceId, Usd,
};

/// Why storage could not do what was asked. Variants are what a caller would do differently.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A unique name or id is in use.
    #[error("the name is taken")]
    Taken,
    /// The row was changed by someone else since it was read: read it again.
    #[error("the row was changed in the meantime")]
    Stale,
    /// Storage cannot be reached or is shutting down.
    #[error("storage is unavailable: {0}")]
    Unavailable(String),
    /// There is no space left, or the medium is read-only.
    #[error("storage is full: {0}")]
    Full(String),
    /// What was read makes no sense.
    #[error("storage holds something unreadable: {0}")]
    Corrupt(String),
}

type Result<T> = std::result::Result<T, StoreError>;

/// Functions and their revisions.
#[async_trait]
pub trait FunctionStore: Send + Sync {
    /// Keeps a new function, its first revision and its dataset. [`StoreError::Taken`] if the project has the name.
    async fn insert_function(&self, function: &Function, revision: &Revision) -> Result<()>;

    /// The function, without its revisions.
    async fn function(&self, scope: ProjectScope, id: FunctionId) -> Result<Option<Function>>;

    /// The function of that name.
    async fn function_by_name(
        &self,
        scope: ProjectScope,
        name: &FunctionName,
    ) -> Result<Option<Function>>;

    /// One revision, if it belongs to that function.
    async fn revision(
        &self,
        scope: ProjectScope,
        function: FunctionId,
        revision: RevisionId,
    ) -> Result<Option<Revision>>;

    /// The newest revision of a function that fixes exactly this.
    async fn revision_with(
        &self,
        scope: ProjectScope,
        function: FunctionId,
        definition: &Definition,
    ) -> Result<Option<Revision>>;

    /// The functions of a project, each with its latest revision.
    async fn functions(
        &self,
        scope: ProjectScope,
        filter: &FunctionFilter,
        page: Page,
    ) -> Result<Paged<(Function, Revision)>>;

    /// The revisions of a function, newest first.
    async fn revisions(
        &self,
        scope: ProjectScope,
        function: FunctionId,
        page: Page,
    ) -> Result<Paged<Revision>>;

    /// Replaces the row of a function whose `version` is one less, and keeps its new revision, if there is one.
    /// [`StoreError::Stale`] if the row has another version or is gone, [`StoreError::Taken`] for the name.
    async fn update_function(
        &self,
        function: &Function,
        new_revision: Option<&Revision>,
    ) -> Result<()>;

    /// Forgets a function and its revisions; its dataset stays. Says whether it was there.
    async fn delete_function(&self, scope: ProjectScope, id: FunctionId) -> Result<bool>;
}

/// Custom models.
#[async_trait]
pub trait ModelStore: Send + Sync {
    /// Keeps a new model. [`StoreError::Taken`] if the project has the name.
    async fn insert_model(&self, model: &CustomModel) -> Result<()>;

    /// The model.
    async fn model(&self, scope: ProjectScope, id: ModelId) -> Result<Option<CustomModel>>;

    /// The model of that name.
    async fn model_by_name(&self, scope: ProjectScope, name: &str) -> Result<Option<CustomModel>>;

    /// What that name means in the project: the custom model of that name, else the alias, else the newest custom model
    /// of that identifier.
    async fn named(&self, scope: ProjectScope, name: &ModelName) -> Result<Option<Named>>;

    /// The models of a project by name.
    async fn models(&self, scope: ProjectScope, page: Page) -> Result<Paged<CustomModel>>;

    /// Replaces the row of a model whose `version` is one less. [`StoreError::Stale`] or [`StoreError::Taken`].
    async fn update_model(&self, model: &CustomModel) -> Result<()>;

    /// Forgets a model. Says whether it was there.
    async fn delete_model(&self, scope: ProjectScope, id: ModelId) -> Result<bool>;

    /// A sealed key of any project, to try the master key on; `None` if no row holds one.
    async fn any_sealed_model(&self) -> Result<Option<CustomModel>>;

    /// All models with a sealed key, of every project.
    async fn sealed_models(&self) -> Result<Vec<CustomModel>>;

    /// Seals the key of a model anew, where it still is the one that the model was read with. Says whether it was.
    async fn reseal_model(&self, model: &CustomModel, sealed: &[u8]) -> Result<bool>;
}

/// Aliases of models.
#[async_trait]
pub trait AliasStore: Send + Sync {
    /// Keeps a new alias. [`StoreError::Taken`] if another alias of the project has the name.
    async fn insert_alias(&self, alias: &Alias) -> Result<()>;

    /// The alias.
    async fn alias(&self, scope: ProjectScope, id: AliasId) -> Result<Option<Alias>>;

    /// The alias of that name.
    async fn alias_by_name(&self, scope: ProjectScope, name: &str) -> Result<Option<Alias>>;

    /// The aliases of a project by name.
    async fn aliases(&self, scope: ProjectScope, page: Page) -> Result<Paged<Alias>>;

    /// Replaces the row of an alias whose `version` is one less. [`StoreError::Stale`] or [`StoreError::Taken`].
    async fn update_alias(&self, alias: &Alias) -> Result<()>;

    /// Forgets an alias. Says whether it was there.
    async fn delete_alias(&self, scope: ProjectScope, id: AliasId) -> Result<bool>;
}

/// Datasets and their entries. A change of an entry raises its dataset's version.
#[async_trait]
pub trait DatasetStore: Send + Sync {
    /// The dataset.
    async fn dataset(&self, scope: ProjectScope, id: DatasetId) -> Result<Option<Dataset>>;

    /// Keeps a new entry. Says whether the project has the dataset.
    async fn insert_entry(&self, scope: ProjectScope, entry: &Entry) -> Result<bool>;

    /// The entries of a dataset, oldest first; none of a dataset that the project does not have.
    async fn entries(
        &self,
        scope: ProjectScope,
        dataset: DatasetId,
        page: Page,
    ) -> Result<Paged<Entry>>;

    /// One entry, if it belongs to that dataset.
    async fn entry(
        &self,
        scope: ProjectScope,
        dataset: DatasetId,
        id: EntryId,
    ) -> Result<Option<Entry>>;

    /// Changes an entry and gives it as it is then. With another input its vector is gone.
    async fn change_entry(
        &self,
        scope: ProjectScope,
        dataset: DatasetId,
        id: EntryId,
        change: EntryChange,
    ) -> Result<Option<Entry>>;

    /// Forgets an entry. Says whether it was there.
    async fn delete_entry(
        &self,
        scope: ProjectScope,
        dataset: DatasetId,
        id: EntryId,
    ) -> Result<bool>;

    /// What changed after version `since` of the dataset (0: everything), the newest `limit` entries at most, and no
    /// more of them once they hold 64 MiB of text. With a `model`, each entry comes with the vector that is kept under
    /// that model's name. Deletions are told one by one, of the newest 1,000 at least.
    async fn entry_changes(
        &self,
        scope: ProjectScope,
        dataset: DatasetId,
        since: i64,
        limit: u64,
        model: Option<&str>,
    ) -> Result<EntryChanges>;

    /// Keeps vectors of entries' inputs under a model's name. It raises no version. An entry whose input is another
    /// one by now, or that is gone, gets none.
    async fn keep_vectors(
        &self,
        scope: ProjectScope,
        dataset: DatasetId,
        model: &str,
        vectors: Vec<(Entry, Vec<f32>)>,
    ) -> Result<()>;
}

/// Spans, and what is added to them.
#[async_trait]
pub trait SpanStore: Send + Sync {
    /// Writes spans, all or none. [`StoreError::Taken`] if the project has one of the new ids.
    async fn commit_spans(&self, writes: Vec<SpanWrite>) -> Result<()>;

    /// The span, with what was added to it.
    async fn span(&self, scope: ProjectScope, id: SpanId) -> Result<Option<Span>>;

    /// The trace of a span, if the project has it.
    async fn trace_of(&self, scope: ProjectScope, id: SpanId) -> Result<Option<TraceId>>;

    /// The span and those below it, parents before children and elder before younger, `limit` at most.
    async fn spans_below(&self, scope: ProjectScope, id: SpanId, limit: u64) -> Result<Vec<Span>>;

    /// Lays a client's changes over a span, and gives it as it is then. What was recorded stays below them, and a call
    /// that is still under way concludes below them too.
    async fn change_span(
        &self,
        scope: ProjectScope,
        id: SpanId,
        change: SpanChange,
    ) -> Result<Option<Span>>;

    /// Sets the feedback of a span. Says whether it was there.
    async fn rate_span(&self, scope: ProjectScope, id: SpanId, feedback: &Feedback)
    -> Result<bool>;

    /// Sets what the observer says of a span: its score, unless a client set one, and `meta.observer`. Says whether
    /// the span was there.
    async fn observe_span(
        &self,
        project: ProjectId,
        id: SpanId,
        observation: &Observation,
    ) -> Result<bool>;

    /// Forgets a span with what was added to it. Its children keep its id. Says whether it was there.
    async fn delete_span(&self, scope: ProjectScope, id: SpanId) -> Result<bool>;

    /// Forgets the oldest of a project's spans, by their recorded beginning, as long as they lie beyond the bounds, `limit`
    /// at most, and fewer where they are long; counts them. Those that are open stay. What was added to a span goes with
    /// it.
    async fn forget_spans(&self, project: ProjectId, bounds: SpanBounds, limit: u64)
    -> Result<u64>;

    /// What a project's spans take, with what was added to them.
    async fn span_bytes(&self, project: ProjectId) -> Result<u64>;

    /// Closes every span that was begun and not closed, as `InternalServerError: interrupted` at `now`, and counts
    /// them. For the start, before anybody calls.
    async fn interrupt_open_spans(&self, now: Timestamp) -> Result<u64>;

    /// Goes through what was recorded, in the order in which it was written: the step behind `after` (0: the first),
    /// `limit` spans of the whole record at most. Spans that are open or a client's own, or whose beginning is unknown,
    /// are none of it.
    async fn recorded(&self, range: SpanRange, after: i64, limit: u64) -> Result<Recorded>;

    /// Corrects what was recorded, where it is still what it was read as, and counts the corrections.
    async fn correct_meta(&self, corrections: Vec<MetaCorrection>) -> Result<u64>;

    /// Keeps a new metric. Says whether the span was there.
    async fn insert_metric(&self, scope: ProjectScope, metric: &Metric) -> Result<bool>;

    /// The metrics of a span, oldest first.
    async fn metrics(&self, scope: ProjectScope, span: SpanId, page: Page)
    -> Result<Paged<Metric>>;

    /// One metric, if it belongs to that span.
    async fn metric(
        &self,
        scope: ProjectScope,
        span: SpanId,
        id: MetricId,
    ) -> Result<Option<Metric>>;

    /// Replaces a metric's dimension, value and comment. Says whether it was there.
    async fn update_metric(&self, scope: ProjectScope, metric: &Metric) -> Result<bool>;

    /// Forgets a metric. Says whether it was there.
    async fn delete_metric(&self, scope: ProjectScope, span: SpanId, id: MetricId) -> Result<bool>;
}

/// Projects and tokens.
#[async_trait]
pub trait TokenStore: Send + Sync {
    /// Keeps a new project. [`StoreError::Taken`] if the name is in use.
    async fn insert_project(&self, project: &Project) -> Result<()>;

    /// The project of that name.
    async fn project_by_name(&self, name: &ProjectName) -> Result<Option<Project>>;

    /// All projects by name.
    async fn projects(&self) -> Result<Vec<Project>>;

    /// Keeps a new token. [`StoreError::Taken`] if its id or hash is in use.
    async fn insert_token(&self, token: &Token) -> Result<()>;

    /// The token, revoked and expired ones included.
    async fn token(&self, key: &TokenKey) -> Result<Option<Token>>;

    /// All tokens, oldest first.
    async fn tokens(&self) -> Result<Vec<Token>>;

    /// Revokes a token. Says whether it was there.
    async fn revoke_token(&self, id: &TokenId, at: Timestamp) -> Result<bool>;

    /// Adds to what a project has spent on a day (days since 1970-01-01, UTC), and gives the sum. What it spent a month
    /// and more before that day is forgotten.
    async fn spend(&self, project: ProjectId, day: i64, amount: Usd) -> Result<Usd>;
}

/// Everything that is kept.
#[async_trait]
pub trait Store:
    FunctionStore + ModelStore + AliasStore + DatasetStore + SpanStore + TokenStore
{
    /// Whether there is room for more rows, as far as is known. It is cheap: whoever lets calls in asks before each.
    fn takes_more(&self) -> Result<()>;

    /// Whether a write would go through now.
    async fn ready(&self) -> Result<()>;

    /// Returns when nothing can be written any more until a restart: a failed sync may have lost what it covered, and
    /// a second try would hide that (`reliability.md` 13). Otherwise never.
    async fn lost(&self);

    /// Finishes what waits, syncs and closes. Later writes are [`StoreError::Unavailable`].
    async fn close(&self);
}
