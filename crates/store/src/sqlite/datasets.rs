//! Datasets: entries, the versions that count their changes, and the vectors of their inputs.

pub(super) mod changes;

use async_trait::async_trait;
use domain::{
    Dataset, DatasetId, Entry, EntryChange, EntryChanges, EntryId, Json, Page, Paged, ProjectScope,
    seams::{DatasetStore, StoreError},
};
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use crate::sqlite::{Sqlite, fault::Fault, row};

const DATASET: &str = "SELECT id, function_id FROM datasets WHERE project_id = ?1 AND id = ?2";

const RAISE: &str = "
    UPDATE datasets SET version = version + 1 WHERE project_id = ?1 AND id = ?2 RETURNING version";

const INSERT: &str = "
    INSERT INTO entries (id, dataset_id, number, version, created_at, comment, input, output, expected)
    VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8)";

/// With the same input, its vector stays.
const UPDATE: &str = "
    UPDATE entries
    SET version = ?3, comment = ?4, input = ?5, output = ?6, expected = ?7, vector = iif(input = ?5, vector, NULL)
    WHERE id = ?1 AND dataset_id = ?2";

const SELECT: &str = "
    SELECT e.id, e.dataset_id, e.created_at, e.comment, e.input, e.output, e.expected
    FROM entries e JOIN datasets d ON d.id = e.dataset_id
    WHERE d.project_id = ?1 AND d.id = ?2";

const COUNT: &str = "
    SELECT count(*) FROM entries e JOIN datasets d ON d.id = e.dataset_id WHERE d.project_id = ?1 AND d.id = ?2";

const DELETE: &str = "
    DELETE FROM entries
    WHERE id = ?3 AND dataset_id = (SELECT id FROM datasets WHERE project_id = ?1 AND id = ?2)";

const KEEP_VECTOR: &str = "
    UPDATE entries SET vector_model = ?5, vector = ?6
    WHERE id = ?3 AND input = ?4 AND dataset_id = (SELECT id FROM datasets WHERE project_id = ?1 AND id = ?2)";

/// The entries of a dataset, one page of them.
pub(super) fn in_order() -> String {
    format!("{SELECT} ORDER BY e.number LIMIT ?3 OFFSET ?4")
}

/// A project's id and that of one of its datasets.
type Key = [[u8; 16]; 2];

fn key(scope: ProjectScope, dataset: DatasetId) -> Key {
    [scope.project().uuid(), dataset.uuid()].map(Uuid::into_bytes)
}

fn read(row: &Row<'_>) -> Result<Entry, Fault> {
    Ok(Entry {
        id: row::id(row, 0)?,
        dataset_id: row::id(row, 1)?,
        input: row::json(row, 4)?,
        output: row::json(row, 5)?,
        expected: row::optional_json(row, 6)?,
        comment: row.get(3)?,
        created_at: row::time(row, 2)?,
    })
}

fn bytes_of(vector: &[f32]) -> Vec<u8> {
    vector.iter().copied().flat_map(f32::to_le_bytes).collect()
}

fn find(connection: &Connection, key: Key, id: EntryId) -> Result<Option<Entry>, Fault> {
    let sql = format!("{SELECT} AND e.id = ?3");
    let key = [key[0], key[1], id.uuid().into_bytes()];
    row::first(connection, &sql, key, read)
}

/// Counts a change; gives the version that it makes, if the project has the dataset.
fn raise(connection: &Connection, key: Key) -> Result<Option<i64>, Fault> {
    row::first(connection, RAISE, key, |row| Ok(row.get(0)?))
}

fn insert(connection: &Connection, key: Key, entry: &Entry) -> Result<bool, Fault> {
    let Some(version) = raise(connection, key)? else {
        return Ok(false);
    };
    connection.prepare_cached(INSERT)?.execute(params![
        entry.id.uuid().into_bytes(),
        key[1],
        version,
        entry.created_at.micros(),
        entry.comment,
        entry.input.text(),
        entry.output.text(),
        entry.expected.as_ref().map(Json::text),
    ])?;
    Ok(true)
}

