//! An answer put together out of its content and its tool calls, piece by piece, for dialects that tell both in pieces
//! of a message.
//!
//! Whose the calls are decides what becomes of them: the caller's are told as calls, all others are the text.

use std::mem;

use domain::{Delta, Generation, ToolCall, ToolCallDelta};

use crate::{
    openai::{
        joining::{Calls, Joining},
        wrap::Unwrapping,
    },
    wire::Fault,
};

/// Above this, calls are no answer.
const MAX_CALLS: usize = 64;
/// The arguments of a call that has none.
const NO_ARGUMENTS: &str = "{}";

/// What must be known of a request for that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Whether the caller gave tools, so that the calls are the caller's.
    pub(crate) has_tools: bool,
    /// What calls are, if they are not the caller's.
    pub(crate) calls: Calls,
    /// Where the value stands in an object around it.
    pub(crate) wrapped: Wrapped,
}

/// What has an object around the value that was demanded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Wrapped {
    /// Nothing has.
    #[default]
    Nothing,
    /// The content has.
    Content,
    /// The arguments of a call have.
    Arguments,
}

/// One answer, as far as it has come.
#[derive(Debug)]
pub(crate) struct Assembly {
    has_tools: bool,
    joining: Joining,
    unwrapping: Option<Unwrapping>,
    calls: usize,
    /// Whether the last call has begun, and none of its arguments has come.
    is_bare: bool,
}

impl Assembly {
    /// An answer to a request of that shape.
    pub(crate) fn new(shape: Shape) -> Self {
        let is_wrapped = shape.wrapped == Wrapped::Arguments;
        Self {
            has_tools: shape.has_tools,
            joining: Joining::new(shape.calls, is_wrapped),
            unwrapping: (shape.wrapped == Wrapped::Content).then(Unwrapping::default),
            calls: 0,
            is_bare: false,
        }
    }

    /// What a piece of the content adds.
    pub(crate) fn content(&mut self, piece: &str) -> Option<Delta> {
        let told = match &mut self.unwrapping {
            Some(unwrapping) => self.joining.content(&unwrapping.push(piece)),
            None if self.has_tools => piece.to_owned(),
            None => self.joining.content(piece),
        };
        text(told)
    }

    /// What the beginning of the next call adds, with as much of its arguments as came with it.
    pub(crate) fn call(&mut self, call: ToolCall) -> Result<Vec<Delta>, Fault> {
        if self.calls == MAX_CALLS {
            return Err(Fault::protocol("the provider's answer has too many calls"));
        }
        let last = self.end_call();
        self.calls += 1;
        if !self.has_tools {
            return Ok(self.further(&call.arguments)?.into_iter().collect());
        }
        self.is_bare = call.arguments.trim().is_empty();
        let call = Delta::ToolCall(ToolCallDelta {
            index: self.calls - 1,
            begins: Some((call.id, call.name)),
            arguments: call.arguments,
        });
        Ok(last.into_iter().chain([call]).collect())
    }

    /// What makes JSON of the last call's arguments, if none has come.
    fn end_call(&mut self) -> Option<Delta> {
        mem::take(&mut self.is_bare).then(|| {
            Delta::ToolCall(ToolCallDelta {
                index: self.calls - 1,
                begins: None,
                arguments: NO_ARGUMENTS.to_owned(),
            })
        })
    }

    /// What the next piece of the last call's arguments adds.
    pub(crate) fn further(&mut self, arguments: &str) -> Result<Option<Delta>, Fault> {
        let Some(index) = self.calls.checked_sub(1) else {
            return Err(Fault::protocol("arguments came of a call that never began"));
        };
        if !self.has_tools {
            return Ok(text(self.joining.call(index as u64, arguments)?));
        }
        self.is_bare &= arguments.trim().is_empty();
        let piece = ToolCallDelta {
            index,
            begins: None,
            arguments: arguments.to_owned(),
        };
        Ok((!arguments.is_empty()).then_some(Delta::ToolCall(piece)))
    }

