//! `/v2/spans/{span_id}/metrics`: measurements that a client adds to a span.

use axum::{Json, extract::State, http::StatusCode};
use domain::{Metric, MetricId, SpanId, Timestamp};
use engine::{MetricChange, NewMetric};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    doors::Doors,
    extract::{Body, Caller, Given, List, Params, Query, RequestBody, given, paged},
    problem::{ErrorBody, Problem},
    schemas,
};

const DEFAULT_LIMIT: u32 = 100;

/// A measurement.
#[derive(Deserialize, ToSchema)]
pub(crate) struct AddMetric {
    /// What was measured. Several metrics may share a dimension.
    dimension: String,
    /// How much.
    value: f64,
    /// In words.
    comment: Option<String>,
}

/// Changes to a metric. What is absent stays as it is; `null` clears what can be cleared.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ChangeMetric {
    /// What was measured.
    dimension: Option<String>,
    /// How much.
    value: Option<f64>,
    /// In words.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    comment: Given<String>,
}

/// A measurement of a span.
#[derive(Serialize, ToSchema)]
#[schema(as = Metric)]
pub(crate) struct MetricBody {
    #[schema(value_type = uuid::Uuid)]
    id: MetricId,
    #[schema(value_type = uuid::Uuid)]
    span_id: SpanId,
    dimension: String,
    value: f64,
    #[schema(required)]
    comment: Option<String>,
    #[schema(value_type = schemas::Time)]
    created_at: Timestamp,
}

/// Add a metric to a span
#[utoipa::path(post, operation_id = "add_span_metric", path = "/spans/{span_id}/metrics", tag = "spans", request_body = AddMetric, params(
    ("span_id" = uuid::Uuid, Path, description = "The span"),
), responses(
    (status = 200, description = "The metric", body = MetricBody),
    (status = 404, description = "There is no such span", body = ErrorBody),
))]
pub(crate) async fn add(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
    body: Body<AddMetric>,
) -> Result<Json<MetricBody>, Problem> {
    let metric = doors
        .gateway
        .spans
        .add_metric(&caller, params.id("span_id")?, body.value.into())
        .await?;
    Ok(Json(metric.into()))
}

/// List the metrics of a span
#[utoipa::path(get, operation_id = "list_span_metrics", path = "/spans/{span_id}/metrics", tag = "spans", params(
    ("span_id" = uuid::Uuid, Path, description = "The span"),
    ("offset" = Option<u32>, Query, description = "How many items to pass over", minimum = 0),
    ("limit" = Option<u32>, Query, description = "How many items to give at most; 100 when absent", minimum = 1, maximum = 100),
), responses(
    (status = 200, description = "A page of metrics", body = List<MetricBody>),
    (status = 404, description = "There is no such span", body = ErrorBody),
))]
pub(crate) async fn list(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
    query: Query,
) -> Result<Json<List<MetricBody>>, Problem> {
    let page = query.page(DEFAULT_LIMIT)?;
    let metrics = doors
        .gateway
        .spans
        .metrics(&caller, params.id("span_id")?, page)
        .await?;
    Ok(paged(metrics))
}

/// Read a metric
#[utoipa::path(get, operation_id = "get_span_metric", path = "/spans/{span_id}/metrics/{metric_id}", tag = "spans", params(
    ("span_id" = uuid::Uuid, Path, description = "The span"),
    ("metric_id" = uuid::Uuid, Path, description = "The metric"),
), responses(
    (status = 200, description = "The metric", body = MetricBody),
    (status = 404, description = "There is no such span or metric", body = ErrorBody),
))]
pub(crate) async fn get(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
) -> Result<Json<MetricBody>, Problem> {
    let (span, metric) = (params.id("span_id")?, params.id("metric_id")?);
    let metric = doors.gateway.spans.metric(&caller, span, metric).await?;
    Ok(Json(metric.into()))
}

/// Change a metric
#[utoipa::path(patch, operation_id = "change_span_metric", path = "/spans/{span_id}/metrics/{metric_id}", tag = "spans", request_body = ChangeMetric, params(
    ("span_id" = uuid::Uuid, Path, description = "The span"),
    ("metric_id" = uuid::Uuid, Path, description = "The metric"),
), responses(
    (status = 200, description = "The changed metric", body = MetricBody),
    (status = 404, description = "There is no such span or metric", body = ErrorBody),
))]
pub(crate) async fn change(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
    body: Body<ChangeMetric>,
) -> Result<Json<MetricBody>, Problem> {
    let (span, metric) = (params.id("span_id")?, params.id("metric_id")?);
    let metric = doors
        .gateway
        .spans
        .change_metric(&caller, span, metric, body.value.into())
        .await?;
    Ok(Json(metric.into()))
}

/// Delete a metric
#[utoipa::path(delete, operation_id = "delete_span_metric", path = "/spans/{span_id}/metrics/{metric_id}", tag = "spans", params(
    ("span_id" = uuid::Uuid, Path, description = "The span"),
    ("metric_id" = uuid::Uuid, Path, description = "The metric"),
), responses(
    (status = 204, description = "The metric is gone"),
    (status = 404, description = "There is no such span or metric", body = ErrorBody),
))]
pub(crate) async fn delete(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
) -> Result<StatusCode, Problem> {
    let (span, metric) = (params.id("span_id")?, params.id("metric_id")?);
    doors
        .gateway
        .spans
        .delete_metric(&caller, span, metric)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

impl RequestBody for AddMetric {}

impl RequestBody for ChangeMetric {}

impl From<AddMetric> for NewMetric {
    fn from(body: AddMetric) -> Self {
        Self {
            dimension: body.dimension,
            value: body.value,
            comment: body.comment,
        }
    }
}

impl From<ChangeMetric> for MetricChange {
    fn from(body: ChangeMetric) -> Self {
        Self {
            dimension: body.dimension,
            value: body.value,
            comment: body.comment,
        }
    }
}

impl From<Metric> for MetricBody {
    fn from(metric: Metric) -> Self {
        Self {
            id: metric.id,
            span_id: metric.span_id,
            dimension: metric.dimension,
            value: metric.value,
            comment: metric.comment,
            created_at: metric.created_at,
        }
    }
}
