//! Rows to values.

use domain::{Json, JsonObject, Timestamp};
use rusqlite::{Connection, Params, Row};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::sqlite::fault::Fault;

/// The first row of a query, read.
pub(super) fn first<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query_and_then(params, read)?;
    rows.next().transpose()
}

/// All rows of a query, read.
pub(super) fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_and_then(params, read)?.collect()
}

/// The number that a query counts.
pub(super) fn count(connection: &Connection, sql: &str, params: impl Params) -> Result<u64, Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let count: i64 = statement.query_row(params, |row| row.get(0))?;
    u64::try_from(count).map_err(|error| Fault::corrupt("a count", error))
}

/// An id's column.
pub(super) fn id<T: From<Uuid>>(row: &Row<'_>, column: usize) -> Result<T, rusqlite::Error> {
    row.get(column)
        .map(|bytes| T::from(Uuid::from_bytes(bytes)))
}

/// A column that holds an instant.
pub(super) fn time(row: &Row<'_>, column: usize) -> Result<Timestamp, rusqlite::Error> {
    row.get(column).map(Timestamp::from_micros)
}

/// A column that may hold an instant.
pub(super) fn optional_time(
    row: &Row<'_>,
    column: usize,
) -> Result<Option<Timestamp>, rusqlite::Error> {
    let micros: Option<i64> = row.get(column)?;
    Ok(micros.map(Timestamp::from_micros))
}

/// A column that may hold an id.
pub(super) fn optional_id<T: From<Uuid>>(
    row: &Row<'_>,
    column: usize,
) -> Result<Option<T>, rusqlite::Error> {
    let bytes: Option<[u8; 16]> = row.get(column)?;
    Ok(bytes.map(|bytes| T::from(Uuid::from_bytes(bytes))))
}

/// A column that holds JSON.
pub(super) fn json(row: &Row<'_>, column: usize) -> Result<Json, Fault> {
    optional_json(row, column)?.ok_or_else(|| Fault::corrupt("a JSON value", "it is missing"))
}

/// A column that may hold JSON. It was checked before it was kept, so only its syntax is looked at again.
pub(super) fn optional_json(row: &Row<'_>, column: usize) -> Result<Option<Json>, Fault> {
    optional(row, column)
}

/// A column that may hold a JSON object.
pub(super) fn optional_object(row: &Row<'_>, column: usize) -> Result<Option<JsonObject>, Fault> {
    optional(row, column)
}

fn optional<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<Option<T>, Fault> {
    let text = row.get_ref(column)?.as_str_or_null();
    text.map_err(rusqlite::Error::from)?
        .map(serde_json::from_str)
        .transpose()
        .map_err(|error| Fault::corrupt("a JSON value", error))
}
