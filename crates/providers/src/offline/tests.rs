//! What the models answer.

use domain::{Delta, Demand, Json, JsonObject, Ranked, seams::Target};
use futures_util::StreamExt;
use serde_json::json;

use super::*;
use crate::wire::tests::target;

fn asking(model: &str) -> Target {
    Target {
        model: model.to_owned(),
        api_base: None,
        ..target("")
    }
}

fn chat_of(turns: &[(Role, &str)], schema: Option<Value>) -> ChatRequest {
    let messages = turns.iter().map(|(role, text)| Message::text(*role, *text));
    ChatRequest {
        messages: messages.collect(),
        demand: schema.map(|schema| Demand {
            name: "answer".to_owned(),
            schema: Json::from_value(&schema),
            rung: Rung::Prompt,
            as_given: None,
        }),
        ..ChatRequest::default()
    }
}

async fn chat(
    model: &str,
    input: &str,
    schema: Option<Value>,
) -> Result<Generation, ProviderError> {
    let turns = [(Role::System, "be kind"), (Role::User, input)];
    Offline.chat(&asking(model), &chat_of(&turns, schema)).await
}

fn name_and_age() -> Value {
    json!({
        "type": "object",
        "properties": { "name": { "type": "string" }, "age": { "type": "integer", "minimum": 18 } },
        "required": ["name", "age"],
        "additionalProperties": false,
    })
}

#[tokio::test]
async fn echo_repeats_the_last_words_of_the_user() {
    let cases = [
        ("hi \"there\"", None, "hi \"there\""),
        ("{\"a\": 1.0}", None, "{\"a\": 1.0}"),
        ("{\"a\": 1.0}", Some(json!(true)), "{\"a\": 1.0}"),
        ("hi", Some(json!(true)), "\"hi\""),
    ];

    for (input, schema, text) in cases {
        assert_eq!(chat("echo", input, schema).await.unwrap(), says(text));
    }
}

