//! Schemas into the subset and answers out of it.

use domain::Json;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn strict(schema: &str) -> Option<(String, bool)> {
    let strict = rewritten(&Json::parse(schema).unwrap(), &FULL)?;
    Some((strict.schema.text().to_owned(), strict.is_filled))
}

#[test]
fn only_models_that_are_known_to_keep_the_subset_do() {
    let keep = [
        ("openai", "gpt-4o"),
        ("openai", "gpt-4o-2024-08-06"),
        ("openai", "gpt-4o-2024-11-20"),
        ("openai", "gpt-4o-mini-2024-07-18"),
        ("openai", "gpt-4.1-nano"),
        ("openai", "gpt-5.1"),
        ("openai", "gpt-5.4-mini"),
        ("openai", "gpt-6-luna"),
        ("openai", "o1"),
        ("openai", "o4-mini"),
        ("openrouter", "openai/gpt-4.1-mini"),
        ("openrouter", "openai/gpt-5.4-mini"),
    ];
    let keep_plainly = [("groq", "openai/gpt-oss-20b"), ("cerebras", "gpt-oss-120b")];
    let not = [
        ("openai", "gpt-4o-2024-05-13"),
        ("openai", "gpt-4o-audio-preview"),
        ("openai", "gpt-4-turbo"),
        ("openai", "o1-mini"),
        ("openai", "ft:gpt-4o-mini:a"),
        ("openrouter", "gpt-4o"),
        ("groq", "llama-3.3-70b-versatile"),
        ("mine", "gpt-4o"),
    ];

    for (provider, model) in keep {
        assert_eq!(subset(provider, model), Some(&FULL), "{model}");
    }
    for (provider, model) in keep_plainly {
        assert_eq!(subset(provider, model), Some(&PLAIN), "{model}");
    }
    for (provider, model) in not {
        assert_eq!(subset(provider, model), None, "{model}");
    }
}

#[test]
fn optional_properties_become_ones_that_may_be_null() {
    let cases = [
        (
            r#"{"type":"object","properties":{"a":{"type":"integer","minimum":1.0},"b":{"type":"string"}},"required":["a"]}"#,
            r#"{"type":"object","required":["a","b"],"properties":{"a":{"type":"integer","minimum":1.0},"b":{"anyOf":[{"type":"string"},{"type":"null"}]}},"additionalProperties":false}"#,
            true,
        ),
        (
            r#"{"type":"object","properties":{"a":{"enum":["x",12345678901234567890123]},"b":{"type":["string","null"]}},"required":["a"]}"#,
            r#"{"type":"object","required":["a","b"],"properties":{"a":{"type":["string","number"],"enum":["x",12345678901234567890123]},"b":{"type":["string","null"]}},"additionalProperties":false}"#,
            false,
        ),
        (
            r##"{"$schema":"x","title":"T","type":"object","description":"d","properties":{"n":{"$ref":"#/$defs/n","description":"e"}},"required":["n"],"additionalProperties":false,"$defs":{"n":{"type":"object","properties":{"l":{"type":"array","items":{"$ref":"#/$defs/n"},"maxItems":3}},"required":["l"]}}}"##,
            r##"{"type":"object","description":"d","required":["n"],"properties":{"n":{"$ref":"#/$defs/n"}},"additionalProperties":false,"$defs":{"n":{"type":"object","required":["l"],"properties":{"l":{"type":"array","maxItems":3,"items":{"$ref":"#/$defs/n"}}},"additionalProperties":false}}}"##,
            false,
        ),
    ];

    for (schema, rewritten, is_filled) in cases {
        let expected = Some((rewritten.to_owned(), is_filled));
        assert_eq!(strict(schema), expected, "{schema}");
    }
}

