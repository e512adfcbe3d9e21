//! Streamed calls: `interface.md` section 4.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Answer, EndingKind, Received, Script, Upstream};

use crate::{
    events::{Streamed, events, next_text},
    server::{Api, Server},
};

const TEXT: &str = "The quick brown fox, \"jumps\"\nover the lazy dög \u{1F98A}.";
const VALUE: &str = r#"{"title": "Tea \"time\"", "steps": [{"n": 1, "what": "boil"}, {"n": 2.50, "what": "pour"}], "hot": true, "note": null, "none": []}"#;

/// A server whose provider `house` is the upstream, and which waits half a second for the next piece.
async fn with_upstream(script: impl Into<Script>) -> (Server, Upstream) {
    Server::with_upstream_and(
        script,
        &[("GATEWRIGHT_UPSTREAM__IDLE_TIMEOUT_SECONDS", "0.5")],
    )
    .await
}

fn recipe() -> Value {
    json!({
        "type": "object", "required": ["title", "steps", "hot", "note", "none"], "additionalProperties": false,
        "properties": {
            "title": {"type": "string"}, "hot": {"type": "boolean"}, "note": {"type": ["string", "null"]},
            "none": {"type": "array"},
            "steps": {"type": "array", "items": {
                "type": "object", "properties": {"n": {"type": "number"}, "what": {"type": "string"}}, "required": ["n", "what"],
            }},
        },
    })
}

async fn text_function(api: &Api, model: Value, configuration: Value) -> Value {
    api.function(json!({"name": "f/text", "instructions": "Tell.", "model": model, "configuration": configuration}))
        .await
}

async fn value_function(api: &Api, model: Value, configuration: Value) -> Value {
    api.function(json!({
        "name": "f/value", "instructions": "Cook.", "model": model, "output_schema": recipe(), "configuration": configuration,
    }))
    .await
}

/// The stream of leaves of a function that is there already.
async fn leaves(api: &Api, name: &str) -> Streamed {
    api.stream("/v2/call/stream", &json!({"name": name, "input": "go"}))
        .await
}

/// Plays one answer for each model's name: `house/a` the first, `house/b` the second.
fn by_model(first: Answer, second: Answer) -> Script {
    Script::by(
        move |request: &Received| match request.json()["model"].as_str() {
            Some("a") => first.clone(),
            _ => second.clone(),
        },
    )
}

