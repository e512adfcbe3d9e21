//! Calls of the caller's tools, whole and piece by piece as they come.
//!
//! A stream's pieces belong together by their index. Hosts that give none, or one and the same to every call, are told
//! by ids and names: a piece with another name, or with a name and another id, begins another call.

use std::{borrow::Cow, mem};

use domain::{Delta, ToolCall, ToolCallDelta};
use serde_json::Value;

use crate::{call_id, wire::Fault};

/// Above this, calls are no answer.
const MAX_CALLS: usize = 128;
/// The arguments of a call that has none.
const NO_ARGUMENTS: &str = "{}";

/// A call, or a piece of one, as a host gives it. What is missing is empty.
struct Given<'a> {
    place: Option<u64>,
    id: &'a str,
    name: &'a str,
    /// Whether the tool is one of OpenAI's without a schema, whose arguments are a text in a place of their own.
    is_custom: bool,
    arguments: Cow<'a, str>,
}

impl<'a> Given<'a> {
    fn of(call: &'a Value) -> Self {
        let custom = &call["custom"];
        let is_custom = custom.is_object();
        let (called, arguments) = if is_custom {
            (custom, &custom["input"])
        } else {
            (&call["function"], &call["function"]["arguments"])
        };
        Self {
            place: call["index"].as_u64(),
            id: call["id"].as_str().unwrap_or_default(),
            name: called["name"].as_str().unwrap_or_default(),
            is_custom,
            arguments: text(arguments),
        }
    }

    fn is_nothing(&self) -> bool {
        self.id.is_empty() && self.name.is_empty() && self.arguments.is_empty()
    }
}

/// Arguments as a text; some hosts give the value itself.
fn text(arguments: &Value) -> Cow<'_, str> {
    match arguments {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        value => Cow::Owned(value.to_string()),
    }
}

/// The calls in a message, or in a piece of one.
fn given(message: &Value) -> Vec<Given<'_>> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let mut calls: Vec<Given<'_>> = calls.map(Given::of).collect();
    // The dialect's older way, which some hosts have beside the other.
    let older = &message["function_call"];
    if calls.is_empty() && older.is_object() {
        calls.push(Given {
            place: Some(0),
            id: "",
            name: older["name"].as_str().unwrap_or_default(),
            is_custom: false,
            arguments: text(&older["arguments"]),
        });
    }
    calls.retain(|call| !call.is_nothing());
    calls
}

/// The calls of a whole message.
pub(super) fn calls(message: &Value, answer: &Value) -> Result<Vec<ToolCall>, Fault> {
    let calls = (0..).zip(given(message)).map(|(index, given)| {
        let arguments = given.arguments;
        Ok(ToolCall {
            id: id(given.id, answer, index),
            name: named(given.name)?.to_owned(),
            arguments: if arguments.trim().is_empty() && !given.is_custom {
                NO_ARGUMENTS.to_owned()
            } else {
                arguments.into_owned()
            },
        })
    });
    calls.collect()
}

/// A result refers to its call by an id, so there is always one.
fn id(given: &str, answer: &Value, index: usize) -> String {
    if given.is_empty() {
        call_id::made_up(answer["id"].as_str(), index)
    } else {
        given.to_owned()
    }
}

fn named(name: &str) -> Result<&str, Fault> {
    if name.is_empty() {
        return Err(Fault::protocol(
            "a call of the provider's answer names no tool",
        ));
    }
    Ok(name)
}

/// Reads the calls of one stream.
#[derive(Debug, Default)]
pub(super) struct Calling {
    calls: Vec<Call>,
}

/// One call, as far as it has come.
#[derive(Debug, Default)]
struct Call {
    place: Option<u64>,
    id: String,
    name: String,
    /// Arguments that came before the name did.
    held: String,
    has_begun: bool,
    /// Whether it has arguments, or needs none.
    has_arguments: bool,
}