#[test]
fn what_the_subset_lacks_is_not_carried() {
    let of = |property: &str| format!(r#"{{"type":"object","properties":{{"a":{property}}}}}"#);
    let nested = (0..10).fold(r#"{"type":"string"}"#.to_owned(), |inner, _| of(&inner));
    let many: Vec<String> = (0..1001).map(|value| value.to_string()).collect();
    let doubling = (0..40).map(|at| {
        let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
        (format!("d{at}"), json!({"anyOf": [next, next]}))
    });
    let mut definitions: Map<String, Value> = doubling.collect();
    definitions.insert("d40".to_owned(), json!({"type": "string"}));
    let doubling = json!({
        "type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions,
    });
    let alike = r#"{"anyOf":[{"type":"object","properties":{"x":{"type":"string"}}},{"type":"object","properties":{"x":{"type":"object","properties":{"y":{"type":"null"}}}}}]}"#;

    let mut schemas: Vec<String> = [
        "{}",
        "true",
        r#"{"minLength":1,"type":"string"}"#,
        r#"{"type":"string","pattern":"a(?=b)"}"#,
        r#"{"type":"array"}"#,
        r#"{"type":"array","items":true}"#,
        r#"{"type":"array","prefixItems":[],"items":{"type":"string"}}"#,
        r#"{"type":"object"}"#,
        r#"{"type":"object","properties":{"x":{"type":"null"}},"additionalProperties":true}"#,
        r#"{"type":"object","properties":{"x":{"type":"null"}},"additionalProperties":{"type":"string"}}"#,
        r#"{"type":"object","properties":{"x":{"type":"null"}},"required":["y"]}"#,
        r#"{"oneOf":[{"type":"string"}]}"#,
        r#"{"anyOf":[{"type":"string"}],"type":"string"}"#,
        r##"{"$ref":"#/properties/a"}"##,
        r#"{"$ref":"other"}"#,
        r##"{"$ref":"#/$defs/none"}"##,
        r##"{"$ref":"#","type":"object"}"##,
        alike,
    ]
    .map(of)
    .into();
    schemas.extend([
        "{}".to_owned(),
        "true".to_owned(),
        r#"{"type":"array","items":{"type":"string"}}"#.to_owned(),
        r#"{"type":["object","null"],"properties":{}}"#.to_owned(),
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/a"}}}"##.to_owned(),
        of(&nested),
        of(&format!(r#"{{"enum":[{}]}}"#, many.join(","))),
        of(&format!(r#"{{"const":"{}"}}"#, "x".repeat(120_000))),
        doubling.to_string(),
    ]);

    for schema in schemas {
        assert_eq!(strict(&schema), None, "{schema:.200}");
    }
    assert!(strict(&nested).is_some());
}

#[test]
fn an_answer_keeps_the_text_of_all_that_stays() {
    let schema = r##"{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"string"},"c":{"type":"null"},"d":{"type":"array","items":{"$ref":"#"}}}}"##;
    let schema = Json::parse(schema).unwrap();
    let cases = [
        (
            r#"{"b": null, "a": 1.50, "c": null, "d": [{"a":null,"b":"\u00e5","c":null,"d":null}]}"#,
            r#"{"a":1.50,"c":null,"d":[{"b":"\u00e5","c":null}]}"#,
        ),
        (
            r#"{"a": 1.0, "b": "x", "c": null, "d": [ ]}"#,
            r#"{"a": 1.0, "b": "x", "c": null, "d": [ ]}"#,
        ),
        (r#"{"a": null, "b": "#, r#"{"a": null, "b": "#),
        (r#"{"a": null}"#, r#"{"a": null}"#),
        (r"null", r"null"),
        ("", ""),
    ];

    for (answer, expected) in cases {
        assert_eq!(emptied(&schema, answer.to_owned()), expected);
    }
}

/// A schema that the subset can carry, with a value that satisfies it.
fn case() -> impl Strategy<Value = (Value, Value)> {
    let leaf = prop_oneof![
        (-50_i64..50).prop_map(|number| (json!({"type": "integer"}), json!(number))),
        "[a-c\"é]{0,3}".prop_map(|text| (json!({"type": "string"}), json!(text))),
        Just((json!({"type": ["string", "null"]}), Value::Null)),
        Just((json!({"type": "null"}), Value::Null)),
        Just((json!({"enum": ["x", 1, null]}), Value::Null)),
        Just((
            json!({"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
            json!(true)
        )),
        Just((json!({"const": "x", "title": "T"}), json!("x"))),
    ];
    let any = leaf.prop_recursive(4, 24, 4, |inner| {
        let list = (inner.clone(), 0_usize..3).prop_map(|((schema, value), count)| {
            let items = vec![value; count];
            (json!({"type": "array", "items": schema}), json!(items))
        });
        prop_oneof![list, object_case(inner.clone()), either(inner)]
    });
    object_case(any)
}

/// An object of a few properties, some of them optional, some of those left out.
fn object_case(
    inner: impl Strategy<Value = (Value, Value)> + Clone + 'static,
) -> impl Strategy<Value = (Value, Value)> {
    let member = (inner, any::<bool>(), any::<bool>());
    prop::collection::btree_map("[a-e]", member, 1..4).prop_map(|members| {
        let mut properties = Map::new();
        let mut required = Vec::new();
        let mut value = Map::new();
        for (name, ((schema, member), is_required, is_given)) in members {
            properties.insert(name.clone(), schema);
            if is_required {
                required.push(name.clone());
            }
            if is_required || is_given {
                value.insert(name, member);
            }
        }
        let schema = json!({"type": "object", "properties": properties, "required": required});
        (schema, Value::Object(value))
    })
}

/// One of two choices, of which the other is an object that no case is.
fn either(
    inner: impl Strategy<Value = (Value, Value)> + 'static,
) -> impl Strategy<Value = (Value, Value)> {
    inner.prop_map(|(schema, value)| {
        let other = json!({"type": "object", "properties": {"other": {"type": "string"}}});
        (json!({"anyOf": [other, schema]}), value)
    })
}

/// The value with every property that was left out as `null`, as far as its schema says that it may not be.
fn filled(schema: &Value, value: &Value) -> Value {
    let schema = match schema.get("anyOf") {
        // The second choice is the one that the value is of.
        Some(choices) if choices[1]["type"] != "null" => return filled(&choices[1], value),
        _ => schema,
    };
    match value {
        Value::Object(members) => {
            let properties = schema["properties"].as_object().unwrap();
            let members = properties.iter().map(|(name, property)| {
                let member = members.get(name);
                let member = member.map_or(Value::Null, |member| filled(property, member));
                (name.clone(), member)
            });
            Value::Object(members.collect())
        }
        Value::Array(items) => items
            .iter()
            .map(|item| filled(&schema["items"], item))
            .collect(),
        value => value.clone(),
    }
}

/// Without what may be `null` or left out at will: of that, the subset leaves only one.
fn settled(schema: &Value, value: &Value) -> Value {
    let schema_json = Json::from_value(schema);
    let text = filled(schema, value).to_string();
    let emptied = emptied(&schema_json, text);
    serde_json::from_str(&emptied).unwrap()
}

fn is_valid(schema: &Value, value: &Value) -> bool {
    jsonschema::validator_for(schema).unwrap().is_valid(value)
}

/// Whether a value has all that another has, and beyond that nothing but `null`s.
fn extends(value: &Value, other: &Value) -> bool {
    match (value, other) {
        (Value::Object(members), Value::Object(others)) => {
            members.iter().all(|(name, member)| {
                others
                    .get(name)
                    .map_or(member.is_null(), |other| extends(member, other))
            }) && others.keys().all(|name| members.contains_key(name))
        }
        (Value::Array(items), Value::Array(others)) => {
            items.len() == others.len()
                && items
                    .iter()
                    .zip(others)
                    .all(|(item, other)| extends(item, other))
        }
        (value, other) => value == other,
    }
}

/// Whether no optional property may be `null` by itself.
fn is_definite(schema: &Value) -> bool {
    let nullable = |schema: &Value| is_valid(schema, &Value::Null);
    match schema {
        Value::Object(object) => {
            let required = |name: &String| {
                let required = object["required"].as_array().unwrap();
                required.iter().any(|it| it == name)
            };
            let properties = object.get("properties").and_then(Value::as_object);
            let is_definite_object = properties.is_none_or(|properties| {
                !object.contains_key("required")
                    || properties.iter().all(|(name, schema)| {
                        is_definite(schema) && (required(name) || !nullable(schema))
                    })
            });
            let choices = object.get("anyOf").and_then(Value::as_array);
            is_definite_object
                && object.get("items").is_none_or(is_definite)
                && choices.is_none_or(|choices| choices.iter().all(is_definite))
        }
        _ => true,
    }
}

proptest! {
    #[test]
    fn a_value_that_is_filled_with_nulls_comes_back_the_same((schema, value) in case()) {
        prop_assert!(is_valid(&schema, &value));
        let strict = rewritten(&Json::from_value(&schema), &FULL);
        // Depth and look-alikes may stand against it.
        prop_assume!(strict.is_some());
        let strict = strict.unwrap().schema.to_value();

        let filled = filled(&schema, &value);
        let settled = settled(&schema, &value);

        prop_assert!(is_valid(&strict, &filled), "{strict} {filled}");
        prop_assert!(is_valid(&schema, &settled), "{schema} {settled}");
        prop_assert!(extends(&settled, &value), "{settled} {value}");
        if is_definite(&schema) {
            prop_assert_eq!(settled, value);
        }
    }
}
