//! Schemas and values that are made to keep the server busy, over the wire: `reliability.md` 6.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::Server;

const SOON: Duration = Duration::from_secs(1);

/// Definitions `d0` to `d<rungs>`, each made of the one below, and a reference to the last.
fn ladder(rungs: usize, rung: impl Fn(Value) -> Value) -> Value {
    let mut definitions = json!({"d0": {}});
    for number in 1..=rungs {
        let below = json!({"$ref": format!("#/$defs/d{}", number - 1)});
        definitions[format!("d{number}")] = rung(below);
    }
    json!({"$defs": definitions, "$ref": format!("#/$defs/d{rungs}")})
}

fn numbered(count: usize, value: &Value) -> Value {
    let members = (0..count).map(|number| (format!("m{number}"), value.clone()));
    Value::Object(members.collect())
}

fn bombs() -> Vec<(&'static str, Value)> {
    let next = json!({"$ref": "#/$defs/n"});
    let texts: Vec<String> = (0..1001).map(|number| number.to_string()).collect();
    vec![
        ("a circle", json!({"$ref": "#"})),
        ("a circle under allOf", json!({"allOf": [{"$ref": "#"}]})),
        (
            "2^64 alternatives",
            ladder(64, |below| json!({"anyOf": [below, below]})),
        ),
        (
            "3^40 of one",
            ladder(40, |below| json!({"oneOf": [below, below, below]})),
        ),
        (
            "2^40 conditions",
            ladder(
                40,
                |below| json!({"if": below, "then": below, "else": below}),
            ),
        ),
        (
            "twice a level",
            json!({"$defs": {"n": {"anyOf": [{"items": next}, {"items": next}]}}, "$ref": "#/$defs/n"}),
        ),
        (
            "unevaluated",
            ladder(
                40,
                |below| json!({"allOf": [below, below], "unevaluatedProperties": false}),
            ),
        ),
        (
            "a far reference",
            json!({"$ref": "http://127.0.0.1:9/schema"}),
        ),
        ("a file", json!({"$ref": "file:///etc/passwd"})),
        (
            "another base",
            json!({"$id": "http://127.0.0.1:9/", "$ref": "schema"}),
        ),
        ("looking around", json!({"pattern": "^(?=(a+)+$)b"})),
        ("looking back", json!({"pattern": "(a)\\1"})),
        (
            "a large automaton",
            json!({"pattern": "(((a{1,100}){1,100}){1,100}){1,100}"}),
        ),
        ("a long pattern", json!({"pattern": "a".repeat(2049)})),
        (
            "many patterns",
            json!({"patternProperties": (0..201).map(|n| (format!("a{n}"), json!({}))).collect::<serde_json::Map<_, _>>()}),
        ),
        ("many values", json!({"enum": texts})),
        (
            "many references",
            json!({"$defs": {"a": {}}, "properties": numbered(1001, &json!({"$ref": "#/$defs/a"}))}),
        ),
        (
            "many schemas",
            json!({"properties": numbered(10_001, &json!({}))}),
        ),
        ("many bytes", json!({"description": "x".repeat(257 * 1024)})),
        (
            "deep",
            (0..100).fold(json!({}), |inner, _| json!({"not": inner})),
        ),
    ]
}

#[tokio::test]
async fn a_schema_that_could_keep_a_check_busy_is_a_422_within_a_second() {
    let server = Server::start();
    let api = server.api();
    let mut slowest = (Duration::ZERO, "");

    for (name, schema) in bombs() {
        for member in ["input_schema", "output_schema"] {
            let mut body = json!({"name": "f", "instructions": "x", "model": "offline/echo"});
            body[member] = schema.clone();
            for path in ["/v2/functions", "/v2/call"] {
                let began = Instant::now();
                let answer = api
                    .send_text(Method::POST, path, Some(body.to_string()))
                    .await;
                let took = began.elapsed();

                assert_eq!(answer.status, 422, "{name}, {path}: {answer:?}");
                assert!(took < SOON, "{name}, {path}: {took:?}");
                slowest = slowest.max((took, name));
            }
        }
    }

    let page = api.get("/v2/functions").await;
    assert_eq!(page.body["meta"]["total_count"], 0);
    println!(
        "{} schemas at four places each, the slowest {slowest:?}",
        bombs().len()
    );
}

