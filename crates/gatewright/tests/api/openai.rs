//! The door in the shapes of the OpenAI ecosystem: `interface.md` section 11.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Answer, Received, Script, Upstream};

use crate::{
    contract,
    server::{self, Api, Server},
};

const CHAT: &str = "/v2/openai/chat/completions";
const EMBED: &str = "/v2/openai/embeddings";
const MODELS: &str = "/v2/openai/models";

/// A server whose provider `house` is the upstream, and which waits half a second for the next piece.
async fn with_upstream(script: impl Into<Script>) -> (Server, Upstream) {
    Server::with_upstream_and(
        script,
        &[("GATEWRIGHT_UPSTREAM__IDLE_TIMEOUT_SECONDS", "0.5")],
    )
    .await
}

/// A question to `house/a`, with these members as well.
fn asking(more: &Value) -> Value {
    let mut body = json!({"model": "house/a", "messages": [{"role": "user", "content": "hi"}]});
    let members = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(members);
    body
}

fn person() -> Value {
    json!({
        "type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"], "additionalProperties": false,
    })
}

fn demanding(schema: &Value) -> Value {
    json!({"type": "json_schema", "json_schema": {"name": "person", "strict": true, "schema": schema}})
}

fn weather() -> Value {
    json!([{"type": "function", "function": {
        "name": "weather", "description": "The weather", "strict": true,
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false},
    }}])
}

fn two_calls() -> Answer {
    let call = |id: &str, city: &str| {
        let arguments = json!({"city": city}).to_string();
        json!({"id": id, "type": "function", "function": {"name": "weather", "arguments": arguments}})
    };
    let calls = [call("call_a", "Oslo"), call("call_b", "Rome")];
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    Answer::message(message).finish_reason("tool_calls")
}

/// A streamed answer: its chunks, and whether `[DONE]` came last.
struct Chunked {
    headers: reqwest::header::HeaderMap,
    chunks: Vec<Value>,
    is_done: bool,
}

impl Chunked {
    /// The texts of one member of the deltas in a row.
    fn joined(&self, member: &str) -> String {
        let deltas = self.deltas().into_iter();
        deltas.filter_map(|delta| delta[member].as_str()).collect()
    }

    fn deltas(&self) -> Vec<&Value> {
        let choices = self.chunks.iter().map(|chunk| &chunk["choices"][0]);
        let choices = choices.filter(|choice| !choice.is_null());
        choices.map(|choice| &choice["delta"]).collect()
    }

    fn finish_reason(&self) -> Vec<&str> {
        let choices = self.chunks.iter().map(|chunk| &chunk["choices"][0]);
        choices
            .filter_map(|choice| choice["finish_reason"].as_str())
            .collect()
    }
}

/// The same asked plainly and as a stream.
async fn both(api: &Api, mut body: Value) -> (server::Answer, Chunked) {
    let plain = api.post(CHAT, body.clone()).await;
    body["stream"] = true.into();
    (plain, chunked(api, &body).await)
}

async fn chunked(api: &Api, body: &Value) -> Chunked {
    let response = api.open_stream(CHAT, body).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let headers = response.headers().clone();
    let text = response.text().await.unwrap();
    let mut events: Vec<&str> = text.split_terminator("\n\n").collect();
    assert!(text.ends_with("\n\n"), "{text}");
    let is_done = events.pop_if(|event| *event == "data: [DONE]").is_some();
    let data = |event: &&str| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap();
    let chunks: Vec<Value> = events.iter().map(data).collect();
    contract::hold_events(CHAT, chunks.iter());
    Chunked {
        headers,
        chunks,
        is_done,
    }
}

async fn span_of(api: &Api, headers: &reqwest::header::HeaderMap) -> Value {
    let id = headers["x-span-id"].to_str().unwrap();
    api.get(&format!("/v2/spans/{id}")).await.body
}

#[tokio::test]
async fn a_conversation_is_continued() {
    let (server, upstream) = with_upstream(Answer::text("Hello.").usage(11, 7)).await;
    let api = server.api();
    let parent = api.post("/v2/spans", json!({"name": "root"})).await.body;
    let messages = json!([
        {"role": "developer", "content": "Be brief.", "name": "x"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}}]},
    ]);
    let body = json!({
        "model": {"name": "house/a", "options": {"temperature": 0.5, "seed": 1}}, "messages": messages,
        "temperature": 0.10, "max_completion_tokens": 20, "metadata": {"a": "b"}, "stop": null, "n": 1, "stream": false,
        "response_format": {"type": "text"}, "tags": {"user": "ada", "try": 1}, "parent_span_id": parent["id"],
        "fallback_models": [],
    });

    let answer = api.post(CHAT, body).await;

    assert_eq!(answer.status, 200, "{answer:?}");
    let span = api.span(&answer).await;
    let id = span["id"].as_str().unwrap();
    let created = answer.body["created"].as_i64().unwrap();
    assert!(created > 1_700_000_000);
    assert_eq!(
        answer.body,
        json!({
            "id": format!("chatcmpl-{id}"), "object": "chat.completion", "created": created, "model": "house/a",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello.", "refusal": null}, "logprobs": null, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18,
                "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
            },
            "cost": {"generation": 0.0, "platform": 0.0, "total": 0.0}, "span_id": id, "cached": false,
        })
    );
    assert_eq!(
        upstream.requests()[0].json(),
        json!({"model": "a", "messages": messages, "temperature": 0.10, "seed": 1, "max_completion_tokens": 20, "metadata": {"a": "b"}})
    );
    assert_eq!(
        (&span["type"], &span["name"], &span["parent_id"]),
        (&json!("chat"), &json!("chat"), &parent["id"])
    );
    assert_eq!(span["trace_id"], parent["trace_id"]);
    assert_eq!(
        (&span["input"], &span["output"], &span["error"]),
        (&messages, &json!("Hello."), &Value::Null)
    );
    let meta = &span["meta"];
    assert_eq!(meta["tags"], json!({"user": "ada", "try": 1}));
    assert_eq!(
        (&meta["model"], &meta["attempts"], &meta["finish_reason"]),
        (&json!("house/a"), &json!(1), &json!("stop"))
    );
    assert_eq!(
        (&meta["cached"], &meta["streamed"]),
        (&json!(false), &json!(false))
    );
    for absent in [
        "function_id",
        "function_name",
        "revision_id",
        "few_shot_count",
    ] {
        assert!(meta.get(absent).is_none(), "{absent}");
    }
    assert_eq!(span["score"], 100);
}