/// Changes an entry. What changes nothing raises no version.
fn change(
    connection: &Connection,
    key: Key,
    id: EntryId,
    change: EntryChange,
) -> Result<Option<Entry>, Fault> {
    let Some(before) = find(connection, key, id)? else {
        return Ok(None);
    };
    let entry = Entry {
        input: change.input.unwrap_or_else(|| before.input.clone()),
        output: change.output.unwrap_or_else(|| before.output.clone()),
        expected: change.expected.unwrap_or_else(|| before.expected.clone()),
        comment: change.comment.unwrap_or_else(|| before.comment.clone()),
        ..before
    };
    if entry == before {
        return Ok(Some(entry));
    }
    let Some(version) = raise(connection, key)? else {
        return Ok(None);
    };
    connection.prepare_cached(UPDATE)?.execute(params![
        entry.id.uuid().into_bytes(),
        key[1],
        version,
        entry.comment,
        entry.input.text(),
        entry.output.text(),
        entry.expected.as_ref().map(Json::text),
    ])?;
    Ok(Some(entry))
}

fn delete(connection: &Connection, key: Key, id: EntryId) -> Result<bool, Fault> {
    let row = [key[0], key[1], id.uuid().into_bytes()];
    if connection.prepare_cached(DELETE)?.execute(row)? == 0 {
        return Ok(false);
    }
    if let Some(version) = raise(connection, key)? {
        changes::note_deletion(connection, key, version, id)?;
    }
    Ok(true)
}

#[async_trait]
impl DatasetStore for Sqlite {
    async fn dataset(
        &self,
        scope: ProjectScope,
        id: DatasetId,
    ) -> Result<Option<Dataset>, StoreError> {
        let key = key(scope, id);
        self.read(move |connection| {
            row::first(connection, DATASET, key, |row| {
                let (id, function_id) = (row::id(row, 0)?, row::id(row, 1)?);
                Ok(Dataset { id, function_id })
            })
        })
        .await
    }

    async fn insert_entry(&self, scope: ProjectScope, entry: &Entry) -> Result<bool, StoreError> {
        let (key, entry) = (key(scope, entry.dataset_id), entry.clone());
        self.change(move |connection| insert(connection, key, &entry))
            .await
    }

    async fn entries(
        &self,
        scope: ProjectScope,
        dataset: DatasetId,
        page: Page,
    ) -> Result<Paged<Entry>, StoreError> {
        let key = key(scope, dataset);
        self.read(move |connection| {
            // One look at the database, so that page and total agree.
            let look = connection.unchecked_transaction()?;
            let asked = params![key[0], key[1], page.limit, page.offset];
            let items = row::all(&look, &in_order(), asked, read)?;
            let total = row::count(&look, COUNT, key)?;
            Ok(Paged { items, total })
        })
        .await
    }

    async fn entry(
        &self,
        scope: ProjectScope,
        dataset: DatasetId,
        id: EntryId,
    ) -> Result<Option<Entry>, StoreError> {
        let key = key(scope, dataset);
        self.read(move |connection| find(connection, key, id)).await
    }

    async fn change_entry(
        &self,
        scope: ProjectScope,
        dataset: DatasetId,
        id: EntryId,
        given: EntryChange,
    ) -> Result<Option<Entry>, StoreError> {
        let key = key(scope, dataset);
        self.change_and_give(move |connection| change(connection, key, id, given))
            .await
    }

    async fn delete_entry(
        &self,
        scope: ProjectScope,
        dataset: DatasetId,
        id: EntryId,
    ) -> Result<bool, StoreError> {
        let key = key(scope, dataset);
        self.change(move |connection| delete(connection, key, id))
            .await
    }

    async fn entry_changes(
        &self,
        scope: ProjectScope,
        dataset: DatasetId,
        since: i64,
        limit: u64,
        model: Option<&str>,
    ) -> Result<EntryChanges, StoreError> {
        let (key, model) = (key(scope, dataset), model.map(ToOwned::to_owned));
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.read(move |connection| {
            changes::since(connection, key, (since, limit), model.as_deref())
        })
        .await
    }

    async fn keep_vectors(
        &self,
        scope: ProjectScope,
        dataset: DatasetId,
        model: &str,
        vectors: Vec<(Entry, Vec<f32>)>,
    ) -> Result<(), StoreError> {
        let (key, model) = (key(scope, dataset), model.to_owned());
        self.change(move |connection| {
            let mut keep = connection.prepare_cached(KEEP_VECTOR)?;
            for (entry, vector) in &vectors {
                keep.execute(params![
                    key[0],
                    key[1],
                    entry.id.uuid().into_bytes(),
                    entry.input.text(),
                    model,
                    bytes_of(vector),
                ])?;
            }
            Ok(true)
        })
        .await
        .map(drop)
    }
}
