//! The grammar of one JSON value, read byte by byte from its first one on.
//!
//! What could still be cut off without loss is held: brackets, keys and commas before a value's first byte, escapes,
//! numbers and words before their last. So every text that went out ends behind a leaf, inside a string leaf behind a
//! whole character, or behind a closing bracket.

use std::sync::Arc;

use domain::Json;

use super::{
    Cause, Fault, Leaf, Mending, Path, Piece, Step, Stop, around::is_space, lexeme::Number,
    outlet::Outlet, state::State,
};

/// The deepest nesting, the same as that of [`Json::parse`].
const MAX_DEPTH: usize = 128;
/// What the path of a container may take; every leaf in it repeats it on the wire.
const MAX_PATH_BYTES: usize = 4096;

/// One JSON value, as far as it was read.
#[derive(Debug)]
pub(crate) struct Grammar {
    pub(super) outlet: Outlet,
    /// Where in the held text the number or word begins.
    pub(super) lexeme: usize,
    pub(super) levels: Vec<Level>,
    pub(super) state: State,
    /// The decoded part of a key or string that did not go out yet.
    pub(super) content: String,
    /// Whether a part of the open string went out.
    pub(super) string_begun: bool,
    /// Whether any string was begun: words in brackets have none, or none that could be told from a value's.
    quoted: bool,
    mended: Vec<Mending>,
}

/// A container that is open.
#[derive(Debug)]
pub(super) struct Level {
    closer: char,
    path: Arc<str>,
    /// The key of the member that was begun last.
    pub(super) key: Arc<str>,
    /// How many items were begun.
    items: usize,
}

impl Grammar {
    pub(super) fn new() -> Self {
        Self::with(Outlet::default())
    }

    /// A grammar that hands out no pieces and keeps no text.
    pub(super) fn silent() -> Self {
        Self::with(Outlet::silent())
    }

    fn with(outlet: Outlet) -> Self {
        Self {
            outlet,
            lexeme: 0,
            levels: Vec::new(),
            state: State::Root,
            content: String::new(),
            string_begun: false,
            quoted: false,
            mended: Vec::new(),
        }
    }

    /// The grammar behind a text that went out, from which the next text goes out again.
    pub(crate) fn resumed(sent: &str) -> Result<Self, Fault> {
        let mut grammar = Self::silent();
        let mut nothing = Vec::new();
        grammar
            .push(sent, &mut nothing)
            .map_err(|stop| stop.fault(0))?;
        // A number went out because its end was seen.
        grammar
            .settle(&mut nothing)
            .map_err(|cause| Fault::new(cause.what()))?;
        grammar.outlet.unmute();
        Ok(grammar)
    }

    /// Reads on to the value's end, and returns how many bytes belong to the value.
    pub(crate) fn push(&mut self, text: &str, out: &mut Vec<Piece>) -> Result<usize, Stop> {
        let mut at = 0;
        while at < text.len() && self.state != State::Done {
            match self.step(&text[at..], out) {
                Ok(read) => at += read,
                Err(cause) => {
                    self.flush(out);
                    return Err(Stop { at, cause });
                }
            }
        }
        self.flush(out);
        Ok(at)
    }

    /// Reads the last text, which holds all that the value needs to end.
    pub(crate) fn finish_with(&mut self, text: &str, out: &mut Vec<Piece>) -> Result<(), Fault> {
        self.push(text, out).map_err(|stop| stop.fault(0))?;
        self.end(true, out)
    }

