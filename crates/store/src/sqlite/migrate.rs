//! Brings the schema up to date: numbered files, each run in one transaction together with the count of those done.

use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::sqlite::connect;

/// In order. A file that was shipped is never edited.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_start.sql"),
    include_str!("migrations/0002_notes_metrics_entries.sql"),
    include_str!("migrations/0003_aliases.sql"),
    include_str!("migrations/0004_deletions.sql"),
    include_str!("migrations/0005_given_spans.sql"),
    include_str!("migrations/0006_limits.sql"),
    include_str!("migrations/0007_retention.sql"),
];
/// Another process may be at it, on a large database.
const PATIENCE: Duration = Duration::from_mins(5);

/// Why the schema cannot be brought up to date.
#[derive(Debug)]
pub(super) enum MigrateError {
    /// It is newer than this program.
    Newer {
        /// Its number.
        found: i64,
        /// The newest known one.
        known: i64,
    },
    /// The database refused.
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for MigrateError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Runs what is missing; says whether everything was. Several processes may do this at once.
pub(super) fn migrate(connection: &mut Connection) -> Result<bool, MigrateError> {
    connection.busy_timeout(PATIENCE)?;
    let is_new = run(connection, MIGRATIONS)?;
    connection.busy_timeout(connect::BUSY_TIMEOUT)?;
    Ok(is_new)
}

pub(super) fn run(connection: &mut Connection, migrations: &[&str]) -> Result<bool, MigrateError> {
    let mut is_new = false;
    while !is_done(connection, migrations)? {
        let transaction = Transaction::new(connection, TransactionBehavior::Immediate)?;
        // Another process may have been quicker: what counts is what stands now that nobody else can write.
        if is_done(&transaction, migrations)? {
            break;
        }
        let done = version(&transaction)?;
        let next = usize::try_from(done)
            .ok()
            .and_then(|done| migrations.get(done))
            .ok_or(MigrateError::Newer {
                found: done,
                known: known(migrations),
            })?;
        transaction.execute_batch(next)?;
        transaction.pragma_update(None, "user_version", done + 1)?;
        transaction.commit()?;
        is_new |= done == 0;
    }
    Ok(is_new)
}

fn is_done(connection: &Connection, migrations: &[&str]) -> Result<bool, MigrateError> {
    let found = version(connection)?;
    let known = known(migrations);
    if found > known {
        return Err(MigrateError::Newer { found, known });
    }
    Ok(found == known)
}

/// The number of the schema that is there; 0 where there is none.
pub(super) fn version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// The number of the schema that these make.
pub(super) fn known(migrations: &[&str]) -> i64 {
    i64::try_from(migrations.len()).expect("there are few migrations")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "CREATE TABLE a (x INTEGER)";
    const SECOND: &str = "CREATE TABLE b (x INTEGER); INSERT INTO a VALUES (1)";
    const BROKEN: &str = "CREATE TABLE c (x INTEGER); INSERT INTO nowhere VALUES (1)";

    #[test]
    fn only_what_is_missing_runs() {
        let mut connection = Connection::open_in_memory().unwrap();

        assert!(run(&mut connection, &[FIRST]).unwrap());
        assert!(!run(&mut connection, &[FIRST, SECOND]).unwrap());
        assert!(!run(&mut connection, &[FIRST, SECOND]).unwrap());

        let rows: i64 = connection
            .query_row("SELECT count(*) FROM a", [], |row| row.get(0))
            .unwrap();
        assert_eq!((rows, version(&connection).unwrap()), (1, 2));
    }

    #[test]
    fn a_migration_that_fails_leaves_no_trace() {
        let mut connection = Connection::open_in_memory().unwrap();

        assert!(run(&mut connection, &[FIRST, BROKEN]).is_err());

        assert_eq!(version(&connection).unwrap(), 1);
        assert!(connection.prepare("SELECT * FROM c").is_err());
        assert!(!run(&mut connection, &[FIRST, SECOND]).unwrap());
    }

    #[test]
    fn a_newer_schema_is_refused() {
        let mut connection = Connection::open_in_memory().unwrap();
        run(&mut connection, &[FIRST, SECOND]).unwrap();

        let refused = run(&mut connection, &[FIRST]);

        assert!(matches!(
            refused,
            Err(MigrateError::Newer { found: 2, known: 1 })
        ));
    }
}
