//! Schemas in the subset that Bedrock compiles
//! (<https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html>).
//!
//! Every object is closed there. Bounds are left out, since whoever reads the answer checks it against the whole schema;
//! what would only fit an open object is not carried at all.

use domain::{Json, JsonObject};

use crate::schema::{self, Fate, Subset};

/// What is kept as it is.
const KEPT: [&str; 8] = [
    "type",
    "enum",
    "const",
    "description",
    "title",
    "default",
    "required",
    "$ref",
];

/// The schema in the subset; `None` if there it would stand for less than it does.
pub(super) fn closed(schema: &Json) -> Option<Json> {
    Compiled.schema(schema)
}

struct Compiled;

impl Subset for Compiled {
    fn schema(&mut self, schema: &Json) -> Option<Json> {
        let Some(members) = schema::object(schema) else {
            // `true` allows everything, and `false` nothing.
            return (schema.text() == "true").then(|| Json::of(&JsonObject::new()));
        };
        let has = |keyword: &str| members.contains_key(keyword);
        // What several schemas say of one object together, none of them does when it is closed.
        if has("allOf") || has("patternProperties") || (has("properties") && has_choice(&members)) {
            return None;
        }
        let mut out = self.walked(&members)?;
        if is_for_objects(&members) {
            schema::closed(&members)?;
            out.insert("additionalProperties".to_owned(), Json::of(&false));
        }
        Some(Json::of(&out))
    }

    fn fate<'a>(&mut self, keyword: &'a str, value: &Json, _: &JsonObject) -> Option<Fate<'a>> {
        Some(match keyword {
            "anyOf" | "oneOf" => Fate::Inside("anyOf"),
            "properties" | "$defs" | "definitions" => Fate::Inside(keyword),
            "items" if value.is_object() => Fate::Inside(keyword),
            "format" if schema::is_format(value) => Fate::Kept,
            kept if KEPT.contains(&kept) => Fate::Kept,
            _ => Fate::Left,
        })
    }
}

fn has_choice(schema: &JsonObject) -> bool {
    schema.contains_key("anyOf") || schema.contains_key("oneOf")
}

fn is_for_objects(schema: &JsonObject) -> bool {
    let kind = schema.get("type").map(Json::text);
    schema.contains_key("properties") || kind.is_some_and(|kind| kind.contains("\"object\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_closed_bounds_left_out_and_open_objects_not_carried() {
        let cases = [
            (
                r#"{"$schema":"x","type":"object","properties":{"a":{"type":"integer","minimum":1},"b":{"type":"array","items":{"type":"string","format":"date"},"maxItems":3}},"required":["a"]}"#,
                Some(
                    r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"array","items":{"type":"string","format":"date"}}},"required":["a"],"additionalProperties":false}"#,
                ),
            ),
            (
                r##"{"oneOf":[{"$ref":"#/$defs/a"},{"type":"null"}],"$defs":{"a":{"type":["object","null"],"properties":{"x":true}}}}"##,
                Some(
                    r##"{"anyOf":[{"$ref":"#/$defs/a"},{"type":"null"}],"$defs":{"a":{"type":["object","null"],"properties":{"x":{}},"additionalProperties":false}}}"##,
                ),
            ),
            (
                r#"{"type":"object","additionalProperties":false,"properties":{}}"#,
                Some(r#"{"type":"object","properties":{},"additionalProperties":false}"#),
            ),
            (
                r#"{"type":"string","format":"x-own","pattern":"a"}"#,
                Some(r#"{"type":"string"}"#),
            ),
            (r#"{"type":"object"}"#, None),
            (
                r#"{"type":"object","properties":{"a":{"type":"object"}}}"#,
                None,
            ),
            (
                r#"{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"string"}}"#,
                None,
            ),
            (
                r#"{"allOf":[{"type":"object","properties":{"a":{}}}]}"#,
                None,
            ),
            (
                r#"{"type":"object","properties":{"a":{}},"anyOf":[{"properties":{"b":{}}}]}"#,
                None,
            ),
            // Closed, these would fit nothing, or less than they do.
            (
                r#"{"type":"object","properties":{"a":{}},"required":["b"]}"#,
                None,
            ),
            (
                r#"{"type":"object","properties":{"a":{}},"if":{"required":["a"]},"then":{"properties":{"b":{}}}}"#,
                None,
            ),
            ("false", None),
        ];

        for (schema, expected) in cases {
            let schema = Json::parse(schema).unwrap();
            let expected = expected.map(|expected| Json::parse(expected).unwrap());
            assert_eq!(closed(&schema), expected, "{schema:?}");
        }
    }
}
