//! Projects and tokens.

use async_trait::async_trait;
use domain::{
    Project, ProjectId, ProjectName, Timestamp, Token, TokenId, TokenKey, Usd,
    seams::{StoreError, TokenStore},
};
use rusqlite::{Connection, Row, params};

use crate::sqlite::{Sqlite, fault::Fault, row, writer::Write};

const PROJECTS: &str = "SELECT id, name, created_at FROM projects ORDER BY name";
const PROJECT_BY_NAME: &str = "SELECT id, name, created_at FROM projects WHERE name = ?1";
const TOKENS: &str = "
    SELECT id, hash, project_id, label, created_at, expires_at, revoked_at, calls_per_minute FROM tokens ORDER BY created_at, id";
const TOKEN_BY_ID: &str = "
    SELECT id, hash, project_id, label, created_at, expires_at, revoked_at, calls_per_minute FROM tokens WHERE id = ?1";
const TOKEN_BY_HASH: &str = "
    SELECT id, hash, project_id, label, created_at, expires_at, revoked_at, calls_per_minute FROM tokens WHERE hash = ?1";
/// An amount that has no room for more stays as it is.
const SPEND: &str = "
    INSERT INTO spending (project_id, day, nano_usd) VALUES (?1, ?2, ?3)
    ON CONFLICT (project_id, day) DO UPDATE SET nano_usd = min(nano_usd, 9223372036854775807 - ?3) + ?3
    RETURNING nano_usd";
const FORGET_SPENDING: &str = "DELETE FROM spending WHERE project_id = ?1 AND day < ?2";
/// For so many days it is kept what was spent.
const SPENDING_DAYS: i64 = 31;

fn read_project(row: &Row<'_>) -> Result<Project, Fault> {
    let name: String = row.get(1)?;
    Ok(Project {
        id: row::id(row, 0)?,
        name: ProjectName::parse(&name)
            .map_err(|invalid| Fault::corrupt("a project's name", invalid))?,
        created_at: row::time(row, 2)?,
    })
}

fn read_token(row: &Row<'_>) -> Result<Token, Fault> {
    let id: String = row.get(0)?;
    Ok(Token {
        id: TokenId::new(id),
        hash: row.get(1)?,
        project: row::id(row, 2)?,
        label: row.get(3)?,
        created_at: row::time(row, 4)?,
        expires_at: row::optional_time(row, 5)?,
        revoked_at: row::optional_time(row, 6)?,
        calls_per_minute: row.get(7)?,
    })
}

#[async_trait]
impl TokenStore for Sqlite {
    async fn insert_project(&self, project: &Project) -> Result<(), StoreError> {
        let project = project.clone();
        self.change(move |connection| {
            connection
                .prepare_cached("INSERT INTO projects (id, name, created_at) VALUES (?1, ?2, ?3)")?
                .execute(params![
                    project.id.uuid().into_bytes(),
                    project.name.as_str(),
                    project.created_at.micros(),
                ])?;
            Ok(true)
        })
        .await
        .map(drop)
    }

    async fn project_by_name(&self, name: &ProjectName) -> Result<Option<Project>, StoreError> {
        let name = name.clone();
        self.read(move |connection| {
            row::first(connection, PROJECT_BY_NAME, [name.as_str()], read_project)
        })
        .await
    }

    async fn projects(&self) -> Result<Vec<Project>, StoreError> {
        self.read(|connection| row::all(connection, PROJECTS, [], read_project))
            .await
    }

    async fn insert_token(&self, token: &Token) -> Result<(), StoreError> {
        let token = token.clone();
        self.change(move |connection| {
            connection
                .prepare_cached(
                    "INSERT INTO tokens (id, hash, project_id, label, created_at, expires_at, revoked_at, calls_per_minute)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                )?
                .execute(params![
                    token.id.as_str(),
                    token.hash,
                    token.project.uuid().into_bytes(),
                    token.label,
                    token.created_at.micros(),
                    token.expires_at.map(Timestamp::micros),
                    token.revoked_at.map(Timestamp::micros),
                    token.calls_per_minute,
                ])?;
            Ok(true)
        })
        .await
        .map(drop)
    }

    async fn token(&self, key: &TokenKey) -> Result<Option<Token>, StoreError> {
        let key = key.clone();
        self.read(move |connection| match key {
            TokenKey::Id(id) => row::first(connection, TOKEN_BY_ID, [id.as_str()], read_token),
            TokenKey::Hash(hash) => row::first(connection, TOKEN_BY_HASH, [hash], read_token),
        })
        .await
    }

    async fn tokens(&self) -> Result<Vec<Token>, StoreError> {
        self.read(|connection| row::all(connection, TOKENS, [], read_token))
            .await
    }

    async fn revoke_token(&self, id: &TokenId, at: Timestamp) -> Result<bool, StoreError> {
        let id = id.clone();
        self.change(move |connection| {
            // A second revocation does not change when the first one was.
            let changed = connection
                .prepare_cached(
                    "UPDATE tokens SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1",
                )?
                .execute(params![id.as_str(), at.micros()])?;
            Ok(changed > 0)
        })
        .await
    }

    async fn spend(&self, project: ProjectId, day: i64, amount: Usd) -> Result<Usd, StoreError> {
        let project = project.uuid().into_bytes();
        let spend = move |connection: &Connection| {
            connection
                .prepare_cached(FORGET_SPENDING)?
                .execute(params![project, day - SPENDING_DAYS])?;
            let sum = connection
                .prepare_cached(SPEND)?
                .query_row(params![project, day, amount.nanos()], |row| row.get(0))?;
            Ok(Some(sum))
        };
        let sum = self.write_and_give(Write::Remark, spend).await?;
        Ok(Usd::from_nanos(sum.unwrap_or_default()))
    }
}
