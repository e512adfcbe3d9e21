//! What changed in a dataset since one of its versions, deletions included.

use domain::{Entry, EntryChanges, EntryId};
use rusqlite::{Connection, Row, params};

use crate::sqlite::{fault::Fault, row};

use super::{Key, read};

/// How many deletions of a dataset are told one by one.
const MAX_DELETIONS: i64 = 1000;
/// With how much text entries are told, roughly: the last one may exceed it.
const MAX_BYTES: usize = 64 * 1024 * 1024;

const VERSIONS: &str =
    "SELECT version, forgotten_deletion FROM datasets WHERE project_id = ?1 AND id = ?2";

/// The columns of `read`, then the vector, if it is the asked model's.
pub(in crate::sqlite) const CHANGES: &str = "
    SELECT e.id, e.dataset_id, e.created_at, e.comment, e.input, e.output, e.expected,
           iif(e.vector_model = ?5, e.vector, NULL)
    FROM entries e JOIN datasets d ON d.id = e.dataset_id
    WHERE d.project_id = ?1 AND d.id = ?2 AND e.version > ?3
    ORDER BY e.version DESC LIMIT ?4";

pub(in crate::sqlite) const DELETIONS: &str =
    "SELECT entry_id FROM deletions WHERE dataset_id = ?1 AND version > ?2 ORDER BY version";

const NOTE: &str = "INSERT INTO deletions (dataset_id, version, entry_id) VALUES (?1, ?2, ?3)";

/// The newest deletion that is one too many.
pub(in crate::sqlite) const SURPLUS: &str = "
    SELECT version FROM deletions WHERE dataset_id = ?1 ORDER BY version DESC LIMIT 1 OFFSET ?2";

pub(in crate::sqlite) const FORGET: &str =
    "DELETE FROM deletions WHERE dataset_id = ?1 AND version <= ?2";

const MARK_FORGOTTEN: &str =
    "UPDATE datasets SET forgotten_deletion = ?3 WHERE project_id = ?1 AND id = ?2";

/// Entries, the newest first, each with its vector.
struct Newest {
    entries: Vec<(Entry, Option<Vec<f32>>)>,
    /// Whether older ones were left out.
    is_cut: bool,
}

/// Keeps in mind that an entry was deleted, which made this version.
pub(super) fn note_deletion(
    connection: &Connection,
    key: Key,
    version: i64,
    id: EntryId,
) -> Result<(), Fault> {
    let deletion = params![key[1], version, id.uuid().into_bytes()];
    connection.prepare_cached(NOTE)?.execute(deletion)?;
    let surplus = row::first(connection, SURPLUS, params![key[1], MAX_DELETIONS], |row| {
        Ok(row.get::<_, i64>(0)?)
    })?;
    if let Some(surplus) = surplus {
        let mut forget = connection.prepare_cached(FORGET)?;
        forget.execute(params![key[1], surplus])?;
        let mut mark = connection.prepare_cached(MARK_FORGOTTEN)?;
        mark.execute(params![key[0], key[1], surplus])?;
    }
    Ok(())
}

/// What changed after a version, so many entries at most.
pub(super) fn since(
    connection: &Connection,
    key: Key,
    (since, limit): (i64, usize),
    model: Option<&str>,
) -> Result<EntryChanges, Fault> {
    // One look at the database, so that the version is the entries'.
    let look = connection.unchecked_transaction()?;
    let versions = row::first(&look, VERSIONS, key, |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
    })?;
    let Some((version, forgotten_deletion)) = versions else {
        return Ok(EntryChanges::default());
    };
    let is_copy_useless = since < forgotten_deletion;
    let after = if is_copy_useless { 0 } else { since };
    let Newest {
        mut entries,
        is_cut,
    } = newest(&look, key, (after, limit), model)?;
    entries.reverse();
    // Where they are cut, they are the newest of all, changed or not.
    let are_all = after == 0 || is_cut;
    let deleted = if are_all {
        Vec::new()
    } else {
        row::all(&look, DELETIONS, params![key[1], after], |row| {
            Ok(row::id(row, 0)?)
        })?
    };
    Ok(EntryChanges {
        version,
        entries,
        deleted,
        are_all,
    })
}

fn newest(
    look: &Connection,
    key: Key,
    (after, limit): (i64, usize),
    model: Option<&str>,
) -> Result<Newest, Fault> {
    let at_most = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = look.prepare_cached(CHANGES)?;
    let mut rows = statement.query(params![key[0], key[1], after, at_most, model])?;
    let (mut entries, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        if bytes >= MAX_BYTES {
            let is_cut = true;
            return Ok(Newest { entries, is_cut });
        }
        let (entry, vector) = read_with_vector(row)?;
        bytes += text_bytes(&entry);
        entries.push((entry, vector));
    }
    let is_cut = entries.len() == limit;
    Ok(Newest { entries, is_cut })
}

fn text_bytes(entry: &Entry) -> usize {
    let expected = entry.expected.as_ref().map_or(0, |json| json.text().len());
    let comment = entry.comment.as_ref().map_or(0, String::len);
    entry.input.text().len() + entry.output.text().len() + expected + comment
}

fn read_with_vector(row: &Row<'_>) -> Result<(Entry, Option<Vec<f32>>), Fault> {
    let bytes = row.get_ref(7)?.as_blob_or_null();
    let vector = bytes
        .map_err(rusqlite::Error::from)?
        .map(vector_of)
        .transpose()?;
    Ok((read(row)?, vector))
}

fn vector_of(bytes: &[u8]) -> Result<Vec<f32>, Fault> {
    let (numbers, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(Fault::corrupt("a vector", "its last number is cut"));
    }
    Ok(numbers.iter().copied().map(f32::from_le_bytes).collect())
}
