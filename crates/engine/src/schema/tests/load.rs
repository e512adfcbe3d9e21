//! Values and schemas at the edge: what is reported of a large one, and what a check takes.

use std::thread;

use serde_json::{Value, json};

use super::{
    super::{MAX_VALUES, Mismatch, too_many_values},
    compile, ladder, numbered, strings,
};

fn lines(mismatches: &[Mismatch]) -> Vec<String> {
    mismatches.iter().map(Mismatch::line).collect()
}

#[test]
fn a_message_is_cut_between_characters() {
    let keys: Value = (0..9_000).map(|n| (format!("ü{n}"), json!(1))).collect();
    let schemas = [
        json!({"properties": {"a": {}}, "additionalProperties": false}),
        json!({"unevaluatedProperties": false}),
        json!({"required": ["ü".repeat(600)]}),
    ];

    for schema in schemas {
        let mismatches = compile(&schema).unwrap().mismatches(&keys);

        assert_eq!(mismatches.len(), 1, "{schema}");
        let message = &mismatches[0].message;
        assert!(message.ends_with('…') && message.len() <= 500, "{message}");
    }
}

#[test]
fn at_most_twenty_faults_are_shown() {
    let items = compile(&json!({"items": {"type": "string"}})).unwrap();
    let names = compile(&json!({"required": strings(1000)})).unwrap();

    assert_eq!(items.mismatches(&Value::from(vec![1; 100])).len(), 20);
    assert_eq!(names.mismatches(&json!({})).len(), 20);
}

#[test]
fn of_very_many_faults_only_the_first_is_shown() {
    let items = json!({"items": {"type": "string"}});
    let optional = json!({"anyOf": [{"type": "null"}, items]});
    let large: Value = (0..200_000).collect();

    let first = compile(&items).unwrap().mismatches(&large);
    let any = compile(&optional).unwrap().mismatches(&large);

    assert_eq!(lines(&first), ["/0: value is not of type \"string\""]);
    assert_eq!(
        lines(&any),
        ["the value: value does not satisfy its schema, and is too large to say where"]
    );
}

#[test]
fn a_check_that_would_take_too_long_is_not_begun() {
    let definitions = &ladder(11, |below| json!({"anyOf": [below, below]}))["$defs"];
    let busy = json!({"$defs": definitions, "items": {"$ref": "#/$defs/d11"}});
    let refused = ["the value: value is too large to be checked against so complex a schema"];

    let busy = compile(&busy).unwrap();

    assert_eq!(busy.mismatches(&Value::from(vec![1; 1000])), []);
    assert_eq!(
        lines(&busy.mismatches(&Value::from(vec![1; 100_000]))),
        refused
    );
    assert_eq!(
        lines(&busy.mismatches(&json!("x".repeat(1_000_000)))),
        refused
    );
    assert_eq!(
        lines(&busy.mismatches(&json!({"x".repeat(1_000_000): 1}))),
        refused
    );
}

#[test]
fn only_a_schema_that_asks_little_is_light() {
    let light = [
        json!({"properties": numbered(500, &json!({"type": "string"}))}),
        json!({"$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"}),
        json!({"enum": strings(1000)}),
        json!({"properties": {"uniqueItems": {"type": "boolean"}}, "uniqueItems": false}),
    ];
    let lists: Vec<_> = (0..900).map(|number| json!([number])).collect();
    let heavy = [
        json!({"items": {"uniqueItems": true}}),
        json!({"anyOf": vec![json!({"type": "null"}); 70]}),
        ladder(5, |below| json!({"anyOf": [below, below]})),
        json!({"allOf": [{"enum": lists}, {"enum": lists}]}),
    ];

    for schema in light {
        assert!(compile(&schema).unwrap().is_light(1_000), "{schema}");
    }
    for schema in heavy {
        assert!(!compile(&schema).unwrap().is_light(1_000), "{schema}");
    }
}

#[test]
fn a_compiled_schema_weighs_its_text_and_its_patterns() {
    let plain = json!({"type": "string"});
    let patterns = json!({"pattern": "^a$", "patternProperties": {"b": {}}});

    assert_eq!(compile(&plain).unwrap().weight(), 16 * 17);
    let text_bytes = u32::try_from(patterns.to_string().len()).unwrap();
    assert_eq!(
        compile(&patterns).unwrap().weight(),
        16 * text_bytes + 2 * 256 * 1024 + 5 * 256
    );
}

#[test]
fn values_are_counted_by_their_marks() {
    let list = |count: usize| format!("[{}0]", "0,".repeat(count - 1));

    assert!(!too_many_values("{}"));
    assert!(!too_many_values(&list(MAX_VALUES - 1)));
    assert!(too_many_values(&list(MAX_VALUES)));
    assert!(too_many_values(&"[".repeat(MAX_VALUES)));
}

/// Each schema goes down one level of the value by as many schemas inside of each other as are let in.
#[test]
fn the_deepest_check_fits_into_two_mebibytes_of_stack() {
    let next = json!({"properties": {"c": {"$ref": "#"}}, "type": "object"});
    let wraps: [fn(Value) -> Value; 6] = [
        |inner| json!({"allOf": [inner]}),
        |inner| json!({"anyOf": [inner, {"type": "null"}]}),
        |inner| json!({"oneOf": [{"type": "null"}, inner]}),
        |inner| json!({"if": true, "then": inner}),
        |inner| json!({"not": {"not": inner}}),
        |inner| json!({"type": "object", "dependentSchemas": {"c": inner}}),
    ];

    for wrap in wraps {
        let within = |layers| compile(&(0..layers).fold(next.clone(), |inner, _| wrap(inner)));
        let schema = (0..10)
            .map_while(|layers| within(layers).ok())
            .last()
            .expect("a plain recursion is let in");
        let deep = |end: Value| (0..127).fold(end, |inner, _| json!({"c": inner}));
        let check = move || {
            schema.mismatches(&deep(json!({})));
            schema.mismatches(&deep(json!(1)))
        };
        let stack = thread::Builder::new().stack_size(2 * 1024 * 1024);

        let mismatches = stack.spawn(check).unwrap().join().unwrap();

        assert!(!mismatches.is_empty());
    }
}