impl Calling {
    /// What a piece of the message adds, which came with a chunk of the `answer`.
    pub(super) fn push(&mut self, message: &Value, answer: &Value) -> Result<Vec<Delta>, Fault> {
        let mut deltas = Vec::new();
        for given in given(message) {
            let index = match self.find(&given) {
                Some(index) => index,
                None if self.calls.len() == MAX_CALLS => {
                    return Err(Fault::protocol("the provider's answer has too many calls"));
                }
                None => {
                    self.calls.push(Call::default());
                    self.calls.len() - 1
                }
            };
            deltas.extend(self.calls[index].take(index, &given, answer));
        }
        Ok(deltas)
    }

    /// The call that a piece belongs to; none if it begins another.
    fn find(&self, given: &Given<'_>) -> Option<usize> {
        let same = match given.place {
            Some(place) => self
                .calls
                .iter()
                .rposition(|call| call.place == Some(place)),
            None if !given.id.is_empty() => self.calls.iter().rposition(|call| call.id == given.id),
            None if !given.name.is_empty() => None,
            None => self.calls.len().checked_sub(1),
        };
        same.filter(|index| !self.calls[*index].is_other(given))
    }

    /// Whether any call has come.
    pub(super) const fn is_any(&self) -> bool {
        !self.calls.is_empty()
    }

    /// What is left, when nothing more comes.
    pub(super) fn finish(&mut self) -> Result<Vec<Delta>, Fault> {
        let mut deltas = Vec::new();
        for (index, call) in mem::take(&mut self.calls).into_iter().enumerate() {
            named(&call.name)?;
            if !call.has_arguments {
                deltas.push(Delta::ToolCall(ToolCallDelta {
                    index,
                    begins: None,
                    arguments: NO_ARGUMENTS.to_owned(),
                }));
            }
        }
        Ok(deltas)
    }
}

impl Call {
    fn is_other(&self, given: &Given<'_>) -> bool {
        let differs = |own: &str, given: &str| !own.is_empty() && !given.is_empty() && own != given;
        // Some hosts give every piece an id of its own, but no name.
        let is_named = !given.name.is_empty();
        differs(&self.name, given.name) || (is_named && differs(&self.id, given.id))
    }

