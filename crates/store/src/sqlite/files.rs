//! The data directory and its database file, readable by their owner alone.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

const DATABASE: &str = "gatewright.db";

/// Makes the directory if it is missing. Returns its absolute path, which the database never takes for a URI.
pub(super) fn make_directory(path: &Path) -> io::Result<PathBuf> {
    if !path.try_exists()? {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        if let Some(parent) = path.canonicalize()?.parent() {
            sync_directory(parent)?;
        }
    }
    path.canonicalize()
}

/// The database's file.
pub(super) fn database(directory: &Path) -> PathBuf {
    directory.join(DATABASE)
}

/// A file that lies beside another: the log of a database, or what is still being written.
pub(super) fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Makes the database's file if it is missing. The log's files inherit its mode.
pub(super) fn make_database(directory: &Path) -> io::Result<PathBuf> {
    /// Closing a file ends all locks that the process has on it, so it is made and closed before anyone here opens it.
    static MAKING: Mutex<()> = Mutex::new(());

    let file = database(directory);
    let making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&file)
        .map(drop);
    drop(making);
    match made {
        Ok(()) => sync_directory(directory)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    Ok(file)
}

/// Makes the entries of a directory safe from a power loss, where its file system can.
pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    match File::open(directory)?.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        result => result,
    }
}
