//! The one text of an answer, out of the content and the tool calls of its message, piece by piece as they come.
//!
//! Whether that text is the value that was demanded, or is two, is for whoever reads it.

use std::mem;

use super::wrap::Unwrapping;
use crate::wire::Fault;

/// Above this, calls are no answer.
const MAX_CALLS: usize = 64;

/// What tool calls are beside the content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Calls {
    /// Nobody asked for them: the first is the answer where no content is.
    #[default]
    Instead,
    /// A value was demanded, which some models give by a call whether or not they were given a tool: they follow the
    /// content.
    Beside,
    /// A call was demanded: content is the answer where no call is, else mere talk.
    Demanded,
}

/// Joins the pieces of one answer.
#[derive(Debug, Default)]
pub(crate) struct Joining {
    calls: Calls,
    is_wrapped: bool,
    unwrapping: Unwrapping,
    /// Content that may yet turn out to be none: talk, or a model breathing before it calls.
    held: String,
    /// Whether content was told.
    has_content: bool,
    /// The call that is told as it comes.
    first: Option<Call>,
    /// Calls that are told when the first is over.
    further: Vec<Call>,
    /// Content that came after the call had begun.
    late: String,
}

/// One call, as far as it has come.
#[derive(Debug)]
struct Call {
    number: u64,
    arguments: String,
}

impl Joining {
    /// An answer whose calls are that; the value is out of the object around it if the arguments are wrapped.
    pub(crate) fn new(calls: Calls, is_wrapped: bool) -> Self {
        Self {
            calls,
            is_wrapped,
            ..Self::default()
        }
    }

    /// What a piece of the content adds.
    pub(crate) fn content(&mut self, piece: &str) -> String {
        if self.first.is_some() {
            if self.calls == Calls::Beside {
                self.late.push_str(piece);
            }
            return String::new();
        }
        let is_blank = piece.trim().is_empty();
        let may_wait = match self.calls {
            Calls::Instead => false,
            Calls::Beside => is_blank && !self.has_content,
            Calls::Demanded => true,
        };
        self.held.push_str(piece);
        if may_wait {
            return String::new();
        }
        self.has_content |= !is_blank;
        mem::take(&mut self.held)
    }

    /// What a piece of the arguments of the call of that number adds.
    pub(crate) fn call(&mut self, number: u64, piece: &str) -> Result<String, Fault> {
        let is_asked_for = self.calls != Calls::Instead;
        let mut told = String::new();
        match &mut self.first {
            None if piece.is_empty() || (is_asked_for && piece.trim().is_empty()) => {}
            None if !is_asked_for && self.has_content => {}
            None => {
                self.held.clear();
                if self.has_content {
                    told.push('\n');
                }
                self.first = Some(Call {
                    number,
                    arguments: piece.to_owned(),
                });
                told += &self.pushed(piece);
            }
            Some(first) if first.number == number => {
                first.arguments.push_str(piece);
                told = self.pushed(piece);
            }
            Some(_) if is_asked_for => self.collect(number, piece)?,
            Some(_) => {}
        }
        Ok(told)
    }

    fn pushed(&mut self, piece: &str) -> String {
        if self.is_wrapped {
            self.unwrapping.push(piece)
        } else {
            piece.to_owned()
        }
    }

    fn collect(&mut self, number: u64, piece: &str) -> Result<(), Fault> {
        if let Some(call) = self.further.iter_mut().find(|call| call.number == number) {
            call.arguments.push_str(piece);
            return Ok(());
        }
        if self.further.len() + 1 == MAX_CALLS {
            return Err(Fault::protocol("the provider's answer has too many calls"));
        }
        self.further.push(Call {
            number,
            arguments: piece.to_owned(),
        });
        Ok(())
    }

