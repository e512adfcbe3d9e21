//! Schemas that must be let in, and values checked against each.

use serde_json::{Value, json};

use super::{compile, ladder, numbered, strings};

#[test]
fn everyday_schemas_are_let_in_and_check() {
    for (name, schema, good, bad) in everyday() {
        let compiled = compile(&schema).unwrap_or_else(|fault| panic!("{name}: {fault}"));

        assert_eq!(compiled.mismatches(&good), [], "{name}");
        let is_bad = schema == json!({}) || !compiled.mismatches(&bad).is_empty();
        assert!(is_bad, "{name}");
    }
}

#[test]
fn recursive_schemas_check_the_deepest_values() {
    for (name, schema, wrap, good, bad) in recursive() {
        let schema = compile(&schema).unwrap_or_else(|fault| panic!("{name}: {fault}"));

        for depth in [0, 1, 30, 60] {
            let deep = |end: &Value| (0..depth).fold(end.clone(), |inner, _| wrap(inner));
            assert_eq!(schema.mismatches(&deep(&good)), [], "{name}");
            assert!(!schema.mismatches(&deep(&bad)).is_empty(), "{name}");
        }
    }
}

#[test]
fn what_is_just_within_the_limits_is_let_in() {
    let let_in = [
        json!({"enum": strings(1000)}),
        json!({"properties": numbered(999, &json!({"$ref": "#/$defs/a"})), "$defs": {"a": {}}}),
        json!({"properties": numbered(200, &json!({"pattern": "^[a-z]+$"}))}),
        json!({"properties": numbered(9_000, &json!({}))}),
        json!({"pattern": "a".repeat(2048)}),
        ladder(11, |below| json!({"anyOf": [below, below]})),
        ladder(
            9,
            |below| json!({"anyOf": [{"properties": {"c": below}}, {"properties": {"c": below}}]}),
        ),
        ladder(30, |below| json!({"anyOf": [below]})),
        ladder(30, |below| json!({"properties": {"c": below, "d": below}})),
    ];

    for schema in let_in {
        compile(&schema).unwrap();
    }
}

