//! Spans: kept as they are recorded, read with what was added to them.

use std::collections::BTreeSet;

use async_trait::async_trait;
use domain::{
    Feedback, MetaCorrection, Metric, MetricId, Observation, Page, Paged, ProjectId, ProjectScope,
    Recorded, Span, SpanBounds, SpanChange, SpanId, SpanKind, SpanRange, SpanWrite, Timestamp,
    TraceId,
    seams::{SpanStore, StoreError},
};
use rusqlite::{Connection, Row, params};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::sqlite::{
    Sqlite,
    fault::Fault,
    metrics, notes,
    packing::{self, Body},
    record, retention, row,
    writer::{Change, Write},
};

/// A project's id and that of one of its spans.
pub(super) type Key = [[u8; 16]; 2];

/// What is written of a span, its long texts packed and out of it.
pub(super) struct Packed {
    write: SpanWrite,
    input: Body,
    output: Body,
}

const INSERT: &str = "
    INSERT INTO spans
        (project_id, id, trace_id, parent_id, name, kind, start_time, end_time, error, meta, input, output, score, open,
         given, packed_input, packed_output)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";

/// Has the parameters of [`INSERT`].
const CLOSE: &str = "
    UPDATE spans
    SET trace_id = ?3, parent_id = ?4, name = ?5, kind = ?6, start_time = ?7, end_time = ?8, error = ?9, meta = ?10,
        input = ?11, output = ?12, score = ?13, open = ?14, given = ?15, packed_input = ?16, packed_output = ?17
    WHERE project_id = ?1 AND id = ?2 AND open = 1";

/// The bits of `changed` are listed in the migration that made `notes`.
pub(super) const BY_ID: &str = "
    SELECT s.id, s.project_id, s.trace_id, s.parent_id,
           iif(n.changed & 1, n.name, s.name),
           iif(n.changed & 2, n.kind, s.kind),
           iif(n.changed & 4, n.start_time, s.start_time),
           iif(n.changed & 8, n.end_time, s.end_time),
           iif(n.changed & 16, n.error, s.error),
           iif(n.changed & 32, n.input, s.input),
           iif(n.changed & 64, n.output, s.output),
           iif(n.changed & 128, n.score, coalesce(n.observed_score, s.score)),
           s.meta, n.meta, n.observed_score, n.observations, n.feedback_score, n.feedback_comment,
           iif(n.changed & 32, n.packed_input, s.packed_input),
           iif(n.changed & 64, n.packed_output, s.packed_output)
    FROM spans s LEFT JOIN notes n ON n.project_id = s.project_id AND n.span_id = s.id
    WHERE s.project_id = ?1 AND s.id = ?2";

const TRACE: &str = "SELECT trace_id FROM spans WHERE project_id = ?1 AND id = ?2";

/// A span has one parent, so on the way down none is met twice but the first, if it stands below itself.
pub(super) const CHILDREN: &str = "
    SELECT start_time, id FROM spans WHERE project_id = ?1 AND parent_id = ?2 AND id <> ?3
    ORDER BY start_time, id LIMIT ?4";

/// An end lies at or after its beginning, whatever the clock did (`reliability.md` O8).
pub(super) const INTERRUPT: &str = "
    UPDATE spans
    SET open = 0, end_time = max(?1, coalesce(start_time, ?1)), error = 'InternalServerError: interrupted',
        meta = iif(json_valid(meta), json_set(meta, '$.error_type', 'InternalServerError'), meta)
    WHERE open = 1";

const DELETE: &str = "DELETE FROM spans WHERE project_id = ?1 AND id = ?2";

impl Packed {
    /// Takes the texts out of what is written, and packs them.
    pub(super) async fn all(mut writes: Vec<SpanWrite>) -> Result<Vec<Self>, StoreError> {
        let bodies = writes.iter_mut().flat_map(|write| {
            let span = write.span_mut();
            [span.input.take(), span.output.take()]
        });
        let mut bodies = packing::pack(bodies.collect()).await?.into_iter();
        let packed = writes.into_iter().map(|write| Self {
            write,
            input: bodies.next().unwrap_or_default(),
            output: bodies.next().unwrap_or_default(),
        });
        Ok(packed.collect())
    }
}

