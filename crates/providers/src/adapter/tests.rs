//! Streams over real sockets.

use std::{io::Write as _, sync::Arc, time::Duration};

use domain::{Deltas, FinishReason, Json, Message, Role, Usage, seams::ProviderErrorKind as Kind};
use flate2::{Compression, write::GzEncoder};
use futures_util::StreamExt;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    time::{Instant, timeout},
};

use super::*;
use crate::{
    cohere::Cohere,
    ollama::Ollama,
    openai::OpenAi,
    responses::Responses,
    wire::tests::{Host, client, target},
};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
const TEXT: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\n\n";
const FINISH: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

/// What comes of events with nothing after them: the text, and the end if it was an orderly one.
pub(crate) fn read(
    mut decoder: impl Decoder,
    events: &[Event],
) -> (String, Option<(FinishReason, Option<Usage>)>) {
    let mut text = String::new();
    for event in events.iter().map(Some).chain([None]) {
        let deltas = match event {
            Some(event) => decoder.push(event),
            None => decoder.finish(),
        };
        for delta in deltas.unwrap_or_default() {
            match delta {
                Delta::Text(piece) => text += &piece,
                Delta::End {
                    finish_reason,
                    usage,
                } => {
                    return (
                        text,
                        Some((finish_reason, usage.map(|report| report.usage))),
                    );
                }
                _ => {}
            }
        }
    }
    (text, None)
}

/// Holds a stream to its end: cut before that many bytes it has none, and only a beginning of its text.
pub(crate) fn assert_ends_after(
    finished: usize,
    body: &[u8],
    whole: (&str, Usage),
    read: impl Fn(&[u8]) -> (String, Option<(FinishReason, Option<Usage>)>),
) {
    let (text, usage) = whole;
    for cut in 0..=body.len() {
        let (told, end) = read(&body[..cut]);
        assert_eq!(end.is_some(), cut >= finished, "{cut}");
        assert!(text.starts_with(&told), "{cut}: {told}");
    }
    let end = Some((FinishReason::Stop, Some(usage)));
    assert_eq!(read(body), (text.to_owned(), end));
}

/// Asks with 1 s until the first event.
async fn ask(host: &Host) -> Result<Deltas, ProviderError> {
    ask_in(OpenAi, host).await
}

async fn ask_in(dialect: impl Adapter, host: &Host) -> Result<Deltas, ProviderError> {
    let provider = HttpProvider::new(dialect, Arc::new(client(&[])));
    let target = Target {
        timeout: Duration::from_secs(1),
        ..target(&host.url())
    };
    let request = ChatRequest {
        messages: vec![Message::text(Role::User, "x")],
        ..ChatRequest::default()
    };
    provider.chat_stream(&target, &request).await
}

/// How a stream that begins with a text goes on.
async fn after_text(host: &Host) -> Result<Delta, (Kind, String)> {
    let mut deltas = ask(host).await.unwrap();
    let first = deltas.next().await.unwrap().unwrap();
    assert_eq!(first, Delta::Text("Hello".to_owned()));
    let next = deltas.next().await.unwrap();
    assert!(deltas.next().await.is_none());
    next.map_err(|error| (error.kind, error.reason))
}

fn end() -> Delta {
    Delta::End {
        finish_reason: FinishReason::Stop,
        usage: None,
    }
}

fn chunked(events: &[&str]) -> String {
    let chunk = |event: &&str| format!("{:x}\r\n{event}\r\n", event.len());
    let chunks: String = events.iter().map(chunk).collect();
    format!("{HEAD}transfer-encoding: chunked\r\n\r\n{chunks}")
}

#[tokio::test]
async fn a_stream_ends_with_its_own_end_or_with_the_body_after_it() {
    let bodies = [
        chunked(&[TEXT, FINISH, DONE, "more"]),
        chunked(&[TEXT, FINISH, ""]),
        format!("{HEAD}\r\n{TEXT}{FINISH}"),
        format!("HTTP/1.1 200 OK\r\n\r\n{TEXT}{FINISH}{DONE}"),
    ];

    for body in bodies {
        let host = Host::saying(body.clone()).await;
        assert_eq!(after_text(&host).await, Ok(end()), "{body}");
    }
}

#[tokio::test]
async fn a_refused_request_has_no_stream() {
    let answer = "HTTP/1.1 503 Busy\r\nretry-after: 2\r\ncontent-length: 2\r\n\r\nno";
    let host = Host::saying(answer).await;

    let error = ask(&host).await.err().unwrap();

    assert_eq!((error.kind, error.status), (Kind::Overloaded, Some(503)));
    assert_eq!(error.retry_after, Some(Duration::from_secs(2)));
    assert_eq!(error.reason, "no");
}