/// Schemas as people write them, each with a value that satisfies it and one that does not.
#[expect(clippy::too_many_lines, reason = "a table")]
fn everyday() -> Vec<(&'static str, Value, Value, Value)> {
    vec![
        ("nothing asked", json!({}), json!(1), Value::Null),
        (
            "a record",
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
                "additionalProperties": false}),
            json!({"a": "x"}),
            json!({"b": 1}),
        ),
        (
            "nested definitions",
            json!({"$defs": {"outer": {"$defs": {"inner": {"type": "integer"}},
                "properties": {"n": {"$ref": "#/$defs/outer/$defs/inner"}}}}, "$ref": "#/$defs/outer"}),
            json!({"n": 1}),
            json!({"n": "x"}),
        ),
        (
            "definitions of draft 7",
            json!({"$schema": "http://json-schema.org/draft-07/schema#",
                "definitions": {"a b/c": {"type": "integer"}}, "items": {"$ref": "#/definitions/a%20b~1c"}}),
            json!([1]),
            json!(["x"]),
        ),
        (
            "identities of draft 7 that only name places",
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "$id": "http://example.com/root.json",
                "properties": {"a": {"$id": "#/properties/a", "type": "integer"}, "b": {"$ref": "#named"}},
                "definitions": {"n": {"$id": "#named", "type": "string"}}}),
            json!({"a": 1, "b": "x"}),
            json!({"a": 1, "b": 2}),
        ),
        (
            "draft 4",
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "id": "http://example.com/x",
                "properties": {"id": {"type": "integer", "minimum": 0, "exclusiveMinimum": true}}}),
            json!({"id": 1}),
            json!({"id": 0}),
        ),
        (
            "draft 6",
            json!({"$schema": "http://json-schema.org/draft-06/schema#",
                "dependencies": {"a": ["b"], "b": {"properties": {"b": {"const": 1}}}}}),
            json!({"a": 0, "b": 1}),
            json!({"a": 0}),
        ),
        (
            "draft 2019-09",
            json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveAnchor": true,
                "properties": {"child": {"$recursiveRef": "#"}}, "unevaluatedProperties": false}),
            json!({"child": {"child": {}}}),
            json!({"child": {"other": {}}}),
        ),
        (
            "a root with an identity",
            json!({"$id": "https://example.com/a.json", "items": {"$ref": "#/$defs/a"},
                "$defs": {"a": {"type": "null"}}}),
            json!([null]),
            json!([1]),
        ),
        (
            "anchors",
            json!({"$defs": {"a": {"$anchor": "here", "type": "null"}, "b": {"$dynamicAnchor": "there", "const": 1}},
                "prefixItems": [{"$ref": "#here"}, {"$dynamicRef": "#there"}]}),
            json!([null, 1]),
            json!([null, 2]),
        ),
        (
            "data that looks like a reference",
            json!({"const": {"$ref": "http://x", "$id": "http://y"}, "default": {"$ref": "http://x"},
                "examples": [{"$ref": "http://x", "$schema": "z"}], "enum": [{"$ref": "http://x", "$id": "http://y"}]}),
            json!({"$ref": "http://x", "$id": "http://y"}),
            json!({}),
        ),
        (
            "members with the names of words",
            json!({"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}, "enum": {"type": "string"},
                "properties": {"type": "object"}, "$schema": {"type": "string"}}}),
            json!({"$ref": "http://x", "$id": "u", "enum": "e", "properties": {}}),
            json!({"$ref": 1}),
        ),
        (
            "optional members as pydantic writes them",
            json!({"$defs": {"Address": {"properties": {"street": {"title": "Street", "type": "string"}},
                    "required": ["street"], "title": "Address", "type": "object"}},
                "properties": {"name": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
                    "home": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}], "default": null},
                    "tags": {"items": {"type": "string"}, "type": "array", "uniqueItems": true}},
                "title": "Person", "type": "object"}),
            json!({"name": null, "home": {"street": "x"}, "tags": ["a", "b"]}),
            json!({"home": {}}),
        ),
        (
            "a union told apart by a constant",
            json!({"oneOf": [
                {"properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind"]},
                {"properties": {"kind": {"const": "b"}, "x": {"type": "string"}}, "required": ["kind"]},
                {"properties": {"kind": {"const": "c"}, "x": {"type": "null"}}, "required": ["kind"]}]}),
            json!({"kind": "b", "x": "y"}),
            json!({"kind": "b", "x": 1}),
        ),
        (
            "components as in OpenAPI",
            json!({"components": {"schemas": {"Pet": {"allOf": [{"$ref": "#/components/schemas/Named"},
                    {"properties": {"age": {"type": "integer"}}}]},
                "Named": {"properties": {"name": {"type": "string"}}, "required": ["name"]}}},
                "type": "array", "items": {"$ref": "#/components/schemas/Pet"}}),
            json!([{"name": "Rex", "age": 3}]),
            json!([{"age": 3}]),
        ),
        (
            "conditions",
            json!({"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"required": ["b"]},
                "else": {"required": ["c"]}, "dependentSchemas": {"b": {"required": ["d"]}}, "not": {"required": ["z"]}}),
            json!({"a": 1, "b": 0, "d": 0}),
            json!({"a": 1}),
        ),
        (
            "an extension that is closed",
            json!({"allOf": [{"$ref": "#/$defs/base"}], "properties": {"b": {}}, "unevaluatedProperties": false,
                "$defs": {"base": {"properties": {"a": {}}}}}),
            json!({"a": 1, "b": 2}),
            json!({"c": 1}),
        ),
        (
            "tuples",
            json!({"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": false}),
            json!([1, "x"]),
            json!([1, "x", 2]),
        ),
        (
            "maps and names",
            json!({"patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": {"type": "integer"},
                "propertyNames": {"maxLength": 4}}),
            json!({"x-a": "s", "n": 1}),
            json!({"n": "s"}),
        ),
        (
            "two definitions used in many places",
            json!({"$defs": {"p": {"properties": {"x": {"$ref": "#/$defs/n"}, "y": {"$ref": "#/$defs/n"}}},
                "n": {"type": "number"}}, "properties": {"a": {"$ref": "#/$defs/p"}, "b": {"$ref": "#/$defs/p"},
                "c": {"items": {"$ref": "#/$defs/p"}}}}),
            json!({"a": {"x": 1}, "c": [{"y": 2}]}),
            json!({"c": [{"y": "2"}]}),
        ),
    ]
}

