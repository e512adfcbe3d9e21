//! Copies of a store: one file for all that it keeps, written beside a running server and put into another directory.
//!
//! Provider keys stay sealed in it. The master key that opens them is no part of the store, and so of no copy.

use std::path::{Path, PathBuf};

use domain::{ModelId, ProjectId};

use crate::{Options, error::BackupError, sqlite};

/// Is told how many bytes of how many are done.
pub type Watch<'w> = &'w dyn Fn(u64, u64);

/// What is done with what lies where something is to be put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and nothing is put there.
    Stays,
    /// Another takes its place, at once and as a whole.
    Gives,
}

/// A file that [`back_up`] wrote, looked through.
#[derive(Debug)]
pub struct Backup {
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// The provider keys in it.
    pub sealed: Vec<SealedKey>,
}

/// A provider's key as it is kept: the master key that sealed it opens it, in its own place alone.
#[derive(Clone)]
pub struct SealedKey {
    /// Whose it is.
    pub project: ProjectId,
    /// The custom model that it is for.
    pub model: ModelId,
    /// That model's name.
    pub name: String,
    /// What the vault made of it.
    pub sealed: Vec<u8>,
}

impl std::fmt::Debug for SealedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SealedKey")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// What [`restore`] did.
#[derive(Debug)]
pub struct Restored {
    /// The data directory, by its absolute path.
    pub data_dir: PathBuf,
    /// Where the database is that was there before.
    pub aside: Option<PathBuf>,
}

/// Writes a copy of all that a store keeps, as it is at one moment; a server may go on beside it. Gives its size in bytes.
///
/// # Errors
/// No database, a name that is taken, a file that cannot be written. Then what was of that name is as it was.
pub fn back_up(
    options: &Options,
    to: &Path,
    existing: Existing,
    watch: Watch<'_>,
) -> Result<u64, BackupError> {
    sqlite::back_up(&options.data_dir, (to, existing), watch)
}

/// Looks a copy through, from end to end: whether it is one, is sound, and can be read by this version.
///
/// # Errors
/// [`BackupError::Unusable`].
pub fn look_into(file: &Path) -> Result<Backup, BackupError> {
    sqlite::look_into(file)
}

/// Puts a copy into the data directory, which is made if it is missing.
///
/// # Errors
/// A directory with a database, unless that gives way, or with a server. Then it is as it was.
pub fn restore(
    backup: &Backup,
    options: &Options,
    existing: Existing,
    watch: Watch<'_>,
) -> Result<Restored, BackupError> {
    sqlite::restore(backup, (&options.data_dir, existing), watch)
}
