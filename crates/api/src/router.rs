//! One table of every route. The router and the API document are made from it.

use std::sync::LazyLock;

use axum::{
    Router,
    http::header,
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::get,
};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::{
    Modify, OpenApi,
    openapi::{
        ContentBuilder, OpenApi as Document, Ref, RefOr, Required, ResponseBuilder,
        path::{Operation, ParameterIn},
        security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme},
    },
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    admission::{admit, admit_rows},
    dashboard,
    doors::{Doors, attend},
    extract::lock,
    problem::Problem,
    routes::{
        aliases, calls, datasets, embeddings, feedback, functions, health, inline, metrics, models,
        ocr, offers, openai, rerank, spans, streams,
    },
    schemas,
};

/// The head of the document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Gatewright",
        description = "Stored functions over language models: validated results, token usage, cost, and a durable \
                       span of every call."
    ),
    components(schemas(schemas::FunctionSort)),
    modifiers(&BearerToken),
    tags(
        (name = "functions", description = "Stored tasks and their revisions"),
        (name = "calls", description = "Executing functions"),
        (name = "models", description = "Models that a project registers, and names for lists of models"),
        (name = "embeddings", description = "Texts as vectors"),
        (name = "rerank", description = "Texts in the order in which they answer a query"),
        (name = "ocr", description = "What stands on the pages of documents"),
        (name = "spans", description = "What was recorded"),
        (name = "datasets", description = "The examples that belong to a function"),
        (name = "openai", description = "Chat completions, embeddings and models in the shapes of the OpenAI ecosystem"),
    )
)]
struct Head;

struct BearerToken;

impl Modify for BearerToken {
    fn modify(&self, document: &mut Document) {
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(
                "A project's token, as `gatewright token create --project NAME` prints it.",
            ));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(bearer.build()));
        document.security = Some(vec![SecurityRequirement::new(
            "token",
            Vec::<String>::new(),
        )]);
    }
}

/// The routes that ask models, which takes leave.
fn asking() -> OpenApiRouter<Doors> {
    OpenApiRouter::new()
        .routes(routes!(calls::call_latest))
        .routes(routes!(calls::call_revision))
        .routes(routes!(streams::stream_latest))
        .routes(routes!(streams::stream_revision))
        .routes(routes!(inline::call))
        .routes(routes!(inline::stream))
        .routes(routes!(embeddings::create))
        .routes(routes!(rerank::rerank))
        .routes(routes!(ocr::recognize))
        .routes(routes!(openai::chat::create))
        .routes(routes!(openai::embeddings::create))
}

/// All other routes under `/v2`, as they stand in the document.
fn keeping() -> OpenApiRouter<Doors> {
    OpenApiRouter::new()
        .routes(routes!(functions::create, functions::list))
        .routes(routes!(
            functions::get,
            functions::change,
            functions::delete
        ))
        .routes(routes!(functions::revisions))
        .routes(routes!(functions::at_revision))
        .routes(routes!(offers::list))
        .routes(routes!(models::register, models::list))
        .routes(routes!(models::get, models::change, models::delete))
        .routes(routes!(aliases::create, aliases::list))
        .routes(routes!(aliases::get, aliases::change, aliases::delete))
        .routes(routes!(rerank::models))
        .routes(routes!(ocr::models))
        .routes(routes!(spans::create))
        .routes(routes!(spans::get, spans::change, spans::delete))
        .routes(routes!(feedback::give))
        .routes(routes!(feedback::save_examples))
        .routes(routes!(metrics::add, metrics::list))
        .routes(routes!(metrics::get, metrics::change, metrics::delete))
        .routes(routes!(datasets::add))
        .routes(routes!(datasets::create, datasets::list))
        .routes(routes!(datasets::query))
        .routes(routes!(datasets::get, datasets::change, datasets::delete))
        .routes(routes!(openai::models::list))
}

/// Routes whose last parameter takes slashes, raw ones too. A document cannot say that: it shows a plain parameter.
fn by_name() -> Router<Doors> {
    Router::new()
        .route("/functions/by-name/{*name}", get(functions::get_by_name))
        .route("/models/custom/by-name/{*name}", get(models::get_by_name))
        .route("/models/aliases/by-name/{*name}", get(aliases::get_by_name))
        .route("/openai/models/{*name}", get(openai::models::get))
}

/// The API document, as text.
pub(crate) static DOCUMENT: LazyLock<String> = LazyLock::new(|| {
    let v2 = keeping()
        .merge(asking())
        .routes(routes!(functions::get_by_name))
        .routes(routes!(models::get_by_name))
        .routes(routes!(aliases::get_by_name))
        .routes(routes!(openai::models::get));
    let mut document = Head::openapi();
    document.merge(OpenApiRouter::<Doors>::new().nest("/v2", v2).into_openapi());
    for (path, item) in &mut document.paths.paths {
        let operations = [
            &mut item.get,
            &mut item.post,
            &mut item.patch,
            &mut item.delete,
        ];
        for operation in operations.into_iter().flatten() {
            refuses(operation);
            takes_no_body_as_well(path, operation);
        }
    }
    document
        .to_pretty_json()
        .expect("the document serializes: its keys are strings")
        + "\n"
});

