//! Dialects, held to files: `golden/<protocol>/<case>/` has a request, the bytes of an answer, and what both become.
//!
//! `request.json` and `answer.http` (a head, an empty line, the body's bytes; several answers are parted by a line
//! `=====`) are written by hand; `wire.http` (what went over the network) and `expected.json`
//! (what came of the answer; of a stream, its deltas) are compared, or rewritten with `UPDATE_GOLDEN=1`. A new case is new files, no code.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::{collections::BTreeMap, fmt::Write as _, fs, mem, path::Path, sync::Arc, time::Duration};

use domain::{
    ChatRequest, Delta, Demand, Document, DocumentKind, EmbeddingRequest, Embeddings, ExtraHeaders,
    FinishReason, Generation, ImageRequest, Images, Json, JsonObject, Message, ModelName,
    OcrExtras, OcrPages, OcrRequest, Part, Remarks, RerankRequest, Reranking, Role, Rung, Secret,
    Timestamp, Tool, ToolCall, ToolChoice, ToolMode, UsageReport, seams,
    seams::{
        Clock, EgressPolicy, FixedClock, Key, KeyRefusals, Provider, ProviderError, Taken, Target,
        Wanted,
    },
};
use futures_util::StreamExt;
use indexmap::IndexMap;
use providers::{EgressOptions, Options, UpstreamOptions};
use serde::Deserialize;
use serde_json::{Value, json};
use testkit::files;
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
    /// An image to be made; then there are no messages.
    #[serde(default)]
    image: Option<String>,
    /// What that is to be made of.
    #[serde(default)]
    media: Vec<GivenPart>,
    /// Texts to put in order; then there are no messages.
    #[serde(default)]
    rerank: Option<GivenRerank>,
    /// A document to read; then there are no messages.
    #[serde(default)]
    ocr: Option<GivenOcr>,
    /// Settings of the dialect; `{base}` in one stands for the address.
    #[serde(default)]
    settings: BTreeMap<String, String>,
    /// What follows host and port in the address.
    #[serde(default = "version_segment")]
    base: String,
    /// In the OpenAI dialect.
    #[serde(default)]
    tools: Vec<Value>,
    #[serde(default)]
    tool_choice: Option<Value>,
}

fn version_segment() -> String {
    "/v1".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenRerank {
    query: String,
    documents: Vec<String>,
    #[serde(default)]
    top_k: Option<usize>,
    #[serde(default)]
    max_chunks_per_doc: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenOcr {
    kind: DocumentKind,
    content: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    pages: Option<Vec<u32>>,
    #[serde(default)]
    with_images: bool,
    #[serde(default)]
    image_limit: Option<u32>,
    #[serde(default)]
    image_min_size: Option<u32>,
    #[serde(default)]
    mistral: JsonObject,
    #[serde(default)]
    docling: JsonObject,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    role: String,
    #[serde(default)]
    parts: Vec<GivenPart>,
    #[serde(default)]
    tool_calls: Vec<GivenCall>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default)]
    as_given: Option<Json>,
}

#[derive(Deserialize)]
struct GivenCall {
    id: String,
    name: String,
    arguments: String,
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
    #[serde(default)]
    as_given: Option<Json>,
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
        settings: IndexMap::new(),
        egress: EgressOptions::default(),
        upstream: UpstreamOptions {
            connect_timeout_seconds: 3.0,
            timeout_seconds: 20.0,
            idle_timeout_seconds: 20.0,
        },
    };
    // 2026-11-22T12:00:00Z
    let clock = FixedClock::at(Timestamp::from_micros(1_795_348_800_000_000));
    let clock: Arc<dyn Clock> = Arc::new(clock);
    let ground = providers::Ground {
        clock,
        documents: Arc::new(seams::NoDocuments),
    };
    let registry = providers::connect(options, &ground).unwrap().registry;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut faults = Vec::new();
    let mut count = 0;

    for protocol in files::folders(&root) {
        let name = protocol.file_name().unwrap().to_str().unwrap();
        let provider = registry.protocol(name).unwrap();
        for case in files::folders(&protocol) {
            let (wire, expected) = run(&case, provider.as_ref()).await;
            compare(&case.join("wire.http"), &wire, &mut faults);
            compare(&case.join("expected.json"), &expected, &mut faults);
            count += 1;
        }
    }

    assert!(count > 30, "only {count} cases were found");
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

