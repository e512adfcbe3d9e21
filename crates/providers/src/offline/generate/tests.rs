//! Schemas of all sorts, and what is made for them.

use proptest::prelude::*;

use super::*;

/// Schemas that some value satisfies, each of another kind.
fn schemas() -> Vec<Value> {
    let node = json!({
        "$defs": { "node": {
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "children": { "type": "array", "items": { "$ref": "#/$defs/node" } },
                "parent": { "anyOf": [{ "$ref": "#/$defs/node" }, { "type": "null" }] },
            },
            "required": ["name", "children", "parent"],
        } },
        "$ref": "#/$defs/node",
    });
    let mut schemas = vec![
        json!(true),
        json!({}),
        json!({ "type": "null" }),
        json!({ "type": ["null", "boolean"] }),
        json!({ "type": "string", "minLength": 30, "maxLength": 31 }),
        json!({ "type": "string", "maxLength": 1 }),
        json!({ "type": "string", "maxLength": 0 }),
        json!({ "type": "string", "pattern": "^[A-Z]{2}\\d{4,}$", "minLength": 12 }),
        json!({ "pattern": "^(north|south)-\\w+$", "type": "string" }),
        json!({ "type": "integer", "minimum": 7, "maximum": 20, "multipleOf": 6 }),
        json!({ "type": "integer", "exclusiveMinimum": 2, "exclusiveMaximum": 4 }),
        json!({ "type": "integer", "maximum": -5, "multipleOf": 3 }),
        json!({ "type": "integer", "minimum": 9_007_199_254_740_993_i64 }),
        json!({ "type": "integer", "minimum": 1.5 }),
        json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5 }),
        json!({ "type": "number", "minimum": 2.5, "maximum": 2.8, "multipleOf": 0.1 }),
        json!({ "type": "number", "maximum": -0.5 }),
        json!({ "type": "number", "minimum": 0.25, "maximum": 0.25 }),
        json!({ "enum": ["red", "green", 3] }),
        json!({ "const": { "a": [1, null] } }),
        json!({ "type": "string", "default": "none", "enum": ["all", "none"] }),
        json!({ "type": "integer", "default": "wrong", "examples": ["bad", 44] }),
        json!({ "type": "array", "items": { "type": "integer" }, "minItems": 3, "uniqueItems": true }),
        json!({ "type": "array", "items": { "enum": [1, 2, 3] }, "minItems": 3, "uniqueItems": true }),
        json!({ "type": "array", "items": { "type": "string", "format": "date" }, "minItems": 4, "uniqueItems": true }),
        json!({ "type": "array", "prefixItems": [{ "type": "string" }, { "type": "number" }], "items": false }),
        json!({ "type": "array", "contains": { "type": "integer", "minimum": 5 }, "minContains": 2, "minItems": 3 }),
        json!({ "type": "array", "maxItems": 0 }),
        json!({ "type": "array", "minItems": 2, "uniqueItems": true, "items": {
            "type": "object", "properties": { "id": { "type": "string", "format": "uuid" } }, "required": ["id"] } }),
        json!({ "type": "object", "minProperties": 2, "propertyNames": { "pattern": "^k_[a-z]+$" },
            "additionalProperties": { "type": "integer" } }),
        json!({ "type": "object", "patternProperties": { "^x-": { "type": "boolean" } }, "required": ["x-a"],
            "additionalProperties": false }),
        json!({ "type": "object", "properties": { "a": {}, "b": {}, "c": {} }, "maxProperties": 2, "required": ["c"] }),
        json!({ "type": "object", "properties": { "a": { "type": "string" } }, "dependentRequired": { "a": ["b"] } }),
        json!({ "allOf": [
            { "type": "object", "properties": { "a": { "type": "number", "minimum": 3 } }, "required": ["a"] },
            { "properties": { "a": { "maximum": 3 }, "b": { "type": "string" } }, "required": ["b"] } ] }),
        json!({ "anyOf": [{ "type": "string", "minLength": 3 }, { "type": "integer" }] }),
        json!({ "oneOf": [{ "type": "number", "multipleOf": 5 }, { "type": "number", "multipleOf": 3 }], "minimum": 15 }),
        json!({ "oneOf": [
            { "type": "object", "properties": { "kind": { "const": "cat" }, "lives": { "type": "integer" } }, "required": ["kind", "lives"] },
            { "type": "object", "properties": { "kind": { "const": "dog" }, "tricks": { "type": "array", "items": { "type": "string" } } }, "required": ["kind"] } ] }),
        json!({ "type": "object", "properties": { "kind": { "enum": ["a", "b"] } }, "required": ["kind"],
            "if": { "properties": { "kind": { "const": "a" } } }, "then": { "required": ["x"] },
            "else": { "required": ["y"] } }),
        json!({ "type": "string", "not": { "const": "text" }, "examples": ["text", "other"] }),
        json!({ "allOf": [{ "anyOf": [{ "minimum": 3 }, { "type": "string" }] },
            { "anyOf": [{ "type": "integer" }, { "type": "null" }] }] }),
        node,
        json!({ "type": "object", "properties": { "value": {}, "next": { "$ref": "#" } }, "required": ["value"] }),
        json!({ "$defs": { "a": { "allOf": [{ "$ref": "#/$defs/b" }, { "required": ["z"] }] },
            "b": { "type": "object", "properties": { "z": { "type": "integer" } } } }, "$ref": "#/$defs/a" }),
        json!({ "$defs": { "p": { "$anchor": "point", "type": "array", "minItems": 2, "items": { "type": "number" } } },
            "type": "object", "properties": { "from": { "$ref": "#point" } }, "required": ["from"] }),
    ];
    let formats = [
        "date",
        "date-time",
        "time",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "uuid",
        "uri",
        "uri-reference",
        "json-pointer",
        "regex",
    ];
    schemas.push(
        json!({ "type": "array", "minItems": 3, "uniqueItems": true, "items": {
        "type": "object",
        "properties": { "kind": { "const": "point" }, "x": { "type": "integer" } },
        "required": ["kind", "x"] } }),
    );
    schemas.extend(formats.map(|format| json!({ "type": "string", "format": format })));
    schemas
}

