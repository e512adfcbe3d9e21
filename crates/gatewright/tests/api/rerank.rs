//! Rerank: `interface.md` 12.

use serde_json::{Value, json};
use testkit::{Answer, Received, Script, Upstream};

use crate::server::Server;

const PATH: &str = "/v2/rerank";

fn documents() -> Value {
    json!([
        {"text": "Berlin is the capital of Germany."},
        {"text": "Bananas are yellow.", "metadata": {"page": 2}},
        {"text": "The capital of France is Paris."},
    ])
}

#[tokio::test]
async fn the_texts_that_answer_come_first() {
    let server = Server::start();
    let api = server.api();

    let answer = api
        .post(PATH, json!({
            "query": "What is the capital of France?", "documents": documents(), "model": "offline/rerank",
        }))
        .await;

    assert_eq!(answer.status, 200, "{answer:?}");
    let results = answer.body["results"].as_array().unwrap();
    let order: Vec<&Value> = results.iter().map(|result| &result["index"]).collect();
    assert_eq!(order, [2, 0, 1]);
    let scores: Vec<f64> = results
        .iter()
        .map(|result| result["relevance_score"].as_f64().unwrap())
        .collect();
    assert!(scores[0] > scores[1] && scores[1] > scores[2], "{scores:?}");
    assert_eq!(
        json!([results[0]["document"], results[2]["document"]]),
        json!([
            {"text": "The capital of France is Paris.", "metadata": null},
            {"text": "Bananas are yellow.", "metadata": {"page": 2}},
        ])
    );
    assert_eq!(answer.body["model"], "offline/rerank");
    assert_eq!(
        answer.body["cost"],
        json!({"generation": 0.0, "platform": 0.0, "total": 0.0})
    );
    assert_eq!(
        answer.body["id"],
        answer.headers["x-span-id"].to_str().unwrap()
    );
    let span = api.span(&answer).await;
    assert_eq!(
        json!([
            span["type"],
            span["name"],
            span["input"]["query"],
            span["output"][0]["index"]
        ]),
        json!(["rerank", "rerank", "What is the capital of France?", 2])
    );
    assert_eq!(
        json!([span["meta"]["count"], span["meta"]["attempts"]]),
        json!([3, 1])
    );
}

#[tokio::test]
async fn only_the_best_come_and_without_their_texts_if_that_is_wanted() {
    let server = Server::start();

    let answer = server
        .api()
        .post(
            PATH,
            json!({
                "query": "capital of France", "documents": documents(), "model": "offline/rerank",
                "top_k": 1, "return_documents": false, "max_chunks_per_doc": null,
            }),
        )
        .await;

    let results = answer.body["results"].as_array().unwrap();
    assert_eq!(results.len(), 1);
    assert_eq!(
        json!([results[0]["index"], results[0]["document"]]),
        json!([2, null])
    );
}

/// A host of the form that most have.
fn host(request: &Received) -> Answer {
    let body = request.json();
    match body["model"].as_str().unwrap() {
        "good" => Answer::body(
            200,
            &json!({
                "results": [{"index": 0, "relevance_score": 0.25}, {"index": 2, "relevance_score": 0.75}],
                "usage": {"total_tokens": 40},
            }),
        ),
        "astray" => Answer::body(
            200,
            &json!({"results": [{"index": 7, "relevance_score": 0.5}]}),
        ),
        _ => Answer::error(404, "no such model"),
    }
}

#[tokio::test]
async fn what_a_host_has_no_place_for_is_told() {
    let (server, upstream) = Server::with_upstream(Script::by(host)).await;
    let api = server.api();
    api.post(
        "/v2/models/custom",
        json!({"name": "mine", "identifier": "voyage/good", "api_key": "k",
               "extra": {"api_base": upstream.base_url()}}),
    )
    .await;

    let answer = api
        .post(
            PATH,
            json!({
                "query": "q", "documents": documents(), "model": "mine", "top_k": 2, "max_chunks_per_doc": 3,
            }),
        )
        .await;

    assert_eq!(answer.status, 200, "{answer:?}");
    let sent = upstream.requests()[0].json();
    assert_eq!(
        json!([sent["top_k"], sent.get("max_chunks_per_doc")]),
        json!([2, null])
    );
    assert_eq!(
        api.span(&answer).await["meta"]["warnings"],
        json!([
            "`max_chunks_per_doc` was left out: the dialect of `voyage` cuts no texts into pieces"
        ])
    );
}

