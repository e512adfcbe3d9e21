use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::connection;
use crate::{Answer, Upstream, client::Connection, client::Stream, events::Event};

const PATH: &str = "/v1/chat/completions";

async fn open(upstream: &Upstream, body: Value) -> (Connection, Stream) {
    let mut connection = connection(upstream).await;
    let stream = connection.open_stream(PATH, &body).await.unwrap();
    (connection, stream)
}

/// Reads a stream of this answer to its end.
async fn read(answer: Answer) -> (Vec<Event>, Stream) {
    let upstream = Upstream::start(answer).await;
    let (_connection, mut stream) = open(&upstream, json!({"model": "m", "stream": true})).await;
    (stream.rest().await, stream)
}

fn contents(events: &[Event]) -> Vec<String> {
    let deltas = events.iter().map(|event| &event.data);
    let deltas = deltas.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let texts =
        deltas.filter_map(|data| Some(data["choices"][0]["delta"]["content"].as_str()?.to_owned()));
    texts.filter(|text| !text.is_empty()).collect()
}

fn chunk(choices: &Value) -> Value {
    json!({
        "id": "chatcmpl-scripted",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "m",
        "choices": choices,
        "usage": null,
    })
}

fn choice(delta: &Value, finish_reason: &Value) -> Value {
    chunk(&json!([{"index": 0, "delta": delta, "finish_reason": finish_reason}]))
}

#[tokio::test]
async fn a_text_is_streamed_as_role_pieces_finish_usage_and_done() {
    let upstream = Upstream::start(Answer::text("Hello").usage(3, 4)).await;
    let asked = json!({"model": "m", "stream": true, "stream_options": {"include_usage": true}});

    let (_connection, mut stream) = open(&upstream, asked).await;
    let events = stream.rest().await;

    assert_eq!(stream.status, 200);
    assert_eq!(stream.headers["content-type"], "text/event-stream");
    let mut usage = chunk(&json!([]));
    usage["usage"] = json!({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7});
    let told: Vec<Value> = events.iter().map(Event::json).collect();
    assert_eq!(
        told,
        [
            choice(&json!({"role": "assistant", "content": ""}), &Value::Null),
            choice(&json!({"content": "Hell"}), &Value::Null),
            choice(&json!({"content": "o"}), &Value::Null),
            choice(&json!({}), &json!("stop")),
            usage,
            Value::Null,
        ]
    );
    assert_eq!(events[5].raw, "data: [DONE]\n\n");
    assert!(stream.ended_orderly() && stream.unread().is_empty());
}

#[tokio::test]
async fn usage_done_and_finish_reason_are_the_scripts_to_say() {
    let asked = json!({"stream": true, "stream_options": {"include_usage": true}});
    let answer = Answer::text("x").without_usage().without_done();
    let upstream = Upstream::start(answer.finish_reason("length")).await;

    let (_connection, mut stream) = open(&upstream, asked).await;
    let events = stream.rest().await;

    let last = events.last().unwrap().json();
    assert_eq!(last["choices"][0]["finish_reason"], "length");
    assert_eq!(events.len(), 3);
    assert!(stream.ended_orderly());
}

#[tokio::test]
async fn a_request_for_no_stream_is_answered_in_one_body() {
    let answer = Answer::text("Hello")
        .cut_after_pieces(1)
        .pieces(&["H", "i"]);
    let upstream = Upstream::start(answer).await;

    let reply = connection(&upstream)
        .await
        .post(PATH, &json!({"stream": false}))
        .await
        .unwrap();

    assert_eq!(reply.json()["choices"][0]["message"]["content"], "Hello");
}

#[tokio::test]
async fn a_refusal_is_no_stream() {
    let upstream = Upstream::start(Answer::error(429, "slow down")).await;

    let (_connection, stream) = open(&upstream, json!({"stream": true})).await;
    let reply = stream.into_reply().await.unwrap();

    assert_eq!(reply.status, 429);
    assert_eq!(reply.json()["error"]["message"], "slow down");
}

#[tokio::test]
async fn pieces_are_named_or_measured() {
    let (named, _) = read(Answer::text("abcdef").pieces(&["ab", "cdef"])).await;
    let (measured, _) = read(Answer::text("aäb").piece_bytes(2)).await;

    assert_eq!(contents(&named), ["ab", "cdef"]);
    assert_eq!(contents(&measured), ["a", "ä", "b"]);
}