/// Writes spans one by one, up to the first that is refused. Feedback is none of the record's and left out.
pub(super) fn write(connection: &Connection, writes: &[Packed]) -> Result<bool, Fault> {
    for Packed {
        write,
        input,
        output,
    } in writes
    {
        let (sql, span, open, given) = match write {
            SpanWrite::New(span) => (INSERT, span, false, false),
            SpanWrite::Given(span) => (INSERT, span, false, true),
            SpanWrite::Begin(span) => (INSERT, span, true, false),
            SpanWrite::Close(span) => (CLOSE, span, false, false),
        };
        connection.prepare_cached(sql)?.execute(params![
            span.project.uuid().into_bytes(),
            span.id.uuid().into_bytes(),
            span.trace_id.uuid().into_bytes(),
            span.parent_id.map(|id| id.uuid().into_bytes()),
            span.name,
            span.kind.as_ref().map(SpanKind::as_str),
            span.start_time.map(Timestamp::micros),
            span.end_time.map(Timestamp::micros),
            span.error,
            span.meta.text(),
            input.text(),
            output.text(),
            span.score,
            open,
            given,
            input.packed,
            output.packed,
        ])?;
    }
    Ok(true)
}

/// Forgets a span with what was added to it. Says whether it was there.
pub(super) fn forget(connection: &Connection, key: Key) -> Result<bool, Fault> {
    let deleted = connection.prepare_cached(DELETE)?.execute(key)?;
    notes::forget(connection, key)?;
    metrics::forget(connection, key)?;
    Ok(deleted > 0)
}

/// The span, with what was added to it.
pub(super) fn find(connection: &Connection, key: Key) -> Result<Option<Span>, Fault> {
    row::first(connection, BY_ID, key, read)
}

fn read(row: &Row<'_>) -> Result<Span, Fault> {
    let kind: Option<String> = row.get(5)?;
    Ok(Span {
        id: row::id(row, 0)?,
        project: row::id(row, 1)?,
        name: row.get(4)?,
        kind: kind.map(SpanKind::new),
        trace_id: row::id(row, 2)?,
        parent_id: row::optional_id(row, 3)?,
        start_time: row::optional_time(row, 6)?,
        end_time: row::optional_time(row, 7)?,
        input: packing::unpacked(row, 9, 18)?,
        output: packing::unpacked(row, 10, 19)?,
        error: row.get(8)?,
        meta: notes::meta(row, 12)?,
        score: row.get(11)?,
        feedback: notes::feedback(row, 16)?,
    })
}

