//! What stands behind `data:`: one JSON object on one line (`interface.md` 4.2).

use std::{borrow::Cow, io};

use bytes::{BufMut, BytesMut};
use domain::{CallResult, Cost, FinishReason, Json, Output, SpanId, Usage};
use serde::Serialize;
use serde_json::ser::Formatter;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{Ref, RefOr, Schema, schema::AnyOfBuilder},
};

use crate::schemas;

/// What an event carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ChunkKind {
    /// Text.
    Text,
    /// A value that the output schema describes, or a part of it.
    Json,
    /// Nothing more: the stream failed.
    Error,
}

/// A piece of the text, or of the JSON text.
#[derive(Serialize, ToSchema)]
#[schema(as = StreamChunk)]
pub(crate) struct Piece<'a> {
    /// The next piece.
    delta: &'a str,
    /// The span that records the call.
    #[schema(value_type = uuid::Uuid)]
    span_id: SpanId,
    chunk_type: ChunkKind,
}

/// One leaf of the value, or a piece of one string leaf.
#[derive(Serialize, ToSchema)]
#[schema(as = StreamLeaf)]
pub(crate) struct Leaf<'a> {
    /// The next piece of a string, or a whole number, boolean or null.
    #[schema(value_type = Option<schemas::TagValue>, required)]
    delta: &'a Json,
    /// The span that records the call.
    #[schema(value_type = uuid::Uuid)]
    span_id: SpanId,
    chunk_type: ChunkKind,
    /// Where in the value the leaf stands; `_root` where it is the value.
    #[schema(example = "people[0].role")]
    json_path: &'a str,
}

/// The orderly end, as `event: done`.
#[derive(Serialize, ToSchema)]
#[schema(as = StreamEnd)]
pub(crate) struct End {
    /// Empty.
    delta: &'static str,
    /// The span that recorded the call.
    #[schema(value_type = uuid::Uuid)]
    span_id: SpanId,
    chunk_type: ChunkKind,
    #[schema(value_type = schemas::FinishReason)]
    finish_reason: FinishReason,
    #[schema(value_type = schemas::Usage)]
    usage: Usage,
    #[schema(value_type = schemas::Cost)]
    cost: Cost,
    /// Whether the result came from the cache.
    cached: bool,
    /// The whole value, of a function with an output schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    json_payload: Option<Json>,
    /// Images, where the model made some.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<String>, required = false)]
    images: Option<Vec<String>>,
    /// Another model went on after output had begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool, required = false)]
    failover: Option<bool>,
}

/// The end in failure, as `event: error`.
#[derive(Serialize, ToSchema)]
#[schema(as = StreamError)]
pub(crate) struct Failure {
    /// Empty.
    delta: &'static str,
    /// The span that recorded the call.
    #[schema(value_type = uuid::Uuid)]
    span_id: SpanId,
    chunk_type: ChunkKind,
    /// The class of the error.
    #[schema(value_type = String, example = "UpstreamError")]
    error_type: &'static str,
    /// What went wrong.
    error_message: String,
}

/// The `data` of one event.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum AnyEvent<'a> {
    Piece(Piece<'a>),
    Leaf(Leaf<'a>),
    End(End),
    Failure(Failure),
}

impl PartialSchema for AnyEvent<'_> {
    /// Any of them, not one of them: who knows no other members takes the end for a piece.
    fn schema() -> RefOr<Schema> {
        let kinds = [Piece::name(), Leaf::name(), End::name(), Failure::name()];
        any_of(
            &kinds,
            "The data of one event of a stream that gives a value leaf by leaf.",
        )
    }
}

impl ToSchema for AnyEvent<'_> {
    fn name() -> Cow<'static, str> {
        "StreamLeafEvent".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((Leaf::name().into(), Leaf::schema()));
        Leaf::schemas(schemas);
        TextEvent::schemas(schemas);
    }
}

/// The `data` of one event of a function's stream, as the document shows it.
pub(crate) struct TextEvent;

impl PartialSchema for TextEvent {
    fn schema() -> RefOr<Schema> {
        let kinds = [Piece::name(), End::name(), Failure::name()];
        any_of(&kinds, "The data of one event of a function's stream.")
    }
}

impl ToSchema for TextEvent {
    fn name() -> Cow<'static, str> {
        "StreamEvent".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.extend([
            (Piece::name().into(), Piece::schema()),
            (End::name().into(), End::schema()),
            (Failure::name().into(), Failure::schema()),
        ]);
        Piece::schemas(schemas);
        End::schemas(schemas);
        Failure::schemas(schemas);
    }
}

fn any_of(names: &[Cow<'static, str>], description: &str) -> RefOr<Schema> {
    let any = names.iter().fold(AnyOfBuilder::new(), |any, name| {
        any.item(Ref::from_schema_name(name.as_ref()))
    });
    Schema::AnyOf(any.description(Some(description)).build()).into()
}

impl<'a> AnyEvent<'a> {
    pub(super) fn text(delta: &'a str, span_id: SpanId, chunk_type: ChunkKind) -> Self {
        Self::Piece(Piece {
            delta,
            span_id,
            chunk_type,
        })
    }

    pub(super) fn leaf(delta: &'a Json, json_path: &'a str, span_id: SpanId) -> Self {
        Self::Leaf(Leaf {
            delta,
            span_id,
            chunk_type: ChunkKind::Json,
            json_path,
        })
    }

    pub(super) fn done(result: CallResult, span_id: SpanId, chunk_type: ChunkKind) -> Self {
        Self::End(End {
            delta: "",
            span_id,
            chunk_type,
            finish_reason: result.finish_reason,
            usage: result.usage,
            cost: result.cost,
            cached: result.cached,
            images: result.all_images(),
            json_payload: match result.output {
                Output::Payload(value) => Some(value),
                Output::Message(_) | Output::Images(_) => None,
            },
            failover: result.failover.then_some(true),
        })
    }

    pub(super) fn failed(error_type: &'static str, error_message: String, span_id: SpanId) -> Self {
        Self::Failure(Failure {
            delta: "",
            span_id,
            chunk_type: ChunkKind::Error,
            error_type,
            error_message,
        })
    }
}

/// Writes an event's data.
pub(crate) fn write_on_one_line(data: &impl Serialize, out: &mut BytesMut) {
    let mut serializer = serde_json::Serializer::with_formatter(out.writer(), OneLine);
    data.serialize(&mut serializer)
        .expect("the event serializes: a buffer takes any text");
}

/// Compact JSON without any character that somebody takes for the end of a line. JSON escapes the control characters
/// below U+0020 itself; readers that split text by Unicode's rules also stop at U+0085, U+2028 and U+2029.
struct OneLine;

impl Formatter for OneLine {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        write_unbroken(writer, fragment)
    }

    fn write_raw_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // In JSON text these characters stand in strings alone, where an escape means the same.
        write_unbroken(writer, fragment)
    }
}

fn write_unbroken<W: ?Sized + io::Write>(writer: &mut W, text: &str) -> io::Result<()> {
    let is_break = |character| matches!(character, '\u{85}' | '\u{2028}' | '\u{2029}');
    if text.is_ascii() {
        return writer.write_all(text.as_bytes());
    }
    let mut rest = text;
    while let Some(at) = rest.find(is_break) {
        let (before, from) = rest.split_at(at);
        let mut characters = from.chars();
        let code = characters.next().map_or(0, u32::from);
        writer.write_all(before.as_bytes())?;
        write!(writer, "\\u{code:04x}")?;
        rest = characters.as_str();
    }
    writer.write_all(rest.as_bytes())
}