#[tokio::test]
async fn time_runs_out_before_the_first_event_and_between_two() {
    let silent = Host::stalling_after("").await;
    let commenting = Host::stalling_after(chunked(&[": patience\n\n"])).await;
    let stalling = Host::stalling_after(chunked(&[TEXT, FINISH])).await;

    for host in [silent, commenting] {
        let start = Instant::now();
        let error = ask(&host).await.err().unwrap();
        assert_eq!(error.kind, Kind::Timeout);
        assert_eq!(error.reason, "the provider did not answer within 1 s");
        assert!(start.elapsed() < Duration::from_secs(3));
    }
    let stood_still = "the provider's stream stood still for 0.3 s".to_owned();
    assert_eq!(
        after_text(&stalling).await,
        Err((Kind::Timeout, stood_still))
    );
}

#[tokio::test]
async fn broken_connections_and_garbled_streams_are_told_apart() {
    let half = &TEXT[..30];
    let broke = "the connection to the provider broke";
    let garbled = "the provider's stream is garbled";
    let broke_off = "the provider's stream broke off";
    let no_json = "the provider's answer is not JSON";
    let with_length = format!("{HEAD}content-length: 999\r\n\r\n{TEXT}{half}");
    let bad_framing = chunked(&[TEXT]) + "what?\r\n";
    let bad_gzip = format!("{HEAD}content-encoding: gzip\r\ncontent-length: 2\r\n\r\n{{}}");
    let cases = [
        (chunked(&[TEXT, half]), Kind::Connection, broke),
        (with_length, Kind::Connection, broke),
        (bad_framing, Kind::Protocol, garbled),
        (chunked(&[TEXT, half, ""]), Kind::Protocol, broke_off),
        (chunked(&[TEXT, DONE, ""]), Kind::Protocol, broke_off),
        (chunked(&[TEXT, "data: {\n\n"]), Kind::Protocol, no_json),
    ];

    for (body, kind, reason) in cases {
        let host = Host::saying(body.clone()).await;
        let expected = Err((kind, reason.to_owned()));
        assert_eq!(after_text(&host).await, expected, "{body}");
    }
    let mut no_text = chunked(&[]).into_bytes();
    no_text.extend(b"9\r\ndata: \xff\n\n\r\n");
    for body in [bad_gzip.into_bytes(), no_text] {
        let error = ask(&Host::saying(body).await).await.err().unwrap();
        assert_eq!(
            (error.kind, error.reason.as_str()),
            (Kind::Protocol, garbled)
        );
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection_at_once() {
    let mut host = Host::stalling_after(chunked(&[TEXT])).await;
    let deltas = ask(&host).await.unwrap();
    assert!(host.requests.recv().await.unwrap().starts_with("POST /v1/"));

    drop(deltas);

    let closed = timeout(Duration::from_secs(1), host.requests.recv()).await;
    assert_eq!(closed.unwrap().unwrap(), "closed: true");
}

#[tokio::test]
async fn dropping_the_request_before_its_first_event_closes_the_connection_at_once() {
    let mut host = Host::stalling_after(chunked(&[": patience\n\n"])).await;

    let asked = timeout(Duration::from_millis(300), ask(&host)).await;

    assert!(asked.is_err());
    host.requests.recv().await.unwrap();
    let closed = timeout(Duration::from_secs(1), host.requests.recv()).await;
    assert_eq!(closed.unwrap().unwrap(), "closed: true");
}

#[tokio::test]
async fn floods_are_given_up() {
    let line = format!(": {}\n", "x".repeat(64 * 1024));
    let endless_comments = format!("{HEAD}\r\n{TEXT}{}{FINISH}", line.repeat(1025));
    let huge_event = format!("{HEAD}\r\n{TEXT}data: {}", "x".repeat(32 * 1024 * 1024));
    let zeros = format!("{TEXT}data: {}", "0".repeat(80 * 1024 * 1024));
    let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
    bomb.write_all(zeros.as_bytes()).unwrap();
    let mut packed = format!("{HEAD}content-encoding: gzip\r\n\r\n").into_bytes();
    packed.extend(bomb.finish().unwrap());

    for body in [
        endless_comments.into_bytes(),
        huge_event.into_bytes(),
        packed,
    ] {
        let host = Host::saying(body).await;
        let too_large = "the provider's answer is too large".to_owned();
        assert_eq!(after_text(&host).await, Err((Kind::Protocol, too_large)));
    }
}

#[tokio::test]
async fn an_event_is_large_where_an_image_may_be_in_it() {
    let image = format!("data:image/png;base64,{}", "A".repeat(2 * 1024 * 1024));
    let with_image = format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"images\":[{{\"image_url\":{{\"url\":\"{image}\"}}}}]}}}}]}}\n\n"
    );
    let host = Host::saying(chunked(&[&with_image, FINISH, DONE])).await;
    let other = Host::saying(chunked(&[&with_image])).await;

    let with_images: Vec<_> = ask(&host).await.unwrap().collect().await;
    let without = ask_in(Cohere, &other).await;

    let with_images: Result<Vec<Delta>, _> = with_images.into_iter().collect();
    assert_eq!(with_images.unwrap(), [Delta::Image(image), end()]);
    let error = without.err().unwrap();
    assert_eq!(error.reason, "the provider's answer is too large");
}

#[tokio::test]
async fn compression_is_not_asked_for_and_does_not_hold_events_back() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(TEXT.as_bytes()).unwrap();
    packed.flush().unwrap();
    let begun = packed.get_ref().clone();
    let head = format!("{HEAD}content-encoding: gzip\r\n\r\n");
    let mut answer = head.into_bytes();
    answer.extend(begun);
    let mut host = Host::stalling_after(answer).await;

    let mut deltas = ask(&host).await.unwrap();

    let text = Delta::Text("Hello".to_owned());
    assert_eq!(deltas.next().await.unwrap().unwrap(), text);
    let asked = host.requests.recv().await.unwrap();
    assert!(asked.contains("accept-encoding: identity\r\n"), "{asked}");
    assert!(asked.contains("accept: text/event-stream, application/json\r\n"));
}