    /// What was held back, when nothing more comes.
    pub(crate) fn finish(&mut self) -> Vec<Delta> {
        let last = self.end_call();
        let mut told = String::new();
        if let Some(unwrapping) = &mut self.unwrapping {
            told = self.joining.content(&unwrapping.finish());
        }
        let told = text(told + &self.joining.finish());
        told.into_iter().chain(last).collect()
    }

    /// How many calls have begun.
    pub(crate) const fn count(&self) -> usize {
        self.calls
    }

    /// Whether a tool of the caller's was called.
    pub(crate) const fn calls_tools(&self) -> bool {
        self.has_tools && self.calls > 0
    }
}

fn text(told: String) -> Option<Delta> {
    (!told.is_empty()).then_some(Delta::Text(told))
}

/// The generation that the pieces of a whole answer make.
pub(crate) fn whole(deltas: Vec<Delta>) -> Generation {
    let mut generation = Generation::default();
    for delta in deltas {
        match delta {
            Delta::Text(text) => generation.text += &text,
            Delta::Reasoning(text) => generation.reasoning += &text,
            Delta::Refusal(text) => generation.refusal.get_or_insert_default().push_str(&text),
            Delta::Image(url) => generation.images.push(url),
            Delta::Logprobs(logprobs) => generation.logprobs = Some(logprobs),
            Delta::Usage(_) => {}
            Delta::Remarks(remarks) => generation.remarks = remarks,
            Delta::ToolCall(call) => match call.begins {
                Some((id, name)) => generation.tool_calls.push(ToolCall {
                    id,
                    name,
                    arguments: call.arguments,
                }),
                None => {
                    if let Some(begun) = generation.tool_calls.get_mut(call.index) {
                        begun.arguments += &call.arguments;
                    }
                }
            },
            Delta::End {
                finish_reason,
                usage,
            } => (generation.finish_reason, generation.usage) = (finish_reason, usage),
        }
    }
    generation
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: format!("{name}_1"),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        }
    }

    fn told(shape: Shape) -> Result<Generation, Fault> {
        let mut assembly = Assembly::new(shape);
        let mut deltas = Vec::new();
        deltas.extend(assembly.content("Well"));
        deltas.extend(assembly.call(call("a", r#"{"value":["#))?);
        deltas.extend(assembly.further("1]")?);
        deltas.extend(assembly.further("}")?);
        deltas.extend(assembly.call(call("b", ""))?);
        deltas.extend(assembly.finish());
        Ok(whole(deltas))
    }

    #[test]
    fn calls_are_the_callers_or_the_text() {
        let callers = Shape {
            has_tools: true,
            ..Shape::default()
        };
        let demanded = Shape {
            calls: Calls::Demanded,
            wrapped: Wrapped::Arguments,
            ..Shape::default()
        };

        let callers = told(callers).unwrap();
        let demanded = told(demanded).unwrap();
        let instead = told(Shape::default()).unwrap();

        assert_eq!(callers.text, "Well");
        assert_eq!(
            callers.tool_calls,
            [call("a", r#"{"value":[1]}"#), call("b", "{}")]
        );
        assert_eq!(
            (demanded.text.as_str(), demanded.tool_calls),
            ("[1]", vec![])
        );
        assert_eq!(instead.text, "Well");
    }

    #[test]
    fn content_comes_out_of_the_object_around_it() {
        let mut assembly = Assembly::new(Shape {
            calls: Calls::Beside,
            wrapped: Wrapped::Content,
            ..Shape::default()
        });

        let pieces = [r#"{"val"#, r#"ue": [1"#, "]", " }\n"];
        let mut deltas: Vec<Delta> = pieces
            .into_iter()
            .filter_map(|piece| assembly.content(piece))
            .collect();
        deltas.extend(assembly.finish());

        assert_eq!(whole(deltas).text, "[1]");
    }

    #[test]
    fn calls_without_a_beginning_or_an_end_are_refused() {
        let mut assembly = Assembly::new(Shape::default());

        assert!(assembly.further("{}").is_err());
        let called: Vec<bool> = (0..65)
            .map(|_| assembly.call(call("a", "{}")).is_ok())
            .collect();
        assert_eq!(called.iter().filter(|is_fine| **is_fine).count(), 64);
    }
}
