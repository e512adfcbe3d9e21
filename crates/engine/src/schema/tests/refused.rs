//! Schemas that must be refused, each for its own reason.

use serde_json::{Value, json};

use super::{super::MAX_BYTES, compile, ladder, numbered, strings};

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_could_keep_a_check_busy_is_refused() {
    let node = |node: Value| json!({"$defs": {"n": node}, "$ref": "#/$defs/n"});
    let next = json!({"$ref": "#/$defs/n"});
    let refused = [
        ("itself", json!({"$ref": "#"}), "circle"),
        (
            "each other",
            json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
            "circle",
        ),
        ("under allOf", json!({"allOf": [{"$ref": "#"}]}), "circle"),
        ("under not", json!({"not": {"$ref": "#"}}), "circle"),
        (
            "under then",
            json!({"if": true, "then": {"$ref": "#"}}),
            "circle",
        ),
        (
            "under else",
            json!({"if": true, "else": {"anyOf": [{}, {"$ref": "#"}]}}),
            "circle",
        ),
        (
            "under a dependency",
            json!({"dependentSchemas": {"a": {"$ref": "#"}}}),
            "circle",
        ),
        (
            "under an old dependency",
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": {"$ref": "#"}}}),
            "circle",
        ),
        (
            "by an anchor",
            json!({"$defs": {"a": {"$dynamicAnchor": "a", "oneOf": [{"$dynamicRef": "#a"}]}}}),
            "circle",
        ),
        (
            "by recursion of draft 2019-09",
            json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "anyOf": [{"$recursiveRef": "#"}]}),
            "circle",
        ),
        (
            "2^30 alternatives",
            ladder(30, |below| json!({"anyOf": [below, below]})),
            "multiply",
        ),
        (
            "2^30 conditions",
            ladder(30, |below| json!({"if": below, "then": below})),
            "multiply",
        ),
        (
            "2^20 by not",
            ladder(
                20,
                |below| json!({"allOf": [{"not": below}, {"not": below}]}),
            ),
            "multiply",
        ),
        (
            "searches for members inside of searches",
            ladder(
                30,
                |below| json!({"allOf": [below], "unevaluatedProperties": false}),
            ),
            "multiply",
        ),
        (
            "2^30 members at one place",
            ladder(
                30,
                |below| json!({"anyOf": [{"properties": {"c": below}}, {"properties": {"c": below}}]}),
            ),
            "two or more ways",
        ),
        (
            "2^30 items at one place",
            ladder(30, |below| json!({"items": below, "contains": below})),
            "two or more ways",
        ),
        (
            "alternatives by the same name",
            node(
                json!({"anyOf": [{"properties": {"c": next}}, {"properties": {"c": next}, "required": ["x"]}]}),
            ),
            "two or more ways",
        ),
        (
            "kinds by the same name",
            node(json!({"oneOf": [
                {"properties": {"kind": {"const": "a"}, "args": {"items": next}}, "required": ["kind"]},
                {"properties": {"kind": {"const": "b"}, "args": {"items": next}}, "required": ["kind"]}]})),
            "two or more ways",
        ),
        (
            "items twice",
            node(json!({"allOf": [{"items": next}, {"items": next}]})),
            "two or more ways",
        ),
        (
            "items twice by way of others",
            json!({"$defs": {"n": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]},
                "a": {"items": {"$ref": "#/$defs/n"}}, "b": {"items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"}),
            "two or more ways",
        ),
        (
            "by a name and a pattern",
            node(json!({"properties": {"c": next}, "patternProperties": {"^c": next}})),
            "two or more ways",
        ),
        (
            "by a name here and any name there",
            node(json!({"properties": {"c": next}, "allOf": [{"additionalProperties": next}]})),
            "two or more ways",
        ),
        (
            "by an index and any item",
            node(json!({"prefixItems": [next], "contains": next})),
            "two or more ways",
        ),
        (
            "by a search for members",
            node(json!({"anyOf": [{"properties": {"c": next}}], "unevaluatedProperties": false})),
            "two or more ways",
        ),
        (
            "twice a level further down",
            node(
                json!({"properties": {"c": {"anyOf": [{"properties": {"d": next}}, {"properties": {"d": next}}]}}}),
            ),
            "two or more ways",
        ),
        (
            "a long chain",
            ladder(100, |below| json!({"allOf": [below]})),
            "one inside of the other",
        ),
        (
            "a long chain at every level",
            {
                let mut schema = ladder(55, |below| below);
                schema["$defs"]["d0"] = json!({"items": {"$ref": "#/$defs/d55"}});
                schema
            },
            "shorten the chain",
        ),
    ];

    for (name, schema, word) in refused {
        let fault = compile(&schema).err().unwrap_or_else(|| panic!("{name}"));
        assert!(fault.message.contains(word), "{name}: {fault}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_leaves_the_schema_or_grows_too_large_is_refused() {
    let refused = [
        (
            "remote",
            json!({"$ref": "http://127.0.0.1:9/schema.json"}),
            "json_schema",
        ),
        (
            "a file",
            json!({"items": {"$ref": "file:///etc/passwd"}}),
            "json_schema",
        ),
        ("relative", json!({"$ref": "other.json#/a"}), "json_schema"),
        ("empty", json!({"items": {"$ref": ""}}), "json_schema"),
        (
            "dynamic",
            json!({"items": {"$dynamicRef": "http://x#a"}}),
            "json_schema",
        ),
        (
            "recursive",
            json!({"items": {"$recursiveRef": "#/$defs/a"}}),
            "json_schema",
        ),
        (
            "unused",
            json!({"$defs": {"a": {"$ref": "http://x"}}}),
            "json_schema",
        ),
        (
            "in a constant that is used as a schema",
            json!({"const": {"$ref": "http://x"}, "items": {"$ref": "#/const"}}),
            "json_schema",
        ),
        (
            "by another base",
            json!({"items": {"$id": "http://x/y"}}),
            "json_schema",
        ),
        (
            "by another base on the way",
            json!({"x": {"$id": "http://x/y", "z": {}}, "items": {"$ref": "#/x/z"}}),
            "json_schema",
        ),
        (
            "by another base in draft 4",
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "items": {"id": "http://x/y"}}),
            "json_schema",
        ),
        (
            "an unknown draft",
            json!({"$schema": "http://example.com/mine"}),
            "json_schema",
        ),
        (
            "another draft within",
            json!({"items": {"$schema": "http://json-schema.org/draft-07/schema#"}}),
            "json_schema",
        ),
        (
            "nothing there",
            json!({"items": {"$ref": "#/$defs/nothing"}}),
            "json_schema",
        ),
        (
            "no such anchor",
            json!({"items": {"$ref": "#nothing"}}),
            "json_schema",
        ),
        (
            "an anchor at two places",
            json!({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}, "$ref": "#x"}),
            "json_schema",
        ),
        ("looking ahead", json!({"pattern": "(?=a)b"}), "json_schema"),
        (
            "looking back",
            json!({"patternProperties": {"(a)\\1": {}}}),
            "json_schema",
        ),
        (
            "a large automaton",
            json!({"pattern": "((a{100}){100}){100}"}),
            "too_long",
        ),
        (
            "a long pattern",
            json!({"pattern": "a".repeat(2049)}),
            "too_long",
        ),
        (
            "many patterns",
            json!({"properties": numbered(201, &json!({"pattern": "a"}))}),
            "too_long",
        ),
        (
            "many values",
            json!({"items": {"enum": strings(1001)}}),
            "too_long",
        ),
        (
            "many references",
            json!({"properties": numbered(1001, &json!({"$ref": "#/$defs/a"})), "$defs": {"a": {}}}),
            "too_long",
        ),
        (
            "many subschemas",
            json!({"properties": numbered(10_001, &json!({}))}),
            "too_long",
        ),
        (
            "many bytes",
            json!({"description": "x".repeat(MAX_BYTES)}),
            "too_long",
        ),
        (
            "deep",
            (0..70).fold(json!({}), |inner, _| json!({"not": inner})),
            "too_long",
        ),
        (
            "deep data",
            (0..70).fold(json!({}), |inner, _| json!({"const": inner})),
            "too_long",
        ),
    ];

    for (name, schema, slug) in refused {
        let fault = compile(&schema).err().unwrap_or_else(|| panic!("{name}"));
        assert_eq!(fault.slug, slug, "{name}: {fault}");
    }
}
