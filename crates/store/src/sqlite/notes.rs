//! Notes: what is added to a span after it was recorded. The record stays as it is, and reads lay the note over it.

use domain::{Feedback, Json, JsonObject, Observation, SpanChange, SpanKind, Timestamp};
use rusqlite::{Connection, Row, params};
use serde::Serialize;

use crate::sqlite::{fault::Fault, packing::Body, row, spans::Key};

/// What was laid over `meta` so far; a row only if the span is there.
const CHANGED_META: &str = "
    SELECT n.meta
    FROM spans s LEFT JOIN notes n ON n.project_id = s.project_id AND n.span_id = s.id
    WHERE s.project_id = ?1 AND s.id = ?2";

/// The bits of `changed` are listed in the migration that made `notes`.
const CHANGE: &str = "
    INSERT INTO notes
        (project_id, span_id, changed, name, kind, start_time, end_time, error, input, output, score, meta,
         packed_input, packed_output)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
    ON CONFLICT (project_id, span_id) DO UPDATE
    SET changed = changed | ?3,
        name = iif(?3 & 1, ?4, name),
        kind = iif(?3 & 2, ?5, kind),
        start_time = iif(?3 & 4, ?6, start_time),
        end_time = iif(?3 & 8, ?7, end_time),
        error = iif(?3 & 16, ?8, error),
        input = iif(?3 & 32, ?9, input),
        output = iif(?3 & 64, ?10, output),
        score = iif(?3 & 128, ?11, score),
        packed_input = iif(?3 & 32, ?13, packed_input),
        packed_output = iif(?3 & 64, ?14, packed_output),
        meta = ?12";

const RATE: &str = "
    INSERT INTO notes (project_id, span_id, feedback_score, feedback_comment)
    SELECT project_id, id, ?3, ?4 FROM spans WHERE project_id = ?1 AND id = ?2
    ON CONFLICT (project_id, span_id) DO UPDATE
    SET feedback_score = excluded.feedback_score, feedback_comment = excluded.feedback_comment";

const OBSERVE: &str = "
    INSERT INTO notes (project_id, span_id, observed_score, observations)
    SELECT project_id, id, ?3, ?4 FROM spans WHERE project_id = ?1 AND id = ?2
    ON CONFLICT (project_id, span_id) DO UPDATE
    SET observed_score = excluded.observed_score, observations = excluded.observations";

const FORGET: &str = "DELETE FROM notes WHERE project_id = ?1 AND span_id = ?2";

/// What the observer says, as a member of `meta`.
#[derive(Serialize)]
struct Observer {
    score: i64,
    observations: String,
}

/// Lays a client's changes over those that were made before. Input and output come packed, where they are among
/// them. Says whether the span was there.
pub(super) fn change(
    connection: &Connection,
    key: Key,
    change: SpanChange,
    [input, output]: [Body; 2],
) -> Result<bool, Fault> {
    let before = row::first(connection, CHANGED_META, key, |row| {
        row::optional_object(row, 0)
    })?;
    let Some(before) = before else {
        return Ok(false);
    };
    let meta = match (before, change.meta) {
        (Some(mut members), Some(changes)) => {
            members.extend(changes);
            Some(members)
        }
        (before, changes) => before.or(changes),
    };
    let changed = [
        change.name.is_some(),
        change.kind.is_some(),
        change.start_time.is_some(),
        change.end_time.is_some(),
        change.error.is_some(),
        change.input.is_some(),
        change.output.is_some(),
        change.score.is_some(),
    ];
    let bits: i64 = (0..)
        .zip(changed)
        .map(|(bit, is)| i64::from(is) << bit)
        .sum();
    connection.prepare_cached(CHANGE)?.execute(params![
        key[0],
        key[1],
        bits,
        change.name,
        change.kind.flatten().as_ref().map(SpanKind::as_str),
        change.start_time.flatten().map(Timestamp::micros),
        change.end_time.flatten().map(Timestamp::micros),
        change.error.flatten(),
        input.text(),
        output.text(),
        change.score.flatten(),
        meta.as_ref().map(Json::of).as_ref().map(Json::text),
        input.packed,
        output.packed,
    ])?;
    Ok(true)
}

/// Sets the feedback. Says whether the span was there.
pub(super) fn rate(connection: &Connection, key: Key, feedback: &Feedback) -> Result<bool, Fault> {
    let noted = connection.prepare_cached(RATE)?.execute(params![
        key[0],
        key[1],
        feedback.score,
        feedback.comment
    ])?;
    Ok(noted > 0)
}

/// Sets what the observer says. Says whether the span was there.
pub(super) fn observe(
    connection: &Connection,
    key: Key,
    observation: &Observation,
) -> Result<bool, Fault> {
    let noted = connection.prepare_cached(OBSERVE)?.execute(params![
        key[0],
        key[1],
        observation.score,
        observation.observations
    ])?;
    Ok(noted > 0)
}

/// Forgets what was added to a span.
pub(super) fn forget(connection: &Connection, key: Key) -> Result<(), Fault> {
    connection.prepare_cached(FORGET)?.execute(key)?;
    Ok(())
}

/// A span's `meta`, from four columns: what was recorded, the client's members, the observer's score and its words.
///
/// The observer's member lies over the recorded ones, the client's members lie over all.
pub(super) fn meta(row: &Row<'_>, first: usize) -> Result<Json, Fault> {
    let recorded = row::json(row, first)?;
    let changes = row::optional_object(row, first + 1)?;
    let observed: Option<i64> = row.get(first + 2)?;
    if changes.is_none() && observed.is_none() {
        return Ok(recorded);
    }
    let mut members: JsonObject = serde_json::from_str(recorded.text())
        .map_err(|error| Fault::corrupt("the members of `meta`", error))?;
    if let Some(score) = observed {
        let observations: Option<String> = row.get(first + 3)?;
        let observer = Observer {
            score,
            observations: observations.unwrap_or_default(),
        };
        members.insert("observer".to_owned(), Json::of(&observer));
    }
    members.extend(changes.unwrap_or_default());
    Ok(Json::of(&members))
}

/// A span's feedback, from the columns of its score and of its comment.
pub(super) fn feedback(row: &Row<'_>, first: usize) -> Result<Option<Feedback>, Fault> {
    let score: Option<f64> = row.get(first)?;
    let Some(score) = score else {
        return Ok(None);
    };
    let comment = row.get(first + 1)?;
    Ok(Some(Feedback { score, comment }))
}
