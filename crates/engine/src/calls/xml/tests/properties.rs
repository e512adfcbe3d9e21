//! Any value of any schema, written as XML, is read as it was.

use proptest::{collection::vec, prelude::*, sample::subsequence};
use serde_json::{Value, json};

use domain::Json;

use super::value;
use crate::calls::xml::{demand, rendered};

/// A schema, and the text of a value of it.
type Pair = (Value, String);

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z ]{0,8}",
        3 => any::<String>(),
        2 => vec(
            prop::sample::select(vec![
                "<", ">", "&", "&amp;", "</answer>", "<item>", "</item>", "<b c='d'>", "<!--", "-->", "<![CDATA[", "]]>",
                "\n", "\r\n", " ", "\t", "null", "a", "<?", "?>", "\"", "&#10;", "\u{85}", "\u{1}",
            ]),
            0..8,
        )
        .prop_map(|parts| parts.concat()),
    ]
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn scalar() -> impl Strategy<Value = Pair> {
    prop_oneof![
        text().prop_map(|text| (json!({"type": "string"}), quoted(&text))),
        any::<i64>().prop_map(|number| (json!({"type": "integer"}), number.to_string())),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?"
            .prop_map(|number| (json!({"type": "number"}), number)),
        any::<bool>().prop_map(|bool| (json!({"type": "boolean"}), bool.to_string())),
        Just((json!({"type": "null"}), "null".to_owned())),
        "[a-z]{1,4}".prop_map(|text| (json!({"enum": [1, null, text, {"a": [1]}]}), quoted(&text))),
        Just((
            json!({"enum": [true, 2, "x", {"a": ["1", null]}]}),
            r#"{"a":["1",null]}"#.to_owned()
        )),
        any::<i32>().prop_map(|number| (json!({"const": number}), number.to_string())),
        text().prop_map(|text| (json!({}), quoted(&text))),
    ]
}

/// Names, of which some are no XML names and some mean something to us.
const NAMES: [&str; 14] = [
    "a",
    "b",
    "A",
    "item",
    "member",
    "name",
    "answer",
    "first name",
    "1",
    "",
    "x:y",
    "<&\"'>",
    "naïve",
    "$ref",
];

fn members(parts: Vec<(Pair, bool)>, names: &[&str]) -> Pair {
    let mut schema = json!({"type": "object", "properties": {}, "required": []});
    let mut members = Vec::new();
    for (((part, value), is_there), name) in parts.into_iter().zip(names) {
        schema["properties"][*name] = part;
        if is_there {
            schema["required"].as_array_mut().unwrap().push(json!(name));
            members.push(format!("{}:{value}", quoted(name)));
        }
    }
    (schema, format!("{{{}}}", members.join(",")))
}

/// The pair with a null beside it, so that both must be told apart.
fn nullable((schema, value): Pair, is_null: bool) -> Pair {
    let value = if is_null { "null".to_owned() } else { value };
    (json!({"anyOf": [schema, {"type": "null"}]}), value)
}

/// The pair as one of several objects, told apart by a fixed member.
fn tagged((schema, value): Pair, tag: u8) -> Pair {
    let branch = |at: u8| {
        let part = if at == tag {
            schema.clone()
        } else {
            json!({"type": "boolean"})
        };
        json!({"type": "object", "properties": {"kind": {"const": format!("k{at}")}, "value": part}, "required": ["kind"]})
    };
    let branches: Vec<Value> = (0..3).map(branch).collect();
    (
        json!({"oneOf": branches}),
        format!(r#"{{"kind":"k{tag}","value":{value}}}"#),
    )
}

fn pair() -> impl Strategy<Value = Pair> {
    scalar().prop_recursive(4, 40, 6, |inner| {
        let named = (vec((inner.clone(), any::<bool>()), 0..6), subsequence(&NAMES[..], 6));
        prop_oneof![
            3 => named.prop_map(|(parts, names)| members(parts, &names)),
            2 => vec(inner.clone(), 0..4).prop_map(|parts| {
                let (schemas, values): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
                (json!({"type": "array", "prefixItems": schemas}), format!("[{}]", values.join(",")))
            }),
            1 => (inner.clone(), 0..4_usize).prop_map(|((schema, value), count)| {
                let values = vec![value; count];
                (json!({"type": "array", "items": schema}), format!("[{}]", values.join(",")))
            }),
            1 => (inner.clone(), any::<bool>()).prop_map(|(pair, is_null)| nullable(pair, is_null)),
            1 => (inner.clone(), 0..3_u8).prop_map(|(pair, tag)| tagged(pair, tag)),
            1 => (inner, prop::sample::select(&NAMES[..])).prop_map(|((schema, value), name)| (
                json!({"type": "object", "additionalProperties": schema}),
                format!("{{{}:{value}}}", quoted(name)),
            )),
        ]
    })
}

/// Another way to write the same, as models do.
fn varied(answer: &str, way: u8) -> String {
    match way {
        0 => answer.to_owned(),
        1 => format!("Here it is, a < b & c:\n```xml\n{answer}\n```\nDone."),
        2 => format!("<?xml version=\"1.0\"?>\n<!-- <answer> -->\n{answer}\n<!-- </answer> -->"),
        3 => answer.replace('\n', "\r\n\t<!-- a comment --> "),
        _ => {
            answer
                .replacen("<answer>", "<Reply id=\"1\">", 1)
                .trim_end_matches("</answer>")
                .to_owned()
                + "</REPLY>"
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_written_is_read_again((schema, text) in pair(), way in 0..5_u8) {
        let (schema, expected) = (Json::from_value(&schema), Json::parse(&text).unwrap());
        let answer = varied(&rendered(&expected), if text.contains("\\n") && way == 3 { 0 } else { way });

        let read = value(&answer, &schema);

        prop_assert_eq!(read.as_ref().map(Json::text), Ok(expected.text()), "{} {}", schema.text(), answer);
        prop_assert!(demand(&schema).contains("<answer>"));
    }

    #[test]
    fn what_is_cut_anywhere_is_a_fault((schema, text) in pair(), cut in any::<prop::sample::Index>(), way in 0..3_u8) {
        let answer = rendered(&Json::parse(&text).unwrap());
        let before = ["", "<think>x</think>", "Here it is: "][usize::from(way)];
        let end = answer.floor_char_boundary(cut.index(answer.len()));

        let read = value(&format!("{before}{}", &answer[..end]), &Json::from_value(&schema));

        prop_assert!(read.is_err(), "{} {before}{}", schema, &answer[..end]);
    }

    #[test]
    fn no_answer_is_too_strange((schema, text) in pair(), cuts in vec(any::<prop::sample::Index>(), 0..6), noise in text()) {
        let mut answer = rendered(&Json::parse(&text).unwrap());
        for cut in cuts {
            let at = answer.floor_char_boundary(cut.index(answer.len() + 1));
            answer.insert_str(at, &noise);
            let from = answer.floor_char_boundary(cut.index(answer.len()) / 2);
            answer.remove(from);
        }

        let _ = value(&answer, &Json::from_value(&schema));
    }
}
