//! `[spans]`: how long spans are kept, and what of them.

use std::{fs, path::Path, time::Duration};

use serde_json::{Value, json};
use testkit::{Answer, Received, Script};
use tokio::time::sleep;

use crate::server::{ALPHA, Api, BETA, Server};

const CANARY: &str = "canary-7d1f";

async fn make(api: &Api, start_time: &str) -> String {
    let body = json!({"name": "step", "start_time": start_time, "input": "x"});
    let made = api.post("/v2/spans", body).await;
    assert_eq!(made.status, 200, "{made:?}");
    made.body["id"].as_str().unwrap().to_owned()
}

async fn status(api: &Api, span: &str) -> u16 {
    api.get(&format!("/v2/spans/{span}")).await.status.as_u16()
}

#[tokio::test]
async fn an_old_span_is_gone_with_all_that_hangs_at_it_while_calls_go_on() {
    let mut server = Server::start_with(&[
        ("GATEWRIGHT_SPANS__KEEP_DAYS", "30"),
        ("GATEWRIGHT_PROJECTS__BETA__SPANS__KEEP_DAYS", "0"),
    ]);
    let (alpha, beta) = (server.api(), server.api_with(BETA));
    let old = make(&alpha, "2020-01-01T00:00:00Z").await;
    let theirs = make(&beta, "2020-01-01T00:00:00Z").await;
    let echo = alpha.echo().await;
    let called = alpha.call(&echo, json!({"input": "young"})).await;
    let young = called.body["span_id"].as_str().unwrap().to_owned();
    let metric = json!({"dimension": "speed", "value": 1});
    let added = alpha
        .post(&format!("/v2/spans/{old}/metrics"), metric)
        .await;
    assert_eq!(
        (added.status.as_u16(), status(&alpha, &old).await),
        (200, 200)
    );

    assert_eq!(server.stop().await, Some(0));
    server.start_again();
    let (alpha, beta) = (server.api(), server.api_with(BETA));
    let mut calls = 0;
    while status(&alpha, &old).await == 200 {
        let called = alpha.call(&echo, json!({"input": "meanwhile"})).await;
        assert_eq!(called.status, 200, "{called:?}");
        calls += 1;
        assert!(calls < 500, "the span is still there");
        sleep(Duration::from_millis(10)).await;
    }

    assert_eq!(status(&alpha, &old).await, 404);
    let metrics = alpha.get(&format!("/v2/spans/{old}/metrics")).await;
    assert_eq!(metrics.status, 404);
    assert_eq!(status(&alpha, &young).await, 200);
    assert_eq!(status(&beta, &theirs).await, 200);
    let metrics = alpha.get("/metrics").await;
    assert!(
        metrics.text.contains("gatewright_spans_forgotten_total 1"),
        "{}",
        metrics.text
    );
}

/// A host whose every word is the canary: answers, refusals and the judge's.
fn host(request: &Received) -> Answer {
    match request.json()["model"].as_str() {
        Some("broken") => Answer::error(400, &format!("no: {CANARY}")),
        Some("judge") => Answer::json(&json!({"score": 42, "observations": CANARY})),
        _ => Answer::text(&format!("said {CANARY}")).usage(3, 1),
    }
}

