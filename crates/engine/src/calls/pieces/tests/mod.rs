//! What goes out when, by example; [`laws`] holds for any answer.

mod laws;
mod trees;

use super::*;

/// What went out for each text, with its leaves, and how reading ended.
fn streamed(begins: Begins, texts: &[&str]) -> (Vec<String>, Result<Finished, Fault>) {
    let mut reader = Reader::new(begins);
    let mut shown = Vec::new();
    for text in texts {
        let mut out = Vec::new();
        let pushed = reader.push(text, &mut out);
        shown.push(show(&out));
        if let Err(fault) = pushed {
            return (shown, Err(fault));
        }
    }
    let mut out = Vec::new();
    let finished = reader.finish(true, &mut out);
    shown.push(show(&out));
    (shown, finished)
}

fn show(pieces: &[Piece]) -> String {
    let shown = pieces.iter().map(|piece| match &piece.leaf {
        Some(leaf) => format!("{}<{}={:?}>", piece.raw, leaf.path, leaf.value),
        None => piece.raw.clone(),
    });
    shown.collect()
}

#[test]
fn text_goes_out_as_soon_as_it_is_certain() {
    let cases: [(Begins, &[&str], &[&str]); 9] = [
        (
            Begins::Object,
            &[
                "{\"na", "me\":", " \"", "A", "da\"", ", ", "\"x\":", "1", "2", "}",
            ],
            &[
                "",
                "",
                "",
                "{\"name\": \"A<name=\"A\">",
                "da\"<name=\"da\">",
                "",
                "",
                "",
                "",
                ", \"x\":12<x=12>}",
                "",
            ],
        ),
        (
            Begins::Object,
            &["{\"people\":[{\"role\":\"\"},", "{\"role\":nul", "l}]}"],
            &[
                "{\"people\":[{\"role\":\"\"<people[0].role=\"\">}",
                "",
                ",{\"role\":null<people[1].role=null>}]}",
                "",
            ],
        ),
        (
            Begins::Array,
            &["[[\"a\\", "u00e", "9\\ud83d", "\\ude0", "0", "\"]", ",{}]"],
            &[
                "[[\"a<[0][0]=\"a\">",
                "",
                "\\u00e9<[0][0]=\"é\">",
                "",
                "\\ud83d\\ude00<[0][0]=\"😀\">",
                "\"]",
                ",{}]",
                "",
            ],
        ),
        (
            Begins::Anything,
            &["```json\n", "\"a", "b\"\n``", "`"],
            &["", "\"a<_root=\"a\">", "b\"<_root=\"b\">", "", ""],
        ),
        (
            Begins::Anything,
            &["-0.", "10"],
            &["", "", "-0.10<_root=-0.10>"],
        ),
        (
            Begins::Anything,
            &[" fals", "e"],
            &["", "false<_root=false>", ""],
        ),
        (
            Begins::Object,
            &["See {", "x} [", "\"{}\"]: {", "}", " bye"],
            &["", "", "", "{}", "", ""],
        ),
        (
            Begins::Object,
            &["{\"a\":[1 ", ", ", "],", "} "],
            &["{\"a\":[1<a[0]=1> ", "", " ]", "}", ""],
        ),
        (
            Begins::Array,
            &["[{\"a\":true", ","],
            &["[{\"a\":true<[0].a=true>", "", "}]"],
        ),
    ];

    for (begins, texts, expected) in cases {
        let (shown, finished) = streamed(begins, texts);

        assert_eq!(
            (shown, finished.is_ok()),
            (expected.iter().map(ToString::to_string).collect(), true),
            "{texts:?}"
        );
    }
}

#[test]
fn nothing_goes_out_after_a_fault() {
    let cases: [(&[&str], &str, &str); 9] = [
        (
            &["{\"a\":1 ", " 2", "}"],
            "{\"a\":1<a=1>  ",
            "expected `,` or the closing bracket at byte 8",
        ),
        (
            &["{\"a\":\"x\\q", "y\"}"],
            "{\"a\":\"x<a=\"x\">",
            "an unknown escape at byte 8",
        ),
        (
            &["{\"a\":\"\\ud800x\"}"],
            "",
            "half of a surrogate pair at byte 12",
        ),
        (
            &["{\"a\":\"\\udc00\"}"],
            "",
            "half of a surrogate pair at byte 11",
        ),
        (
            &["{\"a\":1e999}"],
            "",
            "a number beyond 64-bit floats at byte 10",
        ),
        (&["{\"a\":12x}"], "", "a broken number at byte 7"),
        (&["{\"a\" 1, \"b\":{}}"], "", "expected `:` at byte 5"),
        (
            &["{\"a\":\"x\ny\"}"],
            "{\"a\":\"x<a=\"x\">",
            "a control character in a string at byte 7",
        ),
        (&["[{\"a\":1}]"], "", "the answer holds no JSON object"),
    ];

    for (texts, out, line) in cases {
        let (shown, finished) = streamed(Begins::Object, texts);

        assert_eq!(
            (shown.concat().as_str(), finished.unwrap_err().line()),
            (out, line),
            "{texts:?}"
        );
    }
}

#[test]
fn what_follows_the_value_is_remembered() {
    let cases = [
        ("[1]", Follows::Nothing),
        ("```\n[1]\n``` \n", Follows::Nothing),
        ("[1]\n```", Follows::Prose),
        ("[1] as in {\"a\":[1]} [see below]", Follows::Prose),
        ("[1] or [", Follows::Prose),
        ("[1] or [2", Follows::Prose),
        ("[1] or [2]", Follows::Value),
        ("[1][[]]", Follows::Value),
    ];

    for (text, follows) in cases {
        let (_, finished) = streamed(Begins::Array, &[text]);

        assert_eq!(finished.unwrap().follows, follows, "{text}");
    }
}

#[test]
fn what_is_kept_and_repeated_has_a_bound() {
    let key = "k".repeat(1025);
    let path = format!("{{\"{}\":", "k".repeat(1000)).repeat(6);
    let texts = [
        "[".repeat(129),
        format!("[{{\"{key}\":1}}]"),
        format!("[{path}"),
        format!("[{}", " ".repeat(64 * 1024)),
        format!("[{}", "1".repeat(64 * 1024)),
    ];

    for text in texts {
        let (shown, finished) = streamed(Begins::Array, &[&text]);

        assert_eq!((shown.concat().as_str(), finished.is_err()), ("", true));
    }
}
