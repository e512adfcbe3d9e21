//! Secrets and texts that can be told from all others, put into every place that takes one, and looked for in every
//! place that must not show them: `reliability.md` I2.

use std::{os::unix::process::ExitStatusExt, path::Path};

use rustix::process::Signal;
use serde_json::json;
use testkit::{Answer, Received, Script};

use crate::server::{ALPHA, Api, BETA, Server, read};

/// Keys: they may stand nowhere but in what goes to their own host.
const OPERATOR: &str = "sk-canary-operator-7d1f0c9a55";
const OWN: &str = "sk-canary-own-b2c4e6a811";
const HEADER: &str = "canary-header-0f9e8d7c6b";
const AWS_SECRET: &str = "canaryAwsSecret1f2e3d4c5b6a";
const AWS_SESSION: &str = "canary-aws-session-99aa88bb";
const WRONG_TOKEN: &str = "canary-wrong-token-31415926535";

/// What people and models say: the record has it, and its own project's answers; a log or a metric never.
const TEXTS: [&str; 9] = [
    "zqcanaryinput",
    "zqcanaryoutput",
    "zqcanaryinstructions",
    "zqcanarytag",
    "zqcanarycomment",
    "zqcanaryerror",
    "zqcanarymeta",
    "zqcanaryquery",
    "zqcanarybroken",
];

/// A host that repeats every key that it was given in all that it says, and fails as its model's name has it.
fn parrot(request: &Received) -> Answer {
    let given: Vec<&str> = [
        "authorization",
        "x-house",
        "x-amz-security-token",
        "api-key",
    ]
    .iter()
    .filter_map(|name| request.header(name))
    .collect();
    let told = format!("zqcanaryerror: {} is no key of ours", given.join(" and "));
    let text = String::from_utf8_lossy(&request.body).into_owned() + &request.path;
    for status in [400, 401, 403, 404, 429, 500] {
        if text.contains(&format!("fails-{status}")) {
            return Answer::error(status, &told);
        }
    }
    if text.contains("fails-html") {
        return Answer::bytes(502, "text/html", format!("<h1>{told}</h1>"));
    }
    if text.contains("fails-in-band") {
        return Answer::body(200, &json!({"error": {"message": told, "code": 500}}));
    }
    if text.contains("fails-redirect") {
        return Answer::body(302, &json!({}))
            .header("location", "http://127.0.0.1:1/?zqcanaryerror");
    }
    Answer::text("zqcanaryoutput")
}

const FAULTS: [&str; 9] = [
    "fails-400",
    "fails-401",
    "fails-403",
    "fails-404",
    "fails-429",
    "fails-500",
    "fails-html",
    "fails-in-band",
    "fails-redirect",
];

/// Uses everything once, well and badly. Returns all that was answered.
async fn use_it_all(server: &Server, api_base: &str) -> String {
    let api = server.api();
    let mut told = Vec::new();
    let extra = json!({"api_base": api_base, "headers": {"x-house": HEADER}});
    let aws = json!({"access_key_id": "AKIDCANARY", "secret_access_key": AWS_SECRET, "session_token": AWS_SESSION});
    let aws_extra = json!({"api_base": api_base.replace("/v1", ""), "region": "eu-west-1"});
    let mut models = vec![json!({
        "name": "aws", "identifier": "bedrock/anthropic.claude-3-haiku-20240307-v1:0",
        "api_key": aws.to_string(), "extra": aws_extra,
    })];
    for fault in FAULTS.iter().chain(["well"].iter()) {
        models.push(json!({"name": fault, "identifier": format!("openai/{fault}"), "api_key": OWN, "extra": extra}));
    }
    for model in &models {
        let made = api.post("/v2/models/custom", model.clone()).await;
        assert_eq!(made.status, 200, "{made:?}");
        let path = format!("/v2/models/custom/{}", made.body["id"].as_str().unwrap());
        told.push(api.get(&path).await.text);
        told.push(
            api.patch(&path, json!({"extra": model["extra"]}))
                .await
                .text,
        );
        told.push(made.text);
    }
    let operators = FAULTS.iter().chain(["well"].iter());
    let operators = operators.map(|fault| format!("house/{fault}"));
    let own = models
        .iter()
        .map(|model| model["name"].as_str().unwrap().to_owned());
    for model in own.chain(operators) {
        told.extend(call_every_way(&api, &model).await);
    }
    told.extend(say_everything_else(server, &api).await);
    told.push(api.get("/metrics").await.text);
    told.push(api.get("/v2/models/custom").await.text);
    told.join("\n")
}

