//! `/v2/spans/{span_id}/feedback` and `/v2/spans/{span_id}/save_examples`: what a client makes of a span.

use axum::{Json, extract::State, http::StatusCode};
use domain::{DatasetId, Entry, EntryId, Feedback, SpanId};
use engine::Rated;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    doors::Doors,
    extract::{Body, Caller, NoBody, Params, RequestBody, share},
    problem::{ErrorBody, Problem},
};

/// What a client says of a span.
#[derive(Deserialize, ToSchema)]
pub(crate) struct GiveFeedback {
    /// From 0 to 1.
    #[serde(deserialize_with = "share")]
    #[schema(minimum = 0, maximum = 1)]
    score: f64,
    /// In words.
    comment: Option<String>,
    /// Whether the span becomes an example in its function's dataset.
    save_to_dataset: Option<bool>,
}

/// What was noted.
#[derive(Serialize, ToSchema)]
pub(crate) struct GivenFeedback {
    #[schema(value_type = uuid::Uuid)]
    span_id: SpanId,
    score: f64,
    #[schema(required)]
    comment: Option<String>,
    /// Whether an example was saved.
    example_saved: bool,
}

/// An example that was saved.
#[derive(Serialize, ToSchema)]
pub(crate) struct SavedExample {
    #[schema(value_type = uuid::Uuid)]
    dataset_id: DatasetId,
    #[schema(value_type = uuid::Uuid)]
    dataset_entry_id: EntryId,
    /// A string as it is, anything else as JSON text.
    input: String,
    /// A string as it is, anything else as JSON text.
    output: String,
    /// A string as it is, anything else as JSON text.
    #[schema(required)]
    expected: Option<String>,
    #[schema(required)]
    comment: Option<String>,
}

/// Give feedback on a span
///
/// The latest replaces the earlier.
#[utoipa::path(post, operation_id = "give_span_feedback", path = "/spans/{span_id}/feedback", tag = "spans", request_body = GiveFeedback, params(
    ("span_id" = uuid::Uuid, Path, description = "The span"),
), responses(
    (status = 200, description = "What was noted", body = GivenFeedback),
    (status = 404, description = "There is no such span", body = ErrorBody),
))]
pub(crate) async fn give(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
    body: Body<GiveFeedback>,
) -> Result<Json<GivenFeedback>, Problem> {
    let span_id = params.id("span_id")?;
    let GiveFeedback {
        score,
        comment,
        save_to_dataset,
    } = body.value;
    let feedback = Feedback { score, comment };
    let rated = doors
        .gateway
        .spans
        .rate(&caller, span_id, feedback, save_to_dataset)
        .await?;
    Ok(Json(GivenFeedback::of(span_id, rated)))
}

/// Save a span as an example
///
/// Every call at or below the span is saved to its own function's dataset; the answer is the last that was.
#[utoipa::path(post, operation_id = "save_span_examples", path = "/spans/{span_id}/save_examples", tag = "spans", params(
    ("span_id" = uuid::Uuid, Path, description = "The span"),
), responses(
    (status = 201, description = "The example that was saved last", body = SavedExample),
    (status = 400, description = "There is no call at or below the span", body = ErrorBody),
    (status = 404, description = "There is no such span", body = ErrorBody),
))]
pub(crate) async fn save_examples(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
    _: NoBody,
) -> Result<(StatusCode, Json<SavedExample>), Problem> {
    let entry = doors
        .gateway
        .spans
        .save_examples(&caller, params.id("span_id")?)
        .await?;
    Ok((StatusCode::CREATED, Json(entry.into())))
}

impl RequestBody for GiveFeedback {}

impl GivenFeedback {
    fn of(span_id: SpanId, rated: Rated) -> Self {
        Self {
            span_id,
            score: rated.feedback.score,
            comment: rated.feedback.comment,
            example_saved: rated.example_saved,
        }
    }
}

impl From<Entry> for SavedExample {
    fn from(entry: Entry) -> Self {
        Self {
            dataset_id: entry.dataset_id,
            dataset_entry_id: entry.id,
            input: entry.input.to_text(),
            output: entry.output.to_text(),
            expected: entry.expected.as_ref().map(domain::Json::to_text),
            comment: entry.comment,
        }
    }
}
