//! Schemas of values that are no objects, as the one member of an object, and such values out of it again.
//!
//! The arguments of a tool are an object in every dialect. Definitions stay at the root, where references expect them.

use std::mem;

use domain::{Json, JsonObject};

/// The member.
const VALUE: &str = "value";
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];
/// Above this, what has come so far would have been a wrapper, if it were one.
const MAX_OPENING_BYTES: usize = 1024;

/// The schema of the object around a value; `None` if the value is an object itself.
pub(crate) fn wrapped(schema: &Json) -> Option<Json> {
    let mut root: JsonObject = serde_json::from_str(schema.text()).unwrap_or_default();
    if root
        .get("type")
        .is_some_and(|kind| kind.text() == "\"object\"")
    {
        return None;
    }
    let mut around = JsonObject::new();
    around.insert("type".to_owned(), Json::of(&"object"));
    for name in DEFINITIONS {
        if let Some(definitions) = root.shift_remove(name) {
            around.insert(name.to_owned(), named(&definitions));
        }
    }
    let value = if schema.is_object() {
        moved(&root)
    } else {
        schema.clone()
    };
    let properties = JsonObject::from_iter([(VALUE.to_owned(), value)]);
    around.insert("properties".to_owned(), Json::of(&properties));
    around.insert("required".to_owned(), Json::of(&[VALUE]));
    Some(Json::of(&around))
}

/// The schema with its references bent to where its root is now.
fn moved(schema: &JsonObject) -> Json {
    let bent = schema.iter().map(|(keyword, value)| {
        let value = match keyword.as_str() {
            "$ref" => bent(value),
            "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => {
                named(value)
            }
            "anyOf" | "allOf" | "oneOf" | "prefixItems" | "items"
                if value.text().starts_with('[') =>
            {
                let schemas: Vec<Json> = serde_json::from_str(value.text()).unwrap_or_default();
                Json::of(&schemas.iter().map(subschema).collect::<Vec<_>>())
            }
            "items"
            | "additionalItems"
            | "additionalProperties"
            | "contains"
            | "propertyNames"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "not"
            | "if"
            | "then"
            | "else" => subschema(value),
            // Values and bounds: what looks like a reference there is none.
            _ => value.clone(),
        };
        (keyword.clone(), value)
    });
    Json::of(&bent.collect::<JsonObject>())
}

fn subschema(schema: &Json) -> Json {
    serde_json::from_str(schema.text()).map_or_else(|_| schema.clone(), |schema| moved(&schema))
}

fn named(schemas: &Json) -> Json {
    let schemas: JsonObject = serde_json::from_str(schemas.text()).unwrap_or_default();
    let schemas = schemas
        .iter()
        .map(|(name, schema)| (name.clone(), subschema(schema)));
    Json::of(&schemas.collect::<JsonObject>())
}

fn bent(reference: &Json) -> Json {
    let Some(text) = reference.as_string() else {
        return reference.clone();
    };
    let path = text.strip_prefix('#');
    let is_kept = |path: &str| {
        let first = path
            .strip_prefix('/')
            .and_then(|path| path.split('/').next());
        first.is_some_and(|first| DEFINITIONS.contains(&first))
    };
    match path {
        Some(path) if (path.is_empty() || path.starts_with('/')) && !is_kept(path) => {
            Json::of(&format!("#/properties/{VALUE}{path}"))
        }
        _ => reference.clone(),
    }
}

/// Takes a value out of the object around it, piece by piece as its text comes.
///
/// A text that does not begin as that object does is left as it is: the model gave the value itself.
#[derive(Debug, Default)]
pub(crate) struct Unwrapping {
    place: Place,
    held: String,
}

#[derive(Debug, Default)]
enum Place {
    #[default]
    Before,
    Inside,
    NoWrapper,
}