/// What went over the network, and what came of the answer.
async fn run(case: &Path, provider: &dyn Provider) -> (String, String) {
    let given = fs::read_to_string(case.join("request.json")).unwrap();
    let mut given: Given =
        serde_json::from_str(&given).unwrap_or_else(|error| panic!("{}: {error}", case.display()));
    let answers = fs::read(case.join("answer.http")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = target(
        &mut given,
        &format!("http://{}", listener.local_addr().unwrap()),
    );
    let serving = tokio::spawn(serve(listener, answers));
    let warned = |wanted| provider.warnings(&target, wanted);
    let mut warnings = Vec::new();

    let expected = if given.stream {
        let chat = chat(given);
        warnings = warned(Wanted::Chat(&chat));
        Ok(streamed(provider, &target, &chat).await)
    } else if let Some(prompt) = given.image.take() {
        let media = mem::take(&mut given.media);
        let media = media.into_iter().map(part).collect();
        warnings = warned(Wanted::Image);
        let answer = provider
            .generate_images(&target, &ImageRequest { prompt, media })
            .await;
        answer.map(|images| images_json(&images))
    } else if let Some(rerank) = given.rerank.take() {
        let request = RerankRequest {
            query: rerank.query,
            documents: rerank.documents,
            top_k: rerank.top_k,
            max_chunks_per_doc: rerank.max_chunks_per_doc,
        };
        warnings = warned(Wanted::Rerank(&request));
        let answer = provider.rerank(&target, &request).await;
        answer.map(|reranking| reranking_json(&reranking))
    } else if let Some(given) = given.ocr.take() {
        let request = ocr(given);
        let answer = provider.recognize(&target, &request).await;
        answer.map(|pages| ocr_json(&pages))
    } else if given.input.is_empty() {
        let chat = chat(given);
        warnings = warned(Wanted::Chat(&chat));
        provider
            .chat(&target, &chat)
            .await
            .map(|generation| generation_json(&generation))
    } else {
        let embedding = EmbeddingRequest { input: given.input };
        warnings = warned(Wanted::Embedding);
        let answer = provider.embed(&target, &embedding).await;
        answer.map(|embeddings| embeddings_json(&embeddings))
    };

    let mut expected = expected.unwrap_or_else(|error| error_json(&error));
    if !warnings.is_empty() {
        expected["warnings"] = json!(warnings);
    }
    let expected = serde_json::to_string_pretty(&expected).unwrap();
    // A request that is refused at home never goes out.
    let told = match tokio::time::timeout(Duration::from_millis(100), serving).await {
        Ok(told) => told.unwrap(),
        Err(_) => "(nothing was sent, or less than there are answers for)\n".to_owned(),
    };
    (told, expected + "\n")
}

/// The deltas of a stream, and the error that ended it or refused it.
async fn streamed(provider: &dyn Provider, target: &Target, request: &ChatRequest) -> Value {
    let mut deltas = match provider.chat_stream(target, request).await {
        Ok(deltas) => deltas,
        Err(error) => return json!({ "refused": error_json(&error) }),
    };
    let (mut told, mut counted) = (Vec::new(), None);
    while let Some(delta) = deltas.next().await {
        told.push(match delta {
            Ok(Delta::Text(text)) => json!({ "text": text }),
            Ok(Delta::Reasoning(text)) => json!({ "reasoning": text }),
            Ok(Delta::Refusal(text)) => json!({ "refusal": text }),
            Ok(Delta::Image(url)) => json!({ "image": url }),
            Ok(Delta::Logprobs(logprobs)) => json!({ "logprobs": logprobs }),
            Ok(Delta::Remarks(remarks)) => json!({ "remarks": remarks }),
            // Nobody asks for it where the stream comes to its end.
            Ok(Delta::Usage(report)) => {
                counted = Some(report);
                continue;
            }
            Ok(Delta::ToolCall(call)) => json!({
                "tool_call": call.index, "begins": call.begins, "arguments": call.arguments,
            }),
            Ok(Delta::End {
                finish_reason,
                usage,
            }) => json!({ "end": end_json(finish_reason, usage.as_ref()) }),
            Err(error) => {
                let mut broken = error_json(&error);
                if let Some(report) = counted.take() {
                    broken["counted"] = usage_json(&report);
                }
                broken
            }
        });
    }
    json!({ "deltas": told })
}

fn target(given: &mut Given, origin: &str) -> Target {
    let key = given.key.take().map(Secret::new);
    let keys = key.iter().map(|secret| Key {
        secret: secret.clone(),
        weight: 1,
    });
    let mut settings = mem::take(&mut given.settings);
    for value in settings.values_mut() {
        *value = value.replace("{base}", origin);
    }
    let provider = given.provider.take().unwrap_or_else(|| "openai".to_owned());
    Target {
        name: ModelName::parse(&format!("{provider}/m")).unwrap(),
        provider,
        model: given.model.take().unwrap_or_else(|| "m".to_owned()),
        api_base: Some(format!("{origin}{}", given.base)),
        egress: EgressPolicy::Operator,
        keys: keys.collect(),
        key,
        options: mem::take(&mut given.options),
        extra_headers: mem::take(&mut given.extra_headers),
        settings,
        timeout: Duration::from_secs(20),
        key_refusals: KeyRefusals::default(),
    }
}

fn part(given: GivenPart) -> Part {
    match given {
        GivenPart::Text(text) => Part::Text(text),
        GivenPart::Image(url) => Part::Image(url),
        GivenPart::Audio(url) => Part::Audio(url),
        GivenPart::File(url) => Part::File(url),
    }
}

fn ocr(given: GivenOcr) -> OcrRequest {
    OcrRequest {
        document: Document {
            kind: given.kind,
            content: given.content.into(),
            name: given.name,
            url: given.url,
        },
        pages: given.pages,
        with_images: given.with_images,
        image_limit: given.image_limit,
        image_min_size: given.image_min_size,
        extras: OcrExtras {
            mistral: given.mistral,
            docling: given.docling,
        },
        progress: Arc::default(),
    }
}

fn chat(given: Given) -> ChatRequest {
    let call = |call: GivenCall| ToolCall {
        id: call.id,
        name: call.name,
        arguments: call.arguments,
    };
    let message = |turn: Turn| Message {
        role: match turn.role.as_str() {
            "system" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            other => panic!("there is no role `{other}`"),
        },
        parts: turn.parts.into_iter().map(part).collect(),
        tool_calls: turn.tool_calls.into_iter().map(call).collect(),
        tool_call_id: turn.tool_call_id,
        as_given: turn.as_given,
    };
    let tools = given.tools.iter().map(tool).collect();
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
            as_given: schema.as_given,
        }),
        tools,
        tool_choice: given.tool_choice.as_ref().map(tool_choice),
    }
}

