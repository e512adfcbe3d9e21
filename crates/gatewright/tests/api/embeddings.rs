//! Embeddings: `interface.md` 6.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

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

/// Which texts the vectors are of.
fn numbers(answer: &Given) -> Vec<f64> {
    let data = answer.body["data"].as_array().unwrap().iter();
    data.map(|item| item["embedding"][0].as_f64().unwrap())
        .collect()
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
    let (server, _upstream) = Server::with_upstream(Script::by(numbered)).await;
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
    let (server, upstream) = Server::with_upstream(script).await;
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

    assert_eq!(numbers(&answer), (0..20).map(f64::from).collect::<Vec<_>>());
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
async fn no_more_tokens_go_out_at_once_than_the_provider_takes() {
    let upstream = Upstream::start(Script::by(numbered)).await;
    let server = Server::start_with(&[(
        "GATEWRIGHT_PROVIDERS__MISTRAL__API_BASE",
        &upstream.base_url(),
    )]);
    let texts: Vec<String> = (0..32)
        .map(|number| format!("{number} {}", "word ".repeat(1000)))
        .collect();

    let body = json!({"input": texts, "model": "mistral/mistral-embed"});
    let answer = server.api().post(PATH, body).await;

    assert_eq!(numbers(&answer), (0..32).map(f64::from).collect::<Vec<_>>());
    let longest = upstream.requests().into_iter().map(|request| {
        let words = self::texts(&request).into_iter();
        words.map(|text| text.split(' ').count()).sum::<usize>()
    });
    let longest = longest.max().unwrap();
    assert!(longest < 16_384, "{longest}");
}

#[tokio::test]
async fn texts_that_are_too_many_together_are_asked_for_in_halves() {
    let script = Script::by(|request| {
        if texts(request).len() > 2 {
            let words = "Too many tokens overall, split into more batches.";
            return Answer::error(400, words);
        }
        numbered(request)
    });
    let (server, upstream) = Server::with_upstream(script).await;
    let api = server.api();
    let texts: Vec<String> = (0..5).map(|number| format!("{number} x")).collect();

    let body = json!({"input": texts, "model": "house/embed"});
    let answer = api.post(PATH, body).await;

    assert_eq!(numbers(&answer), [0.0, 1.0, 2.0, 3.0, 4.0], "{answer:?}");
    let asked = upstream.requests();
    let asked: Vec<usize> = asked
        .iter()
        .map(|request| self::texts(request).len())
        .collect();
    assert_eq!(asked, [5, 2, 3, 1, 2]);
}

#[tokio::test]
async fn a_length_can_be_asked_for_by_the_request_or_by_the_model() {
    let (server, upstream) = Server::with_upstream(Script::by(numbered)).await;
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
async fn options_that_a_dialect_has_no_place_for_are_told_once() {
    let answers = |request: &Received| {
        let texts = request.json()["texts"].as_array().unwrap().len();
        let vectors = vec![vec![0.5, 0.25]; texts];
        Answer::body(200, &json!({"embeddings": {"float": vectors}}))
    };
    let (server, upstream) = Server::with_upstream(Script::by(answers)).await;
    let api = server.api();
    api.post(
        "/v2/models/custom",
        json!({"name": "mine", "identifier": "cohere/embed-v4.0", "api_key": "k", "type": "embedding",
               "extra": {"api_base": upstream.base_url()}}),
    )
    .await;
    let input: Vec<String> = (0..100).map(|index| format!("text {index}")).collect();
    let options = json!({"user": "u", "encoding_format": "float", "truncate": "END"});

    let answer = api
        .post(
            PATH,
            json!({"input": input, "model": {"name": "mine", "options": options}}),
        )
        .await;

    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(upstream.requests().len() > 1);
    assert_eq!(upstream.requests()[0].json()["truncate"], "END");
    assert_eq!(
        api.span(&answer).await["meta"]["warnings"],
        json!([
            "the option `user` was left out: the dialect of `cohere` does not tell users apart",
            "the option `encoding_format` was left out: the dialect of `cohere` writes vectors in one way",
        ])
    );
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
    let (server, _upstream) = Server::with_upstream(script).await;
    let api = server.api();

    for (model, expected) in [
        ("fewer", "the provider answered 2 texts with 1 vectors"),
        ("longer", "the provider answered with vectors of length 4"),
        (
            "uneven",
            "the provider answered with vectors of length 3 instead of 4",
        ),
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
async fn an_answer_that_is_of_no_use_is_paid_for_all_the_same() {
    let script = Script::by(
        |request: &Received| match request.json()["model"].as_str().unwrap() {
            "longer" => Answer::embeddings(vec![vec![0.5; 4], vec![0.5; 4]]),
            "uneven" => Answer::embeddings(vec![vec![0.5; 4], vec![0.5; 3]]),
            "uncounted" => Answer::body(200, &json!({"data": [{"index": 0, "embedding": [0.5]}]})),
            "noise" => Answer::garbage(),
            _ => numbered(request),
        },
    );
    let (server, upstream) = Server::with_upstream(script).await;
    let api = server.api();
    for name in ["longer", "uneven", "uncounted", "noise", "sound"] {
        let extra = json!({"api_base": upstream.base_url(), "input_cost_per_token": 0.000_001});
        let model = json!({"name": name, "identifier": format!("house/{name}"), "extra": extra});
        api.post("/v2/models/custom", model).await;
    }
    let ask = async |names: &[&str]| {
        let with_length = |name| json!({"name": name, "options": {"dimensions": 3}});
        let model = match names {
            ["longer", ..] => names.iter().copied().map(with_length).collect(),
            _ => json!(names),
        };
        let body = json!({"input": ["1", "2"], "model": model});
        let answer = api.post(PATH, body).await;
        let meta = api.span(&answer).await["meta"].clone();
        let attempts = meta["models_tried"].as_array().unwrap().iter();
        let tokens: Vec<Value> = attempts
            .map(|tried| tried["usage"]["input_tokens"].clone())
            .collect();
        let cost = meta["cost"]["generation"].clone();
        (
            answer.status.as_u16(),
            tokens,
            cost,
            meta["cost_status"].clone(),
        )
    };

    let longer = ask(&["longer", "sound"]).await;
    let uneven = ask(&["uneven"]).await;
    let uncounted = ask(&["uncounted"]).await;
    let noise = ask(&["noise"]).await;

    let spent = |status: u16, tokens: &[u64], cost: f64, how: &str| {
        let tokens = tokens.iter().map(|count| json!(count)).collect::<Vec<_>>();
        (status, tokens, json!(cost), json!(how))
    };
    assert_eq!(longer, spent(200, &[8, 8], 0.000_016, "exact"));
    assert_eq!(uneven, spent(502, &[8], 0.000_008, "exact"));
    assert_eq!(uncounted, spent(502, &[2], 0.000_002, "estimated"));
    assert_eq!(noise, spent(502, &[0], 0.0, "exact"));
}

#[tokio::test]
async fn the_default_model_is_a_configured_one_and_takes_texts_of_8191_tokens() {
    let upstream = Upstream::start(Script::by(|request: &Received| {
        Answer::embeddings(vec![vec![0.5; 1536]; texts(request).len()])
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
async fn the_limit_is_that_of_the_model_that_is_asked() {
    let upstream = Upstream::start(Script::by(|request: &Received| {
        if request.json()["model"] == "down" {
            return Answer::error(500, "no");
        }
        Answer::embeddings(vec![vec![0.5; 1536]; texts(request).len()])
    }))
    .await;
    let allow = format!("[\"{}\"]", upstream.authority());
    let server = Server::start_with(&[
        ("GATEWRIGHT_EGRESS__ALLOW", &allow),
        (
            "GATEWRIGHT_PROVIDERS__OPENAI__API_BASE",
            &upstream.base_url(),
        ),
    ]);
    let (api, other) = (server.api(), server.api_with(crate::server::BETA));
    let default = "openai/text-embedding-3-small";
    let alias = json!({"name": "vectors", "fallback_models": [default]});
    api.post("/v2/models/aliases", alias).await;
    let under_another_name = json!({"name": "mine", "identifier": default});
    api.post("/v2/models/custom", under_another_name).await;
    let under_its_name = json!({"name": default, "identifier": "openai/long", "extra": {"api_base": upstream.base_url()}});
    other.post("/v2/models/custom", under_its_name).await;
    let long = " a".repeat(8192);
    let asking = |model: Value| json!({"input": ["short", long], "model": model});

    for model in [
        json!("vectors"),
        json!("mine"),
        json!("OpenAI/text-embedding-3-small"),
        json!(["openai/down", default]),
    ] {
        let refused = api.post(PATH, asking(model.clone())).await;
        assert_eq!(refused.class(), "ContextWindowExceededError", "{model}");
        assert!(reason(&refused).contains("at index 1 of `input` has 8192 tokens"));
    }
    for model in [json!(default), Value::Null] {
        let answered = other.post(PATH, asking(model)).await;
        assert_eq!(answered.status, 200, "{answered:?}");
    }
    let asked: Vec<Value> = upstream
        .requests()
        .iter()
        .map(|request| request.json()["model"].clone())
        .collect();
    assert_eq!(asked, ["down", "long", "long"]);
}

/// So many texts that each of them takes a request of its own.
fn long_texts(count: usize) -> Vec<String> {
    let texts = (0..count).map(|number| format!("{number} {}", "x".repeat(300_000)));
    texts.collect()
}

#[tokio::test]
async fn a_failure_ends_the_requests_that_are_left() {
    let script = Script::by(|request: &Received| {
        if texts(request)[0].starts_with("1 ") {
            return Answer::error(400, "no");
        }
        numbered(request).after(Duration::from_secs(4))
    });
    let (server, upstream) = Server::with_upstream(script).await;
    let body = json!({"input": long_texts(8), "model": "house/a"});

    let refused = server.api().post(PATH, body).await;

    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(upstream.wait_until_idle(Duration::from_secs(3)).await);
    assert!(
        upstream.requests().len() <= 4,
        "no more than were under way"
    );
    let left = upstream.endings();
    assert!(left.iter().any(|ending| ending.kind == EndingKind::Left));
}

#[tokio::test]
async fn a_model_that_recovers_is_asked_once_and_then_for_all() {
    let is_well = Arc::new(AtomicBool::new(false));
    let script = Script::by({
        let is_well = is_well.clone();
        move |request: &Received| {
            if is_well.load(Ordering::Relaxed) {
                numbered(request).after(Duration::from_millis(50))
            } else {
                Answer::error(500, "no")
            }
        }
    });
    let (server, upstream) = Server::with_upstream(script).await;
    let api = server.api();
    for _ in 0..5 {
        let failed = api
            .post(PATH, json!({"input": "1", "model": "house/a"}))
            .await;
        assert_eq!(failed.status, 502);
    }
    is_well.store(true, Ordering::Relaxed);
    let body = json!({"input": long_texts(6), "model": "house/a"});
    let rests = api.post(PATH, body.clone()).await;
    assert_eq!(upstream.requests().len(), 5, "it is left alone");
    // The first pause is 5 s, give or take a fifth.
    tokio::time::sleep(Duration::from_millis(6100)).await;

    let answer = api.post(PATH, body).await;

    assert_eq!(rests.status, 502);
    assert_eq!(api.span(&rests).await["meta"]["attempts"], 1);
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.body["data"].as_array().unwrap().len(), 6);
    assert_eq!(upstream.requests().len(), 11);
}

#[tokio::test]
async fn the_default_models_vectors_have_1536_dimensions_or_as_many_as_were_asked_for() {
    let upstream = Upstream::start(Script::by(numbered)).await;
    let server = Server::start_with(&[
        (
            "GATEWRIGHT_PROVIDERS__HOUSE__API_BASE",
            &upstream.base_url(),
        ),
        ("GATEWRIGHT_MODELS__DEFAULT_EMBEDDING", "house/e"),
    ]);
    let api = server.api();

    let by_default = api.post(PATH, json!({"input": "1"})).await;
    let by_name = api
        .post(PATH, json!({"input": "1", "model": "house/e"}))
        .await;
    let door = "/v2/openai/embeddings";
    let asked_for = api.post(door, json!({"input": "1", "dimensions": 3})).await;

    assert_eq!(
        (by_default.status.as_u16(), reason(&by_default)),
        (
            502,
            "the provider answered with vectors of length 2 instead of 1536"
        )
    );
    assert_eq!(by_name.status, 200);
    assert_eq!(
        asked_for.body["data"][0]["embedding"],
        json!([1.0, 0.1, 0.1])
    );
}

#[tokio::test]
async fn a_model_that_does_something_else_is_refused() {
    let server = Server::start();
    let api = server.api();
    let texts = json!([{"text": "a"}]);
    let chat = json!([{"role": "user", "content": "hi"}]);
    let definition = json!({"name": "f", "instructions": "x", "model": "offline/embed"});

    for (path, body) in [
        (PATH, json!({"input": "a", "model": "offline/echo"})),
        (
            "/v2/openai/embeddings",
            json!({"input": "a", "model": "offline/rerank"}),
        ),
        (
            "/v2/rerank",
            json!({"query": "a", "documents": texts, "model": "offline/json"}),
        ),
        (
            "/v2/openai/chat/completions",
            json!({"messages": chat, "model": "offline/embed"}),
        ),
        ("/v2/call", definition),
    ] {
        let answer = api.post(path, body).await;

        assert_eq!(
            (answer.status.as_u16(), answer.class()),
            (400, "BadRequestError"),
            "{path}"
        );
        assert!(
            reason(&answer).starts_with("the offline provider has no model `"),
            "{answer:?}"
        );
    }
}

#[tokio::test]
async fn vectors_of_two_models_are_never_mixed() {
    let script = Script::by(|request: &Received| {
        let is_first = request.json()["model"] == "first";
        if is_first && texts(request)[0].starts_with("2 ") {
            return Answer::error(500, "no").after(Duration::from_secs(1));
        }
        let number = if is_first { 1.0 } else { 2.0 };
        Answer::embeddings(vec![vec![number]; texts(request).len()])
    });
    let (server, upstream) = Server::with_upstream(script).await;
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
    let (server, upstream) = Server::with_upstream(Vec::from(script)).await;
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
    let (server, upstream) = Server::with_upstream(Script::by(numbered)).await;
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
    let (server, _upstream) = Server::with_upstream(Script::by(numbered)).await;
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
        (json!({"input": 3}), json!(["body", "input"]), "string_type"),
        (
            json!({"input": {"a": 1}}),
            json!(["body", "input"]),
            "string_type",
        ),
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
    let (server, _upstream) = Server::with_upstream(answer).await;
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
    let (server, upstream) = Server::with_upstream(Script::by(|request| {
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
