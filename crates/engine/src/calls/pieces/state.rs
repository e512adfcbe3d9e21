//! What the grammar waits for.

use super::{
    Cause,
    lexeme::{Escape, Number},
};

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Root,
    FirstKey,
    NextKey,
    Colon,
    Member,
    FirstItem,
    NextItem,
    Separator,
    Key(Option<Escape>),
    String(Option<Escape>),
    Number(Number),
    /// A word, and how many of its bytes were read.
    Word(&'static str, usize),
    Done,
}

impl State {
    /// That something else came.
    pub(super) fn missed(self) -> Cause {
        Cause::Syntax(match self {
            Self::FirstKey | Self::NextKey => "expected a key or `}`",
            Self::Colon => "expected `:`",
            Self::Separator => "expected `,` or the closing bracket",
            _ => "expected a value",
        })
    }
}
