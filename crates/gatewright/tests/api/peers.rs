//! Peers that are slow, absent or too many: what they are cut off for, and that others are served.

use std::{
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{Answer, EndingKind, QuietPort, Script};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

use crate::server::{ALPHA, Api, BETA, Server, binary};

/// For what happens at once, on a busy machine.
const SOON: Duration = Duration::from_secs(10);

/// The bytes of a request with the token of alpha.
fn request(path: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ALPHA}\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

fn call(model: &Value) -> Value {
    let name = model
        .to_string()
        .replace(|it: char| !it.is_alphanumeric(), "-");
    json!({"name": format!("f{name}"), "instructions": "x", "model": model, "input": "go"})
}

async fn connect(server: &Server) -> TcpStream {
    let address = server.address.strip_prefix("http://").unwrap();
    TcpStream::connect(address).await.unwrap()
}

/// The span, when it has come to its end.
async fn closed(api: &Api, id: &str) -> Value {
    let began = Instant::now();
    loop {
        let span = api.get(&format!("/v2/spans/{id}")).await.body;
        if span["end_time"].is_string() {
            return span;
        }
        assert!(began.elapsed() < SOON, "the span {id} stays open");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_reader_who_takes_nothing_is_cut_and_its_span_says_so() {
    let story = Answer::text(&"word ".repeat(1_000_000)).piece_bytes(2000);
    let key = "GATEWRIGHT_LIMITS__READER_TIMEOUT_SECONDS";
    let (server, upstream) = Server::with_upstream_and(story, &[(key, "1")]).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8 * 1024).unwrap();
    let address = server.address.strip_prefix("http://").unwrap();
    let mut connection = socket.connect(address.parse().unwrap()).await.unwrap();
    let asked = request("/v2/call/stream", &call(&json!("house/a")));
    connection.write_all(&asked).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(connection.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let id = head
        .lines()
        .find_map(|line| line.strip_prefix("x-span-id: "));

    let span = closed(&server.api(), id.unwrap()).await;

    assert_eq!(span["error"], "client stalled");
    assert_eq!(span["meta"]["models_tried"][0]["status"], "cancelled");
    assert!(span["output"].as_str().unwrap().starts_with("word "));
    assert!(upstream.wait_until_idle(SOON).await);
    assert_eq!(upstream.endings()[0].kind, EndingKind::Left);
    let mut rest = Vec::new();
    // What was sent before is read, or the connection is reset: there is an end in any case.
    let ended = tokio::time::timeout(SOON, connection.read_to_end(&mut rest)).await;
    assert!(ended.is_ok());
    assert!(!rest.ends_with(b"0\r\n\r\n"), "a cut is no orderly end");
}

#[tokio::test]
async fn a_client_that_closes_its_half_has_left() {
    for path in ["/v2/call", "/v2/call/stream"] {
        let slow = Answer::text("late").after(Duration::from_mins(1));
        let (server, upstream) = Server::with_upstream(slow).await;
        let mut connection = connect(&server).await;
        let asked = request(path, &call(&json!("house/a")));
        connection.write_all(&asked).await.unwrap();
        assert!(upstream.wait_for_requests(1, SOON).await);

        connection.shutdown().await.unwrap();

        assert!(
            upstream.wait_until_idle(Duration::from_secs(1)).await,
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_model_that_hangs_leaves_room_for_the_others() {
    let script = Script::by(|request| match request.json()["model"].as_str() {
        Some("hangs") => Answer::text("late").after(Duration::from_mins(1)),
        _ => Answer::text("quick"),
    });
    let key = "GATEWRIGHT_LIMITS__MODEL_CALLS";
    let (server, upstream) = Server::with_upstream_and(script, &[(key, "2")]).await;
    let (alpha, beta) = (server.api(), server.api_with(BETA));
    let hang = |api: &Api, path: &'static str| {
        let (api, body) = (api.clone(), call(&json!("house/hangs")));
        tokio::spawn(async move { api.open_stream(path, &body).await.status() })
    };
    let hanging = [hang(&alpha, "/v2/call"), hang(&alpha, "/v2/call/stream")];
    assert!(upstream.wait_for_requests(2, SOON).await);

    let refused = alpha.post("/v2/call", call(&json!("house/hangs"))).await;
    let streamed = alpha
        .open_stream("/v2/call/stream", &call(&json!("house/hangs")))
        .await;
    let another = alpha.post("/v2/call", call(&json!("house/quick"))).await;
    let next = alpha
        .post("/v2/call", call(&json!(["house/hangs", "house/quick"])))
        .await;

    assert_eq!(
        (refused.status.as_u16(), refused.class()),
        (429, "RateLimitError")
    );
    let wait: u32 = refused.headers["retry-after"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!((1..=5).contains(&wait), "{wait}");
    let reason = "the project has as many calls of this model under way as it may";
    assert_eq!(refused.body["detail"]["reason"], reason);
    assert_eq!(streamed.status(), 429);
    assert_eq!(
        (another.status.as_u16(), &another.body["message"]),
        (200, &json!("quick"))
    );
    assert_eq!(
        (next.status.as_u16(), &next.body["message"]),
        (200, &json!("quick"))
    );
    let span = alpha.span(&next).await;
    assert_eq!(span["meta"]["models_tried"][0]["status"], "resting");

    let theirs = hang(&beta, "/v2/call");
    assert!(
        upstream.wait_for_requests(5, SOON).await,
        "another project has room of its own"
    );
    assert_eq!(upstream.open_requests(), 3);
    hanging
        .iter()
        .chain([&theirs])
        .for_each(tokio::task::JoinHandle::abort);
    assert!(upstream.wait_until_idle(SOON).await);
    let again = hang(&alpha, "/v2/call");
    assert!(
        upstream.wait_for_requests(6, SOON).await,
        "the room comes back"
    );
    again.abort();
}

/// Starts a server that may hold so few files open.
fn with_few_descriptors(dir: &std::path::Path, files: u32) -> (Child, String) {
    let quiet = QuietPort::take();
    let address = quiet.address().to_string();
    let program = binary();
    let mut command = std::process::Command::new("sh");
    let child = command
        .arg("-c")
        .arg(format!("ulimit -n {files}; exec \"$@\""))
        .arg("sh")
        .arg(program.get_program())
        .args(["serve", "--listen", &address, "--data-dir"])
        .arg(dir.join("data"))
        .current_dir(dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    (child, address)
}

/// What a new connection is told: the status of an answer, or that there was none before its end.
async fn told(address: &str) -> Option<String> {
    let mut connection = TcpStream::connect(address).await.ok()?;
    let asked = connection
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        .await;
    asked.ok()?;
    let mut answer = [0; 12];
    connection.read_exact(&mut answer).await.ok()?;
    Some(String::from_utf8_lossy(&answer[9..]).into_owned())
}

#[tokio::test]
async fn where_no_descriptor_is_left_clients_are_refused_and_not_kept_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, address) = with_few_descriptors(dir.path(), 96);
    let began = Instant::now();
    while told(&address).await.as_deref() != Some("200") {
        assert!(began.elapsed() < SOON * 2, "the server does not start");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    let mut held = Vec::new();
    for _ in 0..100 {
        held.extend(TcpStream::connect(&address).await);
    }
    let refused = tokio::time::timeout(SOON / 2, told(&address)).await;
    drop(held);
    let again = async {
        while told(&address).await.as_deref() != Some("200") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let again = tokio::time::timeout(SOON, again).await;
    child.kill().unwrap();
    child.wait().unwrap();

    assert_eq!(refused, Ok(None));
    assert!(again.is_ok());
}

#[tokio::test]
async fn beyond_its_connections_a_server_refuses_and_has_room_again() {
    let server = Server::start_with(&[("GATEWRIGHT_LIMITS__CONNECTIONS", "4")]);
    let address = server.address.strip_prefix("http://").unwrap().to_owned();
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(connect(&server).await);
    }
    // They are accepted in the order in which they came.
    let refused = tokio::time::timeout(SOON / 2, told(&address)).await;

    held.clear();

    assert_eq!(refused, Ok(None));
    let again = async {
        while told(&address).await.as_deref() != Some("200") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(tokio::time::timeout(SOON, again).await.is_ok());
}
