//! Requests that two servers in a row could read in two ways, over raw sockets: `reliability.md` 5.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::server::{ALPHA, Server};

/// Stands in every request that must not be read.
const SMUGGLED: &str = "GET /healthz?smuggled HTTP/1.1\r\nhost: x\r\n\r\n";

struct Wire(TcpStream);

impl Wire {
    async fn to(server: &Server) -> Self {
        let address = server.address.strip_prefix("http://").unwrap();
        Self(TcpStream::connect(address).await.unwrap())
    }

    async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // The server may have said no and closed before the last byte of something long.
        let _ = self.0.write_all(bytes.as_ref()).await;
    }

    /// All answers until the server closes, and whether it did within some seconds.
    async fn read(mut self) -> (Vec<Told>, bool) {
        let mut bytes = Vec::new();
        let reading = timeout(Duration::from_secs(6), self.0.read_to_end(&mut bytes)).await;
        (answers(&bytes), reading.is_ok())
    }
}

/// Status, head and body of an answer.
#[derive(Debug)]
struct Told {
    status: u16,
    head: String,
    body: String,
}

impl Told {
    fn class(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        assert!(self.head.contains("nosniff"), "{self:?}");
        assert!(self.head.contains("x-request-id"), "{self:?}");
        assert!(!body["detail"].is_null(), "{self:?}");
        body["type"].as_str().unwrap_or_default().to_owned()
    }
}

/// The answers in what a server has said.
fn answers(bytes: &[u8]) -> Vec<Told> {
    let mut rest = std::str::from_utf8(bytes).unwrap();
    let mut answers = Vec::new();
    while let Some((head, after)) = rest.split_once("\r\n\r\n") {
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            (name == "content-length").then(|| value.parse::<usize>().unwrap())
        });
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let length = length.unwrap_or(0).min(after.len());
        let (body, after) = after.split_at(length);
        answers.push(Told {
            status,
            head: head.to_owned(),
            body: body.to_owned(),
        });
        rest = after;
    }
    answers
}

fn post(headers: &str, body: &str) -> String {
    format!(
        "POST /v2/functions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ALPHA}\r\n{headers}\r\n{body}"
    )
}

fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ALPHA}\r\n{headers}\r\n")
}

