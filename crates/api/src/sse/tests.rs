use std::sync::Arc;

use axum::{Router, routing::get};
use domain::{CallResult, Cost, FinishReason, Json, Output, Usage};
use engine::{CallDetail, Code};
use http_body_util::BodyExt;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    sync::mpsc,
    task::JoinHandle,
};
use tokio_util::task::TaskTracker;

use super::*;
use crate::{
    admission::tests::{Line, places, taken},
    patience::{Patience, Patient, Requests},
    serve,
};

const SPAN: &str = "0195b0c2-7a01-7000-8000-000000000001";

struct Scripted(mpsc::Receiver<StreamEvent>);

impl Source for Scripted {
    async fn next(&mut self) -> Option<StreamEvent> {
        self.0.recv().await
    }
}

struct Stream {
    says: mpsc::Sender<StreamEvent>,
    events: Events<Scripted>,
    places: Arc<Line>,
}

fn stream(is_structured: bool) -> Stream {
    let (says, heard) = mpsc::channel(2000);
    let places = places();
    let permit = taken(&places);
    let lines = Lines::of(SpanId::parse(SPAN).unwrap(), is_structured);
    Stream {
        says,
        events: Events::new(Scripted(heard), lines, permit),
        places,
    }
}

fn text(piece: &str) -> StreamEvent {
    StreamEvent::Text(piece.to_owned())
}

fn leaf(path: &str, value: &str) -> StreamEvent {
    StreamEvent::Leaf {
        path: path.to_owned(),
        value: Json::parse(value).unwrap(),
    }
}

fn done(output: Output) -> StreamEvent {
    let usage = Usage {
        input_tokens: 3,
        output_tokens: 2,
        ..Usage::default()
    };
    StreamEvent::Done(Box::new(CallResult {
        span_id: SpanId::parse(SPAN).unwrap(),
        output,
        started: domain::Timestamp::from_micros(0),
        beside: domain::Beside::default(),
        model: domain::ModelName::parse("a/one").unwrap(),
        finish_reason: FinishReason::Stop,
        cached: false,
        failover: false,
        usage,
        cost: Cost::default(),
    }))
}

fn failed(error: Error) -> StreamEvent {
    StreamEvent::Failed(Box::new(error))
}

