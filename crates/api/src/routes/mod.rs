//! The routes: body types and thin handlers, one file per noun.

pub(crate) mod aliases;
pub(crate) mod calls;
pub(crate) mod datasets;
pub(crate) mod embeddings;
pub(crate) mod feedback;
pub(crate) mod functions;
pub(crate) mod health;
pub(crate) mod inline;
pub(crate) mod metrics;
pub(crate) mod models;
pub(crate) mod ocr;
pub(crate) mod offers;
pub(crate) mod openai;
pub(crate) mod rerank;
pub(crate) mod spans;
pub(crate) mod streams;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use domain::SpanId;
use serde::Serialize;

use crate::problem::{SPAN_ID, span_header};

/// The answer to what was recorded.
fn recorded(span_id: SpanId, body: impl Serialize) -> Response {
    ([(SPAN_ID, span_header(span_id))], Json(body)).into_response()
}