#[tokio::test]
async fn what_can_be_read_in_two_ways_is_a_400_and_the_end_of_the_connection() {
    let server = Server::start();
    let chunked = "transfer-encoding: chunked\r\n";
    let cases = [
        (
            "length and chunks",
            post(&format!("content-length: 4\r\n{chunked}"), "0\r\n\r\n"),
        ),
        (
            "chunks and length",
            post(&format!("{chunked}content-length: 4\r\n"), "0\r\n\r\n"),
        ),
        (
            "two lengths",
            post("content-length: 1\r\ncontent-length: 2\r\n", "{}"),
        ),
        (
            "one length twice",
            post("content-length: 2\r\ncontent-length: 2\r\n", "{}"),
        ),
        ("a list of lengths", post("content-length: 2, 2\r\n", "{}")),
        ("a length with a sign", post("content-length: +2\r\n", "{}")),
        ("a length in hex", post("content-length: 0x2\r\n", "{}")),
        ("a length below nought", post("content-length: -1\r\n", "")),
        (
            "a length beyond all",
            post("content-length: 18446744073709551617\r\n", ""),
        ),
        ("no length", post("content-length: \r\n", "")),
        ("an unknown coding", post("transfer-encoding: gzip\r\n", "")),
        (
            "two codings",
            post("transfer-encoding: gzip, chunked\r\n", "0\r\n\r\n"),
        ),
        (
            "chunked twice",
            post("transfer-encoding: chunked, chunked\r\n", "0\r\n\r\n"),
        ),
        (
            "chunked and identity",
            post(
                &format!("{chunked}transfer-encoding: identity\r\n"),
                "0\r\n\r\n",
            ),
        ),
        (
            "a disguised coding",
            post("transfer-encoding: \u{b}chunked\r\n", "0\r\n\r\n"),
        ),
        (
            "a coding in quotes",
            post("transfer-encoding: \"chunked\"\r\n", "0\r\n\r\n"),
        ),
        (
            "a space before the colon",
            post("transfer-encoding : chunked\r\n", "0\r\n\r\n"),
        ),
        (
            "chunks in HTTP/1.0",
            post(chunked, "0\r\n\r\n").replace("HTTP/1.1", "HTTP/1.0"),
        ),
        ("a folded line", get("/healthz", "a: b\r\n c: d\r\n")),
        (
            "a folded first line",
            get("/healthz", "").replace("host: x", " host: x"),
        ),
        ("a bare line feed in the head", get("/healthz", "a: b\n")),
        (
            "line feeds alone",
            "GET /healthz HTTP/1.1\nhost: x\n\n".to_owned(),
        ),
        ("a bare carriage return", get("/healthz", "a: b\rc: d\r\n")),
        ("a NUL in a value", get("/healthz", "a: b\0c\r\n")),
        ("a NUL in a name", get("/healthz", "a\0: b\r\n")),
        ("a NUL in the path", get("/healthz\0", "")),
        ("a control character", get("/healthz", "a: b\u{1}\r\n")),
        ("a header without a colon", get("/healthz", "abc\r\n")),
        ("two hosts", get("/healthz", "host: y\r\n")),
        ("two spaces", get(" /healthz", "")),
        (
            "a tab for a space",
            get("/healthz", "").replacen(' ', "\t", 1),
        ),
        ("no version", "GET /healthz\r\n\r\n".to_owned()),
        (
            "another version",
            get("/healthz", "").replace("HTTP/1.1", "HTTP/1.2"),
        ),
        (
            "HTTP/2 in a line",
            get("/healthz", "").replace("HTTP/1.1", "HTTP/2.0"),
        ),
        ("a path without its beginning", get("healthz", "")),
        (
            "CONNECT",
            "CONNECT 127.0.0.1:80 HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
        ),
        ("another scheme", get("ftp://x/healthz", "")),
        ("a space in the path", get("/health z", "")),
        (
            "another protocol",
            "\x16\x03\x01\x02\0\x01\0\x01\u{7f}\n\n\r\n\r\n".to_owned(),
        ),
    ];
    let mut answered = 0;

    for (name, request) in cases {
        for pieces in [1, 3] {
            let mut wire = Wire::to(&server).await;
            wire.send(get("/readyz", "")).await;
            let all = format!("{request}{SMUGGLED}");
            for piece in all.as_bytes().chunks(all.len().div_ceil(pieces)) {
                wire.send(piece).await;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }

            let (told, closed) = wire.read().await;

            let statuses: Vec<u16> = told.iter().map(|told| told.status).collect();
            assert_eq!(
                (statuses, closed),
                (vec![200, 400], true),
                "{name}: {told:#?}"
            );
            assert_eq!(told[1].class(), "BadRequestError", "{name}");
            assert!(
                told[1].head.contains("connection: close"),
                "{name}: {told:?}"
            );
            answered += 1;
        }
    }
    println!("{answered} requests refused, none of what came behind them was read");
}

