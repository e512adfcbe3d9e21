//! `/v2/functions/{function_id}/call`: executing a function.

use axum::{extract::State, response::Response};
use domain::{
    CallRequest, CallResult, Cost, Example, Invalid, Output, RevisionId, RevisionRef, SpanId, Tags,
    Usage,
};
use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::ToSchema;

use crate::{
    doors::Doors,
    extract::{Body, Caller, Params, RequestBody, object},
    problem::{ErrorBody, Problem},
    routes::recorded,
    schemas,
};

const MAX_EXAMPLES: usize = 256;

/// What a call takes.
#[derive(Deserialize, ToSchema)]
pub(crate) struct CallFunction {
    /// Checked against the function's input schema, if it has one.
    #[schema(value_type = serde_json::Value, required = false)]
    input: Option<domain::Json>,
    /// The span under which the call is recorded.
    #[schema(value_type = Option<uuid::Uuid>)]
    parent_span_id: Option<SpanId>,
    /// Demonstrations for the model.
    #[serde(default, deserialize_with = "examples")]
    #[schema(max_items = 256)]
    examples: Option<Vec<ExampleBody>>,
    /// Kept with the span. Values are strings, numbers or booleans.
    #[schema(value_type = Option<BTreeMap<String, schemas::TagValue>>)]
    tags: Option<Tags>,
}

/// A demonstration of what an input should lead to.
#[derive(ToSchema)]
#[schema(as = Example)]
pub(crate) struct ExampleBody {
    /// An input.
    #[schema(value_type = serde_json::Value, required)]
    input: domain::Json,
    /// The output that it should lead to.
    #[schema(value_type = serde_json::Value, required)]
    output: domain::Json,
    /// What to note about it.
    comment: Option<String>,
}

impl<'de> Deserialize<'de> for ExampleBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Members {
            input: domain::Json,
            output: domain::Json,
            comment: Option<String>,
        }
        let Members {
            input,
            output,
            comment,
        } = object(deserializer)?;
        Ok(Self {
            input,
            output,
            comment,
        })
    }
}

/// What a call gives.
#[derive(Serialize, ToSchema)]
#[schema(as = CallResult)]
pub(crate) struct CallResultBody {
    /// The span that recorded the call.
    #[schema(value_type = uuid::Uuid)]
    span_id: SpanId,
    /// The text, of a function without an output schema.
    #[schema(required)]
    message: Option<String>,
    /// The value, of a function with an output schema.
    #[schema(value_type = serde_json::Value, required)]
    json_payload: Option<domain::Json>,
    /// Whether the result came from the cache.
    cached: bool,
    /// Of image models only.
    #[schema(required)]
    images: Option<Vec<String>>,
    #[schema(value_type = schemas::Usage)]
    usage: Usage,
    #[schema(value_type = schemas::Cost)]
    cost: Cost,
}

/// Call a function at one revision
#[utoipa::path(post, operation_id = "call_function_revision", path = "/functions/{function_id}/call/{revision_id}", tag = "calls", request_body = CallFunction, params(
    ("function_id" = uuid::Uuid, Path, description = "The function"),
    ("revision_id" = uuid::Uuid, Path, description = "The revision"),
), responses(
    (status = 200, description = "The result; its span can be read at once", body = CallResultBody,
        headers(("X-Span-Id" = uuid::Uuid, description = "The span that recorded the call"))),
    (status = 400, description = "The call cannot be done, or its answer never satisfied the output schema", body = ErrorBody),
    (status = 404, description = "There is no such function, revision or parent span", body = ErrorBody),
    (status = 422, description = "The request is malformed, or the input does not satisfy the input schema", body = ErrorBody),
))]
pub(crate) async fn call_revision(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
    body: Body<CallFunction>,
) -> Result<Response, Problem> {
    let revision = params.id("revision_id")?;
    call(&doors, &caller, &params, Some(revision), body).await
}

/// Call a function at its latest revision
#[utoipa::path(post, operation_id = "call_function", path = "/functions/{function_id}/call", tag = "calls", request_body = CallFunction, params(
    ("function_id" = uuid::Uuid, Path, description = "The function"),
), responses(
    (status = 200, description = "The result; its span can be read at once", body = CallResultBody,
        headers(("X-Span-Id" = uuid::Uuid, description = "The span that recorded the call"))),
    (status = 400, description = "The call cannot be done, or its answer never satisfied the output schema", body = ErrorBody),
    (status = 404, description = "There is no such function or parent span", body = ErrorBody),
    (status = 422, description = "The request is malformed, or the input does not satisfy the input schema", body = ErrorBody),
))]
pub(crate) async fn call_latest(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
    body: Body<CallFunction>,
) -> Result<Response, Problem> {
    call(&doors, &caller, &params, None, body).await
}

async fn call(
    doors: &Doors,
    caller: &Caller,
    params: &Params,
    revision: Option<RevisionId>,
    body: Body<CallFunction>,
) -> Result<Response, Problem> {
    let which = RevisionRef {
        function: params.id("function_id")?,
        revision,
    };
    let result = doors
        .gateway
        .calls
        .call(caller, which, body.value.into())
        .await?;
    Ok(answer(result))
}

/// The answer to a call that went well.
pub(crate) fn answer(result: CallResult) -> Response {
    recorded(result.span_id, CallResultBody::from(result))
}

/// Reads a bounded list of demonstrations.
pub(crate) fn examples<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<ExampleBody>>, D::Error> {
    let examples = Option::<Vec<ExampleBody>>::deserialize(deserializer)?;
    if examples
        .as_ref()
        .is_some_and(|examples| examples.len() > MAX_EXAMPLES)
    {
        let fault = Invalid::new("too_long", format!("at most {MAX_EXAMPLES} examples"));
        return Err(de::Error::custom(fault));
    }
    Ok(examples)
}

impl RequestBody for CallFunction {
    const MAY_BE_EMPTY: bool = true;
}

impl From<CallFunction> for CallRequest {
    fn from(body: CallFunction) -> Self {
        let examples = body.examples.unwrap_or_default();
        Self {
            input: body.input,
            parent_span_id: body.parent_span_id,
            examples: examples.into_iter().map(Example::from).collect(),
            tags: body.tags.unwrap_or_default(),
        }
    }
}

impl From<ExampleBody> for Example {
    fn from(body: ExampleBody) -> Self {
        Self {
            input: body.input,
            output: body.output,
            comment: body.comment,
        }
    }
}

impl From<CallResult> for CallResultBody {
    fn from(result: CallResult) -> Self {
        let images = result.all_images();
        let (message, json_payload) = match result.output {
            Output::Message(text) => (Some(text), None),
            Output::Payload(value) => (None, Some(value)),
            Output::Images(_) => (None, None),
        };
        Self {
            span_id: result.span_id,
            message,
            json_payload,
            cached: result.cached,
            images,
            usage: result.usage,
            cost: result.cost,
        }
    }
}
