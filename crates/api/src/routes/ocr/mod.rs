//! `/v2/ocr`: what stands on a document's pages.

mod answer;
mod request;

use axum::{Json, extract::State, response::Response};
use domain::Paged;
use engine::OcrCall;

use crate::{
    doors::Doors,
    extract::{Body, Caller, List, paged},
    problem::{ErrorBody, Problem},
    routes::recorded,
};

use answer::OcrModelBody;
pub(crate) use answer::ReadBody;
use request::ReadDocument;

/// Read a document
#[utoipa::path(post, operation_id = "ocr", path = "/ocr", tag = "ocr", request_body = ReadDocument, responses(
    (status = 200, description = "What stands on its pages; the span can be read at once", body = ReadBody,
        headers(("X-Span-Id" = uuid::Uuid, description = "The span that recorded it"))),
    (status = 400, description = "The model cannot be asked for this, or the document's address may not be dialled", body = ErrorBody),
))]
pub(crate) async fn recognize(
    State(doors): State<Doors>,
    caller: Caller,
    body: Body<ReadDocument>,
) -> Result<Response, Problem> {
    let call = OcrCall::try_from(body.value).map_err(|fault| Problem::invalid("body", &fault))?;
    let model = call.model.clone();
    let read = doors.gateway.ocr.recognize(&caller, call).await?;
    let span_id = read.span_id;
    Ok(recorded(span_id, ReadBody::of(read, &model)))
}

/// List models that read documents
///
/// This machine's own first, then those of configured providers, then the project's that say so. Models that see can be
/// asked too, with `vision/` before their names.
#[utoipa::path(get, operation_id = "list_ocr_models", path = "/ocr/models", tag = "ocr", responses(
    (status = 200, description = "All of them", body = List<OcrModelBody>),
))]
pub(crate) async fn models(
    State(doors): State<Doors>,
    caller: Caller,
) -> Result<Json<List<OcrModelBody>>, Problem> {
    let models = doors.gateway.ocr.models(&caller).await?;
    Ok(paged(Paged {
        total: models.len() as u64,
        items: models,
    }))
}
