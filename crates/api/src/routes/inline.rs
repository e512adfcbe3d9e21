//! `/v2/call`: executing a function by its name, with a definition that comes along.

use axum::{extract::State, response::Response};
use domain::{CallRequest, Example, FunctionName, JsonObject, ModelSpec, SpanId, Tags};
use engine::{Inline, StreamForm};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    admission::Permit,
    doors::Doors,
    extract::{Body, Caller, RequestBody},
    problem::{ErrorBody, Problem},
    routes::calls::{CallResultBody, ExampleBody, answer, examples},
    schemas,
    sse::{self, AnyEvent},
};

/// A call by name. The function is made on the first use of the name; later, what is given replaces what is stored.
#[derive(Deserialize, ToSchema)]
pub(crate) struct CallByName {
    /// The function's name.
    #[schema(value_type = schemas::FunctionName)]
    name: FunctionName,
    /// The prompt; `You are a helpful assistant` for a new function without one.
    instructions: Option<String>,
    /// What inputs must satisfy: a JSON Schema.
    #[schema(value_type = Option<schemas::Object>)]
    input_schema: Option<domain::Json>,
    /// What outputs must satisfy: a JSON Schema.
    #[schema(value_type = Option<schemas::Object>)]
    output_schema: Option<domain::Json>,
    /// Checked against the input schema, if there is one.
    #[schema(value_type = serde_json::Value, required = false)]
    input: Option<domain::Json>,
    /// Who is asked.
    #[schema(value_type = Option<schemas::ModelSpec>)]
    model: Option<ModelSpec>,
    /// Demonstrations for the model.
    #[serde(default, deserialize_with = "examples")]
    #[schema(max_items = 256)]
    examples: Option<Vec<ExampleBody>>,
    /// The span under which the call is recorded.
    #[schema(value_type = Option<uuid::Uuid>)]
    parent_span_id: Option<SpanId>,
    /// Kept with the span. Values are strings, numbers or booleans.
    #[schema(value_type = Option<BTreeMap<String, schemas::TagValue>>)]
    tags: Option<Tags>,
    /// Settings laid over the stored ones key by key.
    #[schema(value_type = Option<schemas::Object>)]
    configuration: Option<JsonObject>,
}

/// Call a function by its name
///
/// The function is made on the first use of the name. A definition that is new becomes the latest revision.
#[utoipa::path(post, operation_id = "call_by_name", path = "/call", tag = "calls", request_body = CallByName, responses(
    (status = 200, description = "The result; its span can be read at once", body = CallResultBody,
        headers(("X-Span-Id" = uuid::Uuid, description = "The span that recorded the call"))),
    (status = 400, description = "The call cannot be done, or its answer never satisfied the output schema", body = ErrorBody),
    (status = 404, description = "There is no such parent span", body = ErrorBody),
    (status = 422, description = "The request is malformed, or the input does not satisfy the input schema", body = ErrorBody),
))]
pub(crate) async fn call(
    State(doors): State<Doors>,
    caller: Caller,
    body: Body<CallByName>,
) -> Result<Response, Problem> {
    let (inline, request) = body.value.into();
    let which = doors.gateway.functions.ensure(&caller, inline).await?;
    let result = doors.gateway.calls.call(&caller, which, request).await?;
    Ok(answer(result))
}

/// Stream a call of a function by its name
///
/// Until the first piece is there a failure is a plain error. A function with an output schema gives its value leaf by
/// leaf.
#[utoipa::path(post, operation_id = "stream_by_name", path = "/call/stream", tag = "calls", request_body = CallByName, responses(
    (status = 200, description = "Events, each with one of these objects as its data; `event: done` or `event: error` is the last", body = AnyEvent, content_type = "text/event-stream",
        headers(("X-Span-Id" = uuid::Uuid, description = "The span that recorded the call"))),
    (status = 400, description = "The call cannot be done", body = ErrorBody),
    (status = 404, description = "There is no such parent span", body = ErrorBody),
    (status = 422, description = "The request is malformed, or the input does not satisfy the input schema", body = ErrorBody),
))]
pub(crate) async fn stream(
    State(doors): State<Doors>,
    caller: Caller,
    permit: Permit,
    body: Body<CallByName>,
) -> Result<Response, Problem> {
    let (inline, request) = body.value.into();
    let which = doors.gateway.functions.ensure(&caller, inline).await?;
    let stream = doors
        .gateway
        .calls
        .stream(&caller, which, request, StreamForm::Leaves)
        .await?;
    Ok(sse::answer(stream, permit))
}

impl RequestBody for CallByName {}

impl From<CallByName> for (Inline, CallRequest) {
    fn from(body: CallByName) -> Self {
        let inline = Inline {
            name: body.name,
            instructions: body.instructions,
            input_schema: body.input_schema,
            output_schema: body.output_schema,
            model: body.model,
            configuration: body.configuration.unwrap_or_default(),
        };
        let examples = body.examples.unwrap_or_default();
        let request = CallRequest {
            input: body.input,
            parent_span_id: body.parent_span_id,
            examples: examples.into_iter().map(Example::from).collect(),
            tags: body.tags.unwrap_or_default(),
        };
        (inline, request)
    }
}