#[tokio::test]
async fn a_conversation_streams_in_chunks_and_ends_with_done() {
    let (server, upstream) = with_upstream(Answer::text("Hello, world.").usage(11, 7)).await;
    let api = server.api();

    let without = chunked(&api, &asking(&json!({"stream": true}))).await;
    let with = asking(&json!({"stream": true, "stream_options": {"include_usage": true}}));
    let with = chunked(&api, &with).await;

    let id = without.headers["x-span-id"].to_str().unwrap().to_owned();
    let created = &without.chunks[0]["created"];
    assert_eq!(
        without.chunks[0],
        json!({
            "id": format!("chatcmpl-{id}"), "object": "chat.completion.chunk", "created": created, "model": "house/a",
            "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hell"}, "logprobs": null, "finish_reason": null}],
        })
    );
    assert_eq!(
        without.chunks[1]["choices"][0]["delta"],
        json!({"content": "o, w"})
    );
    assert_eq!(
        without.chunks.last().unwrap()["choices"][0]["delta"],
        json!({})
    );
    for stream in [&without, &with] {
        assert!(stream.is_done);
        assert_eq!(stream.joined("content"), "Hello, world.");
        assert_eq!(stream.finish_reason(), ["stop"]);
    }
    let usages: Vec<_> = with.chunks.iter().map(|chunk| &chunk["usage"]).collect();
    let (last, before) = usages.split_last().unwrap();
    assert!(before.iter().all(|usage| usage.is_null()));
    assert_eq!(
        (&last["prompt_tokens"], &last["total_tokens"]),
        (&json!(11), &json!(18))
    );
    assert_eq!(with.chunks.last().unwrap()["choices"], json!([]));
    assert!(
        without
            .chunks
            .iter()
            .all(|chunk| chunk.get("usage").is_none())
    );
    assert_eq!(upstream.requests()[0].json()["stream"], true);
    let span = span_of(&api, &with.headers).await;
    assert_eq!(
        (&span["type"], &span["output"], &span["meta"]["streamed"]),
        (&json!("chat"), &json!("Hello, world."), &json!(true))
    );
    assert_eq!(span["meta"]["usage"]["total_tokens"], 18);
}

#[tokio::test]
async fn the_default_model_is_asked_when_nobody_is_named() {
    let server = Server::start();
    let api = server.api();
    let body = json!({"messages": [{"role": "user", "content": "hi"}], "temperature": 1});

    let answer = api.post(CHAT, body).await;

    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body["model"], "offline/json");
    assert!(answer.body["choices"][0]["message"]["content"].is_string());
}

