//! Custom models, and what a name means.

use async_trait::async_trait;
use domain::{
    CustomModel, ModelId, ModelKind, ModelName, Named, Page, Paged, ProjectScope,
    seams::{ModelStore, StoreError},
};
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use crate::sqlite::{Sqlite, aliases, fault::Fault, row};

const INSERT: &str = "
    INSERT INTO custom_models
        (id, project_id, name, identifier, provider, kind, extra, sealed_key, version, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

/// Has the parameters of [`INSERT`].
const UPDATE: &str = "
    UPDATE custom_models
    SET name = ?3, identifier = ?4, provider = ?5, kind = ?6, extra = ?7, sealed_key = ?8, version = ?9,
        created_at = ?10
    WHERE id = ?1 AND project_id = ?2 AND version = ?9 - 1";

/// Whoever has read the row to change it has to read it again.
const RESEAL: &str = "
    UPDATE custom_models SET sealed_key = ?4, version = version + 1
    WHERE id = ?2 AND project_id = ?1 AND sealed_key = ?3";

const SELECT: &str = "
    SELECT id, project_id, name, identifier, provider, kind, extra, sealed_key, version, created_at
    FROM custom_models";

fn read(row: &Row<'_>) -> Result<CustomModel, Fault> {
    let identifier: String = row.get(3)?;
    let kind: String = row.get(5)?;
    Ok(CustomModel {
        id: row::id(row, 0)?,
        project: row::id(row, 1)?,
        name: row.get(2)?,
        identifier: ModelName::parse(&identifier)
            .map_err(|invalid| Fault::corrupt("a model's identifier", invalid))?,
        provider: row.get(4)?,
        kind: ModelKind::parse(&kind)
            .map_err(|invalid| Fault::corrupt("a model's kind", invalid))?,
        extra: row::json(row, 6)?,
        sealed_key: row.get(7)?,
        version: row.get(8)?,
        created_at: row::time(row, 9)?,
    })
}

/// Runs a statement that has the parameters of [`INSERT`]; says how many rows it touched.
fn keep(connection: &Connection, sql: &str, model: &CustomModel) -> Result<usize, Fault> {
    let touched = connection.prepare_cached(sql)?.execute(params![
        model.id.uuid().into_bytes(),
        model.project.uuid().into_bytes(),
        model.name,
        model.identifier.as_str(),
        model.provider,
        model.kind.as_str(),
        model.extra.text(),
        model.sealed_key,
        model.version,
        model.created_at.micros(),
    ])?;
    Ok(touched)
}

fn by_name(
    connection: &Connection,
    project: [u8; 16],
    name: &str,
) -> Result<Option<CustomModel>, Fault> {
    let sql = format!("{SELECT} WHERE project_id = ?1 AND name = ?2");
    row::first(connection, &sql, params![project, name], read)
}

fn newest_by_identifier(
    connection: &Connection,
    project: [u8; 16],
    identifier: &str,
) -> Result<Option<CustomModel>, Fault> {
    let sql = format!(
        "{SELECT} WHERE project_id = ?1 AND identifier = ?2 ORDER BY created_at DESC, id DESC LIMIT 1"
    );
    row::first(connection, &sql, params![project, identifier], read)
}

#[async_trait]
impl ModelStore for Sqlite {
    async fn insert_model(&self, model: &CustomModel) -> Result<(), StoreError> {
        let model = model.clone();
        self.change(move |connection| keep(connection, INSERT, &model).map(|_| true))
            .await
            .map(drop)
    }

    async fn model(
        &self,
        scope: ProjectScope,
        id: ModelId,
    ) -> Result<Option<CustomModel>, StoreError> {
        let key = [scope.project().uuid(), id.uuid()].map(Uuid::into_bytes);
        self.read(move |connection| {
            let sql = format!("{SELECT} WHERE project_id = ?1 AND id = ?2");
            row::first(connection, &sql, key, read)
        })
        .await
    }

    async fn model_by_name(
        &self,
        scope: ProjectScope,
        name: &str,
    ) -> Result<Option<CustomModel>, StoreError> {
        let project = scope.project().uuid().into_bytes();
        let name = name.to_owned();
        self.read(move |connection| by_name(connection, project, &name))
            .await
    }

    async fn named(
        &self,
        scope: ProjectScope,
        name: &ModelName,
    ) -> Result<Option<Named>, StoreError> {
        let project = scope.project().uuid().into_bytes();
        let name = name.as_str().to_owned();
        self.read(move |connection| {
            // One look at the database, so that a name that moves between models and aliases is never missed.
            let look = connection.unchecked_transaction()?;
            if let Some(model) = by_name(&look, project, &name)? {
                return Ok(Some(Named::Model(model)));
            }
            if let Some(alias) = aliases::by_name(&look, project, &name)? {
                return Ok(Some(Named::Alias(alias)));
            }
            let model = newest_by_identifier(&look, project, &name)?;
            Ok(model.map(Named::Model))
        })
        .await
    }

    async fn models(
        &self,
        scope: ProjectScope,
        page: Page,
    ) -> Result<Paged<CustomModel>, StoreError> {
        let project = scope.project().uuid().into_bytes();
        self.read(move |connection| {
            // One look at the database, so that page and total agree.
            let look = connection.unchecked_transaction()?;
            let sql = format!("{SELECT} WHERE project_id = ?1 ORDER BY name LIMIT ?2 OFFSET ?3");
            let items = row::all(&look, &sql, params![project, page.limit, page.offset], read)?;
            let total = row::count(
                &look,
                "SELECT count(*) FROM custom_models WHERE project_id = ?1",
                [project],
            )?;
            Ok(Paged { items, total })
        })
        .await
    }

    async fn update_model(&self, model: &CustomModel) -> Result<(), StoreError> {
        let model = model.clone();
        self.change(move |connection| match keep(connection, UPDATE, &model)? {
            0 => Err(StoreError::Stale.into()),
            _ => Ok(true),
        })
        .await
        .map(drop)
    }

    async fn delete_model(&self, scope: ProjectScope, id: ModelId) -> Result<bool, StoreError> {
        let key = [scope.project().uuid(), id.uuid()].map(Uuid::into_bytes);
        self.change(move |connection| {
            let deleted = connection
                .prepare_cached("DELETE FROM custom_models WHERE project_id = ?1 AND id = ?2")?
                .execute(key)?;
            Ok(deleted > 0)
        })
        .await
    }

    async fn any_sealed_model(&self) -> Result<Option<CustomModel>, StoreError> {
        self.read(|connection| {
            let sql = format!("{SELECT} WHERE sealed_key IS NOT NULL LIMIT 1");
            row::first(connection, &sql, [], read)
        })
        .await
    }

    async fn sealed_models(&self) -> Result<Vec<CustomModel>, StoreError> {
        self.read(|connection| {
            let sql = format!("{SELECT} WHERE sealed_key IS NOT NULL");
            row::all(connection, &sql, [], read)
        })
        .await
    }

    async fn reseal_model(&self, model: &CustomModel, sealed: &[u8]) -> Result<bool, StoreError> {
        let before = model.sealed_key.clone();
        let place = (
            model.project.uuid().into_bytes(),
            model.id.uuid().into_bytes(),
        );
        let sealed = sealed.to_vec();
        self.change(move |connection| {
            let changed = connection
                .prepare_cached(RESEAL)?
                .execute(params![place.0, place.1, before, sealed])?;
            Ok(changed > 0)
        })
        .await
    }
}
