//! Embeddings: `interface.md` 6.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Answer, EndingKind, Received, Script, Upstream};

use crate::server::{Answer as Given, Api, Server};

const PATH: &str = "/v2/embeddings";

/// The texts of a request.
fn texts(request: &Received) -> Vec<String> {
    serde_json::from_value(request.json()["input"].clone()).unwrap()
}

/// A host whose vectors say which text they are of: the number that it begins with, and how long they are.
fn numbered(request: &Received) -> Answer {
    let body = request.json();
    let length = body["dimensions"].as_u64().unwrap_or(2);
    let vector = |text: &String| {
        let number: f32 = text.split(' ').next().unwrap().parse().unwrap();
        let mut vector = vec![0.1; usize::try_from(length).unwrap()];
        vector[0] = number;
        vector
    };
    Answer::embeddings(texts(request).iter().map(vector).collect())
}

async fn with_upstream(script: impl Into<Script>) -> (Server, Upstream) {
    let upstream = Upstream::start(script).await;
    let allow = format!("[\"{}\"]", upstream.authority());
    let server = Server::start_with(&[
        ("GATEWRIGHT_EGRESS__ALLOW", &allow),
        (
            "GATEWRIGHT_PROVIDERS__HOUSE__API_BASE",
            &upstream.base_url(),
        ),
    ]);
    (server, upstream)
}

fn reason(answer: &Given) -> &str {
    answer.body["detail"]["reason"].as_str().unwrap()
}

async fn kind_of(api: &Api, answer: &Given) -> Value {
    api.span(answer).await["type"].clone()
}

#[tokio::test]
async fn without_any_configuration_texts_become_vectors() {
    let server = Server::start();
    let api = server.api();

    let one = api.post(PATH, json!({"input": "a small boat"})).await;
    let two = api
        .post(
            PATH,
            json!({"input": ["a small boat", "the sea"], "model": null}),
        )
        .await;

    assert_eq!(one.status, 200, "{one:?}");
    assert_eq!(one.body["model"], "offline/embed");
    assert_eq!(
        one.body["usage"],
        json!({"prompt_tokens": 3, "total_tokens": 3})
    );
    let data = two.body["data"].as_array().unwrap();
    let lengths: Vec<_> = data
        .iter()
        .map(|item| {
            (
                item["index"].clone(),
                item["embedding"].as_array().unwrap().len(),
            )
        })
        .collect();
    assert_eq!(lengths, [(json!(0), 1536), (json!(1), 1536)]);
    assert_eq!(data[0]["embedding"], one.body["data"][0]["embedding"]);
    assert_ne!(data[0]["embedding"], data[1]["embedding"]);
}

#[tokio::test]
async fn the_span_tells_all_but_the_vectors() {
    let (server, _upstream) = with_upstream(Script::by(numbered)).await;
    let api = server.api();

    let answer = api
        .post(PATH, json!({"input": ["1", "2"], "model": "house/embed"}))
        .await;

    let span = api.span(&answer).await;
    assert_eq!(
        json!([
            span["type"],
            span["name"],
            span["input"],
            span["output"],
            span["error"]
        ]),
        json!(["embedding", "embedding", ["1", "2"], {"count": 2, "dimensions": 2}, null])
    );
    let meta = &span["meta"];
    assert_eq!(
        json!([
            meta["tags"],
            meta["model"],
            meta["attempts"],
            meta["count"],
            meta["dimensions"]
        ]),
        json!([{}, "house/embed", 1, 2, 2])
    );
    assert_eq!(meta["usage"]["input_tokens"], 8);
    assert_eq!(meta["cost_status"], "unknown");
    assert_eq!(meta["models_tried"][0]["status"], "answered");
    assert!(span["end_time"].is_string() && meta["latency_ms"].is_u64());
}

