//! Functions, and the datasets made with them.

use async_trait::async_trait;
use domain::{
    Definition, Function, FunctionFilter, FunctionId, FunctionName, FunctionSort, Page, Paged,
    ProjectScope, Revision, RevisionId,
    seams::{FunctionStore, StoreError},
};
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use crate::sqlite::{Sqlite, fault::Fault, revisions, row};

const INSERT: &str = "
    INSERT INTO functions (id, project_id, name, description, dataset_id, revision_id, version, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

/// Has the parameters of [`INSERT`].
const UPDATE: &str = "
    UPDATE functions
    SET name = ?3, description = ?4, dataset_id = ?5, revision_id = ?6, version = ?7, created_at = ?8
    WHERE id = ?1 AND project_id = ?2 AND version = ?7 - 1";

const INSERT_DATASET: &str =
    "INSERT INTO datasets (id, project_id, function_id, created_at) VALUES (?1, ?2, ?3, ?4)";

const SELECT: &str = "
    SELECT f.id, f.project_id, f.name, f.description, f.dataset_id, f.revision_id, f.version, f.created_at, d.version
    FROM functions f LEFT JOIN datasets d ON d.id = f.dataset_id";

/// The columns of [`SELECT`], then those of the revision.
const SELECT_WITH_LATEST: &str = "
    SELECT f.id, f.project_id, f.name, f.description, f.dataset_id, f.revision_id, f.version, f.created_at, d.version,
           r.id, r.function_id, r.instructions, r.input_schema, r.output_schema, r.model, r.configuration, r.created_at
    FROM functions f JOIN revisions r ON r.id = f.revision_id LEFT JOIN datasets d ON d.id = f.dataset_id";

/// `instr` compares byte by byte, unlike `LIKE`.
const MATCHES: &str = "WHERE f.project_id = ?1 AND (?2 IS NULL OR instr(f.name, ?2) > 0)";

fn read(row: &Row<'_>) -> Result<Function, Fault> {
    let name: String = row.get(2)?;
    Ok(Function {
        id: row::id(row, 0)?,
        project: row::id(row, 1)?,
        name: FunctionName::parse(&name)
            .map_err(|invalid| Fault::corrupt("a function's name", invalid))?,
        description: row.get(3)?,
        dataset_id: row::id(row, 4)?,
        dataset_version: row.get(8)?,
        revision_id: row::id(row, 5)?,
        version: row.get(6)?,
        created_at: row::time(row, 7)?,
    })
}

fn read_with_latest(row: &Row<'_>) -> Result<(Function, Revision), Fault> {
    Ok((read(row)?, revisions::read_from(row, 9)?))
}

/// Runs a statement that has the parameters of [`INSERT`]; says how many rows it touched.
fn keep(connection: &Connection, sql: &str, function: &Function) -> Result<usize, Fault> {
    let touched = connection.prepare_cached(sql)?.execute(params![
        function.id.uuid().into_bytes(),
        function.project.uuid().into_bytes(),
        function.name.as_str(),
        function.description,
        function.dataset_id.uuid().into_bytes(),
        function.revision_id.uuid().into_bytes(),
        function.version,
        function.created_at.micros(),
    ])?;
    Ok(touched)
}

fn keep_dataset(connection: &Connection, function: &Function) -> Result<(), Fault> {
    connection.prepare_cached(INSERT_DATASET)?.execute(params![
        function.dataset_id.uuid().into_bytes(),
        function.project.uuid().into_bytes(),
        function.id.uuid().into_bytes(),
        function.created_at.micros(),
    ])?;
    Ok(())
}

const fn order(sort: FunctionSort) -> &'static str {
    match sort {
        FunctionSort::Name => "f.name",
        FunctionSort::NameDescending => "f.name DESC",
        FunctionSort::Created => "f.created_at, f.id",
        FunctionSort::CreatedDescending => "f.created_at DESC, f.id DESC",
    }
}

