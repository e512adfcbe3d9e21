//! Schemas in the subset that Bedrock compiles
//! (<https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html>).
//!
//! Every object is closed there. Bounds are left out, since whoever reads the answer checks it against the whole schema;
//! what would only fit an open object is not carried at all.

use domain::{Json, JsonObject};

/// What is kept as it is.
const KEPT: [&str; 10] = [
    "type",
    "enum",
    "const",
    "description",
    "title",
    "default",
    "required",
    "$ref",
    "properties",
    "items",
];
const FORMATS: [&str; 10] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
];

/// The schema in the subset; `None` if there it would stand for less than it does.
pub(super) fn closed(schema: &Json) -> Option<Json> {
    let Ok(schema) = serde_json::from_str::<JsonObject>(schema.text()) else {
        // `true` allows everything, and `false` nothing.
        return (schema.text() == "true").then(|| Json::of(&JsonObject::new()));
    };
    let has = |keyword: &str| schema.contains_key(keyword);
    // What several schemas say of one object together, none of them does when it is closed.
    if has("allOf") || has("patternProperties") || (has("properties") && has_choice(&schema)) {
        return None;
    }
    let mut out = JsonObject::new();
    for (keyword, value) in &schema {
        let value = match keyword.as_str() {
            "properties" | "$defs" | "definitions" => closed_each(value)?,
            "anyOf" | "oneOf" => {
                let choices: Vec<Json> = serde_json::from_str(value.text()).ok()?;
                let choices: Option<Vec<Json>> = choices.iter().map(closed).collect();
                Json::of(&choices?)
            }
            "items" if value.is_object() => closed(value)?,
            "items" => continue,
            "format" if FORMATS.contains(&&*value.as_string()?) => value.clone(),
            kept if KEPT.contains(&kept) => value.clone(),
            _ => continue,
        };
        let keyword = if keyword == "oneOf" { "anyOf" } else { keyword };
        out.insert(keyword.to_owned(), value);
    }
    if is_for_objects(&schema) {
        let more = schema.get("additionalProperties").map(Json::text);
        let is_bare = schema.get("properties").is_none_or(|it| it.text() == "{}");
        if !matches!(more, None | Some("false")) || (is_bare && more.is_none()) {
            return None;
        }
        out.insert("additionalProperties".to_owned(), Json::of(&false));
    }
    Some(Json::of(&out))
}

fn closed_each(schemas: &Json) -> Option<Json> {
    let schemas: JsonObject = serde_json::from_str(schemas.text()).ok()?;
    let schemas = schemas
        .iter()
        .map(|(name, schema)| Some((name.clone(), closed(schema)?)));
    Some(Json::of(&schemas.collect::<Option<JsonObject>>()?))
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
            ("false", None),
        ];

        for (schema, expected) in cases {
            let schema = Json::parse(schema).unwrap();
            let expected = expected.map(|expected| Json::parse(expected).unwrap());
            assert_eq!(closed(&schema), expected, "{schema:?}");
        }
    }
}