/// All ways to ask a model, and what is recorded of each.
async fn call_every_way(api: &Api, model: &str) -> Vec<String> {
    let schema =
        json!({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]});
    let function = json!({
        "name": format!("f/{}", model.replace(['/', '.', ':'], "-")),
        "instructions": "zqcanaryinstructions", "model": {"name": model, "extra_headers": {"x-house": HEADER}},
        "output_schema": schema, "configuration": {"invocation.structured_generation.max_attempts": 2},
    });
    let function = api.function(function).await;
    let id = function["id"].as_str().unwrap();
    let input = json!({"input": "zqcanaryinput", "tags": {"t": "zqcanarytag"}});
    let chat = json!({"model": model, "messages": [{"role": "user", "content": "zqcanaryinput"}]});
    let mut streamed = chat.clone();
    streamed["stream"] = json!(true);
    let asked = [
        (format!("/v2/functions/{id}/call"), input.clone()),
        (format!("/v2/functions/{id}/call/stream"), input),
        ("/v2/openai/chat/completions".to_owned(), chat),
        ("/v2/openai/chat/completions".to_owned(), streamed),
        (
            "/v2/embeddings".to_owned(),
            json!({"model": model, "input": "zqcanaryinput"}),
        ),
        (
            "/v2/rerank".to_owned(),
            json!({"model": model, "query": "zqcanaryquery", "documents": [{"text": "zqcanaryinput"}]}),
        ),
    ];
    let mut told = Vec::new();
    for (path, body) in asked {
        let answer = read(api.open_stream(&path, &body).await).await;
        if let Some(span) = answer.headers.get("x-span-id") {
            let span = format!("/v2/spans/{}", span.to_str().unwrap());
            told.push(api.get(&span).await.text);
        }
        told.push(format!("{:?} {}", answer.headers, answer.text));
    }
    told
}

/// Feedback, entries, spans, and requests that are wrong.
async fn say_everything_else(server: &Server, api: &Api) -> Vec<String> {
    let mut told = Vec::new();
    let span = json!({"name": "s", "input": "zqcanaryinput", "meta": {"m": "zqcanarymeta"}, "error": "zqcanaryerror"});
    let span = api.post("/v2/spans", span).await;
    let path = format!("/v2/spans/{}", span.body["id"].as_str().unwrap());
    api.post(
        &format!("{path}/feedback"),
        json!({"score": 1, "comment": "zqcanarycomment"}),
    )
    .await;
    let function = api.echo().await;
    let dataset = function["dataset_id"].as_str().unwrap();
    let entry = json!({"input": "zqcanaryinput", "output": "zqcanaryoutput"});
    api.post(&format!("/v2/datasets/{dataset}"), entry).await;
    let query = format!("/v2/datasets/{dataset}/entries/query?query=zqcanaryquery");
    api.send(reqwest::Method::POST, &query, None).await;
    for body in [
        r#"{"name": "zqcanarybroken"#,
        r#"{"name": 3, "instructions": "zqcanarybroken"}"#,
        r#"{"name": "a b", "zqcanarybroken": "zqcanarybroken"}"#,
    ] {
        let answer = api
            .send_text(
                reqwest::Method::POST,
                "/v2/functions",
                Some(body.to_owned()),
            )
            .await;
        told.push(answer.text);
    }
    for token in [WRONG_TOKEN, &format!("{ALPHA}x")] {
        told.push(server.api_with(token).get("/v2/functions").await.text);
    }
    let url = format!(
        "{}/v2/functions?token={WRONG_TOKEN}&q=zqcanaryquery",
        server.address
    );
    let client = reqwest::Client::new();
    let tries = [
        client.get(&url).header("cookie", WRONG_TOKEN),
        client
            .get(&url)
            .bearer_auth(ALPHA)
            .header("x-secret", WRONG_TOKEN),
        client.get(&url).basic_auth("u", Some(WRONG_TOKEN)),
    ];
    for request in tries {
        told.push(read(request.send().await.unwrap()).await.text);
    }
    let address = "http://zqcanaryquery:zqcanaryquery@127.0.0.1:9/zqcanaryquery";
    let document = json!({"type": "document_url", "document_url": address});
    let ocr = json!({"model": "local/ocr", "document": document});
    api.post("/v2/ocr", ocr).await;
    told
}