/// A schema of that many members, each of which is the whole schema again.
fn wide(count: usize) -> Value {
    let members = (0..count).map(|at| (format!("p{at}"), json!({ "$ref": "#" })));
    json!({ "type": "object", "properties": members.collect::<Map<_, _>>() })
}

fn complaint(schema: &Value, value: &Value) -> Option<String> {
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .unwrap();
    let fault = validator.iter_errors(value).next()?;
    Some(format!("{schema} got {value}: {fault}"))
}

#[test]
fn what_is_made_satisfies_its_schema() {
    let inputs = [
        json!(null),
        json!("text"),
        json!({ "a": 7, "kind": "b", "name": "Ada", "value": [1], "children": [{ "name": "Bo" }] }),
    ];

    for schema in schemas() {
        for input in &inputs {
            let made = value(&schema, input);
            assert_eq!(complaint(&schema, &made), None);
            assert_eq!(value(&schema, input), made);
        }
    }
}

#[test]
fn members_are_drawn_from_the_input_by_name() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "age": { "type": "integer", "maximum": 99 },
            "tier": { "enum": ["free", "pro"] },
            "address": { "type": "object", "properties": {
                "city": { "type": "string" }, "zip": { "type": "string", "pattern": "^\\d{5}$" } } },
            "tags": { "type": "array", "items": { "type": "string" } },
            "greeting": { "type": "string" },
        },
    });
    let input = json!({
        "name": "Ada", "age": 130, "tier": "pro", "tags": ["x", 2, "y"],
        "address": { "city": "Turin", "zip": "none" },
    });

    assert_eq!(
        value(&schema, &input),
        json!({
            "name": "Ada", "age": 1, "tier": "pro",
            "address": { "city": "Turin", "zip": "aaaaa".replace('a', "0") },
            "tags": ["x", "tags", "y"], "greeting": "greeting",
        })
    );
    assert_eq!(
        value(&json!({ "type": "string" }), &json!("as it is")),
        json!("as it is")
    );
}