/// What goes out of a stream that says `events`.
async fn written(is_structured: bool, events: impl IntoIterator<Item = StreamEvent>) -> String {
    let Stream {
        says, events: body, ..
    } = stream(is_structured);
    for event in events {
        says.send(event).await.unwrap();
    }
    let bytes = body.collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn data(written: &str) -> Vec<Value> {
    let lines = written.lines();
    let data = lines.filter_map(|line| line.strip_prefix("data: "));
    data.map(|text| serde_json::from_str(text).unwrap())
        .collect()
}

async fn frame(events: &mut Events<Scripted>) -> String {
    let bytes = events.frame().await.unwrap().unwrap().into_data().unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

const BILL: &str = r#""usage":{"input_tokens":3,"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":5},"cost":{"generation":0.0,"platform":0.0,"total":0.0}"#;

#[tokio::test]
async fn text_is_numbered_and_ends_with_done() {
    let said = [
        text("Hel"),
        text("lo"),
        done(Output::Message("Hello".into())),
    ];

    let written = written(false, said).await;

    let expected = [
        format!(
            "id: 0\ndata: {{\"delta\":\"Hel\",\"span_id\":\"{SPAN}\",\"chunk_type\":\"text\"}}\n\n"
        ),
        format!(
            "id: 1\ndata: {{\"delta\":\"lo\",\"span_id\":\"{SPAN}\",\"chunk_type\":\"text\"}}\n\n"
        ),
        format!(
            "id: 2\nevent: done\ndata: {{\"delta\":\"\",\"span_id\":\"{SPAN}\",\"chunk_type\":\"text\",\"finish_reason\":\"stop\",{BILL},\"cached\":false}}\n\n"
        ),
    ];
    assert_eq!(written, expected.concat());
}

#[tokio::test]
async fn the_pieces_of_a_value_are_json_and_the_whole_of_it_comes_last() {
    let value = Json::parse(r#"{"b":[1.0],"a":null}"#).unwrap();
    let said = [
        text(r#"{"b":[1.0"#),
        text(r#"],"a":null}"#),
        done(Output::Payload(value)),
    ];

    let written = written(true, said).await;

    let expected = [
        format!(
            "id: 0\ndata: {{\"delta\":\"{{\\\"b\\\":[1.0\",\"span_id\":\"{SPAN}\",\"chunk_type\":\"json\"}}\n\n"
        ),
        format!(
            "id: 1\ndata: {{\"delta\":\"],\\\"a\\\":null}}\",\"span_id\":\"{SPAN}\",\"chunk_type\":\"json\"}}\n\n"
        ),
        format!(
            "id: 2\nevent: done\ndata: {{\"delta\":\"\",\"span_id\":\"{SPAN}\",\"chunk_type\":\"json\",\"finish_reason\":\"stop\",{BILL},\"cached\":false,\"json_payload\":{{\"b\":[1.0],\"a\":null}}}}\n\n"
        ),
    ];
    assert_eq!(written, expected.concat());
}

#[tokio::test]
async fn leaves_keep_their_types_and_name_their_places() {
    let said = [
        leaf("people[0].name", r#""A\"d""#),
        leaf("people[0].age", "36"),
        leaf("open", "true"),
        leaf("_root", "null"),
    ];

    let broken = stream(true);
    for event in said {
        broken.says.send(event).await.unwrap();
    }
    let mut events = broken.events;
    let written = frame(&mut events).await;

    let chunk = |number, delta, path| {
        format!(
            "id: {number}\ndata: {{\"delta\":{delta},\"span_id\":\"{SPAN}\",\"chunk_type\":\"json\",\"json_path\":\"{path}\"}}\n\n"
        )
    };
    let expected = [
        chunk(0, r#""A\"d""#, "people[0].name"),
        chunk(1, "36", "people[0].age"),
        chunk(2, "true", "open"),
        chunk(3, "null", "_root"),
    ];
    assert_eq!(written, expected.concat());
}

#[tokio::test]
async fn a_failure_tells_its_class_and_reason() {
    let error = Error::call(Code::Upstream, CallDetail::because("the stream was cut"));

    let written = written(false, [text("a"), failed(error)]).await;

    let expected = format!(
        "id: 1\nevent: error\ndata: {{\"delta\":\"\",\"span_id\":\"{SPAN}\",\"chunk_type\":\"error\",\"error_type\":\"UpstreamError\",\"error_message\":\"the stream was cut\"}}\n\n"
    );
    assert!(written.ends_with(&expected), "{written}");
}

#[tokio::test]
async fn a_fault_of_ours_says_nothing_of_its_cause() {
    let error = Error::internal(std::io::Error::other("/a/secret/path"));

    let written = written(false, [failed(error)]).await;

    assert_eq!(
        data(&written)[0]["error_message"],
        "An internal error occurred"
    );
    assert!(!written.contains("secret"));
}

#[tokio::test]
async fn a_call_that_is_cut_off_by_a_stop_says_so() {
    let written = written(false, [failed(Error::unavailable("draining"))]).await;

    let data = &data(&written)[0];
    assert_eq!(data["error_type"], "ServiceUnavailableError");
    assert_eq!(data["error_message"], "draining");
}

#[tokio::test]
async fn another_model_that_went_on_is_named_only_then() {
    let StreamEvent::Done(mut result) = done(Output::Message(String::new())) else {
        unreachable!();
    };
    result.failover = true;
    result.cached = true;

    let written = written(false, [StreamEvent::Done(result)]).await;

    let data = &data(&written)[0];
    assert_eq!(
        (&data["failover"], &data["cached"]),
        (&true.into(), &true.into())
    );
}

#[tokio::test]
async fn no_text_can_end_a_line_or_forge_an_event() {
    let hostile = "\"\\ \n\n\r\r\ndata: {}\u{0}\u{b}\u{c}\u{1c}\u{85}\u{2028}\u{2029}\u{2028} é 🦀";
    let value = Json::of(&[hostile]);
    let said = [
        text(hostile),
        StreamEvent::Leaf {
            path: format!("a{hostile}"),
            value: Json::of(&hostile),
        },
        done(Output::Payload(value)),
    ];

    let written = written(true, said).await;

    let breaks = "\r\u{b}\u{c}\u{1c}\u{1d}\u{1e}\u{85}\u{2028}\u{2029}";
    assert!(!written.contains(|character| breaks.contains(character)));
    assert_eq!(written.lines().count(), 3 + 3 + 4);
    let data = data(&written);
    assert_eq!(data[0]["delta"], hostile);
    assert_eq!(data[1]["delta"], hostile);
    assert_eq!(data[1]["json_path"], format!("a{hostile}"));
    assert_eq!(data[2]["json_payload"][0], hostile);
}

#[tokio::test]
async fn what_is_there_at_once_shares_frames_of_a_bounded_size() {
    let Stream {
        says, mut events, ..
    } = stream(false);
    for number in 0..1000 {
        says.send(text(&format!("{number} "))).await.unwrap();
    }
    says.send(done(Output::Message(String::new())))
        .await
        .unwrap();

    let mut frames = Vec::new();
    while !http_body::Body::is_end_stream(&events) {
        frames.push(frame(&mut events).await);
    }

    assert!((2..20).contains(&frames.len()), "{}", frames.len());
    for frame in &frames {
        assert!(frame.starts_with("id: ") && frame.ends_with("\n\n"));
        assert!(frame.len() < FRAME_BYTES + 512);
    }
    let written = frames.concat();
    let deltas: String = data(&written)
        .iter()
        .map(|data| data["delta"].as_str().unwrap().to_owned())
        .collect();
    let expected: Vec<String> = (0..1000).map(|number| format!("{number} ")).collect();
    assert_eq!(deltas, expected.concat());
    assert!(written.contains("\n\nid: 1000\nevent: done\n"));
}

#[tokio::test]
async fn an_event_leaves_without_waiting_for_the_next() {
    let Stream {
        says, mut events, ..
    } = stream(false);

    says.send(text("a")).await.unwrap();
    let first = frame(&mut events).await;
    says.send(text("b")).await.unwrap();
    let second = frame(&mut events).await;

    assert_eq!(data(&first)[0]["delta"], "a");
    assert_eq!(data(&second)[0]["delta"], "b");
}

#[tokio::test(start_paused = true)]
async fn silence_is_broken_by_a_comment_every_fifteen_seconds() {
    let Stream {
        says, mut events, ..
    } = stream(false);
    let began = Instant::now();
    says.send(text("a")).await.unwrap();
    frame(&mut events).await;
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(40)).await;
        says.send(text("b")).await.unwrap();
        std::future::pending::<()>().await;
    });

    let mut seen = Vec::new();
    for _ in 0..4 {
        let bytes = frame(&mut events).await;
        seen.push((began.elapsed().as_secs(), bytes));
    }

    let at: Vec<u64> = seen.iter().map(|(at, _)| *at).collect();
    assert_eq!(at, [15, 30, 40, 55]);
    assert_eq!(seen[0].1, ": keep-alive\n\n");
    assert!(seen[2].1.starts_with("id: 1\n"), "{}", seen[2].1);
    assert_eq!(seen[3].1, ": keep-alive\n\n");
}

#[tokio::test]
async fn a_stream_without_a_terminal_event_fails_after_what_was_written() {
    let Stream {
        says, mut events, ..
    } = stream(false);
    says.send(text("a")).await.unwrap();
    drop(says);

    assert_eq!(data(&frame(&mut events).await).len(), 1);
    assert!(events.frame().await.unwrap().is_err());
    assert!(events.frame().await.is_none());
}

#[tokio::test]
async fn the_permit_comes_back_with_the_last_event_or_the_client() {
    let mut ended = stream(false);
    ended.says.send(text("a")).await.unwrap();
    frame(&mut ended.events).await;
    assert_eq!(ended.places.running(), 1);
    let left = stream(false);

    ended
        .says
        .send(done(Output::Message(String::new())))
        .await
        .unwrap();
    frame(&mut ended.events).await;
    drop(left.events);

    assert_eq!(ended.places.running(), 0);
    assert_eq!(left.places.running(), 0);
    assert!(left.says.is_closed());
}

/// A connection whose one route answers with `events`, and the requests that are under way on it.
fn served(events: Events<Scripted>, room: usize) -> (DuplexStream, TaskTracker, JoinHandle<bool>) {
    let events = std::sync::Mutex::new(Some(events));
    let take = move || std::future::ready(Body::new(events.lock().unwrap().take().unwrap()));
    let take = Arc::new(take);
    let router = Router::new().route("/", get(move || take()));
    let (ours, theirs) = duplex(room);
    let under_way = TaskTracker::new();
    let requests = Requests::of(&under_way);
    let patience = Patience {
        head: Duration::from_secs(10),
        idle: Duration::from_secs(75),
        reader: Duration::from_secs(30),
    };
    let connection = Patient::new(ours, patience, requests.clone());
    let service = service_fn(move |request| {
        serve::answer(router.clone(), request, (requests.clone(), patience))
    });
    let connection = serve::builder()
        .serve_connection(TokioIo::new(connection), service)
        .into_owned();
    let ended = tokio::spawn(async move { connection.await.is_ok() });
    (theirs, under_way, ended)
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_under_way_until_its_last_event() {
    let Stream { says, events, .. } = stream(false);
    let (mut client, under_way, _ended) = served(events, 4096);
    client
        .write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    says.send(text("a")).await.unwrap();
    let mut answer = String::new();

    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(under_way.len(), 1);
    under_way.close();
    says.send(failed(Error::unavailable("draining")))
        .await
        .unwrap();
    client.read_to_string(&mut answer).await.unwrap();

    under_way.wait().await;
    assert!(answer.contains(": keep-alive\n\n"), "{answer}");
    assert!(answer.contains("event: error\n"), "{answer}");
    assert!(answer.ends_with("\r\n0\r\n\r\n"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_a_terminal_event_breaks_the_connection() {
    let Stream { says, events, .. } = stream(false);
    let (mut client, _, ended) = served(events, 4096);
    client
        .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    says.send(text("a")).await.unwrap();
    drop(says);
    let mut answer = String::new();

    client.read_to_string(&mut answer).await.unwrap();

    assert!(!ended.await.unwrap());
    assert!(!answer.ends_with("0\r\n\r\n"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_client_of_the_old_protocol_reads_to_the_close() {
    let Stream { says, events, .. } = stream(false);
    let (mut client, _, ended) = served(events, 4096);
    client.write_all(b"GET / HTTP/1.0\r\n\r\n").await.unwrap();
    says.send(done(Output::Message(String::new())))
        .await
        .unwrap();
    let mut answer = String::new();

    client.read_to_string(&mut answer).await.unwrap();

    assert!(ended.await.unwrap());
    assert!(!answer.contains("transfer-encoding"), "{answer}");
    assert!(answer.ends_with("\"cached\":false}\n\n"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_is_cut_and_the_call_let_go() {
    let Stream {
        says,
        events,
        places,
    } = stream(false);
    let (mut client, under_way, ended) = served(events, 256);
    let began = Instant::now();
    client
        .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    while says
        .send(text("some words more than the last"))
        .await
        .is_ok()
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    assert!(!ended.await.unwrap());
    assert!((30..33).contains(&began.elapsed().as_secs()));
    assert_eq!(places.running(), 0);
    assert!(under_way.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_takes_the_call_along() {
    let Stream {
        says,
        events,
        places,
    } = stream(false);
    let (mut client, _, _ended) = served(events, 4096);
    client
        .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    says.send(text("a")).await.unwrap();
    client.read_u8().await.unwrap();

    drop(client);

    says.closed().await;
    assert_eq!(places.running(), 0);
}
