//! Calls of tools: their ids, which carry what the model wants back with them, their arguments and results.
//!
//! A thinking model signs its calls, and newer ones refuse a conversation in which a signature is missing
//! (<https://ai.google.dev/gemini-api/docs/thought-signatures>). The domain's calls have an id alone, so the signature
//! goes behind it: `<id>__thought__<signature>`, in letters that other hosts take in an id as well.

use domain::{Json, JsonObject};

use crate::call_id;

const MARK: &str = "__thought__";
/// What ids begin with that the host did not give: made up here, or brought along from another host.
const FOREIGN: &str = call_id::MADE_UP;
/// What the host takes for the signature of a call that it has not made: `skip_thought_signature_validator`.
pub(super) const UNSIGNED: &str = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=";

/// What an id holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Signed<'a> {
    /// The host's own id, if it gave one.
    pub(super) id: Option<&'a str>,
    /// The signature.
    pub(super) signature: Option<String>,
}

/// The id of a call: the host's own, else one of the answer's id and the call's place.
pub(super) fn id(
    own: Option<String>,
    answer: Option<&str>,
    position: usize,
    signature: Option<&str>,
) -> String {
    let own = own.filter(|own| !own.is_empty());
    let mut id = own.unwrap_or_else(|| call_id::made_up(answer, position));
    if let Some(signature) = signature {
        id += MARK;
        let letters = signature.trim_end_matches('=').chars();
        id.extend(letters.map(|letter| match letter {
            '+' => '-',
            '/' => '_',
            other => other,
        }));
    }
    id
}

/// Reads an id.
pub(super) fn signed(id: &str) -> Signed<'_> {
    let (id, signature) = match id.split_once(MARK) {
        Some((id, letters)) => (id, Some(base64(letters))),
        None => (id, None),
    };
    Signed {
        id: (!id.is_empty() && !id.starts_with(FOREIGN)).then_some(id),
        signature,
    }
}

fn base64(letters: &str) -> String {
    let mut text: String = letters
        .chars()
        .map(|letter| match letter {
            '-' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

/// The arguments of a call as an object. They are a model's word, and another model may have given it: what is no
/// object becomes the one member of one.
pub(super) fn arguments(text: &str) -> Json {
    if text.trim().is_empty() {
        return Json::of(&JsonObject::new());
    }
    object("arguments", text)
}

/// The result of a call as an object.
pub(super) fn result(text: &str) -> Json {
    object("output", text)
}

fn object(member: &str, text: &str) -> Json {
    let value = Json::parse(text).unwrap_or_else(|_| Json::of(&text));
    if value.is_object() {
        return value;
    }
    Json::of(&JsonObject::from_iter([(member.to_owned(), value)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_into_an_id_comes_out_of_it() {
        let signatures = [None, Some("Cq4B+/8="), Some("Cq4B+w=="), Some("AAAA")];

        for signature in signatures {
            for own in [None, Some("8f2b1a3c".to_owned())] {
                let text = id(own.clone(), Some("a-1_x"), 2, signature);

                let read = signed(&text);
                assert_eq!(read.id, own.as_deref());
                assert_eq!(read.signature.as_deref(), signature);
                let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
                assert!(text.bytes().all(is_letter), "{text}");
            }
        }
        assert_ne!(id(None, None, 0, None), id(None, None, 0, None));
        let foreign = Signed {
            id: None,
            signature: None,
        };
        assert_eq!(signed("call_9pw1qnYScqvGrCH58HWCvFH6"), foreign);
    }

    #[test]
    fn arguments_and_results_are_objects() {
        let cases = [
            (arguments(""), "{}"),
            (arguments(r#"{"a": 1.0}"#), r#"{"a":1.0}"#),
            (arguments("[1]"), r#"{"arguments":[1]}"#),
            (arguments(r#"{"a"#), r#"{"arguments":"{\"a"}"#),
            (result(r#"{"b":"x"}"#), r#"{"b":"x"}"#),
            (result("20 °C"), r#"{"output":"20 °C"}"#),
            (result(""), r#"{"output":""}"#),
        ];

        for (found, expected) in cases {
            assert_eq!(found.text(), expected);
        }
    }
}
