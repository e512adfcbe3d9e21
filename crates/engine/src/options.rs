//! The configuration keys of `[models]`, `[calls]` and `[prices]`.

use domain::ModelName;
use serde::{Deserialize, Serialize};

/// Everything that this crate is told.
#[derive(Debug, Clone)]
pub struct Options {
    /// `[models]`.
    pub models: ModelsOptions,
    /// `[calls]`.
    pub calls: CallsOptions,
    /// `[prices]`.
    pub prices: PricesOptions,
    /// `upstream.timeout_seconds`: for one request, unless the model says otherwise.
    pub request_timeout: std::time::Duration,
}

/// Who is asked when nobody is named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ModelsOptions {
    /// For calls.
    pub default: Option<ModelName>,
    /// For embeddings.
    pub default_embedding: Option<ModelName>,
}

/// How calls are bounded.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CallsOptions {
    /// For a whole call: retries, fallbacks and repairs included.
    pub timeout_seconds: f64,
}

/// What the operator adds to the models' prices.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PricesOptions {
    /// `cost.platform` is `cost.generation` times this.
    pub markup: f64,
}