#[tokio::test]
async fn many_texts_go_out_in_several_requests_and_come_back_in_order() {
    let script = Script::by(|request| {
        let first = texts(request)[0].starts_with("0 ");
        let delay = if first { 400 } else { 100 };
        numbered(request).after(Duration::from_millis(delay))
    });
    let (server, upstream) = with_upstream(script).await;
    let api = server.api();
    let texts: Vec<String> = (0..20)
        .map(|number| format!("{number} {}", "x".repeat(149_000)))
        .collect();

    let body = json!({"input": texts, "model": "house/embed"});
    let asking = tokio::spawn({
        let api = api.clone();
        async move { api.post(PATH, body).await }
    });
    let mut most = 0;
    while !asking.is_finished() {
        most = most.max(upstream.open_requests());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let answer = asking.await.unwrap();

    let data = answer.body["data"].as_array().unwrap();
    let numbers: Vec<f64> = data
        .iter()
        .map(|item| item["embedding"][0].as_f64().unwrap())
        .collect();
    assert_eq!(numbers, (0..20).map(f64::from).collect::<Vec<_>>());
    assert_eq!(upstream.requests().len(), 10);
    assert_eq!(most, 4, "as many as may be under way at once");
    assert_eq!(answer.body["usage"]["prompt_tokens"], 80);
    let meta = api.span(&answer).await["meta"].clone();
    assert_eq!(
        json!([
            meta["attempts"],
            meta["models_tried"][0]["requests"],
            meta["truncated"]
        ]),
        json!([10, 10, null])
    );
}

#[tokio::test]
async fn a_length_can_be_asked_for_by_the_request_or_by_the_model() {
    let (server, upstream) = with_upstream(Script::by(numbered)).await;
    let api = server.api();
    api.post(
        "/v2/models/custom",
        json!({"name": "short", "identifier": "openai/tiny", "api_key": "k", "type": "embedding",
               "extra": {"api_base": upstream.base_url(), "dimensions": 5, "max_tokens": 9}}),
    )
    .await;
    let length = async |model: Value| {
        let answer = api.post(PATH, json!({"input": "7", "model": model})).await;
        let vector = answer.body["data"][0]["embedding"]
            .as_array()
            .unwrap()
            .clone();
        vector.len()
    };

    assert_eq!(length(json!("short")).await, 5);
    assert_eq!(
        length(json!({"name": "short", "options": {"dimensions": 3.0}})).await,
        3
    );
    assert_eq!(
        length(json!({"name": "short", "options": {"dimensions": null}})).await,
        5
    );
    let sent: Vec<Value> = upstream
        .requests()
        .iter()
        .map(|request| json!([request.json()["dimensions"], request.json()["max_tokens"]]))
        .collect();
    assert_eq!(sent, [json!([5, null]), json!([3, null]), json!([5, null])]);
}

#[tokio::test]
async fn what_is_no_answer_is_an_upstream_error() {
    let script = Script::by(
        |request: &Received| match request.json()["model"].as_str().unwrap() {
            "fewer" => Answer::embeddings(vec![vec![0.5]]),
            "longer" => Answer::embeddings(vec![vec![0.5; 4], vec![0.5; 4]]),
            "uneven" => Answer::embeddings(vec![vec![0.5; 4], vec![0.5; 3]]),
            "secret" => Answer::error(401, "no such key"),
            _ => Answer::garbage(),
        },
    );
    let (server, _upstream) = with_upstream(script).await;
    let api = server.api();

    for (model, expected) in [
        ("fewer", "the provider answered 2 texts with 1 vectors"),
        ("longer", "the provider answered with vectors of length 4"),
        ("uneven", "the provider answered with vectors of length 3"),
        ("secret", "provider_auth"),
        ("noise", "the provider's answer is not JSON"),
    ] {
        let options = if model == "longer" {
            json!({"dimensions": 3})
        } else {
            json!({})
        };
        let model = json!({"name": format!("house/{model}"), "options": options});
        let answer = api
            .post(PATH, json!({"input": ["1", "2"], "model": model}))
            .await;

        assert_eq!(
            (answer.status.as_u16(), answer.class()),
            (502, "UpstreamError"),
            "{model}"
        );
        assert_eq!(reason(&answer), expected);
        let span = api.span(&answer).await;
        assert_eq!(span["error"], format!("UpstreamError: {expected}"));
        assert_eq!(
            json!([span["type"], span["output"], span["meta"]["error_type"]]),
            json!(["embedding", null, "UpstreamError"])
        );
    }
}

#[tokio::test]
async fn the_default_model_is_a_configured_one_and_takes_texts_of_8191_tokens() {
    let upstream = Upstream::start(Script::by(|request: &Received| {
        Answer::embeddings(vec![vec![0.5; 2]; texts(request).len()])
    }))
    .await;
    let server = Server::start_with(&[(
        "GATEWRIGHT_PROVIDERS__OPENAI__API_BASE",
        &upstream.base_url(),
    )]);
    let api = server.api();
    let (fits, long) = (" a".repeat(8191), " a".repeat(8192));

    let answer = api.post(PATH, json!({"input": ["short", fits]})).await;
    let named = "openai/text-embedding-3-small";
    let refused = api.post(PATH, json!({"input": ["short", long]})).await;
    let by_name = api.post(PATH, json!({"input": long, "model": named})).await;
    let other = api
        .post(PATH, json!({"input": long, "model": "openai/other"}))
        .await;

    assert_eq!(
        (answer.status.as_u16(), &answer.body["model"]),
        (200, &json!(named))
    );
    assert_eq!(other.status, 200);
    for (refused, index) in [(&refused, 1), (&by_name, 0)] {
        assert_eq!(refused.status, 400);
        assert_eq!(refused.class(), "ContextWindowExceededError");
        let expected = format!(
            "the text at index {index} of `input` has 8192 tokens; the default embedding model takes 8191"
        );
        assert_eq!(reason(refused), expected);
        assert_eq!(kind_of(&api, refused).await, "embedding");
    }
    let asked: Vec<Value> = upstream
        .requests()
        .iter()
        .map(|request| request.json()["model"].clone())
        .collect();
    assert_eq!(asked, ["text-embedding-3-small", "other"]);
}

#[tokio::test]
async fn vectors_of_two_models_are_never_mixed() {
    let script = Script::by(|request: &Received| {
        let is_first = request.json()["model"] == "first";
        if is_first && texts(request)[0].starts_with("2 ") {
            return Answer::error(500, "no");
        }
        let number = if is_first { 1.0 } else { 2.0 };
        Answer::embeddings(vec![vec![number]; texts(request).len()])
    });
    let (server, upstream) = with_upstream(script).await;
    let api = server.api();
    let texts: Vec<String> = (0..4)
        .map(|number| format!("{number} {}", "x".repeat(149_000)))
        .collect();

    let answer = api
        .post(
            PATH,
            json!({"input": texts, "model": ["house/first", "nobody/x", "house/second"]}),
        )
        .await;

    let data = answer.body["data"].as_array().unwrap();
    assert!(
        data.iter().all(|item| item["embedding"] == json!([2.0])),
        "{data:?}"
    );
    assert_eq!(answer.body["model"], "house/second");
    assert_eq!(upstream.requests().len(), 4);
    let meta = api.span(&answer).await["meta"].clone();
    assert_eq!(meta["model"], "house/second");
    let tried: Vec<Value> = meta["models_tried"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tried| json!([tried["model"], tried["status"], tried["requests"]]))
        .collect();
    assert_eq!(
        tried,
        [
            json!(["house/first", "answered", null]),
            json!(["house/first", "unavailable", null]),
            json!(["nobody/x", "unresolved", null]),
            json!(["house/second", "answered", 2]),
        ]
    );
}

#[tokio::test]
async fn a_short_failure_is_waited_out_and_a_refusal_is_told() {
    let script = [
        Answer::error(503, "busy"),
        Answer::embeddings(vec![vec![0.5]]),
        Answer::error(400, "input too strange"),
        Answer::error(429, "slow down").header("retry-after", "30"),
    ];
    let (server, upstream) = with_upstream(Vec::from(script)).await;
    let api = server.api();
    let ask = async || {
        api.post(PATH, json!({"input": "1", "model": "house/a"}))
            .await
    };

    let waited = ask().await;
    let refused = ask().await;
    let limited = ask().await;

    assert_eq!(waited.status, 200, "{waited:?}");
    assert_eq!(api.span(&waited).await["meta"]["attempts"], 2);
    assert_eq!(
        (refused.status.as_u16(), refused.class()),
        (400, "BadRequestError")
    );
    assert_eq!(reason(&refused), "input too strange");
    assert_eq!(
        (limited.status.as_u16(), limited.class()),
        (429, "RateLimitError")
    );
    assert_eq!(limited.headers["retry-after"], "30");
    assert_eq!(upstream.requests().len(), 4);
}

#[tokio::test]
async fn what_kind_a_model_is_decides_whether_it_can_be_asked() {
    let (server, upstream) = with_upstream(Script::by(numbered)).await;
    let api = server.api();
    for kind in ["llm", "embedding", "image"] {
        let body = json!({"name": kind, "identifier": "openai/tiny", "api_key": "k", "type": kind,
                          "extra": {"api_base": upstream.base_url()}});
        api.post("/v2/models/custom", body).await;
    }
    let ask = async |model: &str| api.post(PATH, json!({"input": "1", "model": model})).await;

    assert_eq!(ask("llm").await.body["model"], "llm");
    assert_eq!(ask("embedding").await.status, 200);
    for (model, expected) in [
        (
            "image",
            "the custom model `image` cannot be used: its type is `image`",
        ),
        (
            "none",
            "unknown model `none`: no custom model or alias has this name",
        ),
    ] {
        let answer = ask(model).await;
        assert_eq!(
            (answer.status.as_u16(), answer.class()),
            (400, "BadRequestError")
        );
        assert_eq!(reason(&answer), expected);
        assert_eq!(kind_of(&api, &answer).await, "embedding");
    }
}

#[tokio::test]
async fn an_alias_is_answered_under_its_own_name() {
    let (server, _upstream) = with_upstream(Script::by(numbered)).await;
    let api = server.api();
    let body = json!({"name": "vectors", "fallback_models": ["house/embed"]});
    api.post("/v2/models/aliases", body).await;

    let answer = api
        .post(PATH, json!({"input": "1", "model": "vectors"}))
        .await;

    assert_eq!(answer.body["model"], "vectors");
    assert_eq!(api.span(&answer).await["meta"]["model"], "house/embed");
}

#[tokio::test]
async fn what_are_no_texts_is_refused() {
    let server = Server::start();
    let api = server.api();
    let many = vec!["a"; 2049];

    for (body, loc, slug) in [
        (json!({}), json!(["body", "input"]), "missing"),
        (json!({"input": null}), json!(["body", "input"]), "missing"),
        (
            json!({"input": ""}),
            json!(["body", "input"]),
            "string_too_short",
        ),
        (json!({"input": []}), json!(["body", "input"]), "too_short"),
        (json!({"input": many}), json!(["body", "input"]), "too_long"),
        (
            json!({"input": ["a", ""]}),
            json!(["body", "input", 1]),
            "string_too_short",
        ),
        (
            json!({"input": ["a", 3]}),
            json!(["body", "input", 1]),
            "string_type",
        ),
        (json!({"input": 3}), json!(["body", "input"]), "value_error"),
        (
            json!({"input": "a", "model": 3}),
            json!(["body", "model"]),
            "model_type",
        ),
        (
            json!({"input": "a", "model": {"name": "a/b", "options": {"dimensions": 0}}}),
            json!(["body", "model", "options", "dimensions"]),
            "greater_than_equal",
        ),
        (
            json!({"input": "a", "model": ["a/b", {"name": "a/b", "options": {"dimensions": "3"}}]}),
            json!(["body", "model", 1, "options", "dimensions"]),
            "int_type",
        ),
    ] {
        let answer = api.post(PATH, body).await;
        assert_eq!(answer.fault(), (422, loc, slug));
        assert!(!answer.headers.contains_key("x-span-id"));
    }
}

#[tokio::test]
async fn tokens_are_counted_where_the_provider_gives_none() {
    let rows = json!([{"embedding": [1.0]}, {"embedding": [0.0]}]);
    let answer = Answer::body(200, &json!({"data": rows}));
    let (server, _upstream) = with_upstream(answer).await;
    let api = server.api();

    let answer = api
        .post(
            PATH,
            json!({"input": ["tiktoken is great!", "2 + 2 = 4"], "model": "house/a"}),
        )
        .await;

    assert_eq!(
        answer.body["usage"],
        json!({"prompt_tokens": 13, "total_tokens": 13})
    );
    assert_eq!(api.span(&answer).await["meta"]["usage_estimated"], true);
}

#[tokio::test]
async fn a_client_who_leaves_takes_the_upstream_request_along() {
    let (server, upstream) = with_upstream(Script::by(|request| {
        numbered(request).after(Duration::from_secs(30))
    }))
    .await;
    let api = server.api();

    let body = json!({"input": "1", "model": "house/a"});
    let left = tokio::time::timeout(Duration::from_millis(700), api.post(PATH, body)).await;

    assert!(left.is_err());
    assert!(upstream.wait_until_idle(Duration::from_secs(3)).await);
    assert_eq!(upstream.endings()[0].kind, EndingKind::Left);
}