    fn take(&mut self, index: usize, given: &Given<'_>, answer: &Value) -> Option<Delta> {
        self.place = given.place.or(self.place);
        if self.id.is_empty() {
            given.id.clone_into(&mut self.id);
        }
        if self.name.is_empty() {
            given.name.clone_into(&mut self.name);
        }
        self.held.push_str(&given.arguments);
        self.has_arguments |= given.is_custom || !given.arguments.trim().is_empty();
        let begins = !self.has_begun && !self.name.is_empty();
        self.has_begun |= begins;
        if !self.has_begun || (!begins && self.held.is_empty()) {
            return None;
        }
        Some(Delta::ToolCall(ToolCallDelta {
            index,
            begins: begins.then(|| (id(&self.id, answer, index), self.name.clone())),
            arguments: mem::take(&mut self.held),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the pieces come to: id, name and arguments of each call, or what is wrong.
    fn joined(pieces: &[&str]) -> Result<Vec<(String, String, String)>, String> {
        let mut calling = Calling::default();
        let mut calls: Vec<(String, String, String)> = Vec::new();
        let mut deltas = Vec::new();
        let told = |fault: Fault| fault.words.unwrap();
        let answer = serde_json::json!({"id": "a-1"});
        for piece in pieces {
            let message: Value = serde_json::from_str(piece).unwrap();
            deltas.extend(calling.push(&message, &answer).map_err(told)?);
        }
        deltas.extend(calling.finish().map_err(told)?);
        for delta in deltas {
            let Delta::ToolCall(delta) = delta else {
                panic!("{delta:?}");
            };
            if let Some((id, name)) = delta.begins {
                assert_eq!(calls.len(), delta.index);
                calls.push((id, name, String::new()));
            }
            calls[delta.index].2 += &delta.arguments;
        }
        Ok(calls)
    }

    #[test]
    fn pieces_find_their_call_however_a_host_numbers_them() {
        type Called = (&'static str, &'static str, &'static str);
        let cases: [(&[&str], &[Called]); 10] = [
            (
                &[
                    r#"{"tool_calls":[{"index":0,"id":"a","type":"custom","custom":{"name":"f","input":""}},{"index":1,"id":"b","type":"custom","custom":{"name":"f","input":""}}]}"#,
                    r#"{"tool_calls":[{"index":1,"custom":{"input":"no "}}]}"#,
                    r#"{"tool_calls":[{"index":1,"custom":{"input":"JSON"}}]}"#,
                ],
                &[("a", "f", ""), ("b", "f", "no JSON")],
            ),
            (
                &[
                    r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}"#,
                    r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}},{"index":1,"id":"b","function":{"name":"f","arguments":"1"}}]}"#,
                    r#"{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}"#,
                ],
                &[("a", "f", "{\"x\":1}"), ("b", "f", "1")],
            ),
            (
                &[
                    r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"1"}},{"index":0,"id":"b","function":{"name":"f","arguments":"2"}}]}"#,
                ],
                &[("a", "f", "1"), ("b", "f", "2")],
            ),
            (
                &[
                    r#"{"tool_calls":[{"function":{"name":"f","arguments":{"x":1}}},{"function":{"name":"f","arguments":{"x":2}}}]}"#,
                ],
                &[
                    ("call_a-1_0", "f", "{\"x\":1}"),
                    ("call_a-1_1", "f", "{\"x\":2}"),
                ],
            ),
            (
                &[
                    r#"{"tool_calls":[{"id":"a","function":{"name":"f"}}]}"#,
                    r#"{"tool_calls":[{"function":{"arguments":"[1"}}]}"#,
                    r#"{"tool_calls":[{"id":"a","function":{"arguments":"]"}}]}"#,
                    r#"{"tool_calls":[{"id":"b","function":{"name":"g"}}]}"#,
                ],
                &[("a", "f", "[1]"), ("b", "g", "{}")],
            ),
            (
                &[
                    r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"[1"}}]}"#,
                    r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":",2"}}]}"#,
                    r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"","arguments":"]"}}]}"#,
                ],
                &[("a", "f", "[1,2]")],
            ),
            (
                &[
                    r#"{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"1"}}]}"#,
                    r#"{"tool_calls":[{"index":0,"function":{"name":"g","arguments":"2"}}]}"#,
                ],
                &[("call_a-1_0", "f", "1"), ("call_a-1_1", "g", "2")],
            ),
            (
                &[
                    r#"{"tool_calls":[{"index":3,"function":{"arguments":"1"}}]}"#,
                    r#"{"tool_calls":[{"index":3,"id":"a","function":{"name":"f","arguments":""}}]}"#,
                ],
                &[("a", "f", "1")],
            ),
            (
                &[
                    r#"{"function_call":{"name":"f","arguments":""}}"#,
                    r#"{"function_call":{"arguments":"1"}}"#,
                ],
                &[("call_a-1_0", "f", "1")],
            ),
            (
                &[r#"{"tool_calls":[{},{"index":1}],"function_call":null}"#],
                &[],
            ),
        ];

        for (pieces, calls) in cases {
            let joined = joined(pieces).unwrap();
            let joined: Vec<_> = joined
                .iter()
                .map(|(id, name, arguments)| (id.as_str(), name.as_str(), arguments.as_str()))
                .collect();
            assert_eq!(joined, calls, "{pieces:?}");
        }
    }

    #[test]
    fn calls_of_nothing_and_calls_without_end_are_refused() {
        let nameless = r#"{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]}"#;
        let many: Vec<String> = (0..129)
            .map(|it| format!(r#"{{"tool_calls":[{{"index":{it},"function":{{"name":"f"}}}}]}}"#))
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();

        assert_eq!(
            joined(&[nameless]).unwrap_err(),
            "a call of the provider's answer names no tool"
        );
        assert_eq!(joined(&many[..128]).unwrap().len(), 128);
        assert_eq!(
            joined(&many).unwrap_err(),
            "the provider's answer has too many calls"
        );
    }
}
