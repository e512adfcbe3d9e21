//! Holds requests and answers to the API document.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex},
};

use jsonschema::Validator;
use reqwest::Method;
use serde_json::{Value, json};

use crate::server::Answer;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(api::document()).unwrap());
/// By a schema's text: each is compiled with all components, which takes longer than the request that it is for.
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// Holds a request that was accepted, and its answer.
pub fn hold(method: &Method, path: &str, body: Option<&Value>, answer: &Answer) {
    hold_answer(method, path, answer);
    let Some((operation, _)) = operation(method, path) else {
        return;
    };
    let Some(body) = body.filter(|_| answer.status.is_success()) else {
        return;
    };
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    check(
        schema,
        body,
        &format!("the accepted body of {method} {path}"),
    );
}

/// Holds an answer.
pub fn hold_answer(method: &Method, path: &str, answer: &Answer) {
    if path.starts_with("/v2") && !answer.status.is_success() {
        let _ = answer.class();
    }
    if answer.status == 204 {
        assert_eq!(answer.text, "", "{method} {path}");
    } else if path.starts_with("/v2") {
        assert_eq!(
            answer.headers["content-type"], "application/json",
            "{method} {path}"
        );
    }
    assert_eq!(
        answer.headers["x-content-type-options"], "nosniff",
        "{method} {path}"
    );
    assert!(
        answer.headers.contains_key("x-request-id"),
        "{method} {path}"
    );
    let Some((operation, template)) = operation(method, path) else {
        return;
    };
    let status = answer.status.as_str();
    let response = &operation["responses"][status];
    assert!(
        !response.is_null(),
        "{method} {template} answers {status}, which the document does not know: {answer:?}"
    );
    let schema = &response["content"]["application/json"]["schema"];
    if !schema.is_null() {
        check(
            schema,
            &answer.body,
            &format!("the {status} answer of {method} {path}"),
        );
    }
}

/// Holds the events of a stream.
pub fn hold_events<'a>(path: &str, events: impl Iterator<Item = &'a Value>) {
    let (operation, _) = operation(&Method::POST, path).expect(path);
    let schema = &operation["responses"]["200"]["content"]["text/event-stream"]["schema"];
    assert!(!schema.is_null(), "{path} is no stream by the document");
    for event in events {
        check(schema, event, &format!("an event of {path}"));
    }
}

/// The operation that a path belongs to: literal segments win over parameters.
fn operation(method: &Method, path: &str) -> Option<(&'static Value, &'static str)> {
    let path = path.split('?').next().unwrap();
    let path = if path.len() > 1 {
        path.strip_suffix('/').unwrap_or(path)
    } else {
        path
    };
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let fitting = paths.iter().filter(|(template, _)| fits(template, path));
    let (template, operations) = fitting.min_by_key(|(template, _)| {
        template
            .split('/')
            .map(|part| part.starts_with('{'))
            .collect::<Vec<_>>()
    })?;
    let operation = operations.get(method.as_str().to_lowercase())?;
    Some((operation, template))
}

fn fits(template: &str, path: &str) -> bool {
    if let Some(head) = template.strip_suffix("{name}") {
        return path.strip_prefix(head).is_some_and(|name| !name.is_empty());
    }
    let (template, path): (Vec<_>, Vec<_>) =
        (template.split('/').collect(), path.split('/').collect());
    template.len() == path.len()
        && template
            .iter()
            .zip(path)
            .all(|(expected, given)| expected.starts_with('{') || *expected == given)
}

fn check(schema: &Value, value: &Value, what: &str) {
    assert!(!schema.is_null(), "the document says nothing of {what}");
    let errors: Vec<String> = validator(schema)
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(
        errors.is_empty(),
        "{what} is not what the document says: {errors:#?}\n{value:#}"
    );
}

fn validator(schema: &Value) -> Arc<Validator> {
    let mut validators = VALIDATORS.lock().unwrap();
    let validator = validators.entry(schema.to_string()).or_insert_with(|| {
        let whole = json!({"allOf": [schema], "components": DOCUMENT["components"]});
        Arc::new(jsonschema::options().build(&whole).unwrap())
    });
    validator.clone()
}

/// The document that stands in the tree is the one that the handlers make. `UPDATE_OPENAPI=1` writes it anew.
#[test]
fn the_checked_in_document_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../api/openapi.json");
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(path, api::document()).unwrap();
    }

    let checked_in = std::fs::read_to_string(path).unwrap_or_default();

    assert!(
        checked_in == api::document(),
        "run `UPDATE_OPENAPI=1 cargo test -p gatewright the_checked_in_document` and look at the difference"
    );
}

#[test]
fn every_operation_tells_of_its_refusals() {
    for (path, operations) in DOCUMENT["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            for status in ["401", "500", "503"] {
                assert!(
                    !operation["responses"][status].is_null(),
                    "{method} {path}: {status}"
                );
            }
            assert!(operation["summary"].is_string(), "{method} {path}");
        }
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_operation_has_its_own_name() {
    let text = api::document();
    for target in text
        .split("\"$ref\": \"#")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
    {
        assert!(DOCUMENT.pointer(target).is_some(), "{target}");
    }
    let operations = DOCUMENT["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|path| path.as_object().unwrap().values());
    let mut names = std::collections::BTreeSet::new();
    for operation in operations {
        assert!(
            names.insert(operation["operationId"].as_str().unwrap()),
            "{operation}"
        );
    }
}
