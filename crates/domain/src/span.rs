//! Spans: the record of one step, and what is added to it later.

use serde::Serialize;

use crate::{Json, JsonObject, MetricId, ProjectId, SpanId, Timestamp, TraceId};

/// The record of one step. Keyed by project and id: an id of another project is simply free.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Its id.
    pub id: SpanId,
    /// The project that owns it.
    pub project: ProjectId,
    /// What it is found by; a call's is its function's name.
    pub name: String,
    /// What kind of step it was.
    pub kind: Option<SpanKind>,
    /// The tree that it belongs to.
    pub trace_id: TraceId,
    /// The span above it.
    pub parent_id: Option<SpanId>,
    /// When the step began.
    pub start_time: Option<Timestamp>,
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
    /// How good it was: a client's word, else the observer's.
    pub score: Option<i64>,
    /// What a client says of it.
    pub feedback: Option<Feedback>,
}

/// The word for a kind of step (`interface.md` 8.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanKind(std::borrow::Cow<'static, str>);

impl SpanKind {
    /// A call of a function.
    pub const GENERATION: Self = Self(std::borrow::Cow::Borrowed("generation"));
    /// A conversation that was continued.
    pub const CHAT: Self = Self(std::borrow::Cow::Borrowed("chat"));
    /// Texts made into vectors.
    pub const EMBEDDING: Self = Self(std::borrow::Cow::Borrowed("embedding"));
    /// Texts put in order.
    pub const RERANK: Self = Self(std::borrow::Cow::Borrowed("rerank"));

    /// A document that was read.
    pub const OCR: Self = Self(std::borrow::Cow::Borrowed("ocr"));

    /// Another word.
    pub fn new(word: impl Into<String>) -> Self {
        Self(std::borrow::Cow::Owned(word.into()))
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What is written of a span.
#[derive(Debug, Clone, PartialEq)]
pub enum SpanWrite {
    /// A whole one, finished. Its id must be free.
    New(Span),
    /// A whole one that a client made, to finish it or not: its word, and none of ours. Its id must be free.
    Given(Span),
    /// The beginning of one that [`SpanWrite::Close`] will replace. Until then it is open, and a process that dies
    /// leaves it to [`crate::seams::SpanStore::interrupt_open_spans`]. Its id must be free.
    Begin(Span),
    /// The end of one that was begun: the whole row again. One that was deleted meanwhile stays away.
    Close(Span),
}

impl SpanWrite {
    /// What is written.
    pub const fn span(&self) -> &Span {
        match self {
            Self::New(span) | Self::Given(span) | Self::Begin(span) | Self::Close(span) => span,
        }
    }

    /// The same, to be changed before.
    pub const fn span_mut(&mut self) -> &mut Span {
        match self {
            Self::New(span) | Self::Given(span) | Self::Begin(span) | Self::Close(span) => span,
        }
    }
}

/// What is kept of a project's spans: what lies beyond one of the bounds is to be forgotten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpanBounds {
    /// Those that began then or later; all, if there is none.
    pub since: Option<Timestamp>,
    /// What they may take together.
    pub max_bytes: Option<u64>,
}

/// Which of our own finished spans are gone through, by when they began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanRange {
    /// Those of one project; of all, if there is none.
    pub project: Option<ProjectId>,
    /// Then or later.
    pub since: Timestamp,
    /// Before then.
    pub until: Option<Timestamp>,
}

/// A step through the record.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// What there is of the range in this step.
    pub spans: Vec<RecordedMeta>,
    /// Where the step ended: what the next one begins after.
    pub position: i64,
    /// Where the record ends.
    pub end: i64,
}

/// What was recorded of a span as its `meta`, without what was laid over it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedMeta {
    /// The project that owns the span.
    pub project: ProjectId,
    /// The span.
    pub id: SpanId,
    /// The members.
    pub meta: Json,
}

/// A correction of what was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct MetaCorrection {
    /// What is corrected.
    pub before: RecordedMeta,
    /// What it is from now on.
    pub after: Json,
}

/// What a client changes in a span: absent members stay as they are, `Some(None)` clears.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SpanChange {
    /// Another name.
    pub name: Option<String>,
    /// Another kind.
    pub kind: Option<Option<SpanKind>>,
    /// Another beginning.
    pub start_time: Option<Option<Timestamp>>,
    /// Another end.
    pub end_time: Option<Option<Timestamp>>,
    /// Another input.
    pub input: Option<Option<Json>>,
    /// Another output.
    pub output: Option<Option<Json>>,
    /// Another error.
    pub error: Option<Option<String>>,
    /// Members laid over `meta` one by one; `null` is a value like any other.
    pub meta: Option<JsonObject>,
    /// Another score. From now on the client's word stands, `None` included.
    pub score: Option<Option<i64>>,
}

/// What a client says of a span.
#[derive(Debug, Clone, PartialEq)]
pub struct Feedback {
    /// From 0 to 1.
    pub score: f64,
    /// In words.
    pub comment: Option<String>,
}

/// What the observer says of a call's span.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Observation {
    /// From 0 to 100.
    pub score: i64,
    /// In words.
    pub observations: String,
}

/// A measurement that a client adds to a span.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Its id.
    pub id: MetricId,
    /// The span.
    pub span_id: SpanId,
    /// What was measured. Several metrics may share a dimension.
    pub dimension: String,
    /// How much.
    pub value: f64,
    /// In words.
    pub comment: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
}
