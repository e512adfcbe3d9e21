//! Dialects, held to files: `golden/<protocol>/<case>/` has a request, the bytes of an answer, and what both become.
//!
//! `request.json` and `answer.http` are written by hand; `wire.http` (what went over the network) and `expected.json`
//! (what came of the answer; of a stream, its deltas) are compared, or rewritten with `UPDATE_GOLDEN=1`. A new case is new files, no code.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs, mem,
    path::{Path, PathBuf},
    time::Duration,
};

use domain::{
    ChatRequest, Delta, Demand, EmbeddingRequest, Embeddings, ExtraHeaders, FinishReason,
    Generation, Json, JsonObject, Message, ModelName, Part, Role, Rung, Secret, Usage,
    seams::{EgressPolicy, Provider, ProviderError, Target},
};
use futures_util::StreamExt;
use indexmap::IndexMap;
use providers::{EgressOptions, Options, UpstreamOptions};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// Headers that every request has, or that differ from run to run.
const COMMON_HEADERS: [&str; 6] = [
    "accept",
    "accept-encoding",
    "content-length",
    "content-type",
    "host",
    "user-agent",
];

/// `request.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    #[serde(default)]
    provider: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    options: JsonObject,
    #[serde(default)]
    extra_headers: ExtraHeaders,
    #[serde(default)]
    messages: Vec<Turn>,
    #[serde(default)]
    schema: Option<GivenDemand>,
    #[serde(default)]
    stream: bool,
    /// Texts to embed; then there are no messages.
    #[serde(default)]
    input: Vec<String>,
}