/// What an operation may answer because of what it takes and does, so that no handler has to say it. Where one says more of
/// a status, that stands.
fn refuses(operation: &mut Operation) {
    let parameters = operation.parameters.iter().flatten();
    let (mut has_id, mut has_query) = (false, false);
    for parameter in parameters {
        let RefOr::T(parameter) = parameter else {
            continue;
        };
        has_id |= parameter.parameter_in == ParameterIn::Path && parameter.name != "name";
        has_query |= parameter.parameter_in == ParameterIn::Query;
    }
    let has_body = operation.request_body.is_some();
    let answers = &mut operation.responses.responses;
    let asks_models = matches!(
        answers.get("200"),
        Some(RefOr::T(answer)) if answer.headers.contains_key("X-Span-Id")
    );
    let refusals = [
        (true, "401", "The bearer token is missing or not valid"),
        (has_body, "413", "The body is too large"),
        (has_body || has_query, "422", "The request is malformed"),
        (has_id, "422", "An id is no UUID"),
        (asks_models, "429", "A rate limit was exceeded"),
        (true, "500", "An internal error occurred"),
        (asks_models, "502", "The model provider failed"),
        (
            true,
            "503",
            "The service is unavailable; `Retry-After` says when to come back",
        ),
        (
            asks_models,
            "504",
            "The model provider did not answer in time",
        ),
    ];
    for (_, status, description) in refusals.into_iter().filter(|(holds, ..)| *holds) {
        let error = ContentBuilder::new()
            .schema(Some(Ref::from_schema_name("Error")))
            .build();
        let response = ResponseBuilder::new()
            .description(description)
            .content("application/json", error)
            .build();
        answers.entry(status.to_owned()).or_insert(response.into());
    }
}

/// A call of a stored function without a body is a call without an input.
fn takes_no_body_as_well(path: &str, operation: &mut Operation) {
    let is_call = path.starts_with("/v2/functions/{function_id}/call");
    if let Some(RefOr::T(body)) = operation.request_body.as_mut().filter(|_| is_call) {
        body.required = Some(Required::False);
    }
}

/// The router of the main address.
pub(crate) fn router(doors: Doors) -> Router {
    let asking = asking().layer(from_fn_with_state(doors.clone(), admit));
    let keeping = keeping().layer(from_fn_with_state(doors.clone(), admit_rows));
    let (v2, _) = asking.merge(keeping).split_for_parts();
    let v2 = v2
        .merge(by_name())
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(doors.clone(), lock));
    Router::new()
        .nest("/v2", v2)
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(document))
        .with_state(doors.clone())
        .merge(dashboard::routes())
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(doors, attend))
}

/// The router of `metrics.listen`.
pub(crate) fn metrics_router(doors: Doors) -> Router {
    Router::new()
        .route("/metrics", get(health::metrics_elsewhere))
        .fallback(no_route)
        .layer(from_fn_with_state(doors.clone(), attend))
        .with_state(doors)
}

async fn document() -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "application/json")],
        DOCUMENT.as_str(),
    )
}

async fn no_route(request: axum::extract::Request) -> Problem {
    crate::extract::drain(request).await;
    Problem::no_route()
}

async fn wrong_method(request: axum::extract::Request) -> Problem {
    crate::extract::drain(request).await;
    Problem::wrong_method()
}

/// A panic is a bug: it answers 500 to one request, and the service lives on. The panic hook has reported it.
fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    Problem::from(engine::Error::text(engine::Code::Internal, "")).into_response()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_routes_do_not_collide() {
        let (v2, _) = asking().merge(keeping()).split_for_parts();

        let _ = v2.merge(by_name());
    }

    #[test]
    fn a_stream_is_documented_by_the_data_of_its_events() {
        let document: Value = serde_json::from_str(&DOCUMENT).unwrap();
        for path in [
            "/v2/functions/{function_id}/call/stream",
            "/v2/functions/{function_id}/call/stream/{revision_id}",
            "/v2/call/stream",
        ] {
            let answer = &document["paths"][path]["post"]["responses"]["200"];

            let event = answer["content"]["text/event-stream"]["schema"]["$ref"].as_str();

            let event = document.pointer(&event.unwrap()[1..]).unwrap();
            assert!(event["anyOf"].as_array().unwrap().len() >= 3, "{path}");
        }
    }

    #[test]
    fn only_the_call_of_a_stored_function_may_come_without_a_body() {
        let document: Value = serde_json::from_str(&DOCUMENT).unwrap();
        let is_required =
            |path: &str| document["paths"][path]["post"]["requestBody"]["required"] != false;

        assert!(!is_required("/v2/functions/{function_id}/call"));
        assert!(!is_required("/v2/functions/{function_id}/call/stream"));
        assert!(is_required("/v2/call"));
        assert!(is_required("/v2/call/stream"));
    }
}
