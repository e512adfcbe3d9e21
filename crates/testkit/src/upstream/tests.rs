use std::time::{Duration, Instant};

use crate::{Answer, Script, Upstream, client::Connection};
use http::Method;
use serde_json::json;

mod hang_ups;
mod streams;

async fn connection(upstream: &Upstream) -> Connection {
    let address = upstream.authority().parse().unwrap();
    Connection::open(address, "key").await.unwrap()
}

#[tokio::test]
async fn a_queue_is_answered_in_order_and_ends_with_an_error() {
    let upstream = Upstream::start([
        Answer::text("hello").usage(3, 4),
        Answer::error(429, "slow down").header("retry-after", "2"),
    ])
    .await;
    let mut connection = connection(&upstream).await;
    let body = json!({"model": "m", "messages": []});

    let first = connection
        .post("/v1/chat/completions", &body)
        .await
        .unwrap();
    let second = connection
        .post("/v1/chat/completions", &body)
        .await
        .unwrap();
    let third = connection
        .post("/v1/chat/completions", &body)
        .await
        .unwrap();

    assert_eq!(first.status, 200);
    assert_eq!(first.json()["model"], "m");
    assert_eq!(first.json()["choices"][0]["message"]["content"], "hello");
    assert_eq!(first.json()["usage"]["total_tokens"], 7);
    assert_eq!(
        (second.status.as_u16(), &second.headers["retry-after"]),
        (429, &"2".parse().unwrap())
    );
    assert_eq!(third.status, 500);
}

#[tokio::test]
async fn every_request_is_kept_as_it_came() {
    let upstream = Upstream::start(Answer::embeddings(vec![vec![0.5, 1.0]])).await;
    let mut connection = connection(&upstream).await;

    let reply = connection
        .post("/v1/embeddings?a=b", &json!({"input": ["x"]}))
        .await
        .unwrap();

    assert_eq!(reply.json()["data"][0]["embedding"], json!([0.5, 1.0]));
    let [request] = &upstream.requests()[..] else {
        panic!("one request was sent")
    };
    assert_eq!(
        (&request.method, request.path.as_str()),
        (&Method::POST, "/v1/embeddings?a=b")
    );
    assert_eq!(request.header("authorization"), Some("Bearer key"));
    assert_eq!(request.json(), json!({"input": ["x"]}));
}

#[tokio::test]
async fn a_closure_decides_by_the_request() {
    let upstream = Upstream::start(Script::by(|request| {
        match request.json()["model"].as_str() {
            Some("good") => Answer::json(&json!({"a": 1})),
            _ => Answer::html(502),
        }
    }))
    .await;
    let mut connection = connection(&upstream).await;

    let good = connection
        .post("/v1/chat/completions", &json!({"model": "good"}))
        .await
        .unwrap();
    let bad = connection
        .post("/v1/chat/completions", &json!({"model": "bad"}))
        .await
        .unwrap();

    assert_eq!(
        good.json()["choices"][0]["message"]["content"],
        r#"{"a":1}"#
    );
    assert_eq!(
        (bad.status.as_u16(), &bad.headers["content-type"]),
        (502, &"text/html".parse().unwrap())
    );
}

#[tokio::test]
async fn a_connection_is_cut_before_the_head_or_within_the_body() {
    let upstream = Upstream::start([Answer::cut(), Answer::text("cut short").cut_after(20)]).await;

    let before = connection(&upstream)
        .await
        .post("/v1/chat/completions", &json!({}))
        .await;
    let within = connection(&upstream)
        .await
        .post("/v1/chat/completions", &json!({}))
        .await;

    assert!(before.is_err() && within.is_err());
    assert_eq!(upstream.requests().len(), 2);
}

#[tokio::test]
async fn an_answer_can_be_late_garbled_or_endless() {
    let delay = Duration::from_millis(50);
    let upstream = Upstream::start([
        Answer::text("late").after(delay),
        Answer::garbage(),
        Answer::oversize(1_000_000),
    ])
    .await;
    let mut connection = connection(&upstream).await;

    let asked = Instant::now();
    let late = connection.get("/v1/models").await.unwrap();
    let waited = asked.elapsed();
    let garbage = connection.get("/v1/models").await.unwrap();
    let oversize = connection.get("/v1/models").await.unwrap();

    assert!(late.status.is_success() && waited >= delay);
    assert!(serde_json::from_slice::<serde_json::Value>(&garbage.body).is_err());
    assert_eq!(oversize.body.len(), 1_000_000);
}
