//! A whole answer that should be JSON, read with some patience.
//!
//! Plain JSON, in a fence or not, is taken as it is. Anything else goes through the same [`Reader`] that streams go
//! through, so that both mend the same and neither mends more.

use domain::Json;

use crate::calls::pieces::{Begins, Follows, Mending, Reader};

/// What is said of an answer that leaves a choice.
pub(super) const MORE_THAN_ONE: &str = "the answer holds more than one JSON value";

const FENCE: &str = "```";
/// How much is read at once, for the pieces of a text take a multiple of it.
const SLICE_BYTES: usize = 16 * 1024;

/// Reads the one JSON value that an answer to a structured call must be, and says what was mended in it.
///
/// # Errors
/// There is no such value, more than one, or one that could only be guessed; in one line that repeats nothing of it.
pub(crate) fn read(
    text: &str,
    ended_by_itself: bool,
    begins: Begins,
) -> Result<(Json, Vec<Mending>), String> {
    let inside = without_fence(text);
    if inside.is_empty() {
        return Err("the answer is empty".to_owned());
    }
    match Json::parse(inside) {
        Ok(_) if !ended_by_itself && may_be_cut(text) => {
            Err("the answer ends within a number".to_owned())
        }
        Ok(value) => Ok((value, Vec::new())),
        Err(_) => mend(text, ended_by_itself, begins),
    }
}

/// The text without white space around it and without one Markdown code fence.
fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let Some(inside) = text
        .strip_prefix(FENCE)
        .and_then(|rest| rest.strip_suffix(FENCE))
    else {
        return text;
    };
    // The opening line may name a language; a value's first line is none.
    match inside.split_once('\n') {
        Some((language, inside)) if is_language(language.trim()) => inside.trim(),
        _ => inside.trim(),
    }
}

fn is_language(word: &str) -> bool {
    let names = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '.');
    word.starts_with(|first: char| first.is_ascii_alphabetic()) && word.chars().all(names)
}

/// Whether a text that is JSON ends with a number of which more digits may be missing.
fn may_be_cut(text: &str) -> bool {
    text.ends_with(|last: char| last.is_ascii_digit())
}

fn mend(text: &str, ended_by_itself: bool, begins: Begins) -> Result<(Json, Vec<Mending>), String> {
    let mut reader = Reader::new(begins);
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (slice, later) = rest.split_at(rest.floor_char_boundary(SLICE_BYTES));
        reader
            .push(slice, &mut pieces)
            .map_err(|fault| not_json(fault.line()))?;
        pieces.clear();
        rest = later;
    }
    let finished = reader
        .finish(ended_by_itself, &mut pieces)
        .map_err(|fault| not_json(fault.line()))?;
    if finished.follows == Follows::Value {
        return Err(MORE_THAN_ONE.to_owned());
    }
    let value = Json::parse(&finished.text).map_err(|invalid| not_json(&invalid.message))?;
    Ok((value, finished.mended))
}

