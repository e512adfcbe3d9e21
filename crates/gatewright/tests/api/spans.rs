//! `/v2/spans`: `interface.md` 8.1 and 8.3.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::server::Server;

#[tokio::test]
async fn the_span_of_a_call_tells_everything() {
    let server = Server::start();
    let api = server.api();
    let function = api
        .function(json!({"name": "team/echo", "instructions": "x", "model": ["offline/echo"]}))
        .await;
    let input = json!({"b": [1.0, null], "a": "å\u{0000}"});

    let called = api
        .call(
            &function,
            json!({"input": input, "tags": {"n": 1.50, "s": "x", "b": true}}),
        )
        .await;
    let span = api.span(&called).await;

    let members: Vec<&String> = span.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        [
            "id",
            "name",
            "start_time",
            "end_time",
            "trace_id",
            "parent_id",
            "type",
            "input",
            "output",
            "error",
            "meta",
            "score",
            "feedback"
        ]
    );
    assert_eq!(span["id"], called.body["span_id"]);
    assert_eq!(span["input"].to_string(), input.to_string());
    assert_eq!(span["output"], called.body["message"]);
    assert_eq!(
        (&span["name"], &span["type"]),
        (&json!("team/echo"), &json!("generation"))
    );
    for null in ["parent_id", "error", "score", "feedback"] {
        assert_eq!(span[null], Value::Null, "{null}");
    }
    let (start, end) = (
        span["start_time"].as_str().unwrap(),
        span["end_time"].as_str().unwrap(),
    );
    assert!(
        start <= end && start.len() == 27 && start.ends_with('Z'),
        "{start} {end}"
    );
    let meta = &span["meta"];
    assert_eq!(meta["tags"].to_string(), r#"{"n":1.5,"s":"x","b":true}"#);
    assert_eq!(
        (&meta["function_id"], &meta["revision_id"]),
        (&function["id"], &function["revision_id"])
    );
    assert_eq!(
        (&meta["usage"], &meta["cost"]),
        (&called.body["usage"], &called.body["cost"])
    );
    assert_eq!(
        (&meta["model"], &meta["attempts"], &meta["finish_reason"]),
        (&json!("offline/echo"), &json!(1), &json!("stop"))
    );
    assert_eq!(
        (&meta["cached"], &meta["streamed"]),
        (&json!(false), &json!(false))
    );
    let attempt = &meta["models_tried"][0];
    assert_eq!(
        (&attempt["model"], &attempt["status"]),
        (&json!("offline/echo"), &json!("answered"))
    );
}

#[tokio::test]
async fn a_child_shares_its_parent_s_trace() {
    let server = Server::start();
    let api = server.api();
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": "offline/echo"}))
        .await;
    let parent = api.call(&function, json!({"input": "p"})).await;

    let child = api
        .call(
            &function,
            json!({"input": "c", "parent_span_id": parent.body["span_id"]}),
        )
        .await;
    let other = api
        .call(&function, json!({"input": "o", "parent_span_id": null}))
        .await;

    let (parent, child, other) = (
        api.span(&parent).await,
        api.span(&child).await,
        api.span(&other).await,
    );
    assert_eq!(
        (&child["parent_id"], &child["trace_id"]),
        (&parent["id"], &parent["trace_id"])
    );
    assert_ne!(other["trace_id"], parent["trace_id"]);
}

#[tokio::test]
async fn a_parent_must_exist() {
    let server = Server::start();
    let api = server.api();
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": "offline/echo"}))
        .await;

    let answer = api
        .call(
            &function,
            json!({"parent_span_id": "0190f3a0-0000-7000-8000-000000000000"}),
        )
        .await;
    assert_eq!(
        (answer.status.as_u16(), &answer.body["detail"]),
        (404, &json!("Parent span not found"))
    );
    let answer = api.call(&function, json!({"parent_span_id": "x"})).await;
    assert_eq!(
        answer.fault(),
        (422, json!(["body", "parent_span_id"]), "uuid_parsing")
    );
}

#[tokio::test]
async fn an_unknown_span_is_404_and_no_uuid_422() {
    let server = Server::start();
    let api = server.api();

    let answer = api
        .get("/v2/spans/0190f3a0-0000-7000-8000-000000000000")
        .await;
    assert_eq!(
        (answer.status.as_u16(), &answer.body["detail"]),
        (404, &json!("Span not found"))
    );
    assert_eq!(
        api.get("/v2/spans/x").await.fault(),
        (422, json!(["path", "span_id"]), "uuid_parsing")
    );
}

#[tokio::test]
async fn every_answered_span_survives_a_kill() {
    let mut server = Server::start();
    let function = server
        .api()
        .function(json!({"name": "f", "instructions": "x", "model": "offline/echo"}))
        .await;
    let calls = (0..64).map(|number| {
        let (api, function) = (server.api(), function.clone());
        tokio::spawn(async move { api.call(&function, json!({"input": number})).await })
    });
    let mut answered = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        answered.push(call.await.unwrap());
    }

    server.restart_after_kill();

    let mut inputs = BTreeSet::new();
    for answer in &answered {
        inputs.insert(server.api().span(answer).await["input"].as_u64().unwrap());
    }
    assert_eq!(inputs.len(), 64);
}

#[tokio::test]
async fn strict_durability_serves_as_well() {
    let mut server = Server::start_with(&[("GATEWRIGHT_STORE__DURABILITY", "strict")]);
    let function = server
        .api()
        .function(json!({"name": "f", "instructions": "x", "model": "offline/echo"}))
        .await;
    let answer = server.api().call(&function, json!({"input": "kept"})).await;

    server.restart_after_kill();

    assert_eq!(server.api().span(&answer).await["output"], "kept");
}

#[tokio::test]
async fn a_very_long_input_is_cut_in_its_span_alone() {
    let server = Server::start();
    let api = server.api();
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": "offline/echo"}))
        .await;
    let long = "å".repeat(3_000_000);

    let called = api.call(&function, json!({"input": long})).await;

    assert_eq!(called.body["message"].as_str().unwrap().len(), long.len());
    let span = api.span(&called).await;
    assert_eq!(span["meta"]["truncated"], true);
    let kept = span["input"].as_str().unwrap().len();
    assert!((4_000_000..=4 * 1024 * 1024).contains(&kept), "{kept}");
}