fn assert_none<'a>(text: &str, of: impl IntoIterator<Item = &'a str>, place: &str) {
    for canary in of {
        if let Some(at) = text.find(canary) {
            let from = text.floor_char_boundary(at.saturating_sub(600));
            let to = text.ceil_char_boundary((at + 200).min(text.len()));
            panic!("{place} has `{canary}`: …{}…", &text[from..to]);
        }
    }
}

const KEYS: [&str; 5] = [OPERATOR, OWN, HEADER, AWS_SECRET, AWS_SESSION];
const TOKENS: [&str; 3] = [ALPHA, BETA, WRONG_TOKEN];

#[tokio::test]
async fn no_key_and_no_text_stands_where_it_does_not_belong() {
    for level in ["trace", "debug", "info"] {
        let (mut server, upstream) = Server::with_upstream_and(
            Script::by(parrot),
            &[
                ("GATEWRIGHT_LOG", level),
                ("HOUSE_KEY", OPERATOR),
                ("GATEWRIGHT_PROVIDERS__HOUSE__API_KEY_ENV", "HOUSE_KEY"),
                ("GATEWRIGHT_OBSERVER__JUDGE", "house/fails-500"),
            ],
        )
        .await;

        let told = use_it_all(&server, &upstream.base_url()).await;
        let metrics = server.api_with("").get("/metrics").await.text;
        let head = |key: &str| {
            let requests = upstream.requests();
            requests
                .iter()
                .any(|request| format!("{:?}", request.headers).contains(key))
        };
        for key in [OPERATOR, OWN, HEADER, AWS_SESSION] {
            assert!(head(key), "`{key}` reaches its host");
        }
        let secrets = || KEYS.into_iter().chain(TOKENS);
        // What a project sends as a header of its own it may read again; nobody else.
        assert_none(&told, secrets().filter(|key| *key != HEADER), "an answer");
        assert_none(&metrics, secrets().chain(TEXTS), "a metric");
        server.stop().await;
        let log = server.log();
        assert!(
            log.len() > if level == "info" { 100 } else { 10_000 },
            "{log}"
        );
        assert_none(&log, secrets().chain(TEXTS), &format!("the log at {level}"));
        let files = files(
            &server.dir.path().join("data"),
            &secrets().filter(|key| *key != HEADER).collect::<Vec<_>>(),
        );
        println!(
            "{level}: {} requests upstream, {} bytes of answers, {} bytes of log, {files} data files: none of {} secrets",
            upstream.requests().len(),
            told.len(),
            log.len(),
            KEYS.len() + TOKENS.len(),
        );
    }
}

/// Looks through all files of a folder, and returns how many there are.
fn files(folder: &Path, secrets: &[&str]) -> usize {
    let mut count = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            assert_none(&text, secrets.iter().copied(), &path.display().to_string());
            count += 1;
        }
    }
    count
}

#[tokio::test]
async fn a_crash_leaves_no_core() {
    for signal in [Signal::ABORT, Signal::SEGV, Signal::BUS, Signal::QUIT] {
        let mut server = Server::start();
        server.api().model("m", "http://127.0.0.1:9/v1").await;

        let ended = server.end_by(signal);

        assert_eq!(ended.signal(), Some(signal.as_raw()), "{ended:?}");
        assert!(!ended.core_dumped(), "{ended:?}");
        let left = std::fs::read_dir(server.dir.path()).unwrap();
        let left: Vec<_> = left.map(|file| file.unwrap().file_name()).collect();
        assert_eq!(left, ["data"]);
        let data = std::fs::read_dir(server.dir.path().join("data")).unwrap();
        for file in data {
            let name = file.unwrap().file_name().into_string().unwrap();
            assert!(!name.starts_with("core"), "{name}");
        }
    }
}

/// What another process of the same user may see of this one: not its memory, not its environment with the keys.
#[tokio::test]
async fn others_of_the_same_user_do_not_see_into_it() {
    let server = Server::start();
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process_id())).unwrap();
    let uid = status
        .lines()
        .find_map(|line| line.strip_prefix("Uid:"))
        .unwrap();
    let is_root = uid.split_whitespace().next() == Some("0");

    let environment = std::fs::read(format!("/proc/{}/environ", server.process_id()));

    // Root sees everything; this test tells something for all others.
    assert!(is_root || environment.is_err(), "{environment:?}");
}