fn tool(given: &Value) -> Tool {
    let function = &given["function"];
    Tool {
        kind: given["type"].as_str().unwrap().to_owned(),
        name: function["name"].as_str().unwrap_or_default().to_owned(),
        description: function["description"].as_str().map(str::to_owned),
        parameters: function.get("parameters").map(Json::of),
        as_given: Json::of(given),
    }
}

fn tool_choice(given: &Value) -> ToolChoice {
    let mode = match (given.as_str(), given["function"]["name"].as_str()) {
        (Some("auto"), _) => ToolMode::Auto,
        (Some("none"), _) => ToolMode::None,
        (Some("required"), _) => ToolMode::Required,
        (_, Some(name)) => ToolMode::Named(name.to_owned()),
        _ => ToolMode::Other,
    };
    ToolChoice {
        mode,
        as_given: Json::of(given),
    }
}

/// Gives the answers, one to a request, and returns the requests as text.
async fn serve(listener: TcpListener, answers: Vec<u8>) -> String {
    let mut told = Vec::new();
    let mut rest = answers.as_slice();
    loop {
        let mark = b"\n=====\n";
        let end = rest.windows(mark.len()).position(|window| window == mark);
        let answer = &rest[..end.unwrap_or(rest.len())];
        told.push(serve_one(&listener, answer).await);
        match end {
            Some(end) => rest = &rest[end + mark.len()..],
            None => return told.join("=====\n"),
        }
    }
}

