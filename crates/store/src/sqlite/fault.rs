//! What can go wrong inside the backend, and what a caller gets to hear of it.

use domain::seams::StoreError;
use rusqlite::{ErrorCode, ffi};

/// A failure inside the backend.
#[derive(Debug)]
pub(super) enum Fault {
    /// A sync failed. What it covered may be lost although a second try would succeed, so no write may follow.
    Sync(rusqlite::Error),
    /// The database refused.
    Sqlite(rusqlite::Error),
    /// The backend itself refused.
    Store(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        match extended_code(&error) {
            Some(ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC) => Self::Sync(error),
            _ => Self::Sqlite(error),
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Fault {
    /// The failure of a commit, where an unclear I/O error is taken for a failed sync.
    pub(super) fn at_commit(error: rusqlite::Error) -> Self {
        if error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
            && !is_lack_of_space(&error)
        {
            return Self::Sync(error);
        }
        Self::from(error)
    }

    /// A stored value that cannot be read back.
    pub(super) fn corrupt(what: &str, reason: impl std::fmt::Display) -> Self {
        Self::Store(StoreError::Corrupt(format!("{what}: {reason}")))
    }

    /// What the caller is told.
    pub(super) fn answer(&self) -> StoreError {
        match self {
            Self::Sync(error) => StoreError::Unavailable(format!("a sync failed: {error}")),
            Self::Sqlite(error) => translate(error),
            Self::Store(StoreError::Taken) => StoreError::Taken,
            Self::Store(StoreError::Stale) => StoreError::Stale,
            Self::Store(StoreError::Unavailable(reason)) => StoreError::Unavailable(reason.clone()),
            Self::Store(StoreError::Full(reason)) => StoreError::Full(reason.clone()),
            Self::Store(StoreError::Corrupt(reason)) => StoreError::Corrupt(reason.clone()),
        }
    }
}

fn translate(error: &rusqlite::Error) -> StoreError {
    use rusqlite::Error as E;
    match extended_code(error) {
        Some(ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY) => {
            return StoreError::Taken;
        }
        // The file was moved away under the server: nothing that more space would mend.
        Some(ffi::SQLITE_READONLY_DBMOVED) => return StoreError::Unavailable(error.to_string()),
        _ if is_lack_of_space(error) => return StoreError::Full(error.to_string()),
        _ => {}
    }
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::ConstraintViolation
            | ErrorCode::TypeMismatch,
        ) => StoreError::Corrupt(error.to_string()),
        Some(_) => StoreError::Unavailable(error.to_string()),
        None => match error {
            E::FromSqlConversionFailure(..)
            | E::InvalidColumnType(..)
            | E::IntegralValueOutOfRange(..)
            | E::Utf8Error(..) => StoreError::Corrupt(error.to_string()),
            _ => StoreError::Unavailable(error.to_string()),
        },
    }
}

/// Whether the write failed for want of space, quota or the right to write: it may go through later.
///
/// A failed write of the log loses nothing, because no reader and no recovery looks behind the last commit. The
/// log's index is grown by a write of its own, whose failure has its own code.
fn is_lack_of_space(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DiskFull | ErrorCode::ReadOnly)
    ) || matches!(
        extended_code(error),
        Some(ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE)
    )
}

fn extended_code(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
    }

    #[test]
    fn a_failed_sync_is_told_apart_from_a_full_disk() {
        let lost = [
            ffi::SQLITE_IOERR_FSYNC,
            ffi::SQLITE_IOERR_DIR_FSYNC,
            ffi::SQLITE_IOERR,
        ];
        let full = [
            ffi::SQLITE_FULL,
            ffi::SQLITE_READONLY,
            ffi::SQLITE_IOERR_WRITE,
            ffi::SQLITE_IOERR_SHMSIZE,
        ];

        for code in lost {
            let fault = Fault::at_commit(failed(code));
            assert!(matches!(fault, Fault::Sync(_)), "{code}");
            assert!(
                matches!(fault.answer(), StoreError::Unavailable(_)),
                "{code}"
            );
        }
        for code in full {
            let fault = Fault::at_commit(failed(code));
            assert!(matches!(fault.answer(), StoreError::Full(_)), "{code}");
        }
    }

    #[test]
    fn only_unique_keys_are_taken() {
        for (code, taken) in [
            (ffi::SQLITE_CONSTRAINT_UNIQUE, true),
            (ffi::SQLITE_CONSTRAINT_PRIMARYKEY, true),
            (ffi::SQLITE_CONSTRAINT_FOREIGNKEY, false),
            (ffi::SQLITE_CONSTRAINT_NOTNULL, false),
        ] {
            let answer = Fault::from(failed(code)).answer();
            assert_eq!(matches!(answer, StoreError::Taken), taken, "{code}");
        }
    }
}
