//! A model's JSON answer, read while it streams in.
//!
//! A [`Reader`] takes the text in whatever splits it arrives and hands on [`Piece`]s: the raw text of the one value in
//! it, and the leaves that this text completes. What stands around the value is left out, and the little that may be
//! mended is mended. Text that might turn out not to belong to the value is held back, so that what went out is always
//! the beginning of a JSON text that can be continued. Schemas are not checked here, and neither are duplicate keys:
//! the whole text meets [`domain::Json::parse`] at the end.

mod around;
mod begins;
mod grammar;
mod lexeme;
mod outlet;
mod scalars;
mod state;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use domain::Json;
use serde::Serialize;

use self::around::{Around, Before};
pub(crate) use self::{begins::Begins, grammar::Grammar};
use crate::calls::rest::Unfinished;

/// What a text completes of a JSON answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The next piece of the answer's JSON text, exactly as the model wrote it.
    pub(crate) raw: String,
    /// The leaf, or the part of a string leaf, that ends with `raw`.
    pub(crate) leaf: Option<Leaf>,
}

/// A leaf of the answer, or the next part of a string that is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// Where it stands.
    pub(crate) path: Path,
    /// A decoded part of a string, a whole number, `true`, `false` or `null`.
    pub(crate) value: Json,
}

/// A leaf's place, shown as `people[0].role`; `_root` for an answer that is a leaf itself.
///
/// It shares the container's text with the leaves beside it: a path may be a thousand times as long as its leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    container: Arc<str>,
    step: Step,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Root,
    Member(Arc<str>),
    Item(usize),
}

/// Why a text is no JSON answer, in one line that names the place but repeats nothing of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault(String);

/// What was done to an answer that was not plain JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mending {
    /// A Markdown code fence was taken off; told only beside another word, since a fence alone is nothing unusual.
    CodeFence,
    /// Words around the value were left out.
    Prose,
    /// A comma before a closing bracket was dropped.
    TrailingComma,
    /// Closing brackets were added at the end.
    MissingBrackets,
    /// The line breaks around a text in XML were taken off.
    Layout,
}

/// What came after the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follows {
    /// At most white space and the end of a fence.
    Nothing,
    /// Words.
    Prose,
    /// At least one more value of the kind that was wanted.
    Value,
}

/// An answer that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finished {
    /// The value's text; what went out in pieces is exactly this.
    pub(crate) text: String,
    /// What was mended, each word once.
    pub(crate) mended: Vec<Mending>,
    /// What came after the value.
    pub(crate) follows: Follows,
}

/// Reads one JSON value out of a text that arrives in arbitrary pieces.
#[derive(Debug)]
pub(crate) struct Reader {
    begins: Begins,
    around: Around,
    grammar: Grammar,
    stage: Stage,
    /// Bytes of the answer that were read.
    read: usize,
}

#[derive(Debug)]
enum Stage {
    Before,
    Within,
    After,
    Failed(Fault),
}

impl Reader {
    /// A reader for an answer whose value begins so.
    pub(crate) fn new(begins: Begins) -> Self {
        Self {
            begins,
            around: Around::new(begins),
            grammar: Grammar::new(),
            stage: Stage::Before,
            read: 0,
        }
    }

    /// Reads on, and adds what became certain to `out`.
    ///
    /// A piece takes some hundred bytes: a caller that must bound its memory pushes a few KiB at a time.
    ///
    /// # Errors
    /// The text is no JSON value. What was added to `out` stands; the reader takes nothing more.
    pub(crate) fn push(&mut self, text: &str, out: &mut Vec<Piece>) -> Result<(), Fault> {
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let step = match &self.stage {
                Stage::Before => self.before(rest),
                Stage::Within => self.within(rest, out),
                Stage::After => self.around.after(rest).map(|()| rest.len()),
                Stage::Failed(fault) => return Err(fault.clone()),
            };
            match step {
                Ok(read) => at += read,
                Err(stop) => {
                    let fault = stop.fault(self.read + at);
                    self.stage = Stage::Failed(fault.clone());
                    return Err(fault);
                }
            }
        }
        self.read += text.len();
        Ok(())
    }

    /// Ends the answer, and adds what its end makes certain to `out`.
    ///
    /// `ended_by_itself` says that the model had no more to say: only then is a missing bracket an oversight, and a
    /// number at the end a whole one.
    ///
    /// # Errors
    /// There is no value, or its end is missing.
    pub(crate) fn finish(
        &mut self,
        ended_by_itself: bool,
        out: &mut Vec<Piece>,
    ) -> Result<Finished, Fault> {
        match &self.stage {
            Stage::Before => return Err(self.begins.missing()),
            Stage::Within => self.grammar.end(ended_by_itself, out)?,
            Stage::After => {}
            Stage::Failed(fault) => return Err(fault.clone()),
        }
        self.stage = Stage::After;
        Ok(Finished {
            mended: self.mended(),
            follows: self.around.follows(),
            text: self.grammar.take_text(),
        })
    }

    /// What went out so far, for another model to go on from; not to be asked after [`Reader::finish`].
    pub(crate) fn unfinished(&self) -> Unfinished {
        Unfinished::new(self.grammar.text())
    }

    fn before(&mut self, text: &str) -> Result<usize, Stop> {
        match self.around.before(text)? {
            Before::Passed => Ok(text.len()),
            Before::Value(at) => {
                self.grammar = Grammar::new();
                self.stage = Stage::Within;
                Ok(at)
            }
        }
    }

    fn within(&mut self, text: &str, out: &mut Vec<Piece>) -> Result<usize, Stop> {
        match self.grammar.push(text, out) {
            Ok(read) => {
                if self.grammar.is_done() {
                    self.stage = Stage::After;
                    self.around.end_value(self.grammar.text());
                }
                Ok(read)
            }
            Err(stop) if self.begins.may_follow_prose() && self.grammar.was_prose(&stop) => {
                self.around.skip_bracket();
                self.stage = Stage::Before;
                Ok(stop.at)
            }
            Err(stop) => Err(stop),
        }
    }

    fn mended(&self) -> Vec<Mending> {
        let mut mended = Vec::new();
        if self.around.prose() {
            mended.push(Mending::Prose);
        }
        mended.extend(self.grammar.mended());
        if self.around.fence() && !mended.is_empty() {
            mended.insert(0, Mending::CodeFence);
        }
        mended
    }
}

// === Place and fault ===

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.container)?;
        match &self.step {
            Step::Root => f.write_str("_root"),
            Step::Member(key) if self.container.is_empty() => f.write_str(key),
            Step::Member(key) => write!(f, ".{key}"),
            Step::Item(index) => write!(f, "[{index}]"),
        }
    }
}

impl Fault {
    /// The fault with these words.
    pub(crate) fn new(line: impl Into<String>) -> Self {
        Self(line.into())
    }

    /// The line.
    pub(crate) fn line(&self) -> &str {
        &self.0
    }
}

/// Where and why reading came to a stop.
#[derive(Debug)]
pub(crate) struct Stop {
    /// Bytes into the text that was pushed last.
    at: usize,
    cause: Cause,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// The text is not JSON.
    Syntax(&'static str),
    /// The text may be JSON, but not of a kind that is taken.
    Limit(&'static str),
}

impl Cause {
    fn what(self) -> &'static str {
        let (Self::Syntax(what) | Self::Limit(what)) = self;
        what
    }
}

impl Stop {
    fn fault(&self, base: usize) -> Fault {
        let at = base + self.at;
        Fault(format!("{} at byte {at}", self.cause.what()))
    }
}