#[derive(Deserialize)]
struct Turn {
    role: String,
    parts: Vec<GivenPart>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum GivenPart {
    Text(String),
    Image(String),
    Audio(String),
    File(String),
}

#[derive(Deserialize)]
struct GivenDemand {
    name: String,
    schema: Json,
    #[serde(default)]
    rung: GivenRung,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum GivenRung {
    #[default]
    NativeSchema,
    ForcedTool,
    JsonMode,
    Prompt,
}

#[tokio::test]
async fn dialects_are_as_their_files_say() {
    let options = Options {
        providers: IndexMap::new(),
        keys: IndexMap::new(),
        egress: EgressOptions::default(),
        upstream: UpstreamOptions {
            connect_timeout_seconds: 3.0,
            timeout_seconds: 20.0,
            idle_timeout_seconds: 20.0,
        },
    };
    let registry = providers::registry(options).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut faults = Vec::new();
    let mut count = 0;

    for protocol in folders(&root) {
        let name = protocol.file_name().unwrap().to_str().unwrap();
        let provider = registry.protocol(name).unwrap();
        for case in folders(&protocol) {
            let (wire, expected) = run(&case, provider.as_ref()).await;
            compare(&case.join("wire.http"), &wire, &mut faults);
            compare(&case.join("expected.json"), &expected, &mut faults);
            count += 1;
        }
    }

    assert!(count > 30, "only {count} cases were found");
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// What went over the network, and what came of the answer.
async fn run(case: &Path, provider: &dyn Provider) -> (String, String) {
    let given = fs::read_to_string(case.join("request.json")).unwrap();
    let mut given: Given =
        serde_json::from_str(&given).unwrap_or_else(|error| panic!("{}: {error}", case.display()));
    let answer = fs::read_to_string(case.join("answer.http")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = target(
        &mut given,
        &format!("http://{}/v1", listener.local_addr().unwrap()),
    );
    let serving = tokio::spawn(serve(listener, answer));

    let expected = if given.stream {
        Ok(streamed(provider, &target, &chat(given)).await)
    } else if given.input.is_empty() {
        let chat = chat(given);
        provider
            .chat(&target, &chat)
            .await
            .map(|generation| generation_json(&generation))
    } else {
        let embedding = EmbeddingRequest { input: given.input };
        let answer = provider.embed(&target, &embedding).await;
        answer.map(|embeddings| embeddings_json(&embeddings))
    };

    let expected = expected.unwrap_or_else(|error| error_json(&error));
    let expected = serde_json::to_string_pretty(&expected).unwrap();
    (serving.await.unwrap(), expected + "\n")
}

/// The deltas of a stream, and the error that ended it or refused it.
async fn streamed(provider: &dyn Provider, target: &Target, request: &ChatRequest) -> Value {
    let mut deltas = match provider.chat_stream(target, request).await {
        Ok(deltas) => deltas,
        Err(error) => return json!({ "refused": error_json(&error) }),
    };
    let mut told = Vec::new();
    while let Some(delta) = deltas.next().await {
        told.push(match delta {
            Ok(Delta::Text(text)) => json!({ "text": text }),
            Ok(Delta::Refusal(text)) => json!({ "refusal": text }),
            Ok(Delta::End {
                finish_reason,
                usage,
            }) => json!({ "end": end_json(finish_reason, usage) }),
            Err(error) => error_json(&error),
        });
    }
    json!({ "deltas": told })
}

fn target(given: &mut Given, api_base: &str) -> Target {
    let provider = given.provider.take().unwrap_or_else(|| "openai".to_owned());
    Target {
        name: ModelName::parse(&format!("{provider}/m")).unwrap(),
        provider,
        model: given.model.take().unwrap_or_else(|| "m".to_owned()),
        api_base: Some(api_base.to_owned()),
        egress: EgressPolicy::Operator,
        key: given.key.take().map(Secret::new),
        options: mem::take(&mut given.options),
        extra_headers: mem::take(&mut given.extra_headers),
        settings: BTreeMap::new(),
        timeout: Duration::from_secs(20),
    }
}

fn chat(given: Given) -> ChatRequest {
    let part = |part| match part {
        GivenPart::Text(text) => Part::Text(text),
        GivenPart::Image(url) => Part::Image(url),
        GivenPart::Audio(url) => Part::Audio(url),
        GivenPart::File(url) => Part::File(url),
    };
    let message = |turn: Turn| Message {
        role: match turn.role.as_str() {
            "system" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            other => panic!("there is no role `{other}`"),
        },
        parts: turn.parts.into_iter().map(part).collect(),
    };
    ChatRequest {
        messages: given.messages.into_iter().map(message).collect(),
        demand: given.schema.map(|schema| Demand {
            name: schema.name,
            schema: schema.schema,
            rung: match schema.rung {
                GivenRung::NativeSchema => Rung::NativeSchema,
                GivenRung::ForcedTool => Rung::ForcedTool,
                GivenRung::JsonMode => Rung::JsonMode,
                GivenRung::Prompt => Rung::Prompt,
            },
        }),
    }
}

/// Answers one request, and returns it as text: its line, the headers that matter, its body.
async fn serve(listener: TcpListener, answer: String) -> String {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let (line, headers) = head.split_once("\r\n").unwrap();
    let mut headers: Vec<(&str, &str)> = headers
        .lines()
        .filter_map(|line| line.split_once(": "))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| *name == "content-length")
        .unwrap()
        .1;
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).await.unwrap();

    let (answer_head, answer_body) = answer.split_once("\n\n").unwrap();
    let answer_head = answer_head.replace('\n', "\r\n");
    let length = answer_body.len();
    let answer = format!(
        "{answer_head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{answer_body}"
    );
    stream.write_all(answer.as_bytes()).await.unwrap();

    headers.retain(|(name, _)| !COMMON_HEADERS.contains(name));
    headers.sort_unstable();
    let mut told = format!("{line}\n");
    for (name, value) in headers {
        writeln!(told, "{name}: {value}").unwrap();
    }
    told + "\n" + &String::from_utf8(body).unwrap() + "\n"
}

fn generation_json(generation: &Generation) -> Value {
    let mut value = json!({ "text": generation.text, "refusal": generation.refusal });
    let end = end_json(generation.finish_reason, generation.usage);
    let members = value.as_object_mut().unwrap();
    members.extend(end.as_object().unwrap().clone());
    value
}

fn end_json(finish_reason: FinishReason, usage: Option<Usage>) -> Value {
    json!({
        "finish_reason": finish_reason,
        "usage": usage.map(|usage| json!({
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
        })),
    })
}

fn embeddings_json(embeddings: &Embeddings) -> Value {
    json!({ "vectors": embeddings.vectors, "input_tokens": embeddings.usage.input_tokens })
}

fn error_json(error: &ProviderError) -> Value {
    json!({
        "error": format!("{:?}", error.kind),
        "status": error.status,
        "retry_after": error.retry_after.map(|wait| wait.as_secs_f64()),
        "reason": error.reason,
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test has no configuration but its environment"
)]
fn compare(path: &Path, found: &str, faults: &mut Vec<String>) {
    if std::env::var("UPDATE_GOLDEN").is_ok_and(|value| value == "1") {
        fs::write(path, found).unwrap();
        return;
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    if expected != found {
        faults.push(format!(
            "{}\nexpected:\n{expected}\nfound:\n{found}",
            path.display()
        ));
    }
}
