//! The configuration keys of `[models]`, `[calls]`, `[prices]`, `[observer]`, `[feedback]`, `[spans]` and `[projects]`.

use domain::ModelName;
use serde::{Deserialize, Serialize};

use crate::price::OwnPrices;

/// Everything that this crate is told.
#[derive(Debug, Clone)]
pub struct Options {
    /// `[models]`.
    pub models: ModelsOptions,
    /// `[calls]`.
    pub calls: CallsOptions,
    /// `[prices]`.
    pub prices: PricesOptions,
    /// What the file says that `prices.file` names.
    pub own_prices: OwnPrices,
    /// `[observer]`.
    pub observer: ObserverOptions,
    /// `[feedback]`.
    pub feedback: FeedbackOptions,
    /// `[spans]`.
    pub spans: SpansOptions,
    /// `[projects.NAME]`.
    pub projects: indexmap::IndexMap<String, ProjectOptions>,
    /// `limits.model_calls`: requests of one project to one model that may be under way.
    pub model_calls: usize,
    /// `ocr.max_document_bytes`.
    pub max_document_bytes: usize,
    /// `ocr.timeout_seconds`: for a whole document.
    pub document_timeout: std::time::Duration,
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
    /// The operator's own prices; [`Options::own_prices`] is what it says.
    pub file: Option<std::path::PathBuf>,
}

/// What a project may do.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProjectOptions {
    /// The configured models that it may use: names, and beginnings of names with a `*`; all, if nothing is said.
    pub models: Option<Vec<String>>,
    /// How many calls it may make a minute; any number, if nothing is said.
    pub calls_per_minute: Option<u32>,
    /// How many tokens its calls may use a minute, of input and output; any number, if nothing is said.
    pub tokens_per_minute: Option<u32>,
    /// What its calls may cost a day (UTC), in USD; anything, if nothing is said.
    pub usd_per_day: Option<f64>,
    /// What is kept of its spans, where that is not as `[spans]` says.
    pub spans: ProjectSpansOptions,
}

/// What is kept of spans, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SpansOptions {
    /// Days after which a span is forgotten; 0: never.
    pub keep_days: u32,
    /// What the spans of one project may take, in GiB, before the oldest are forgotten; 0: as much as there is.
    pub max_gib: f64,
    /// What is kept of what went in and came out.
    pub content: Content,
}

/// The same for one project, where something is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProjectSpansOptions {
    /// In place of `spans.keep_days`.
    pub keep_days: Option<u32>,
    /// In place of `spans.max_gib`.
    pub max_gib: Option<f64>,
    /// In place of `spans.content`.
    pub content: Option<Content>,
}

/// What a span keeps of what went in and came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// All of it.
    Full,
    /// Nothing: no input, no output, no words of a model, a provider or a client on what went wrong.
    None,
}

/// How calls are evaluated (`interface.md` 15.8).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ObserverOptions {
    /// Whether they are evaluated at all.
    pub enabled: bool,
    /// The model that judges them; a rule does, if there is none.
    pub judge: Option<ModelName>,
    /// How many calls may wait for the judge; what comes beyond keeps the rule's evaluation.
    pub queue: usize,
}

/// What follows from feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FeedbackOptions {
    /// Whether a rated call is saved as an example when the rating says nothing of it.
    pub save_to_dataset: bool,
}