fn not_json(why: &str) -> String {
    format!("the answer is not JSON: {why}")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn read_as(text: &str, begins: Begins) -> Result<(String, Vec<Mending>), String> {
        read(text, true, begins).map(|(value, mended)| (value.text().to_owned(), mended))
    }

    #[test]
    fn plain_json_is_taken_as_it_is() {
        for text in [
            "{\"n\":1}",
            " \n{\"n\": 1}\n",
            "```json\n{\"n\":1}\n```",
            "```\n{\"n\":1}```",
            "```{\"n\":1}```",
        ] {
            for begins in [Begins::Object, Begins::Array, Begins::Anything] {
                let expected = Ok(("{\"n\":1}".to_owned(), Vec::new()));

                assert_eq!(read_as(text, begins), expected, "{text}");
            }
        }
    }

    #[test]
    fn what_is_certain_is_mended() {
        use Mending::{CodeFence, MissingBrackets, Prose, TrailingComma};
        let object = Begins::Object;
        let array = Begins::Array;
        let cases = [
            ("Here: {\"n\":1}", object, "{\"n\":1}", vec![Prose]),
            (
                "{\"n\":1} Done.",
                Begins::Anything,
                "{\"n\":1}",
                vec![Prose],
            ),
            (
                "Sure!\n```json\n{\"n\":1}\n```\nBye",
                object,
                "{\"n\":1}",
                vec![CodeFence, Prose],
            ),
            (
                "Fill in {placeholder} [1, 2 and 3]: {\"n\":1}",
                object,
                "{\"n\":1}",
                vec![Prose],
            ),
            ("{{\"n\":1}}", object, "{\"n\":1}", vec![Prose]),
            (
                "As [1] says: {\"n\":1} [2]",
                object,
                "{\"n\":1}",
                vec![Prose],
            ),
            ("[2024-01-01] [note] {x} [1,2]", array, "[1,2]", vec![Prose]),
            (
                "{\"n\":[1,2, ],}",
                object,
                "{\"n\":[1,2]}",
                vec![TrailingComma],
            ),
            (
                "{\"n\":[{\"m\":\"\"}",
                object,
                "{\"n\":[{\"m\":\"\"}]}",
                vec![MissingBrackets],
            ),
            (
                "{\"n\":true",
                Begins::Anything,
                "{\"n\":true}",
                vec![MissingBrackets],
            ),
            (
                "[[1],\n",
                array,
                "[[1]]",
                vec![TrailingComma, MissingBrackets],
            ),
            (
                "```json\n[1,]\n```",
                array,
                "[1]",
                vec![CodeFence, TrailingComma],
            ),
        ];

        for (text, begins, value, mended) in cases {
            assert_eq!(
                read_as(text, begins),
                Ok((value.to_owned(), mended)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_could_only_be_guessed_is_a_fault() {
        let object = [
            "",
            " ",
            "```\n```",
            "n is 1",
            "{\"n\":1",
            "{\"n\":\"x",
            "{\"n\":tru",
            "{\"n\":",
            "{\"n\"",
            "{\"n\":1,\"n\":2}",
            "so {\"n\":1,\"n\":2}",
            "{\"n\":1} {}",
            "{\"n\":1} or {\"n\":2}",
            "{\"n\":1}\n{\"n\":1}",
            "so [{\"n\":1}]",
            "so [{\"n\":1},{\"n\":2}]",
            "[{\"n\":1} {\"n\":2}]",
            "{\"n\" 1, \"m\": {\"n\":1}}",
            "{\"n\":1, oops, \"m\": {\"n\":1}}",
            "[\"n\" {\"n\":1}]",
            "{\"n\":{",
            "{\"n\":1e999,}",
            "{\"n\":\"\\ud800\",}",
            "{\"n\":01}",
            "{\"n\":1,,}",
            "{,}",
            "{\"n\":\"a\nb\"}",
            "{\"n\":[1}",
            "{'n':1}",
        ];
        let anything = [
            "the value is {\"n\":1}",
            "3 to 5",
            "1,000",
            "5 or {\"n\":1}",
            "\"a\" or \"b\"",
            "true, surely",
            "12.5%",
            "```5\n6```",
            "-",
            "1.",
            "tru",
            "\"",
            "1e999",
        ];

        for (begins, texts) in [
            (Begins::Object, object.as_slice()),
            (Begins::Anything, &anything),
        ] {
            for text in texts {
                assert!(read_as(text, begins).is_err(), "{text}");
            }
        }
    }

    #[test]
    fn nothing_is_mended_in_an_answer_that_was_cut() {
        assert!(read("{\"n\":[true]", false, Begins::Object).is_err());
        assert!(read("12", false, Begins::Anything).is_err());
        assert!(read("so {\"n\":1,}", false, Begins::Object).is_ok());
        assert!(read("12 ", false, Begins::Anything).is_ok());
    }

    #[test]
    fn hostile_text_takes_time_in_proportion() {
        let beginnings = ["", "so ", "{\"a\":1} ", "[[[[", "[1] {\"a"];
        let repeated = [
            "[",
            "{",
            "{ ",
            "{ [ ",
            "{\"a\":",
            "[1,",
            "[{\"a\":1},",
            "{}",
            "[]",
            "[1 ",
            "`",
            "``` ",
            "\\",
            "\\u12",
            "\"",
            "[\"",
            "{\"\\\"",
            " ",
            "1",
            "[{",
            "{[",
            "é",
            "[1]",
            "{\"a\":[",
        ];
        let read_repeated = |beginning: &str, repeated: &str, kib: usize| {
            let text = beginning.to_owned() + &repeated.repeat(kib * 1024 / repeated.len());
            for begins in [Begins::Object, Begins::Array, Begins::Anything] {
                let started = Instant::now();
                let _ = read(&text, true, begins);
                let most = Duration::from_secs(10);
                assert!(started.elapsed() < most, "{beginning}{repeated} {begins:?}");
            }
        };

        for beginning in beginnings {
            for repeated in repeated {
                read_repeated(beginning, repeated, 32);
            }
        }
        for repeated in ["[", "{\"a\":", "{ { {", "[1 "] {
            read_repeated("", repeated, 1024);
        }
    }
}
