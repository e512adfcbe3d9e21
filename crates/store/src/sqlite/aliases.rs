//! Aliases of models.

use async_trait::async_trait;
use domain::{
    Alias, AliasId, Json, ModelName, Page, Paged, ProjectScope,
    seams::{AliasStore, StoreError},
};
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use crate::sqlite::{Sqlite, fault::Fault, row};

const INSERT: &str = "
    INSERT INTO aliases (id, project_id, name, fallback_models, description, version, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

/// Has the parameters of [`INSERT`].
const UPDATE: &str = "
    UPDATE aliases
    SET name = ?3, fallback_models = ?4, description = ?5, version = ?6, created_at = ?7
    WHERE id = ?1 AND project_id = ?2 AND version = ?6 - 1";

const SELECT: &str = "
    SELECT id, project_id, name, fallback_models, description, version, created_at
    FROM aliases";

fn read(row: &Row<'_>) -> Result<Alias, Fault> {
    let models: String = row.get(3)?;
    let fallback_models: Vec<ModelName> = serde_json::from_str(&models)
        .map_err(|error| Fault::corrupt("the models of an alias", error))?;
    Ok(Alias {
        id: row::id(row, 0)?,
        project: row::id(row, 1)?,
        name: row.get(2)?,
        fallback_models,
        description: row.get(4)?,
        version: row.get(5)?,
        created_at: row::time(row, 6)?,
    })
}

/// Runs a statement that has the parameters of [`INSERT`]; says how many rows it touched.
fn keep(connection: &Connection, sql: &str, alias: &Alias) -> Result<usize, Fault> {
    let touched = connection.prepare_cached(sql)?.execute(params![
        alias.id.uuid().into_bytes(),
        alias.project.uuid().into_bytes(),
        alias.name,
        Json::of(&alias.fallback_models).text(),
        alias.description,
        alias.version,
        alias.created_at.micros(),
    ])?;
    Ok(touched)
}

/// The project's alias of that name.
pub(super) fn by_name(
    connection: &Connection,
    project: [u8; 16],
    name: &str,
) -> Result<Option<Alias>, Fault> {
    let sql = format!("{SELECT} WHERE project_id = ?1 AND name = ?2");
    row::first(connection, &sql, params![project, name], read)
}

#[async_trait]
impl AliasStore for Sqlite {
    async fn insert_alias(&self, alias: &Alias) -> Result<(), StoreError> {
        let alias = alias.clone();
        self.change(move |connection| keep(connection, INSERT, &alias).map(|_| true))
            .await
            .map(drop)
    }

    async fn alias(&self, scope: ProjectScope, id: AliasId) -> Result<Option<Alias>, StoreError> {
        let key = [scope.project().uuid(), id.uuid()].map(Uuid::into_bytes);
        self.read(move |connection| {
            let sql = format!("{SELECT} WHERE project_id = ?1 AND id = ?2");
            row::first(connection, &sql, key, read)
        })
        .await
    }

    async fn alias_by_name(
        &self,
        scope: ProjectScope,
        name: &str,
    ) -> Result<Option<Alias>, StoreError> {
        let project = scope.project().uuid().into_bytes();
        let name = name.to_owned();
        self.read(move |connection| by_name(connection, project, &name))
            .await
    }

    async fn aliases(&self, scope: ProjectScope, page: Page) -> Result<Paged<Alias>, StoreError> {
        let project = scope.project().uuid().into_bytes();
        self.read(move |connection| {
            // One look at the database, so that page and total agree.
            let look = connection.unchecked_transaction()?;
            let sql = format!("{SELECT} WHERE project_id = ?1 ORDER BY name LIMIT ?2 OFFSET ?3");
            let items = row::all(&look, &sql, params![project, page.limit, page.offset], read)?;
            let total = row::count(
                &look,
                "SELECT count(*) FROM aliases WHERE project_id = ?1",
                [project],
            )?;
            Ok(Paged { items, total })
        })
        .await
    }

    async fn update_alias(&self, alias: &Alias) -> Result<(), StoreError> {
        let alias = alias.clone();
        self.change(move |connection| match keep(connection, UPDATE, &alias)? {
            0 => Err(StoreError::Stale.into()),
            _ => Ok(true),
        })
        .await
        .map(drop)
    }

    async fn delete_alias(&self, scope: ProjectScope, id: AliasId) -> Result<bool, StoreError> {
        let key = [scope.project().uuid(), id.uuid()].map(Uuid::into_bytes);
        self.change(move |connection| {
            let deleted = connection
                .prepare_cached("DELETE FROM aliases WHERE project_id = ?1 AND id = ?2")?
                .execute(key)?;
            Ok(deleted > 0)
        })
        .await
    }
}