#[tokio::test]
async fn what_is_too_much_for_a_head_is_a_431() {
    let server = Server::start();
    let fields = |count: usize| "a: b\r\n".repeat(count);
    let field = |bytes: usize| format!("a: {}\r\n", "b".repeat(bytes));
    let cases = [
        ("a long value", get("/healthz", &field(8 * 1024 + 1)), 431),
        (
            "a value just within",
            get("/healthz", &field(8 * 1024)),
            200,
        ),
        (
            "many long values",
            get("/healthz", &field(8000).repeat(5)),
            431,
        ),
        ("101 fields", get("/healthz", &fields(99)), 431),
        ("100 fields", get("/healthz", &fields(98)), 200),
        (
            "a long path",
            get(&format!("/{}", "x".repeat(33 * 1024)), ""),
            431,
        ),
        (
            "a path without an end",
            format!("GET /{}", "x".repeat(100_000)),
            431,
        ),
        (
            "a name without an end",
            format!("GET / HTTP/1.1\r\n{}", "x".repeat(100_000)),
            431,
        ),
        ("empty lines without an end", "\r\n".repeat(100_000), 431),
    ];

    for (name, request, status) in cases {
        let mut wire = Wire::to(&server).await;
        wire.send(&request).await;
        wire.send(SMUGGLED.replace("host: x", "connection: close"))
            .await;

        let (told, closed) = wire.read().await;

        assert_eq!((told[0].status, closed), (status, true), "{name}: {told:?}");
        if status == 431 {
            assert_eq!(told.len(), 1, "{name}: {told:?}");
            assert_eq!(told[0].class(), "PayloadTooLargeError", "{name}");
        }
    }
}

#[tokio::test]
async fn chunks_that_keep_to_no_length_end_the_request_and_the_connection() {
    let server = Server::start();
    let cases = [
        "ffffffffffffffff\r\n{}",
        "fffffffffffffffffffff\r\n{}",
        "7fffffffffffffff\r\n{}",
        "2\n{}\r\n0\r\n\r\n",
        "2\r\n{}0\r\n\r\n",
        "2\r\n{}\n0\r\n\r\n",
        "0x2\r\n{}\r\n0\r\n\r\n",
        "2 \r\n{}\r\n0\r\n\r\n",
        "-2\r\n{}\r\n0\r\n\r\n",
        "\r\n{}\r\n0\r\n\r\n",
        "2;a\n\r\n{}\r\n0\r\n\r\n",
        "2\r\n{}\r\n0\r\na: b\n\r\n",
    ];

    for body in cases {
        let began = Instant::now();
        let mut wire = Wire::to(&server).await;
        wire.send(post("transfer-encoding: chunked\r\n", body))
            .await;
        wire.send(SMUGGLED).await;

        let (told, closed) = wire.read().await;

        assert!(closed && told.len() == 1, "{body:?}: {told:?}");
        assert_eq!(told[0].status, 422, "{body:?}: {told:?}");
        assert!(began.elapsed() < Duration::from_secs(5), "{body:?}");
    }
}

#[tokio::test]
async fn plain_oddities_are_served() {
    let server = Server::start();
    let function = r#"{"name": "NAME", "instructions": "x"}"#;
    let length = format!("content-length: {}\r\n", function.len());
    let chunked = format!(
        "{:x};name=\"v;w\";x\r\n{function}\r\n0\r\ntrailer: x\r\n\r\n",
        function.len()
    );
    let close = "connection: close\r\n";
    let cases = [
        (
            "chunks with extensions and a trailer",
            post(&format!("{close}transfer-encoding: Chunked\r\n"), &chunked),
            201,
        ),
        ("a length", post(&format!("{close}{length}"), function), 201),
        (
            "an expectation",
            post(
                &format!("{close}{length}expect: 100-continue\r\n"),
                function,
            ),
            201,
        ),
        (
            "another expectation",
            post(&format!("{close}{length}expect: gold\r\n"), function),
            201,
        ),
        (
            "an absolute address",
            get("http://elsewhere/healthz", close),
            200,
        ),
        (
            "an absolute address and no token",
            get("http://elsewhere/v2/functions", close).replace(ALPHA, "x"),
            401,
        ),
        (
            "HTTP/1.0",
            get("/healthz", "").replace("HTTP/1.1", "HTTP/1.0"),
            200,
        ),
        (
            "no host",
            get("/healthz", close).replace("host: x\r\n", ""),
            200,
        ),
        (
            "empty lines first",
            format!("\r\n\r\n{}", get("/healthz", close)),
            200,
        ),
        (
            "an asterisk",
            get("*", close).replace("GET", "OPTIONS"),
            404,
        ),
        (
            "another method",
            get("/healthz", close).replace("GET", "BREW"),
            405,
        ),
        (
            "an upgrade",
            get(
                "/healthz",
                "connection: upgrade, close\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n",
            ),
            200,
        ),
    ];

    for (number, (name, request, status)) in cases.into_iter().enumerate() {
        let mut wire = Wire::to(&server).await;
        wire.send(request.replace("NAME", &format!("n{number:03}")))
            .await;

        let (told, closed) = wire.read().await;

        let last = told.last().unwrap_or_else(|| panic!("{name}"));
        assert_eq!((last.status, closed), (status, true), "{name}: {told:?}");
    }
}

