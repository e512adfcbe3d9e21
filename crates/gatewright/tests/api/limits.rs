//! What projects and tokens may use (`reliability.md` 12): calls and tokens a minute, money a day.

use serde_json::{Value, json};
use testkit::{Answer, Script};

use crate::server::{self, Server};

const PRICE: &str = "[models.\"house/tiny\"]\ninput = 1_000_000.0\noutput = 1_000_000.0\n";

fn refusal(answer: &server::Answer) -> (u16, &str, String, u64) {
    let wait = answer.headers["retry-after"].to_str().unwrap();
    (
        answer.status.as_u16(),
        answer.class(),
        answer.body["detail"].to_string(),
        wait.parse().unwrap(),
    )
}

async fn metered(script: Script, limits: &[(&str, &str)]) -> (Server, testkit::Upstream, Value) {
    let (server, upstream) = Server::with_upstream_and(script, limits).await;
    let function = json!({"name": "f", "instructions": "x", "model": "house/tiny"});
    let function = server.api().function(function).await;
    (server, upstream, function)
}

#[tokio::test]
async fn a_project_makes_so_many_calls_a_minute() {
    let limits = [("GATEWRIGHT_PROJECTS__ALPHA__CALLS_PER_MINUTE", "3")];
    let (server, upstream, function) = metered(Script::by(|_| Answer::text("ok")), &limits).await;
    let api = server.api();

    let input = json!({"input": "hi"});
    let first = api.call(&function, input.clone()).await;
    let path = format!(
        "/v2/functions/{}/call/stream",
        function["id"].as_str().unwrap()
    );
    let streamed = server::read(api.open_stream(&path, &input).await).await;
    let embedded = api.post("/v2/embeddings", json!({"input": ["a"]})).await;
    let beyond = api.call(&function, input.clone()).await;
    let door = json!({"model": "house/tiny", "messages": [{"role": "user", "content": "hi"}]});
    let door = api.post("/v2/openai/chat/completions", door).await;

    for answer in [first, streamed, embedded] {
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let (status, class, detail, wait) = refusal(&beyond);
    assert_eq!((status, class), (429, "RateLimitError"), "{beyond:?}");
    assert!(
        detail.contains("3 calls a minute") && detail.contains("projects.alpha.calls_per_minute"),
        "{detail}"
    );
    assert!((1..=20).contains(&wait), "{wait}");
    assert!(!beyond.headers.contains_key("x-span-id"));
    assert_eq!(door.status, 429, "{door:?}");
    assert_eq!(upstream.requests().len(), 2);
    // Looking is free, and so is another project.
    assert_eq!(api.get("/v2/functions").await.status, 200);
    let beta = server.api_with(server::BETA);
    let other = beta.echo().await;
    for _ in 0..4 {
        assert_eq!(beta.call(&other, input.clone()).await.status, 200);
    }
}

#[tokio::test]
async fn a_token_makes_so_many_calls_a_minute() {
    let server = Server::start();
    let made = server.command(&[
        "token",
        "create",
        "--project",
        "alpha",
        "--calls-per-minute",
        "2",
    ]);
    let token = String::from_utf8(made.stdout).unwrap();
    let slow = server.api_with(token.trim());
    let function = server.api().echo().await;
    let input = json!({"input": "hi"});

    for _ in 0..2 {
        assert_eq!(slow.call(&function, input.clone()).await.status, 200);
    }
    let beyond = slow.call(&function, input.clone()).await;

    let (status, class, detail, wait) = refusal(&beyond);
    assert_eq!((status, class), (429, "RateLimitError"), "{beyond:?}");
    assert!(
        detail.contains("this token may make 2 calls a minute"),
        "{detail}"
    );
    assert!((1..=30).contains(&wait), "{wait}");
    // The project's other token goes on.
    assert_eq!(server.api().call(&function, input).await.status, 200);
    let listed = server.command(&["token", "list"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("CALLS/MIN"), "{listed}");
    let refused = server.command(&[
        "token",
        "create",
        "--project",
        "alpha",
        "--calls-per-minute",
        "0",
    ]);
    assert_eq!(refused.status.code(), Some(2));
}

#[tokio::test]
async fn a_project_uses_so_many_tokens_a_minute() {
    let limits = [("GATEWRIGHT_PROJECTS__ALPHA__TOKENS_PER_MINUTE", "100")];
    let answer = |_: &_| Answer::text("ok").usage(400, 100);
    let (server, upstream, function) = metered(Script::by(answer), &limits).await;
    let api = server.api();

    let first = api.call(&function, json!({"input": "hi"})).await;
    let beyond = api.call(&function, json!({"input": "hi"})).await;

    assert_eq!(first.body["usage"]["total_tokens"], 500, "{first:?}");
    let (status, class, detail, wait) = refusal(&beyond);
    assert_eq!((status, class), (429, "RateLimitError"), "{beyond:?}");
    assert!(detail.contains("100 tokens a minute"), "{detail}");
    // 400 in debt, at 100 a minute.
    assert!((200..=260).contains(&wait), "{wait}");
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn a_project_spends_so_much_a_day_also_over_a_crash() {
    let place = tempfile::tempdir().unwrap();
    let prices = place.path().join("prices.toml");
    std::fs::write(&prices, PRICE).unwrap();
    let limits = [
        ("GATEWRIGHT_PROJECTS__ALPHA__USD_PER_DAY", "5.5"),
        ("GATEWRIGHT_PRICES__FILE", prices.to_str().unwrap()),
    ];
    let answer = |_: &_| Answer::text("ok").usage(2, 1);
    let (mut server, upstream, function) = metered(Script::by(answer), &limits).await;
    let input = json!({"input": "hi"});

    let first = server.api().call(&function, input.clone()).await;
    assert_eq!(first.body["cost"]["generation"], 3.0, "{first:?}");
    assert_eq!(
        server.api().call(&function, input.clone()).await.status,
        200
    );
    let beyond = server.api().call(&function, input.clone()).await;
    // What was spent is kept in the background, within moments.
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    server.restart_after_kill();
    let after = server.api().call(&function, input).await;

    for refused in [beyond, after] {
        let (status, class, detail, wait) = refusal(&refused);
        assert_eq!((status, class), (429, "RateLimitError"), "{refused:?}");
        assert!(detail.contains("5.50 USD a day"), "{detail}");
        assert!((1..=86_400).contains(&wait), "{wait}");
    }
    assert_eq!(upstream.requests().len(), 2);
}