impl Unwrapping {
    /// What the next piece adds to the value's text.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        match self.place {
            Place::NoWrapper => piece.to_owned(),
            Place::Inside => self.inside(piece),
            Place::Before => {
                self.held.push_str(piece);
                match opening(&self.held) {
                    Opening::Open if self.held.len() <= MAX_OPENING_BYTES => String::new(),
                    Opening::Until(begin) => {
                        self.place = Place::Inside;
                        let begun = mem::take(&mut self.held);
                        self.inside(&begun[begin..])
                    }
                    Opening::Open | Opening::None => {
                        self.place = Place::NoWrapper;
                        mem::take(&mut self.held)
                    }
                }
            }
        }
    }

    /// What is left of the value's text.
    pub(crate) fn finish(&mut self) -> String {
        let held = mem::take(&mut self.held);
        match self.place {
            Place::Inside => {
                let value = held.trim_end().strip_suffix('}');
                value.map_or(held.clone(), |value| value.trim_end().to_owned())
            }
            Place::Before | Place::NoWrapper => held,
        }
    }

    /// The wrapper's own brace is the last of all, so whatever may be it is held back.
    fn inside(&mut self, piece: &str) -> String {
        let is_last = |char: char| char == '}' || char.is_ascii_whitespace();
        let (sure, open) = piece.split_at(piece.trim_end_matches(is_last).len());
        if sure.is_empty() {
            self.held.push_str(open);
            return String::new();
        }
        let mut told = mem::replace(&mut self.held, open.to_owned());
        told.push_str(sure);
        told
    }
}

/// How far a text opens the object around a value.
enum Opening {
    /// The value begins there.
    Until(usize),
    /// So far, and no value yet.
    Open,
    /// Not at all.
    None,
}

fn opening(text: &str) -> Opening {
    let mut rest = text;
    for token in ["{", "\"value\"", ":"] {
        rest = rest.trim_start();
        match rest.strip_prefix(token) {
            Some(after) => rest = after,
            None if token.starts_with(rest) => return Opening::Open,
            None => return Opening::None,
        }
    }
    let value = rest.trim_start();
    if value.is_empty() {
        Opening::Open
    } else {
        Opening::Until(text.len() - value.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    #[test]
    fn objects_need_no_wrapper_and_references_find_their_target_in_it() {
        let cases = [
            (r#"{"type":"object"}"#, None),
            (
                "true",
                Some(r#"{"type":"object","properties":{"value":true},"required":["value"]}"#),
            ),
            (
                r##"{"type":"array","items":{"$ref":"#/$defs/a"},"maxItems":1.0,"$defs":{"a":{"anyOf":[{"$ref":"#"},{"const":{"$ref":"#"}}]}}}"##,
                Some(
                    r##"{"type":"object","$defs":{"a":{"anyOf":[{"$ref":"#/properties/value"},{"const":{"$ref":"#"}}]}},"properties":{"value":{"type":"array","items":{"$ref":"#/$defs/a"},"maxItems":1.0}},"required":["value"]}"##,
                ),
            ),
            (
                r##"{"anyOf":[{"type":"null"},{"type":"object","properties":{"$ref":{"$ref":"#/anyOf/0"}}}]}"##,
                Some(
                    r##"{"type":"object","properties":{"value":{"anyOf":[{"type":"null"},{"type":"object","properties":{"$ref":{"$ref":"#/properties/value/anyOf/0"}}}]}},"required":["value"]}"##,
                ),
            ),
        ];

        for (schema, around) in cases {
            assert_eq!(wrapped(&json(schema)), around.map(json), "{schema}");
        }
    }

    fn unwrapped(pieces: &[&str]) -> String {
        let mut unwrapping = Unwrapping::default();
        let mut told: String = pieces.iter().map(|piece| unwrapping.push(piece)).collect();
        told += &unwrapping.finish();
        told
    }

    #[test]
    fn a_value_without_its_wrapper_is_left_as_it_is() {
        let long = format!("{}{{", " ".repeat(2000));
        let texts = [
            "[1]",
            "",
            "{",
            r#"{"values":1}"#,
            r#"{"val"#,
            "nonsense }",
            &long,
        ];

        for text in texts {
            assert_eq!(unwrapped(&[text]), text);
        }
        assert_eq!(
            unwrapped(&[r#" { "value" : [1.0, "}"] } "#]),
            r#"[1.0, "}"]"#
        );
        assert_eq!(unwrapped(&[r#"{"value": {"a": {"#]), r#"{"a": {"#);
    }

    proptest! {
        #[test]
        fn values_come_out_as_they_are_however_they_are_split(
            value in r#"(\[("[ }a]{0,3}",){0,3}\{\}\]|\{"a": \{\} \}|"\}* "|[0-9]{1,3}\.0|null)"#,
            cut in 1_usize..6,
        ) {
            let text = format!(r#"{{ "value" :{value} }}"#);
            let pieces: Vec<&str> = text
                .as_bytes()
                .chunks(cut)
                .map(|piece| std::str::from_utf8(piece).unwrap())
                .collect();

            prop_assert_eq!(unwrapped(&pieces), value);
        }
    }
}
