//! How a row is kept: [`open`] hands out the storage behind the seams of `domain`.
//!
//! Backends are private modules. Rows are kept as they are given: nothing here makes an id, reads a clock for a row
//! or knows what a call is.

mod backup;
mod cache;
mod error;
mod inspect;
mod lock;
mod options;
mod sqlite;

use std::{fmt, sync::Arc};

use domain::seams::{Cache, Store};

use crate::sqlite::Access;
pub use crate::{
    backup::{Backup, Existing, Restored, SealedKey, Watch, back_up, look_into, restore},
    error::{BackupError, OpenError},
    inspect::{Database, Inspection, inspect},
    options::{Durability, Options},
};

/// What [`open`] hands out.
pub struct Stores {
    /// Where rows are kept.
    pub store: Arc<dyn Store>,
    /// Where answers are kept for a while.
    pub cache: Arc<dyn Cache>,
    /// Whether the database did not exist before.
    pub is_new: bool,
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stores")
            .field("is_new", &self.is_new)
            .finish_non_exhaustive()
    }
}

/// Opens the data directory for a server: nobody else can until the store is closed or dropped.
///
/// The directory, the database and its schema are made or brought up to date as needed.
pub async fn open(options: &Options) -> Result<Stores, OpenError> {
    sqlite::open(options.clone(), Access::Server).await
}

/// Opens the data directory beside a server that may be running: for commands.
pub async fn open_shared(options: &Options) -> Result<Stores, OpenError> {
    sqlite::open(options.clone(), Access::Command).await
}

/// Opens an empty store that is gone when it is closed or dropped: for tests and benchmarks.
pub async fn open_in_memory() -> Result<Stores, OpenError> {
    sqlite::open_in_memory().await
}
