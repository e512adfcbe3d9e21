//! The observer with a judge: `interface.md` 15.8.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Answer, Received, Script, Upstream};

use crate::server::{Api, Server};

/// A host whose model `judge` gives 42, whatever it sees, and whose other models say something.
fn host(request: &Received) -> Answer {
    if request.json()["model"] == "judge" {
        let verdict = json!({"score": 42, "observations": "dull, but true"});
        return Answer::json(&verdict).usage(100, 10);
    }
    Answer::text("hello").usage(3, 1)
}

async fn with_judge(script: Script) -> (Server, Upstream) {
    Server::with_upstream_and(script, &[("GATEWRIGHT_OBSERVER__JUDGE", "house/judge")]).await
}

async fn function(api: &Api) -> Value {
    api.function(json!({"name": "f", "instructions": "Be brief.", "model": "house/tiny"}))
        .await
}

/// The span, once the judge has spoken.
async fn judged(api: &Api, id: &str) -> Value {
    for _ in 0..100 {
        let span = api.get(&format!("/v2/spans/{id}")).await.body;
        if span["meta"]["observer"]["score"] == 42 {
            return span;
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    panic!("the judge says nothing of {id}");
}

#[tokio::test]
async fn the_judge_speaks_after_the_answer_and_is_not_on_its_bill() {
    let (server, upstream) = with_judge(Script::by(host)).await;
    let api = server.api();
    let function = function(&api).await;

    let answer = api
        .call(&function, json!({"input": "a secret </input> question"}))
        .await;
    let span = judged(&api, answer.body["span_id"].as_str().unwrap()).await;

    assert_eq!(
        (
            &answer.body["usage"]["input_tokens"],
            &span["meta"]["usage"]["input_tokens"]
        ),
        (&json!(3), &json!(3))
    );
    assert_eq!(span["score"], 42);
    assert_eq!(
        span["meta"]["observer"],
        json!({"score": 42, "observations": "dull, but true"})
    );
    let asked = upstream
        .requests()
        .into_iter()
        .find(|request| request.json()["model"] == "judge");
    let asked = asked.unwrap().json();
    let messages = asked["messages"].as_array().unwrap();
    assert_eq!(messages[0]["role"], "system");
    assert!(
        !messages[0]["content"].as_str().unwrap().contains("secret"),
        "the call is data: {messages:?}"
    );
    assert!(
        messages[1]["content"]
            .as_str()
            .unwrap()
            .contains("a secret"),
        "{messages:?}"
    );
}

#[tokio::test]
async fn a_stream_is_judged_and_a_clients_score_stands() {
    let (server, _upstream) = with_judge(Script::by(host)).await;
    let api = server.api();
    let function = function(&api).await;

    let stream = api.stream_of(&function, &json!({"input": "go"})).await;
    let id = stream.done()["span_id"].as_str().unwrap().to_owned();
    api.patch(&format!("/v2/spans/{id}"), json!({"score": 7}))
        .await;

    assert_eq!(judged(&api, &id).await["score"], 7);
}

#[tokio::test]
async fn an_answer_from_the_cache_is_not_judged_again() {
    let (server, upstream) = with_judge(Script::by(host)).await;
    let api = server.api();
    let function = api
        .function(json!({
            "name": "f", "instructions": "x", "model": "house/tiny", "configuration": {"invocation.cache.ttl": 60},
        }))
        .await;

    let first = api.call(&function, json!({"input": "go"})).await;
    judged(&api, first.body["span_id"].as_str().unwrap()).await;
    let second = api.call(&function, json!({"input": "go"})).await;
    tokio::time::sleep(Duration::from_millis(300)).await;

    assert_eq!(second.body["cached"], true);
    assert_eq!(upstream.requests().len(), 2);
    assert_eq!(api.span(&second).await["score"], Value::Null);
}

#[tokio::test]
async fn a_judge_who_fails_leaves_the_rules_word() {
    let script = Script::by(|request: &Received| {
        if request.json()["model"] == "judge" {
            Answer::error(500, "no")
        } else {
            Answer::text("hello")
        }
    });
    let (server, upstream) = with_judge(script).await;
    let api = server.api();
    let function = function(&api).await;

    let answer = api.call(&function, json!({"input": "go"})).await;
    assert!(upstream.wait_for_requests(2, Duration::from_secs(5)).await);
    tokio::time::sleep(Duration::from_millis(200)).await;

    let span = api.span(&answer).await;
    assert_eq!(
        (&span["score"], &span["meta"]["observer"]["score"]),
        (&json!(100), &json!(100))
    );
}

#[tokio::test]
async fn it_can_be_switched_off() {
    let server = Server::start_with(&[("GATEWRIGHT_OBSERVER__ENABLED", "false")]);
    let api = server.api();
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": "offline/echo"}))
        .await;

    let answer = api.call(&function, json!({"input": "go"})).await;

    let span = api.span(&answer).await;
    assert_eq!(
        (&span["score"], span["meta"].get("observer")),
        (&Value::Null, None)
    );
}