#[test]
fn schemas_without_an_end_or_a_value_are_survived() {
    let deep = (0..100).fold(
        json!({ "type": "string" }),
        |inner, _| json!({ "type": "array", "items": inner, "minItems": 1 }),
    );
    for schema in [
        json!(false),
        json!({ "$ref": "#" }),
        json!({ "$ref": "#/nowhere" }),
        json!({ "allOf": [{ "$ref": "#" }] }),
        json!({ "type": "integer", "minimum": 2, "maximum": 1 }),
        json!({ "type": "array", "minItems": 1e9 }),
        json!({ "type": "string", "minLength": 1e12 }),
        json!({ "type": "object", "required": ["a"], "additionalProperties": false }),
        json!({ "type": "object", "properties": { "a": { "$ref": "#" } }, "required": ["a"] }),
        json!({ "type": "string", "pattern": "(" }),
        json!({ "anyOf": [] }),
        json!({ "enum": [] }),
        json!({ "type": [] }),
        json!({ "type": 3, "properties": [], "required": "x", "items": 4, "multipleOf": 0 }),
        json!({ "type": "integer", "multipleOf": 0 }),
        json!({ "type": "integer", "minimum": 1e300 }),
        deep,
    ] {
        let made = value(&schema, &json!({ "a": 1 }));
        assert_eq!(value(&schema, &json!({ "a": 1 })), made);
    }
    for schema in [wide(40), wide(5_000)] {
        assert_eq!(complaint(&schema, &value(&schema, &json!({}))), None);
    }
}

#[test]
fn a_large_input_is_not_copied_without_end() {
    let names = (0..2_000).map(|at| (format!("p{at}"), json!({ "properties": { "blob": {} } })));
    let schema = json!({ "type": "object", "properties": names.collect::<Map<_, _>>() });

    let made = value(&schema, &json!({ "blob": "x".repeat(1 << 20) }));

    assert!(made.to_string().len() < 1 << 26);
    assert_eq!(complaint(&schema, &made), None);
}

#[test]
fn a_misfit_misses() {
    let loose = [
        json!(true),
        json!({}),
        json!({ "type": ["string", "null", "number", "array", "object"] }),
    ];

    for schema in schemas().iter().filter(|schema| !loose.contains(schema)) {
        let made = misfit(schema);
        if complaint(schema, &made).is_none() {
            // Formats are notes to this check, as they are to the engine's.
            assert!(schema.get("format").is_some(), "{schema} lets {made} pass");
        }
    }
}

proptest! {
    #[test]
    fn bounds_of_numbers_are_kept(low in -1000_i64..1000, span in 0_i64..50, step in 1_i64..20) {
        let schema = json!({
            "type": "integer", "minimum": low, "maximum": low + span + step, "multipleOf": step,
        });

        prop_assert_eq!(complaint(&schema, &value(&schema, &Value::Null)), None);
    }

    #[test]
    fn bounds_of_texts_are_kept(least in 0_usize..80, span in 0_usize..9, name in "[a-zå ]{0,12}") {
        let text = json!({ "type": "string", "minLength": least, "maxLength": least + span });
        let schema = json!({ "type": "object", "properties": { name.clone(): text }, "required": [name] });

        prop_assert_eq!(complaint(&schema, &value(&schema, &Value::Null)), None);
    }

    #[test]
    fn any_input_is_taken(input in any::<String>()) {
        for schema in schemas().iter().take(8) {
            prop_assert_eq!(complaint(schema, &value(schema, &json!({ "a": input.clone() }))), None);
        }
    }
}