#[tokio::test]
async fn pieces_come_when_they_are_due() {
    let wait = Duration::from_millis(60);
    let answer = Answer::text("").pieces(&["a", "b"]).first_after(wait * 2);
    let upstream = Upstream::start(answer.pause(wait)).await;
    let asked = Instant::now();

    let (_connection, mut stream) = open(&upstream, json!({"stream": true})).await;
    let _role = stream.next_event().await;
    let head = asked.elapsed();
    let _first = stream.next_event().await;
    let first = asked.elapsed();
    let _second = stream.next_event().await;
    let second = asked.elapsed();

    assert!(head < wait * 2 && first >= wait * 2 && second >= wait * 3);
}

#[tokio::test]
async fn a_tool_call_is_told_whole_or_in_pieces() {
    let upstream = Upstream::start(Answer::tool_call("look", r#"{"a":1}"#)).await;

    let whole = connection(&upstream).await.post(PATH, &json!({})).await;
    let (_connection, mut stream) = open(&upstream, json!({"stream": true})).await;
    let events = stream.rest().await;

    let call = json!({
        "id": "call_scripted",
        "type": "function",
        "function": {"name": "look", "arguments": r#"{"a":1}"#},
    });
    let whole = whole.unwrap().json()["choices"][0].clone();
    assert_eq!(whole["message"]["tool_calls"], json!([call]));
    let choices = events
        .iter()
        .map(|event| event.json()["choices"][0].clone());
    let deltas: Vec<Value> = choices.map(|choice| choice["delta"].clone()).collect();
    assert_eq!(
        deltas,
        [
            json!({"role": "assistant", "content": null}),
            json!({"tool_calls": [{"index": 0, "id": "call_scripted", "type": "function", "function": {"name": "look", "arguments": ""}}]}),
            json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"a\""}}]}),
            json!({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}),
            json!({}),
            Value::Null,
        ]
    );
    assert_eq!(
        events[4].json()["choices"][0]["finish_reason"],
        "tool_calls"
    );
}

#[tokio::test]
async fn a_stream_breaks_after_a_piece_or_within_an_event() {
    let answer = Answer::text("abcdefgh");

    let (after, broken) = read(answer.clone().cut_after_pieces(1)).await;
    let (within, halved) = read(answer.clone().cut_mid_event(2)).await;
    let (bytes, short) = read(answer.cut_after(10)).await;

    assert_eq!(
        (contents(&after), broken.ended_orderly()),
        (vec!["abcd".to_owned()], false)
    );
    assert_eq!(
        (contents(&within), halved.ended_orderly()),
        (vec!["abcd".to_owned()], false)
    );
    assert!(broken.unread().is_empty() && halved.unread().starts_with(b"data: {"));
    assert_eq!(
        (bytes.len(), short.ended_orderly(), short.unread().len()),
        (0, false, 10)
    );
}

#[tokio::test]
async fn a_stream_ends_early_in_good_order_with_an_error_or_with_garbage() {
    let answer = Answer::text("abcdefgh");
    let error = json!({"message": "overloaded", "code": 503});

    let (early, ended) = read(answer.clone().end_after_pieces(1)).await;
    let (failed, failure) = read(answer.clone().error_after_pieces(1, error.clone())).await;
    let (garbled, garbage) = read(answer.garbage_after_pieces(0)).await;

    assert_eq!(
        (early.len(), contents(&early)),
        (2, vec!["abcd".to_owned()])
    );
    assert_eq!(
        (failed.len(), failed[2].json()),
        (3, json!({"error": error}))
    );
    assert_eq!((garbled.len(), garbled[1].json()), (2, Value::Null));
    assert!([ended, failure, garbage].iter().all(Stream::ended_orderly));
}

#[tokio::test]
async fn a_turn_behind_the_last_piece_comes_before_the_finish_reason() {
    let (events, stream) = read(Answer::text("abcd").end_after_pieces(7)).await;

    assert_eq!(
        (events.len(), contents(&events)),
        (2, vec!["abcd".to_owned()])
    );
    assert!(stream.ended_orderly());
}

#[tokio::test]
async fn raw_events_stand_as_they_are() {
    let told = [
        "\u{feff}: hi\n\n",
        "data: {\"a\":\r\ndata: 1}\r\n\r\n",
        "data: cut",
    ];
    let (events, stream) = read(Answer::events(told)).await;
    let (none, broken) = read(Answer::events(told).cut_after_pieces(1)).await;

    assert_eq!(
        events.len(),
        2,
        "the mark before the comment makes it a field"
    );
    assert_eq!(events[1].json(), json!({"a": 1}));
    assert!(stream.ended_orderly() && stream.unread() == b"data: cut");
    assert!(none.len() == 1 && !broken.ended_orderly());
}
