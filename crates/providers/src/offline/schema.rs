//! Schemas as values: following references, and making one schema of several.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::fits;

/// Above this, alternatives are not multiplied out.
const MAX_ALTERNATIVES: usize = 64;

/// The schema that `#`, `#/a/pointer` or `#anchor` names in `root`.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let fragment = percent_decoded(reference.strip_prefix('#')?);
    if fragment.is_empty() || fragment.starts_with('/') {
        return root.pointer(&fragment);
    }
    anchored(root, &fragment)
}

fn anchored<'a>(schema: &'a Value, anchor: &str) -> Option<&'a Value> {
    match schema {
        Value::Object(members) if members.get("$anchor").is_some_and(|name| name == anchor) => {
            Some(schema)
        }
        Value::Object(members) => members.values().find_map(|inner| anchored(inner, anchor)),
        Value::Array(items) => items.iter().find_map(|inner| anchored(inner, anchor)),
        _ => None,
    }
}

fn percent_decoded(text: &str) -> String {
    let encoded = format!("a={}", text.replace('+', "%2B"));
    let mut pairs = url::form_urlencoded::parse(encoded.as_bytes());
    pairs
        .next()
        .map_or_else(String::new, |(_, text)| text.into_owned())
}

/// The schema without some of its keywords, and without its definitions, which are found from the root.
pub(super) fn without(schema: &Map<String, Value>, keywords: &[&str]) -> Value {
    let members = schema.iter();
    let kept = members.filter(|(keyword, _)| {
        let keyword = keyword.as_str();
        !keywords.contains(&keyword) && !matches!(keyword, "$defs" | "definitions")
    });
    Value::Object(
        kept.map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    )
}

/// One schema for what satisfies both; at least nearly, a value made from it is checked against both.
pub(super) fn merged(first: &Value, second: &Value) -> Value {
    let (Value::Object(first), Value::Object(second)) = (first, second) else {
        let is_false = *first == Value::Bool(false) || *second == Value::Bool(false);
        let stronger = if first.is_object() { first } else { second };
        return if is_false {
            Value::Bool(false)
        } else {
            stronger.clone()
        };
    };
    let mut all = first.clone();
    for (keyword, value) in second {
        let both = match all.get(keyword) {
            Some(given) if given != value => both(keyword, given, value),
            _ => value.clone(),
        };
        all.insert(keyword.clone(), both);
    }
    Value::Object(all)
}

fn both(keyword: &str, first: &Value, second: &Value) -> Value {
    let is_more = second.as_f64() > first.as_f64();
    match keyword {
        "properties" | "patternProperties" | "$defs" | "definitions" => members(first, second),
        "required" => {
            let known: HashSet<&str> = items(first).iter().filter_map(Value::as_str).collect();
            let is_new = |name: &&Value| name.as_str().is_some_and(|name| !known.contains(name));
            let new = items(second).iter().filter(is_new);
            Value::Array(items(first).iter().chain(new).cloned().collect())
        }
        "type" => Value::Array(common_types(first, second)),
        "enum" => {
            let among = |value: &&Value| items(second).iter().any(|other| fits::same(value, other));
            Value::Array(items(first).iter().filter(among).cloned().collect())
        }
        "anyOf" | "oneOf" => pairs(first, second),
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties"
        | "minContains" | "multipleOf" => if is_more { second } else { first }.clone(),
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties"
        | "maxContains" => if is_more { first } else { second }.clone(),
        "items" | "additionalProperties" | "propertyNames" | "contains" => {
            json!({ "allOf": [first, second] })
        }
        "not" => json!({ "anyOf": [first, second] }),
        _ => second.clone(),
    }
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn members(first: &Value, second: &Value) -> Value {
    let mut all = first.as_object().cloned().unwrap_or_default();
    for (name, schema) in second.as_object().into_iter().flatten() {
        let both = match all.get(name) {
            Some(given) if given != schema => json!({ "allOf": [given, schema] }),
            _ => schema.clone(),
        };
        all.insert(name.clone(), both);
    }
    Value::Object(all)
}

fn common_types(first: &Value, second: &Value) -> Vec<Value> {
    let second = types(second);
    let common = types(first).into_iter().filter_map(|name| match name {
        _ if second.contains(&name) => Some(name),
        "integer" if second.contains(&"number") => Some("integer"),
        "number" if second.contains(&"integer") => Some("integer"),
        _ => None,
    });
    common.map(Value::from).collect()
}

/// The names in a `type`, which is one name or a list.
pub(super) fn types(given: &Value) -> Vec<&str> {
    match given {
        Value::String(name) => vec![name.as_str()],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Each alternative of one list with each of the other.
fn pairs(first: &Value, second: &Value) -> Value {
    let firsts = items(first).iter();
    let pair = |first: &Value, second: &Value| json!({ "allOf": [first, second] });
    let pairs =
        firsts.flat_map(|first| items(second).iter().map(move |second| pair(first, second)));
    Value::Array(pairs.take(MAX_ALTERNATIVES).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_followed_inside_the_document() {
        let root = json!({
            "$defs": { "a/b c": { "type": "null" }, "x": { "$anchor": "here", "type": "string" } },
        });

        let found = [
            "#/$defs/a~1b%20c/type",
            "#here",
            "#",
            "#/nowhere",
            "http://x/",
            "#there",
        ]
        .map(|reference| resolve(&root, reference).cloned());

        assert_eq!(
            found,
            [
                Some(json!("null")),
                Some(root["$defs"]["x"].clone()),
                Some(root.clone()),
                None,
                None,
                None,
            ]
        );
    }

    #[test]
    fn merging_keeps_the_stricter_of_two() {
        let first = json!({
            "type": ["number", "null"], "minimum": 1, "maximum": 9, "required": ["a"],
            "enum": [1, 2], "properties": { "a": true },
        });
        let second = json!({
            "type": "integer", "minimum": 3, "maximum": 10, "required": ["a", "b"],
            "enum": [2.0, 3], "properties": { "a": { "type": "null" } },
        });

        assert_eq!(
            merged(&first, &second),
            json!({
                "type": ["integer"], "minimum": 3, "maximum": 9, "required": ["a", "b"], "enum": [2],
                "properties": { "a": { "allOf": [true, { "type": "null" }] } },
            })
        );
        assert_eq!(merged(&first, &json!(false)), json!(false));
        assert_eq!(merged(&json!(true), &first), first);
    }
}
