//! What is asked of a database by somebody who only looks.

use std::{fs, io, path::Path};

use domain::Timestamp;
use rusqlite::{Connection, OptionalExtension};

use super::{connect, files, migrate, refused, row};
use crate::{Database, Inspection, SealedKey, error::OpenError, lock};

const SEALED: &str = "
    SELECT project_id, id, name, sealed_key FROM custom_models WHERE sealed_key IS NOT NULL ORDER BY name";

/// What a client says of a span of its own may lie at any time.
const NEWEST: &str = "SELECT start_time FROM spans WHERE given = 0 ORDER BY rowid DESC LIMIT 1";

/// Looks at the database of a directory.
pub(crate) fn inspect(path: &Path) -> Result<Inspection, OpenError> {
    let unusable = |error: io::Error| OpenError::Directory {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let directory = match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Inspection {
                holder: None,
                database: None,
            });
        }
        found => found.map_err(unusable)?,
    };
    let holder = lock::holder_in(&directory).map_err(unusable)?;
    let file = files::database(&directory);
    let database = if file.try_exists().map_err(unusable)? {
        let looked = look(&file, holder.as_deref());
        Some(looked.map_err(|error| refused(path, error))?)
    } else {
        None
    };
    Ok(Inspection { holder, database })
}

fn look(file: &Path, holder: Option<&str>) -> Result<Database, Box<dyn std::error::Error>> {
    let bytes = fs::metadata(file)?.len();
    let log_bytes = fs::metadata(files::beside(file, "-wal")).map_or(0, |log| log.len());
    let connection = if holder.is_some() || log_bytes > 0 {
        connect::reading(file)?
    } else {
        connect::immutable(file)?
    };
    let schema = migrate::version(&connection)?;
    let known = migrate::known(migrate::MIGRATIONS);
    let mut database = Database {
        schema,
        known,
        bytes,
        log_bytes,
        complaint: check(&connection, "quick_check")?,
        newest_span: None,
        tokens: 0,
        sealed: Vec::new(),
    };
    if schema > 0 {
        database.sealed = sealed(&connection)?;
        let counted = "SELECT count(*) FROM tokens WHERE revoked_at IS NULL";
        let count: i64 = connection.query_row(counted, [], |row| row.get(0))?;
        database.tokens = u64::try_from(count).unwrap_or_default();
    }
    if schema == known {
        let newest = connection.query_row(NEWEST, [], |row| row.get::<_, Option<i64>>(0));
        let newest = newest.optional()?.flatten();
        database.newest_span = newest.map(Timestamp::from_micros);
    }
    Ok(database)
}

/// What the database's own check complains of; `check` is its name.
pub(super) fn check(
    connection: &Connection,
    check: &str,
) -> Result<Option<String>, rusqlite::Error> {
    let found: String = connection.pragma_query_value(None, check, |row| row.get(0))?;
    Ok(Some(found).filter(|found| found != "ok"))
}

/// The provider keys in a database.
pub(super) fn sealed(connection: &Connection) -> Result<Vec<SealedKey>, rusqlite::Error> {
    let mut statement = connection.prepare(SEALED)?;
    let keys = statement.query_map([], |row| {
        Ok(SealedKey {
            project: row::id(row, 0)?,
            model: row::id(row, 1)?,
            name: row.get(2)?,
            sealed: row.get(3)?,
        })
    })?;
    keys.collect()
}
