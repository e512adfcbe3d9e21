//! What a call means: functions, models, calls, spans and datasets, over the seams of `domain`.
//!
//! Knows nothing of HTTP, SQL or any provider's name. The doors touch it through [`Gateway`] alone.

mod aliases;
mod auth;
mod breaker;
mod calls;
mod catalogue;
mod datasets;
mod embeddings;
mod error;
mod examples;
mod functions;
mod gateway;
mod ladder;
mod line;
mod models;
mod observer;
mod ocr;
mod options;
mod parts;
mod price;
mod projects;
mod rerank;
mod retries;
mod route;
mod schema;
mod spans;
pub mod token;
mod tokens;
mod vault;

pub use aliases::{AliasChange, Aliases, NewAlias};
pub use auth::{Auth, unauthorized};
pub use calls::{CallStream, Calls, ChatCall, StreamEvent, StreamForm};
pub use catalogue::{Catalogue, CatalogueItem, Offer};
pub use datasets::{Datasets, NewEntry};
pub use embeddings::{Embedded, EmbeddingCall, Embeddings, MAX_TEXTS};
pub use error::{CallDetail, Code, Detail, Error, Fault, Step, TriedModel};
pub use functions::{FunctionChange, Functions, Inline, NewFunction};
pub use gateway::{Gateway, GatewayError, Ground};
pub use models::{ChangedModel, ModelChange, Models, NewModel};
pub use ocr::{Ocr, OcrCall, OcrModel, Recognized};
pub use options::{
    CallsOptions, Content, FeedbackOptions, ModelsOptions, ObserverOptions, Options, PricesOptions,
    ProjectOptions, ProjectSpansOptions, SpansOptions,
};
pub use price::{Doubt, Found, Limits, OwnPrices, PriceBook, Row, Scaled, Way};
pub use projects::{Held, Projects};
pub use rerank::{Rerank, RerankModel, Reranked};
pub use spans::{Change, MetricChange, NewMetric, NewSpan, Rated, Repriced, Repricing, Spans};
pub use vault::{MasterKey, Vault, VaultError};
