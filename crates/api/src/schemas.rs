//! Shapes that the API document shows for types of `domain`, which knows nothing of documents.
#![expect(dead_code, reason = "only their derived schemas are used")]

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

/// Any JSON object.
#[derive(Serialize, ToSchema)]
#[schema(value_type = Object, as = AnyObject)]
pub(crate) struct Object(serde_json::Map<String, serde_json::Value>);

/// Segments of letters, digits, `.`, `_` and `-`, none ending in `.`, joined by single slashes.
#[derive(Serialize, ToSchema)]
#[schema(
    value_type = String,
    min_length = 1,
    max_length = 255,
    pattern = "^[A-Za-z0-9._-]*[A-Za-z0-9_-](/[A-Za-z0-9._-]*[A-Za-z0-9_-])*$",
    examples("team/summarise")
)]
pub(crate) struct FunctionName(String);

/// `<provider>/<model_name>`.
#[derive(Serialize, ToSchema)]
#[schema(value_type = String, min_length = 3, max_length = 255, pattern = "^[^/]+/(.|\\n)+$", examples("openai/gpt-4.1-mini"))]
pub(crate) struct Identifier(String);

/// `<provider>/<model_name>`, or the name of a custom model or an alias.
#[derive(Serialize, ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 255, pattern = "^[^/]+(/(.|\\n)+)?$", examples("openai/gpt-4.1-mini"))]
pub(crate) struct ModelName(String);

/// RFC 3339 in UTC with six fraction digits.
#[derive(Serialize, ToSchema)]
#[schema(value_type = String, format = DateTime, examples("2025-01-31T12:00:00.123456Z"))]
pub(crate) struct Time(String);

/// RFC 3339 with any offset; without one it is read as UTC.
#[derive(Serialize, ToSchema)]
#[schema(value_type = String, examples("2025-01-31T12:00:00Z"))]
pub(crate) struct GivenTime(String);

/// The order of a list of functions.
#[derive(Serialize, ToSchema)]
pub(crate) enum FunctionSort {
    #[serde(rename = "name")]
    Name,
    #[serde(rename = "-name")]
    NameDescending,
    #[serde(rename = "created")]
    Created,
    #[serde(rename = "-created")]
    CreatedDescending,
    #[serde(rename = "created_at")]
    CreatedAt,
    #[serde(rename = "-created_at")]
    CreatedAtDescending,
}

/// Why the model stopped.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FinishReason {
    Stop,
    Length,
    ContentFilter,
}

/// Why the model stopped in a conversation.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChatFinishReason {
    Stop,
    Length,
    ContentFilter,
    ToolCalls,
}

/// A text, or several.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Texts {
    One(String),
    Many(Vec<String>),
}

/// What a custom model is for.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ModelKind {
    Llm,
    Embedding,
    Image,
}

/// A model: its name, an object, or an ordered list to fall back along.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ModelSpec {
    /// `<provider>/<model_name>`, or the name of a custom model or an alias.
    Name(String),
    /// With what is sent along.
    Choice(ModelChoice),
    /// Tried in order.
    Fallbacks(Vec<ModelItem>),
}

/// One model of a list.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ModelItem {
    /// `<provider>/<model_name>`, or the name of a custom model or an alias.
    Name(String),
    /// With what is sent along.
    Choice(ModelChoice),
}

/// A model with what is sent along.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModelChoice {
    /// `<provider>/<model_name>`, or the name of a custom model or an alias. `model` is taken as well.
    #[schema(required = false)]
    name: String,
    /// Passed to the model on each invocation.
    options: Option<Object>,
    /// Added to the upstream request.
    extra_headers: Option<BTreeMap<String, String>>,
}

/// A model in object form.
#[derive(Serialize, ToSchema)]
pub(crate) struct StoredModel {
    name: String,
    options: Object,
    extra_headers: BTreeMap<String, String>,
}

/// A model or a list of models, in object form.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum StoredModelSpec {
    /// One model.
    One(StoredModel),
    /// Tried in order.
    Fallbacks(Vec<StoredModel>),
}

/// What is embedded.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum EmbeddingInput {
    /// One text.
    Text(String),
    /// Several.
    Texts(Vec<String>),
}

/// The value of a tag.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum TagValue {
    /// Text.
    Text(String),
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
}

/// Tokens sent and received.
#[derive(Serialize, ToSchema)]
pub(crate) struct Usage {
    /// Tokens sent to the model.
    input_tokens: u64,
    /// Tokens received.
    output_tokens: u64,
    output_tokens_details: OutputTokensDetails,
    /// The sum of both.
    total_tokens: u64,
}

/// What the received tokens were.
#[derive(Serialize, ToSchema)]
pub(crate) struct OutputTokensDetails {
    /// The part that was reasoning.
    reasoning_tokens: u64,
}

/// Cost in USD.
#[derive(Serialize, ToSchema)]
pub(crate) struct Cost {
    /// What the models cost.
    generation: f64,
    /// What the operator adds.
    platform: f64,
    /// The sum of both.
    total: f64,
}