#[tokio::test]
async fn a_host_is_asked_and_paid_by_request_or_by_token() {
    let (server, upstream) = Server::with_upstream(Script::by(host)).await;
    let api = server.api();
    let custom = async |name: &str, price: Value| {
        let mut extra = json!({"api_base": upstream.base_url()});
        extra
            .as_object_mut()
            .unwrap()
            .extend(price.as_object().unwrap().clone());
        let body =
            json!({"name": name, "identifier": "house/good", "api_key": "k", "extra": extra});
        assert_eq!(api.post("/v2/models/custom", body).await.status, 200);
    };
    custom("by-request", json!({"cost_per_request": 0.002})).await;
    custom("by-token", json!({"input_cost_per_token": 0.000_001})).await;
    let ask = async |model: &str| {
        let body = json!({"query": "q", "documents": documents(), "model": model, "top_k": 2});
        api.post(PATH, body).await
    };

    let (by_request, by_token) = (ask("by-request").await, ask("by-token").await);

    let results = &by_request.body["results"];
    assert_eq!(
        json!([
            results[0]["index"],
            results[0]["relevance_score"],
            results[1]["index"]
        ]),
        json!([2, 0.75, 0]),
        "the best first, whatever the host says"
    );
    assert_eq!(by_request.body["cost"]["total"], 0.002);
    assert_eq!(by_token.body["cost"]["total"], 0.000_04);
    assert_eq!(by_token.body["usage"]["total_tokens"], 40);
    let sent = &upstream.requests()[0];
    assert_eq!(sent.path, "/v1/rerank");
    assert_eq!(
        json!([
            sent.json()["model"],
            sent.json()["query"],
            sent.json()["top_n"]
        ]),
        json!(["good", "q", 2])
    );
}

/// A server of TEI's: the longer a text, the better, and no more than 32 of them.
fn tei(request: &Received) -> Answer {
    let texts = request.json()["texts"].as_array().unwrap().clone();
    if texts.len() > 32 {
        let words = format!("batch size {} > maximum allowed batch size 32", texts.len());
        return Answer::body(422, &json!({"error": words, "error_type": "Validation"}));
    }
    let length = |text: &Value| text.as_str().unwrap().len();
    let results = texts.iter().enumerate();
    let results = results.map(|(index, text)| json!({"index": index, "score": length(text)}));
    Answer::body(200, &results.collect())
}

#[tokio::test]
async fn more_texts_than_a_host_takes_go_out_in_several_requests() {
    let upstream = Upstream::start(Script::by(tei)).await;
    let server =
        Server::start_with(&[("GATEWRIGHT_PROVIDERS__TEI__API_BASE", &upstream.base_url())]);
    let api = server.api();
    let text = |index: usize| json!({"text": "x".repeat(1 + index * 7 % 100)});
    let documents: Vec<Value> = (0..100).map(text).collect();

    let body = json!({"query": "q", "documents": documents, "model": "tei/reranker", "top_k": 3});
    let answer = api.post(PATH, body).await;

    let results = answer.body["results"].as_array().unwrap().iter();
    let results = results.map(|found| (found["index"].as_u64(), found["relevance_score"].as_f64()));
    let expected = [(57, 100.0), (14, 99.0), (71, 98.0)];
    let expected = expected.map(|(index, score)| (Some(index), Some(score)));
    assert_eq!(results.collect::<Vec<_>>(), expected, "{answer:?}");
    let asked = upstream.requests();
    let mut asked: Vec<usize> = asked
        .iter()
        .map(|request| request.json()["texts"].as_array().unwrap().len())
        .collect();
    asked.sort_unstable();
    assert_eq!(asked, [4, 32, 32, 32]);
    assert_eq!(api.span(&answer).await["meta"]["count"], 100);
}