#[tokio::test]
async fn a_text_comes_piece_by_piece() {
    let (server, upstream) = with_upstream(Answer::text(TEXT).usage(11, 7)).await;
    let api = server.api();
    let function = text_function(&api, json!("house/a"), json!({})).await;

    let stream = api
        .stream_of(&function, &json!({"input": "go", "tags": {"a": 1}}))
        .await;

    assert_eq!(stream.status, 200);
    assert_eq!(stream.headers["content-type"], "text/event-stream");
    assert_eq!(stream.headers["cache-control"], "no-store");
    assert_eq!(stream.headers["x-accel-buffering"], "no");
    assert!(!stream.headers.contains_key("content-length"));
    let span_id = stream.headers["x-span-id"].to_str().unwrap();
    assert_eq!(
        stream.events[0].1,
        json!({"delta": "The ", "span_id": span_id, "chunk_type": "text"})
    );
    assert_eq!(stream.joined(), TEXT);
    let usage = json!({"input_tokens": 11, "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 18});
    assert_eq!(
        stream.done(),
        &json!({
            "delta": "", "span_id": span_id, "chunk_type": "text", "finish_reason": "stop", "usage": usage,
            "cost": {"generation": 0.0, "platform": 0.0, "total": 0.0}, "cached": false,
        })
    );
    let request = upstream.requests()[0].json();
    assert_eq!(
        (
            &request["stream"],
            &request["stream_options"]["include_usage"]
        ),
        (&json!(true), &json!(true))
    );
    let span = api.span_of(&stream).await;
    assert_eq!(
        (&span["output"], &span["error"], &span["meta"]["streamed"]),
        (&json!(TEXT), &Value::Null, &json!(true))
    );
    assert_eq!(
        (&span["meta"]["usage"], &span["meta"]["tags"]),
        (&usage, &json!({"a": 1}))
    );
    let (start, end) = (span["start_time"].as_str(), span["end_time"].as_str());
    assert!(start.unwrap() <= end.unwrap(), "{span}");
}

#[tokio::test]
async fn an_old_revision_is_streamed_too() {
    let server = Server::start();
    let api = server.api();
    let function = text_function(&api, json!("offline/echo"), json!({})).await;
    let (id, revision) = (
        function["id"].as_str().unwrap(),
        function["revision_id"].as_str().unwrap(),
    );
    api.patch(
        &format!("/v2/functions/{id}"),
        json!({"model": "offline/fail-status-503"}),
    )
    .await;

    let stream = api
        .stream(
            &format!("/v2/functions/{id}/call/stream/{revision}"),
            &json!({"input": TEXT}),
        )
        .await;

    assert_eq!(
        (
            stream.joined().as_str(),
            stream.done()["finish_reason"].as_str()
        ),
        (TEXT, Some("stop"))
    );
    let unknown = api
        .stream(&format!("/v2/functions/{id}/call/stream/{id}"), &json!({}))
        .await;
    assert_eq!(unknown.status, 404);
    assert!(
        unknown.text.contains("Function revision not found"),
        "{}",
        unknown.text
    );
}

#[tokio::test]
async fn what_fails_before_the_first_piece_is_a_plain_error() {
    let (server, upstream) = with_upstream(Script::by(|_| Answer::error(500, "no"))).await;
    let api = server.api();
    let failing = text_function(&api, json!(["house/a", "house/b"]), json!({})).await;
    let checked = api
        .function(
            json!({"name": "checked", "instructions": "x", "input_schema": {"type": "integer"}}),
        )
        .await;

    let failed = api.stream_of(&failing, &json!({"input": "go"})).await;
    let mismatched = api
        .stream_of(&checked, &json!({"input": "no integer"}))
        .await;
    let orphan = api
        .stream_of(
            &failing,
            &json!({"parent_span_id": "0190f3a0-0000-7000-8000-000000000000"}),
        )
        .await;

    for (stream, status, class) in [
        (&failed, 502, "UpstreamError"),
        (&mismatched, 422, "RequestValidationError"),
        (&orphan, 404, "NotFoundError"),
    ] {
        let body: Value = serde_json::from_str(&stream.text).unwrap();
        assert_eq!(
            (stream.status.as_u16(), &body["type"]),
            (status, &json!(class))
        );
        assert_eq!(stream.headers["content-type"], "application/json");
    }
    assert_eq!(upstream.requests().len(), 2);
    let span = api.span_of(&failed).await;
    assert_eq!(
        (&span["error"], &span["meta"]["attempts"]),
        (&json!("UpstreamError: no"), &json!(2))
    );
    assert!(span["end_time"].is_string());
    assert!(api.span_of(&mismatched).await["end_time"].is_string());
}

#[tokio::test]
async fn until_the_first_piece_retries_and_fallbacks_go_on() {
    let script = [
        Answer::error(503, "busy").header("retry-after", "0"),
        Answer::text(TEXT).cut_after_pieces(0),
        Answer::text(TEXT),
    ];
    let (server, upstream) = with_upstream(script).await;
    let api = server.api();
    let function = text_function(&api, json!(["house/a", "house/b"]), json!({})).await;

    let stream = api.stream_of(&function, &json!({"input": "go"})).await;

    assert_eq!(stream.joined(), TEXT);
    assert_eq!(stream.done().get("failover"), None);
    let models: Vec<_> = upstream
        .requests()
        .iter()
        .map(|request| request.json()["model"].clone())
        .collect();
    assert_eq!(models, ["a", "a", "b"]);
}

#[tokio::test]
async fn an_empty_completion_is_the_closing_event_alone() {
    let (server, _upstream) = with_upstream(Answer::text("")).await;
    let api = server.api();
    let function = text_function(&api, json!("house/a"), json!({})).await;

    let stream = api.stream_of(&function, &json!({})).await;

    assert_eq!(stream.events.len(), 1);
    assert_eq!(stream.done()["delta"], "");
    assert_eq!(api.span_of(&stream).await["output"], "");
}

#[tokio::test]
async fn a_value_comes_as_its_text_without_what_stands_around_it() {
    let answer = format!("Certainly, here you are:\n```json\n{VALUE}\n```\nEnjoy!");
    for pieces in [1, 3, 1000] {
        let (server, _upstream) = with_upstream(Answer::text(&answer).piece_bytes(pieces)).await;
        let api = server.api();
        let function = value_function(&api, json!("house/a"), json!({})).await;

        let stream = api.stream_of(&function, &json!({})).await;

        assert_eq!(stream.joined(), VALUE);
        assert!(
            stream
                .events
                .iter()
                .all(|(_, data)| data["chunk_type"] == "json")
        );
        let done = stream.done();
        assert_eq!(
            done["json_payload"],
            serde_json::from_str::<Value>(VALUE).unwrap()
        );
        assert!(
            stream.text.contains("2.50"),
            "numbers keep their text: {}",
            stream.text
        );
        assert_eq!(api.span_of(&stream).await["output"], done["json_payload"]);
    }
}

#[tokio::test]
async fn a_value_comes_leaf_by_leaf() {
    for pieces in [1, 2, 7, 1000] {
        let (server, _upstream) = with_upstream(Answer::text(VALUE).piece_bytes(pieces)).await;
        let api = server.api();
        value_function(&api, json!("house/a"), json!({})).await;

        let stream = leaves(&api, "f/value").await;

        let mut expected: Value = serde_json::from_str(VALUE).unwrap();
        assert_eq!(stream.done()["json_payload"], expected);
        expected.as_object_mut().unwrap().remove("none");
        assert_eq!(stream.rebuilt(), expected);
        let at = |path: &str| -> Vec<Value> {
            let leaves = stream
                .events
                .iter()
                .filter(|(_, data)| data["json_path"] == path);
            leaves.map(|(_, data)| data["delta"].clone()).collect()
        };
        assert_eq!(at("steps[0].n"), [json!(1)]);
        assert_eq!(
            (at("hot"), at("note")),
            (vec![json!(true)], vec![Value::Null])
        );
        assert!(pieces > 2 || at("title").len() > 3, "{:?}", at("title"));
    }
}

#[tokio::test]
async fn a_scalar_is_its_own_root_and_text_has_no_path() {
    let server = Server::start();
    let api = server.api();

    let scalar = api
        .stream("/v2/call/stream", &json!({
            "name": "scalar", "model": "offline/echo", "input": 42, "output_schema": {"type": "integer"},
        }))
        .await;
    let text = api
        .stream(
            "/v2/call/stream",
            &json!({"name": "text", "model": "offline/echo", "input": TEXT}),
        )
        .await;

    assert_eq!(
        (
            &scalar.events[0].1["json_path"],
            &scalar.events[0].1["delta"]
        ),
        (&json!("_root"), &json!(42))
    );
    assert_eq!(scalar.done()["json_payload"], 42);
    assert_eq!(text.joined(), TEXT);
    assert!(
        text.events
            .iter()
            .all(|(_, data)| data.get("json_path").is_none() && data["chunk_type"] == "text")
    );
}

#[tokio::test]
async fn a_value_that_misses_its_schema_ends_in_an_error() {
    let (server, upstream) = with_upstream(Answer::text(r#"{"title": 3}"#)).await;
    let api = server.api();
    let function = value_function(&api, json!("house/a"), json!({})).await;

    let stream = api.stream_of(&function, &json!({})).await;

    assert_eq!(stream.joined(), r#"{"title": 3}"#);
    assert_eq!(stream.error(), "StructuredGenerationError");
    assert_eq!(
        upstream.requests().len(),
        1,
        "what is out cannot be repaired"
    );
    let span = api.span_of(&stream).await;
    assert_eq!(span["meta"]["error_type"], "StructuredGenerationError");
}

#[tokio::test]
async fn an_answer_that_never_began_is_repaired() {
    let (server, upstream) = with_upstream([
        Answer::text(""),
        Answer::text("Let me think."),
        Answer::text(VALUE),
    ])
    .await;
    let api = server.api();
    let function = value_function(&api, json!("house/a"), json!({})).await;

    let stream = api.stream_of(&function, &json!({})).await;

    assert_eq!(stream.joined(), VALUE);
    assert_eq!(upstream.requests().len(), 3);
    let span = api.span_of(&stream).await;
    assert_eq!(span["meta"]["attempts"], 3);
    assert_eq!(span["meta"]["observer"]["score"], 70);
}

#[tokio::test]
async fn a_refusal_of_a_value_is_a_plain_error() {
    let (server, _upstream) = with_upstream(Answer::message(
        json!({"role": "assistant", "content": null, "refusal": "I will not."}),
    ))
    .await;
    let api = server.api();
    let function = value_function(&api, json!("house/a"), json!({})).await;

    let stream = api.stream_of(&function, &json!({})).await;

    assert_eq!(stream.status, 400);
    assert!(
        stream.text.contains("ContentPolicyViolationError"),
        "{}",
        stream.text
    );
}

/// Every way in which a stream can break, after so many pieces.
fn breaks(answer: &Answer, pieces: usize) -> Vec<(&'static str, Answer)> {
    let overloaded = json!({"message": "overloaded", "code": 503});
    vec![
        ("UpstreamError", answer.clone().cut_after_pieces(pieces)),
        ("UpstreamError", answer.clone().cut_mid_event(pieces + 1)),
        ("UpstreamError", answer.clone().end_after_pieces(pieces)),
        (
            "UpstreamError",
            answer.clone().error_after_pieces(pieces, overloaded),
        ),
        ("UpstreamError", answer.clone().garbage_after_pieces(pieces)),
        (
            "UpstreamTimeoutError",
            answer.clone().stall_after_pieces(pieces),
        ),
    ]
}

#[tokio::test]
async fn a_broken_stream_is_never_a_clean_end() {
    let whole = Answer::text(TEXT).piece_bytes(8);
    let pieces = TEXT.len().div_ceil(8);
    let mut cases = Vec::new();
    for piece in 0..=pieces {
        cases.extend(
            breaks(&whole, piece)
                .into_iter()
                .map(|(class, answer)| (piece, class, answer)),
        );
    }
    let script: Vec<Answer> = cases.iter().map(|(.., answer)| answer.clone()).collect();
    // One after the other, each with a function of its own, so that no breaker opens.
    let (server, _upstream) = Server::with_upstream_and(
        Script::by(move |request: &Received| {
            let number: usize = request.json()["model"].as_str().unwrap().parse().unwrap();
            script[number].clone()
        }),
        &[
            ("GATEWRIGHT_UPSTREAM__IDLE_TIMEOUT_SECONDS", "0.3"),
            ("GATEWRIGHT_UPSTREAM__TIMEOUT_SECONDS", "0.3"),
        ],
    )
    .await;
    let api = server.api();

    for (number, (piece, class, _)) in cases.iter().enumerate() {
        let function = api
            .function(json!({"name": format!("f{number}"), "instructions": "x", "model": format!("house/{number}")}))
            .await;

        let stream = api.stream_of(&function, &json!({"input": "go"})).await;

        let context = format!(
            "case {number}: {class} after {piece} pieces: {}",
            stream.text
        );
        let span = api.span_of(&stream).await;
        assert_eq!(span["meta"]["error_type"], *class, "{context}\n{span}");
        assert!(span["end_time"].is_string(), "{context}");
        if stream.headers["content-type"] == "application/json" {
            assert!(stream.text.contains(class), "{context}");
            assert_eq!(*piece, 0, "{context}");
            continue;
        }
        assert_eq!(stream.error(), *class, "{context}");
        assert!(
            TEXT.starts_with(&stream.joined()) && *piece > 0,
            "{context}"
        );
        assert_eq!(span["output"], stream.joined(), "{context}");
        assert_eq!(span["meta"]["usage_estimated"], true, "{context}");
    }
}

#[tokio::test]
async fn what_the_provider_had_counted_is_kept_when_its_stream_is_cut() {
    let begin = json!({"type": "message_start", "message": {"usage": {
        "input_tokens": 100, "cache_read_input_tokens": 50, "cache_creation_input_tokens": 30, "output_tokens": 1,
    }}});
    let block = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
    let piece = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": TEXT}});
    let events = [begin, block, piece].map(|event| format!("data: {event}\n\n"));
    let answer = Answer::bytes(200, "text/event-stream", events.concat().into_bytes());
    let upstream = Upstream::start(answer).await;
    let server = Server::start_with(&[
        (
            "GATEWRIGHT_PROVIDERS__HOUSE__API_BASE",
            &upstream.base_url(),
        ),
        ("GATEWRIGHT_PROVIDERS__HOUSE__PROTOCOL", "anthropic"),
    ]);
    let api = server.api();
    let function = text_function(&api, json!("house/a"), json!({})).await;

    let stream = api.stream_of(&function, &json!({"input": "go"})).await;

    assert_eq!(stream.error(), "UpstreamError");
    let span = api.span_of(&stream).await;
    let tried = &span["meta"]["models_tried"][0];
    let usage = &tried["usage"];
    assert_eq!(usage["input_tokens"], 180, "{span}");
    assert!(usage["output_tokens"].as_u64() > Some(8), "{span}");
    assert_eq!(
        tried["usage_kinds"],
        json!({"cached_tokens": 50, "cache_write_tokens": 30})
    );
    assert_eq!(tried["usage_reported"]["cache_read_input_tokens"], 50);
    assert_eq!(span["meta"]["usage_estimated"], true);
}

/// The number in a model's name, `cut-3` or `rest-3`.
fn number(model: &Value) -> (String, usize) {
    let (kind, number) = model.as_str().unwrap().split_once('-').unwrap();
    (kind.to_owned(), number.parse().unwrap())
}

#[tokio::test]
async fn another_model_goes_on_with_a_text_at_every_piece() {
    let whole = "Once upon a time there was a fox; it was quick, brown, and quite lazy in the end.";
    let pieces: Vec<&str> = whole.split_inclusive(' ').collect();
    let script = {
        let pieces = pieces.clone();
        Script::by(
            move |request: &Received| match number(&request.json()["model"]) {
                (kind, cut) if kind == "cut" => {
                    Answer::text(whole).pieces(&pieces).cut_after_pieces(cut)
                }
                (_, cut) => Answer::text(&pieces[cut..].concat()),
            },
        )
    };
    let (server, upstream) = with_upstream(script).await;
    let api = server.api();
    for cut in 1..=pieces.len() {
        let models = json!([format!("house/cut-{cut}"), format!("house/rest-{cut}")]);
        let function = api
            .function(json!({
                "name": format!("f{cut}"), "instructions": "Tell.", "model": models,
                "configuration": {"invocation.stream.failover": "continue"},
            }))
            .await;

        let stream = api.stream_of(&function, &json!({"input": "go"})).await;

        assert_eq!(stream.joined(), whole, "cut after {cut}");
        assert_eq!(stream.done()["failover"], true);
        let asked = upstream.requests().last().unwrap().json();
        let turns = asked["messages"].as_array().unwrap();
        assert_eq!(turns[turns.len() - 2]["content"], pieces[..cut].concat());
        let span = api.span_of(&stream).await;
        assert_eq!(
            (&span["output"], &span["meta"]["failover"]),
            (&json!(whole), &json!(true))
        );
        assert_eq!(span["meta"]["models_tried"][0]["status"], "broken");
        assert_eq!(span["meta"]["model"], format!("house/rest-{cut}"));
    }
}

#[tokio::test]
async fn another_model_completes_a_value_at_every_piece() {
    let value: Value = serde_json::from_str(VALUE).unwrap();
    let script = Script::by(
        |request: &Received| match number(&request.json()["model"]) {
            (kind, cut) if kind == "cut" => {
                Answer::text(VALUE).piece_bytes(5).cut_after_pieces(cut)
            }
            _ => Answer::text(VALUE),
        },
    );
    let (server, _upstream) = with_upstream(script).await;
    let api = server.api();
    for cut in 1..=VALUE.len().div_ceil(5) {
        let name = format!("f{cut}");
        let function = api
            .function(json!({
                "name": name, "instructions": "Cook.", "output_schema": recipe(),
                "model": [format!("house/cut-{cut}"), format!("house/rest-{cut}")],
                "configuration": {"invocation.stream.failover": "continue"},
            }))
            .await;

        let raw = api.stream_of(&function, &json!({"input": "go"})).await;
        let by_leaf = leaves(&api, &name).await;

        let context = format!("cut after {cut}: {}\n{}", raw.text, by_leaf.text);
        assert_eq!(raw.done()["json_payload"], value, "{context}");
        // A member is held back until its value begins, so the first two pieces have sent nothing yet.
        let has_sent = cut > 2;
        assert_eq!(raw.done().get("failover").is_some(), has_sent, "{context}");
        let sent: Value = serde_json::from_str(&raw.joined()).unwrap();
        assert_eq!(sent, value, "{context}");
        assert_eq!(by_leaf.done()["json_payload"], value, "{context}");
        let mut expected = value.clone();
        expected.as_object_mut().unwrap().remove("none");
        assert_eq!(by_leaf.rebuilt(), expected, "{context}");
    }
}

#[tokio::test]
async fn a_model_that_says_something_else_cannot_go_on() {
    let other = VALUE.replace("boil", "grind").replace("Tea", "Coffee");
    let cut_in_title = Answer::text(VALUE).piece_bytes(4).cut_after_pieces(4);
    let (server, _upstream) = with_upstream(by_model(cut_in_title, Answer::text(&other))).await;
    let api = server.api();
    let failover = json!({"invocation.stream.failover": "continue", "invocation.structured_generation.max_attempts": 2});
    let function = value_function(&api, json!(["house/a", "house/b"]), failover).await;

    let stream = api.stream_of(&function, &json!({"input": "go"})).await;

    assert_eq!(stream.error(), "StructuredGenerationError");
    assert!(VALUE.starts_with(&stream.joined()), "{}", stream.text);
}

#[tokio::test]
async fn no_value_is_made_of_two() {
    let given = r#"{"people":[{"name":"Ada","iban":"DE-ADA"}]}"#;
    let other = r#"{"people":[{"name":"Bob","iban":"BOB-1"}]}"#;
    let cut = Answer::text(given).piece_bytes(4).cut_after_pieces(6);
    let (server, _upstream) = with_upstream(by_model(cut, Answer::text(other))).await;
    let api = server.api();
    let function = api
        .function(json!({
            "name": "f", "instructions": "x", "model": ["house/a", "house/b"], "output_schema": {"type": "object"},
            "configuration": {
                "invocation.stream.failover": "continue", "invocation.structured_generation.max_attempts": 2,
            },
        }))
        .await;

    let stream = api.stream_of(&function, &json!({"input": "go"})).await;

    assert_eq!(stream.error(), "StructuredGenerationError");
    assert!(given.starts_with(&stream.joined()), "{}", stream.text);
}

#[tokio::test]
async fn without_the_setting_nobody_goes_on() {
    let script = by_model(
        Answer::text(TEXT).cut_after_pieces(3),
        Answer::text("never"),
    );
    let (server, upstream) = with_upstream(script).await;
    let api = server.api();
    let function = text_function(&api, json!(["house/a", "house/b"]), json!({})).await;

    let stream = api.stream_of(&function, &json!({"input": "go"})).await;

    assert_eq!(stream.error(), "UpstreamError");
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn a_client_who_leaves_ends_the_request_upstream_and_closes_the_span() {
    let (server, upstream) =
        with_upstream(Answer::text(TEXT).pause(Duration::from_millis(100))).await;
    let api = server.api();
    let function = text_function(&api, json!("house/a"), json!({})).await;
    let id = function["id"].as_str().unwrap();

    let mut response = api
        .open_stream(
            &format!("/v2/functions/{id}/call/stream"),
            &json!({"input": "go"}),
        )
        .await;
    let span_id = response.headers()["x-span-id"].to_str().unwrap().to_owned();
    let seen = next_text(&mut response).await.unwrap();
    let open = api.get(&format!("/v2/spans/{span_id}")).await.body;
    drop(response);
    let left = Instant::now();

    assert_eq!(
        (&open["end_time"], &open["input"], &open["error"]),
        (&Value::Null, &json!("go"), &Value::Null)
    );
    assert!(seen.contains("The "), "{seen}");
    assert!(upstream.wait_until_idle(Duration::from_secs(1)).await);
    assert!(left.elapsed() < Duration::from_secs(1));
    assert_eq!(upstream.endings()[0].kind, EndingKind::Left);
    let span = closed(&api, &span_id).await;
    assert_eq!(span["error"], "client disconnected");
    let output = span["output"].as_str().unwrap();
    assert!(
        TEXT.starts_with(output) && output.starts_with("The "),
        "{span}"
    );
    assert_eq!(
        (
            &span["meta"]["usage_estimated"],
            &span["meta"]["models_tried"][0]["status"]
        ),
        (&json!(true), &json!("cancelled"))
    );
}

#[tokio::test]
async fn a_client_who_leaves_before_the_first_piece_is_noticed_as_well() {
    let (server, upstream) =
        with_upstream(Answer::text(TEXT).first_after(Duration::from_secs(30))).await;
    let api = server.api();
    let function = text_function(&api, json!("house/a"), json!({})).await;
    let path = format!(
        "/v2/functions/{}/call/stream",
        function["id"].as_str().unwrap()
    );

    let body = json!({"input": "go"});
    let waiting =
        tokio::time::timeout(Duration::from_millis(300), api.open_stream(&path, &body)).await;

    assert!(waiting.is_err(), "the head waits for the first piece");
    assert!(upstream.wait_until_idle(Duration::from_secs(1)).await);
}

/// The span, when it has come to its end.
async fn closed(api: &Api, id: &str) -> Value {
    for _ in 0..100 {
        let span = api.get(&format!("/v2/spans/{id}")).await.body;
        if span["end_time"].is_string() {
            return span;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the span {id} stays open");
}

#[tokio::test]
async fn a_span_whose_server_was_killed_is_interrupted() {
    let (mut server, _upstream) =
        with_upstream(Answer::text(TEXT).pause(Duration::from_millis(200))).await;
    let api = server.api();
    let function = text_function(&api, json!("house/a"), json!({})).await;
    let path = format!(
        "/v2/functions/{}/call/stream",
        function["id"].as_str().unwrap()
    );
    let mine = api
        .post("/v2/spans", json!({"name": "mine, and still running"}))
        .await
        .body;
    let mut response = api.open_stream(&path, &json!({"input": "go"})).await;
    let span_id = response.headers()["x-span-id"].to_str().unwrap().to_owned();
    next_text(&mut response).await.unwrap();

    server.restart_after_kill();

    let api = server.api();
    let span = api.get(&format!("/v2/spans/{span_id}")).await.body;
    assert_eq!(span["error"], "InternalServerError: interrupted");
    assert!(span["end_time"].is_string());
    let mine = api
        .get(&format!("/v2/spans/{}", mine["id"].as_str().unwrap()))
        .await
        .body;
    assert_eq!(
        (&mine["end_time"], &mine["error"]),
        (&Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn a_server_that_stops_closes_its_streams_in_words() {
    let (mut server, _upstream) = Server::with_upstream_and(
        Answer::text(TEXT).pause(Duration::from_secs(1)),
        &[("GATEWRIGHT_SERVER__DRAIN_SECONDS", "0.5")],
    )
    .await;
    let api = server.api();
    let function = text_function(&api, json!("house/a"), json!({})).await;
    let path = format!(
        "/v2/functions/{}/call/stream",
        function["id"].as_str().unwrap()
    );
    let mut response = api.open_stream(&path, &json!({"input": "go"})).await;
    let mut text = next_text(&mut response).await.unwrap();

    let (status, ()) = tokio::join!(server.stop(), async {
        while let Some(more) = next_text(&mut response).await {
            text += &more;
        }
    });

    assert_eq!(status, Some(0));
    let events = events(&text);
    let (name, data) = events.last().unwrap();
    assert_eq!(
        (name.as_str(), &data["error_type"]),
        ("error", &json!("ServiceUnavailableError"))
    );
}

#[tokio::test]
async fn xml_is_streamed_as_the_value_at_the_end() {
    let xml = "<answer><title>Tea &amp; time</title><steps><item><n>1</n><what>boil</what></item></steps><hot>true</hot><note/><none/></answer>";
    let (server, _upstream) = with_upstream(Answer::text(xml)).await;
    let api = server.api();
    let function = value_function(
        &api,
        json!("house/a"),
        json!({"beta.invocation.xml_mode.enabled": true}),
    )
    .await;
    let value = json!({"title": "Tea & time", "steps": [{"n": 1, "what": "boil"}], "hot": true, "note": null, "none": []});

    let raw = api.stream_of(&function, &json!({"input": "go"})).await;
    let by_leaf = leaves(&api, "f/value").await;

    assert_eq!(raw.deltas().len(), 1);
    assert_eq!(serde_json::from_str::<Value>(&raw.joined()).unwrap(), value);
    assert_eq!(
        (&raw.done()["json_payload"], &by_leaf.done()["json_payload"]),
        (&value, &value)
    );
    assert_eq!(by_leaf.rebuilt()["steps"], value["steps"]);
}
