//! What a call means: functions, models, calls, spans and datasets, over the seams of `domain`.
//!
//! Knows nothing of HTTP, SQL or any provider's name. The doors touch it through [`Gateway`] alone.

mod aliases;
mod auth;
mod breaker;
mod calls;
mod datasets;
mod error;
mod examples;
mod functions;
mod gateway;
mod ladder;
mod line;
mod models;
mod observer;
mod options;
mod price;
mod route;
mod schema;
mod spans;
pub mod token;
mod vault;

pub use aliases::{AliasChange, Aliases, NewAlias};
pub use auth::{Auth, unauthorized};
pub use calls::{CallStream, Calls, StreamEvent, StreamForm};
pub use datasets::{Datasets, NewEntry};
pub use error::{CallDetail, Code, Detail, Error, Fault, Step, TriedModel};
pub use functions::{FunctionChange, Functions, Inline, NewFunction};
pub use gateway::{Gateway, GatewayError, Ground};
pub use models::{ModelChange, Models, NewModel};
pub use options::{
    CallsOptions, FeedbackOptions, ModelsOptions, ObserverOptions, Options, PricesOptions,
};
pub use spans::{MetricChange, NewMetric, NewSpan, Rated, Spans};
pub use vault::{MasterKey, Vault, VaultError};
