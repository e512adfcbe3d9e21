//! Tools beside a demand for a value, and among the options of a model.

use serde_json::{Value, json};
use testkit::{Answer, Received, Upstream};

use crate::server::{Api, Server, read};

const CHAT: &str = "/v2/openai/chat/completions";

fn tools() -> Value {
    json!([{"type": "function", "function": {"name": "w", "parameters": {"type": "object", "properties": {}}}}])
}

fn number() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
}

fn asking(model: &Value, more: &Value) -> Value {
    let mut body = json!({"model": model, "messages": [{"role": "user", "content": "hi"}]});
    let members = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(members);
    body
}

/// Registers the upstream under `m` as a model that speaks that dialect.
async fn speaking(api: &Api, dialect: &str, upstream: &Upstream) {
    let origin = format!("http://{}", upstream.authority());
    let extra = json!({"protocol": dialect, "api_base": format!("{origin}/v1")});
    let body =
        json!({"name": "m", "identifier": format!("{dialect}/m"), "extra": extra, "api_key": "k"});
    let registered = api.post("/v2/models/custom", body).await;
    assert_eq!(registered.status, 200, "{registered:?}");
}

/// What the dialect's host answers with.
fn saying(dialect: &str, text: &str) -> Answer {
    let body = match dialect {
        "cohere" => json!({
            "id": "c", "finish_reason": "COMPLETE",
            "message": {"role": "assistant", "content": [{"type": "text", "text": text}]},
            "usage": {"billed_units": {"input_tokens": 9, "output_tokens": 2}},
        }),
        "ollama" => json!({
            "model": "m", "created_at": "2026-11-22T12:00:00.385406455Z", "done": true, "done_reason": "stop",
            "message": {"role": "assistant", "content": text}, "prompt_eval_count": 9, "eval_count": 2,
        }),
        other => panic!("{other}"),
    };
    Answer::body(200, &body)
}

#[tokio::test]
async fn where_a_schema_has_no_place_beside_tools_the_conversation_says_it() {
    let schema = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": number()}});
    for dialect in ["cohere", "ollama"] {
        let (server, upstream) = Server::with_upstream(saying(dialect, "{\"n\":1}")).await;
        let api = server.api();
        speaking(&api, dialect, &upstream).await;

        for (format, told) in [
            (schema.clone(), "\"integer\""),
            (json!({"type": "json_object"}), "JSON object"),
        ] {
            let body = asking(
                &json!("m"),
                &json!({"tools": tools(), "response_format": format}),
            );
            let answer = api.post(CHAT, body).await;

            assert_eq!(
                answer.body["choices"][0]["message"]["content"], "{\"n\":1}",
                "{dialect}: {answer:?}"
            );
            let sent = upstream.requests().pop().unwrap().json();
            let words = sent["messages"][0].to_string().replace('\\', "");
            assert!(
                words.contains("system") && words.contains(told),
                "{dialect}: {sent}"
            );
            assert_eq!(
                (sent.get("format"), sent.get("response_format")),
                (None, None)
            );
            assert!(sent["tools"].is_array());
            let meta = api.span(&answer).await["meta"].clone();
            assert_eq!(meta["rung"], "prompt", "{dialect}");
            let why = meta["rung_reason"].as_str().unwrap();
            assert!(
                why.contains("has no place beside the caller's tools"),
                "{why}"
            );
        }
    }
}

#[tokio::test]
async fn tools_that_may_not_be_called_leave_ollama_its_form() {
    let (server, upstream) = Server::with_upstream(saying("ollama", "{\"n\":1}")).await;
    let api = server.api();
    speaking(&api, "ollama", &upstream).await;
    let format = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": number()}});
    let more = json!({"tools": tools(), "tool_choice": "none", "response_format": format});

    let answer = api.post(CHAT, asking(&json!("m"), &more)).await;

    assert_eq!(answer.status, 200, "{answer:?}");
    let sent = upstream.requests()[0].json();
    assert_eq!((&sent["format"], sent.get("tools")), (&number(), None));
    assert_eq!(api.span(&answer).await["meta"]["rung"], "native_schema");
}

fn two_calls() -> Answer {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "w", "arguments": arguments}});
    let calls = [call("call_a", "{\"c\":1}"), call("call_b", "{\"c\":2}")];
    Answer::message(json!({"role": "assistant", "content": null, "tool_calls": calls}))
        .finish_reason("tool_calls")
}

#[tokio::test]
async fn tools_among_the_options_are_called_as_those_of_the_request_are() {
    let (server, upstream) = Server::with_upstream(two_calls()).await;
    let api = server.api();
    let model = json!({"name": "house/a", "options": {"tools": tools()}});

    let plain = api.post(CHAT, asking(&model, &json!({}))).await;
    let streamed = read(
        api.open_stream(CHAT, &asking(&model, &json!({"stream": true})))
            .await,
    )
    .await;

    let choice = &plain.body["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls", "{plain:?}");
    let expected = json!([
        {"id": "call_a", "type": "function", "function": {"name": "w", "arguments": "{\"c\":1}"}},
        {"id": "call_b", "type": "function", "function": {"name": "w", "arguments": "{\"c\":2}"}},
    ]);
    assert_eq!(
        (
            &choice["message"]["content"],
            &choice["message"]["tool_calls"]
        ),
        (&Value::Null, &expected)
    );
    for id in ["call_a", "call_b"] {
        assert!(
            streamed.text.contains(&format!("\"id\":\"{id}\"")),
            "{}",
            streamed.text
        );
    }
    let sent: Vec<Value> = upstream.requests().iter().map(Received::json).collect();
    assert_eq!((&sent[0]["tools"], &sent[1]["tools"]), (&tools(), &tools()));
}

#[tokio::test]
async fn tools_of_the_options_beside_those_of_the_request_are_refused() {
    let (server, upstream) = Server::with_upstream(two_calls()).await;
    let api = server.api();
    let model = json!({"name": "house/a", "options": {"tools": tools()}});

    let answer = api
        .post(CHAT, asking(&model, &json!({"tools": tools()})))
        .await;

    assert_eq!(
        (answer.status.as_u16(), answer.class()),
        (400, "BadRequestError")
    );
    assert!(answer.text.contains("`tools`"), "{}", answer.text);
    assert_eq!(upstream.requests().len(), 0);
}

#[tokio::test]
async fn a_function_has_no_place_for_calls_of_other_functions() {
    let (server, upstream) = Server::with_upstream(Answer::text("found")).await;
    let api = server.api();
    let function = |name: &'static str, tools: Value| {
        let model = json!({"name": "house/a", "options": {"tools": tools}});
        api.function(json!({"name": name, "instructions": "x", "model": model}))
    };
    let with_functions = function("f", tools()).await;
    let with_search = function("g", json!([{"type": "web_search"}])).await;

    let refused = api.call(&with_functions, json!({"input": "go"})).await;
    let streamed = api
        .stream_of(&with_functions, &json!({"input": "go"}))
        .await;
    let searched = api.call(&with_search, json!({"input": "go"})).await;

    assert_eq!(
        (refused.status.as_u16(), refused.class()),
        (400, "BadRequestError")
    );
    let reason = refused.body["detail"]["reason"].as_str().unwrap();
    assert!(reason.contains("the option `tools`"), "{reason}");
    assert_eq!(streamed.status, 400);
    assert_eq!(
        searched.body["message"], "found",
        "what the host runs itself is its own affair"
    );
    assert_eq!(upstream.requests().len(), 1);
}