#[tokio::test]
async fn models_that_fail_are_followed_by_the_others() {
    let script = Script::by(
        |request: &Received| match request.json()["model"].as_str() {
            Some("c") => Answer::text("at last"),
            Some("b") => Answer::error(404, "no such model"),
            _ => Answer::error(503, "busy"),
        },
    );
    let (server, upstream) = with_upstream(script).await;
    let api = server.api();
    let body = asking(&json!({
        "model": ["house/a", "nobody/x"], "fallback_models": ["house/b", {"name": "house/c", "options": {"seed": 2}}], "top_p": 0.5,
    }));

    let (answer, streamed) = both(&api, body).await;

    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body["model"], "house/c");
    assert_eq!(streamed.chunks[0]["model"], "house/c");
    assert_eq!(streamed.joined("content"), "at last");
    let span = api.span(&answer).await;
    let tried = span["meta"]["models_tried"].as_array().unwrap();
    let tried: Vec<_> = tried
        .iter()
        .map(|tried| {
            (
                tried["model"].as_str().unwrap(),
                tried["status"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        tried,
        [
            ("house/a", "unavailable"),
            ("house/a", "unavailable"),
            ("nobody/x", "unresolved"),
            ("house/b", "unavailable"),
            ("house/c", "answered"),
        ]
    );
    let last = upstream.requests()[3].json();
    assert_eq!((&last["seed"], &last["top_p"]), (&json!(2), &json!(0.5)));
}

#[tokio::test]
async fn a_demanded_value_is_repaired_and_given_as_text() {
    let (server, upstream) = with_upstream([
        Answer::text(r#"{"name": "Ada"}"#),
        Answer::text("```json\n{\"name\": \"Ada\", \"age\": 36}\n```"),
    ])
    .await;
    let api = server.api();
    let body = asking(&json!({"response_format": demanding(&person())}));

    let answer = api.post(CHAT, body).await;

    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(
        answer.body["choices"][0]["message"]["content"],
        r#"{"name":"Ada","age":36}"#
    );
    let [first, second] = &upstream.requests()[..] else {
        panic!("two requests")
    };
    assert_eq!(first.json()["response_format"]["type"], "json_schema");
    assert_eq!(first.json()["messages"].as_array().unwrap().len(), 1);
    assert_eq!(second.json()["messages"].as_array().unwrap().len(), 3);
    let span = api.span(&answer).await;
    assert_eq!(
        (
            &span["meta"]["attempts"],
            &span["meta"]["rung"],
            &span["score"]
        ),
        (&json!(2), &json!("native_schema"), &json!(85))
    );
}

#[tokio::test]
async fn where_the_host_takes_no_schema_the_conversation_says_it() {
    let script = Script::by(|request: &Received| {
        let asked = request.json();
        match asked["response_format"]["type"].as_str() {
            Some("json_schema") => Answer::error(400, "response_format is not supported"),
            _ if asked.get("tools").is_some() => Answer::error(400, "tools are not supported"),
            _ => Answer::text(r#"{"name":"Ada","age":36}"#),
        }
    });
    let (server, upstream) = with_upstream(script).await;
    let api = server.api();
    let body = asking(&json!({
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "who?", "name": "x"}],
        "response_format": demanding(&person()),
    }));

    let answer = api.post(CHAT, body).await;

    assert_eq!(answer.status, 200, "{answer:?}");
    let requests = upstream.requests();
    let words = |request: &Received| {
        let words = request.json()["messages"][0]["content"].clone();
        words.as_str().unwrap().contains("JSON Schema")
    };
    assert!(!words(&requests[0]));
    assert!(words(requests.last().unwrap()));
    let last = requests.last().unwrap().json();
    assert_eq!(last["messages"][1]["name"], "x");
}

#[tokio::test]
async fn a_value_that_never_fits_is_an_error() {
    let (server, _upstream) = with_upstream(Answer::text(r#"{"name": "Ada"}"#)).await;
    let api = server.api();
    let body = asking(&json!({"response_format": demanding(&person())}));

    let (plain, streamed) = both(&api, body).await;

    assert_eq!(
        (plain.status.as_u16(), plain.class()),
        (400, "StructuredGenerationError")
    );
    assert_eq!(plain.body["detail"]["attempts"], 5);
    assert!(!streamed.is_done && streamed.finish_reason().is_empty());
    let error = &streamed.chunks.last().unwrap()["error"];
    assert_eq!(error["type"], "StructuredGenerationError");
    assert_eq!(
        error["detail"]["span_id"],
        streamed.headers["x-span-id"].to_str().unwrap()
    );
}

#[tokio::test]
async fn a_streamed_value_comes_without_what_stands_around_it() {
    let text = "Sure!\n```json\n{\"name\": \"Ada\", \"age\": 36}\n```\nAnything else?";
    let (server, _upstream) = with_upstream(Answer::text(text)).await;
    let body = asking(&json!({"response_format": demanding(&person()), "stream": true}));

    let stream = chunked(&server.api(), &body).await;

    assert!(stream.is_done);
    let value: Value = serde_json::from_str(&stream.joined("content")).unwrap();
    assert_eq!(value, json!({"name": "Ada", "age": 36}));
}

#[tokio::test]
async fn a_value_that_is_cut_at_the_length_limit_says_so() {
    let cut = Answer::text(r#"{"name": "Ada"#).finish_reason("length");
    let (server, upstream) = with_upstream(cut).await;
    let api = server.api();
    let body = asking(&json!({"response_format": demanding(&person()), "max_tokens": 3}));

    let (plain, streamed) = both(&api, body).await;

    let choice = &plain.body["choices"][0];
    assert_eq!(choice["finish_reason"], "length", "{plain:?}");
    assert_eq!(choice["message"]["content"], r#"{"name": "Ada"#);
    assert!(streamed.is_done);
    assert_eq!(streamed.finish_reason(), ["length"]);
    assert_eq!(upstream.requests().len(), 2);
}

#[tokio::test]
async fn json_mode_is_asked_for_as_it_is_and_gives_an_object() {
    let (server, upstream) =
        with_upstream([Answer::text("[1]"), Answer::text(" {\"a\": 1} ")]).await;
    let api = server.api();
    let body = asking(&json!({"response_format": {"type": "json_object"}}));

    let answer = api.post(CHAT, body).await;

    assert_eq!(
        answer.body["choices"][0]["message"]["content"],
        r#"{"a":1}"#
    );
    let asked = upstream.requests()[0].json();
    assert_eq!(asked["response_format"]["type"], "json_object");
    assert_eq!(
        asked["messages"],
        json!([{"role": "user", "content": "hi"}])
    );
}

#[tokio::test]
async fn a_refusal_is_an_answer() {
    let message =
        json!({"role": "assistant", "content": null, "refusal": "I cannot help with that."});
    let (server, _upstream) = with_upstream(Answer::message(message)).await;
    let api = server.api();
    let body = asking(&json!({"response_format": demanding(&person())}));

    let (plain, streamed) = both(&api, body).await;

    let message = &plain.body["choices"][0]["message"];
    assert_eq!(message["refusal"], "I cannot help with that.", "{plain:?}");
    assert_eq!(message["content"], Value::Null);
    assert_eq!(streamed.joined("refusal"), "I cannot help with that.");
    assert_eq!(streamed.joined("content"), "");
    let span = api.span(&plain).await;
    assert_eq!(
        span["output"],
        json!({"content": null, "refusal": "I cannot help with that."})
    );
}

#[tokio::test]
async fn tools_are_called_and_their_results_go_back() {
    let (server, upstream) = with_upstream([two_calls(), Answer::text("Cold.")]).await;
    let api = server.api();
    let first = asking(&json!({
        "tools": weather(), "tool_choice": "auto", "parallel_tool_calls": true,
        "response_format": demanding(&person()),
    }));

    let asked = api.post(CHAT, first).await;
    let message = asked.body["choices"][0]["message"].clone();
    let turns = json!([
        {"role": "user", "content": "hi"}, message,
        {"role": "tool", "tool_call_id": "call_a", "content": "-3"},
        {"role": "tool", "tool_call_id": "call_b", "content": [{"type": "text", "text": "20"}]},
    ]);
    let second = asking(&json!({"tools": weather(), "messages": turns}));
    let answered = api.post(CHAT, second).await;

    let choice = &asked.body["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls", "{asked:?}");
    assert_eq!(
        choice["message"],
        json!({
            "role": "assistant", "content": null, "refusal": null, "tool_calls": [
                {"id": "call_a", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\"}"}},
                {"id": "call_b", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Rome\"}"}},
            ],
        })
    );
    assert_eq!(answered.body["choices"][0]["message"]["content"], "Cold.");
    let sent: Vec<Value> = upstream.requests().iter().map(Received::json).collect();
    assert_eq!(sent[0]["tools"], weather());
    assert_eq!(
        (&sent[0]["tool_choice"], &sent[0]["parallel_tool_calls"]),
        (&json!("auto"), &json!(true))
    );
    assert_eq!(sent[1]["messages"], turns);
    let span = api.span(&asked).await;
    assert_eq!(
        span["output"]["tool_calls"][1],
        json!({"id": "call_b", "name": "weather", "arguments": "{\"city\":\"Rome\"}"})
    );
    assert_eq!(
        (&span["score"], &span["error"]),
        (&json!(100), &Value::Null)
    );
}

#[tokio::test]
async fn what_comes_beside_the_text_is_given_too() {
    let logprobs = json!({"content": [{"token": "Hi", "logprob": -0.5, "bytes": null, "top_logprobs": []}], "refusal": null});
    let message = json!({"role": "assistant", "content": "Hi", "reasoning_content": "They greet."});
    let choice =
        json!({"index": 0, "message": message, "logprobs": logprobs, "finish_reason": "stop"});
    let usage = json!({
        "prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29,
        "prompt_tokens_details": {"cached_tokens": 16}, "completion_tokens_details": {"reasoning_tokens": 4},
    });
    let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "a", "choices": [choice], "usage": usage});
    let (server, _upstream) = with_upstream(Answer::body(200, &body)).await;
    let api = server.api();

    let plain = api.post(CHAT, asking(&json!({"logprobs": true}))).await;
    let streamed = chunked(&api, &asking(&json!({"logprobs": true, "stream": true}))).await;

    let choice = &plain.body["choices"][0];
    assert_eq!(choice["message"]["reasoning_content"], "They greet.");
    assert_eq!(choice["logprobs"]["content"], logprobs["content"]);
    assert_eq!(
        plain.body["usage"]["prompt_tokens_details"]["cached_tokens"],
        16
    );
    assert_eq!(
        plain.body["usage"]["completion_tokens_details"]["reasoning_tokens"],
        4
    );
    assert_eq!(streamed.joined("reasoning_content"), "They greet.");
    assert_eq!(streamed.joined("content"), "Hi");
    assert!(streamed.is_done);
}

#[tokio::test]
async fn what_the_host_says_beside_its_answer_is_passed_on() {
    let of_message = json!({
        "annotations": [{"type": "url_citation", "url_citation": {"url": "https://h", "title": "H", "start_index": 0, "end_index": 2}}],
        "reasoning_details": [{"type": "reasoning.text", "text": "Hm.", "index": 0}],
    });
    let of_answer = json!({
        "system_fingerprint": "fp_1", "service_tier": "default", "citations": ["https://h"], "search_results": [{"title": "H"}],
    });
    let mut message = json!({"role": "assistant", "content": "Hi"});
    let mut body = json!({
        "id": "c", "object": "chat.completion", "created": 1, "model": "a",
        "usage": {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3},
    });
    let lay = |over: &Value, under: &mut Value| {
        let members = over.as_object().unwrap().clone();
        under.as_object_mut().unwrap().extend(members);
    };
    lay(&of_message, &mut message);
    lay(&of_answer, &mut body);
    body["choices"] = json!([{"index": 0, "message": message, "finish_reason": "stop"}]);
    let (server, upstream) = with_upstream(Answer::body(200, &body)).await;
    let api = server.api();
    let asked = asking(&json!({}));
    let cached = |body: &Value| {
        let request = reqwest::Client::new()
            .post(format!("{}{CHAT}", server.address))
            .bearer_auth(server::ALPHA)
            .header("x-gatewright-cache-ttl", "60")
            .json(body);
        async move { request.send().await.unwrap().json::<Value>().await.unwrap() }
    };

    let plain = api.post(CHAT, asked.clone()).await.body;
    let streamed = chunked(&api, &asking(&json!({"stream": true}))).await;
    cached(&asked).await;
    let again = cached(&asked).await;

    let last = streamed.chunks.last().unwrap();
    assert_eq!(
        (upstream.requests().len(), &again["cached"]),
        (3, &json!(true))
    );
    for (answer, said) in [
        (&plain, &plain["choices"][0]["message"]),
        (last, &last["choices"][0]["delta"]),
        (&again, &again["choices"][0]["message"]),
    ] {
        for (name, value) in of_message.as_object().unwrap() {
            assert_eq!(&said[name], value, "{answer}");
        }
        for (name, value) in of_answer.as_object().unwrap() {
            assert_eq!(&answer[name], value, "{answer}");
        }
    }
}

#[tokio::test]
async fn calls_of_tools_stream_piece_by_piece() {
    let (server, _upstream) = with_upstream(two_calls()).await;
    let body = asking(&json!({"tools": weather(), "stream": true}));

    let stream = chunked(&server.api(), &body).await;

    assert!(stream.is_done);
    assert_eq!(stream.finish_reason(), ["tool_calls"]);
    assert_eq!(stream.deltas()[0]["role"], "assistant");
    let pieces = stream.deltas().into_iter();
    let pieces: Vec<&Value> = pieces
        .map(|delta| &delta["tool_calls"][0])
        .filter(|piece| !piece.is_null())
        .collect();
    let begun = pieces.iter().filter(|piece| piece.get("id").is_some());
    let begun: Vec<_> = begun
        .map(|piece| {
            (
                &piece["index"],
                &piece["id"],
                &piece["type"],
                &piece["function"]["name"],
            )
        })
        .collect();
    let (function, weather) = (json!("function"), json!("weather"));
    assert_eq!(
        begun,
        [
            (&json!(0), &json!("call_a"), &function, &weather),
            (&json!(1), &json!("call_b"), &function, &weather),
        ]
    );
    let arguments = |index: u64| -> String {
        let of_call = pieces.iter().filter(|piece| piece["index"] == index);
        of_call
            .map(|piece| piece["function"]["arguments"].as_str().unwrap())
            .collect()
    };
    assert_eq!(
        (arguments(0), arguments(1)),
        (
            "{\"city\":\"Oslo\"}".to_owned(),
            "{\"city\":\"Rome\"}".to_owned()
        )
    );
}

#[tokio::test]
async fn equal_requests_are_answered_once_where_the_header_asks_for_it() {
    let (server, upstream) = with_upstream(Answer::text("Hello.").usage(3, 4)).await;
    let api = server.api();
    let ask = async |body: Value| {
        let request = reqwest::Client::new()
            .post(format!("{}{CHAT}", server.address))
            .bearer_auth(server::ALPHA)
            .header("x-gatewright-cache-ttl", "60")
            .json(&body);
        server::read(request.send().await.unwrap()).await
    };

    let first = ask(asking(&json!({"tags": {"n": 1}}))).await;
    let second = ask(asking(&json!({"tags": {"n": 2}}))).await;
    let streamed = ask(asking(
        &json!({"stream": true, "stream_options": {"include_usage": true}}),
    ))
    .await;
    let other = ask(asking(&json!({"seed": 1}))).await;
    let unasked = api.post(CHAT, asking(&json!({}))).await;

    assert_eq!(first.body["cached"], false, "{first:?}");
    assert_eq!(second.body["cached"], true);
    assert_eq!(second.body["usage"]["total_tokens"], 0);
    assert_eq!(second.body["choices"], first.body["choices"]);
    assert_eq!(second.body["model"], "house/a");
    assert!(
        streamed.text.contains("\"content\":\"Hello.\""),
        "{streamed:?}"
    );
    assert!(streamed.text.contains("\"cached\":true"), "{streamed:?}");
    assert_eq!(other.body["cached"], false);
    assert_eq!(unasked.body["cached"], false);
    assert_eq!(upstream.requests().len(), 3);
}

#[tokio::test]
async fn a_stream_that_breaks_ends_with_one_error_line() {
    let (server, _upstream) =
        with_upstream(Answer::text("Hello, world.").cut_after_pieces(2)).await;
    let api = server.api();

    let stream = chunked(&api, &asking(&json!({"stream": true}))).await;

    assert!(!stream.is_done && stream.finish_reason().is_empty());
    assert_eq!(stream.joined("content"), "Hello, w");
    let last = stream.chunks.last().unwrap();
    let members: Vec<_> = last.as_object().unwrap().keys().collect();
    assert_eq!(members, ["error"]);
    let error = &last["error"];
    assert_eq!(
        (&error["type"], &error["message"]),
        (&json!("UpstreamError"), &json!("The model provider failed"))
    );
    assert_eq!(
        error["detail"]["span_id"],
        stream.headers["x-span-id"].to_str().unwrap()
    );
    let span = span_of(&api, &stream.headers).await;
    assert_eq!(span["output"], "Hello, w");
    assert_eq!(span["meta"]["error_type"], "UpstreamError");
}

#[tokio::test]
async fn a_failure_before_the_first_chunk_is_a_plain_error() {
    let (server, _upstream) = with_upstream(Answer::error(500, "broken")).await;
    let api = server.api();
    let body = asking(&json!({"stream": true}));

    let plain = api.post(CHAT, body).await;

    assert_eq!(
        (plain.status.as_u16(), plain.class()),
        (502, "UpstreamError")
    );
    assert_eq!(plain.body["detail"]["upstream_status"], 500);
    let span = api.span(&plain).await;
    assert_eq!(span["error"], "UpstreamError: broken");
    assert_eq!(plain.body["detail"]["span_id"], span["id"]);
}

#[tokio::test]
async fn a_client_that_leaves_takes_the_request_upstream_along() {
    let slow = Answer::text("Hello, world.").pause(Duration::from_millis(100));
    let (server, upstream) = with_upstream(slow).await;
    let api = server.api();

    let mut stream = api
        .open_stream(CHAT, &asking(&json!({"stream": true})))
        .await;
    let headers = stream.headers().clone();
    stream.chunk().await.unwrap();
    drop(stream);

    assert!(upstream.wait_until_idle(Duration::from_secs(5)).await);
    let mut span = span_of(&api, &headers).await;
    while span["end_time"].is_null() {
        tokio::time::sleep(Duration::from_millis(10)).await;
        span = span_of(&api, &headers).await;
    }
    assert_eq!(span["error"], "client disconnected");
}

#[tokio::test]
async fn what_only_hosts_of_the_dialect_know_goes_to_them_alone() {
    let (server, upstream) = with_upstream(Answer::text("A cat.")).await;
    let api = server.api();
    let messages = json!([{"role": "user", "content": [{"type": "video_url", "video_url": {"url": "https://8.8.8.8/a.mp4"}}]}]);

    let known = api.post(CHAT, asking(&json!({"messages": messages}))).await;
    let body = asking(&json!({"messages": messages, "model": "offline/echo"}));
    let unknown = api.post(CHAT, body).await;

    assert_eq!(known.status, 200, "{known:?}");
    assert_eq!(upstream.requests()[0].json()["messages"], messages);
    assert_eq!(
        (unknown.status.as_u16(), unknown.class()),
        (400, "BadRequestError")
    );
    let reason = unknown.body["detail"]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("the content part `video_url` of `messages[0]` cannot be sent to the model `offline/echo`"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_malformed_body_is_refused_at_its_place() {
    let server = Server::start();
    let api = server.api();
    let turn =
        |turn: Value| asking(&json!({"messages": [{"role": "user", "content": "hi"}, turn]}));
    let cases = [
        (
            json!({"model": "offline/echo"}),
            json!(["body", "messages"]),
            "missing",
        ),
        (
            asking(&json!({"messages": []})),
            json!(["body", "messages"]),
            "too_short",
        ),
        (
            asking(&json!({"messages": "hi"})),
            json!(["body", "messages"]),
            "array_type",
        ),
        (
            turn(json!("hi")),
            json!(["body", "messages", 1]),
            "object_type",
        ),
        (
            turn(json!({"content": "hi"})),
            json!(["body", "messages", 1, "role"]),
            "missing",
        ),
        (
            turn(json!({"role": "king", "content": "hi"})),
            json!(["body", "messages", 1, "role"]),
            "enum",
        ),
        (
            turn(json!({"role": "user", "content": 3})),
            json!(["body", "messages", 1, "content"]),
            "string_type",
        ),
        (
            turn(json!({"role": "user", "content": [{"type": "text"}]})),
            json!(["body", "messages", 1, "content", 0, "text"]),
            "missing",
        ),
        (
            turn(json!({"role": "user", "content": [{"text": "hi"}]})),
            json!(["body", "messages", 1, "content", 0, "type"]),
            "missing",
        ),
        (
            turn(json!({"role": "tool", "content": "hi"})),
            json!(["body", "messages", 1, "tool_call_id"]),
            "missing",
        ),
        (
            turn(
                json!({"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "f"}}]}),
            ),
            json!(["body", "messages", 1, "tool_calls", 0, "id"]),
            "missing",
        ),
        (
            asking(&json!({"model": ""})),
            json!(["body", "model"]),
            "string_too_short",
        ),
        (
            asking(&json!({"model": 3})),
            json!(["body", "model"]),
            "model_type",
        ),
        (
            asking(&json!({"stream": "yes"})),
            json!(["body", "stream"]),
            "bool_type",
        ),
        (
            asking(&json!({"stream_options": {"include_usage": 1}})),
            json!(["body", "stream_options", "include_usage"]),
            "bool_type",
        ),
        (
            asking(&json!({"tags": {"a": []}})),
            json!(["body", "tags", "a"]),
            "value_error",
        ),
        (
            asking(&json!({"parent_span_id": "x"})),
            json!(["body", "parent_span_id"]),
            "uuid_parsing",
        ),
        (asking(&json!({"n": 1.5})), json!(["body", "n"]), "int_type"),
        (
            asking(&json!({"n": 0})),
            json!(["body", "n"]),
            "greater_than_equal",
        ),
        (
            asking(&json!({"tools": [{"function": {"name": "f"}}]})),
            json!(["body", "tools", 0, "type"]),
            "missing",
        ),
        (
            asking(&json!({"tools": [{"type": "function", "function": {}}]})),
            json!(["body", "tools", 0, "function", "name"]),
            "missing",
        ),
        (
            asking(&json!({"tool_choice": "maybe"})),
            json!(["body", "tool_choice"]),
            "enum",
        ),
        (
            asking(&json!({"response_format": "json"})),
            json!(["body", "response_format"]),
            "object_type",
        ),
        (
            asking(&json!({"response_format": {"type": "json_schema"}})),
            json!(["body", "response_format", "json_schema"]),
            "missing",
        ),
        (
            asking(&json!({"response_format": demanding(&json!({"type": "nonsense"}))})),
            json!(["body", "response_format", "json_schema", "schema"]),
            "json_schema",
        ),
    ];

    for (body, place, slug) in cases {
        let answer = api.post(CHAT, body.clone()).await;

        assert_eq!(answer.fault(), (422, place, slug), "{body}");
        assert!(!answer.headers.contains_key("x-span-id"));
    }
}

#[tokio::test]
async fn what_cannot_be_done_is_refused_with_its_reason() {
    let server = Server::start();
    let api = server.api();
    let cases = [
        (
            json!({"n": 2}),
            400,
            "BadRequestError",
            "`n` is 2, and this gateway gives one choice: ask again for another one",
        ),
        (
            json!({"functions": []}),
            400,
            "BadRequestError",
            "`functions` is not taken any more: use `tools` and `tool_choice`",
        ),
        (
            json!({"parent_span_id": "0195b0c2-7a01-7000-8000-000000000001"}),
            404,
            "NotFoundError",
            "Parent span not found",
        ),
    ];

    for (more, status, class, detail) in cases {
        let answer = api.post(CHAT, asking(&more)).await;

        assert_eq!((answer.status.as_u16(), answer.class()), (status, class));
        assert_eq!(answer.body["detail"], detail);
    }
    let unknown = api.post(CHAT, asking(&json!({}))).await;
    assert_eq!(
        (unknown.status.as_u16(), unknown.class()),
        (400, "BadRequestError")
    );
    assert!(unknown.headers.contains_key("x-span-id"));
    let stranger = server.api_with("no-such-token").post(CHAT, json!({})).await;
    assert_eq!(stranger.status, 401);
}

#[tokio::test]
async fn a_part_that_one_model_cannot_read_is_left_to_the_next() {
    let upstream = Upstream::start(Answer::text("read")).await;
    let server = Server::start_with(&[
        (
            "GATEWRIGHT_PROVIDERS__HOUSE__API_BASE",
            &upstream.base_url(),
        ),
        (
            "GATEWRIGHT_PROVIDERS__ANTHROPIC__API_BASE",
            &upstream.base_url(),
        ),
        ("ANTHROPIC_API_KEY", "k"),
    ]);
    let api = server.api();
    let asking = |model: Value| {
        let part = json!({"type": "file", "file": {"file_id": "file-1"}});
        json!({"model": model, "messages": [{"role": "user", "content": [part]}]})
    };

    let read = api
        .post(
            CHAT,
            asking(json!(["anthropic/claude-haiku-4-5", "house/a"])),
        )
        .await;
    let mut streamed = asking(json!(["anthropic/claude-haiku-4-5", "house/a"]));
    streamed["stream"] = true.into();
    let streamed = chunked(&api, &streamed).await;
    let nobody = api
        .post(
            CHAT,
            asking(json!(["anthropic/claude-haiku-4-5", "nobody/a"])),
        )
        .await;

    assert_eq!(read.status, 200, "{read:?}");
    assert_eq!(read.body["model"], "house/a");
    let tried = api.span(&read).await["meta"]["models_tried"].clone();
    assert_eq!(
        json!([tried[0]["status"], tried[1]["status"]]),
        json!(["unresolved", "answered"])
    );
    assert_eq!(streamed.joined("content"), "read");
    assert_eq!(nobody.class(), "BadRequestError");
    let reason = nobody.body["detail"]["reason"].as_str().unwrap();
    assert!(
        reason.contains("cannot be sent to the model `anthropic/claude-haiku-4-5`"),
        "{reason}"
    );
    assert!(reason.contains("unknown model `nobody/a`"), "{reason}");
    assert_eq!(upstream.requests().len(), 2);
}

#[tokio::test]
async fn texts_are_embedded_in_the_ecosystems_shape() {
    let (server, upstream) =
        with_upstream(Answer::embeddings(vec![vec![0.5, -1.0], vec![0.25, 3.0]])).await;
    let api = server.api();
    let asking = |more: Value| {
        let mut body = json!({"model": "house/e", "input": ["a", "b"]});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };

    let numbers = api
        .post(EMBED, asking(json!({"dimensions": 2, "user": "ada"})))
        .await;
    let base64 = api
        .post(EMBED, asking(json!({"encoding_format": "base64"})))
        .await;

    assert_eq!(numbers.status, 200, "{numbers:?}");
    let span = api.span(&numbers).await;
    assert_eq!(span["type"], "embedding");
    assert_eq!(
        numbers.body,
        json!({
            "object": "list", "model": "house/e", "data": [
                {"object": "embedding", "index": 0, "embedding": [0.5, -1.0]},
                {"object": "embedding", "index": 1, "embedding": [0.25, 3.0]},
            ],
            "usage": {"prompt_tokens": 8, "total_tokens": 8},
            "cost": {"generation": 0.0, "platform": 0.0, "total": 0.0}, "span_id": span["id"],
        })
    );
    assert_eq!(base64.body["data"][0]["embedding"], "AAAAPwAAgL8=");
    let sent = upstream.requests()[0].json();
    assert_eq!(
        sent,
        json!({"model": "e", "input": ["a", "b"], "dimensions": 2, "user": "ada"})
    );
    for (more, place, slug) in [
        (
            json!({"input": ""}),
            json!(["body", "input"]),
            "string_too_short",
        ),
        (
            json!({"input": ["a", ""]}),
            json!(["body", "input", 1]),
            "string_too_short",
        ),
        (json!({"input": []}), json!(["body", "input"]), "too_short"),
        (
            json!({"input": {}}),
            json!(["body", "input"]),
            "string_type",
        ),
        (
            json!({"input": ["a", null]}),
            json!(["body", "input", 1]),
            "string_type",
        ),
        (
            json!({"dimensions": 0}),
            json!(["body", "dimensions"]),
            "greater_than_equal",
        ),
        (
            json!({"encoding_format": "hex"}),
            json!(["body", "encoding_format"]),
            "enum",
        ),
        (
            json!({"input": ["a", null]}),
            json!(["body", "input", 1]),
            "string_type",
        ),
        (
            json!({"input": vec!["a"; 2049]}),
            json!(["body", "input"]),
            "too_long",
        ),
        (
            json!({"dimensions": 1.5}),
            json!(["body", "dimensions"]),
            "int_type",
        ),
        (
            json!({"model": {"name": "house/e", "options": {"dimensions": 0}}}),
            json!(["body", "model", "options", "dimensions"]),
            "greater_than_equal",
        ),
    ] {
        let refused = api.post(EMBED, asking(more)).await;
        assert_eq!(refused.fault(), (422, place, slug));
    }
    for tokens in [json!([1, 2]), json!([[1, 2], [3]])] {
        let refused = api.post(EMBED, asking(json!({"input": tokens}))).await;
        assert_eq!(
            (refused.status.as_u16(), refused.class()),
            (400, "BadRequestError")
        );
        assert!(refused.body["detail"].as_str().unwrap().contains("tokens"));
    }
}

#[tokio::test]
async fn of_what_is_embedded_the_gateways_members_stay_here() {
    let (server, upstream) = with_upstream(Script::by(|request: &Received| {
        if request.json()["model"] == "down" {
            return Answer::error(500, "no");
        }
        Answer::embeddings(vec![vec![0.5, -1.0]])
    }))
    .await;
    let api = server.api();
    let parent = api.post(EMBED, json!({"input": "a"})).await.body["span_id"].clone();
    let body = json!({
        "model": "house/down", "input": "a", "tags": {"a": "b"}, "parent_span_id": parent,
        "fallback_models": ["nobody/x", {"name": "house/e", "options": {"truncate": true}}], "user": "ada",
    });

    let answer = api.post(EMBED, body).await;
    let nowhere = json!({"model": "house/e", "input": "a", "parent_span_id": "0195b0c2-7a01-7000-8000-000000000001"});
    let nowhere = api.post(EMBED, nowhere).await;

    assert_eq!(answer.body["model"], "house/e", "{answer:?}");
    let sent: Vec<Value> = upstream.requests().iter().map(Received::json).collect();
    assert_eq!(
        sent,
        [
            json!({"model": "down", "input": ["a"], "user": "ada"}),
            json!({"model": "e", "input": ["a"], "truncate": true, "user": "ada"}),
        ]
    );
    let span = api.span(&answer).await;
    assert_eq!(
        json!([span["parent_id"], span["meta"]["tags"]]),
        json!([parent, {"a": "b"}])
    );
    assert_eq!(
        (nowhere.status.as_u16(), &nowhere.body["detail"]),
        (404, &json!("Parent span not found"))
    );
}

#[tokio::test]
async fn models_are_listed_and_read_by_name() {
    let (server, upstream) = with_upstream(Answer::text("")).await;
    let api = server.api();
    api.model("mine", &upstream.base_url()).await;
    let alias = json!({"name": "team/best", "fallback_models": ["mine", "house/a"]});
    assert_eq!(api.post("/v2/models/aliases", alias).await.status, 200);

    let list = api.get(MODELS).await;
    let read = async |name: &str| api.get(&format!("{MODELS}/{name}")).await;

    assert_eq!(list.body["object"], "list");
    let items = list.body["data"].as_array().unwrap();
    let of = |id: &str| items.iter().find(|item| item["id"] == id).cloned().unwrap();
    assert_eq!(
        (&of("mine")["owned_by"], &of("team/best")["owned_by"]),
        (&json!("openai"), &json!("alias"))
    );
    assert!(of("mine")["created"].as_i64().unwrap() > 1_700_000_000);
    assert_eq!(of("offline/json")["owned_by"], "offline");
    // What is listed of the providers is what `/v2/models` lists.
    let names = |list: &Value, member: &str| -> Vec<String> {
        let items = list["data"].as_array().unwrap().iter();
        items
            .map(|item| item[member].as_str().unwrap().to_owned())
            .collect()
    };
    let mut here = names(&list.body, "id");
    assert_eq!(here.remove(1), "team/best");
    assert_eq!(here, names(&api.get("/v2/models").await.body, "name"));
    for name in ["mine", "team/best", "team%2Fbest", "offline/json"] {
        let one = read(name).await;
        assert_eq!(one.status, 200, "{name}: {one:?}");
        assert_eq!(one.body, of(&name.replace("%2F", "/")));
    }
    let unlisted = read("house/whatever").await;
    assert_eq!(
        unlisted.body,
        json!({"id": "house/whatever", "object": "model", "created": 0, "owned_by": "house"})
    );
    for name in ["nobody/x", "nothing"] {
        let missing = read(name).await;
        assert_eq!(
            (missing.status.as_u16(), missing.class()),
            (404, "NotFoundError")
        );
    }
    let beta = server.api_with(server::BETA);
    assert_eq!(beta.get(&format!("{MODELS}/mine")).await.status, 404);
}
