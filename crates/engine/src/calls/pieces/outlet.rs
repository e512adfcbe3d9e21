//! Where the value's text waits until it is certain, and goes out from.

use super::{Cause, Leaf, Piece};

/// What may be held: the keys of a path with their escapes, a number, white space between them.
const MAX_HELD_BYTES: usize = 64 * 1024;

/// The text of a value on its way out.
#[derive(Debug, Default)]
pub(super) struct Outlet {
    /// What went out, and what goes out with the next piece.
    text: String,
    /// How much of `text` went out.
    given: usize,
    held: String,
    silent: bool,
}

impl Outlet {
    /// An outlet that hands out no pieces and keeps no text.
    pub(super) fn silent() -> Self {
        Self {
            silent: true,
            ..Self::default()
        }
    }

    /// Hands out pieces from here on.
    pub(super) fn unmute(&mut self) {
        self.silent = false;
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn take_text(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    pub(super) fn held(&self) -> &str {
        &self.held
    }

    /// Keeps text that may yet be cut off.
    pub(super) fn hold(&mut self, text: &str) -> Result<(), Cause> {
        if self.held.len() + text.len() > MAX_HELD_BYTES {
            return Err(Cause::Limit("more than 64 KiB without a value"));
        }
        self.held.push_str(text);
        Ok(())
    }

    pub(super) fn hold_byte(&mut self, byte: u8) -> Result<(), Cause> {
        self.hold(char::from(byte).encode_utf8(&mut [0; 4]))
    }

    /// Keeps white space together with what is held, or lets it out if nothing is.
    pub(super) fn space(&mut self, space: &str) -> Result<(), Cause> {
        if !self.held.is_empty() {
            return self.hold(space);
        }
        self.text.push_str(space);
        Ok(())
    }

    /// Drops the comma that everything held stands behind.
    pub(super) fn drop_comma(&mut self) {
        // Invariant: the comma is the first byte held, for all before it went out.
        self.held.remove(0);
    }

    /// Drops what is held, and says whether there was anything.
    pub(super) fn drop_held(&mut self) -> bool {
        let any = !self.held.is_empty();
        self.held.clear();
        any
    }

    /// Lets out what is held, and this behind it.
    pub(super) fn release(&mut self, text: &str) {
        self.text.push_str(&self.held);
        self.held.clear();
        self.text.push_str(text);
    }

    /// Makes a piece that ends here.
    pub(super) fn give(&mut self, leaf: Option<Leaf>, out: &mut Vec<Piece>) {
        if self.silent {
            self.text.clear();
            return;
        }
        if leaf.is_some() || self.text.len() > self.given {
            let raw = self.text[self.given..].to_owned();
            self.given = self.text.len();
            out.push(Piece { raw, leaf });
        }
    }
}
