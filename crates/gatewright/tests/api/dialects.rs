//! Every dialect through the running server: the golden cases of `providers`, their answers given by a scripted upstream,
//! and the table of `docs/dialects.md`.
//!
//! A case of a plain or streamed chat goes in by the OpenAI-compatible door; schema and repair go by a function.

use std::{collections::BTreeMap, fs, path::Path};

use futures_util::{StreamExt, future::join_all, stream};
use serde_json::{Value, json};
use testkit::{Answer, Upstream, files};

use crate::server::{Answer as Answered, Api, Server, read};

/// The columns of the table: what a case shows, by how its name begins.
const COLUMNS: [(&str, &[&str]); 9] = [
    ("plain", &["plain"]),
    ("stream", &["stream_plain", "stream"]),
    (
        "schema",
        &[
            "rung_",
            "demand_",
            "stream_rung",
            "stream_demand",
            "stream_strict",
            "stream_tool",
        ],
    ),
    ("tools", &["tool", "stream_tools", "stream_tool"]),
    ("media and images", &["media", "image"]),
    ("usage", &["usage_", "stream_usage"]),
    ("errors", &["error_", "stream_error"]),
    (
        "cut stream",
        &[
            "stream_cut",
            "stream_broken",
            "stream_garbled",
            "stream_nothing",
        ],
    ),
    ("vectors", &["embeddings", "rerank"]),
];
/// How many cases are played on one server, each with an upstream of its own, and how many servers there are at once: some
/// cases wait as long as their upstream tells them to.
const ON_ONE_SERVER: usize = 50;
const SERVERS_AT_ONCE: usize = 4;

/// A golden case.
struct Case {
    protocol: String,
    name: String,
    given: Value,
    answers: Vec<Vec<u8>>,
    expected: Value,
}

/// What came of playing one.
enum Played {
    /// As its file says.
    Same,
    /// Not that.
    Other(String),
    /// It cannot be asked for so.
    Unsuited,
}

#[tokio::test]
async fn golden_cases_hold_through_the_running_server() {
    let cases = cases();
    let mut faults = Vec::new();
    let mut counts: BTreeMap<&str, [usize; COLUMNS.len() + 1]> = BTreeMap::new();
    let playing = stream::iter(cases.chunks(ON_ONE_SERVER).map(play_all));
    let played: Vec<_> = playing.buffer_unordered(SERVERS_AT_ONCE).collect().await;
    for (case, played) in played.into_iter().flatten() {
        let [through, columns @ ..] = counts.entry(&case.protocol).or_default();
        for (count, (_, beginnings)) in columns.iter_mut().zip(COLUMNS) {
            *count += usize::from(beginnings.iter().any(|it| case.name.starts_with(it)));
        }
        match played {
            Played::Same => *through += 1,
            Played::Other(fault) => {
                faults.push(format!("{}/{}: {fault}", case.protocol, case.name));
            }
            Played::Unsuited => {}
        }
    }

    faults.sort();
    assert!(
        faults.is_empty(),
        "{} of {}:\n{}",
        faults.len(),
        cases.len(),
        faults.join("\n")
    );
    let table = table(&counts);
    println!("{table}");
    files::hold("dialects.md", "dialects", &table);
}

#[tokio::test]
async fn every_dialect_repairs_an_answer_that_misses_its_schema() {
    let plain: Vec<Case> = cases()
        .into_iter()
        .filter(|case| case.name == "plain")
        .collect();
    assert!(plain.len() >= 9, "{}", plain.len());

    for case in &plain {
        // The recorded answer with another text in it, first a wrong one.
        let said = case.expected["text"].as_str().unwrap();
        let saying = |text: &str| {
            let (as_json, body) = (json!(text).to_string(), text_of(&case.answers[0]));
            let said = json!(said).to_string();
            assert!(body.contains(&said), "{}: {body}", case.protocol);
            wire_answer(body.replace(&said, &as_json).as_bytes())
        };
        let answers = vec![saying("{\"n\": \"one\"}"), saying("{\"n\": 1}")];
        let (server, upstream) = Server::with_upstream(answers).await;
        let api = server.api();
        assert!(register(&api, case, &upstream, "m").await);
        let function = api
            .function(json!({
                "name": "f", "instructions": "Count.", "model": "m",
                "output_schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false},
            }))
            .await;

        let answer = api.call(&function, json!({"input": "go"})).await;

        assert_eq!(
            answer.body["json_payload"],
            json!({"n": 1}),
            "{}: {}",
            case.protocol,
            answer.text
        );
        let span = api.span(&answer).await;
        let tried: Vec<&Value> = span["meta"]["models_tried"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| &it["status"])
            .collect();
        assert_eq!(tried, ["mismatched", "answered"], "{}", case.protocol);
    }
}

