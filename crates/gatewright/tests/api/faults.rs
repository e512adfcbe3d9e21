//! Twelve kinds of faulty answer on each rung of the ladder, and what the caller gets: the table of
//! `docs/structured-output.md`.

use serde_json::{Value, json};
use testkit::{Answer, Received, Script, files};

use crate::server::Server;

const GOOD: &str = r#"{"name": "Ada", "age": 36}"#;
const RUNGS: [&str; 4] = ["native_schema", "forced_tool", "json_mode", "prompt"];

/// A kind of faulty answer: what it is called, what the model says, why it stopped.
struct Kind(&'static str, &'static str, &'static str);

const KINDS: [Kind; 12] = [
    Kind(
        "a Markdown fence around it",
        "```json\n{\"name\": \"Ada\", \"age\": 36}\n```",
        "stop",
    ),
    Kind(
        "prose around it",
        "Sure! Here it is: {\"name\": \"Ada\", \"age\": 36} Anything else?",
        "stop",
    ),
    Kind(
        "trailing commas",
        "{\"name\": \"Ada\", \"age\": 36,}",
        "stop",
    ),
    Kind(
        "the last bracket missing",
        "{\"age\": 36, \"name\": \"Ada\"",
        "stop",
    ),
    Kind(
        "cut at the length limit",
        "{\"name\": \"Ada\", \"age\": 3",
        "length",
    ),
    Kind(
        "an open string at the end",
        "{\"age\": 36, \"name\": \"Ada",
        "stop",
    ),
    Kind(
        "a member of the wrong type",
        "{\"name\": \"Ada\", \"age\": \"36\"}",
        "stop",
    ),
    Kind("a member missing", "{\"name\": \"Ada\"}", "stop"),
    Kind(
        "two values in one answer",
        "{\"name\": \"Ada\", \"age\": 36} or {\"name\": \"Ada\", \"age\": 37}",
        "stop",
    ),
    Kind(
        "a member twice",
        "{\"name\": \"Ada\", \"age\": 36, \"age\": 37}",
        "stop",
    ),
    Kind("no answer at all", "", "stop"),
    Kind("prose alone", "I would rather not say.", "stop"),
];

/// The rung that a request stands on.
fn rung_of(request: &Value) -> &'static str {
    match request["response_format"]["type"].as_str() {
        Some("json_schema") => "native_schema",
        Some("json_object") => "json_mode",
        _ if request["tools"].is_array() => "forced_tool",
        _ => "prompt",
    }
}

/// A host that takes no firmer rung than one, and whose model answers badly: once, or always.
fn host(request: &Received) -> Answer {
    let request = request.json();
    // The model's name says what is played: `<rung>-<number of the kind>-<once or always>`.
    let model = request["model"].as_str().unwrap().to_owned();
    let [wanted, kind, times] = model.split('-').collect::<Vec<_>>()[..] else {
        return Answer::error(404, "no such model");
    };
    let rung = rung_of(&request);
    let firmness = |rung: &str| RUNGS.iter().position(|other| *other == rung);
    if firmness(rung) < firmness(wanted) {
        let member = if rung == "forced_tool" {
            "tools"
        } else {
            "response_format"
        };
        return Answer::error(400, &format!("`{member}` is not supported by this model"));
    }
    let Kind(_, faulty, finish_reason) = KINDS[kind.parse::<usize>().unwrap()];
    let is_repair = request["messages"].as_array().unwrap().len() > 2;
    let (text, finish_reason) = if is_repair && times == "once" {
        (GOOD, "stop")
    } else {
        (faulty, finish_reason)
    };
    let answer = if rung == "forced_tool" && !text.is_empty() {
        Answer::tool_call("people", text)
    } else {
        Answer::text(text)
    };
    answer.finish_reason(finish_reason)
}

#[tokio::test]
async fn faulty_answers_become_the_value_or_an_error_on_every_rung() {
    let (server, _upstream) = Server::with_upstream(Script::by(host)).await;
    let api = server.api();
    let head = RUNGS.map(|rung| format!(" `{rung}` |")).concat();
    let mut rows = vec![
        format!("| the answer |{head}"),
        "|---|---|---|---|---|".to_owned(),
    ];

    for (number, Kind(name, ..)) in KINDS.iter().enumerate() {
        let mut row = vec![format!("| {name} |")];
        for rung in RUNGS {
            let mut outcomes = Vec::new();
            for times in ["once", "always"] {
                let model = format!("house/{rung}-{number}-{times}");
                let name = format!("{rung}/{number}/{times}");
                let function = api
                    .function(json!({
                        "name": name, "instructions": "Describe Ada.", "model": model,
                        "output_schema": {"type": "object", "additionalProperties": false, "required": ["name", "age"],
                            "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}},
                        "configuration": {"invocation.structured_generation.max_attempts": 3},
                    }))
                    .await;
                let answer = api.call(&function, json!({"input": "Ada"})).await;
                let span = api.span(&answer).await;
                outcomes.push(outcome(&answer.body, &span["meta"], rung));
            }
            let [once, always] = &outcomes[..] else {
                unreachable!()
            };
            row.push(if once == always {
                format!(" {once} |")
            } else {
                format!(" {once}, else {always} |")
            });
        }
        rows.push(row.concat());
    }

    let table = rows.join("\n") + "\n";
    println!("{table}");
    files::hold("structured-output.md", "faults", &table);
}

/// What the caller got, in words. A wrong value fails the test.
fn outcome(body: &Value, meta: &Value, rung: &str) -> String {
    let tried = meta["models_tried"].as_array().unwrap();
    let answers: Vec<&Value> = tried
        .iter()
        .filter(|attempt| matches!(attempt["status"].as_str(), Some("answered" | "mismatched")))
        .collect();
    if body["type"] == "StructuredGenerationError" {
        assert_eq!(body["detail"]["attempts"], 3, "{body}");
        assert_eq!(answers.len(), 3, "{meta}");
        return "an error after 3".to_owned();
    }
    assert_eq!(
        body["json_payload"],
        json!({"name": "Ada", "age": 36}),
        "{body}"
    );
    // The ledger ends where the value came from.
    assert_eq!(answers.last().unwrap()["status"], "answered");
    assert_eq!(meta["rung"], rung, "{meta}");
    match (answers.len(), meta["mended"].as_array()) {
        (1, None) => "value".to_owned(),
        (1, Some(mended)) => {
            let words: Vec<&str> = mended.iter().filter_map(Value::as_str).collect();
            format!("value, mended ({})", words.join(", "))
        }
        (attempts, _) => format!("value at attempt {attempts}"),
    }
}
