//! Why a store could not be opened, copied or put back.

use std::path::PathBuf;

use thiserror::Error;

/// Why a store could not be opened. The messages are for the operator.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The data directory cannot be made or used.
    #[error("cannot use the data directory `{}`: {reason}", path.display())]
    Directory {
        /// The directory as it was given.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// A server is running on the data directory.
    #[error(
        "the data directory `{}` is in use by a server, {holder}; stop that one first or choose another directory",
        path.display()
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// Who holds it, as `process 123`.
        holder: String,
    },
    /// The data directory was written by a newer version of the program.
    #[error(
        "the data directory `{}` was written by a newer Gatewright: its schema is number {found}, this version knows \
         {known}; start the newer version again or choose another directory",
        path.display()
    )]
    Newer {
        /// The directory.
        path: PathBuf,
        /// The schema that was found.
        found: i64,
        /// The newest schema that this version knows.
        known: i64,
    },
    /// The database does not open.
    #[error("cannot open the database in `{}`: {reason}", path.display())]
    Database {
        /// The directory.
        path: PathBuf,
        /// What the database says.
        reason: String,
    },
}

/// Why a store could not be copied, or a copy not put back. The messages are for the operator.
#[derive(Debug, Error)]
pub enum BackupError {
    /// There is nothing to copy.
    #[error("there is no database in `{}`; `--data-dir` says where it is", path.display())]
    Nothing {
        /// The data directory.
        path: PathBuf,
    },
    /// The backup's name is taken.
    #[error("`{}` exists already; choose another name, or replace it with `--force`", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// There is a database where one is to be put.
    #[error(
        "there is a database in `{}` already; choose another directory with `--data-dir`, or put it aside with `--force`",
        path.display()
    )]
    Occupied {
        /// The data directory.
        path: PathBuf,
    },
    /// Somebody works with the data directory, or writes the same file.
    #[error("`{}` is in use by {holder}; stop that first", path.display())]
    InUse {
        /// The directory or the file.
        path: PathBuf,
        /// Who has it, as `a server, process 123`.
        holder: String,
    },
    /// The file is no backup that can be put back.
    #[error("`{}` cannot be used: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The copy cannot be written. What was written of it is gone.
    #[error("cannot write `{}`: {reason}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
}