    /// What was held back, when nothing more comes.
    pub(crate) fn finish(&mut self) -> String {
        let Some(first) = self.first.take() else {
            return mem::take(&mut self.held);
        };
        let mut told = self.unwrapping.finish();
        let mut add = |text: &str| {
            if !text.trim().is_empty() {
                told.push('\n');
                told.push_str(text);
            }
        };
        for call in mem::take(&mut self.further) {
            // Some hosts tell one call twice.
            if call.arguments.trim() == first.arguments.trim() {
                continue;
            }
            let mut unwrapping = Unwrapping::default();
            if self.is_wrapped {
                add(&(unwrapping.push(&call.arguments) + &unwrapping.finish()));
            } else {
                add(&call.arguments);
            }
        }
        add(&mem::take(&mut self.late));
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A piece of content, or of the call of a number.
    #[derive(Clone, Copy)]
    enum Piece {
        Said(&'static str),
        Called(u64, &'static str),
    }
    use Piece::{Called, Said};

    /// What each piece adds, and last the end.
    fn joined(calls: Calls, is_wrapped: bool, pieces: &[Piece]) -> Vec<String> {
        let mut joining = Joining::new(calls, is_wrapped);
        let mut told = Vec::new();
        for piece in pieces {
            told.push(match *piece {
                Said(text) => joining.content(text),
                Called(number, text) => joining.call(number, text).unwrap(),
            });
        }
        told.push(joining.finish());
        told
    }

    #[test]
    fn arguments_follow_the_content_where_a_value_was_demanded() {
        let cases: [(&[Piece], &[&str]); 8] = [
            (&[Said(" "), Said("I"), Said(" ")], &["", " I", " ", ""]),
            (&[Said("\n"), Called(0, "{}")], &["", "{}", ""]),
            (&[Said(" "), Called(0, " ")], &["", "", " "]),
            (
                &[
                    Said("I call."),
                    Called(0, ""),
                    Called(0, "{"),
                    Called(0, "}"),
                ],
                &["I call.", "", "\n{", "}", ""],
            ),
            (
                &[
                    Called(3, "[1"),
                    Called(4, "[2"),
                    Called(3, "]"),
                    Called(4, "]"),
                ],
                &["[1", "", "]", "", "\n[2]"],
            ),
            (&[Called(0, "1"), Called(1, "1 ")], &["1", "", ""]),
            (&[Called(0, "1"), Called(1, "")], &["1", "", ""]),
            (
                &[Called(0, "[1"), Said("or "), Called(0, "]"), Said("2")],
                &["[1", "", "]", "", "\nor 2"],
            ),
        ];

        for (pieces, told) in cases {
            assert_eq!(joined(Calls::Beside, false, pieces), told);
        }
    }

    #[test]
    fn content_is_talk_where_a_call_was_demanded_and_came() {
        let cases: [(&[Piece], &[&str]); 4] = [
            (&[Said("1"), Said(" ")], &["", "", "1 "]),
            (
                &[Said("I call."), Called(0, "1"), Said("So.")],
                &["", "1", "", ""],
            ),
            (
                &[Said("I call."), Called(0, " "), Called(0, "")],
                &["", "", "", "I call."],
            ),
            (
                &[
                    Called(0, r#"{"value":[1]}"#),
                    Called(1, r#"{"value":[2]"#),
                    Called(1, "}"),
                ],
                &["[1]", "", "", "\n[2]"],
            ),
        ];

        for (pieces, told) in cases {
            assert_eq!(joined(Calls::Demanded, true, pieces), told);
        }
    }

    #[test]
    fn nothing_waits_and_one_source_is_all_where_nothing_was_demanded() {
        let cases: [(&[Piece], &[&str]); 3] = [
            (&[Said(" "), Said("I")], &[" ", "I", ""]),
            (&[Said("I call."), Called(0, "1")], &["I call.", "", ""]),
            (
                &[Said("\n"), Called(0, "1"), Said("So."), Called(1, "2")],
                &["\n", "1", "", "", ""],
            ),
        ];

        for (pieces, told) in cases {
            assert_eq!(joined(Calls::Instead, false, pieces), told);
        }
    }

    #[test]
    fn calls_without_end_are_refused() {
        let mut joining = Joining::new(Calls::Beside, false);

        let called: Vec<bool> = (0..=64).map(|it| joining.call(it, "1").is_ok()).collect();

        let expected: Vec<bool> = (0..=64).map(|it| it < 64).collect();
        assert_eq!(called, expected);
    }
}
