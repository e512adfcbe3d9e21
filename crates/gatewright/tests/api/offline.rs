//! The built-in provider: calls with no key and no network.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::{Api, Server};

async fn call(api: &Api, model: &str, output_schema: Value, input: Value) -> crate::server::Answer {
    let name = format!(
        "{}-{}",
        model.replace('/', "-"),
        uuid::Uuid::from_u128(rand())
    );
    let function =
        json!({"name": name, "instructions": "x", "model": model, "output_schema": output_schema});
    let function = api.function(function).await;
    api.call(&function, json!({"input": input})).await
}

/// Names must differ, no more.
fn rand() -> u128 {
    Instant::now().elapsed().as_nanos()
        ^ u128::from(std::process::id())
        ^ std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos()
}

#[tokio::test]
async fn the_first_call_needs_no_configuration() {
    let server = Server::start();
    let api = server.api();
    let function = api
        .function(json!({
            "name": "first", "instructions": "Describe the person.",
            "input_schema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
            "output_schema": {
                "type": "object", "required": ["name", "born", "mood"],
                "properties": {
                    "name": {"type": "string"}, "born": {"type": "string", "format": "date"},
                    "mood": {"enum": ["calm", "merry"]}, "score": {"type": "integer", "minimum": 3, "maximum": 5},
                },
            },
        }))
        .await;

    let one = api.call(&function, json!({"input": {"name": "Ada"}})).await;
    let two = api.call(&function, json!({"input": {"name": "Ada"}})).await;

    assert_eq!(one.status, 200, "{one:?}");
    assert_eq!(
        one.body["json_payload"]["name"], "Ada",
        "drawn from the input where names match"
    );
    assert_eq!(
        one.body["json_payload"], two.body["json_payload"],
        "the same every time"
    );
    assert!(one.body["usage"]["total_tokens"].as_u64().unwrap() > 0);
    assert_eq!(api.span(&one).await["meta"]["model"], "offline/json");
}

#[tokio::test]
async fn echo_answers_with_the_input() {
    let server = Server::start();
    let api = server.api();

    assert_eq!(
        call(&api, "offline/echo", Value::Null, json!(" hi \n"))
            .await
            .body["message"],
        " hi \n"
    );
    assert_eq!(
        call(
            &api,
            "offline/echo",
            json!({"type": "object"}),
            json!({"a": 1.0})
        )
        .await
        .body["json_payload"],
        json!({"a": 1.0})
    );
}

#[tokio::test]
async fn scripted_faults_look_like_real_ones() {
    let server = Server::start();
    let api = server.api();
    let object =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let cases = [
        ("offline/fail-status-500", Value::Null, 502, "UpstreamError"),
        (
            "offline/fail-status-429",
            Value::Null,
            429,
            "RateLimitError",
        ),
        (
            "offline/fail-status-400",
            Value::Null,
            400,
            "BadRequestError",
        ),
        ("offline/fail-status-401", Value::Null, 502, "UpstreamError"),
        ("offline/fail-cut", Value::Null, 502, "UpstreamError"),
        (
            "offline/fail-json",
            object.clone(),
            400,
            "StructuredGenerationError",
        ),
        (
            "offline/fail-schema",
            object.clone(),
            400,
            "StructuredGenerationError",
        ),
        (
            "offline/fail-refusal",
            object,
            400,
            "ContentPolicyViolationError",
        ),
        ("offline/nothing", Value::Null, 502, "UpstreamError"),
    ];

    for (model, schema, status, class) in cases {
        let answer = call(&api, model, schema, json!("x")).await;
        assert_eq!(
            (answer.status.as_u16(), answer.class()),
            (status, class),
            "{model}"
        );
    }
    let began = Instant::now();
    assert_eq!(
        call(&api, "offline/fail-delay-300", Value::Null, json!("x"))
            .await
            .status,
        200
    );
    assert!(began.elapsed() >= Duration::from_millis(300));
}
