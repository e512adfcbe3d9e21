//! The exact cache and its single flight: `interface.md` 15.5, `reliability.md` E1 and E2.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Answer, Received, Script};

use crate::server::{Api, BETA, Server};

const NOTHING: &str = r#"{"input_tokens":0,"output_tokens":0,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":0}"#;

async fn cached_function(api: &Api, name: &str, seconds: u32) -> Value {
    api.function(json!({
        "name": name, "instructions": "Tell.", "model": "house/tiny", "configuration": {"invocation.cache.ttl": seconds},
    }))
    .await
}

#[tokio::test]
async fn an_equal_call_is_answered_from_the_cache_for_nothing() {
    let (server, upstream) = Server::with_upstream(Answer::text("hello")).await;
    let api = server.api();
    let function = cached_function(&api, "f", 60).await;

    let first = api
        .call(&function, json!({"input": "a", "tags": {"n": 1}}))
        .await
        .body;
    let second = api
        .call(&function, json!({"input": "a", "tags": {"n": 2}}))
        .await;
    let streamed = api.stream_of(&function, &json!({"input": "a"})).await;

    assert_eq!(
        (&first["cached"], &second.body["cached"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(second.body["message"], "hello");
    assert_eq!(second.body["usage"].to_string(), NOTHING);
    assert_eq!(second.body["cost"]["total"], 0.0);
    assert_ne!(first["span_id"], second.body["span_id"]);
    assert_eq!(
        (streamed.deltas(), &streamed.done()["cached"]),
        (vec!["hello"], &json!(true))
    );
    assert_eq!(upstream.requests().len(), 1);
    let span = api.span(&second).await;
    assert_eq!(
        (
            &span["meta"]["cached"],
            &span["meta"]["attempts"],
            &span["score"]
        ),
        (&json!(true), &json!(0), &Value::Null)
    );
}

#[tokio::test]
async fn what_the_answer_depends_on_is_in_the_key() {
    let (server, upstream) = Server::with_upstream(Answer::text("hello")).await;
    let (api, other) = (server.api(), server.api_with(BETA));
    let function = cached_function(&api, "f", 60).await;
    let foreign = cached_function(&other, "f", 60).await;
    let id = function["id"].as_str().unwrap();
    api.call(&function, json!({"input": "a"})).await;
    let mut asked = 1;

    let mut is_asked = |what: &str| {
        asked += 1;
        assert_eq!(upstream.requests().len(), asked, "{what}");
    };
    api.call(&function, json!({"input": "b"})).await;
    is_asked("another input");
    api.call(
        &function,
        json!({"input": "a", "examples": [{"input": 1, "output": 2}]}),
    )
    .await;
    is_asked("other examples");
    other.call(&foreign, json!({"input": "a"})).await;
    is_asked("another project");
    let changed = api
        .patch(
            &format!("/v2/functions/{id}"),
            json!({"model": {"name": "house/tiny", "options": {"seed": 1}}}),
        )
        .await
        .body;
    api.call(&changed, json!({"input": "a"})).await;
    is_asked("another revision");
    let dataset = changed["dataset_id"].as_str().unwrap();
    api.post(
        &format!("/v2/datasets/{dataset}"),
        json!({"input": "a", "output": "b"}),
    )
    .await;
    api.call(&changed, json!({"input": "a"})).await;
    is_asked("another example of the dataset");

    api.call(&changed, json!({"input": "a"})).await;
    assert_eq!(upstream.requests().len(), asked, "and nothing else changed");
}

#[tokio::test]
async fn an_entry_lives_for_its_time() {
    let (server, upstream) = Server::with_upstream(Answer::text("hello")).await;
    let api = server.api();
    let function = cached_function(&api, "f", 1).await;

    api.call(&function, json!({"input": "a"})).await;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    api.call(&function, json!({"input": "a"})).await;

    assert_eq!(upstream.requests().len(), 2);
}

#[tokio::test]
async fn a_hundred_equal_calls_start_one_request() {
    let (server, upstream) =
        Server::with_upstream(Answer::text("hello").after(Duration::from_millis(500))).await;
    let api = server.api();
    let function = cached_function(&api, "f", 60).await;

    let calls = (0..100).map(|number| {
        let (api, function) = (api.clone(), function.clone());
        tokio::spawn(async move {
            if number % 3 == 0 {
                let stream = api.stream_of(&function, &json!({"input": "a"})).await;
                (stream.joined(), stream.done()["cached"] == true)
            } else {
                let body = api.call(&function, json!({"input": "a"})).await.body;
                (
                    body["message"].as_str().unwrap().to_owned(),
                    body["cached"] == true,
                )
            }
        })
    });
    let mut led = 0;
    for call in calls.collect::<Vec<_>>() {
        let (text, was_cached) = call.await.unwrap();
        assert_eq!(text, "hello");
        led += usize::from(!was_cached);
    }

    assert_eq!((upstream.requests().len(), led), (1, 1));
}

#[tokio::test]
async fn while_others_wait_the_first_caller_may_leave() {
    let (server, upstream) =
        Server::with_upstream(Answer::text("hello").after(Duration::from_millis(700))).await;
    let api = server.api();
    let function = cached_function(&api, "f", 60).await;
    let first = tokio::spawn({
        let (api, function) = (api.clone(), function.clone());
        async move { api.call(&function, json!({"input": "a"})).await }
    });
    assert!(upstream.wait_for_requests(1, Duration::from_secs(5)).await);
    let second = tokio::spawn({
        let (api, function) = (api.clone(), function.clone());
        async move { api.call(&function, json!({"input": "a"})).await }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;

    first.abort();
    let second = second.await.unwrap().body;

    assert_eq!(
        (&second["message"], &second["cached"]),
        (&json!("hello"), &json!(true))
    );
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn failures_and_cut_answers_are_not_kept() {
    let script = [
        Answer::error(400, "no"),
        Answer::text("cut").finish_reason("length"),
        Answer::text("hello"),
    ];
    let (server, upstream) = Server::with_upstream(script).await;
    let api = server.api();
    let function = cached_function(&api, "f", 60).await;

    let mut answers = Vec::new();
    for _ in 0..4 {
        let body = api.call(&function, json!({"input": "a"})).await.body;
        answers.push((body["message"].clone(), body["cached"].clone()));
    }

    let (fresh, kept) = (json!(false), json!(true));
    assert_eq!(
        answers,
        [
            (json!("The request is invalid"), Value::Null),
            (json!("cut"), fresh.clone()),
            (json!("hello"), fresh),
            (json!("hello"), kept),
        ]
    );
    assert_eq!(upstream.requests().len(), 3);
}

#[tokio::test]
async fn a_stream_that_breaks_takes_nobody_along() {
    let script = Script::by(|request: &Received| {
        if request.json()["stream"] == true {
            Answer::text("hello there")
                .pause(Duration::from_millis(100))
                .cut_after_pieces(2)
        } else {
            Answer::text("hello there")
        }
    });
    let (server, upstream) = Server::with_upstream(script).await;
    let api = server.api();
    let function = cached_function(&api, "f", 60).await;
    let leading = tokio::spawn({
        let (api, function) = (api.clone(), function.clone());
        async move { api.stream_of(&function, &json!({"input": "a"})).await }
    });
    assert!(upstream.wait_for_requests(1, Duration::from_secs(5)).await);

    let waited = api.call(&function, json!({"input": "a"})).await.body;

    assert_eq!(leading.await.unwrap().error(), "UpstreamError");
    assert_eq!(waited["message"], "hello there", "{waited}");
}

#[tokio::test]
async fn a_failure_is_shared_with_those_who_waited_and_says_whose_it_is() {
    let (server, upstream) =
        Server::with_upstream(Answer::error(500, "broken").after(Duration::from_millis(300))).await;
    let api = server.api();
    let function = cached_function(&api, "f", 60).await;

    let calls: Vec<_> = (0..10)
        .map(|_| {
            let (api, function) = (api.clone(), function.clone());
            tokio::spawn(async move { api.call(&function, json!({"input": "a"})).await })
        })
        .collect();
    let mut own = Vec::new();
    let mut shared = Vec::new();
    for call in calls {
        let answer = call.await.unwrap();
        assert_eq!(answer.class(), "UpstreamError");
        let span = api.span(&answer).await;
        match &span["meta"]["shares_failure_of"] {
            Value::Null => own.push(span["id"].clone()),
            of => shared.push(of.clone()),
        }
    }

    assert_eq!(upstream.requests().len(), 1);
    assert_eq!((own.len(), shared.len()), (1, 9));
    assert!(shared.iter().all(|of| *of == own[0]));
}

#[tokio::test]
async fn one_string_is_one_string_however_it_is_spelled() {
    let (server, upstream) = Server::with_upstream(Answer::text("hello")).await;
    let api = server.api();
    let function = cached_function(&api, "f", 60).await;
    let path = format!("/v2/functions/{}/call", function["id"].as_str().unwrap());

    for body in [r#"{"input":{"k":"\u00e9"}}"#, r#"{"input":{"k":"é"}}"#] {
        let answer = api
            .send_text(reqwest::Method::POST, &path, Some(body.to_owned()))
            .await;
        assert_eq!(answer.status, 200);
    }

    let asked = upstream.requests();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].json()["messages"][1]["content"], r#"{"k":"é"}"#);
}
