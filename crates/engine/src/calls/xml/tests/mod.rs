//! What is told to the model, and how its answers are read.

mod lenient;
mod properties;
mod told;
mod typed;

use domain::Json;

use super::value;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
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
