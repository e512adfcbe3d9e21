//! Schemas in the part of JSON Schema that the host reads
//! (<https://ai.google.dev/api/generate-content#generationconfig>, `responseJsonSchema`).
//!
//! What it does not read is left out, so it may allow more than the schema does, never less; whoever asked checks the
//! answer.

use domain::{Json, JsonObject};

/// Keywords whose values go as they are.
const KEPT: [&str; 11] = [
    "$anchor",
    "$id",
    "type",
    "format",
    "title",
    "description",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "required",
];
const DEFINITIONS: &str = "$defs";
/// What definitions were called in older drafts.
const OLDER: &str = "definitions";

/// The schema without what the host does not read.
pub(super) fn within_subset(schema: &Json) -> Json {
    let Ok(members) = serde_json::from_str::<JsonObject>(schema.text()) else {
        // `true`; and `false`, which no answer satisfies anyway.
        return Json::of(&JsonObject::new());
    };
    let mut kept = JsonObject::new();
    if let Some(place) = members.get("$ref").and_then(Json::as_string) {
        // Nothing may stand beside a reference but what begins as it does.
        let place = place.replacen("#/definitions/", "#/$defs/", 1);
        if place.starts_with("#/$defs/") && !place[8..].contains('/') {
            kept.insert("$ref".to_owned(), Json::of(&place));
        }
        add_definitions(&mut kept, &members);
        return Json::of(&kept);
    }
    for (keyword, value) in &members {
        let value = match keyword.as_str() {
            keyword if KEPT.contains(&keyword) => value.clone(),
            "properties" => named(value),
            "items" if value.text().starts_with('[') => continue,
            // What the left out patterns allow would be forbidden.
            "additionalProperties" if members.contains_key("patternProperties") => continue,
            "additionalProperties" if !value.is_object() => value.clone(),
            "items" | "additionalProperties" => within_subset(value),
            "anyOf" | "oneOf" | "prefixItems" => each(value),
            "enum" if is_plain(value) => value.clone(),
            "const" => {
                let only = Json::of(&[value]);
                if is_plain(&only) {
                    kept.insert("enum".to_owned(), only);
                }
                continue;
            }
            _ => continue,
        };
        kept.insert(keyword.clone(), value);
    }
    add_definitions(&mut kept, &members);
    Json::of(&kept)
}

fn add_definitions(kept: &mut JsonObject, members: &JsonObject) {
    let given = [OLDER, DEFINITIONS];
    let given = given.iter().filter_map(|name| members.get(*name));
    let mut all = JsonObject::new();
    for definitions in given {
        all.extend(subschemas(definitions));
    }
    if !all.is_empty() {
        kept.insert(DEFINITIONS.to_owned(), Json::of(&all));
    }
}

fn named(schemas: &Json) -> Json {
    Json::of(&subschemas(schemas))
}

fn subschemas(schemas: &Json) -> JsonObject {
    let schemas: JsonObject = serde_json::from_str(schemas.text()).unwrap_or_default();
    let schemas = schemas.into_iter();
    let within = schemas.map(|(name, schema)| (name, within_subset(&schema)));
    within.collect()
}

fn each(schemas: &Json) -> Json {
    let schemas: Vec<Json> = serde_json::from_str(schemas.text()).unwrap_or_default();
    Json::of(&schemas.iter().map(within_subset).collect::<Vec<_>>())
}

/// Whether all of the list are texts or numbers, which are the only values that the host holds an answer to.
fn is_plain(values: &Json) -> bool {
    let values: Vec<Json> = serde_json::from_str(values.text()).unwrap_or_default();
    let is_number =
        |text: &str| text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let mut values = values.iter().map(Json::text);
    values.all(|text| text.starts_with('"') || is_number(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_host_does_not_read_is_left_out() {
        let cases = [
            ("true", "{}"),
            ("{}", "{}"),
            (
                r#"{"$schema":"x","type":["string","null"],"minLength":1,"pattern":"a","enum":["a","b"]}"#,
                r#"{"type":["string","null"],"enum":["a","b"]}"#,
            ),
            (r#"{"const":1.50}"#, r#"{"enum":[1.50]}"#),
            (r#"{"const":null}"#, "{}"),
            (r#"{"enum":["a",null]}"#, "{}"),
            (r#"{"const":{"$ref":"x"}}"#, "{}"),
            (
                r#"{"type":"object","properties":{"pattern":{"type":"integer","exclusiveMinimum":0}},"required":["pattern"],"additionalProperties":false,"allOf":[{"required":["b"]}]}"#,
                r#"{"type":"object","properties":{"pattern":{"type":"integer"}},"required":["pattern"],"additionalProperties":false}"#,
            ),
            (
                r#"{"type":"array","items":{"not":{}},"prefixItems":[true,{"type":"null"}],"uniqueItems":true,"maxItems":2}"#,
                r#"{"type":"array","items":{},"prefixItems":[{},{"type":"null"}],"maxItems":2}"#,
            ),
            (
                r#"{"patternProperties":{"^x":{}},"additionalProperties":false}"#,
                "{}",
            ),
            (
                r#"{"items":[{"type":"null"}],"additionalProperties":{"type":"null","default":1}}"#,
                r#"{"additionalProperties":{"type":"null"}}"#,
            ),
        ];

        for (given, kept) in cases {
            let schema = Json::parse(given).unwrap();
            assert_eq!(within_subset(&schema).text(), kept, "{given}");
        }
    }

    #[test]
    fn references_lead_to_definitions_or_nowhere() {
        let cases = [
            (
                r##"{"definitions":{"n":{"type":"number","multipleOf":2}},"properties":{"a":{"$ref":"#/definitions/n","description":"A."}}}"##,
                r##"{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"number"}}}"##,
            ),
            (
                r##"{"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}}"##,
                r##"{"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[{},{"type":"null"}]}}}"##,
            ),
            (
                r##"{"properties":{"a":{"$ref":"#/properties/b"},"b":{"$ref":"#/$defs/n/items"},"c":{"$ref":"other"}}}"##,
                r#"{"properties":{"a":{},"b":{},"c":{}}}"#,
            ),
        ];

        for (given, kept) in cases {
            let schema = Json::parse(given).unwrap();
            assert_eq!(within_subset(&schema).text(), kept, "{given}");
        }
    }
}
