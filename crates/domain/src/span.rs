//! Spans: the record of one step.

use crate::{Json, ProjectId, SpanId, Timestamp, TraceId};

/// The record of one step. Keyed by project and id: an id of another project is simply free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Its id.
    pub id: SpanId,
    /// The project that owns it.
    pub project: ProjectId,
    /// What it is found by; a call's is its function's name.
    pub name: String,
    /// What kind of step it was.
    pub kind: SpanKind,
    /// The tree that it belongs to.
    pub trace_id: TraceId,
    /// The span above it.
    pub parent_id: Option<SpanId>,
    /// When the step began.
    pub start_time: Timestamp,
    /// When it ended; a span without one is running.
    pub end_time: Option<Timestamp>,
    /// What went in.
    pub input: Option<Json>,
    /// What came out.
    pub output: Option<Json>,
    /// What went wrong.
    pub error: Option<String>,
    /// Further members, an object.
    pub meta: Json,
}

/// The word for a kind of step (`interface.md` 8.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanKind(std::borrow::Cow<'static, str>);

impl SpanKind {
    /// A call of a function.
    pub const GENERATION: Self = Self(std::borrow::Cow::Borrowed("generation"));

    /// Another word.
    pub fn new(word: impl Into<String>) -> Self {
        Self(std::borrow::Cow::Owned(word.into()))
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
