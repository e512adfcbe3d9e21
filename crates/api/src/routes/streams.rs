//! `/v2/functions/{function_id}/call/stream`: executing a function and reading the answer as it comes.

use axum::{extract::State, response::Response};
use domain::{RevisionId, RevisionRef};
use engine::StreamForm;

use crate::{
    admission::Permit,
    doors::Doors,
    extract::{Body, Caller, Params},
    problem::{ErrorBody, Problem},
    routes::calls::CallFunction,
    sse::{self, TextEvent},
};

/// Stream a call of a function at its latest revision
///
/// Until the first piece is there a failure is a plain error. The pieces of a function with an output schema are those
/// of the JSON text.
#[utoipa::path(post, operation_id = "stream_function", path = "/functions/{function_id}/call/stream", tag = "calls", request_body = CallFunction, params(
    ("function_id" = uuid::Uuid, Path, description = "The function"),
), responses(
    (status = 200, description = "Events, each with one of these objects as its data; `event: done` or `event: error` is the last", body = TextEvent, content_type = "text/event-stream",
        headers(("X-Span-Id" = uuid::Uuid, description = "The span that recorded the call"))),
    (status = 400, description = "The call cannot be done", body = ErrorBody),
    (status = 404, description = "There is no such function or parent span", body = ErrorBody),
    (status = 422, description = "The request is malformed, or the input does not satisfy the input schema", body = ErrorBody),
))]
pub(crate) async fn stream_latest(
    State(doors): State<Doors>,
    caller: Caller,
    permit: Permit,
    params: Params,
    body: Body<CallFunction>,
) -> Result<Response, Problem> {
    stream(&doors, &caller, permit, &params, None, body).await
}

/// Stream a call of a function at one revision
///
/// As with the latest revision.
#[utoipa::path(post, operation_id = "stream_function_revision", path = "/functions/{function_id}/call/stream/{revision_id}", tag = "calls", request_body = CallFunction, params(
    ("function_id" = uuid::Uuid, Path, description = "The function"),
    ("revision_id" = uuid::Uuid, Path, description = "The revision"),
), responses(
    (status = 200, description = "Events, each with one of these objects as its data; `event: done` or `event: error` is the last", body = TextEvent, content_type = "text/event-stream",
        headers(("X-Span-Id" = uuid::Uuid, description = "The span that recorded the call"))),
    (status = 400, description = "The call cannot be done", body = ErrorBody),
    (status = 404, description = "There is no such function, revision or parent span", body = ErrorBody),
    (status = 422, description = "The request is malformed, or the input does not satisfy the input schema", body = ErrorBody),
))]
pub(crate) async fn stream_revision(
    State(doors): State<Doors>,
    caller: Caller,
    permit: Permit,
    params: Params,
    body: Body<CallFunction>,
) -> Result<Response, Problem> {
    let revision = params.id("revision_id")?;
    stream(&doors, &caller, permit, &params, Some(revision), body).await
}

async fn stream(
    doors: &Doors,
    caller: &Caller,
    permit: Permit,
    params: &Params,
    revision: Option<RevisionId>,
    body: Body<CallFunction>,
) -> Result<Response, Problem> {
    let which = RevisionRef {
        function: params.id("function_id")?,
        revision,
    };
    let stream = doors
        .gateway
        .calls
        .stream(caller, which, body.value.into(), StreamForm::Raw)
        .await?;
    Ok(sse::answer(stream, permit))
}
