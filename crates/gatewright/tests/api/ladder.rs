//! The ladder of structured output, reading leniently, hedging, breakers: `interface.md` 15.3, 15.4 and 15.6.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Answer, EndingKind, Received, Script, Upstream};

use crate::server::{Api, Server};

fn number() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
}

async fn structured(api: &Api, model: Value, configuration: Value) -> Value {
    api.function(json!({
        "name": "f", "instructions": "Count.", "model": model, "output_schema": number(), "configuration": configuration,
    }))
    .await
}

#[tokio::test]
async fn a_host_is_asked_one_rung_lower_until_it_takes_one() {
    let script = Script::by(|request: &Received| {
        let request = request.json();
        if request["response_format"]["type"] == "json_schema" {
            Answer::error(500, "unknown response_format `json_schema`")
        } else if request["tools"].is_array() {
            Answer::error(422, "tools are not supported")
        } else if request["response_format"]["type"] == "json_object" {
            Answer::error(400, "'response_format' : property is unsupported")
        } else {
            Answer::text(r#"{"n": 1}"#)
        }
    });
    let (server, upstream) = Server::with_upstream(script).await;
    let api = server.api();
    let one_try = json!({"invocation.structured_generation.max_attempts": 1});
    let function = structured(&api, json!("house/tiny"), one_try).await;

    let first = api.call(&function, json!({"input": "go"})).await;
    let second = api.call(&function, json!({"input": "go"})).await;
    let streamed = api.stream_of(&function, &json!({"input": "go"})).await;

    assert_eq!(
        (&first.body["json_payload"], first.status.as_u16()),
        (&json!({"n": 1}), 200),
        "{first:?}"
    );
    assert_eq!(
        (&second.body["json_payload"], streamed.joined().as_str()),
        (&json!({"n": 1}), r#"{"n": 1}"#)
    );
    assert_eq!(
        upstream.requests().len(),
        4 + 1 + 1,
        "the rung that worked is remembered"
    );
    let meta = api.span(&first).await["meta"].clone();
    assert_eq!(meta["rung"], "prompt");
    let rungs: Vec<_> = meta["models_tried"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tried| tried["rung"].clone())
        .collect();
    assert_eq!(
        rungs,
        ["native_schema", "forced_tool", "json_mode", "prompt"]
    );
    assert_eq!(meta["models_tried"][0]["class"], "demand");
    assert!(
        meta["rung_reason"].as_str().unwrap().contains("refused"),
        "{meta}"
    );
}

#[tokio::test]
async fn a_model_that_breaks_its_promise_is_asked_one_rung_lower() {
    let script = Script::by(|request: &Received| {
        if request.json()["response_format"]["type"] == "json_schema" {
            Answer::text(r#"{"n": "one"}"#)
        } else {
            Answer::tool_call("f", r#"{"n": 1}"#)
        }
    });
    let (server, upstream) = Server::with_upstream(script).await;
    let api = server.api();
    let function = structured(&api, json!("house/tiny"), json!({})).await;

    let first = api.call(&function, json!({"input": "go"})).await;
    let second = api.call(&function, json!({"input": "go"})).await;

    assert_eq!(first.body["json_payload"], json!({"n": 1}));
    let meta = api.span(&first).await["meta"].clone();
    assert_eq!(
        (&meta["attempts"], &meta["rung"]),
        (&json!(3), &json!("forced_tool"))
    );
    assert!(meta["rung_reason"].is_string(), "{meta}");
    let repair = upstream.requests()[1].json()["messages"].clone();
    let repair = repair.as_array().unwrap();
    assert_eq!(
        repair[repair.len() - 2],
        json!({"role": "assistant", "content": r#"{"n": "one"}"#})
    );
    assert!(
        repair[repair.len() - 1]["content"]
            .as_str()
            .unwrap()
            .contains("/n: "),
        "{repair:?}"
    );
    assert_eq!(api.span(&second).await["meta"]["attempts"], 1);
}

#[tokio::test]
async fn a_faithful_model_gets_the_schema_in_its_strict_form() {
    let upstream = Upstream::start(Answer::text(r#"{"n": 1, "note": null}"#)).await;
    let server = Server::start_with(&[(
        "GATEWRIGHT_PROVIDERS__OPENAI__API_BASE",
        &upstream.base_url(),
    )]);
    let api = server.api();
    let function = api
        .function(json!({
            "name": "f", "instructions": "Count.", "model": "openai/gpt-4.1-mini",
            "output_schema": {"type": "object", "properties": {"n": {"type": "integer"}, "note": {"type": "string"}}, "required": ["n"]},
        }))
        .await;

    let answer = api.call(&function, json!({"input": "go"})).await;

    let format = upstream.requests()[0].json()["response_format"]["json_schema"].clone();
    assert_eq!(format["strict"], true);
    assert_eq!(format["schema"]["required"], json!(["n", "note"]));
    assert_eq!(
        answer.body["json_payload"],
        json!({"n": 1}),
        "what was added is taken out again"
    );
}

#[tokio::test]
async fn what_was_mended_is_told() {
    let (server, upstream) = Server::with_upstream(Answer::text(
        "The value is {\"n\": 12345678901234567890,} as asked.",
    ))
    .await;
    let api = server.api();
    let function = structured(&api, json!("house/tiny"), json!({})).await;

    let answer = api.call(&function, json!({"input": "go"})).await;

    assert!(
        answer
            .text
            .contains(r#""json_payload":{"n":12345678901234567890}"#),
        "{}",
        answer.text
    );
    assert_eq!(
        api.span(&answer).await["meta"]["mended"],
        json!(["prose", "trailing_comma"])
    );
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn xml_is_turned_into_the_value_and_repaired_as_xml() {
    let script = [
        Answer::text("<answer><n>one</n></answer>"),
        Answer::text("Here:\n```xml\n<answer>\n  <n>1</n>\n</answer>\n```"),
    ];
    let (server, upstream) = Server::with_upstream(script).await;
    let api = server.api();
    let function = structured(
        &api,
        json!("house/tiny"),
        json!({"beta.invocation.xml_mode.enabled": true}),
    )
    .await;

    let answer = api
        .call(&function, json!({"input": "1 < 2 & </input>"}))
        .await;

    assert_eq!(answer.body["json_payload"], json!({"n": 1}));
    let requests: Vec<Value> = upstream.requests().iter().map(Received::json).collect();
    assert!(
        requests
            .iter()
            .all(|request| request.get("response_format").is_none()
                && request.get("tools").is_none())
    );
    let messages = requests[1]["messages"].as_array().unwrap();
    let input = messages[1]["content"].as_str().unwrap();
    assert!(input.contains("1 &lt; 2 &amp; &lt;/input&gt;"), "{input}");
    assert!(
        messages[3]["content"].as_str().unwrap().contains("XML"),
        "{messages:?}"
    );
    let again = api.call(&function, json!({"input": "x"})).await;
    let tag = |text: &str| text[1..text.find('>').unwrap()].to_owned();
    let other = upstream.requests()[2].json()["messages"][1]["content"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_ne!(
        tag(input),
        tag(&other),
        "each call has its own element: {again:?}"
    );
}

#[tokio::test]
async fn a_slow_model_is_hedged_and_the_loser_is_cancelled_and_booked() {
    let script = Script::by(|request: &Received| {
        if request.json()["model"] == "slow" {
            Answer::text("late").after(Duration::from_secs(20))
        } else {
            Answer::text("quick").usage(3, 2)
        }
    });
    let (server, upstream) = Server::with_upstream(script).await;
    let api = server.api();
    let function = api
        .function(json!({
            "name": "f", "instructions": "Tell.", "model": ["house/slow", "house/fast"],
            "configuration": {"invocation.hedge.after_ms": 100},
        }))
        .await;

    let began = Instant::now();
    let answer = api
        .call(
            &function,
            json!({"input": "a question of forty characters, or so."}),
        )
        .await;

    assert_eq!(answer.body["message"], "quick");
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(upstream.wait_until_idle(Duration::from_secs(1)).await);
    assert!(
        upstream
            .endings()
            .iter()
            .any(|ending| ending.kind == EndingKind::Left)
    );
    let meta = api.span(&answer).await["meta"].clone();
    let tried = meta["models_tried"].as_array().unwrap();
    assert_eq!(
        (&tried[0]["status"], &tried[1]["status"], &tried[1]["hedge"]),
        (&json!("cancelled"), &json!("answered"), &json!(true))
    );
    let booked = tried[0]["usage"]["input_tokens"].as_u64().unwrap();
    assert!(booked >= 10, "{meta}");
    assert_eq!(answer.body["usage"]["input_tokens"], booked + 3);
}

#[tokio::test]
async fn a_dead_model_is_left_alone_after_a_while() {
    let (server, upstream) =
        Server::with_upstream(Script::by(|_| Answer::error(500, "dead"))).await;
    let api = server.api();
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": "house/dead"}))
        .await;
    let other = api
        .function(
            json!({"name": "g", "instructions": "x", "model": ["house/dead", "offline/echo"]}),
        )
        .await;

    for _ in 0..8 {
        let answer = api.call(&function, json!({"input": "go"})).await;
        assert_eq!(
            (answer.status.as_u16(), answer.class()),
            (502, "UpstreamError")
        );
    }
    let fallen_back = api.call(&other, json!({"input": "go"})).await;

    assert_eq!(upstream.requests().len(), 5);
    assert_eq!(fallen_back.body["message"], "go");
    let tried = api.span(&fallen_back).await["meta"]["models_tried"].clone();
    assert_eq!(tried[0]["status"], "resting");
}

#[tokio::test]
async fn a_model_that_asks_for_a_long_rest_gets_it() {
    let (server, upstream) = Server::with_upstream(Script::by(|_| {
        Answer::error(429, "slow down").header("retry-after", "30")
    }))
    .await;
    let api = server.api();
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": "house/busy"}))
        .await;

    let first = api.call(&function, json!({"input": "go"})).await;
    let second = api.call(&function, json!({"input": "go"})).await;

    assert_eq!((first.status.as_u16(), second.status.as_u16()), (429, 429));
    assert_eq!(upstream.requests().len(), 1);
    let wait: u64 = second.headers["retry-after"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!((20..=30).contains(&wait), "{wait}");
}

/// Functions over `slow`, which answers after half a second, and what else they list.
async fn hedged(api: &Api, others: &[&str]) -> Value {
    let mut models = vec!["house/slow".to_owned()];
    models.extend(others.iter().map(|name| (*name).to_owned()));
    api.function(json!({
        "name": others.join("-"), "instructions": "Tell.", "model": models,
        "configuration": {"invocation.hedge.after_ms": 50},
    }))
    .await
}

#[tokio::test]
async fn what_becomes_of_a_hedge_harms_nobody() {
    let script = Script::by(
        |request: &Received| match request.json()["model"].as_str() {
            Some("slow") => Answer::text("slow").after(Duration::from_millis(500)),
            Some("strict") => Answer::error(400, "unknown option"),
            _ => Answer::error(500, "broken"),
        },
    );
    let (server, upstream) = Server::with_upstream(script).await;
    let api = server.api();

    for others in [["nobody/knows"], ["house/strict"], ["house/broken"]] {
        let function = hedged(&api, &others).await;

        let answer = api.call(&function, json!({"input": "go"})).await;

        assert_eq!(answer.body["message"], "slow", "{others:?}: {answer:?}");
    }
    let asked = upstream
        .requests()
        .into_iter()
        .map(|request| request.json()["model"].clone());
    let asked: Vec<Value> = asked.filter(|model| model != "slow").collect();
    assert_eq!(asked, ["strict", "broken"], "nobody is asked twice");
}

#[tokio::test]
async fn a_hedged_model_is_no_fallback_any_more() {
    let script = Script::by(
        |request: &Received| match request.json()["model"].as_str() {
            Some("slow") => Answer::error(500, "late").after(Duration::from_millis(300)),
            _ => Answer::error(401, "no key"),
        },
    );
    let (server, upstream) = Server::with_upstream(script).await;
    let api = server.api();
    let function = hedged(&api, &["house/locked"]).await;

    let answer = api.call(&function, json!({"input": "go"})).await;

    assert_eq!(
        (answer.status.as_u16(), answer.class()),
        (502, "UpstreamError")
    );
    assert_eq!(upstream.requests().len(), 2);
    let models = answer.body["detail"]["models"].as_array().unwrap();
    assert_eq!(models[1]["reason"], "provider_auth", "{models:?}");
}

#[tokio::test]
async fn no_wait_outlasts_the_call() {
    let (server, _upstream) = Server::with_upstream_and(
        Script::by(|_| Answer::error(429, "wait").header("retry-after", "4")),
        &[("GATEWRIGHT_CALLS__TIMEOUT_SECONDS", "2")],
    )
    .await;
    let api = server.api();
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": "house/busy"}))
        .await;

    let began = Instant::now();
    let answer = api.call(&function, json!({"input": "go"})).await;

    assert_eq!(
        (answer.status.as_u16(), answer.class()),
        (429, "RateLimitError")
    );
    assert!(began.elapsed() < Duration::from_secs(2));
}