    /// Ends the text, and adds the brackets that an answer which ended by itself has forgotten.
    pub(super) fn end(&mut self, ended_by_itself: bool, out: &mut Vec<Piece>) -> Result<(), Fault> {
        if ended_by_itself && self.levels.is_empty() {
            self.settle(out).map_err(|cause| Fault::new(cause.what()))?;
        }
        let unfinished = match self.state {
            State::Done => return Ok(()),
            State::Key(_) => "a key",
            State::String(_) => "a string",
            State::Number(_) => "a number",
            State::Word(..) => "a word",
            State::Colon | State::Member => "a member",
            State::Separator | State::NextKey | State::NextItem if ended_by_itself => {
                self.add_brackets(out);
                return Ok(());
            }
            _ => "an object or array",
        };
        Err(Fault::new(format!("the answer ends within {unfinished}")))
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Whether a text that broke off here was words with brackets rather than a broken value.
    pub(super) fn was_prose(&self, stop: &Stop) -> bool {
        matches!(stop.cause, Cause::Syntax(_)) && self.text().is_empty() && !self.quoted
    }

    pub(super) fn text(&self) -> &str {
        self.outlet.text()
    }

    pub(super) fn take_text(&mut self) -> String {
        self.outlet.take_text()
    }

    /// What was mended inside of the value, each word once.
    pub(super) fn mended(&self) -> &[Mending] {
        &self.mended
    }

    /// Reads at least a byte, or takes a step without one.
    fn step(&mut self, text: &str, out: &mut Vec<Piece>) -> Result<usize, Cause> {
        let byte = text.as_bytes()[0];
        match self.state {
            State::Key(escape) | State::String(escape) => self.string(escape, text, out),
            State::Number(number) => self.number(number, byte, out),
            State::Word(word, read) => self.word(word, read, byte, out),
            _ if is_space(byte) => self.space(text),
            _ => self.structure(byte).map(|()| 1),
        }
    }

    // === Structure ===

    fn space(&mut self, text: &str) -> Result<usize, Cause> {
        let end = text.bytes().position(|byte| !is_space(byte));
        let space = &text[..end.unwrap_or(text.len())];
        self.outlet.space(space)?;
        Ok(space.len())
    }

    fn structure(&mut self, byte: u8) -> Result<(), Cause> {
        let closes = self
            .levels
            .last()
            .is_some_and(|level| level.closer == char::from(byte));
        match (self.state, byte) {
            (State::FirstKey | State::NextKey, b'"') => {
                self.quoted = true;
                self.state = State::Key(None);
                self.outlet.hold("\"")
            }
            (State::FirstKey | State::FirstItem | State::Separator, _) if closes => {
                self.close();
                Ok(())
            }
            (State::NextKey | State::NextItem, _) if closes => {
                self.outlet.drop_comma();
                self.mend(Mending::TrailingComma);
                self.close();
                Ok(())
            }
            (State::Separator, b',') => {
                let in_object = self.levels.last().is_some_and(|level| level.closer == '}');
                self.state = if in_object {
                    State::NextKey
                } else {
                    State::NextItem
                };
                self.outlet.hold(",")
            }
            (State::Colon, b':') => {
                self.state = State::Member;
                self.outlet.hold(":")
            }
            (State::Root | State::Member, _) => self.value(byte),
            (State::FirstItem | State::NextItem, _) => {
                if let Some(level) = self.levels.last_mut() {
                    level.items += 1;
                }
                self.value(byte)
            }
            (state, _) => Err(state.missed()),
        }
    }

    fn value(&mut self, byte: u8) -> Result<(), Cause> {
        self.lexeme = self.outlet.held().len();
        match byte {
            b'{' => return self.open('{', '}', State::FirstKey),
            b'[' => return self.open('[', ']', State::FirstItem),
            b'"' => {
                self.quoted = true;
                self.string_begun = false;
                self.state = State::String(None);
            }
            b'-' | b'0'..=b'9' => self.state = State::Number(Number::begin(byte)),
            b't' => self.state = State::Word("true", 1),
            b'f' => self.state = State::Word("false", 1),
            b'n' => self.state = State::Word("null", 1),
            _ => return Err(State::Member.missed()),
        }
        self.outlet.hold_byte(byte)
    }

    fn open(&mut self, opener: char, closer: char, state: State) -> Result<(), Cause> {
        if self.levels.len() == MAX_DEPTH {
            return Err(Cause::Limit("nested deeper than 128 levels"));
        }
        let path: Arc<str> = if self.levels.is_empty() {
            Arc::default()
        } else {
            Arc::from(self.path().to_string())
        };
        if path.len() > MAX_PATH_BYTES {
            return Err(Cause::Limit(
                "the keys on the way are longer than 4096 bytes",
            ));
        }
        self.levels.push(Level {
            closer,
            path,
            key: Arc::default(),
            items: 0,
        });
        self.state = state;
        self.outlet.hold_byte(opener as u8)
    }

    fn close(&mut self) {
        if let Some(level) = self.levels.pop() {
            let closer = level.closer;
            self.outlet.release(closer.encode_utf8(&mut [0; 4]));
        }
        self.end_value();
    }

    pub(super) fn end_value(&mut self) {
        self.state = if self.levels.is_empty() {
            State::Done
        } else {
            State::Separator
        };
    }

    fn add_brackets(&mut self, out: &mut Vec<Piece>) {
        if self.outlet.drop_held() {
            self.mend(Mending::TrailingComma);
        }
        while !self.levels.is_empty() {
            self.close();
        }
        self.mend(Mending::MissingBrackets);
        self.flush(out);
    }

    fn mend(&mut self, mending: Mending) {
        if !self.mended.contains(&mending) {
            self.mended.push(mending);
        }
    }

    // === Going out ===

    pub(super) fn emit_string(&mut self, out: &mut Vec<Piece>) {
        let value = Json::of(&self.content);
        self.content.clear();
        self.string_begun = true;
        self.emit(value, out);
    }

    pub(super) fn emit(&mut self, value: Json, out: &mut Vec<Piece>) {
        let leaf = Leaf {
            path: self.path(),
            value,
        };
        self.outlet.give(Some(leaf), out);
    }

    fn flush(&mut self, out: &mut Vec<Piece>) {
        if matches!(self.state, State::String(_)) && !self.content.is_empty() {
            self.emit_string(out);
        } else {
            self.outlet.give(None, out);
        }
    }

    fn path(&self) -> Path {
        let Some(level) = self.levels.last() else {
            return Path {
                container: Arc::default(),
                step: Step::Root,
            };
        };
        let step = if level.closer == '}' {
            Step::Member(level.key.clone())
        } else {
            Step::Item(level.items.saturating_sub(1))
        };
        Path {
            container: level.path.clone(),
            step,
        }
    }
}
