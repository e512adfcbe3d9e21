//! Datasets, few-shot selection, and what feeds them: `interface.md` 8.2, 10 and 15.2.

use serde_json::{Value, json};
use testkit::{Answer, Received, Script};

use crate::server::{Api, BETA, Server};

const UNKNOWN: &str = "0190f3a0-0000-7000-8000-000000000000";

async fn function(api: &Api, body: Value) -> (Value, String) {
    let function = api.function(body).await;
    let dataset = format!("/v2/datasets/{}", function["dataset_id"].as_str().unwrap());
    (function, dataset)
}

async fn echo(api: &Api) -> (Value, String) {
    function(
        api,
        json!({"name": "echo", "instructions": "x", "model": "offline/echo"}),
    )
    .await
}

async fn add(api: &Api, dataset: &str, input: Value, output: Value) -> Value {
    let answer = api
        .post(dataset, json!({"input": input, "output": output}))
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

#[tokio::test]
async fn an_entry_is_made_read_changed_and_deleted() {
    let server = Server::start();
    let api = server.api();
    let (_, dataset) = echo(&api).await;

    let made = api
        .post(
            &dataset,
            json!({"input": {"a": 1.50}, "output": "text", "expected": [1], "comment": "c"}),
        )
        .await;
    let id = made.body["id"].as_str().unwrap().to_owned();
    let path = format!("{dataset}/entries/{id}");
    let expected = json!({"id": id, "input": r#"{"a":1.5}"#, "output": "text", "expected": "[1]", "comment": "c"});
    assert_eq!((made.status.as_u16(), &made.body), (200, &expected));
    assert_eq!(api.get(&path).await.body, expected);

    let changed = api
        .patch(&path, json!({"output": 7, "expected": null}))
        .await;
    assert_eq!(
        changed.body,
        json!({"id": id, "input": r#"{"a":1.5}"#, "output": "7", "expected": null, "comment": "c"})
    );
    let other = api
        .post(
            &format!("{dataset}/entries"),
            json!({"input": "b", "output": null}),
        )
        .await;
    assert_eq!(
        (other.status.as_u16(), &other.body["output"]),
        (200, &json!("null"))
    );
    let list = api
        .get(&format!("{dataset}/entries?offset=1&limit=1"))
        .await
        .body;
    assert_eq!(
        list,
        json!({"meta": {"total_count": 2}, "data": [other.body]})
    );

    let deleted = api.delete(&path).await;
    assert_eq!((deleted.status.as_u16(), deleted.text.as_str()), (204, ""));
    assert_eq!(
        api.get(&path).await.body["detail"],
        "Dataset entry not found"
    );
    assert_eq!(api.delete(&path).await.status, 404);
}

#[tokio::test]
async fn a_dataset_belongs_to_its_project_and_outlives_its_function() {
    let server = Server::start();
    let (api, other) = (server.api(), server.api_with(BETA));
    let (made, dataset) = echo(&api).await;
    let entry = add(&api, &dataset, json!("a"), json!("b")).await;
    let path = format!("{dataset}/entries/{}", entry["id"].as_str().unwrap());

    for answer in [
        other.get(&format!("{dataset}/entries")).await,
        other.get(&path).await,
        other.post(&dataset, json!({"input": 1, "output": 1})).await,
        other.patch(&path, json!({"output": 1})).await,
        other.delete(&path).await,
        other
            .send(
                reqwest::Method::POST,
                &format!("{dataset}/entries/query?query=a"),
                None,
            )
            .await,
        api.get(&format!("/v2/datasets/{UNKNOWN}/entries")).await,
        api.get(&format!("{dataset}/entries/{UNKNOWN}")).await,
    ] {
        assert_eq!(
            (answer.status.as_u16(), answer.class()),
            (404, "NotFoundError")
        );
    }
    api.delete(&format!("/v2/functions/{}", made["id"].as_str().unwrap()))
        .await;
    assert_eq!(api.get(&path).await.body, entry);
}

#[tokio::test]
async fn each_member_of_an_entry_has_its_rule() {
    let server = Server::start();
    let api = server.api();
    let (_, dataset) = echo(&api).await;

    for (path, body, place, slug) in [
        (
            dataset.clone(),
            json!({"output": 1}),
            json!(["body", "input"]),
            "missing",
        ),
        (
            dataset.clone(),
            json!({"input": 1}),
            json!(["body", "output"]),
            "missing",
        ),
        (
            dataset.clone(),
            json!({"input": 1, "output": 1, "comment": 3}),
            json!(["body", "comment"]),
            "string_type",
        ),
        (
            "/v2/datasets/x".to_owned(),
            json!({"input": 1, "output": 1}),
            json!(["path", "dataset_id"]),
            "uuid_parsing",
        ),
    ] {
        let answer = api
            .send_text(reqwest::Method::POST, &path, Some(body.to_string()))
            .await;
        assert_eq!(answer.fault(), (422, place, slug), "{body}");
    }
    for query in ["", "?query=a&limit=0", "?query=a&limit=101"] {
        let answer = api
            .send(
                reqwest::Method::POST,
                &format!("{dataset}/entries/query{query}"),
                None,
            )
            .await;
        assert_eq!(answer.status, 422, "{query}");
    }
}

#[tokio::test]
async fn a_query_finds_the_nearest_entries() {
    let server = Server::start();
    let api = server.api();
    let (_, dataset) = echo(&api).await;
    for (input, output) in [
        ("the capital of France", "Paris"),
        ("the capital of Peru", "Lima"),
        ("a recipe for soup", "boil"),
    ] {
        add(&api, &dataset, json!(input), json!(output)).await;
    }

    let query = async |query: &str| {
        let answer = api
            .send(
                reqwest::Method::POST,
                &format!("{dataset}/entries/query?query={query}&limit=2"),
                None,
            )
            .await;
        let entries = answer.body.as_array().expect(&answer.text).clone();
        entries
            .iter()
            .map(|entry| entry["output"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };

    assert_eq!(query("capital+of+Peru").await, ["Lima", "Paris"]);
    assert_eq!(query("soup%20recipe").await[0], "boil");
}

/// What the model was shown, without the system message.
fn turns(request: &Received) -> Vec<(String, String)> {
    let request = request.json();
    let messages = request["messages"].as_array().unwrap();
    let turn = |message: &Value| {
        (
            message["role"].as_str().unwrap().to_owned(),
            message["content"].as_str().unwrap().to_owned(),
        )
    };
    messages.iter().skip(1).map(turn).collect()
}

#[tokio::test]
async fn the_nearest_examples_come_before_the_requests_own() {
    let (server, upstream) = Server::with_upstream(Answer::text("ok")).await;
    let api = server.api();
    let (f, dataset) = function(&api, json!({
        "name": "f", "instructions": "x", "model": "house/tiny", "configuration": {"invocation.few_shot.count": 2},
    })).await;
    for (input, output) in [
        ("soup with leek", "1"),
        ("capital of France", "2"),
        ("capital of Peru", "3"),
        ("nothing alike", "4"),
    ] {
        add(&api, &dataset, json!(input), json!(output)).await;
    }
    let peru = api
        .get(&format!("{dataset}/entries?offset=2&limit=1"))
        .await
        .body["data"][0]
        .clone();
    let path = format!("{dataset}/entries/{}", peru["id"].as_str().unwrap());
    api.patch(&path, json!({"expected": "Lima", "comment": "a country"}))
        .await;

    let body =
        json!({"input": "the capital of Peru?", "examples": [{"input": "own", "output": "mine"}]});
    let answer = api.call(&f, body).await;

    let said = turns(&upstream.requests()[0]);
    let said: Vec<&str> = said.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(said.len(), 7, "{said:?}");
    let peru = said
        .iter()
        .position(|text| *text == "a country\ncapital of Peru")
        .expect("the nearest is shown");
    assert_eq!(said[peru + 1], "Lima");
    assert!(said[..4].contains(&"capital of France"), "{said:?}");
    assert_eq!(&said[4..], ["own", "mine", "the capital of Peru?"]);
    let meta = api.span(&answer).await["meta"].clone();
    assert_eq!(
        (&meta["few_shot_count"], &meta["few_shot"]["by"]),
        (&json!(2), &json!("lexical"))
    );
    assert_eq!(meta["few_shot"]["entries"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn no_count_means_no_examples_and_none_is_the_default_of_three() {
    let (server, upstream) = Server::with_upstream(Answer::text("ok")).await;
    let api = server.api();
    let (f, dataset) = function(
        &api,
        json!({"name": "f", "instructions": "x", "model": "house/tiny"}),
    )
    .await;
    let id = f["id"].as_str().unwrap();
    for number in 0..5 {
        add(
            &api,
            &dataset,
            json!(format!("number {number}")),
            json!(number),
        )
        .await;
    }

    api.call(&f, json!({"input": "number 9"})).await;
    let off = api
        .patch(
            &format!("/v2/functions/{id}"),
            json!({"configuration": {"invocation.few_shot.count": 0}}),
        )
        .await
        .body;
    api.call(&off, json!({"input": "number 9"})).await;

    let counts: Vec<usize> = upstream
        .requests()
        .iter()
        .map(|request| turns(request).len())
        .collect();
    assert_eq!(counts, [7, 1]);
}

/// Vectors of two dimensions: what speaks of fruit, and what does not.
fn fruit(request: &Received) -> Answer {
    if !request.path.ends_with("/embeddings") {
        return Answer::text("ok");
    }
    let request = request.json();
    let inputs = match &request["input"] {
        Value::Array(inputs) => inputs.clone(),
        input => vec![input.clone()],
    };
    let vector = |input: &Value| {
        let is_fruit = ["apple", "pear", "plum"]
            .iter()
            .any(|word| input.as_str().unwrap().contains(word));
        if is_fruit {
            vec![1.0, 0.1]
        } else {
            vec![0.1, 1.0]
        }
    };
    Answer::embeddings(inputs.iter().map(vector).collect())
}

#[tokio::test]
async fn with_an_embedding_model_meaning_decides() {
    let (server, upstream) = Server::with_upstream_and(
        Script::by(fruit),
        &[("GATEWRIGHT_MODELS__DEFAULT_EMBEDDING", "vectors")],
    )
    .await;
    let api = server.api();
    let alias = json!({"name": "vectors", "fallback_models": ["nobody/x", "house/embed"]});
    api.post("/v2/models/aliases", alias).await;
    let (f, dataset) = function(&api, json!({
        "name": "f", "instructions": "x", "model": "house/tiny", "configuration": {"invocation.few_shot.count": 1},
    })).await;
    add(&api, &dataset, json!("a ripe apple"), json!("fruit")).await;
    add(
        &api,
        &dataset,
        json!("a green stone pear"),
        json!("fruit, too"),
    )
    .await;
    add(&api, &dataset, json!("a plain stone"), json!("thing")).await;

    let mut by = Vec::new();
    for _ in 0..50 {
        let answer = api.call(&f, json!({"input": "some plain plum"})).await;
        let shown = api.span(&answer).await["meta"]["few_shot"].clone();
        by.push(shown["by"].as_str().unwrap().to_owned());
        if by.last().unwrap() == "embedding" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }

    assert_eq!(by.last().unwrap(), "embedding", "{by:?}");
    let chats = upstream
        .requests()
        .into_iter()
        .filter(|request| request.path.ends_with("/chat/completions"));
    let last = turns(&chats.last().unwrap());
    assert!(last[1].1.starts_with("fruit"), "{last:?}");
}

#[tokio::test]
async fn feedback_and_saved_examples_reach_the_dataset() {
    let server = Server::start();
    let api = server.api();
    let (f, dataset) = echo(&api).await;
    let root = api.post("/v2/spans", json!({"name": "root"})).await.body["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut spans = Vec::new();
    for input in ["one", "two", "three"] {
        let answer = api
            .call(&f, json!({"input": input, "parent_span_id": root}))
            .await;
        spans.push(answer.body["span_id"].as_str().unwrap().to_owned());
    }
    let total =
        async || api.get(&format!("{dataset}/entries")).await.body["meta"]["total_count"].clone();

    let plain = api
        .post(
            &format!("/v2/spans/{}/feedback", spans[0]),
            json!({"score": 0.5}),
        )
        .await;
    assert_eq!(
        plain.body,
        json!({"span_id": spans[0], "score": 0.5, "comment": null, "example_saved": false})
    );
    assert_eq!(total().await, 0);
    let body = json!({"score": 1, "comment": "good", "save_to_dataset": true});
    let saved = api
        .post(&format!("/v2/spans/{}/feedback", spans[0]), body)
        .await;
    assert_eq!(
        (&saved.body["example_saved"], total().await),
        (&json!(true), json!(1))
    );
    let span = api.get(&format!("/v2/spans/{}", spans[0])).await.body;
    assert_eq!(span["feedback"], json!({"score": 1.0, "comment": "good"}));

    let all = api
        .send(
            reqwest::Method::POST,
            &format!("/v2/spans/{root}/save_examples"),
            None,
        )
        .await;
    assert_eq!((all.status.as_u16(), total().await), (201, json!(4)));
    assert_eq!(
        (
            &all.body["input"],
            &all.body["output"],
            &all.body["expected"]
        ),
        (&json!("three"), &json!("three"), &Value::Null)
    );
    assert_eq!(all.body["dataset_id"], f["dataset_id"]);
    assert!(all.body["dataset_entry_id"].is_string());

    let empty = api.post("/v2/spans", json!({"name": "empty"})).await.body["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let none = api
        .send(
            reqwest::Method::POST,
            &format!("/v2/spans/{empty}/save_examples"),
            None,
        )
        .await;
    assert_eq!(
        (none.status.as_u16(), none.class()),
        (400, "BadRequestError")
    );
}