#[async_trait]
impl FunctionStore for Sqlite {
    async fn insert_function(
        &self,
        function: &Function,
        revision: &Revision,
    ) -> Result<(), StoreError> {
        let (function, revision) = (function.clone(), revision.clone());
        self.change(move |connection| {
            keep(connection, INSERT, &function)?;
            revisions::keep(connection, function.version, &revision)?;
            keep_dataset(connection, &function)?;
            Ok(true)
        })
        .await
        .map(drop)
    }

    async fn function(
        &self,
        scope: ProjectScope,
        id: FunctionId,
    ) -> Result<Option<Function>, StoreError> {
        let key = [scope.project().uuid(), id.uuid()].map(Uuid::into_bytes);
        self.read(move |connection| {
            let sql = format!("{SELECT} WHERE f.project_id = ?1 AND f.id = ?2");
            row::first(connection, &sql, key, read)
        })
        .await
    }

    async fn function_by_name(
        &self,
        scope: ProjectScope,
        name: &FunctionName,
    ) -> Result<Option<Function>, StoreError> {
        let project = scope.project().uuid().into_bytes();
        let name = name.clone();
        self.read(move |connection| {
            let sql = format!("{SELECT} WHERE f.project_id = ?1 AND f.name = ?2");
            row::first(connection, &sql, params![project, name.as_str()], read)
        })
        .await
    }

    async fn revision(
        &self,
        scope: ProjectScope,
        function: FunctionId,
        revision: RevisionId,
    ) -> Result<Option<Revision>, StoreError> {
        let key = [scope.project().uuid(), function.uuid(), revision.uuid()].map(Uuid::into_bytes);
        self.read(move |connection| revisions::find(connection, key))
            .await
    }

    async fn revision_with(
        &self,
        scope: ProjectScope,
        function: FunctionId,
        definition: &Definition,
    ) -> Result<Option<Revision>, StoreError> {
        let key = [scope.project().uuid(), function.uuid()].map(Uuid::into_bytes);
        let definition = definition.clone();
        self.read(move |connection| revisions::find_with(connection, key, &definition))
            .await
    }

    async fn functions(
        &self,
        scope: ProjectScope,
        filter: &FunctionFilter,
        page: Page,
    ) -> Result<Paged<(Function, Revision)>, StoreError> {
        let project = scope.project().uuid().into_bytes();
        let FunctionFilter { name, sort } = filter.clone();
        self.read(move |connection| {
            // One look at the database, so that page and total agree.
            let look = connection.unchecked_transaction()?;
            let order = order(sort);
            let sql = format!("{SELECT_WITH_LATEST} {MATCHES} ORDER BY {order} LIMIT ?3 OFFSET ?4");
            let items = row::all(
                &look,
                &sql,
                params![project, name, page.limit, page.offset],
                read_with_latest,
            )?;
            let sql = format!("SELECT count(*) FROM functions f {MATCHES}");
            let total = row::count(&look, &sql, params![project, name])?;
            Ok(Paged { items, total })
        })
        .await
    }

    async fn revisions(
        &self,
        scope: ProjectScope,
        function: FunctionId,
        page: Page,
    ) -> Result<Paged<Revision>, StoreError> {
        let key = [scope.project().uuid(), function.uuid()].map(Uuid::into_bytes);
        self.read(move |connection| revisions::page(connection, key, page))
            .await
    }

    async fn update_function(
        &self,
        function: &Function,
        new_revision: Option<&Revision>,
    ) -> Result<(), StoreError> {
        let (function, new_revision) = (function.clone(), new_revision.cloned());
        self.change(move |connection| {
            if keep(connection, UPDATE, &function)? == 0 {
                return Err(StoreError::Stale.into());
            }
            if let Some(revision) = &new_revision {
                revisions::keep(connection, function.version, revision)?;
            }
            Ok(true)
        })
        .await
        .map(drop)
    }

    async fn delete_function(
        &self,
        scope: ProjectScope,
        id: FunctionId,
    ) -> Result<bool, StoreError> {
        let key = [scope.project().uuid(), id.uuid()].map(Uuid::into_bytes);
        self.change(move |connection| {
            let deleted = connection
                .prepare_cached("DELETE FROM functions WHERE project_id = ?1 AND id = ?2")?
                .execute(key)?;
            Ok(deleted > 0)
        })
        .await
    }
}