/// A name, a schema, what wraps a value into a deeper one, a good value, a bad one.
type Recursive = (&'static str, Value, fn(Value) -> Value, Value, Value);

/// Recursive schemas, each with what wraps a value that satisfies it into a deeper one, and a value that does not.
fn recursive() -> Vec<Recursive> {
    vec![
        (
            "a linked list",
            json!({"$defs": {"n": {"properties": {"value": {"type": "integer"},
                "next": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}}, "required": ["next"]}},
                "$ref": "#/$defs/n"}),
            |inner| json!({"value": 1, "next": inner}),
            json!({"next": null}),
            json!({"value": "x", "next": null}),
        ),
        (
            "a tree",
            json!({"properties": {"children": {"type": "array", "items": {"$ref": "#"}}}, "type": "object",
                "additionalProperties": false}),
            |inner| json!({"children": [inner]}),
            json!({}),
            json!({"kids": []}),
        ),
        (
            "a tree of two hands",
            json!({"$defs": {"t": {"properties": {"left": {"$ref": "#/$defs/t"}, "right": {"$ref": "#/$defs/t"},
                "value": {"type": "integer"}}, "type": "object"}}, "$ref": "#/$defs/t"}),
            |inner| json!({"left": inner, "value": 1}),
            json!({}),
            json!(1),
        ),
        (
            "a filter of several kinds that go down by different names",
            json!({"$defs": {"f": {"oneOf": [
                {"type": "object", "properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/f"}}}, "required": ["and"],
                    "additionalProperties": false},
                {"type": "object", "properties": {"or": {"type": "array", "items": {"$ref": "#/$defs/f"}}}, "required": ["or"],
                    "additionalProperties": false},
                {"type": "object", "properties": {"not": {"$ref": "#/$defs/f"}}, "required": ["not"], "additionalProperties": false},
                {"type": "string"}]}}, "$ref": "#/$defs/f"}),
            |inner| json!({"and": [{"not": inner}]}),
            json!("x"),
            json!(1),
        ),
        (
            "any JSON but numbers",
            json!({"$defs": {"j": {"anyOf": [{"type": ["string", "boolean", "null"]},
                {"type": "array", "items": {"$ref": "#/$defs/j"}},
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/j"}}]}},
                "type": "object", "properties": {"v": {"$ref": "#/$defs/j"}}, "required": ["v"]}),
            |inner| json!({"v": [inner]}),
            json!({"v": "x"}),
            json!({"v": 1}),
        ),
        (
            "a schema of schemas",
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "$id": "http://json-schema.org/draft-07/schema#",
                "definitions": {"list": {"type": "array", "minItems": 1, "items": {"$ref": "#"}}},
                "type": ["object", "boolean"], "properties": {
                    "type": {"type": "string"}, "not": {"$ref": "#"}, "if": {"$ref": "#"}, "then": {"$ref": "#"},
                    "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/definitions/list"}]},
                    "allOf": {"$ref": "#/definitions/list"}, "anyOf": {"$ref": "#/definitions/list"},
                    "properties": {"type": "object", "additionalProperties": {"$ref": "#"}},
                    "dependencies": {"additionalProperties": {"anyOf": [{"$ref": "#"}, {"items": {"type": "string"}}]}}}}),
            |inner| json!({"allOf": [{"items": inner}]}),
            json!({"type": "x"}),
            json!({"type": 1}),
        ),
        (
            "definitions that refer to each other",
            json!({"$defs": {"a": {"properties": {"b": {"$ref": "#/$defs/b"}}, "type": "object"},
                "b": {"properties": {"a": {"$ref": "#/$defs/a"}}, "type": "object"}}, "$ref": "#/$defs/a"}),
            |inner| json!({"b": {"a": inner}}),
            json!({}),
            json!(1),
        ),
        (
            "comments on comments, with a base",
            json!({"$defs": {"base": {"properties": {"id": {"type": "integer"}}, "required": ["id"]},
                "comment": {"allOf": [{"$ref": "#/$defs/base"}],
                    "properties": {"replies": {"items": {"$ref": "#/$defs/comment"}}}}},
                "$ref": "#/$defs/comment"}),
            |inner| json!({"id": 1, "replies": [inner]}),
            json!({"id": 1}),
            json!({"id": "x"}),
        ),
        (
            "a closed tree",
            json!({"properties": {"children": {"items": {"$ref": "#"}}}, "unevaluatedProperties": false}),
            |inner| json!({"children": [inner]}),
            json!({}),
            json!({"kids": 1}),
        ),
    ]
}