#[tokio::test]
async fn a_value_that_is_made_for_a_schema_is_checked_within_a_second_and_keeps_nobody_up() {
    let server = Server::start();
    let api = server.api();
    let objects: Vec<Value> = (0..50_000).map(|number| json!({"a": number})).collect();
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let cases = [
        (
            "unique",
            json!({"uniqueItems": true}),
            json!(objects).to_string(),
        ),
        (
            "a pattern",
            json!({"type": "string", "pattern": "^(a|a?)+$"}),
            json!("a".repeat(200_000) + "b").to_string(),
        ),
        (
            "a list of itself",
            json!({"items": {"$ref": "#"}}),
            deep(120),
        ),
        (
            "many faults",
            json!({"items": {"type": "string"}}),
            json!(objects).to_string(),
        ),
        (
            "many names",
            json!({"additionalProperties": false}),
            numbered(50_000, &json!(1)).to_string(),
        ),
    ];

    for (number, (name, schema, input)) in cases.into_iter().enumerate() {
        let function = json!({"name": format!("f{number}"), "instructions": "x", "model": "offline/echo", "input_schema": schema});
        let function = api.function(function).await;
        let path = format!("/v2/functions/{}/call", function["id"].as_str().unwrap());
        let calling = tokio::spawn({
            let api = api.clone();
            async move {
                let began = Instant::now();
                let body = format!(r#"{{"input": {input}}}"#);
                let answer = api.send_text(Method::POST, &path, Some(body)).await;
                (answer.status.as_u16(), answer.text.len(), began.elapsed())
            }
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        let began = Instant::now();
        assert_eq!(server.api_with("").get("/healthz").await.status, 200);
        let healthy = began.elapsed();

        let (status, length, took) = calling.await.unwrap();

        assert!(matches!(status, 200 | 400 | 422), "{name}: {status}");
        assert!(
            status == 200 || length < 64 * 1024,
            "{name}: {length} bytes of faults"
        );
        // Unoptimised, reading and recording the value take most of it.
        assert!(took < SOON * 5, "{name}: {took:?}");
        assert!(healthy < SOON, "{name}: `/healthz` took {healthy:?}");
        println!("{name}: {status} after {took:?}; /healthz in {healthy:?}");
    }
}

#[tokio::test]
async fn json_that_is_no_json_or_goes_too_deep_is_a_422() {
    let server = Server::start();
    let api = server.api();
    let deep = |open: &str, close: &str, levels: usize| {
        let (open, close) = (open.repeat(levels), close.repeat(levels));
        format!(r#"{{"name": "f", "instructions": "x", "extra": {open}0{close}}}"#)
    };
    let cases = [
        deep("[", "]", 128),
        deep("[", "]", 100_000),
        deep(r#"{"a":"#, "}", 100_000),
        "[".repeat(2_000_000),
        r#"{"name": "f", "name": "g", "instructions": "x"}"#.to_owned(),
        r#"{"name": "f", "na\u006de": "g", "instructions": "x"}"#.to_owned(),
        r#"{"name": "f", "instructions": "\ud800"}"#.to_owned(),
        r#"{"name": "f", "instructions": NaN}"#.to_owned(),
        r#"{"name": "f", "instructions": "x", "n": 1e999}"#.to_owned(),
        r#"{"name": "f", "instructions": "x"} x"#.to_owned(),
        "\u{feff}{\"name\": \"f\", \"instructions\": \"x\"}".to_owned(),
    ];

    for body in cases {
        let began = Instant::now();
        let answer = api
            .send_text(Method::POST, "/v2/functions", Some(body.clone()))
            .await;

        // What is longer than a function may be is refused for that first.
        assert!(
            matches!(answer.status.as_u16(), 413 | 422),
            "{body:.80}: {answer:?}"
        );
        assert!(began.elapsed() < SOON, "{body:.80}: {:?}", began.elapsed());
    }
    let page = api.get("/v2/functions").await;
    assert_eq!(page.body["meta"]["total_count"], 0);
}
