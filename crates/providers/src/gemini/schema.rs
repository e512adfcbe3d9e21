//! Schemas in the part of JSON Schema that the host reads
//! (<https://ai.google.dev/api/generate-content#generationconfig>, `responseJsonSchema`).
//!
//! What it does not read is left out, so it may allow more than the schema does, never less; whoever asked checks the
//! answer.

use domain::{Json, JsonObject};

use crate::schema::{self, DEFINITIONS, Fate, Subset};

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

/// The schema without what the host does not read.
pub(super) fn within_subset(schema: &Json) -> Json {
    let within = Readable.schema(schema);
    within.unwrap_or_else(|| Json::of(&JsonObject::new()))
}

struct Readable;

impl Subset for Readable {
    fn schema(&mut self, schema: &Json) -> Option<Json> {
        // `true`; and `false`, which no answer satisfies anyway.
        let members = schema::object(schema).unwrap_or_default();
        let mut kept = match members.get("$ref").and_then(Json::as_string) {
            Some(place) => reference(&place),
            None => self.walked(&members)?,
        };
        let mut definitions = JsonObject::new();
        for keyword in DEFINITIONS.iter().rev() {
            if let Some(schemas) = members.get(*keyword) {
                definitions.extend(self.named(&schema::object(schemas)?)?);
            }
        }
        if !definitions.is_empty() {
            kept.insert(DEFINITIONS[0].to_owned(), Json::of(&definitions));
        }
        Some(Json::of(&kept))
    }

    fn fate<'a>(
        &mut self,
        keyword: &'a str,
        value: &Json,
        members: &JsonObject,
    ) -> Option<Fate<'a>> {
        Some(match keyword {
            keyword if KEPT.contains(&keyword) => Fate::Kept,
            "items" if value.text().starts_with('[') => Fate::Left,
            // What the left out patterns allow would be forbidden.
            "additionalProperties" if members.contains_key("patternProperties") => Fate::Left,
            "additionalProperties" if !value.is_object() => Fate::Kept,
            "properties" | "items" | "additionalProperties" | "anyOf" | "oneOf" | "prefixItems" => {
                Fate::Inside(keyword)
            }
            "enum" if is_plain(value) => Fate::Kept,
            "const" if is_plain(&Json::of(&[value])) => Fate::Instead("enum", Json::of(&[value])),
            _ => Fate::Left,
        })
    }
}

/// A reference, beside which nothing may stand but what begins as it does; nothing, if the host cannot follow it.
fn reference(place: &str) -> JsonObject {
    let place = place.replacen("#/definitions/", "#/$defs/", 1);
    let name = place.strip_prefix("#/$defs/");
    let is_followed = name.is_some_and(|name| !name.contains('/'));
    let kept = is_followed.then(|| ("$ref".to_owned(), Json::of(&place)));
    kept.into_iter().collect()
}

/// Whether all of the list are texts or numbers, which are the only values that the host holds an answer to.
fn is_plain(values: &Json) -> bool {
    let values = schema::list(values).unwrap_or_default();
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