#[tokio::test]
async fn json_draws_from_the_input_what_fits() {
    let input = r#"{"name":"Ada","age":12,"other":true}"#;

    let fitting = chat("json", input, Some(name_and_age())).await.unwrap();
    let plain = chat("json", "hello", None).await.unwrap();

    assert_eq!(fitting, says(r#"{"name":"Ada","age":18}"#));
    assert_eq!(plain, says(r#"{"input":"hello"}"#));
}

#[tokio::test]
async fn broken_answers_stop_after_as_many_times_as_asked() {
    let input = r#"{"name":"Ada"}"#;
    for (model, bad) in [
        ("fail-json-2", BROKEN_JSON),
        ("fail-schema-2", "\"this misses the schema\""),
    ] {
        let mut turns = vec![
            (Role::User, "{}"),
            (Role::Assistant, "{}"),
            (Role::User, input),
        ];
        let mut answers = Vec::new();
        for _ in 0..3 {
            let request = chat_of(&turns, Some(name_and_age()));
            answers.push(Offline.chat(&asking(model), &request).await.unwrap().text);
            turns.extend([(Role::Assistant, bad), (Role::User, r#"{"name":"mended"}"#)]);
        }

        assert_eq!(answers, [bad, bad, r#"{"name":"Ada","age":18}"#]);
    }
}

#[tokio::test]
async fn endless_failures_do_not_stop() {
    let turns = [
        (Role::User, "x"),
        (Role::Assistant, BROKEN_JSON),
        (Role::User, "y"),
    ];

    let answer = Offline
        .chat(&asking("fail-json"), &chat_of(&turns, None))
        .await;

    assert_eq!(answer.unwrap(), says(BROKEN_JSON));
    assert!(serde_json::from_str::<Value>(BROKEN_JSON).is_err());
}

#[tokio::test]
async fn scripted_statuses_fail_as_real_ones_do() {
    let cases = [
        (
            429,
            Kind::RateLimited,
            "the offline provider was asked for status 429",
        ),
        (401, Kind::Auth, "provider_auth"),
        (
            402,
            Kind::Auth,
            "the offline provider was asked for status 402",
        ),
        (
            404,
            Kind::UnknownModel,
            "the offline provider was asked for status 404",
        ),
        (
            503,
            Kind::Overloaded,
            "the offline provider was asked for status 503",
        ),
        (
            500,
            Kind::Failed,
            "the offline provider was asked for status 500",
        ),
        (
            422,
            Kind::Invalid,
            "the offline provider was asked for status 422",
        ),
    ];

    for (status, kind, reason) in cases {
        let error = chat(&format!("fail-status-{status}"), "x", None)
            .await
            .unwrap_err();
        assert_eq!((error.kind, error.status), (kind, Some(status)));
        assert_eq!((error.reason.as_str(), error.retry_after), (reason, None));
    }
}

#[tokio::test]
async fn other_failures_are_what_they_say() {
    let generation = |text: &str, refusal: Option<&str>, finish_reason| Generation {
        text: text.to_owned(),
        refusal: refusal.map(str::to_owned),
        finish_reason,
        ..Generation::default()
    };

    let answers = [
        chat("fail-empty", "x", None).await.unwrap(),
        chat("fail-refusal", "x", None).await.unwrap(),
        chat("fail-length", "åå words", None).await.unwrap(),
        chat("fail-length", "{}", Some(json!({"const": "abcd"})))
            .await
            .unwrap(),
    ];
    let cut = chat("fail-cut", "x", None).await.unwrap_err();

    assert_eq!(
        answers,
        [
            generation("", None, FinishReason::Stop),
            generation("", Some(REFUSAL), FinishReason::Stop),
            generation("åå ", None, FinishReason::Length),
            generation("\"ab", None, FinishReason::Length),
        ]
    );
    assert_eq!((cut.kind, cut.status), (Kind::Connection, None));
}

#[tokio::test(start_paused = true)]
async fn a_delay_ends_with_an_answer_or_with_the_time() {
    let start = tokio::time::Instant::now();

    let answer = chat("fail-delay-1500", "x", None).await.unwrap();
    let answered = start.elapsed().as_millis();
    let late = chat("fail-delay-20000", "x", None).await.unwrap_err();

    assert_eq!((answer, answered), (says("x"), 1500));
    assert_eq!(
        (late.kind, start.elapsed().as_millis()),
        (Kind::Timeout, 21500)
    );
}

#[tokio::test]
async fn an_unknown_model_is_told_which_there_are() {
    let error = chat("gpt", "x", None).await.unwrap_err();

    assert_eq!((error.kind, error.status), (Kind::UnknownModel, Some(404)));
    assert!(error.reason.contains("no model `gpt`"));
    assert!(error.reason.contains("echo, json, fail-status"));
    assert_eq!(
        chat("embed", "x", None).await.unwrap_err().kind,
        Kind::Misconfigured
    );
}

#[tokio::test(start_paused = true)]
async fn texts_are_put_in_order_and_can_fail_too() {
    let request = RerankRequest {
        query: "capital of France".to_owned(),
        documents: ["Lima", "Paris, capital of France"]
            .map(str::to_owned)
            .to_vec(),
        top_k: Some(1),
        max_chunks_per_doc: None,
    };
    let rerank = async |model: &str| {
        let answer = Offline.rerank(&asking(model), &request).await;
        answer
            .map(|answer| answer.results)
            .map_err(|error| error.kind)
    };
    let best = Ranked {
        index: 1,
        score: 1.0,
    };

    assert_eq!(rerank("rerank").await, Ok(vec![best]));
    assert_eq!(rerank("fail-delay-5").await, Ok(vec![best]));
    let cases = [
        ("fail-status-503", Kind::Overloaded),
        ("fail-cut", Kind::Connection),
        ("fail-delay-30000", Kind::Timeout),
        ("fail-json", Kind::Misconfigured),
        ("embed", Kind::Misconfigured),
        ("none", Kind::UnknownModel),
    ];
    for (model, kind) in cases {
        assert_eq!(rerank(model).await, Err(kind), "{model}");
    }
    assert_eq!(
        chat("rerank", "x", None).await.unwrap_err().kind,
        Kind::Misconfigured
    );
}

#[tokio::test(start_paused = true)]
async fn texts_are_embedded_and_can_fail_too() {
    let request = EmbeddingRequest {
        input: vec!["one".to_owned(), "two words".to_owned()],
    };
    let embed = async |model: &str| {
        let dimensions = ("dimensions".to_owned(), Json::parse("8").unwrap());
        let target = Target {
            options: JsonObject::from_iter([dimensions]),
            ..asking(model)
        };
        let answer = Offline.embed(&target, &request).await;
        answer.map(|answer| (answer.vectors.len(), answer.vectors[0].len()))
    };

    assert_eq!(embed("embed").await.unwrap(), (2, 8));
    assert_eq!(embed("fail-delay-5").await.unwrap(), (2, 8));
    let kinds = [
        embed("fail-status-503").await.unwrap_err().kind,
        embed("fail-cut").await.unwrap_err().kind,
        embed("fail-delay-30000").await.unwrap_err().kind,
        embed("echo").await.unwrap_err().kind,
    ];
    assert_eq!(
        kinds,
        [
            Kind::Overloaded,
            Kind::Connection,
            Kind::Timeout,
            Kind::Misconfigured
        ]
    );
}

/// A stream's pieces, and how it ended.
async fn streamed(model: &str, input: &str) -> (Vec<String>, Result<Delta, Kind>) {
    let request = chat_of(&[(Role::User, input)], None);
    let mut deltas = match Offline.chat_stream(&asking(model), &request).await {
        Ok(deltas) => deltas,
        Err(error) => return (Vec::new(), Err(error.kind)),
    };
    let mut pieces = Vec::new();
    while let Some(delta) = deltas.next().await {
        match delta {
            Ok(Delta::Text(text)) => pieces.push(text),
            end => {
                assert!(deltas.next().await.is_none());
                return (pieces, end.map_err(|error| error.kind));
            }
        }
    }
    panic!("{model} had no end");
}

#[tokio::test(start_paused = true)]
async fn streams_say_the_same_in_pieces() {
    let end = |finish_reason| {
        Ok(Delta::End {
            finish_reason,
            usage: None,
        })
    };
    let pieces = |pieces: &[&str]| pieces.iter().map(|&piece| piece.to_owned()).collect();
    let input = "\u{e5}ne two three four";
    let cases = [
        (
            "echo",
            pieces(&["\u{e5}ne two ", "three fo", "ur"]),
            end(FinishReason::Stop),
        ),
        (
            "fail-length",
            pieces(&["\u{e5}ne two "]),
            end(FinishReason::Length),
        ),
        ("fail-empty", pieces(&[]), end(FinishReason::Stop)),
        (
            "fail-delay-5",
            pieces(&["\u{e5}ne two ", "three fo", "ur"]),
            end(FinishReason::Stop),
        ),
        ("fail-status-503", pieces(&[]), Err(Kind::Overloaded)),
        ("fail-stream-cut-0", pieces(&[]), Err(Kind::Connection)),
        (
            "fail-stream-cut-1",
            pieces(&["\u{e5}ne two "]),
            Err(Kind::Connection),
        ),
        (
            "fail-stream-stall-2",
            pieces(&["\u{e5}ne two ", "three fo"]),
            Err(Kind::Timeout),
        ),
        (
            "fail-stream-error-9",
            pieces(&["\u{e5}ne two ", "three fo", "ur"]),
            Err(Kind::Failed),
        ),
    ];

    for (model, pieces, end) in cases {
        assert_eq!(streamed(model, input).await, (pieces, end), "{model}");
    }
    let refusal = Ok(Delta::Refusal(REFUSAL.to_owned()));
    let request = chat_of(&[(Role::User, "x")], None);
    let mut deltas = Offline
        .chat_stream(&asking("fail-refusal"), &request)
        .await
        .unwrap();
    assert_eq!(
        deltas.next().await.unwrap().map_err(|error| error.kind),
        refusal
    );
    for (model, kind) in [
        ("fail-stream-cut-1", Kind::Connection),
        ("fail-stream-stall-1", Kind::Timeout),
        ("fail-stream-error-1", Kind::Failed),
    ] {
        assert_eq!(chat(model, "x", None).await.unwrap_err().kind, kind);
    }
    assert_eq!(Offline.rungs(&asking("echo")).len(), 4);
}

#[tokio::test]
async fn an_answer_that_broke_off_is_gone_on_with() {
    let cut = |begun: &'static str| {
        [
            (Role::User, "one two"),
            (Role::Assistant, begun),
            (Role::User, "go on"),
        ]
    };
    let answer = async |model: &str, begun: &'static str, schema: Option<Value>| {
        let request = chat_of(&cut(begun), schema);
        Offline.chat(&asking(model), &request).await.unwrap().text
    };

    assert_eq!(answer("echo", "one ", None).await, "two");
    assert_eq!(
        answer("echo", "\"one ", Some(json!(true))).await,
        "\"one two\""
    );
    for whole_or_other in ["one two", "two", ""] {
        assert_eq!(answer("echo", whole_or_other, None).await, "go on");
    }
}