/// Calls, streams, talks, fails and records a step, each with the canary; gives the spans, the failed call's last.
async fn use_all(api: &Api) -> Vec<String> {
    let id = |body: &Value, member: &str| body[member].as_str().unwrap().to_owned();
    let function = |name: &str, model: &str| {
        let body = json!({"name": name, "instructions": "x", "model": model});
        let api = api.clone();
        async move { api.function(body).await }
    };
    let (good, bad) = (
        function("good", "house/tiny").await,
        function("bad", "house/broken").await,
    );
    let input = json!({"input": CANARY, "tags": {"team": "maps"}});
    let called = api.call(&good, input.clone()).await;
    assert_eq!(called.status, 200, "{called:?}");
    let path = format!("/v2/functions/{}/call/stream", good["id"].as_str().unwrap());
    let streamed = api.open_stream(&path, &input).await;
    let of_stream = streamed.headers()["x-span-id"].to_str().unwrap().to_owned();
    assert!(streamed.text().await.unwrap().contains("finish_reason"));
    let chat = json!({"model": "house/tiny", "messages": [{"role": "user", "content": CANARY}]});
    let chatted = api.post("/v2/openai/chat/completions", chat).await;
    assert_eq!(chatted.status, 200, "{chatted:?}");
    let own = json!({"name": "own", "input": CANARY, "output": CANARY, "error": CANARY});
    let own = api.post("/v2/spans", own).await;
    let own = id(&own.body, "id");
    let change = json!({"input": CANARY, "output": [CANARY], "error": CANARY, "score": 3});
    let changed = api.patch(&format!("/v2/spans/{own}"), change).await;
    assert_eq!(
        (changed.status.as_u16(), &changed.body["score"]),
        (200, &json!(3))
    );
    let failed = api.call(&bad, input).await;
    assert_eq!(failed.status, 400, "{failed:?}");
    let of_failed = failed.headers["x-span-id"].to_str().unwrap().to_owned();
    let of_chat = chatted.headers["x-span-id"].to_str().unwrap().to_owned();
    vec![
        id(&called.body, "span_id"),
        of_stream,
        of_chat,
        own,
        of_failed,
    ]
}

/// The names of the files that hold the canary.
fn files_with_it(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let holds = |bytes: &[u8]| {
            bytes
                .windows(CANARY.len())
                .any(|text| text == CANARY.as_bytes())
        };
        if holds(&fs::read(entry.path()).unwrap()) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

#[tokio::test]
async fn without_content_no_word_of_a_call_reaches_the_disk() {
    let own = ("GATEWRIGHT_PROJECTS__ALPHA__SPANS__CONTENT", "none");
    let judge = ("GATEWRIGHT_OBSERVER__JUDGE", "house/judge");
    let (mut server, _upstream) = Server::with_upstream_and(Script::by(host), &[own, judge]).await;
    let data = server.dir.path().join("data");
    let alpha = server.api_with(ALPHA);

    let spans = use_all(&alpha).await;
    let mut judged = json!(null);
    for _ in 0..200 {
        judged = alpha.get(&format!("/v2/spans/{}", spans[0])).await.body;
        if judged["score"] == 42 {
            break;
        }
        sleep(Duration::from_millis(20)).await;
    }
    let mut seen = Vec::new();
    for span in &spans {
        let span = alpha.get(&format!("/v2/spans/{span}")).await.body;
        assert!(!span.to_string().contains(CANARY), "{span}");
        seen.push((
            span["input"].clone(),
            span["output"].clone(),
            span["error"].clone(),
        ));
    }
    let on_disk = files_with_it(&data);
    assert_eq!(server.stop().await, Some(0));

    let (nothing, kept) = (Value::Null, json!("not kept"));
    let bare = (nothing.clone(), nothing.clone(), nothing.clone());
    let own = (nothing.clone(), nothing.clone(), kept.clone());
    let failed = (nothing.clone(), nothing, json!("BadRequestError"));
    assert_eq!(seen, [bare.clone(), bare.clone(), bare, own, failed]);
    assert_eq!(
        judged["meta"]["observer"],
        json!({"score": 42, "observations": kept})
    );
    assert_eq!(judged["meta"]["usage"]["input_tokens"], 3);
    assert_eq!(judged["meta"]["tags"], json!({"team": "maps"}));
    assert_eq!(judged["meta"]["model"], "house/tiny");
    assert_eq!((on_disk, files_with_it(&data)), (vec![], vec![]));
}

#[tokio::test]
async fn with_content_the_same_words_are_there_to_be_found() {
    let (mut server, _upstream) = Server::with_upstream(Script::by(host)).await;
    let data = server.dir.path().join("data");

    use_all(&server.api_with(ALPHA)).await;

    assert!(!files_with_it(&data).is_empty());
    assert_eq!(server.stop().await, Some(0));
}
