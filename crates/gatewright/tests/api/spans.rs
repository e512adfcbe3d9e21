//! `/v2/spans`: `interface.md` 8.1 and 8.3.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::server::{BETA, Server};

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
    for null in ["parent_id", "error", "feedback"] {
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
    assert_eq!(span["score"], 100, "by rule");
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
    let function = api.echo().await;
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
    let function = api.echo().await;

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
    let function = api.echo().await;
    let long = "å".repeat(3_000_000);

    let called = api.call(&function, json!({"input": long})).await;

    assert_eq!(called.body["message"].as_str().unwrap().len(), long.len());
    let span = api.span(&called).await;
    assert_eq!(span["meta"]["truncated"], true);
    let kept = span["input"].as_str().unwrap().len();
    assert!((4_000_000..=4 * 1024 * 1024).contains(&kept), "{kept}");
}

#[tokio::test]
async fn a_client_makes_changes_and_deletes_its_own_span() {
    let server = Server::start();
    let api = server.api();
    let id = "0190f3a0-1111-7000-8000-000000000001";
    let parent = api.post("/v2/spans", json!({"name": "parent"})).await.body;

    let body = json!({
        "id": id, "name": "mine", "type": "retrieval", "parent_id": parent["id"], "start_time": "2025-01-31T12:00:00",
        "input": {"q": 1.50}, "meta": {"a": 1, "b": 2}, "score": 3.0,
    });
    let made = api.post("/v2/spans", body.clone()).await;
    assert_eq!(made.status, 200);
    let expected = json!({
        "id": id, "name": "mine", "start_time": "2025-01-31T12:00:00.000000Z", "end_time": null,
        "trace_id": parent["trace_id"], "parent_id": parent["id"], "type": "retrieval", "input": {"q": 1.50}, "output": null,
        "error": null, "meta": {"a": 1, "b": 2}, "score": 3, "feedback": null,
    });
    assert_eq!(made.body, expected);
    let taken = api.post("/v2/spans", body.clone()).await;
    assert_eq!(
        (taken.status.as_u16(), taken.class()),
        (409, "ConflictError")
    );
    assert_eq!(
        server
            .api_with(BETA)
            .post("/v2/spans", json!({"id": id, "name": "theirs"}))
            .await
            .status,
        200
    );

    let path = format!("/v2/spans/{id}");
    let changes = json!({
        "end_time": "2025-01-31T13:00:01.5+01:00", "output": "done", "meta": {"b": 3, "c": null}, "score": null, "input": null, "name": null,
    });
    let changed = api.patch(&path, changes).await;
    let mut then = expected;
    then["end_time"] = json!("2025-01-31T12:00:01.500000Z");
    then["output"] = json!("done");
    then["meta"] = json!({"a": 1, "b": 3, "c": null});
    then["score"] = Value::Null;
    then["input"] = Value::Null;
    assert_eq!((changed.status.as_u16(), &changed.body), (200, &then));
    assert_eq!(api.get(&path).await.body, then);

    assert_eq!(api.delete(&path).await.status, 204);
    assert_eq!(api.get(&path).await.status, 404);
    assert_eq!(api.patch(&path, json!({"name": "x"})).await.status, 404);
    assert_eq!(
        server.api_with(BETA).get(&path).await.body["name"],
        "theirs"
    );
}

