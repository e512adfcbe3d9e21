//! `/v2/openai/chat/completions`: continuing a conversation.

use std::time::Duration;

use axum::{
    extract::State,
    http::{HeaderMap, HeaderName},
    response::Response,
};
use engine::{Code, Error};

use super::{
    chunks::{ChunkEvent, Chunks},
    completion::CompletionBody,
    request::CreateCompletion,
    tools::Customs,
};
use crate::{
    admission::Permit,
    doors::Doors,
    extract::{Body, Caller},
    problem::{ErrorBody, Problem},
    routes::recorded,
    sse,
};

/// How long an answer is kept for equal requests, in seconds.
const CACHE_TTL: HeaderName = HeaderName::from_static("x-gatewright-cache-ttl");

/// Create a chat completion
///
/// The widely used body. With `"stream": true` the answer comes as events: chunks, then `data: [DONE]`; until the first
/// one is there a failure is a plain error.
#[utoipa::path(post, operation_id = "create_chat_completion", path = "/openai/chat/completions", tag = "openai", request_body = CreateCompletion, params(
    ("X-Gatewright-Cache-Ttl" = Option<u64>, Header, description = "For how many seconds the answer is kept for equal requests; not at all when absent"),
), responses(
    (status = 200, description = "The completion; its span can be read at once", content((CompletionBody = "application/json"), (ChunkEvent = "text/event-stream")),
        headers(("X-Span-Id" = uuid::Uuid, description = "The span that recorded the call"))),
    (status = 400, description = "The call cannot be done, or its answer never satisfied the demanded schema", body = ErrorBody),
    (status = 404, description = "There is no such parent span", body = ErrorBody),
))]
pub(crate) async fn create(
    State(doors): State<Doors>,
    caller: Caller,
    permit: Permit,
    headers: HeaderMap,
    body: Body<CreateCompletion>,
) -> Result<Response, Problem> {
    let (is_streamed, includes_usage) = (body.value.is_streamed(), body.value.includes_usage());
    let chat = body.value.into_call(cache_ttl(&headers)?)?;
    let customs = Customs::of(&chat.request.tools);
    let calls = &doors.gateway.calls;
    if is_streamed {
        let stream = calls.chat_stream(&caller, chat).await?;
        let chunks = Chunks::of(&stream, includes_usage, customs);
        return Ok(sse::answer_in(chunks, stream, permit));
    }
    let result = calls.chat(&caller, chat).await?;
    let span_id = result.span_id;
    Ok(recorded(span_id, CompletionBody::of(result, &customs)))
}

fn cache_ttl(headers: &HeaderMap) -> Result<Duration, Problem> {
    let Some(given) = headers.get(CACHE_TTL) else {
        return Ok(Duration::ZERO);
    };
    let seconds = given
        .to_str()
        .ok()
        .and_then(|text| text.trim().parse::<u32>().ok());
    let seconds = seconds.ok_or_else(|| {
        let reason = format!("the header `{CACHE_TTL}` must be a whole number of seconds");
        Error::text(Code::BadRequest, reason)
    })?;
    Ok(Duration::from_secs(seconds.into()))
}