async fn play_all(cases: &[Case]) -> Vec<(&Case, Played)> {
    let mut upstreams = Vec::with_capacity(cases.len());
    for case in cases {
        let answers: Vec<Answer> = case
            .answers
            .iter()
            .map(|answer| wire_answer(answer))
            .collect();
        // A failing host is asked more than once.
        upstreams.push(match <[Answer; 1]>::try_from(answers) {
            Ok([answer]) => Upstream::start(answer).await,
            Err(answers) => Upstream::start(answers).await,
        });
    }
    let allow: Vec<String> = upstreams.iter().map(Upstream::authority).collect();
    let allow = json!(allow).to_string();
    // Beside the cases of the other servers, which would wait for it else.
    let start = move || Server::start_with(&[("GATEWRIGHT_EGRESS__ALLOW", &allow)]);
    let server = tokio::task::spawn_blocking(start).await.unwrap();
    let api = &server.api();
    let playing = cases
        .iter()
        .zip(&upstreams)
        .map(|(case, upstream)| async move { (case, play(api, case, upstream).await) });
    join_all(playing).await
}

/// Asks for what the case asks for, and compares what comes of it with what its file says.
async fn play(api: &Api, case: &Case, upstream: &Upstream) -> Played {
    let given = &case.given;
    let is_chat = ["schema", "input", "image", "rerank"]
        .iter()
        .all(|it| given.get(it).is_none());
    let Some(messages) = is_chat.then(|| messages(given)).flatten() else {
        return Played::Unsuited;
    };
    let name = format!("{}/{}", case.protocol, case.name);
    if !register(api, case, upstream, &name).await {
        return Played::Unsuited;
    }
    let mut body = given["options"].as_object().cloned().unwrap_or_default();
    // The door has members of its own; what a client writes there goes out in a form of its own.
    if [
        "n",
        "tools",
        "tool_choice",
        "stream_options",
        "stream",
        "model",
        "messages",
        "response_format",
        "functions",
        "metadata",
    ]
    .iter()
    .any(|it| body.contains_key(*it))
    {
        return Played::Unsuited;
    }
    for member in ["tools", "tool_choice"] {
        body.extend(given.get(member).map(|it| (member.to_owned(), it.clone())));
    }
    let is_streamed = given["stream"] == true;
    let headers = given.get("extra_headers").cloned().unwrap_or(json!({}));
    body.insert(
        "model".to_owned(),
        json!({"name": name, "extra_headers": headers}),
    );
    body.insert("messages".to_owned(), messages);
    body.insert("stream".to_owned(), json!(is_streamed));
    let (path, body) = ("/v2/openai/chat/completions", Value::Object(body));
    let answer = if is_streamed {
        read(api.open_stream(path, &body).await).await
    } else {
        api.post(path, body).await
    };
    let compared = if is_streamed {
        compare_stream(&case.expected, &answer)
    } else {
        compare_whole(&case.expected, &answer)
    };
    match compared {
        Ok(()) => Played::Same,
        Err(fault) => Played::Other(format!(
            "{fault}\n    expected {}\n    got {} {}",
            case.expected, answer.status, answer.text
        )),
    }
}

