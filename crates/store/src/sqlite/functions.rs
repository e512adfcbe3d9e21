//! Functions, their revisions and the datasets made with them.

use async_trait::async_trait;
use domain::{
    Definition, Function, FunctionFilter, FunctionId, FunctionName, FunctionSort, Json, Page,
    Paged, ProjectScope, Revision, RevisionId, Settings,
    seams::{FunctionStore, StoreError},
};
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use crate::sqlite::{Sqlite, fault::Fault, row};

const INSERT: &str = "
    INSERT INTO functions (id, project_id, name, description, dataset_id, revision_id, version, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

/// Has the parameters of [`INSERT`].
const UPDATE: &str = "
    UPDATE functions
    SET name = ?3, description = ?4, dataset_id = ?5, revision_id = ?6, version = ?7, created_at = ?8
    WHERE id = ?1 AND project_id = ?2 AND version = ?7 - 1";

const INSERT_REVISION: &str = "
    INSERT INTO revisions
        (id, function_id, number, instructions, input_schema, output_schema, model, configuration, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

const INSERT_DATASET: &str =
    "INSERT INTO datasets (id, project_id, function_id, created_at) VALUES (?1, ?2, ?3, ?4)";

const SELECT: &str = "
    SELECT f.id, f.project_id, f.name, f.description, f.dataset_id, f.revision_id, f.version, f.created_at
    FROM functions f";

/// The columns of [`SELECT`], then those of the revision.
const SELECT_WITH_LATEST: &str = "
    SELECT f.id, f.project_id, f.name, f.description, f.dataset_id, f.revision_id, f.version, f.created_at,
           r.id, r.function_id, r.instructions, r.input_schema, r.output_schema, r.model, r.configuration, r.created_at
    FROM functions f JOIN revisions r ON r.id = f.revision_id";

/// Restricted to the project by way of the function.
const SELECT_REVISION: &str = "
    SELECT r.id, r.function_id, r.instructions, r.input_schema, r.output_schema, r.model, r.configuration, r.created_at
    FROM revisions r JOIN functions f ON f.id = r.function_id
    WHERE f.project_id = ?1 AND f.id = ?2";

const COUNT_REVISIONS: &str = "
    SELECT count(*) FROM revisions r JOIN functions f ON f.id = r.function_id WHERE f.project_id = ?1 AND f.id = ?2";

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
        revision_id: row::id(row, 5)?,
        version: row.get(6)?,
        created_at: row::time(row, 7)?,
    })
}

fn read_revision(row: &Row<'_>) -> Result<Revision, Fault> {
    read_revision_from(row, 0)
}

fn read_with_latest(row: &Row<'_>) -> Result<(Function, Revision), Fault> {
    Ok((read(row)?, read_revision_from(row, 8)?))
}

fn read_revision_from(row: &Row<'_>, first: usize) -> Result<Revision, Fault> {
    let model: Option<String> = row.get(first + 5)?;
    let configuration: String = row.get(first + 6)?;
    Ok(Revision {
        id: row::id(row, first)?,
        function_id: row::id(row, first + 1)?,
        definition: Definition {
            instructions: row.get(first + 2)?,
            input_schema: row::optional_json(row, first + 3)?,
            output_schema: row::optional_json(row, first + 4)?,
            model: model
                .map(|text| serde_json::from_str(&text))
                .transpose()
                .map_err(|error| Fault::corrupt("a revision's model", error))?,
            configuration: read_settings(&configuration)?,
        },
        created_at: row::time(row, first + 7)?,
    })
}

fn read_settings(text: &str) -> Result<Settings, Fault> {
    let given = serde_json::from_str(text)
        .map_err(|error| Fault::corrupt("a revision's configuration", error))?;
    Settings::parse(given).map_err(|invalid| Fault::corrupt("a revision's configuration", invalid))
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

fn keep_revision(connection: &Connection, number: i64, revision: &Revision) -> Result<(), Fault> {
    let definition = &revision.definition;
    connection
        .prepare_cached(INSERT_REVISION)?
        .execute(params![
            revision.id.uuid().into_bytes(),
            revision.function_id.uuid().into_bytes(),
            number,
            definition.instructions,
            definition.input_schema.as_ref().map(Json::text),
            definition.output_schema.as_ref().map(Json::text),
            definition
                .model
                .as_ref()
                .map(Json::of)
                .as_ref()
                .map(Json::text),
            Json::of(definition.configuration.given()).text(),
            revision.created_at.micros(),
        ])?;
    Ok(())
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
            keep_revision(connection, function.version, &revision)?;
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
        self.read(move |connection| {
            let sql = format!("{SELECT_REVISION} AND r.id = ?3");
            row::first(connection, &sql, key, read_revision)
        })
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
        self.read(move |connection| {
            // One look at the database, so that page and total agree.
            let look = connection.unchecked_transaction()?;
            let sql = format!("{SELECT_REVISION} ORDER BY r.number DESC LIMIT ?3 OFFSET ?4");
            let items = row::all(
                &look,
                &sql,
                params![key[0], key[1], page.limit, page.offset],
                read_revision,
            )?;
            let total = row::count(&look, COUNT_REVISIONS, key)?;
            Ok(Paged { items, total })
        })
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
                keep_revision(connection, function.version, revision)?;
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
