//! `POST /v2/call`: a function by its name, with its definition at hand (`interface.md` 3.5).

use serde_json::{Value, json};

use crate::server::{Api, Server};

async fn call(api: &Api, body: Value) -> Value {
    let answer = api.post("/v2/call", body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

async fn function(api: &Api, name: &str) -> Value {
    let answer = api.get(&format!("/v2/functions/by-name/{name}")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

async fn revisions(api: &Api, function: &Value) -> usize {
    let id = function["id"].as_str().unwrap();
    let list = api.get(&format!("/v2/functions/{id}/revisions")).await.body;
    usize::try_from(list["meta"]["total_count"].as_u64().unwrap()).unwrap()
}

#[tokio::test]
async fn the_first_use_of_a_name_makes_the_function() {
    let server = Server::start();
    let api = server.api();

    let answer = call(
        &api,
        json!({"name": "a/b", "input": "hi", "model": "offline/echo"}),
    )
    .await;

    assert_eq!(answer["message"], "hi");
    let made = function(&api, "a/b").await;
    assert_eq!(made["instructions"], "You are a helpful assistant");
    assert_eq!(
        (&made["configuration"], &made["output_schema"]),
        (&json!({}), &Value::Null)
    );
    assert_eq!(
        api.get(&format!(
            "/v2/spans/{}",
            answer["span_id"].as_str().unwrap()
        ))
        .await
        .body["name"],
        "a/b"
    );
}

#[tokio::test]
async fn what_is_given_replaces_what_is_stored_and_what_was_there_before_is_used_again() {
    let server = Server::start();
    let api = server.api();
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let full = json!({
        "name": "f", "instructions": "one", "model": "offline/json", "output_schema": schema,
        "configuration": {"invocation.cache.ttl": 5, "mine": 1},
    });
    call(&api, full.clone()).await;
    let first = function(&api, "f").await;

    let second = call(
        &api,
        json!({"name": "f", "instructions": "two", "configuration": {"mine": 2}}),
    )
    .await;
    let changed = function(&api, "f").await;
    call(&api, json!({"name": "f"})).await;
    call(&api, full.clone()).await;
    let last = function(&api, "f").await;

    assert!(
        second["json_payload"]["n"].is_i64(),
        "the stored schema holds: {second}"
    );
    assert_eq!(changed["instructions"], "two");
    assert_eq!(
        changed["configuration"],
        json!({"invocation.cache.ttl": 5, "mine": 2})
    );
    assert_ne!(first["revision_id"], changed["revision_id"]);
    assert_eq!(
        revisions(&api, &first).await,
        2,
        "what was there before makes no revision"
    );
    assert_eq!(
        last["revision_id"], changed["revision_id"],
        "nothing was stored"
    );
    let at = api.post("/v2/call", full).await;
    assert_eq!(
        api.span(&at).await["meta"]["revision_id"],
        first["revision_id"]
    );
}

#[tokio::test]
async fn many_first_uses_at_once_make_one_function() {
    let server = Server::start();
    let calls: Vec<_> = (0..40)
        .map(|number| {
            let api = server.api();
            let body = json!({"name": "f", "model": "offline/echo", "instructions": format!("i{}", number % 3), "input": "x"});
            tokio::spawn(async move { call(&api, body).await })
        })
        .collect();

    for call in calls {
        assert_eq!(call.await.unwrap()["message"], "x");
    }

    let api = server.api();
    assert_eq!(revisions(&api, &function(&api, "f").await).await, 3);
}

#[tokio::test]
async fn each_member_has_its_rule() {
    let server = Server::start();
    let api = server.api();

    for (body, place, slug) in [
        (json!({"input": 1}), json!(["body", "name"]), "missing"),
        (
            json!({"name": "a b"}),
            json!(["body", "name"]),
            "string_pattern_mismatch",
        ),
        (
            json!({"name": "f", "instructions": 3}),
            json!(["body", "instructions"]),
            "string_type",
        ),
        (
            json!({"name": "f", "output_schema": {"type": "nope"}}),
            json!(["body", "output_schema"]),
            "json_schema",
        ),
        (
            json!({"name": "f", "model": []}),
            json!(["body", "model"]),
            "too_short",
        ),
        (
            json!({"name": "f", "configuration": {"invocation.cache.ttl": -1}}),
            json!(["body", "configuration", "invocation.cache.ttl"]),
            "greater_than_equal",
        ),
        (
            json!({"name": "f", "configuration": {"invocation.few_shot.count": 101}}),
            json!(["body", "configuration", "invocation.few_shot.count"]),
            "less_than_equal",
        ),
        (
            json!({"name": "f", "examples": [{"input": 1}]}),
            json!(["body", "examples", 0, "output"]),
            "missing",
        ),
        (
            json!({"name": "f", "input_schema": {"type": "integer"}, "input": "x"}),
            json!(["body", "input"]),
            "schema_mismatch",
        ),
    ] {
        let answer = api
            .send_text(reqwest::Method::POST, "/v2/call", Some(body.to_string()))
            .await;
        assert_eq!(answer.fault(), (422, place, slug), "{body}");
    }
    let parent = api
        .post(
            "/v2/call",
            json!({"name": "g", "parent_span_id": "0190f3a0-0000-7000-8000-000000000000"}),
        )
        .await;
    assert_eq!(
        (parent.status.as_u16(), &parent.body["detail"]),
        (404, &json!("Parent span not found"))
    );
    let unknown = api
        .post("/v2/call", json!({"name": "h", "model": "nobody/knows"}))
        .await;
    assert_eq!(
        (unknown.status.as_u16(), unknown.class()),
        (400, "BadRequestError")
    );
}
