//! Spans.

use async_trait::async_trait;
use domain::{
    Json, ProjectScope, Span, SpanId, SpanKind, Timestamp,
    seams::{SpanStore, StoreError},
};
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use crate::sqlite::{Sqlite, fault::Fault, row, writer::Write};

const INSERT: &str = "
    INSERT INTO spans (project_id, id, trace_id, parent_id, name, kind, start_time, end_time, error, meta, input, output)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";

const BY_ID: &str = "
    SELECT id, project_id, trace_id, parent_id, name, kind, start_time, end_time, error, meta, input, output
    FROM spans WHERE project_id = ?1 AND id = ?2";

/// Inserts spans one by one, up to the first that is refused.
pub(super) fn insert(connection: &Connection, spans: &[Span]) -> Result<bool, Fault> {
    let mut insert = connection.prepare_cached(INSERT)?;
    for span in spans {
        insert.execute(params![
            span.project.uuid().into_bytes(),
            span.id.uuid().into_bytes(),
            span.trace_id.uuid().into_bytes(),
            span.parent_id.map(|id| id.uuid().into_bytes()),
            span.name,
            span.kind.as_str(),
            span.start_time.micros(),
            span.end_time.map(Timestamp::micros),
            span.error,
            span.meta.text(),
            span.input.as_ref().map(Json::text),
            span.output.as_ref().map(Json::text),
        ])?;
    }
    Ok(true)
}

fn read(row: &Row<'_>) -> Result<Span, Fault> {
    let kind: String = row.get(5)?;
    let parent_id: Option<[u8; 16]> = row.get(3)?;
    Ok(Span {
        id: row::id(row, 0)?,
        project: row::id(row, 1)?,
        name: row.get(4)?,
        kind: if kind == SpanKind::GENERATION.as_str() {
            SpanKind::GENERATION
        } else {
            SpanKind::new(kind)
        },
        trace_id: row::id(row, 2)?,
        parent_id: parent_id.map(|bytes| Uuid::from_bytes(bytes).into()),
        start_time: row::time(row, 6)?,
        end_time: row::optional_time(row, 7)?,
        input: row::optional_json(row, 10)?,
        output: row::optional_json(row, 11)?,
        error: row.get(8)?,
        meta: row::json(row, 9)?,
    })
}

#[async_trait]
impl SpanStore for Sqlite {
    async fn commit_spans(&self, spans: Vec<Span>) -> Result<(), StoreError> {
        if spans.is_empty() {
            return Ok(());
        }
        self.write(Write::Spans(spans)).await.map(drop)
    }

    async fn span(&self, scope: ProjectScope, id: SpanId) -> Result<Option<Span>, StoreError> {
        let key = [scope.project().uuid(), id.uuid()].map(Uuid::into_bytes);
        self.read(move |connection| row::first(connection, BY_ID, key, read))
            .await
    }
}
