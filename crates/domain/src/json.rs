//! JSON that is carried, not modelled: a value kept as its own compact text.
//!
//! Numbers, strings and key order reach storage and providers exactly as they came (`reliability.md` E5), and a
//! large input is never rebuilt on its way through the house. [`check_strict`] is what a body must pass first.

use std::{borrow::Cow, collections::HashSet, fmt, sync::Arc};

use indexmap::IndexMap;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use crate::Invalid;

/// The deepest nesting that a JSON text may have (`interface.md` 1.9).
const MAX_DEPTH: usize = 128;

/// An object whose members keep their order and their values' text.
pub type JsonObject = IndexMap<String, Json>;

/// A JSON value as compact text: no white space outside of strings.
#[derive(Clone)]
pub struct Json(Arc<RawValue>);

impl Json {
    /// Checks strictly and compacts.
    ///
    /// # Errors
    /// `json_invalid` for anything but one JSON value that [`check_strict`] lets pass.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        check_strict(text.as_bytes())?;
        let raw: Box<RawValue> = serde_json::from_str(text)
            .map_err(|error| Invalid::new("json_invalid", error.to_string()))?;
        Ok(Self::from_raw(&raw))
    }

    /// The text of a value that was built here.
    pub fn from_value(value: &Value) -> Self {
        Self::of(value)
    }

    /// The text of anything that serializes without fail: structs, maps with string keys, scalars.
    pub fn of(value: &impl Serialize) -> Self {
        let raw = serde_json::value::to_raw_value(value)
            .expect("the value serializes: its map keys are strings");
        Self(Arc::from(raw))
    }

    /// The value `null`.
    pub fn null() -> Self {
        Self::of(&())
    }

    /// The compact text.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Parses the text into a tree.
    pub fn to_value(&self) -> Value {
        let mut reader = serde_json::Deserializer::from_str(self.text());
        reader.disable_recursion_limit();
        Value::deserialize(&mut reader).expect("the text was checked when it was made")
    }

    /// The string's content, if the value is a string.
    pub fn as_string(&self) -> Option<String> {
        self.text()
            .starts_with('"')
            .then(|| serde_json::from_str(self.text()).ok())
            .flatten()
    }

    /// The text with each string in its shortest spelling: `"\u00e9"` and `"é"` are one string, and this is how people
    /// and models read it.
    pub fn spelled_out(&self) -> Cow<'_, str> {
        let text = self.text();
        if !text.contains('\\') {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('"') {
            let (before, from) = rest.split_at(at);
            let (string, left) = from.split_at(string_bytes(from));
            out.push_str(before);
            match serde_json::from_str::<String>(string) {
                Ok(content) if string.contains('\\') => out.push_str(Self::of(&content).text()),
                _ => out.push_str(string),
            }
            rest = left;
        }
        out.push_str(rest);
        Cow::Owned(out)
    }

    /// What people and models read: a string's content as it is, anything else as compact JSON, spelled out.
    pub fn to_text(&self) -> String {
        self.as_string()
            .unwrap_or_else(|| self.spelled_out().into_owned())
    }

    /// Whether the value is an object.
    pub fn is_object(&self) -> bool {
        self.text().starts_with('{')
    }

    /// Whether the value is `null`.
    pub fn is_null(&self) -> bool {
        self.text() == "null"
    }

    fn from_raw(raw: &RawValue) -> Self {
        match compact(raw.get()) {
            None => Self(Arc::from(raw.to_owned())),
            Some(text) => {
                let raw = RawValue::from_string(text).expect("compacting keeps a value valid");
                Self(Arc::from(raw))
            }
        }
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self::from_raw(&raw))
    }
}

/// How many bytes of a text that begins with a string the string takes.
fn string_bytes(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 2)
}

/// The text without white space outside of strings; `None` if there is none to take out.
fn compact(text: &str) -> Option<String> {
    let mut out = None;
    let mut kept_to = 0;
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if byte == b'"' {
            in_string = true;
        } else if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
            out.push_str(&text[kept_to..at]);
            kept_to = at + 1;
        }
    }
    let mut out = out?;
    out.push_str(&text[kept_to..]);
    Some(out)
}

/// Checks one JSON text by the rules of `reliability.md` 3, without building anything.
///
/// # Errors
/// `json_invalid` for broken syntax, invalid UTF-8, a byte order mark, bytes after the value, duplicate keys, lone
/// surrogates, numbers beyond a 64-bit float and nesting beyond 128 levels.
pub fn check_strict(bytes: &[u8]) -> Result<(), Invalid> {
    let refused = |error: serde_json::Error| Invalid::new("json_invalid", error.to_string());
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    reader.disable_recursion_limit();
    Strict {
        levels_left: MAX_DEPTH,
    }
    .deserialize(&mut reader)
    .map_err(refused)?;
    reader.end().map_err(refused)
}

#[derive(Clone, Copy)]
struct Strict {
    levels_left: usize,
}

impl Strict {
    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        match self.levels_left.checked_sub(1) {
            Some(levels_left) => Ok(Self { levels_left }),
            None => Err(E::custom(format!("nested deeper than {MAX_DEPTH} levels"))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let inner = self.deeper()?;
        while items.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let inner = self.deeper()?;
        let mut seen = HashSet::new();
        while let Some(key) = members.next_key::<String>()? {
            if seen.contains(&key) {
                return Err(de::Error::custom(format_args!(
                    "duplicate key `{}`",
                    key.escape_debug()
                )));
            }
            members.next_value_seed(inner)?;
            seen.insert(key);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_spelled_as_people_read_them() {
        for (given, spelled) in [
            (
                r#"{"a\u00e9":["\u00e9\"\\","\/",1.50]}"#,
                r#"{"aé":["é\"\\","/",1.50]}"#,
            ),
            (r#""\ud83d\ude00\u0000\n""#, "\"\u{1F600}\\u0000\\n\""),
            (r#"["\\","\"",{}]"#, r#"["\\","\"",{}]"#),
            ("[1.0,null]", "[1.0,null]"),
        ] {
            let given = Json::parse(given).unwrap();

            assert_eq!(given.spelled_out(), spelled);
            assert_eq!(given.to_value(), Json::parse(spelled).unwrap().to_value());
        }
    }

    #[test]
    fn text_is_compacted_and_otherwise_kept() {
        let json =
            Json::parse("{ \"b\" : [1.0, 1e2,\n 12345678901234567890123],\t\"a\": \"x \\\" y\" }")
                .unwrap();

        assert_eq!(
            json.text(),
            r#"{"b":[1.0,1e2,12345678901234567890123],"a":"x \" y"}"#
        );
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let deepest = format!("{}{}", "[".repeat(128), "]".repeat(128));
        let too_deep = format!("{}{}", "[".repeat(129), "]".repeat(129));
        let refused = [
            r#"{"a":1,"a":2}"#,
            r#"{"a":{"b":1,"b":1}}"#,
            r#""\ud800""#,
            "1e999",
            "NaN",
            "1 2",
            "\u{feff}1",
            "",
            "{",
            too_deep.as_str(),
        ];

        assert!(Json::parse(&deepest).is_ok());
        for text in refused {
            assert_eq!(
                Json::parse(text).unwrap_err().slug,
                "json_invalid",
                "{text}"
            );
        }
        assert!(check_strict(b"\"\xff\"").is_err());
    }

    #[test]
    fn deep_values_can_be_read_back() {
        let text = format!("{}{}", "[".repeat(128), "]".repeat(128));

        assert_eq!(Json::parse(&text).unwrap().to_value().to_string(), text);
    }
}
