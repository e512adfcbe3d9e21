//! What lies beyond the bounds of a project's spans is forgotten, the oldest first, by steps of bounded size.

use domain::{SpanBounds, Timestamp};
use rusqlite::{Connection, params};

use crate::sqlite::{fault::Fault, row, spans};

/// What a step frees at most, but for its last span: the pages of long texts are gone through when they are freed.
const STEP_BYTES: u64 = 1 << 20;

/// One without a beginning is older than all others.
pub(super) const OLDEST: &str = "
    SELECT id, start_time FROM spans WHERE project_id = ?1 AND open = 0 ORDER BY start_time LIMIT ?2";

const TAKEN: &str = "SELECT bytes FROM span_sums WHERE project_id = ?1";

type Id = [u8; 16];

/// Whether there is something to forget.
pub(super) fn is_due(
    connection: &Connection,
    project: Id,
    bounds: SpanBounds,
) -> Result<bool, Fault> {
    let oldest = oldest(connection, project, 1)?;
    let Some((_, began)) = oldest.first() else {
        return Ok(false);
    };
    Ok(is_beyond(bounds, *began, taken(connection, project)?))
}

/// Forgets so many spans at most; counts them.
pub(super) fn step(
    connection: &Connection,
    project: Id,
    bounds: SpanBounds,
    limit: u64,
) -> Result<u64, Fault> {
    let before = taken(connection, project)?;
    let (mut left, mut forgotten) = (before, 0);
    for (id, began) in oldest(connection, project, limit)? {
        if !is_beyond(bounds, began, left) || before - left > STEP_BYTES {
            break;
        }
        spans::forget(connection, [project, id])?;
        forgotten += 1;
        left = taken(connection, project)?;
    }
    Ok(forgotten)
}

/// What the spans of a project take.
pub(super) fn taken(connection: &Connection, project: Id) -> Result<u64, Fault> {
    let bytes: Option<i64> = row::first(connection, TAKEN, [project], |row| Ok(row.get(0)?))?;
    u64::try_from(bytes.unwrap_or_default()).map_err(|error| Fault::corrupt("a sum", error))
}

fn oldest(
    connection: &Connection,
    project: Id,
    limit: u64,
) -> Result<Vec<(Id, Option<Timestamp>)>, Fault> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    row::all(connection, OLDEST, params![project, limit], |row| {
        Ok((row.get(0)?, row::optional_time(row, 1)?))
    })
}

fn is_beyond(bounds: SpanBounds, began: Option<Timestamp>, taken: u64) -> bool {
    bounds.since.is_some_and(|since| began < Some(since))
        || bounds.max_bytes.is_some_and(|most| taken > most)
}
