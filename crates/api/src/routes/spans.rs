//! `/v2/spans`: what was recorded.

use axum::{Json, extract::State};
use domain::{Span, SpanId, Timestamp, TraceId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    doors::Doors,
    extract::{Caller, Params},
    problem::{ErrorBody, Problem},
    schemas,
};

/// The record of one step.
#[derive(Serialize, ToSchema)]
#[schema(as = Span)]
pub(crate) struct SpanBody {
    #[schema(value_type = uuid::Uuid)]
    id: SpanId,
    /// A call's is its function's name.
    name: String,
    #[schema(value_type = schemas::Time)]
    start_time: Timestamp,
    /// A span without one is running.
    #[schema(value_type = Option<schemas::Time>, required)]
    end_time: Option<Timestamp>,
    #[schema(value_type = uuid::Uuid)]
    trace_id: TraceId,
    #[schema(value_type = Option<uuid::Uuid>, required)]
    parent_id: Option<SpanId>,
    /// `generation` for a call.
    #[serde(rename = "type")]
    kind: String,
    #[schema(value_type = serde_json::Value, required)]
    input: Option<domain::Json>,
    #[schema(value_type = serde_json::Value, required)]
    output: Option<domain::Json>,
    /// What went wrong: `<class>: <reason>`.
    #[schema(required)]
    error: Option<String>,
    /// Of a call: function, revision, model, attempts, usage, cost and tags.
    #[schema(value_type = schemas::Object)]
    meta: domain::Json,
    #[schema(required)]
    score: Option<i64>,
    #[schema(value_type = Option<schemas::Object>, required)]
    feedback: Option<domain::Json>,
}

/// Read a span
#[utoipa::path(get, operation_id = "get_span", path = "/spans/{span_id}", tag = "spans", params(
    ("span_id" = uuid::Uuid, Path, description = "The span"),
), responses(
    (status = 200, description = "The span", body = SpanBody),
    (status = 404, description = "There is no such span", body = ErrorBody),
    (status = 422, description = "The id is no UUID", body = ErrorBody),
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

impl From<Span> for SpanBody {
    fn from(span: Span) -> Self {
        Self {
            id: span.id,
            name: span.name,
            start_time: span.start_time,
            end_time: span.end_time,
            trace_id: span.trace_id,
            parent_id: span.parent_id,
            kind: span.kind.as_str().to_owned(),
            input: span.input,
            output: span.output,
            error: span.error,
            meta: span.meta,
            score: None,
            feedback: None,
        }
    }
}
