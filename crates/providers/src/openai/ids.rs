//! Ids of calls, no longer than a host takes them.
//!
//! Some hosts put more into an id than others take (`crate::gemini` its signatures). A conversation that has changed its
//! host keeps them, so each is shortened where it is sent, to the same one each time.

use std::borrow::Cow;

use domain::{Json, JsonObject};

const CALLS: &str = "tool_calls";
const ANSWERED: &str = "tool_call_id";
const ID: &str = "id";

/// The id, or the one that follows from it if it has more than `most` characters.
pub(crate) fn short(given: &str, most: usize) -> Cow<'_, str> {
    if given.chars().count() <= most {
        return Cow::Borrowed(given);
    }
    Cow::Owned(format!("call_{:016x}", hash(given)))
}

/// FNV-1a.
pub(crate) fn hash(given: &str) -> u64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    given.bytes().fold(0xcbf2_9ce4_8422_2325, fold)
}

/// A turn in the caller's own words with short ids; `None` if it has no others.
pub(super) fn shortened(turn: &Json, most: usize) -> Option<Json> {
    let mut turn: JsonObject = serde_json::from_str(turn.text()).ok()?;
    let answered = shorten(&mut turn, ANSWERED, most);
    let calls = turn.get(CALLS).map(Json::text);
    let calls: Option<Vec<JsonObject>> = calls.and_then(|calls| serde_json::from_str(calls).ok());
    let mut calls = calls.unwrap_or_default();
    let mut are_changed = false;
    for call in &mut calls {
        are_changed |= shorten(call, ID, most);
    }
    if are_changed {
        turn.insert(CALLS.to_owned(), Json::of(&calls));
    }
    (answered || are_changed).then(|| Json::of(&turn))
}

/// Shortens the id in a member, and tells whether it had to.
fn shorten(members: &mut JsonObject, name: &str, most: usize) -> bool {
    let given = members.get(name).and_then(Json::as_string);
    let Some(given) = given.filter(|given| given.chars().count() > most) else {
        return false;
    };
    members.insert(name.to_owned(), Json::of(&short(&given, most)));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_id_becomes_the_same_short_one_each_time() {
        let own = "call_9pw1qnYScqvGrCH58HWCvFH6";
        let signed = format!("8f2b1a3c__thought__{}", "Cq4B".repeat(400));
        let another = format!("{signed}x");

        assert_eq!(short(own, 40), own);
        assert_eq!(short(&"å".repeat(40), 40), "å".repeat(40));
        let made = short(&signed, 40);
        assert_eq!(made.len(), 21);
        assert_eq!(made, short(&signed, 64));
        assert_ne!(made, short(&another, 40));
    }

    #[test]
    fn a_turn_as_it_was_given_keeps_all_but_long_ids() {
        let long = "x".repeat(41);
        let made = short(&long, 40);
        let turn = |id: &str| {
            let text = format!(
                r#"{{"role":"assistant","content":null,"n":1.0,"tool_calls":[{{"id":"a","type":"function"}},{{"id":"{id}","custom":{{"input":"{long}"}}}}]}}"#
            );
            Json::parse(&text).unwrap()
        };
        let answer = |id: &str| Json::parse(&format!(r#"{{"tool_call_id":"{id}"}}"#)).unwrap();

        assert_eq!(shortened(&turn(&long), 40), Some(turn(&made)));
        assert_eq!(shortened(&answer(&long), 40), Some(answer(&made)));
        for same in [turn("b"), answer("b"), Json::of(&"x"), Json::of(&[1])] {
            assert_eq!(shortened(&same, 40), None);
        }
    }
}
