//! The ground floor: the nouns of Gatewright and the seams that part it from the world.
//!
//! Nothing here does I/O, reads a clock or knows a provider. Values that come from outside are parsed once, at
//! construction: a [`FunctionName`] in hand is a valid one.

mod alias;
mod call;
mod chat;
mod cost;
mod dataset;
mod embedding;
mod function;
mod id;
mod image;
mod invalid;
mod json;
mod model;
mod ocr;
mod page;
mod principal;
mod rerank;
mod secret;
mod settings;
mod span;
mod time;
mod usage;

pub mod seams;

pub use alias::{Alias, Named};
pub use call::{Beside, CallRequest, CallResult, Example, Kept, Output, Tags};
pub use chat::{
    ChatRequest, Delta, Deltas, Demand, FinishReason, Generation, Message, Part, Remarks, Role,
    Rung, Tool, ToolCall, ToolCallDelta, ToolChoice, ToolMode,
};
pub use cost::{Cost, CostStatus, Price, Tier, TokenPrice, Usd};
pub use dataset::{Dataset, Entry, EntryChange, EntryChanges};
pub use embedding::{EmbeddingRequest, Embeddings};
pub use function::{
    Callee, Definition, Function, FunctionFilter, FunctionName, FunctionSort, Revision, RevisionRef,
};
pub use id::{
    AliasId, DatasetId, EntryId, FunctionId, MetricId, ModelId, ProjectId, RevisionId, SpanId,
    TokenId, TraceId,
};
pub use image::{ImageRequest, Images};
pub use invalid::Invalid;
pub use json::{Json, JsonObject, check_strict};
pub use model::{
    CustomModel, ExtraHeaders, ModelChoice, ModelKind, ModelName, ModelSpec, identifier,
};
pub use ocr::{
    Bbox, Dimensions, Document, DocumentFault, DocumentKind, DocumentSource, Element, ElementKind,
    Label, OcrExtras, OcrImage, OcrPage, OcrPages, OcrRequest, Progress, TableCell, data_of,
    table_data,
};
pub use page::{Page, Paged};
pub use principal::{Principal, Project, ProjectName, ProjectScope, Token, TokenHash, TokenKey};
pub use rerank::{Ranked, RerankRequest, Reranking};
pub use secret::Secret;
pub use settings::{Kind as SettingKind, SETTINGS, Setting, Settings};
pub use span::{
    Feedback, MetaCorrection, Metric, Observation, Recorded, RecordedMeta, Span, SpanBounds,
    SpanChange, SpanKind, SpanRange, SpanWrite,
};
pub use time::Timestamp;
pub use usage::{Usage, UsageKinds, UsageReport, WholeUsage};
