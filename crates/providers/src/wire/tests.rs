//! Requests over real sockets, and the addresses that none may reach.

use std::{
    collections::{BTreeMap, VecDeque},
    io::Write as _,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use domain::{
    ChatRequest, ExtraHeaders, JsonObject, Message, ModelName, Part, Role, Secret,
    seams::{
        EgressPolicy, KeyRefusals, ProviderError, ProviderErrorKind as Kind, SystemClock, Target,
    },
};
use http::HeaderMap;
use testkit::QuietPort;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

use super::{Client, Event, Fault, Framing, Head, WireRequest, left_out_headers};
use crate::{EgressOptions, UpstreamOptions};

const FINE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";

/// A target at that address.
pub(crate) fn target(api_base: &str) -> Target {
    Target {
        name: ModelName::parse("p/m").unwrap(),
        provider: "p".to_owned(),
        model: "m".to_owned(),
        api_base: Some(api_base.to_owned()),
        egress: EgressPolicy::Operator,
        key: None,
        keys: Arc::default(),
        options: JsonObject::new(),
        extra_headers: ExtraHeaders::default(),
        settings: BTreeMap::new(),
        timeout: Duration::from_secs(20),
        key_refusals: KeyRefusals::default(),
    }
}

/// A client that may dial those addresses for tenants, and that is patient with streams for 0.3 s.
pub(crate) fn client(allow: &[&str]) -> Client {
    let allow: Vec<String> = allow.iter().map(|&entry| entry.to_owned()).collect();
    let options = EgressOptions {
        allow_documents: allow.clone(),
        allow,
    };
    Client::new(&options, &upstream_options(), Arc::new(SystemClock)).unwrap()
}

pub(crate) const fn upstream_options() -> UpstreamOptions {
    UpstreamOptions {
        connect_timeout_seconds: 5.0,
        timeout_seconds: 20.0,
        idle_timeout_seconds: 0.3,
    }
}

/// The events in a body.
pub(crate) fn events(body: &[u8]) -> Vec<Event> {
    let mut events = VecDeque::new();
    Framing::events().push(body, &mut events).unwrap();
    events.into()
}

/// The lines in a body, as events.
pub(crate) fn lines(body: &[u8]) -> Vec<Event> {
    let (mut framing, mut events) = (Framing::lines(), VecDeque::new());
    framing.push(body, &mut events).unwrap();
    events.extend(framing.finish().unwrap_or_default());
    events.into()
}

fn request() -> WireRequest {
    WireRequest {
        body: b"{}".to_vec(),
        ..WireRequest::json("chat/completions", &())
    }
}

async fn ask(client: &Client, api_base: &str, egress: EgressPolicy) -> Result<u16, ProviderError> {
    let target = Target {
        egress,
        ..target(api_base)
    };
    let answer = client.send(&target, request()).await;
    answer.map(|answer| answer.head.status)
}

async fn ask_tenant(client: &Client, api_base: &str) -> Result<u16, (Kind, String)> {
    let answer = ask(client, api_base, EgressPolicy::Tenant).await;
    answer.map_err(|error| (error.kind, error.reason))
}

/// The refusal of that address: one text, whatever stands behind it.
fn refused(url: &str) -> Result<u16, (Kind, String)> {
    let plain = url::Url::parse(url).ok();
    let plain = plain.filter(|url| {
        url.scheme().starts_with("http") && url.username().is_empty() && url.password().is_none()
    });
    let reason = match plain {
        Some(url) => format!(
            "the address `{}:{}` is not allowed: projects may reach public addresses by `https`, and what the \
             operator's `egress.allow` lists",
            url.host_str().unwrap(),
            url.port_or_known_default().unwrap()
        ),
        None => {
            "the address is not allowed: it is no `https` or `http` URL of a host alone".to_owned()
        }
    };
    Err((Kind::RefusedAddress, reason))
}

/// A host that gives every request the same answer, and tells what it was asked.
pub(crate) struct Host {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    pub(crate) requests: mpsc::UnboundedReceiver<String>,
}

impl Host {
    /// A host that closes the connection after its answer.
    pub(crate) async fn saying(answer: impl Into<Vec<u8>>) -> Self {
        Self::with_end(answer.into(), true).await
    }

    /// A host that keeps the connection open after its answer.
    pub(crate) async fn stalling_after(answer: impl Into<Vec<u8>>) -> Self {
        Self::with_end(answer.into(), false).await
    }

    async fn with_end(answer: Vec<u8>, closes: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        let (told, requests) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let request = read_request(&mut stream).await;
                told.send(request).ok();
                stream.write_all(&answer).await.ok();
                if !closes {
                    // Until the client goes away.
                    let end = stream.read(&mut [0; 1]).await;
                    told.send(format!("closed: {}", matches!(end, Ok(0) | Err(_))))
                        .ok();
                }
            }
        });
        Self {
            address,
            connections,
            requests,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Reads to the end of the head and of the body, which is an object.
async fn read_request(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    let is_whole = |read: &[u8]| {
        let text = std::str::from_utf8(read).unwrap_or_default();
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
        body.is_some_and(|body| serde_json::from_str::<serde_json::Value>(body).is_ok())
    };
    while !(read.ends_with(b"}") && is_whole(&read)) {
        match stream.read_u8().await {
            Ok(byte) => read.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(read).unwrap()
}

#[tokio::test]
async fn no_spelling_of_a_private_address_is_dialled() {
    let canary = Host::saying(FINE).await;
    let port = canary.address.port();
    let hosts = [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0x7f.0.0.1",
        "017700000001",
        "0177.0.0.1",
        "0177.1",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "127%2e0%2e0%2e1",
        "１２７.０.０.１",
        "127。0。0。1",
        "①②⑦.0.0.1",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b:1::127.0.0.1]",
        "[2002:7f00:1::]",
        "[2001:0:7f00:1::]",
        "[fe80::5efe:127.0.0.1]",
        "[2606:4700::5efe:127.0.0.1]",
        "10.0.0.1",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "192.168.0.1",
        "100.100.100.200",
        "localhost",
        "LOCALHOST",
        "loc%61lhost",
    ];
    let client = client(&[]);

    for host in hosts {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{host}:{port}/v1");
            assert_eq!(ask_tenant(&client, &url).await, refused(&url), "{url}");
        }
    }

    assert_eq!(canary.connections(), 0);
    assert_eq!(
        ask(&client, &canary.url(), EgressPolicy::Operator)
            .await
            .unwrap(),
        200
    );
    assert_eq!(canary.connections(), 1);
}

#[tokio::test]
async fn what_is_no_plain_https_address_is_refused() {
    let client = client(&["127.0.0.1:9"]);

    for url in [
        "",
        "127.0.0.1",
        "//127.0.0.1/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "data:text/plain,x",
        "http://example.com/v1",
        "http://8.8.8.8/v1",
        "https://user@8.8.8.8/",
        "https://user:password@8.8.8.8/",
        "http://:x@127.0.0.1:9/",
        "https://[fe80::1%25eth0]/",
        "https://256.256.256.256/",
        "https:///",
    ] {
        assert_eq!(ask_tenant(&client, url).await, refused(url), "{url}");
    }
}

#[test]
fn a_long_list_of_ports_does_not_read_the_certificate_authorities_for_each() {
    let allow: Vec<String> = (1..=500).map(|port| format!("10.0.0.0/8:{port}")).collect();
    let allow: Vec<&str> = allow.iter().map(String::as_str).collect();
    let began = std::time::Instant::now();

    drop(client(&allow));

    // A thousand clients; to read the authorities for each of them takes half a minute and more.
    let took = began.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[tokio::test]
async fn a_listed_name_is_dialled_on_its_port_alone() {
    let listed = Host::saying(FINE).await;
    let other = Host::saying(FINE).await;
    let port = listed.address.port();
    let client = client(&[&format!("localhost:{port}")]);

    for host in ["localhost", "LOCALHOST"] {
        let url = format!("http://{host}:{port}/v1");
        assert_eq!(ask_tenant(&client, &url).await, Ok(200), "{url}");
    }
    let elsewhere = other.address.port();
    for url in [
        format!("http://127.0.0.1:{port}/v1"),
        format!("http://localhost:{elsewhere}/v1"),
        format!("https://localhost:{elsewhere}/v1"),
    ] {
        assert_eq!(ask_tenant(&client, &url).await, refused(&url), "{url}");
    }
    assert_eq!((listed.connections(), other.connections()), (2, 0));
}

#[tokio::test]
async fn a_listed_range_is_dialled_on_its_port_alone() {
    let listed = Host::saying(FINE).await;
    let other = Host::saying(FINE).await;
    let (port, other_port) = (listed.address.port(), other.address.port());
    let ranges = [format!("127.0.0.0/8:{port}"), format!("[::1]:{port}")];
    let client = client(&ranges.each_ref().map(String::as_str));

    let fine = [
        format!("http://127.0.0.1:{port}/v1"),
        format!("http://2130706433:{port}/v1"),
        format!("http://[::ffff:127.0.0.1]:{port}/v1"),
        format!("http://localhost:{port}/v1"),
    ];
    let not = [
        format!("http://127.0.0.1:{other_port}/v1"),
        format!("http://10.0.0.1:{port}/v1"),
        format!("http://8.8.8.8:{port}/v1"),
        format!("http://localhost:{other_port}/v1"),
    ];

    for url in &not {
        assert_eq!(ask_tenant(&client, url).await, refused(url), "{url}");
    }
    for url in &fine[..2] {
        assert_eq!(ask_tenant(&client, url).await, Ok(200), "{url}");
    }
    for url in &fine[2..] {
        // Whether the machine has the mapped form is its own affair; it is not refused.
        assert_ne!(ask_tenant(&client, url).await, refused(url), "{url}");
    }
    assert!(listed.connections() >= 2);
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn addresses_in_messages_are_held_to_the_documents_list() {
    let client = client(&["localhost:8000", "10.0.0.0/8:80"]);
    let check = async |part: Part| {
        let request = ChatRequest {
            messages: vec![Message::new(Role::User, vec![part])],
            ..ChatRequest::default()
        };
        let checked = client.with_media(&target(""), &request, |_, _| false).await;
        checked.map(|_| ()).map_err(|error| error.kind)
    };

    for url in [
        "data:image/png;base64,AAAA",
        "https://8.8.8.8/a.png",
        "http://8.8.8.8/a.png",
        "http://localhost:8000/a.png",
        "http://10.1.2.3/a.png",
    ] {
        assert_eq!(check(Part::Image(url.to_owned())).await, Ok(()), "{url}");
    }
    for url in [
        "https://127.0.0.1/a.png",
        "https://localhost/a.png",
        "http://localhost:8001/a.png",
        "https://8.8.8.8:8443/a.png",
        "http://169.254.169.254/latest/meta-data",
        "https://user@8.8.8.8/a.png",
    ] {
        let part = Part::File(url.to_owned());
        assert_eq!(check(part).await, Err(Kind::RefusedAddress), "{url}");
    }
    let given = async |turn: &str| {
        let request = ChatRequest {
            messages: vec![Message {
                as_given: Some(domain::Json::parse(turn).unwrap()),
                ..Message::new(Role::User, Vec::new())
            }],
            ..ChatRequest::default()
        };
        let checked = client.with_media(&target(""), &request, |_, _| false).await;
        checked.map(|_| ()).map_err(|error| error.kind)
    };
    let video = r#"{"role":"user","content":[{"type":"video_url","video_url":{"url":"URL"}}]}"#;
    let fine = video.replace("URL", "https://8.8.8.8/a.mp4");
    assert_eq!(given(&fine).await, Ok(()));
    for url in [
        "http://192.168.0.1/",
        "https://2130706433/",
        "HTTP:169.254.169.254",
    ] {
        let refused = given(&video.replace("URL", url)).await;
        assert_eq!(refused, Err(Kind::RefusedAddress), "{url}");
    }

    for url in ["file:///etc/passwd", "a.png"] {
        let part = Part::File(url.to_owned());
        assert_eq!(check(part).await, Err(Kind::Invalid), "{url}");
    }
    assert_eq!(
        check(Part::Text("http://127.0.0.1/".to_owned())).await,
        Ok(())
    );
}

#[tokio::test]
async fn a_redirect_is_a_fault_and_is_not_followed() {
    let far = Host::saying(FINE).await;
    let near = Host::saying(format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n",
        far.url()
    ))
    .await;

    let status = ask(&client(&[]), &near.url(), EgressPolicy::Operator).await;

    assert_eq!(status.unwrap(), 307);
    assert_eq!((near.connections(), far.connections()), (1, 0));
}

#[tokio::test]
async fn answers_that_are_too_large_are_given_up() {
    let zeros = vec![0; 33 * 1024 * 1024];
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    bomb.write_all(&zeros).unwrap();
    let bomb = bomb.finish().unwrap();
    let head = |length: usize, more: &str| {
        format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n{more}\r\n").into_bytes()
    };
    let plain = Host::saying([head(zeros.len(), ""), zeros].concat()).await;
    let packed = [head(bomb.len(), "content-encoding: gzip\r\n"), bomb].concat();
    let packed = Host::saying(packed).await;

    for host in [plain, packed] {
        let error = ask(&client(&[]), &host.url(), EgressPolicy::Operator).await;
        let error = error.unwrap_err();
        assert_eq!((error.kind, error.status), (Kind::Protocol, Some(200)));
        assert_eq!(error.reason, "the provider's answer is too large");
    }
}

#[tokio::test]
async fn compressed_answers_are_read() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(br#"{"a":1}"#).unwrap();
    let packed = packed.finish().unwrap();
    let length = packed.len();
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\ncontent-encoding: gzip\r\n\r\n");
    let host = Host::saying([head.into_bytes(), packed].concat()).await;

    let answer = client(&[])
        .send(&target(&host.url()), request())
        .await
        .unwrap();

    assert_eq!(&answer.body[..], br#"{"a":1}"#);
}

#[tokio::test]
async fn time_runs_out_before_the_head_and_inside_the_body() {
    let silent = Host::stalling_after("").await;
    let slow = Host::stalling_after("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{").await;

    for host in [silent, slow] {
        let target = Target {
            timeout: Duration::from_millis(200),
            ..target(&host.url())
        };
        let error = client(&[]).send(&target, request()).await.unwrap_err();
        assert_eq!(error.kind, Kind::Timeout);
        assert_eq!(error.reason, "the provider did not answer within 0.2 s");
    }
}

#[tokio::test]
async fn dropping_the_request_closes_the_connection() {
    let mut host = Host::stalling_after("").await;
    let client = client(&[]);
    let target = target(&host.url());

    {
        let sending = client.send(&target, request());
        tokio::pin!(sending);
        tokio::select! {
            answer = &mut sending => panic!("answered: {answer:?}"),
            request = host.requests.recv() => assert!(request.unwrap().starts_with("POST /v1/")),
        }
    }

    assert_eq!(host.requests.recv().await.unwrap(), "closed: true");
}

#[tokio::test]
async fn broken_connections_and_broken_answers_are_told_apart() {
    let quiet = QuietPort::take();
    let nobody = format!("http://{}/v1", quiet.address());
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let no_tls = format!("https://{}/v1", plain.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = plain.accept().await.unwrap();
        stream.write_all(FINE.as_bytes()).await.unwrap();
    });
    let silent = Host::saying("").await;
    let garbage = Host::saying("this is not HTTP at all\r\n\r\n").await;
    let cut = Host::saying("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{").await;
    let cut_chunk = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{}";
    let cut_chunk = Host::saying(cut_chunk).await;
    let bad_gzip = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}";
    let bad_gzip = Host::saying(bad_gzip).await;

    let cases = [
        (nobody.as_str(), Kind::Connection),
        (&no_tls, Kind::Connection),
        ("http://no..such..host/v1", Kind::Connection),
        (&silent.url(), Kind::Connection),
        (&garbage.url(), Kind::Protocol),
        (&cut.url(), Kind::Protocol),
        (&cut_chunk.url(), Kind::Protocol),
        (&bad_gzip.url(), Kind::Protocol),
        ("nonsense", Kind::Misconfigured),
    ];

    for (url, kind) in cases {
        let error = ask(&client(&[]), url, EgressPolicy::Operator)
            .await
            .unwrap_err();
        assert_eq!(error.kind, kind, "{url}: {}", error.reason);
    }
    let homeless = Target {
        api_base: None,
        ..target("")
    };
    let error = client(&[]).send(&homeless, request()).await.unwrap_err();
    assert_eq!(
        (error.kind, error.reason.as_str()),
        (Kind::Misconfigured, "the provider `p` has no address")
    );
}

#[tokio::test]
async fn the_body_of_an_error_may_be_broken() {
    let host =
        Host::saying("HTTP/1.1 503 Busy\r\ncontent-length: 99\r\nretry-after: 2\r\n\r\nno").await;

    let answer = client(&[])
        .send(&target(&host.url()), request())
        .await
        .unwrap();

    assert_eq!((answer.head.status, &answer.body[..]), (503, &b"no"[..]));
    assert_eq!(answer.head.retry_after, Some(Duration::from_secs(2)));
}

#[tokio::test]
async fn headers_of_ours_cannot_be_set_from_outside() {
    let mut host = Host::saying(FINE).await;
    let given = [
        "Accept-Encoding",
        "API-Key",
        "Authorization",
        "Connection",
        "Content-Length",
        "Content-Type",
        "Cookie",
        "Expect",
        "Forwarded",
        "Host",
        "Keep-Alive",
        "Proxy-Authorization",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
        "X-API-Key",
        "X-Forwarded-For",
        "X-Goog-Api-Key",
        "X-Real-IP",
    ];
    let given = given.map(|name| (name.to_owned(), "stolen".to_owned()));
    let fine = [("X-Title".to_owned(), "mine".to_owned())];
    let mut own = HeaderMap::new();
    own.insert("authorization", "Bearer k".parse().unwrap());
    let target = Target {
        extra_headers: ExtraHeaders::parse(given.into_iter().chain(fine).collect()).unwrap(),
        ..target(&format!("{}/?a=b", host.url()))
    };

    let wire = WireRequest {
        headers: own,
        ..request()
    };
    client(&[]).send(&target, wire).await.unwrap();

    let left_out = left_out_headers(&target);
    assert_eq!(left_out.len(), 20);
    assert_eq!(
        left_out[2],
        "the header `Authorization` was left out: it is the gateway's to set"
    );
    let asked = host.requests.recv().await.unwrap();
    let (line, headers) = asked.split_once("\r\n").unwrap();
    let mut headers: Vec<&str> = headers
        .split("\r\n")
        .filter(|line| line.contains(": "))
        .collect();
    headers.sort_unstable();
    let decodable = headers.remove(0);
    let version = format!("user-agent: gatewright/{}", env!("CARGO_PKG_VERSION"));
    let at = format!("host: {}", host.address);
    assert_eq!(line, "POST /v1/chat/completions?a=b HTTP/1.1");
    assert!(decodable.starts_with("accept-encoding: ") && decodable.contains("gzip"));
    assert_eq!(
        headers,
        [
            "accept: application/json",
            "authorization: Bearer k",
            "content-length: 2",
            "content-type: application/json",
            at.as_str(),
            version.as_str(),
            "x-title: mine",
        ]
    );
}

#[test]
fn a_last_segment_gives_way_to_what_stands_in_its_place() {
    let wire = WireRequest {
        instead_of: Some("v1"),
        ..WireRequest::json("api/chat", &())
    };
    let at = |url: &str| wire.address(url.parse().unwrap()).path().to_owned();

    assert_eq!(at("http://h"), "/api/chat");
    assert_eq!(at("http://h/v1"), "/api/chat");
    assert_eq!(at("http://h/ollama/v1/"), "/ollama/api/chat");
    assert_eq!(at("http://h/v1/ollama"), "/v1/ollama/api/chat");
}

#[test]
fn what_is_told_of_a_failure_is_filtered() {
    let head = |status| Head {
        status,
        retry_after: Some(Duration::from_secs(1)),
        cost: None,
    };
    let target = Target {
        key: Some(Secret::new("hunter2")),
        ..target("http://localhost")
    };
    let fault = |kind, words: Option<&str>| Fault {
        kind,
        status: None,
        words: words.map(str::to_owned),
        wait: None,
        may_be_demand: false,
    };
    let told = |status, kind, words| {
        let error = head(status).failure(&target, fault(kind, words));
        (
            error.status,
            error.retry_after.unwrap().as_secs(),
            error.reason,
        )
    };

    let cases = [
        told(401, Kind::Auth, Some("bad key hunter2")),
        told(402, Kind::Auth, Some("no balance for hunter2")),
        told(402, Kind::Auth, None),
        told(400, Kind::Invalid, Some("bad key hunter2")),
        told(500, Kind::Failed, None),
        told(500, Kind::Failed, Some("  ")),
        told(302, Kind::Protocol, None),
        told(200, Kind::Protocol, None),
    ];

    let expected = [
        (401, "provider_auth"),
        (402, "no balance for [secret]"),
        (402, "the provider answered with status 402"),
        (400, "bad key [secret]"),
        (500, "the provider answered with status 500"),
        (500, "the provider answered with status 500"),
        (302, "the provider answered with a redirect (status 302)"),
        (200, "the provider's answer makes no sense (status 200)"),
    ];
    assert_eq!(
        cases,
        expected.map(|(status, reason)| (Some(status), 1, reason.to_owned()))
    );
}

#[tokio::test]
async fn what_may_not_be_dialled_is_known_without_looking_a_name_up() {
    let client = client(&["127.0.0.0/8:8000", "gpu.internal:8000"]);
    let may = |api_base: &str| {
        let target = Target {
            egress: EgressPolicy::Tenant,
            ..target(api_base)
        };
        client.check(&target).map_err(|error| error.reason)
    };

    for fine in [
        "https://api.example/v1",
        "https://nowhere.invalid/v1",
        "http://localhost:8000/v1",
        "https://a.localhost:8000/v1",
        "http://gpu.internal:8000",
        "http://127.1:8000",
    ] {
        assert_eq!(may(fine), Ok(()), "{fine}");
    }
    for (refused, place) in [
        (
            "http://localhost:11434/key-canary?k=canary",
            "`localhost:11434`",
        ),
        ("https://localhost./v1", "`localhost.:443`"),
        ("https://a.localhost", "`a.localhost:443`"),
        ("http://api.example/v1", "`api.example:80`"),
        ("https://10.0.0.7:8443", "`10.0.0.7:8443`"),
        ("https://[::1]:9", "`[::1]:9`"),
        ("https://k:canary@api.example", "URL"),
    ] {
        let reason = may(refused).unwrap_err();
        assert!(
            reason.contains(place) && !reason.contains("canary"),
            "{refused}: {reason}"
        );
        assert!(
            reason.contains("`egress.allow`") || place == "URL",
            "{reason}"
        );
    }
}
