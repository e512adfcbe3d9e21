//! Every spelling of an address inside, in every place where a caller gives one, with somebody who listens there:
//! `reliability.md` 7.

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::{Value, json};
use testkit::{Answer, Script, Upstream};
use tokio::net::{TcpListener, UdpSocket};

use crate::server::{Api, Server, read};

/// Listens inside, and counts who comes.
struct Canary {
    port: u16,
    private: Option<IpAddr>,
    connections: Arc<AtomicUsize>,
}

impl Canary {
    /// On one port of this machine's loopback addresses and of its own address in its network.
    async fn start() -> Self {
        let connections = Arc::new(AtomicUsize::new(0));
        let first = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = first.local_addr().unwrap().port();
        let private = private_address().await;
        let others = ["::1".parse().ok(), "127.0.1.1".parse().ok(), private];
        let mut listeners = vec![first];
        for address in others.into_iter().flatten() {
            // A machine may have no IPv6.
            listeners.extend(TcpListener::bind(SocketAddr::new(address, port)).await.ok());
        }
        for listener in listeners {
            let connections = connections.clone();
            tokio::spawn(async move {
                while listener.accept().await.is_ok() {
                    connections.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        Self {
            port,
            private,
            connections,
        }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// All spellings of addresses inside.
    fn hosts(&self) -> Vec<String> {
        let mut hosts: Vec<String> = HOSTS.map(str::to_owned).into();
        hosts.extend(self.private.map(|address| address.to_string()));
        if let Some(IpAddr::V4(address)) = self.private {
            hosts.extend([
                u32::from(address).to_string(),
                format!("{:#x}", u32::from(address)),
                format!("[::ffff:{address}]"),
                format!("[64:ff9b::{address}]"),
            ]);
        }
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        hosts.extend(Some(name.trim().to_owned()).filter(|name| !name.is_empty()));
        hosts
    }
}

/// The address that this machine has towards others. Nothing is sent.
async fn private_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").await.ok()?;
    socket.connect("192.0.2.1:9").await.ok()?;
    let address = socket.local_addr().ok()?.ip();
    let is_inside = matches!(address, IpAddr::V4(address) if address.is_private());
    is_inside.then_some(address)
}

const HOSTS: [&str; 50] = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7F.1",
    "0x7f.0.0.1",
    "017700000001",
    "0177.0.0.1",
    "0177.1",
    "127.0.0.1.",
    "127.1.",
    "%31%32%37.0.0.1",
    "127%2e0%2e0%2e1",
    "１２７.０.０.１",
    "127。0。0。1",
    "127．0．0．1",
    "①②⑦.0.0.1",
    "127.0.1.1",
    "127.255.255.254",
    "0",
    "0.0.0.0",
    "0x0",
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
    "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
    "[fe80::5efe:127.0.0.1]",
    "[2606:4700::5efe:127.0.0.1]",
    "[fec0::1]",
    "[ff02::1]",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "198.18.0.1",
    "[fd00:ec2::254]",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "loc%61lhost",
];

/// Where a caller can give an address: the route, and the body with it.
fn places(url: &str) -> Vec<(&'static str, &'static str, Value)> {
    let ocr = |model: &str, kind: &str| {
        let mut document = json!({"type": kind});
        document[kind] = json!(url);
        json!({"model": model, "document": document})
    };
    let chat = |part: Value| {
        let text = json!({"type": "text", "text": "what is it?"});
        json!({"model": "house/m", "messages": [{"role": "user", "content": [text, part]}]})
    };
    let called = |member: &str| json!({"name": "f", "instructions": "x", "model": "house/m", "input": {member: url}});
    let (at_ocr, at_chat, at_call) = ("/v2/ocr", "/v2/openai/chat/completions", "/v2/call");
    vec![
        (
            "a document to read here",
            at_ocr,
            ocr("local/ocr", "document_url"),
        ),
        (
            "an image to read here",
            at_ocr,
            ocr("local/ocr", "image_url"),
        ),
        (
            "a document for a vendor",
            at_ocr,
            ocr("reader", "document_url"),
        ),
        ("an image for a vendor", at_ocr, ocr("reader", "image_url")),
        (
            "a document for another vendor",
            at_ocr,
            ocr("other-reader", "document_url"),
        ),
        (
            "a document for a model that sees",
            at_ocr,
            ocr("vision/house/m", "document_url"),
        ),
        (
            "an image in a chat",
            at_chat,
            chat(json!({"type": "image_url", "image_url": {"url": url}})),
        ),
        (
            "a bare image in a chat",
            at_chat,
            chat(json!({"type": "image_url", "image_url": url})),
        ),
        (
            "a sound in a chat",
            at_chat,
            chat(json!({"type": "audio_url", "audio_url": {"url": url}})),
        ),
        (
            "a file in a chat",
            at_chat,
            chat(json!({"type": "file", "file": {"file_data": url}})),
        ),
        (
            "a file by its address in a chat",
            at_chat,
            chat(json!({"type": "file", "file": {"file_id": "x", "file_url": url}})),
        ),
        (
            "a film in a chat",
            at_chat,
            chat(json!({"type": "video_url", "video_url": {"url": url}})),
        ),
        (
            "an image in an input",
            at_call,
            called("_image_media_input"),
        ),
        (
            "a document in an input",
            at_call,
            called("_file_media_input"),
        ),
    ]
}

/// What a refusal says, without the address that was asked for.
fn plain(answer: &crate::server::Answer, host: &str, port: u16) -> String {
    let told = &answer.body["detail"];
    let told = told["reason"].to_string() + &told["explanation"].to_string();
    let told = told
        .replace(&port.to_string(), "<port>")
        .replace(host, "<host>");
    // The host as the parser has it.
    let (head, rest) = told.split_once('`').unwrap_or((&told, ""));
    let rest = rest.split_once('`').map_or("", |(_, rest)| rest);
    format!("{head}`<address>`{rest}")
}

async fn register(api: &Api, name: &str, identifier: &str, api_base: &str) {
    let body = json!({"name": name, "identifier": identifier, "api_key": "sk-of-its-own", "extra": {"api_base": api_base}});
    let answer = api.post("/v2/models/custom", body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[tokio::test]
async fn no_address_inside_is_dialled_or_passed_on_wherever_it_is_given() {
    let canary = Canary::start().await;
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().port()
    };
    let (server, upstream) = Server::with_upstream(Answer::text("hi")).await;
    let api = server.api();
    register(
        &api,
        "reader",
        "mistral/mistral-ocr-latest",
        &upstream.base_url(),
    )
    .await;
    register(
        &api,
        "other-reader",
        "docling/docling",
        &upstream.base_url(),
    )
    .await;
    let mut tried = 0;
    let mut told: BTreeSet<(String, u16, String, String)> = BTreeSet::new();

    for host in canary.hosts() {
        for scheme in ["http", "https"] {
            for port in [canary.port, closed] {
                let url = format!("{scheme}://{host}:{port}/v1");
                for (place, path, body) in places(&url) {
                    // In an input `https:` is an address; all else is a text, and is told as one.
                    if place.ends_with("in an input") && scheme == "http" {
                        continue;
                    }
                    let answer = read(api.open_stream(path, &body).await).await;
                    let is_refused = matches!(answer.status.as_u16(), 400 | 422);
                    assert!(is_refused, "{place}: {url}: {answer:?}");
                    let class = answer.class().to_owned();
                    let status = answer.status.as_u16();
                    told.insert((place.to_owned(), status, class, plain(&answer, &host, port)));
                    tried += 1;
                }
                let name = format!("m{tried}");
                register(&api, &name, "openai/x", &url).await;
                let chat = json!({"model": name, "messages": [{"role": "user", "content": "hi"}]});
                let answer = api.post("/v2/openai/chat/completions", chat).await;
                assert_eq!(
                    (answer.status.as_u16(), answer.class()),
                    (400, "BadRequestError"),
                    "{url}: {answer:?}"
                );
                let refusal = plain(&answer, &host, port);
                told.insert(("api_base".to_owned(), 400, String::new(), refusal));
                tried += 1;
            }
        }
    }

    assert_eq!(canary.connections(), 0);
    let heard = upstream.requests();
    assert!(
        heard.is_empty(),
        "{} requests were passed on: {:?}",
        heard.len(),
        heard[0]
    );
    println!(
        "{tried} requests, 0 connections, {} kinds of refusal: {told:#?}",
        told.len()
    );
}

#[tokio::test]
async fn no_redirect_leads_inside_and_no_key_follows_one() {
    let canary = Canary::start().await;
    let mut targets = Vec::new();
    for host in canary.hosts() {
        for scheme in ["http", "https"] {
            let target = format!("{scheme}://{host}:{}/v1", canary.port);
            targets.extend(reqwest::Url::parse(&target).map(String::from));
        }
    }
    let number = targets.len();
    let host = Upstream::start(Script::by(move |request| {
        // `/v1/<status>-<number of the target>/…`
        let (status, number) = request
            .path
            .split('/')
            .nth(2)
            .unwrap()
            .split_once('-')
            .unwrap();
        let target = &targets[number.parse::<usize>().unwrap()];
        Answer::body(status.parse().unwrap(), &json!({})).header("location", target)
    }))
    .await;
    let allow = json!([host.authority()]).to_string();
    let server = Server::start_with(&[
        ("GATEWRIGHT_EGRESS__ALLOW", &allow),
        ("GATEWRIGHT_EGRESS__ALLOW_DOCUMENTS", &allow),
    ]);
    let api = server.api();

    for (status, number) in [301, 302, 303, 307, 308].into_iter().cycle().zip(0..number) {
        let base = format!("{}/{status}-{number}", host.base_url());
        let name = format!("m{number}");
        register(&api, &name, "openai/x", &base).await;
        let chat = json!({"model": name, "messages": [{"role": "user", "content": "hi"}]});
        let called = api.post("/v2/openai/chat/completions", chat).await;
        assert_eq!(called.status, 502, "{status} {number}: {called:?}");
        let document = json!({"type": "document_url", "document_url": format!("{base}/a.pdf")});
        let document = json!({"model": "local/ocr", "document": document});
        let answer = api.post("/v2/ocr", document).await;
        assert!(
            answer.status.is_client_error(),
            "{status} {number}: {answer:?}"
        );
    }

    let asked = host.requests().len();
    assert!(asked >= 2 * number, "{asked}");
    assert_eq!(canary.connections(), 0);
    println!("{asked} redirects, 0 connections");
}
