//! What stands around the value: white space, a code fence, words, and brackets in the words.
//!
//! Before the value a bracket of the other kind may be the beginning of a value that nobody asked for, and after it
//! any bracket may; both are read in silence, so that no part of them is taken for the answer.

use super::{Begins, Cause, Follows, Grammar, Stop};

/// The text before and after the value, as far as it was read.
#[derive(Debug)]
pub(super) struct Around {
    begins: Begins,
    ticks: Ticks,
    fence: bool,
    prose_before: bool,
    /// Whether the value is one that nothing but a fence may follow.
    scalar: bool,
    follows: Follows,
    aside: Option<Aside>,
}

/// How far the opening line of a fence was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ticks {
    None,
    One,
    Two,
    /// Three or more.
    Fence,
    /// Letters behind them.
    Language,
}

/// A value in the words around the value.
#[derive(Debug)]
struct Aside {
    grammar: Grammar,
    wanted: bool,
}

/// What a text before the value came to.
pub(super) enum Before {
    /// All of it was passed over.
    Passed,
    /// A value may begin at this byte.
    Value(usize),
}

impl Around {
    pub(super) fn new(begins: Begins) -> Self {
        Self {
            begins,
            ticks: Ticks::None,
            fence: false,
            prose_before: false,
            scalar: false,
            follows: Follows::Nothing,
            aside: None,
        }
    }

    /// Passes over what stands before the value.
    pub(super) fn before(&mut self, text: &str) -> Result<Before, Stop> {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if self.aside.is_some() {
                at += self
                    .read_aside(&text[at..])
                    .map_err(|stop| stop.after(at))?;
                continue;
            }
            let passed = self.opens_fence(bytes[at]);
            if !passed && self.begins.wants(bytes[at]) && self.may_begin() {
                return Ok(Before::Value(at));
            }
            self.prose_before |= !passed;
            if !self.may_begin() {
                let cause = Cause::Syntax("expected nothing but a JSON value");
                return Err(Stop { at, cause });
            }
            if matches!(bytes[at], b'{' | b'[') {
                self.begin_aside(false);
            } else {
                at += 1;
            }
        }
        Ok(Before::Passed)
    }

    /// Takes note that a bracket which could have begun the value belonged to the words before it.
    pub(super) fn skip_bracket(&mut self) {
        self.prose_before = true;
    }

    /// Takes note of the value that was read.
    pub(super) fn end_value(&mut self, text: &str) {
        self.scalar = !text.starts_with(['{', '[']);
    }

    /// Passes over what stands after the value.
    pub(super) fn after(&mut self, text: &str) -> Result<(), Stop> {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if self.aside.is_some() {
                // Whatever breaks off here is words: the value has been read.
                at += self.read_aside(&text[at..]).unwrap_or_else(|stop| stop.at);
                continue;
            }
            let byte = bytes[at];
            let passed = is_space(byte) || byte == b'`' && self.fence;
            if !passed && self.scalar {
                // `1,000`, `3 to 5` or `"a" or "b"` is not its first word.
                let cause = Cause::Syntax("expected nothing after the value");
                return Err(Stop { at, cause });
            }
            if !passed {
                self.mention(Follows::Prose);
            }
            if matches!(byte, b'{' | b'[') {
                self.begin_aside(self.begins.wants(byte));
            } else {
                at += 1;
            }
        }
        Ok(())
    }

    pub(super) fn fence(&self) -> bool {
        self.fence
    }

    pub(super) fn prose(&self) -> bool {
        self.prose_before || self.follows != Follows::Nothing
    }

    pub(super) fn follows(&self) -> Follows {
        self.follows
    }

    fn mention(&mut self, follows: Follows) {
        if self.follows != Follows::Value {
            self.follows = follows;
        }
    }

    /// Whether the value may begin after what was passed over.
    fn may_begin(&self) -> bool {
        self.begins.may_follow_prose() || !self.prose_before
    }

    /// Whether a byte is white space or belongs to the beginning of a fence.
    fn opens_fence(&mut self, byte: u8) -> bool {
        let (ticks, passed) = match (self.ticks, byte) {
            (Ticks::None | Ticks::Language, b'`') => (Ticks::One, true),
            (Ticks::One, b'`') => (Ticks::Two, true),
            (Ticks::Two | Ticks::Fence, b'`') => (Ticks::Fence, true),
            (Ticks::Fence | Ticks::Language, b'a'..=b'z' | b'A'..=b'Z')
            | (Ticks::Language, b'0'..=b'9' | b'-' | b'_' | b'+' | b'.') => (Ticks::Language, true),
            _ => (Ticks::None, is_space(byte)),
        };
        // One or two backticks are no fence.
        self.prose_before |= ticks == Ticks::None && matches!(self.ticks, Ticks::One | Ticks::Two);
        self.fence |= ticks == Ticks::Fence;
        self.ticks = ticks;
        passed
    }

    fn begin_aside(&mut self, wanted: bool) {
        let grammar = Grammar::silent();
        self.aside = Some(Aside { grammar, wanted });
    }

    /// Reads on in the aside, and returns how many bytes were read.
    fn read_aside(&mut self, text: &str) -> Result<usize, Stop> {
        let Some(aside) = &mut self.aside else {
            return Ok(0);
        };
        match aside.grammar.push(text, &mut Vec::new()) {
            Ok(read) => {
                if aside.grammar.is_done() {
                    let wanted = aside.wanted;
                    self.aside = None;
                    if wanted {
                        self.mention(Follows::Value);
                    }
                }
                Ok(read)
            }
            Err(stop) => {
                let prose = aside.grammar.was_prose(&stop);
                self.aside = None;
                if prose { Ok(stop.at) } else { Err(stop) }
            }
        }
    }
}

impl Stop {
    fn after(mut self, bytes: usize) -> Self {
        self.at += bytes;
        self
    }
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
