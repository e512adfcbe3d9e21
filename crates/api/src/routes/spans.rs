//! `/v2/spans`: what was recorded.

use axum::{Json, extract::State, http::StatusCode};
use domain::{Feedback, JsonObject, Span, SpanChange, SpanId, SpanKind, Timestamp, TraceId};
use engine::NewSpan;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    doors::Doors,
    extract::{Body, Caller, Given, Integer, Params, RequestBody, given},
    problem::{ErrorBody, Problem},
    schemas,
};

/// A span to be recorded.
#[derive(Deserialize, ToSchema)]
pub(crate) struct CreateSpan {
    /// Its id; a new one when absent.
    #[schema(value_type = Option<uuid::Uuid>)]
    id: Option<SpanId>,
    /// What it is found by.
    name: String,
    /// When the step began; now when absent.
    #[schema(value_type = Option<schemas::GivenTime>)]
    start_time: Option<Timestamp>,
    /// When it ended.
    #[schema(value_type = Option<schemas::GivenTime>)]
    end_time: Option<Timestamp>,
    /// The tree that it belongs to; the parent's, else a new one, when absent.
    #[schema(value_type = Option<uuid::Uuid>)]
    trace_id: Option<TraceId>,
    /// The span above it.
    #[schema(value_type = Option<uuid::Uuid>)]
    parent_id: Option<SpanId>,
    /// What kind of step it is.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// What went in.
    #[schema(value_type = serde_json::Value, required = false)]
    input: Option<domain::Json>,
    /// What came out.
    #[schema(value_type = serde_json::Value, required = false)]
    output: Option<domain::Json>,
    /// What went wrong.
    error: Option<String>,
    /// Further members.
    #[schema(value_type = Option<schemas::Object>)]
    meta: Option<JsonObject>,
    /// How good it was.
    #[schema(value_type = Option<i64>)]
    score: Option<Integer>,
}

/// Changes to a span. What is absent stays as it is; `null` clears what can be cleared.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ChangeSpan {
    /// A new name.
    name: Option<String>,
    /// When the step began.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<schemas::GivenTime>)]
    start_time: Given<Timestamp>,
    /// When it ended.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<schemas::GivenTime>)]
    end_time: Given<Timestamp>,
    /// What kind of step it is.
    #[serde(default, rename = "type", deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    kind: Given<String>,
    /// What went in.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = serde_json::Value, required = false)]
    input: Given<domain::Json>,
    /// What came out.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = serde_json::Value, required = false)]
    output: Given<domain::Json>,
    /// What went wrong.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    error: Given<String>,
    /// Members laid over the present ones one by one.
    #[schema(value_type = Option<schemas::Object>)]
    meta: Option<JsonObject>,
    /// How good it was.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i64>)]
    score: Given<Integer>,
}

/// The record of one step.
#[derive(Serialize, ToSchema)]
#[schema(as = Span)]
pub(crate) struct SpanBody {
    #[schema(value_type = uuid::Uuid)]
    id: SpanId,
    /// A call's is its function's name.
    name: String,
    #[schema(value_type = Option<schemas::Time>, required)]
    start_time: Option<Timestamp>,
    /// A span without one is running.
    #[schema(value_type = Option<schemas::Time>, required)]
    end_time: Option<Timestamp>,
    #[schema(value_type = uuid::Uuid)]
    trace_id: TraceId,
    #[schema(value_type = Option<uuid::Uuid>, required)]
    parent_id: Option<SpanId>,
    /// `generation` for a call.
    #[serde(rename = "type")]
    #[schema(required)]
    kind: Option<String>,
    #[schema(value_type = serde_json::Value, required)]
    input: Option<domain::Json>,
    #[schema(value_type = serde_json::Value, required)]
    output: Option<domain::Json>,
    /// What went wrong; of a call `<class>: <reason>`.
    #[schema(required)]
    error: Option<String>,
    /// Of a call: function, revision, model, attempts, usage, cost and tags.
    #[schema(value_type = schemas::Object)]
    meta: domain::Json,
    /// A client's word, else the observer's.
    #[schema(required)]
    score: Option<i64>,
    #[schema(required)]
    feedback: Option<FeedbackBody>,
}

/// What a client says of a span.
#[derive(Serialize, ToSchema)]
#[schema(as = Feedback)]
pub(crate) struct FeedbackBody {
    /// From 0 to 1.
    score: f64,
    /// In words.
    #[schema(required)]
    comment: Option<String>,
}

