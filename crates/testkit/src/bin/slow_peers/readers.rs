//! Streams whose reader takes the head of the answer and nothing else, from an upstream that never stops.

use std::{
    io,
    net::SocketAddr,
    time::{Duration, Instant},
};

use bytes::Bytes;
use serde_json::json;
use testkit::{Answer, Launched};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

use crate::Failure;

/// Together 8 MiB: more than fits between the upstream and a reader who takes nothing.
const PIECES: usize = 512;
/// So many begin at once: fewer than a busy machine refuses.
const AT_ONCE: usize = 40;
const EVENTS_PER_PIECE: usize = 16;
const TEXT_BYTES: usize = 1000;
/// For all to begin on a machine that has much to do, and between two tries of one.
const BEGUN_WITHIN: Duration = Duration::from_mins(1);
const AGAIN_AFTER: Duration = Duration::from_millis(300);
/// For the last spans to be closed.
const SPANS_WITHIN: Duration = Duration::from_secs(10);

/// A stream that nobody reads.
pub(crate) struct Stalled {
    span: String,
    _connection: TcpStream,
}

/// What the upstream says, as fast as it is taken.
pub(crate) fn flood() -> Answer {
    let chunk = json!({
        "id": "flood",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"content": "word ".repeat(TEXT_BYTES / 5)}, "finish_reason": null}],
    });
    let piece = Bytes::from(format!("data: {chunk}\n\n").repeat(EVENTS_PER_PIECE));
    Answer::events(std::iter::repeat_n(piece, PIECES))
}

/// Begins so many streams, some at a time, and reads their heads.
pub(crate) async fn begin(address: SocketAddr, count: usize) -> Result<Vec<Stalled>, Failure> {
    let mut begun = Vec::with_capacity(count);
    while begun.len() < count {
        let mut beginning = JoinSet::new();
        for _ in begun.len()..count.min(begun.len() + AT_ONCE) {
            beginning.spawn(one(address));
        }
        while let Some(one) = beginning.join_next().await {
            begun.push(one??);
        }
    }
    Ok(begun)
}

/// Begins one stream; where the server says that it is busy, once more.
async fn one(address: SocketAddr) -> io::Result<Stalled> {
    let until = Instant::now() + BEGUN_WITHIN;
    loop {
        let (head, connection) = head_of(address).await?;
        let span = head
            .lines()
            .find_map(|line| line.strip_prefix("x-span-id: "));
        if let Some(span) = span {
            return Ok(Stalled {
                span: span.trim().to_owned(),
                _connection: connection,
            });
        }
        if !head.starts_with("http/1.1 503") || Instant::now() > until {
            return Err(io::Error::other(format!("no stream began: {head}")));
        }
        tokio::time::sleep(AGAIN_AFTER).await;
    }
}

/// Asks for a stream, and reads no more than the head of the answer.
async fn head_of(address: SocketAddr) -> io::Result<(String, TcpStream)> {
    let body = json!({"name": "flood", "model": "house/flood", "input": "go"}).to_string();
    let request = format!(
        "POST /v2/call/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n{body}",
        Launched::TOKEN,
        body.len(),
    );
    let mut connection = TcpStream::connect(address).await?;
    connection.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(connection.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    Ok((head, connection))
}

/// What is wrong with the spans of readers who were cut, and how many KiB of text they have on the average.
pub(crate) async fn spans(
    server: &Launched,
    stalled: &[Stalled],
) -> Result<(Vec<String>, usize), Failure> {
    let mut connection = server.connect().await?;
    let until = Instant::now() + SPANS_WITHIN;
    let (mut faults, mut bytes) = (Vec::new(), 0);
    for Stalled { span, .. } in stalled {
        let (error, output) = loop {
            let mut found = connection.get(&format!("/v2/spans/{span}")).await?.json();
            if found["end_time"].is_string() || Instant::now() > until {
                break (found["error"].take(), found["output"].take());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        bytes += output.as_str().map_or(0, str::len);
        if error != "client stalled" {
            faults.push(format!("the error of {span} is {error}"));
        }
    }
    Ok((faults, bytes / 1024 / stalled.len().max(1)))
}