fn compare_whole(expected: &Value, answer: &Answered) -> Result<(), String> {
    if expected.get("error").is_some() {
        return compare_error(expected, answer);
    }
    let choice = &answer.body["choices"][0];
    same(
        "text",
        &json!(expected["text"]),
        &json!(choice["message"]["content"].as_str().unwrap_or("")),
    )?;
    same(
        "refusal",
        &expected["refusal"],
        &choice["message"]["refusal"],
    )?;
    same(
        "finish reason",
        &expected["finish_reason"],
        &choice["finish_reason"],
    )?;
    if expected["usage"].is_object() {
        let usage = &answer.body["usage"];
        same(
            "input",
            &expected["usage"]["input_tokens"],
            &usage["prompt_tokens"],
        )?;
        same(
            "output",
            &expected["usage"]["output_tokens"],
            &usage["completion_tokens"],
        )?;
    }
    compare_remarks(&expected["remarks"], &answer.body, &choice["message"])?;
    let calls = choice["message"]["tool_calls"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let calls: Vec<Value> = calls
        .iter()
        .map(|call| {
            let (called, said) = if call["type"] == "custom" {
                (&call["custom"], "input")
            } else {
                (&call["function"], "arguments")
            };
            json!([call["id"], called["name"], called[said]])
        })
        .collect();
    same(
        "calls",
        &expected.get("tool_calls").cloned().unwrap_or(json!([])),
        &json!(calls),
    )
}

/// What was said beside an answer, which stands in it or in its message.
fn compare_remarks(remarks: &Value, answer: &Value, message: &Value) -> Result<(), String> {
    let mut remarks = remarks.as_object().into_iter().flatten();
    remarks.try_for_each(|(name, expected)| {
        let is_messages = ["annotations", "reasoning_details"].contains(&name.as_str());
        let place = if is_messages { message } else { answer };
        same(name, expected, &place[name])
    })
}

fn compare_stream(expected: &Value, answer: &Answered) -> Result<(), String> {
    if let Some(refused) = expected.get("refused") {
        return compare_error(refused, answer);
    }
    let told = expected["deltas"].as_array().unwrap();
    let broke = told.iter().find(|it| it.get("error").is_some());
    let expected_text: String = told.iter().filter_map(|it| it["text"].as_str()).collect();
    let has_anything = told
        .iter()
        .any(|it| it.get("end").is_none() && it.get("error").is_none());
    if let (Some(error), false) = (broke, has_anything) {
        return compare_error(error, answer);
    }
    let events: Vec<&str> = answer
        .text
        .split("\n\n")
        .filter_map(|event| event.strip_prefix("data: "))
        .collect();
    let chunks: Vec<Value> = events
        .iter()
        .filter_map(|event| serde_json::from_str(event).ok())
        .collect();
    let text: String = chunks
        .iter()
        .filter_map(|it| it["choices"][0]["delta"]["content"].as_str())
        .collect();
    same("text", &json!(expected_text), &json!(text))?;
    if let Some(last) = chunks.last() {
        let remarks = told.iter().find_map(|it| it.get("remarks"));
        let delta = &last["choices"][0]["delta"];
        compare_remarks(remarks.unwrap_or(&Value::Null), last, delta)?;
    }
    let is_done = events.last() == Some(&"[DONE]");
    same(
        "whether it ended in order",
        &json!(broke.is_none()),
        &json!(is_done),
    )
}

fn compare_error(expected: &Value, answer: &Answered) -> Result<(), String> {
    let status = match expected["error"].as_str().unwrap() {
        "RateLimited" => 429,
        "Timeout" => 504,
        "Invalid" | "Demand" | "Misconfigured" | "RefusedAddress" | "ContentPolicy"
        | "ContextWindow" | "Batch" => 400,
        _ => 502,
    };
    same("status", &json!(status), &json!(answer.status.as_u16()))?;
    let class = match expected["error"].as_str().unwrap() {
        "ContentPolicy" => "ContentPolicyViolationError",
        "ContextWindow" | "Batch" => "ContextWindowExceededError",
        _ => return Ok(()),
    };
    same("class", &json!(class), &answer.body["type"])
}

fn same(what: &str, expected: &Value, found: &Value) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    Err(format!("{what}: {found} instead of {expected}"))
}

/// Registers the case's model under a name; not if its key is none.
async fn register(api: &Api, case: &Case, upstream: &Upstream, name: &str) -> bool {
    let given = &case.given;
    let origin = format!("http://{}", upstream.authority());
    let provider = given["provider"].as_str().unwrap_or("openai");
    let base = given["base"].as_str().unwrap_or("/v1");
    let mut extra = json!({"protocol": case.protocol, "api_base": format!("{origin}{base}")});
    for (setting, value) in given["settings"].as_object().into_iter().flatten() {
        extra[setting] = json!(value.as_str().unwrap().replace("{base}", &origin));
    }
    let model = given["model"].as_str().unwrap_or("m");
    let registered = api
        .post(
            "/v2/models/custom",
            json!({
                "name": name, "identifier": format!("{provider}/{model}"), "extra": extra, "api_key": given["key"],
            }),
        )
        .await;
    registered.status == 200
}

