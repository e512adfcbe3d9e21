use proptest::prelude::*;

use super::*;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

#[test]
fn what_the_subset_lacks_is_left_out_where_that_allows_more() {
    let cases = [
        (
            r#"{"type":"object","properties":{"a":{"type":"integer","minimum":1,"description":"d"},"b":{"type":"string","pattern":"x","format":"email","minLength":2}},"required":["a"],"minProperties":1}"#,
            r#"{"type":"object","properties":{"a":{"type":"integer","description":"d"},"b":{"type":"string","format":"email"}},"required":["a"],"additionalProperties":false}"#,
        ),
        (
            r#"{"type":"array","items":{"enum":["a",null]},"minItems":3,"uniqueItems":true}"#,
            r#"{"type":"array","minItems":1,"items":{"type":["string","null"],"enum":["a",null]}}"#,
        ),
        (
            r#"{"oneOf":[{"const":1},{"type":"null"}],"description":"d","default":1}"#,
            r#"{"description":"d","anyOf":[{"type":"number","const":1},{"type":"null"}]}"#,
        ),
        (
            r##"{"$defs":{"a":{"type":"string","format":"odd"},"unused":true},"type":"object","properties":{"x":{"allOf":[{"$ref":"#/$defs/a"}],"title":"t"}},"additionalProperties":false}"##,
            r##"{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}},"required":[],"additionalProperties":false,"$defs":{"a":{"type":"string"}}}"##,
        ),
        (
            r#"{"type":"object","additionalProperties":false}"#,
            r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#,
        ),
    ];

    for (schema, expected) in cases {
        assert_eq!(carried(&json(schema)), Some(json(expected)), "{schema}");
    }
}

#[test]
fn what_would_come_out_narrower_or_too_large_is_not_carried() {
    let many = |count: usize, property: &str| {
        let properties: Vec<String> = (0..count)
            .map(|it| format!("\"p{it}\":{property}"))
            .collect();
        format!(
            r#"{{"type":"object","properties":{{{}}}}}"#,
            properties.join(",")
        )
    };
    let schemas = [
        "true",
        "{}",
        r#"{"properties":{"a":{"type":"null"}}}"#,
        r#"{"type":"object"}"#,
        r#"{"type":"object","properties":{"a":{}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"null"}},"additionalProperties":{"type":"null"}}"#,
        r#"{"type":"object","properties":{"a":{"type":"null"}},"patternProperties":{"b":true},"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"a":{"type":"null"}},"if":{"properties":{"b":true}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"null"}},"required":["b"]}"#,
        r#"{"type":"object","properties":{"a":{"type":"null"}},"anyOf":[{"type":"object","properties":{"b":{"type":"null"}}}]}"#,
        r#"{"allOf":[{"type":"string"},{"enum":["a"]}]}"#,
        r#"{"type":"array"}"#,
        r##"{"$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/a"}}},"$ref":"#/$defs/a"}"##,
        r##"{"type":"array","items":{"$ref":"#"}}"##,
        r#"{"type":"array","items":{"$ref":"https://h/s"}}"#,
        &many(25, r#"{"type":"null"}"#),
        &many(17, r#"{"type":["null","string"]}"#),
    ];

    for schema in schemas {
        assert_eq!(carried(&json(schema)), None, "{schema}");
    }
    assert!(carried(&json(&many(24, r#"{"type":"null"}"#))).is_some());
}

/// Schemas without objects that stand open by a mere lack of words.
fn schemas() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::json;
    let leaf = prop_oneof![
        Just(json!({ "type": "integer", "minimum": 2 })),
        Just(json!({ "type": ["string", "null"], "maxLength": 2 })),
        Just(json!({ "enum": ["a", 1, null] })),
        Just(json!({ "const": "a" })),
        Just(json!({ "$ref": "#/$defs/d" })),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|it| json!({ "type": "array", "items": it, "minItems": 2 })),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|it| json!({ "oneOf": it })),
            inner.clone().prop_map(|it| json!({ "allOf": [it] })),
            (inner.clone(), inner).prop_map(|(a, b)| json!({
                "type": "object", "properties": { "a": a, "b": b },
                "required": ["a"], "additionalProperties": false, "minProperties": 2,
            })),
        ]
    })
}

fn values() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::json;
    let leaf = prop_oneof![
        Just(json!(1)),
        Just(json!(3)),
        Just(json!("a")),
        Just(json!("abc")),
        Just(json!(null)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(serde_json::Value::from),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({ "a": a, "b": b })),
            inner.prop_map(|a| json!({ "a": a })),
        ]
    })
}

proptest! {
    #[test]
    fn what_fits_a_schema_fits_it_in_the_subset(schema in schemas(), value in values()) {
        let mut schema = schema;
        schema["$defs"] = serde_json::json!({ "d": { "type": "string", "pattern": "^a" } });
        let original = jsonschema::validator_for(&schema).unwrap();

        if let Some(carried) = carried(&Json::from_value(&schema)) {
            let carried = jsonschema::validator_for(&carried.to_value()).unwrap();
            prop_assert!(!original.is_valid(&value) || carried.is_valid(&value));
        }
    }
}

#[test]
fn a_tool_is_held_to_its_schema_if_nothing_of_it_is_lost() {
    let with = |property: &str| {
        let schema =
            format!(r#"{{"type":"object","properties":{{"a":{property}}},"required":["a"]}}"#);
        Room::beside(None).take(&json(&schema)).is_some()
    };

    for kept in [
        r#"{"type":"string","description":"d","enum":["x"],"default":"x"}"#,
        r#"{"type":["string","null"]}"#,
        r#"{"type":"array","items":{"type":"integer"},"minItems":1}"#,
    ] {
        assert!(with(kept), "{kept}");
    }
    for lost in [
        r#"{"type":"integer","minimum":1}"#,
        r#"{"type":"string","pattern":"x"}"#,
        r#"{"type":"array","items":{"type":"integer"},"minItems":2}"#,
        "{}",
    ] {
        assert!(!with(lost), "{lost}");
    }
}

#[test]
fn the_schemas_of_a_request_share_their_room() {
    let optional = |count: usize| {
        let properties: Vec<String> = (0..count)
            .map(|it| format!(r#""p{it}":{{"type":"null"}}"#))
            .collect();
        json(&format!(
            r#"{{"type":"object","properties":{{{}}}}}"#,
            properties.join(",")
        ))
    };
    let required = json(r#"{"type":"object","properties":{"a":{"type":"null"}},"required":["a"]}"#);
    let mut room = Room::beside(Some(&optional(10)));

    let taken = [10, 5, 4, 1].map(|count| room.take(&optional(count)).is_some());
    let further = (0..20).filter(|_| room.take(&required).is_some()).count();

    assert_eq!(taken, [true, false, true, false]);
    assert_eq!(further, MAX_TOOLS - 2);
}
