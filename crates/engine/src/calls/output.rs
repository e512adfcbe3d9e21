//! From what a model said to an output, or to the complaint that a repair starts from.

use std::sync::Arc;

use domain::{FinishReason, Generation, Invalid, Json, Message, Output, ProjectId, Role, Rung};

use crate::schema::{Mismatch, Schema};

use super::{
    checks::Checks,
    lenient,
    pieces::{Begins, Mending, Piece},
    rest::Unfinished,
    xml,
};

/// What of a faulty answer is shown to the model again: an answer without measure must not make the next request so.
const MAX_FAULTY_BYTES: usize = 64 * 1024;

/// What an answer has to be.
pub(super) enum Wanted {
    /// Text, whatever it says.
    Text,
    /// A JSON value that satisfies the schema.
    Json {
        /// The compiled schema.
        schema: Arc<Schema>,
        /// What such a value can begin with.
        begins: Begins,
    },
    /// XML that can be turned into a value that satisfies the schema.
    Xml {
        /// The compiled schema.
        schema: Arc<Schema>,
        /// The schema as it was given.
        shape: Json,
    },
}

/// An answer that does.
pub(super) struct Read {
    pub(super) output: Output,
    /// What had to be mended in it.
    pub(super) mended: Vec<Mending>,
    /// What of it was not yet sent, where an answer that broke off is completed.
    pub(super) rest: Vec<Piece>,
}

/// Why an answer is no output.
pub(super) struct Complaint {
    /// The faults, a line each.
    pub(super) faults: Vec<String>,
    /// Whether the answer could be read as what was asked for, apart from the schema.
    is_readable: bool,
}

impl Wanted {
    /// A value that satisfies the schema.
    ///
    /// # Errors
    /// As [`Schema::compile`].
    pub(super) fn json(shape: &Json) -> Result<Self, Invalid> {
        Ok(Self::Json {
            schema: Arc::new(Schema::compile(shape)?),
            begins: Begins::of(&shape.to_value()),
        })
    }

    /// The schema that the value has to satisfy.
    pub(super) fn schema(&self) -> Option<&Arc<Schema>> {
        match self {
            Self::Text => None,
            Self::Json { schema, .. } | Self::Xml { schema, .. } => Some(schema),
        }
    }

    /// Reads a whole answer. A value that misses the schema is never given.
    pub(super) async fn read(
        &self,
        generation: &Generation,
        unfinished: Option<&Unfinished>,
        (checks, project): (&Checks, ProjectId),
    ) -> Result<Read, Complaint> {
        let text = generation.text.as_str();
        let (schema, value, mended) = match self {
            Self::Text => {
                return Ok(Read {
                    output: Output::Message(text.to_owned()),
                    mended: Vec::new(),
                    rest: Vec::new(),
                });
            }
            _ if text.trim().is_empty() => {
                return Err(Complaint::unreadable("the answer is empty"));
            }
            Self::Json { schema, begins } => {
                let ended_by_itself = generation.finish_reason == FinishReason::Stop;
                let (value, mended) =
                    lenient::read(text, ended_by_itself, *begins).map_err(Complaint::unreadable)?;
                (schema, value, mended)
            }
            Self::Xml { schema, shape } => {
                let (value, had_layout) = xml::read(text, shape).map_err(Complaint::unreadable)?;
                let mended = had_layout.then_some(Mending::Layout);
                (schema, value, mended.into_iter().collect())
            }
        };
        let (value, rest) = match unfinished {
            None => (value, Vec::new()),
            Some(unfinished) => {
                let completed = unfinished
                    .rest(&value)
                    .map_err(|contradiction| Complaint::unreadable(contradiction.line()))?;
                (completed.value, completed.pieces)
            }
        };
        satisfying(schema, &value, (checks, project)).await?;
        Ok(Read {
            output: Output::Payload(value),
            mended,
            rest,
        })
    }
}

/// Complains about a value that misses the schema.
pub(super) async fn satisfying(
    schema: &Arc<Schema>,
    value: &Json,
    (checks, project): (&Checks, ProjectId),
) -> Result<(), Complaint> {
    let mismatches = checks.mismatches(project, schema, value).await;
    if mismatches.is_empty() {
        return Ok(());
    }
    Err(Complaint::about(&mismatches))
}

impl Complaint {
    /// That an answer is not what was asked for at all.
    pub(super) fn unreadable(fault: impl Into<String>) -> Self {
        Self {
            faults: vec![fault.into()],
            is_readable: false,
        }
    }

    fn about(mismatches: &[Mismatch]) -> Self {
        Self {
            faults: mismatches.iter().map(Mismatch::line).collect(),
            is_readable: true,
        }
    }

    /// Whether the answer breaks what `rung` promises. What was cut at a length limit breaks nothing.
    pub(super) fn breaks(&self, rung: Rung, finish_reason: FinishReason) -> bool {
        finish_reason == FinishReason::Stop
            && match rung {
                Rung::NativeSchema | Rung::ForcedTool => true,
                Rung::JsonMode => !self.is_readable,
                Rung::Prompt => false,
            }
    }

    /// The two turns that ask for a repair: the faulty answer, and what is wrong with it.
    pub(super) fn turns(&self, faulty: &str, wanted: &Wanted) -> [Message; 2] {
        let faults: Vec<String> = self
            .faults
            .iter()
            .map(|fault| format!("- {fault}"))
            .collect();
        let faults = faults.join("\n");
        let again = match wanted {
            Wanted::Xml { .. } => xml::REPAIR,
            Wanted::Json { .. } | Wanted::Text => {
                "Answer again with one JSON value only that satisfies the JSON Schema."
            }
        };
        let request = format!("This answer does not do:\n{faults}\n{again}");
        [
            Message::text(Role::Assistant, beginning(faulty, MAX_FAULTY_BYTES)),
            Message::text(Role::User, request),
        ]
    }
}

/// At most so many bytes of a text.
pub(super) fn beginning(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_faulty_answer_without_measure_is_shown_in_part() {
        let complaint = Complaint::unreadable("no");

        let [shown, _] = complaint.turns(&"å".repeat(MAX_FAULTY_BYTES), &Wanted::Text);

        assert_eq!(
            shown,
            Message::text(Role::Assistant, "å".repeat(MAX_FAULTY_BYTES / 2))
        );
    }

    #[test]
    fn a_rung_is_broken_by_what_it_rules_out() {
        use FinishReason::{Length, Stop};
        let unreadable = Complaint::unreadable("no");
        let mismatched = Complaint::about(&[Mismatch::of_all("no")]);

        let broken = |complaint: &Complaint, finish_reason| {
            let ladder = [
                Rung::NativeSchema,
                Rung::ForcedTool,
                Rung::JsonMode,
                Rung::Prompt,
            ];
            ladder.map(|rung| complaint.breaks(rung, finish_reason))
        };

        assert_eq!(broken(&unreadable, Stop), [true, true, true, false]);
        assert_eq!(broken(&mismatched, Stop), [true, true, false, false]);
        assert_eq!(broken(&unreadable, Length), [false; 4]);
    }
}