/// Walks down from a span, always on to the eldest of those whose parent was passed.
///
/// What waits is never more than what is still asked for, however many children a span has.
fn below(connection: &Connection, [project, root]: Key, limit: usize) -> Result<Vec<Span>, Fault> {
    // One look at the database, so that no span has moved in between.
    let look = connection.unchecked_transaction()?;
    let mut spans = Vec::new();
    let mut waiting = BTreeSet::from([(None::<i64>, root)]);
    while spans.len() < limit
        && let Some((_, id)) = waiting.pop_first()
    {
        let Some(span) = find(&look, [project, id])? else {
            break;
        };
        spans.push(span);
        let room = limit - spans.len();
        let children = params![project, id, root, i64::try_from(room).unwrap_or(i64::MAX)];
        waiting.extend(row::all(&look, CHILDREN, children, |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?);
        while waiting.len() > room {
            waiting.pop_last();
        }
    }
    Ok(spans)
}

fn key(project: ProjectId, span: SpanId) -> Key {
    [project.uuid(), span.uuid()].map(Uuid::into_bytes)
}

#[async_trait]
impl SpanStore for Sqlite {
    async fn commit_spans(&self, writes: Vec<SpanWrite>) -> Result<(), StoreError> {
        if writes.is_empty() {
            return Ok(());
        }
        let packed = Packed::all(writes).await?;
        self.write(Write::Spans(packed)).await.map(drop)
    }

    async fn span(&self, scope: ProjectScope, id: SpanId) -> Result<Option<Span>, StoreError> {
        let key = key(scope.project(), id);
        self.read(move |connection| find(connection, key)).await
    }

    async fn trace_of(
        &self,
        scope: ProjectScope,
        id: SpanId,
    ) -> Result<Option<TraceId>, StoreError> {
        let key = key(scope.project(), id);
        self.read(move |connection| row::first(connection, TRACE, key, |row| Ok(row::id(row, 0)?)))
            .await
    }

    async fn spans_below(
        &self,
        scope: ProjectScope,
        id: SpanId,
        limit: u64,
    ) -> Result<Vec<Span>, StoreError> {
        let key = key(scope.project(), id);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.read(move |connection| below(connection, key, limit))
            .await
    }

    async fn change_span(
        &self,
        scope: ProjectScope,
        id: SpanId,
        mut change: SpanChange,
    ) -> Result<Option<Span>, StoreError> {
        let key = key(scope.project(), id);
        let bodies = [&mut change.input, &mut change.output];
        let bodies = bodies.map(|body| body.as_mut().and_then(Option::take));
        let mut bodies = packing::pack(bodies.into()).await?.into_iter();
        let bodies = [(); 2].map(|()| bodies.next().unwrap_or_default());
        self.change_and_give(move |connection| {
            if !notes::change(connection, key, change, bodies)? {
                return Ok(None);
            }
            find(connection, key)
        })
        .await
    }

    async fn rate_span(
        &self,
        scope: ProjectScope,
        id: SpanId,
        feedback: &Feedback,
    ) -> Result<bool, StoreError> {
        let (key, feedback) = (key(scope.project(), id), feedback.clone());
        self.change(move |connection| notes::rate(connection, key, &feedback))
            .await
    }

    async fn observe_span(
        &self,
        project: ProjectId,
        id: SpanId,
        observation: &Observation,
    ) -> Result<bool, StoreError> {
        let (key, observation) = (key(project, id), observation.clone());
        let change = move |connection: &_| notes::observe(connection, key, &observation);
        self.write(Write::Remark(Box::new(change))).await
    }

    async fn delete_span(&self, scope: ProjectScope, id: SpanId) -> Result<bool, StoreError> {
        let key = key(scope.project(), id);
        self.change(move |connection| forget(connection, key)).await
    }

    async fn forget_spans(
        &self,
        project: ProjectId,
        bounds: SpanBounds,
        limit: u64,
    ) -> Result<u64, StoreError> {
        let project = project.uuid().into_bytes();
        let is_due = self.read(move |connection| retention::is_due(connection, project, bounds));
        if !is_due.await? {
            return Ok(0);
        }
        let (tell, mut told) = oneshot::channel();
        let step: Change = Box::new(move |connection| {
            let forgotten = retention::step(connection, project, bounds, limit)?;
            // Whoever gave up waiting has no use for it.
            let _ = tell.send(forgotten);
            Ok(forgotten > 0)
        });
        // What a power loss brings back is forgotten again.
        self.write(Write::Remark(step)).await?;
        Ok(told.try_recv().unwrap_or_default())
    }

    async fn span_bytes(&self, project: ProjectId) -> Result<u64, StoreError> {
        let project = project.uuid().into_bytes();
        self.read(move |connection| retention::taken(connection, project))
            .await
    }

    async fn interrupt_open_spans(&self, now: Timestamp) -> Result<u64, StoreError> {
        let interrupted = self.change_and_give(move |connection| {
            let interrupted = connection
                .prepare_cached(INTERRUPT)?
                .execute([now.micros()])?;
            Ok(u64::try_from(interrupted).ok())
        });
        Ok(interrupted.await?.unwrap_or_default())
    }

    async fn recorded(
        &self,
        range: SpanRange,
        after: i64,
        limit: u64,
    ) -> Result<Recorded, StoreError> {
        self.read(move |connection| record::step(connection, range, after, limit))
            .await
    }

    async fn correct_meta(&self, corrections: Vec<MetaCorrection>) -> Result<u64, StoreError> {
        let corrected = self
            .change_and_give(move |connection| record::correct(connection, &corrections).map(Some));
        Ok(corrected.await?.unwrap_or_default())
    }

    async fn insert_metric(
        &self,
        scope: ProjectScope,
        metric: &Metric,
    ) -> Result<bool, StoreError> {
        let (key, metric) = (key(scope.project(), metric.span_id), metric.clone());
        self.change(move |connection| metrics::insert(connection, key, &metric))
            .await
    }

    async fn metrics(
        &self,
        scope: ProjectScope,
        span: SpanId,
        page: Page,
    ) -> Result<Paged<Metric>, StoreError> {
        let key = key(scope.project(), span);
        self.read(move |connection| metrics::page(connection, key, page))
            .await
    }

    async fn metric(
        &self,
        scope: ProjectScope,
        span: SpanId,
        id: MetricId,
    ) -> Result<Option<Metric>, StoreError> {
        let key = key(scope.project(), span);
        self.read(move |connection| metrics::find(connection, key, id))
            .await
    }

    async fn update_metric(
        &self,
        scope: ProjectScope,
        metric: &Metric,
    ) -> Result<bool, StoreError> {
        let (key, metric) = (key(scope.project(), metric.span_id), metric.clone());
        self.change(move |connection| metrics::update(connection, key, &metric))
            .await
    }

    async fn delete_metric(
        &self,
        scope: ProjectScope,
        span: SpanId,
        id: MetricId,
    ) -> Result<bool, StoreError> {
        let key = key(scope.project(), span);
        self.change(move |connection| metrics::delete(connection, key, id))
            .await
    }
}
