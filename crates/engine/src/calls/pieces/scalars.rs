//! The scalars of the grammar: strings, numbers, and the words `true`, `false` and `null`.

use std::sync::Arc;

use domain::Json;

use super::{
    Cause, Piece,
    around::is_space,
    grammar::Grammar,
    lexeme::{Escape, Escaped, Number},
    state::State,
};

const MAX_KEY_BYTES: usize = 1024;

impl Grammar {
    pub(super) fn string(
        &mut self,
        escape: Option<Escape>,
        text: &str,
        out: &mut Vec<Piece>,
    ) -> Result<usize, Cause> {
        let byte = text.as_bytes()[0];
        if let Some(escape) = escape {
            match escape.next(byte)? {
                Escaped::Open(escape) => {
                    self.set_escape(Some(escape));
                    self.outlet.hold_byte(byte)?;
                }
                Escaped::Char(decoded) => {
                    self.set_escape(None);
                    self.outlet.hold_byte(byte)?;
                    self.content.push(decoded);
                    self.characters("")?;
                }
            }
            return Ok(1);
        }
        match byte {
            b'"' => self.end_string(out)?,
            b'\\' => {
                self.set_escape(Some(Escape::Backslash));
                self.outlet.hold("\\")?;
            }
            ..b' ' => return Err(Cause::Syntax("a control character in a string")),
            _ => {
                let end = text
                    .bytes()
                    .position(|byte| matches!(byte, b'"' | b'\\' | ..b' '));
                let plain = &text[..end.unwrap_or(text.len())];
                self.content.push_str(plain);
                self.characters(plain)?;
                return Ok(plain.len());
            }
        }
        Ok(1)
    }

    /// Takes characters whose content was taken already.
    fn characters(&mut self, plain: &str) -> Result<(), Cause> {
        if matches!(self.state, State::String(_)) {
            self.outlet.release(plain);
            return Ok(());
        }
        if self.content.len() > MAX_KEY_BYTES {
            return Err(Cause::Limit("a key longer than 1024 bytes"));
        }
        self.outlet.hold(plain)
    }

    fn set_escape(&mut self, escape: Option<Escape>) {
        self.state = match self.state {
            State::Key(_) => State::Key(escape),
            _ => State::String(escape),
        };
    }

    fn end_string(&mut self, out: &mut Vec<Piece>) -> Result<(), Cause> {
        if let State::Key(_) = self.state {
            let key = Arc::from(std::mem::take(&mut self.content));
            if let Some(level) = self.levels.last_mut() {
                level.key = key;
            }
            self.state = State::Colon;
            return self.outlet.hold("\"");
        }
        self.outlet.release("\"");
        if !self.content.is_empty() || !self.string_begun {
            self.emit_string(out);
        }
        self.end_value();
        Ok(())
    }

    pub(super) fn number(
        &mut self,
        number: Number,
        byte: u8,
        out: &mut Vec<Piece>,
    ) -> Result<usize, Cause> {
        if let Some(number) = number.next(byte) {
            self.state = State::Number(number);
            self.outlet.hold_byte(byte)?;
            return Ok(1);
        }
        let delimited = is_space(byte)
            || if self.levels.is_empty() {
                byte == b'`'
            } else {
                matches!(byte, b',' | b']' | b'}')
            };
        if !delimited || !number.may_end() {
            return Err(Cause::Syntax("a broken number"));
        }
        self.settle(out)?;
        Ok(0)
    }

    /// Takes a number that was read so far for a whole one.
    pub(super) fn settle(&mut self, out: &mut Vec<Piece>) -> Result<(), Cause> {
        match self.state {
            State::Number(number) if number.may_end() => self.end_scalar(out),
            _ => Ok(()),
        }
    }

    pub(super) fn word(
        &mut self,
        word: &'static str,
        read: usize,
        byte: u8,
        out: &mut Vec<Piece>,
    ) -> Result<usize, Cause> {
        if word.as_bytes()[read] != byte {
            return Err(State::Member.missed());
        }
        self.outlet.hold_byte(byte)?;
        self.state = State::Word(word, read + 1);
        if read + 1 == word.len() {
            self.end_scalar(out)?;
        }
        Ok(1)
    }

    fn end_scalar(&mut self, out: &mut Vec<Piece>) -> Result<(), Cause> {
        let value = Json::parse(&self.outlet.held()[self.lexeme..])
            .map_err(|_| Cause::Syntax("a number beyond 64-bit floats"))?;
        self.outlet.release("");
        self.emit(value, out);
        self.end_value();
        Ok(())
    }
}
