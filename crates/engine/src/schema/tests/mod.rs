//! Which schemas are let in, and that checking against those is bounded.

mod let_in;
mod load;
mod refused;

use serde_json::{Value, json};

use super::*;

fn compile(schema: &Value) -> Result<Schema, Invalid> {
    Schema::compile(&Json::from_value(schema))
}

#[test]
fn a_mismatch_names_its_place_and_not_the_value() {
    let schema = json!({
        "type": "object",
        "properties": {"people": {"type": "array", "items": {"$ref": "#/$defs/person"}}},
        "$defs": {"person": {"type": "object", "properties": {"age": {"type": "integer"}}}},
    });

    let mismatches = compile(&schema)
        .unwrap()
        .mismatches(&json!({"people": [{"age": "s3cret"}]}));

    assert_eq!(mismatches.len(), 1);
    assert_eq!(
        mismatches[0].line(),
        "/people/0/age: value is not of type \"integer\""
    );
}

#[test]
fn what_is_no_schema_is_refused() {
    let deep = (0..70).fold(json!({}), |inner, _| json!({"not": inner}));
    let refused = [
        json!({"type": "thing"}),
        json!({"type": 3}),
        json!({"minimum": "x"}),
        json!({"$ref": "#/$defs/nothing"}),
        json!({"properties": {"a": {"$ref": "#/$defs/nothing"}}}),
        json!({"$ref": "http://127.0.0.1:9/schema.json"}),
        json!({"$ref": "file:///etc/passwd"}),
        json!({"$ref": "other.json#/a"}),
        json!({"$schema": "http://example.com/mine"}),
        json!({"pattern": "(?=a)b"}),
        json!({"pattern": "("}),
        json!(true),
        deep,
    ];

    for schema in refused {
        assert!(compile(&schema).is_err(), "{schema}");
    }
}

#[test]
fn both_drafts_and_both_words_for_definitions_are_taken() {
    let old = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"a": {"type": "integer"}}, "$ref": "#/definitions/a",
    });
    let new = json!({"definitions": {"a": {"type": "integer"}}, "$ref": "#/definitions/a"});

    for schema in [old, new] {
        assert!(compile(&schema).unwrap().mismatches(&json!(1.0)).is_empty());
        assert_eq!(compile(&schema).unwrap().mismatches(&json!(1.5)).len(), 1);
    }
}

#[test]
fn formats_are_not_asserted() {
    let schema = compile(&json!({"type": "string", "format": "email"})).unwrap();

    assert!(schema.mismatches(&json!("no address")).is_empty());
}

/// `depth` definitions, each made from a reference to the one before.
fn ladder(depth: usize, rung: impl Fn(Value) -> Value) -> Value {
    let name = |step| format!("d{step}");
    let mut definitions = serde_json::Map::from_iter([(name(0), json!({"type": "integer"}))]);
    for step in 1..=depth {
        let below = json!({"$ref": format!("#/$defs/{}", name(step - 1))});
        definitions.insert(name(step), rung(below));
    }
    json!({"$ref": format!("#/$defs/{}", name(depth)), "$defs": definitions})
}

fn numbered(count: usize, schema: &Value) -> Value {
    (0..count)
        .map(|number| (format!("m{number}"), schema.clone()))
        .collect()
}

fn strings(count: usize) -> Value {
    (0..count).map(|number| number.to_string()).collect()
}