/// Answers one request, and returns it as text: its line, the headers that matter, its body.
async fn serve_one(listener: &TcpListener, answer: &[u8]) -> String {
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
    let length = headers.iter().find(|(name, _)| *name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    stream.read_exact(&mut body).await.unwrap();

    let head_end = answer
        .windows(2)
        .position(|window| window == b"\n\n")
        .unwrap();
    let (answer_head, answer_body) = (&answer[..head_end], &answer[head_end + 2..]);
    let answer_head = String::from_utf8(answer_head.to_vec())
        .unwrap()
        .replace('\n', "\r\n");
    let length = answer_body.len();
    let answer_head =
        format!("{answer_head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all(answer_head.as_bytes()).await.unwrap();
    stream.write_all(answer_body).await.unwrap();

    headers.retain(|(name, _)| !COMMON_HEADERS.contains(name));
    headers.sort_unstable();
    let mut told = format!("{line}\n");
    for (name, value) in headers {
        // It holds for one host and port, which differ from run to run.
        let value = match value.split_once("Signature=") {
            Some((before, _)) if name == "authorization" => format!("{before}Signature=…"),
            _ => value.to_owned(),
        };
        writeln!(told, "{name}: {value}").unwrap();
    }
    // The lines of a form end as those of a head do.
    let body = String::from_utf8(body).unwrap().replace("\r\n", "\n");
    told + "\n" + &body + "\n"
}

/// All that a model said. What only few answers have stands there only where it is.
fn generation_json(generation: &Generation) -> Value {
    let mut value = json!({ "text": generation.text, "refusal": generation.refusal });
    let end = end_json(generation.finish_reason, generation.usage.as_ref());
    let members = value.as_object_mut().unwrap();
    members.extend(end.as_object().unwrap().clone());
    if !generation.reasoning.is_empty() {
        members.insert("reasoning".to_owned(), json!(generation.reasoning));
    }
    if !generation.tool_calls.is_empty() {
        let calls = generation.tool_calls.iter();
        let calls = calls.map(|call| json!([call.id, call.name, call.arguments]));
        members.insert("tool_calls".to_owned(), calls.collect());
    }
    if !generation.images.is_empty() {
        members.insert("images".to_owned(), json!(generation.images));
    }
    if let Some(logprobs) = &generation.logprobs {
        members.insert("logprobs".to_owned(), json!(logprobs));
    }
    if generation.remarks != Remarks::default() {
        members.insert("remarks".to_owned(), json!(generation.remarks));
    }
    value
}

fn end_json(finish_reason: FinishReason, usage: Option<&UsageReport>) -> Value {
    json!({ "finish_reason": finish_reason, "usage": usage.map(usage_json) })
}

/// The counts, those of rare kinds where they are not zero; the provider's own cost in nano-USD, if it has one.
fn usage_json(report: &UsageReport) -> Value {
    let usage = &report.usage;
    let mut value = json!({
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    });
    let rare = [
        ("cached_tokens", usage.cached_tokens),
        ("cache_write_tokens", usage.cache_write_tokens),
        ("cache_write_1h_tokens", usage.cache_write_1h_tokens),
        ("audio_input_tokens", usage.audio_input_tokens),
        ("audio_output_tokens", usage.audio_output_tokens),
        ("image_output_tokens", usage.image_output_tokens),
        ("images", usage.images),
        ("pages", usage.pages),
        ("seconds", usage.seconds),
        ("searches", usage.searches),
    ];
    let members = value.as_object_mut().unwrap();
    for (name, count) in rare.into_iter().filter(|(_, count)| *count > 0) {
        members.insert(name.to_owned(), json!(count));
    }
    if let Some(cost) = report.cost {
        members.insert("cost_nanos".to_owned(), json!(cost.nanos()));
    }
    value
}

fn embeddings_json(embeddings: &Embeddings) -> Value {
    let usage = embeddings.usage.as_ref().map(usage_json);
    json!({ "vectors": embeddings.vectors, "usage": usage })
}

fn images_json(images: &Images) -> Value {
    let usage = images.usage.as_ref().map(usage_json);
    json!({ "images": images.images, "usage": usage })
}

fn reranking_json(reranking: &Reranking) -> Value {
    let results = reranking
        .results
        .iter()
        .map(|it| json!([it.index, it.score]));
    let usage = reranking.usage.as_ref().map(usage_json);
    json!({ "results": results.collect::<Vec<_>>(), "usage": usage })
}

fn ocr_json(read: &OcrPages) -> Value {
    json!({
        "pages": read.pages,
        "applied_settings": read.applied_settings,
        "usage": read.usage.as_ref().map(usage_json),
    })
}

/// A failure; what it took all the same stands there only where it did.
fn error_json(error: &ProviderError) -> Value {
    let mut value = json!({
        "error": format!("{:?}", error.kind),
        "status": error.status,
        "retry_after": error.retry_after.map(|wait| wait.as_secs_f64()),
        "reason": error.reason,
    });
    match &error.taken {
        Taken::Nothing => {}
        Taken::Uncounted => value["usage"] = json!("uncounted"),
        Taken::Counted(report) => value["usage"] = usage_json(report),
    }
    value
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
