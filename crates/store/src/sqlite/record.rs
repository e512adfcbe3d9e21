//! The record of spans, gone through in steps of bounded size, and corrected.

use domain::{MetaCorrection, ProjectId, Recorded, RecordedMeta, SpanRange, Timestamp};
use rusqlite::{Connection, Row, params};

use crate::sqlite::{fault::Fault, row};

const END: &str = "SELECT coalesce(max(rowid), 0) FROM spans";

/// Where a step ends: its length is counted in all spans, so that it stays short where few are wanted.
const STEP: &str = "
    SELECT max(rowid) FROM (SELECT rowid FROM spans WHERE rowid > ?1 ORDER BY rowid LIMIT ?2)";

const BETWEEN: &str = "
    SELECT project_id, id, meta FROM spans
    WHERE rowid > ?1 AND rowid <= ?2 AND open = 0 AND given = 0
      AND start_time >= ?3 AND start_time < coalesce(?4, 9223372036854775807)
      AND (?5 IS NULL OR project_id = ?5)
    ORDER BY rowid";

const CORRECT: &str = "
    UPDATE spans SET meta = ?4 WHERE project_id = ?1 AND id = ?2 AND meta = ?3 AND open = 0 AND given = 0";

/// The step behind `after`.
pub(super) fn step(
    connection: &Connection,
    range: SpanRange,
    after: i64,
    limit: u64,
) -> Result<Recorded, Fault> {
    // One look at the database, so that the end is not before the position.
    let look = connection.unchecked_transaction()?;
    let number = |row: &Row<'_>| Ok(row.get::<_, Option<i64>>(0)?.unwrap_or(after));
    let end = row::first(&look, END, [], number)?.unwrap_or(after);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let position = row::first(&look, STEP, [after, limit], number)?.unwrap_or(after);
    let wanted = params![
        after,
        position,
        range.since.micros(),
        range.until.map(Timestamp::micros),
        range
            .project
            .map(|project: ProjectId| project.uuid().into_bytes()),
    ];
    let spans = row::all(&look, BETWEEN, wanted, |row| {
        Ok(RecordedMeta {
            project: row::id(row, 0)?,
            id: row::id(row, 1)?,
            meta: row::json(row, 2)?,
        })
    })?;
    Ok(Recorded {
        spans,
        position,
        end,
    })
}

/// Corrects what is still as it was read; counts that.
pub(super) fn correct(
    connection: &Connection,
    corrections: &[MetaCorrection],
) -> Result<u64, Fault> {
    let mut statement = connection.prepare_cached(CORRECT)?;
    let mut corrected = 0;
    for MetaCorrection { before, after } in corrections {
        let key = [before.project.uuid(), before.id.uuid()].map(uuid::Uuid::into_bytes);
        let rows = statement.execute(params![key[0], key[1], before.meta.text(), after.text()])?;
        corrected += u64::try_from(rows).unwrap_or_default();
    }
    Ok(corrected)
}