#[tokio::test]
async fn documents_are_fetched_but_for_turns_that_go_out_as_they_were_given() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/pdf\r\nconnection: close\r\ncontent-length: 4\r\n\r\n%PDF";
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    let (ours, theirs) = (
        format!("http://{place}/ours.pdf"),
        format!("http://{place}/theirs.pdf"),
    );
    let mut host = Host::saying("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n").await;
    let allowed = format!("127.0.0.1/32:{}", place.port());
    let provider = HttpProvider::new(OpenAi, Arc::new(client(&[&allowed])));
    let given = serde_json::json!({ "role": "user", "content": theirs });
    let request = ChatRequest {
        messages: vec![
            Message::new(Role::User, vec![Part::File(ours)]),
            Message {
                as_given: Some(Json::of(&given)),
                ..Message::new(Role::User, vec![Part::File(theirs.clone())])
            },
        ],
        ..ChatRequest::default()
    };

    let answer = provider.chat(&target(&host.url()), &request).await;

    assert_eq!(answer.unwrap_err().kind, Kind::Overloaded);
    serving.await.unwrap();
    let sent = host.requests.recv().await.unwrap();
    let (_, body) = sent.split_once("\r\n\r\n").unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let file = &body["messages"][0]["content"][0]["file"];
    assert_eq!(file["file_data"], "data:application/pdf;base64,JVBERg==");
    assert_eq!(file["filename"], "document.pdf");
    assert_eq!(body["messages"][1]["content"], theirs);
}

#[test]
fn a_key_is_missed_at_the_hosts_own_address_alone() {
    let own = "https://api.cohere.com/v2";
    let at = |api_base: &str| needs_key(&target(api_base), own, "CO_API_KEY");
    let keyed = Target {
        key: Some(domain::Secret::new("k")),
        ..target(own)
    };

    let missing = at(own).unwrap_err();

    assert_eq!(missing.kind, Kind::Misconfigured);
    assert_eq!(
        missing.reason,
        "the provider `p` wants a key: set `CO_API_KEY` for the server, or give the model a key of its own"
    );
    assert!(at("http://localhost:8000/v2").is_ok());
    assert!(needs_key(&keyed, own, "CO_API_KEY").is_ok());
}

#[tokio::test]
async fn what_was_counted_of_a_stream_that_fails_before_its_first_piece_is_told() {
    async fn taken(dialect: impl Adapter, body: &str) -> Taken {
        let host = Host::saying(format!("HTTP/1.1 200 OK\r\n\r\n{body}")).await;
        ask_in(dialect, &host).await.err().unwrap().taken
    }
    let error = r#""error":{"message":"no","code":500}"#;
    let count = r#"{"prompt_tokens":5,"completion_tokens":2}"#;
    let own = r#"{"input_tokens":5,"output_tokens":2}"#;

    let told = [
        taken(OpenAi, &format!("data: {{{error},\"usage\":{count}}}\n\n")).await,
        taken(
            OpenAi,
            &format!("data: {{\"choices\":[],\"usage\":{count}}}\n\ndata: {{{error}}}\n\n"),
        )
        .await,
        taken(
            Responses,
            &format!("data: {{\"type\":\"response.failed\",\"response\":{{{error},\"usage\":{own}}}}}\n\n"),
        )
        .await,
        taken(
            Cohere,
            &format!(
                "data: {{\"type\":\"message-end\",\"delta\":{{\"finish_reason\":\"ERROR\",\"usage\":{{\"tokens\":{own}}}}}}}\n\n"
            ),
        )
        .await,
        taken(
            Ollama,
            &format!("{{{error},\"prompt_eval_count\":5,\"eval_count\":2}}\n"),
        )
        .await,
    ];

    for taken in told {
        let Taken::Counted(report) = taken else {
            panic!("{taken:?}")
        };
        assert_eq!(
            (report.usage.input_tokens, report.usage.output_tokens),
            (5, 2)
        );
    }
    let uncounted = taken(OpenAi, &format!("data: {{{error}}}\n\n")).await;
    assert_eq!(uncounted, Taken::Nothing);
}
