//! What is told to the model, and how its answers are read.

mod lenient;
mod properties;
mod told;
mod typed;
mod unions;
mod whole;

use domain::Json;

const TEXT: &str = r#"{"type":"string"}"#;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

/// The value that an answer stands for.
fn value(answer: &str, schema: &Json) -> Result<Json, String> {
    super::read(answer, schema).map(|(value, _)| value)
}

/// The text of the value that an answer stands for.
fn read(schema: &str, answer: &str) -> String {
    match value(answer, &json(schema)) {
        Ok(value) => value.text().to_owned(),
        Err(fault) => format!("fault: {fault}"),
    }
}

/// A schema of an object with these properties.
fn object(properties: &str) -> String {
    format!(r#"{{"type":"object","properties":{{{properties}}}}}"#)
}

fn person() -> String {
    object(r#""name":{"type":"string"},"age":{"type":"integer"}"#)
}