/// The case's messages in the door's words, if that has some for them all.
fn messages(given: &Value) -> Option<Value> {
    let mut messages = Vec::new();
    for turn in given["messages"].as_array()? {
        if turn.get("as_given").is_some_and(|it| !it.is_null()) {
            return None;
        }
        let parts = turn["parts"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
        let mut message = json!({"role": turn["role"], "content": texts?.concat()});
        if let Some(id) = turn.get("tool_call_id") {
            message["tool_call_id"] = id.clone();
        }
        if let Some(calls) = turn["tool_calls"]
            .as_array()
            .filter(|calls| !calls.is_empty())
        {
            let call = |call: &Value| json!({"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}});
            message["tool_calls"] = calls.iter().map(call).collect();
        }
        messages.push(message);
    }
    (!messages.is_empty()).then(|| json!(messages))
}

/// All golden cases, by dialect and name.
fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../providers/tests/golden");
    let mut cases = Vec::new();
    for protocol in files::folders(&root) {
        for folder in files::folders(&protocol) {
            let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
            let json = |file: &str| {
                let text = fs::read_to_string(folder.join(file)).unwrap();
                serde_json::from_str(&text).unwrap()
            };
            let bytes = fs::read(folder.join("answer.http")).unwrap();
            cases.push(Case {
                protocol: name(&protocol),
                name: name(&folder),
                given: json("request.json"),
                answers: parted(&bytes),
                expected: json("expected.json"),
            });
        }
    }
    cases
}

/// The answers in a file: parted by a line `=====`.
fn parted(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mark = b"\n=====\n";
    let (mut answers, mut rest) = (Vec::new(), bytes);
    while let Some(at) = rest.windows(mark.len()).position(|window| window == mark) {
        answers.push(rest[..at].to_vec());
        rest = &rest[at + mark.len()..];
    }
    answers.push(rest.to_vec());
    answers
}

fn text_of(answer: &[u8]) -> String {
    String::from_utf8(answer.to_vec()).unwrap()
}

/// An answer as it stands in a file: a head, an empty line, the body's bytes.
fn wire_answer(bytes: &[u8]) -> Answer {
    let head_end = bytes
        .windows(2)
        .position(|window| window == b"\n\n")
        .unwrap();
    let head = text_of(&bytes[..head_end]);
    let mut lines = head.lines();
    let status = lines
        .next()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let body = bytes[head_end + 2..].to_vec();
    let headers: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(": ")).collect();
    let of = |name: &str| {
        headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
    };
    let kind = of("content-type").map_or("", |(_, kind)| *kind);
    let mut answer = Answer::bytes(status, leaked(kind), body);
    for (name, value) in headers
        .iter()
        .filter(|(name, _)| !name.eq_ignore_ascii_case("content-type"))
    {
        answer = answer.header(leaked(&name.to_lowercase()), value);
    }
    answer
}

/// A test's words live as long as the test.
fn leaked(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn table(counts: &BTreeMap<&str, [usize; COLUMNS.len() + 1]>) -> String {
    let heads: Vec<&str> = COLUMNS.iter().map(|(head, _)| *head).collect();
    let mut rows = vec![
        format!("| dialect | {} | through the server |", heads.join(" | ")),
        format!("|---|{}", "---:|".repeat(COLUMNS.len() + 1)),
    ];
    for (protocol, [through, columns @ ..]) in counts {
        let cell = |count: &usize| {
            if *count == 0 {
                "–".to_owned()
            } else {
                count.to_string()
            }
        };
        let cells: Vec<String> = columns.iter().map(cell).collect();
        rows.push(format!(
            "| `{protocol}` | {} | {through} |",
            cells.join(" | ")
        ));
    }
    rows.join("\n") + "\n"
}

#[tokio::test]
async fn what_is_not_sent_as_it_was_meant_is_told() {
    let (server, upstream) = Server::with_upstream(Answer::text("hi")).await;
    let api = server.api();
    let options = json!({"model": "other", "stream": true, "seed": 7});
    let model = json!({"name": "house/m", "options": options});
    let function = json!({"name": "f", "instructions": "x", "model": model});

    let input = json!({"input": {"_image_media_input": "http://example.com/a.png"}});
    let called = api.call(&api.function(function).await, input).await;

    assert_eq!(called.status, 200, "{called:?}");
    assert_eq!(
        api.span(&called).await["meta"]["warnings"],
        json!([
            "the input's `_image_media_input` was sent as a text: its URL begins with neither `https:` nor `data:`",
            "the option `model` was left out: it is the gateway's to set",
            "the option `stream` was left out: it is the gateway's to set",
        ])
    );
    let sent = upstream.requests()[0].json();
    assert_eq!(
        (&sent["model"], &sent["seed"], sent.get("stream")),
        (&json!("m"), &json!(7), None)
    );
}

#[tokio::test]
async fn data_that_are_no_base64_are_refused_by_every_dialect() {
    let upstream = Upstream::start(Answer::text("hi")).await;
    let address = upstream.base_url();
    let server = Server::start_with(&[
        ("GATEWRIGHT_PROVIDERS__HOUSE__API_BASE", &address),
        ("GATEWRIGHT_PROVIDERS__OPENROUTER__API_BASE", &address),
        ("GATEWRIGHT_PROVIDERS__MISTRAL__API_BASE", &address),
        ("GATEWRIGHT_PROVIDERS__ANSWERS__API_BASE", &address),
        (
            "GATEWRIGHT_PROVIDERS__ANSWERS__PROTOCOL",
            "openai-responses",
        ),
    ]);
    let api = server.api();

    for provider in ["house", "openrouter", "mistral", "answers"] {
        let model = format!("{provider}/m");
        let function = json!({"name": provider, "instructions": "x", "model": model});
        let input = json!({"input": {"_file_media_input": "data:text/plain,hello"}});
        let called = api.call(&api.function(function).await, input).await;

        assert_eq!(called.class(), "BadRequestError", "{provider}: {called:?}");
        let reason = called.body["detail"]["reason"].as_str().unwrap();
        assert!(reason.contains("is not base64"), "{reason}");
    }
    assert!(upstream.requests().is_empty());
}