#[tokio::test]
async fn each_member_of_a_span_has_its_rule() {
    let server = Server::start();
    let api = server.api();
    let span = api.post("/v2/spans", json!({"name": "s"})).await.body;
    let id = span["id"].as_str().unwrap();

    for (path, body, place, slug) in [
        (
            "/v2/spans".to_owned(),
            json!({}),
            json!(["body", "name"]),
            "missing",
        ),
        (
            "/v2/spans".to_owned(),
            json!({"name": "s", "id": "x"}),
            json!(["body", "id"]),
            "uuid_parsing",
        ),
        (
            "/v2/spans".to_owned(),
            json!({"name": "s", "start_time": "noon"}),
            json!(["body", "start_time"]),
            "datetime_parsing",
        ),
        (
            "/v2/spans".to_owned(),
            json!({"name": "s", "score": 3.5}),
            json!(["body", "score"]),
            "int_type",
        ),
        (
            "/v2/spans".to_owned(),
            json!({"name": "s", "score": "3"}),
            json!(["body", "score"]),
            "int_type",
        ),
        (
            "/v2/spans".to_owned(),
            json!({"name": "s", "meta": []}),
            json!(["body", "meta"]),
            "object_type",
        ),
        (
            format!("/v2/spans/{id}/feedback"),
            json!({}),
            json!(["body", "score"]),
            "missing",
        ),
        (
            format!("/v2/spans/{id}/feedback"),
            json!({"score": 1.5}),
            json!(["body", "score"]),
            "less_than_equal",
        ),
        (
            format!("/v2/spans/{id}/feedback"),
            json!({"score": -0.1}),
            json!(["body", "score"]),
            "greater_than_equal",
        ),
        (
            format!("/v2/spans/{id}/feedback"),
            json!({"score": "1"}),
            json!(["body", "score"]),
            "float_type",
        ),
        (
            format!("/v2/spans/{id}/metrics"),
            json!({"dimension": "d"}),
            json!(["body", "value"]),
            "missing",
        ),
        (
            format!("/v2/spans/{id}/metrics"),
            json!({"value": 1}),
            json!(["body", "dimension"]),
            "missing",
        ),
    ] {
        let answer = api
            .send_text(reqwest::Method::POST, &path, Some(body.to_string()))
            .await;
        assert_eq!(answer.fault(), (422, place, slug), "{body}");
    }
    let orphan = api
        .post(
            "/v2/spans",
            json!({"name": "s", "parent_id": "0190f3a0-0000-7000-8000-000000000000"}),
        )
        .await;
    assert_eq!(
        (orphan.status.as_u16(), &orphan.body["detail"]),
        (404, &json!("Parent span not found"))
    );
}

#[tokio::test]
async fn metrics_are_kept_with_their_span() {
    let server = Server::start();
    let api = server.api();
    let span = api.post("/v2/spans", json!({"name": "s"})).await.body;
    let path = format!("/v2/spans/{}/metrics", span["id"].as_str().unwrap());

    let made = api
        .post(
            &path,
            json!({"dimension": "speed", "value": 0.25, "comment": "c"}),
        )
        .await;
    let second = api
        .post(&path, json!({"dimension": "speed", "value": 2}))
        .await
        .body;
    let one = format!("{path}/{}", made.body["id"].as_str().unwrap());

    assert_eq!(made.status, 200);
    assert_eq!(
        (
            &made.body["span_id"],
            &made.body["value"],
            &second["comment"]
        ),
        (&span["id"], &json!(0.25), &Value::Null)
    );
    let list = api.get(&format!("{path}?limit=1&offset=1")).await.body;
    assert_eq!(list, json!({"meta": {"total_count": 2}, "data": [second]}));
    let changed = api
        .patch(
            &one,
            json!({"value": 7, "comment": null, "dimension": null}),
        )
        .await
        .body;
    assert_eq!(
        (
            &changed["value"],
            &changed["comment"],
            &changed["dimension"]
        ),
        (&json!(7.0), &Value::Null, &json!("speed"))
    );
    assert_eq!(api.get(&one).await.body, changed);
    assert_eq!(server.api_with(BETA).get(&one).await.status, 404);
    assert_eq!(api.delete(&one).await.status, 204);
    assert_eq!(api.get(&one).await.status, 404);
}

#[tokio::test]
async fn a_call_is_scored_by_rule_and_a_clients_word_stands() {
    let server = Server::start();
    let api = server.api();
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": "offline/fail-json-1", "output_schema": schema}))
        .await;

    let answer = api.call(&function, json!({"input": "go"})).await;
    let span = api.span(&answer).await;
    let path = format!("/v2/spans/{}", span["id"].as_str().unwrap());
    let changed = api
        .patch(&path, json!({"score": 3, "meta": {"seen": true}}))
        .await
        .body;

    assert_eq!(
        (&span["score"], &span["meta"]["observer"]["score"]),
        (&json!(85), &json!(85))
    );
    assert!(span["meta"]["observer"]["observations"].is_string());
    assert_eq!(
        (&changed["score"], &changed["meta"]["seen"]),
        (&json!(3), &json!(true))
    );
    assert_eq!(changed["meta"]["attempts"], span["meta"]["attempts"]);
}
