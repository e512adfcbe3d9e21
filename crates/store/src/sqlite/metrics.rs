//! Metrics of spans.

use domain::{Metric, MetricId, Page, Paged};
use rusqlite::{Connection, Row, params};

use crate::sqlite::{fault::Fault, row, spans::Key};

const INSERT: &str = "
    INSERT INTO metrics (project_id, span_id, id, dimension, value, comment, created_at)
    SELECT project_id, id, ?3, ?4, ?5, ?6, ?7 FROM spans WHERE project_id = ?1 AND id = ?2";

const UPDATE: &str = "
    UPDATE metrics SET dimension = ?4, value = ?5, comment = ?6 WHERE project_id = ?1 AND span_id = ?2 AND id = ?3";

const SELECT: &str = "
    SELECT id, span_id, dimension, value, comment, created_at FROM metrics
    WHERE project_id = ?1 AND span_id = ?2 AND id = ?3";

pub(super) const PAGE: &str = "
    SELECT id, span_id, dimension, value, comment, created_at FROM metrics
    WHERE project_id = ?1 AND span_id = ?2
    ORDER BY number LIMIT ?3 OFFSET ?4";

const COUNT: &str = "SELECT count(*) FROM metrics WHERE project_id = ?1 AND span_id = ?2";

const DELETE: &str = "DELETE FROM metrics WHERE project_id = ?1 AND span_id = ?2 AND id = ?3";

pub(super) const FORGET: &str = "DELETE FROM metrics WHERE project_id = ?1 AND span_id = ?2";

/// Keeps a new metric. Says whether the span was there.
pub(super) fn insert(connection: &Connection, key: Key, metric: &Metric) -> Result<bool, Fault> {
    let kept = connection.prepare_cached(INSERT)?.execute(params![
        key[0],
        key[1],
        metric.id.uuid().into_bytes(),
        metric.dimension,
        metric.value,
        metric.comment,
        metric.created_at.micros(),
    ])?;
    Ok(kept > 0)
}

/// The metrics of a span in the order in which they came.
pub(super) fn page(connection: &Connection, key: Key, page: Page) -> Result<Paged<Metric>, Fault> {
    // One look at the database, so that page and total agree.
    let look = connection.unchecked_transaction()?;
    let asked = params![key[0], key[1], page.limit, page.offset];
    let items = row::all(&look, PAGE, asked, read)?;
    let total = row::count(&look, COUNT, key)?;
    Ok(Paged { items, total })
}

/// One metric of a span.
pub(super) fn find(
    connection: &Connection,
    [project, span]: Key,
    id: MetricId,
) -> Result<Option<Metric>, Fault> {
    let key = [project, span, id.uuid().into_bytes()];
    row::first(connection, SELECT, key, read)
}

/// Replaces what a client can change. Says whether the metric was there.
pub(super) fn update(connection: &Connection, key: Key, metric: &Metric) -> Result<bool, Fault> {
    let changed = connection.prepare_cached(UPDATE)?.execute(params![
        key[0],
        key[1],
        metric.id.uuid().into_bytes(),
        metric.dimension,
        metric.value,
        metric.comment,
    ])?;
    Ok(changed > 0)
}

/// Forgets a metric. Says whether it was there.
pub(super) fn delete(
    connection: &Connection,
    [project, span]: Key,
    id: MetricId,
) -> Result<bool, Fault> {
    let key = [project, span, id.uuid().into_bytes()];
    let deleted = connection.prepare_cached(DELETE)?.execute(key)?;
    Ok(deleted > 0)
}

/// Forgets all metrics of a span.
pub(super) fn forget(connection: &Connection, key: Key) -> Result<(), Fault> {
    connection.prepare_cached(FORGET)?.execute(key)?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<Metric, Fault> {
    Ok(Metric {
        id: row::id(row, 0)?,
        span_id: row::id(row, 1)?,
        dimension: row.get(2)?,
        value: row.get(3)?,
        comment: row.get(4)?,
        created_at: row::time(row, 5)?,
    })
}
