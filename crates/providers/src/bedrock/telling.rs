//! What the blocks of an answer tell, one after the other as they come: the same for a whole answer and for a stream.

use std::mem;

use domain::{Delta, ToolCallDelta};

use super::demand::{Calls, Reading};
use crate::{openai::wrap::Unwrapping, wire::Fault};

/// Above this, calls are no answer.
const MAX_CALLS: usize = 64;

/// Tells one answer.
#[derive(Debug, Default)]
pub(super) struct Telling {
    calls: Calls,
    is_wrapped: bool,
    unwrapping: Unwrapping,
    /// Text that is mere talk if a call follows.
    held: String,
    has_text: bool,
    /// The arguments of each call so far.
    begun: Vec<String>,
}

impl Telling {
    /// An answer that is read so.
    pub(super) fn new(reading: &Reading) -> Self {
        Self {
            calls: reading.calls,
            is_wrapped: reading.is_wrapped,
            ..Self::default()
        }
    }

    /// What the next piece of the text adds.
    pub(super) fn text(&mut self, piece: &str) -> Option<Delta> {
        if self.calls == Calls::Demanded {
            if self.begun.is_empty() {
                self.held.push_str(piece);
            }
            return None;
        }
        self.has_text |= !piece.trim().is_empty();
        self.value(piece)
    }

    /// A call begins.
    pub(super) fn begin(&mut self, id: &str, name: &str) -> Result<Option<Delta>, Fault> {
        if self.begun.len() == MAX_CALLS {
            return Err(Fault::protocol("the provider's answer has too many calls"));
        }
        self.begun.push(String::new());
        if self.calls != Calls::Told {
            return Ok(None);
        }
        Ok(Some(Delta::ToolCall(ToolCallDelta {
            index: self.begun.len() - 1,
            begins: Some((id.to_owned(), name.to_owned())),
            arguments: String::new(),
        })))
    }

    /// What the next piece of the arguments of the call that began last adds.
    pub(super) fn arguments(&mut self, piece: &str) -> Option<Delta> {
        let index = self.begun.len().checked_sub(1)?;
        self.begun[index].push_str(piece);
        match self.calls {
            _ if piece.is_empty() => None,
            Calls::Told => Some(Delta::ToolCall(ToolCallDelta {
                index,
                begins: None,
                arguments: piece.to_owned(),
            })),
            Calls::Demanded if index == 0 => self.value(piece),
            Calls::Instead if index == 0 && !self.has_text => self.value(piece),
            Calls::Demanded | Calls::Instead => None,
        }
    }

    /// The call that began last is over. One without arguments has an empty object of them.
    pub(super) fn end_call(&mut self) -> Option<Delta> {
        let is_bare = self.begun.last().is_some_and(String::is_empty);
        is_bare.then(|| self.arguments("{}")).flatten()
    }

    /// What was held back, when nothing more comes.
    pub(super) fn finish(&mut self) -> Option<Delta> {
        if self.calls != Calls::Demanded {
            return text(self.unwrapping.finish());
        }
        let Some((first, further)) = self.begun.split_first() else {
            return text(mem::take(&mut self.held));
        };
        let mut told = self.unwrapping.finish();
        // Who reads it sees that there are two, unless one was told twice.
        for call in further.iter().filter(|call| *call != first) {
            let mut unwrapping = Unwrapping::default();
            told.push('\n');
            if self.is_wrapped {
                told += &unwrapping.push(call);
                told += &unwrapping.finish();
            } else {
                told += call;
            }
        }
        text(told)
    }

    fn value(&mut self, piece: &str) -> Option<Delta> {
        text(if self.is_wrapped {
            self.unwrapping.push(piece)
        } else {
            piece.to_owned()
        })
    }
}

fn text(text: String) -> Option<Delta> {
    (!text.is_empty()).then_some(Delta::Text(text))
}
