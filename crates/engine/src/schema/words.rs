//! The words of one schema object, read leniently: whether they are well formed is the compiler's to say.

use serde_json::{Map, Value};

const COMPARISONS_PER_EVALUATION: u64 = 16;

/// The validator looks scalars up in a table, and compares with lists and objects one by one.
pub(super) fn price(words: &Map<String, Value>) -> u64 {
    let choices = list(words, "enum").iter();
    let compared = choices.filter(|choice| choice.is_array() || choice.is_object());
    1 + compared.count() as u64 / COMPARISONS_PER_EVALUATION
}

/// A place finds at most one fault for each of its words, and one for each name that it requires.
pub(super) fn faults(words: &Map<String, Value>) -> u64 {
    let listed = |value: &Value| match value {
        Value::Array(names) => names.len(),
        Value::Object(members) => members
            .values()
            .map(|names| names.as_array().map_or(0, Vec::len))
            .sum(),
        _ => 0,
    };
    let named: usize = ["required", "dependentRequired", "dependencies"]
        .iter()
        .filter_map(|word| words.get(*word))
        .map(listed)
        .sum();
    (words.len() + named) as u64
}

/// The text that a word has, if it has one.
pub(super) fn text<'a>(words: &'a Map<String, Value>, word: &str) -> Option<&'a str> {
    words.get(word).and_then(Value::as_str)
}

/// The list that a word has, empty if it has none.
pub(super) fn list<'a>(words: &'a Map<String, Value>, word: &str) -> &'a [Value] {
    words
        .get(word)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The members that a word has, none if it is no object.
pub(super) fn map<'a>(
    words: &'a Map<String, Value>,
    word: &str,
) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
    words
        .get(word)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), value))
}

/// A fragment of a URI as the text it stands for.
pub(crate) fn decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escape = after.get(..2).filter(|_| byte == b'%');
        let number = escape
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(number.unwrap_or(byte));
        rest = if number.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok()
}