/// Record a span
#[utoipa::path(post, operation_id = "create_span", path = "/spans", tag = "spans", request_body = CreateSpan, responses(
    (status = 200, description = "The recorded span", body = SpanBody),
    (status = 404, description = "There is no such parent span", body = ErrorBody),
    (status = 409, description = "The id is taken", body = ErrorBody),
))]
pub(crate) async fn create(
    State(doors): State<Doors>,
    caller: Caller,
    body: Body<CreateSpan>,
) -> Result<Json<SpanBody>, Problem> {
    let span = doors
        .gateway
        .spans
        .create(&caller, body.value.into())
        .await?;
    Ok(Json(span.into()))
}

/// Read a span
#[utoipa::path(get, operation_id = "get_span", path = "/spans/{span_id}", tag = "spans", params(
    ("span_id" = uuid::Uuid, Path, description = "The span"),
), responses(
    (status = 200, description = "The span", body = SpanBody),
    (status = 404, description = "There is no such span", body = ErrorBody),
))]
pub(crate) async fn get(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
) -> Result<Json<SpanBody>, Problem> {
    let span = doors
        .gateway
        .spans
        .get(&caller, params.id("span_id")?)
        .await?;
    Ok(Json(span.into()))
}

/// Change a span
#[utoipa::path(patch, operation_id = "change_span", path = "/spans/{span_id}", tag = "spans", request_body = ChangeSpan, params(
    ("span_id" = uuid::Uuid, Path, description = "The span"),
), responses(
    (status = 200, description = "The changed span", body = SpanBody),
    (status = 404, description = "There is no such span", body = ErrorBody),
))]
pub(crate) async fn change(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
    body: Body<ChangeSpan>,
) -> Result<Json<SpanBody>, Problem> {
    let span = doors
        .gateway
        .spans
        .change(&caller, params.id("span_id")?, body.value.into())
        .await?;
    Ok(Json(span.into()))
}

/// Delete a span
///
/// The spans under it stay, and go on naming it as their parent.
#[utoipa::path(delete, operation_id = "delete_span", path = "/spans/{span_id}", tag = "spans", params(
    ("span_id" = uuid::Uuid, Path, description = "The span"),
), responses(
    (status = 204, description = "The span is gone"),
    (status = 404, description = "There is no such span", body = ErrorBody),
))]
pub(crate) async fn delete(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
) -> Result<StatusCode, Problem> {
    doors
        .gateway
        .spans
        .delete(&caller, params.id("span_id")?)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

impl RequestBody for CreateSpan {}

impl RequestBody for ChangeSpan {}

impl From<CreateSpan> for NewSpan {
    fn from(body: CreateSpan) -> Self {
        Self {
            id: body.id,
            name: body.name,
            kind: body.kind.map(SpanKind::new),
            trace_id: body.trace_id,
            parent_id: body.parent_id,
            start_time: body.start_time,
            end_time: body.end_time,
            input: body.input,
            output: body.output,
            error: body.error,
            meta: body.meta.unwrap_or_default(),
            score: body.score.map(|Integer(score)| score),
        }
    }
}

impl From<ChangeSpan> for SpanChange {
    fn from(body: ChangeSpan) -> Self {
        Self {
            name: body.name,
            kind: body.kind.map(|kind| kind.map(SpanKind::new)),
            start_time: body.start_time,
            end_time: body.end_time,
            input: body.input,
            output: body.output,
            error: body.error,
            meta: body.meta,
            score: body.score.map(|score| score.map(|Integer(score)| score)),
        }
    }
}

impl From<Span> for SpanBody {
    fn from(span: Span) -> Self {
        Self {
            id: span.id,
            name: span.name,
            start_time: span.start_time,
            end_time: span.end_time,
            trace_id: span.trace_id,
            parent_id: span.parent_id,
            kind: span.kind.map(|kind| kind.as_str().to_owned()),
            input: span.input,
            output: span.output,
            error: span.error,
            meta: span.meta,
            score: span.score,
            feedback: span.feedback.map(FeedbackBody::from),
        }
    }
}

impl From<Feedback> for FeedbackBody {
    fn from(feedback: Feedback) -> Self {
        Self {
            score: feedback.score,
            comment: feedback.comment,
        }
    }
}
