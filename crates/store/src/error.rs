//! Why a store could not be opened.

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