#[tokio::test]
async fn what_is_no_answer_is_an_upstream_error_that_is_recorded() {
    let (server, _upstream) = Server::with_upstream(Script::by(host)).await;
    let api = server.api();

    for model in ["house/astray", "house/none", "offline/fail-cut"] {
        let body = json!({"query": "q", "documents": documents(), "model": model});
        let answer = api.post(PATH, body).await;

        assert_eq!(
            (answer.status.as_u16(), answer.class()),
            (502, "UpstreamError"),
            "{model}"
        );
        let span = api.span(&answer).await;
        assert_eq!(
            json!([span["type"], span["output"]]),
            json!(["rerank", null])
        );
    }
}

#[tokio::test]
async fn what_cannot_be_put_in_order_is_refused() {
    let server = Server::start();
    let api = server.api();
    let body = |member: &str, value: Value| {
        let mut body =
            json!({"query": "q", "documents": [{"text": "a"}], "model": "offline/rerank"});
        body[member] = value;
        body
    };

    for (body, loc, slug) in [
        (
            body("query", json!(3)),
            json!(["body", "query"]),
            "string_type",
        ),
        (
            body("documents", json!([])),
            json!(["body", "documents"]),
            "too_short",
        ),
        (
            body("documents", json!(["a"])),
            json!(["body", "documents", 0]),
            "object_type",
        ),
        (
            body("documents", json!([{}])),
            json!(["body", "documents", 0, "text"]),
            "missing",
        ),
        (
            body("documents", json!([{"text": "a", "metadata": 1}])),
            json!(["body", "documents", 0, "metadata"]),
            "object_type",
        ),
        (
            body("model", json!("")),
            json!(["body", "model"]),
            "string_too_short",
        ),
        (
            body("top_k", json!(0)),
            json!(["body", "top_k"]),
            "greater_than_equal",
        ),
        (
            body("top_k", json!(1.5)),
            json!(["body", "top_k"]),
            "int_type",
        ),
        (
            json!({"documents": [{"text": "a"}], "model": "a/b"}),
            json!(["body", "query"]),
            "missing",
        ),
    ] {
        let answer = api.post(PATH, body).await;
        assert_eq!(answer.fault(), (422, loc, slug));
    }
    let unknown = api.post(PATH, body("model", json!("nobody/x"))).await;
    assert_eq!(
        (unknown.status.as_u16(), unknown.class()),
        (400, "BadRequestError")
    );
}

#[tokio::test]
async fn models_that_do_that_are_listed() {
    let server = Server::start_with(&[(
        "GATEWRIGHT_PROVIDERS__VOYAGE__API_BASE",
        "http://127.0.0.1:9/v1",
    )]);
    let api = server.api();
    for (name, identifier, extra) in [
        (
            "mine",
            "tei/BAAI/bge-reranker-v2-m3",
            json!({"cost_per_request": 0.001, "region": "here"}),
        ),
        ("named", "house/other", json!({"rerank": true})),
        ("chat", "house/chat", json!({})),
    ] {
        let mut extra = extra;
        extra["api_base"] = json!("http://127.0.0.1:9/v1");
        let body = json!({"name": name, "identifier": identifier, "extra": extra, "api_key": "k"});
        assert_eq!(api.post("/v2/models/custom", body).await.status, 200);
    }

    let all = api.get("/v2/rerank/models").await;
    let last = api.get("/v2/rerank/models?offset=1&limit=1").await;

    let data = all.body["data"].as_array().unwrap();
    assert_eq!(all.body["meta"]["total_count"], data.len());
    let find = |name: &str| data.iter().find(|item| item["name"] == name);
    let offline = json!({
        "hosting_provider": "offline", "name": "offline/rerank", "location": "global", "cost_per_request": 0.0,
    });
    assert_eq!(find("offline/rerank"), Some(&offline));
    assert!(find("voyage/rerank-2.5").is_some() && find("cohere/rerank-v3.5").is_none());
    let mine = json!({
        "hosting_provider": "tei", "name": "mine", "location": "here", "cost_per_request": 0.001,
    });
    assert_eq!(find("mine"), Some(&mine));
    assert_eq!(find("named").unwrap()["location"], "custom");
    assert!(find("chat").is_none());
    assert_eq!(last.body["data"], json!([data[1]]));
}
