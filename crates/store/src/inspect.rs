//! A look at a store that changes nothing: for an operator who wants to know whether it is well.

use domain::Timestamp;

use crate::{Options, SealedKey, error::OpenError, sqlite};

/// What was found.
#[derive(Debug)]
pub struct Inspection {
    /// The server that runs on the directory, as `process 123`.
    pub holder: Option<String>,
    /// The database, if there is one.
    pub database: Option<Database>,
}

/// What was found of a database.
#[derive(Debug)]
pub struct Database {
    /// The number of its schema.
    pub schema: i64,
    /// The newest schema that this version knows.
    pub known: i64,
    /// The size of its file.
    pub bytes: u64,
    /// The size of its log.
    pub log_bytes: u64,
    /// What its own check complains of.
    pub complaint: Option<String>,
    /// When the newest recorded call began, where that can be told.
    pub newest_span: Option<Timestamp>,
    /// How many tokens open a project at all, whether they have expired or not.
    pub tokens: u64,
    /// The provider keys in it.
    pub sealed: Vec<SealedKey>,
}

/// Looks at the store of a data directory, beside a server that may be running.
///
/// # Errors
/// [`OpenError::Directory`] and [`OpenError::Database`] for what cannot be read.
pub fn inspect(options: &Options) -> Result<Inspection, OpenError> {
    sqlite::inspect(&options.data_dir)
}