#[tokio::test]
async fn no_spelling_of_a_path_leads_to_another_one() {
    let server = Server::start();
    let spellings = [
        "/v2/nothing/../functions",
        "/v2/./functions",
        "/v2//functions",
        "//v2/functions",
        "/v2/functions//",
        "/v2/functions;x=1",
        "/v2;x/functions",
        "/v2/functions%2f",
        "/v2%2ffunctions",
        "/v2/%66unctions/..",
        "/v2/%2e%2e/healthz",
        "/v2/../healthz",
        "/v2/..%2fhealthz",
        "/v2\\functions",
        "/V2/functions",
        "/v2/Functions",
        "/v2/functions\u{e9}",
        "/healthz/../v2/functions",
    ];

    for path in spellings {
        let mut wire = Wire::to(&server).await;
        wire.send(get(path, "connection: close\r\n")).await;
        let (told, _) = wire.read().await;
        assert!(matches!(told[0].status, 400 | 404), "{path}: {told:?}");

        let mut wire = Wire::to(&server).await;
        wire.send(get(path, "connection: close\r\n").replace(ALPHA, "x"))
            .await;
        let (told, _) = wire.read().await;
        assert!(
            matches!(told[0].status, 400 | 401 | 404),
            "{path}: {told:?}"
        );
    }
}

#[tokio::test]
async fn requests_in_a_row_are_answered_in_their_order() {
    let server = Server::start();
    let mut wire = Wire::to(&server).await;
    let mut all = String::new();
    for number in 0..50 {
        let body = format!(r#"{{"name": "n{number}", "instructions": "x"}}"#);
        if number % 2 == 0 {
            all += &post(&format!("content-length: {}\r\n", body.len()), &body);
        } else {
            let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
            all += &post("transfer-encoding: chunked\r\n", &chunks);
        }
    }
    all += &get("/healthz", "connection: close\r\n");
    all += SMUGGLED;

    wire.send(all).await;
    let (told, closed) = wire.read().await;

    assert!(closed);
    assert_eq!(told.len(), 51);
    for (number, told) in told[..50].iter().enumerate() {
        let body: Value = serde_json::from_str(&told.body).unwrap();
        assert_eq!(
            (told.status, &body["name"]),
            (201, &Value::from(format!("n{number}")))
        );
    }
}

#[tokio::test]
async fn a_flood_of_streams_opened_and_reset_ends_its_own_connection_alone() {
    let server = Server::start();
    let frame = |kind: u8, flags: u8, stream: u32, payload: &[u8]| {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        [head, payload.to_vec()].concat()
    };
    let mut flood = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    flood.extend(frame(4, 0, 0, &[]));
    for number in 0..20_000 {
        let stream = number * 2 + 1;
        // `GET / http`, by their places in the table.
        flood.extend(frame(1, 5, stream, &[0x82, 0x84, 0x86]));
        flood.extend(frame(3, 0, stream, &8_u32.to_be_bytes()));
    }
    let mut wire = Wire::to(&server).await;
    let began = Instant::now();

    wire.send(&flood).await;
    let mut told = Vec::new();
    let reading = timeout(Duration::from_secs(5), wire.0.read_to_end(&mut told)).await;

    assert!(reading.is_ok(), "the connection is still open");
    println!("closed after {:?}", began.elapsed());
    let mut other = Wire::to(&server).await;
    other.send(get("/healthz", "connection: close\r\n")).await;
    let (told, _) = other.read().await;
    assert_eq!(told[0].status, 200);
}
