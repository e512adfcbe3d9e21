//! Calls of stored functions: `interface.md` sections 3 and 15.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::{Answer, Script, Upstream};

use crate::server::Server;

/// A server whose provider `house` is the upstream.
async fn with_upstream(script: impl Into<Script>) -> (Server, Upstream) {
    Server::with_upstream_and(
        script,
        &[
            ("GATEWRIGHT_PROVIDERS__HOUSE__API_KEY_ENV", "HOUSE_KEY"),
            ("HOUSE_KEY", "sk-of-the-house-0123456789"),
        ],
    )
    .await
}

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {"name": {"type": "string", "description": "the full name"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": false,
    })
}

#[tokio::test]
async fn a_call_answers_with_every_member() {
    let (server, upstream) = with_upstream(Answer::text(" Hel\"lo\n").usage(11, 7)).await;
    let function = server
        .api()
        .function(json!({"name": "f", "instructions": "Greet.", "model": "house/tiny"}))
        .await;

    let answer = server
        .api()
        .call(&function, json!({"input": {"b": 1.0, "a": [true, null]}}))
        .await;

    let expected = json!({
        "span_id": answer.headers["x-span-id"].to_str().unwrap(),
        "message": " Hel\"lo\n", "json_payload": null, "cached": false, "images": null,
        "usage": {"input_tokens": 11, "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 18},
        "cost": {"generation": 0.0, "platform": 0.0, "total": 0.0},
    });
    assert_eq!(answer.body.to_string(), expected.to_string());
    let request = &upstream.requests()[0];
    assert_eq!(request.path, "/v1/chat/completions");
    assert_eq!(
        request.header("authorization"),
        Some("Bearer sk-of-the-house-0123456789")
    );
    let messages = json!([
        {"role": "system", "content": "Greet."},
        {"role": "user", "content": r#"{"b":1.0,"a":[true,null]}"#},
    ]);
    assert_eq!(request.json()["model"], "tiny");
    assert_eq!(request.json()["messages"].to_string(), messages.to_string());
    assert_eq!(
        server.api().span(&answer).await["meta"]["cost_status"],
        "unknown"
    );
}

#[tokio::test]
async fn a_call_at_a_revision_and_at_the_latest() {
    let server = Server::start();
    let api = server.api();
    let function = api.echo().await;
    let id = function["id"].as_str().unwrap();

    assert_eq!(
        api.call(&function, json!({"input": "hi"})).await.body["message"],
        "hi"
    );
    assert_eq!(
        api.post(&format!("/v2/functions/{id}/call"), json!({"input": "ho"}))
            .await
            .body["message"],
        "ho"
    );
    let no_body = api
        .send_text(
            reqwest::Method::POST,
            &format!("/v2/functions/{id}/call"),
            None,
        )
        .await;
    assert_eq!(
        (no_body.status.as_u16(), &no_body.body["message"]),
        (200, &json!("x")),
        "instructions take the input's place"
    );
    assert_eq!(api.call(&function, json!({})).await.status, 200);
}

#[tokio::test]
async fn function_then_revision_are_looked_up() {
    let server = Server::start();
    let api = server.api();
    let (one, two) = (
        api.echo().await,
        api.function(json!({"name": "two", "instructions": "x"}))
            .await,
    );
    let (id, other) = (
        one["id"].as_str().unwrap(),
        two["revision_id"].as_str().unwrap(),
    );
    let unknown = "0190f3a0-0000-7000-8000-000000000000";
    let detail = async |path: String| {
        let answer = api.post(&path, json!({})).await;
        assert_eq!(
            (answer.status.as_u16(), answer.class()),
            (404, "NotFoundError")
        );
        assert!(!answer.headers.contains_key("x-span-id"));
        answer.body["detail"].clone()
    };

    assert_eq!(
        detail(format!("/v2/functions/{unknown}/call")).await,
        "Function not found"
    );
    assert_eq!(
        detail(format!("/v2/functions/{unknown}/call/{other}")).await,
        "Function not found"
    );
    assert_eq!(
        detail(format!("/v2/functions/{id}/call/{unknown}")).await,
        "Function revision not found"
    );
    assert_eq!(
        detail(format!("/v2/functions/{id}/call/{other}")).await,
        "Function revision not found",
        "of another function"
    );
    api.call(&two, json!({})).await;
    assert_eq!(
        detail(format!("/v2/functions/{id}/call/{other}")).await,
        "Function revision not found",
        "also when it is known"
    );
    let answer = api
        .post(&format!("/v2/functions/{id}/call/x"), json!({}))
        .await;
    assert_eq!(
        answer.fault(),
        (422, json!(["path", "revision_id"]), "uuid_parsing")
    );
}

#[tokio::test]
async fn each_rule_of_a_call_has_its_fault() {
    let server = Server::start();
    let api = server.api();
    let function = api.echo().await;
    let path = format!("/v2/functions/{}/call", function["id"].as_str().unwrap());
    let many = (0..65)
        .map(|number| (number.to_string(), json!(1)))
        .collect::<serde_json::Map<_, _>>();
    let cases = [
        (json!([]), json!(["body"]), "object_type"),
        (
            json!({"examples": {}}),
            json!(["body", "examples"]),
            "array_type",
        ),
        (
            json!({"examples": [{"input": 1}]}),
            json!(["body", "examples", 0, "output"]),
            "missing",
        ),
        (
            json!({"examples": [{"input": 1, "output": null}, {"output": 1}]}),
            json!(["body", "examples", 1, "input"]),
            "missing",
        ),
        (
            json!({"examples": [[1, 2]]}),
            json!(["body", "examples", 0]),
            "object_type",
        ),
        (
            json!({"examples": [{"input": 1, "output": 1, "comment": 1}]}),
            json!(["body", "examples", 0, "comment"]),
            "string_type",
        ),
        (
            json!({"examples": vec![json!({"input": 1, "output": 1}); 257]}),
            json!(["body", "examples"]),
            "too_long",
        ),
        (json!({"tags": []}), json!(["body", "tags"]), "object_type"),
        (
            json!({"tags": {"a": null}}),
            json!(["body", "tags", "a"]),
            "value_error",
        ),
        (
            json!({"tags": {"a": {"b": 1}}}),
            json!(["body", "tags", "a"]),
            "value_error",
        ),
        (
            json!({"tags": {"a": "x".repeat(1025)}}),
            json!(["body", "tags", "a"]),
            "string_too_long",
        ),
        (json!({"tags": many}), json!(["body", "tags"]), "too_long"),
        (
            json!({"parent_span_id": 3}),
            json!(["body", "parent_span_id"]),
            "string_type",
        ),
    ];

    for (body, place, slug) in cases {
        let answer = api.post(&path, body).await;
        assert_eq!(answer.fault(), (422, place, slug), "{answer:?}");
        assert!(!answer.headers.contains_key("x-span-id"));
    }
    let nulls = json!({"input": null, "examples": null, "tags": null, "parent_span_id": null, "unknown": 1});
    assert_eq!(api.post(&path, nulls).await.status, 200);
}

#[tokio::test]
async fn an_input_is_held_to_its_schema_and_a_mismatch_is_recorded() {
    let server = Server::start();
    let api = server.api();
    let schema = json!({
        "type": "object", "required": ["text"],
        "properties": {"text": {"type": "string"}, "n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}},
    });
    let function = api.function(json!({"name": "f", "instructions": "x", "input_schema": schema, "model": "offline/echo"})).await;

    let answer = api
        .call(
            &function,
            json!({"input": {"text": "t", "n": 1.5}, "tags": {"a": "b"}}),
        )
        .await;

    assert_eq!(
        answer.fault(),
        (422, json!(["body", "input", "n"]), "schema_mismatch")
    );
    let span = api.span(&answer).await;
    assert_eq!(
        (&span["input"], &span["output"]),
        (&json!({"text": "t", "n": 1.5}), &Value::Null)
    );
    assert!(
        span["error"]
            .as_str()
            .unwrap()
            .starts_with("RequestValidationError: "),
        "{span}"
    );
    assert_eq!(
        (&span["meta"]["error_type"], &span["meta"]["attempts"]),
        (&json!("RequestValidationError"), &json!(0))
    );
    assert_eq!(span["meta"]["tags"], json!({"a": "b"}));
    assert_eq!(
        api.call(&function, json!({})).await.fault(),
        (422, json!(["body", "input"]), "schema_mismatch"),
        "absent is null"
    );
    assert_eq!(
        api.call(&function, json!({"input": {"text": "t", "n": 2.0}}))
            .await
            .status,
        200,
        "2.0 is a whole number"
    );
}

#[tokio::test]
async fn input_validation_can_be_switched_off() {
    let server = Server::start();
    let api = server.api();
    let function = async |name: &str, on: Value| {
        api.function(json!({
            "name": name, "instructions": "x", "input_schema": {"type": "string"}, "model": "offline/echo",
            "configuration": {"beta.invocation.input_validation.enabled": on},
        }))
        .await
    };

    assert_eq!(
        api.call(&function("off", json!(false)).await, json!({"input": 3}))
            .await
            .status,
        200
    );
    assert_eq!(
        api.call(&function("on", json!(true)).await, json!({"input": 3}))
            .await
            .status,
        422
    );
    assert_eq!(
        api.call(&function("null", json!(null)).await, json!({"input": 3}))
            .await
            .status,
        422
    );
}

#[tokio::test]
async fn the_prompt_holds_schema_examples_and_input_in_their_order() {
    let (server, upstream) = with_upstream(Answer::json(&json!({"name": "Ada", "age": 36}))).await;
    let api = server.api();
    let function = api.function(json!({
        "name": "team/who", "instructions": "Who is it?", "output_schema": person(),
        "model": {"name": "house/tiny", "options": {"temperature": 0.10, "model": "no", "stream": true}, "extra_headers": {"x-mine": "1", "host": "no"}},
    })).await;

    let answer = api
        .call(&function, json!({
            "input": "Ada Lovelace, 36",
            "examples": [{"input": {"n": 1}, "output": {"name": "B", "age": 1}, "comment": "short"}, {"input": "c", "output": "d"}],
        }))
        .await;

    assert_eq!(
        (&answer.body["message"], &answer.body["json_payload"]),
        (&Value::Null, &json!({"name": "Ada", "age": 36}))
    );
    let request = &upstream.requests()[0];
    let body = request.json();
    let messages = body["messages"].as_array().unwrap();
    let system = messages[0]["content"].as_str().unwrap();
    assert!(
        system.starts_with("Who is it?\n\n") && system.ends_with(&person().to_string()),
        "{system}"
    );
    let rest = json!([
        {"role": "user", "content": "short\n{\"n\":1}"},
        {"role": "assistant", "content": "{\"name\":\"B\",\"age\":1}"},
        {"role": "user", "content": "c"},
        {"role": "assistant", "content": "d"},
        {"role": "user", "content": "Ada Lovelace, 36"},
    ]);
    assert_eq!(json!(messages[1..]), rest);
    let format = json!({"type": "json_schema", "json_schema": {"name": "team_who", "schema": person(), "strict": false}});
    assert_eq!(body["response_format"], format);
    assert_eq!(
        (&body["temperature"], &body["model"]),
        (&json!(0.1), &json!("tiny"))
    );
    assert_ne!(body["stream"], true);
    assert_eq!(request.header("x-mine"), Some("1"));
    assert_eq!(request.header("host"), Some(upstream.authority().as_str()));
}

#[tokio::test]
async fn media_members_travel_as_parts() {
    let (server, upstream) = with_upstream(Answer::text("a cat")).await;
    let function = server
        .api()
        .function(json!({"name": "f", "instructions": "x", "model": "house/tiny"}))
        .await;
    let image = "data:image/png;base64,iVBORw0KGgo=";

    server
        .api()
        .call(
            &function,
            json!({"input": {"q": "what?", "_image_media_input": image}}),
        )
        .await;

    let parts = json!([{"type": "text", "text": "{\"q\":\"what?\"}"}, {"type": "image_url", "image_url": {"url": image}}]);
    assert_eq!(
        upstream.requests()[0].json()["messages"][1]["content"],
        parts
    );
}

#[tokio::test]
async fn media_that_cannot_be_had_are_the_callers_fault_and_not_the_models() {
    let (server, upstream) = with_upstream(Answer::text("fine")).await;
    let api = server.api();
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": "house/tiny"}))
        .await;

    for _ in 0..8 {
        let image = json!({"_image_media_input": "https://nobody.invalid/a.png"});
        let answer = api.call(&function, json!({"input": image})).await;
        assert_eq!(
            (answer.status.as_u16(), answer.class()),
            (400, "BadRequestError")
        );
        assert!(
            answer
                .text
                .contains("the image `https://nobody.invalid/a.png`"),
            "{}",
            answer.text
        );
    }
    let broken = json!({"_image_media_input": "data:image/png;base64,@@@"});
    let broken = api.call(&function, json!({"input": broken})).await;
    let fine = api.call(&function, json!({"input": "go"})).await;

    assert_eq!(broken.status, 400);
    assert!(broken.text.contains("is not base64"), "{}", broken.text);
    assert_eq!(fine.body["message"], "fine");
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn a_faulty_answer_is_repaired_and_all_attempts_are_paid_for() {
    let answers = [
        Answer::text("```json\n{\"name\": \"Ada\"}\n```").usage(10, 5),
        Answer::text("{\"name\": \"Ada\", \"age\": \"36\"}").usage(20, 6),
        Answer::text("{\"name\": \"Ada\", \"age\": 36}").usage(30, 7),
    ];
    let (server, upstream) =
        Server::with_upstream_and(answers, &[("GATEWRIGHT_PRICES__MARKUP", "0.5")]).await;
    let api = server.api();
    api.model("mine", &upstream.base_url()).await;
    let function = api
        .function(
            json!({"name": "f", "instructions": "x", "output_schema": person(), "model": "mine"}),
        )
        .await;

    let answer = api.call(&function, json!({"input": "Ada"})).await;

    assert_eq!(
        answer.body["json_payload"].to_string(),
        r#"{"name":"Ada","age":36}"#
    );
    let usage = json!({"input_tokens": 60, "output_tokens": 18, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 78});
    assert_eq!(answer.body["usage"], usage);
    assert_eq!(
        answer.body["cost"],
        json!({"generation": 0.000_096, "platform": 0.000_048, "total": 0.000_144})
    );
    let requests = upstream.requests();
    let repair = requests[1].json()["messages"].as_array().unwrap().clone();
    assert_eq!(
        repair[2],
        json!({"role": "assistant", "content": "```json\n{\"name\": \"Ada\"}\n```"})
    );
    assert!(
        repair[3]["content"]
            .as_str()
            .unwrap()
            .contains("\"age\" is a required property"),
        "{repair:#?}"
    );
    assert!(
        requests[2].json()["messages"][5]["content"]
            .as_str()
            .unwrap()
            .contains("/age: ")
    );
    let meta = &api.span(&answer).await["meta"];
    let statuses: Vec<&str> = meta["models_tried"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tried| tried["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["mismatched", "mismatched", "answered"]);
    assert_eq!(
        (
            &meta["attempts"],
            &meta["cost_status"],
            &meta["models_tried"][1]["cost"]["generation"]
        ),
        (&json!(3), &json!("exact"), &json!(0.000_032))
    );
}

#[tokio::test]
async fn an_answer_that_never_fits_is_an_error_and_never_a_value() {
    let (server, upstream) = with_upstream(Answer::text("{\"name\": 3}")).await;
    let api = server.api();
    let function = async |name: &str, attempts: Value| {
        api.function(json!({
            "name": name, "instructions": "x", "output_schema": person(), "model": "house/tiny",
            "configuration": {"invocation.structured_generation.max_attempts": attempts},
        }))
        .await
    };

    let answer = api.call(&function("two", json!(2)).await, json!({})).await;

    assert_eq!(
        (answer.status.as_u16(), answer.class()),
        (400, "StructuredGenerationError")
    );
    let detail = &answer.body["detail"];
    assert_eq!(
        (&detail["attempts"], &detail["last_output"]),
        (&json!(2), &json!("{\"name\": 3}"))
    );
    assert_eq!(detail["validation_errors"].as_array().unwrap().len(), 2);
    assert_eq!(
        detail["span_id"].as_str(),
        answer.headers["x-span-id"].to_str().ok()
    );
    assert_eq!(upstream.requests().len(), 2);
    let span = api.span(&answer).await;
    assert_eq!(
        (&span["output"], &span["meta"]["attempts"]),
        (&Value::Null, &json!(2))
    );
    assert_eq!(
        span["meta"]["usage"]["total_tokens"], 34,
        "what was spent is kept"
    );
    assert_eq!(
        api.call(&function("default", json!(null)).await, json!({}))
            .await
            .body["detail"]["attempts"],
        5
    );
}

#[tokio::test]
async fn a_refusal_ends_a_structured_call_at_once() {
    let refusal = json!({"role": "assistant", "content": null, "refusal": "I will not."});
    let (server, upstream) = with_upstream(Answer::message(refusal)).await;
    let function = server.api().function(json!({"name": "f", "instructions": "x", "output_schema": person(), "model": "house/tiny"})).await;

    let answer = server.api().call(&function, json!({})).await;

    assert_eq!(
        (answer.status.as_u16(), answer.class()),
        (400, "ContentPolicyViolationError")
    );
    assert_eq!(answer.body["detail"]["reason"], "I will not.");
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn an_answer_of_which_a_filter_left_nothing_is_an_error() {
    let filtered = |text: Value| {
        let message = json!({"role": "assistant", "content": text});
        Answer::message(message).finish_reason("content_filter")
    };
    let (server, _upstream) = with_upstream([
        filtered(json!(null)),
        filtered(json!("")),
        filtered(json!("Well,")),
    ])
    .await;
    let api = server.api();
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": "house/tiny"}))
        .await;

    let plain = api.call(&function, json!({})).await;
    let streamed = api.stream_of(&function, &json!({})).await;
    let in_part = api.call(&function, json!({})).await;

    assert_eq!(
        (plain.status.as_u16(), plain.class()),
        (400, "ContentPolicyViolationError")
    );
    assert_eq!(streamed.status, 400, "{}", streamed.text);
    assert!(
        streamed.text.contains("ContentPolicyViolationError"),
        "{}",
        streamed.text
    );
    assert_eq!(in_part.body["message"], "Well,");
}

#[tokio::test]
async fn a_json_null_is_a_legitimate_value() {
    let (server, _upstream) = with_upstream(Answer::text("null")).await;
    let function = server.api().function(json!({"name": "f", "instructions": "x", "output_schema": {"type": "null"}, "model": "house/tiny"})).await;

    let answer = server.api().call(&function, json!({})).await;

    assert_eq!(
        (
            answer.status.as_u16(),
            &answer.body["json_payload"],
            &answer.body["message"]
        ),
        (200, &Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn upstream_failures_have_their_classes() {
    let cases = [
        (
            Answer::error(400, "temperature is out of range"),
            400,
            "BadRequestError",
            1,
        ),
        (Answer::error(422, "no"), 400, "BadRequestError", 1),
        (Answer::error(413, "no"), 400, "BadRequestError", 1),
        (
            Answer::error(400, "This model's maximum context length is 8 tokens."),
            400,
            "ContextWindowExceededError",
            1,
        ),
        (
            Answer::error(
                401,
                "Incorrect API key provided: sk-of-the-house-0123456789",
            ),
            502,
            "UpstreamError",
            1,
        ),
        (Answer::error(403, "no"), 502, "UpstreamError", 1),
        (Answer::error(404, "no such model"), 502, "UpstreamError", 1),
        (Answer::error(500, "boom"), 502, "UpstreamError", 1),
        (Answer::error(503, "busy"), 502, "UpstreamError", 3),
        (Answer::error(429, "slow down"), 429, "RateLimitError", 3),
        (
            Answer::error(429, "slow down").header("retry-after", "30"),
            429,
            "RateLimitError",
            1,
        ),
        (Answer::html(200), 502, "UpstreamError", 1),
        (Answer::garbage(), 502, "UpstreamError", 1),
        (
            Answer::body(200, &json!({"choices": []})),
            502,
            "UpstreamError",
            1,
        ),
        (
            Answer::body(302, &json!({})).header("location", "http://127.0.0.1:1/"),
            502,
            "UpstreamError",
            1,
        ),
        (Answer::cut(), 502, "UpstreamError", 3),
    ];
    let mut calls = Vec::new();
    for (answer, status, class, requests) in cases {
        let (server, upstream) = with_upstream(answer).await;
        calls.push(async move {
            let function = server
                .api()
                .function(json!({"name": "f", "instructions": "x", "model": "house/tiny"}))
                .await;

            let answer = server.api().call(&function, json!({})).await;

            assert_eq!(
                (answer.status.as_u16(), answer.class()),
                (status, class),
                "{answer:?}"
            );
            assert_eq!(upstream.requests().len(), requests, "{answer:?}");
            assert!(!answer.text.contains("sk-of-the-house"), "{answer:?}");
            let reason = answer.body["detail"]["reason"].as_str().unwrap();
            assert_eq!(
                answer.body["detail"]["span_id"].as_str(),
                answer.headers["x-span-id"].to_str().ok()
            );
            if status == 429 {
                assert!(answer.headers.contains_key("retry-after"));
            }
            let span = server.api().span(&answer).await;
            assert_eq!(span["error"], format!("{class}: {reason}"));
            assert_eq!(span["meta"]["attempts"], requests);
        });
    }
    join_all(calls).await;
}

#[tokio::test]
async fn a_rejected_key_is_provider_auth() {
    let (server, _upstream) = with_upstream(Answer::error(401, "bad key")).await;
    let function = server
        .api()
        .function(json!({"name": "f", "instructions": "x", "model": "house/tiny"}))
        .await;

    let answer = server.api().call(&function, json!({})).await;

    assert_eq!(
        (
            &answer.body["detail"]["reason"],
            &answer.body["detail"]["upstream_status"]
        ),
        (&json!("provider_auth"), &json!(401))
    );
}

#[tokio::test]
async fn a_slow_upstream_is_given_up_on() {
    let (server, upstream) =
        Server::with_upstream(Answer::text("late").after(Duration::from_secs(20))).await;
    let api = server.api();
    let model = json!({"name": "slow", "identifier": "a/b", "extra": {"api_base": upstream.base_url(), "timeout_seconds": 0.3}});
    api.post("/v2/models/custom", model).await;
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": "slow"}))
        .await;

    let answer = api.call(&function, json!({})).await;

    assert_eq!(
        (answer.status.as_u16(), answer.class()),
        (504, "UpstreamTimeoutError")
    );
    assert_eq!(
        upstream.requests().len(),
        1,
        "what did not come in time is not asked for again"
    );
}

#[tokio::test]
async fn a_whole_call_has_a_deadline() {
    let (server, _upstream) = Server::with_upstream_and(
        Answer::text("late").after(Duration::from_secs(20)),
        &[("GATEWRIGHT_CALLS__TIMEOUT_SECONDS", "0.5")],
    )
    .await;
    let function = server
        .api()
        .function(json!({"name": "f", "instructions": "x", "model": "house/tiny"}))
        .await;

    let answer = server.api().call(&function, json!({})).await;

    assert_eq!(
        (answer.status.as_u16(), answer.class()),
        (504, "UpstreamTimeoutError")
    );
    assert_eq!(
        server.api().span(&answer).await["meta"]["models_tried"][0]["status"],
        "cancelled"
    );
}

#[tokio::test]
async fn a_call_falls_back_along_its_list() {
    let (server, upstream) = with_upstream([
        Answer::error(503, "busy"),
        Answer::error(503, "busy"),
        Answer::text("from two"),
    ])
    .await;
    let api = server.api();
    let models = json!(["nowhere/x", {"name": "house/one"}, "house/two", "offline/echo"]);
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": models}))
        .await;

    let answer = api.call(&function, json!({})).await;

    assert_eq!(answer.body["message"], "from two");
    let asked: Vec<Value> = upstream
        .requests()
        .iter()
        .map(|request| request.json()["model"].clone())
        .collect();
    assert_eq!(
        asked,
        ["one", "one", "two"],
        "one retry, since a fallback remains"
    );
    let meta = api.span(&answer).await["meta"].clone();
    assert_eq!(
        (&meta["model"], &meta["attempts"]),
        (&json!("house/two"), &json!(4))
    );
    let tried: Vec<String> = meta["models_tried"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tried| {
            format!(
                "{}: {}",
                tried["model"].as_str().unwrap(),
                tried["status"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        tried,
        [
            "nowhere/x: unresolved",
            "house/one: unavailable",
            "house/one: unavailable",
            "house/two: answered"
        ]
    );
}

#[tokio::test]
async fn what_another_model_cannot_mend_ends_the_call() {
    let (server, upstream) = with_upstream(Answer::error(400, "bad option")).await;
    let function = server
        .api()
        .function(json!({"name": "f", "instructions": "x", "model": ["house/one", "offline/echo"]}))
        .await;

    let answer = server.api().call(&function, json!({})).await;

    assert_eq!(
        (answer.status.as_u16(), &answer.body["detail"]["reason"]),
        (400, &json!("bad option"))
    );
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn when_all_fail_the_last_failure_counts_and_each_is_listed() {
    let server = Server::start();
    let api = server.api();
    let models = json!([
        "offline/fail-status-500",
        "offline/fail-status-401",
        "offline/fail-status-429"
    ]);
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": models}))
        .await;

    let answer = api.call(&function, json!({})).await;

    assert_eq!(
        (answer.status.as_u16(), answer.class()),
        (429, "RateLimitError")
    );
    let models: Vec<(&str, u64)> = answer.body["detail"]["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| {
            (
                model["name"].as_str().unwrap(),
                model["status"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        models,
        [
            ("offline/fail-status-500", 500),
            ("offline/fail-status-401", 401),
            ("offline/fail-status-429", 429)
        ]
    );
}

#[tokio::test]
async fn models_that_nobody_knows_are_a_bad_request() {
    let server = Server::start();
    let api = server.api();
    for (name, model) in [
        ("a", json!("nowhere/x")),
        ("b", json!("no-slash")),
        ("c", json!(["nowhere/x", "openai/gpt-4.1-mini"])),
    ] {
        let function = api
            .function(json!({"name": name, "instructions": "x", "model": model}))
            .await;

        let answer = api.call(&function, json!({})).await;

        assert_eq!(
            (answer.status.as_u16(), answer.class()),
            (400, "BadRequestError"),
            "{answer:?}"
        );
        assert!(
            answer.body["detail"]["reason"]
                .as_str()
                .unwrap()
                .contains("unknown model"),
            "{answer:?}"
        );
        assert_eq!(
            api.span(&answer).await["meta"]["error_type"],
            "BadRequestError"
        );
    }
}

#[tokio::test]
async fn a_retry_after_of_a_few_seconds_is_waited_for() {
    let (server, upstream) = with_upstream([
        Answer::error(429, "wait").header("retry-after", "1"),
        Answer::text("now"),
    ])
    .await;
    let function = server
        .api()
        .function(json!({"name": "f", "instructions": "x", "model": "house/tiny"}))
        .await;
    let began = Instant::now();

    let answer = server.api().call(&function, json!({})).await;

    assert_eq!(
        (answer.status.as_u16(), upstream.requests().len()),
        (200, 2)
    );
    assert!(began.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn usage_is_counted_where_the_provider_gives_none() {
    let (server, _upstream) = with_upstream(Answer::text("12345").without_usage()).await;
    let function = server
        .api()
        .function(json!({"name": "f", "instructions": "1234", "model": "house/tiny"}))
        .await;

    let answer = server
        .api()
        .call(&function, json!({"input": "123456789"}))
        .await;

    assert_eq!(
        (
            &answer.body["usage"]["input_tokens"],
            &answer.body["usage"]["output_tokens"]
        ),
        (&json!(5), &json!(2)),
        "a token has three digits at most"
    );
    assert_eq!(
        server.api().span(&answer).await["meta"]["usage_estimated"],
        true
    );
}

#[tokio::test]
async fn a_client_who_leaves_takes_the_upstream_request_along_but_not_the_span() {
    let (server, upstream) =
        with_upstream(Answer::text("late").after(Duration::from_secs(30))).await;
    let api = server.api();
    let parent = api
        .call(&api.echo().await, json!({"input": "parent"}))
        .await;
    let function = api
        .function(json!({"name": "g", "instructions": "x", "model": "house/tiny"}))
        .await;
    let (id, revision) = (
        function["id"].as_str().unwrap(),
        function["revision_id"].as_str().unwrap(),
    );
    let request = reqwest::Client::new()
        .post(format!(
            "{}/v2/functions/{id}/call/{revision}",
            server.address
        ))
        .bearer_auth(crate::server::ALPHA)
        .timeout(Duration::from_millis(500))
        .body(json!({"parent_span_id": parent.body["span_id"]}).to_string());

    assert!(request.send().await.unwrap_err().is_timeout());

    assert_eq!(upstream.requests().len(), 1);
    let counted = "gatewright_calls_total{outcome=\"client_disconnected\"} 1";
    let began = Instant::now();
    while !server
        .api_with("")
        .get("/metrics")
        .await
        .text
        .contains(counted)
    {
        assert!(
            began.elapsed() < Duration::from_secs(2),
            "the call goes on without its caller"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_long_check_holds_nobody_else_up() {
    let server = Server::start();
    let api = server.api();
    let items = json!({"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 9}, "uniqueItems": false});
    let function = api.function(json!({"name": "f", "instructions": "x", "input_schema": items, "model": "offline/echo"})).await;
    let long = json!({"input": vec![3; 900_000]});
    let calls = (0..6).map(|_| {
        let (api, function, long) = (api.clone(), function.clone(), long.clone());
        tokio::spawn(async move { api.call(&function, long).await.status })
    });
    let calls: Vec<_> = calls.collect();

    let mut slowest = Duration::ZERO;
    while calls.iter().any(|call| !call.is_finished()) {
        let began = Instant::now();
        assert_eq!(server.api_with("").get("/healthz").await.status, 200);
        slowest = slowest.max(began.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    for call in calls {
        assert_eq!(call.await.unwrap(), 200);
    }
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
    let too_many = api
        .call(&function, json!({"input": vec![3; 1_100_000]}))
        .await;
    assert_eq!(
        too_many.fault(),
        (422, json!(["body", "input"]), "schema_mismatch")
    );
}

#[tokio::test]
async fn a_key_in_the_environment_makes_its_provider_the_default() {
    let upstream = Upstream::start(Answer::text("hi")).await;
    let server = Server::start_with(&[
        ("OPENAI_API_KEY", "sk-of-the-operator"),
        (
            "GATEWRIGHT_PROVIDERS__OPENAI__API_BASE",
            &upstream.base_url(),
        ),
    ]);
    let api = server.api();
    let function = api
        .function(json!({"name": "f", "instructions": "x"}))
        .await;

    let answer = api.call(&function, json!({})).await;

    assert_eq!(answer.body["message"], "hi");
    let request = &upstream.requests()[0];
    assert_eq!(
        request.header("authorization"),
        Some("Bearer sk-of-the-operator")
    );
    let model = format!("openai/{}", request.json()["model"].as_str().unwrap());
    assert_eq!(api.span(&answer).await["meta"]["model"], model);
}

#[tokio::test]
async fn a_long_text_against_a_long_pattern_is_not_checked() {
    let server = Server::start();
    let api = server.api();
    let schema = json!({"type": "string", "pattern": "[01]*1[01]{1000}2"});
    let function = api.function(json!({"name": "f", "instructions": "x", "input_schema": schema, "model": "offline/echo"})).await;

    let answer = api
        .call(&function, json!({"input": "01".repeat(500_000)}))
        .await;

    assert_eq!(
        answer.fault(),
        (422, json!(["body", "input"]), "schema_mismatch")
    );
    let said = answer.body["detail"][0]["msg"].as_str().unwrap();
    assert!(said.contains("too large"), "{said}");
}
