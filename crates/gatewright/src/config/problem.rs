//! What is wrong with a configuration, in words that name the key, the value, the source and what would be right.
//!
//! A value that could be a secret is never repeated.

use std::fmt;

use thiserror::Error;
use toml::Value;

use crate::config::{
    key::{Entry, Key, Origin},
    schema::{self, Kind},
};

const HIDDEN: &str = "[hidden]";
const SHOWN_CHARS: usize = 80;

/// Everything that is wrong with a configuration. Never empty.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) struct Problems(pub(crate) Vec<String>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

/// No such key.
pub(crate) fn unknown(key: &Key, entry: &Entry) -> String {
    let nearest = schema::nearest(key);
    let suggestion = match entry.origin {
        Origin::Environment(_) => format!("`{nearest}`, which is {}", nearest.variable()),
        _ => format!("`{nearest}`"),
    };
    let value = match entry.value {
        Value::Table(_) => String::new(),
        // Nobody knows what a key means that does not exist: here a provider's key may stand.
        _ if matches!(key.segments().first(), Some(&"providers" | &"secrets")) => {
            format!(" (= {HIDDEN})")
        }
        _ => format!(" (= {})", shown(key, &entry.value)),
    };
    let place = entry.origin.place();
    format!("unknown key `{key}`{value} {place}; did you mean {suggestion}?")
}

/// A value of another type than the key's.
pub(crate) fn wrong_type(key: &Key, entry: &Entry, kind: Kind) -> String {
    format!(
        "wrong type for `{key}` {}: {} is {}, but {} is needed",
        entry.origin.place(),
        shown(key, &entry.value),
        type_of(&entry.value),
        kind.words(),
    )
}

/// A value of the right type that makes no sense.
pub(crate) fn bad(key: &Key, entry: &Entry, reason: &str) -> String {
    let place = entry.origin.place();
    format!(
        "bad value for `{key}` {place}: {} {reason}",
        shown(key, &entry.value)
    )
}

/// The value as it may be repeated.
fn shown(key: &Key, value: &Value) -> String {
    if may_be_secret(key, value) {
        return HIDDEN.to_owned();
    }
    let text = value.to_string().replace('\n', " ");
    if text.chars().count() <= SHOWN_CHARS {
        return text;
    }
    text.chars().take(SHOWN_CHARS).chain(['…']).collect()
}

/// Whether the value may be a secret: by the key's name, unless it is plainly the name of a variable or a path, or by
/// what it looks like.
fn may_be_secret(key: &Key, value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    let name = key.last().to_lowercase();
    if name.ends_with("_env") {
        return !is_variable_name(text);
    }
    if name.ends_with("_file") {
        return !text.contains(['/', '.']);
    }
    let words = ["key", "secret", "token", "password", "credential", "auth"];
    words.iter().any(|word| name.contains(word)) || text.contains(['@', '?']) || looks_random(text)
}

/// Whether this looks like a key that was pasted into the wrong place.
fn looks_random(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_+=".contains(&byte);
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    text.starts_with("sk-") || (text.len() >= 20 && has_digit && text.bytes().all(allowed))
}

/// Whether this can be the name of an environment variable as people name them, and no key pasted in its place.
pub(crate) fn is_variable_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    !text.is_empty() && text.len() <= 128 && text.bytes().all(allowed)
}

const fn type_of(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number with a fraction",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a section",
    }
}
