//! A copy put into a data directory: looked through first, then written beside what is there, and only then in its place.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use rusqlite::{ErrorCode, config::DbConfig, wal::CheckpointMode};

use super::{
    backup::{Part, unusable, unwritable},
    connect, files, inspect, migrate,
};
use crate::{
    Backup, Existing, Restored, Watch,
    error::BackupError,
    lock::{DirLock, LockError},
};

const CHUNK: usize = 1 << 20;
/// What every version has had.
const TABLES: &str = "
    SELECT count(*) = 4 FROM sqlite_schema WHERE type = 'table' AND name IN ('projects', 'functions', 'spans', 'mark')";

/// Whether a file is a sound copy that this version can read.
pub(crate) fn look_into(file: &Path) -> Result<Backup, BackupError> {
    let refused = |reason: &str| unusable(file, &reason);
    let bytes = match fs::metadata(file) {
        Ok(metadata) if metadata.is_file() => metadata.len(),
        Ok(_) => return Err(refused("it is no file")),
        Err(error) => return Err(unusable(file, &error)),
    };
    // A data directory's own file: what is in its log, or will be in a moment, would be missing.
    if files::beside(file, "-wal").exists() {
        return Err(refused(
            "it has a log beside it, so it is a database in use and no backup; `gatewright backup` writes one",
        ));
    }
    let path = file
        .canonicalize()
        .map_err(|error| unusable(file, &error))?;
    let connection = connect::immutable(&path).map_err(|error| unread(file, &error))?;
    let is_ours = connection.query_row(TABLES, [], |row| row.get::<_, bool>(0));
    let version = migrate::version(&connection).map_err(|error| unread(file, &error))?;
    if !is_ours.map_err(|error| unread(file, &error))? || version == 0 {
        return Err(refused("it is no backup: it holds something else"));
    }
    let known = migrate::known(migrate::MIGRATIONS);
    if version > known {
        return Err(unusable(
            file,
            &format!(
                "a newer Gatewright wrote it: its schema is number {version}, this version knows {known}"
            ),
        ));
    }
    let damage = inspect::check(&connection, "integrity_check");
    if let Some(damage) = damage.map_err(|error| unread(file, &error))? {
        return Err(unusable(file, &format!("it is damaged: {damage}")));
    }
    Ok(Backup {
        path,
        bytes,
        sealed: inspect::sealed(&connection).map_err(|error| unread(file, &error))?,
    })
}

/// Puts a copy into a directory in which no server works.
pub(crate) fn restore(
    backup: &Backup,
    (directory, existing): (&Path, Existing),
    watch: Watch<'_>,
) -> Result<Restored, BackupError> {
    let refused = |error: io::Error| unwritable(directory, &error);
    let directory = files::make_directory(directory).map_err(refused)?;
    let _lock = DirLock::take(&directory).map_err(|error| match error {
        LockError::Io(error) => refused(error),
        LockError::Held(holder) => in_use(&directory, &format!("a server, {holder}")),
    })?;
    let database = files::database(&directory);
    let log = files::beside(&database, "-wal");
    let is_there = |name: &Path| fs::symlink_metadata(name).is_ok();
    let is_occupied = is_there(&database) || is_there(&log);
    if is_occupied && existing == Existing::Stays {
        return Err(BackupError::Occupied { path: directory });
    }
    let part = Part::make(&database)?;
    copy(backup, part.file(), watch).map_err(|error| unwritable(&database, &error))?;
    let aside = if is_occupied {
        fold_back(&directory, &database)?;
        Some(set_aside(&database).map_err(|error| unwritable(&database, &error))?)
    } else {
        None
    };
    part.finish(&database)?;
    Ok(Restored {
        data_dir: directory,
        aside,
    })
}

/// Brings all of a database into its one file. One that is too damaged for that is left as it is, with its log: whoever closes
/// it after writing would delete that.
fn fold_back(directory: &Path, database: &Path) -> Result<(), BackupError> {
    let read = connect::reading(database).and_then(|connection| migrate::version(&connection));
    if read.is_err() {
        return Ok(());
    }
    let fold = || -> Result<(), rusqlite::Error> {
        let connection = connect::writing(database)?;
        connection.wal_checkpoint_v2(None::<&str>, CheckpointMode::TRUNCATE)?;
        // Whoever closes it last deletes the log.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        connection.close().map_err(|(_, error)| error)
    };
    let folded = fold();
    let is_busy = |error: &rusqlite::Error| {
        matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        )
    };
    let is_left = files::beside(database, "-wal").exists();
    if folded.as_ref().is_err_and(is_busy) || (folded.is_ok() && is_left) {
        return Err(in_use(directory, "another command"));
    }
    Ok(())
}

/// Gives a database, and the log of a damaged one, another name, the first that is free. Until something takes its place, the
/// database keeps its own as well.
fn set_aside(database: &Path) -> io::Result<PathBuf> {
    let mut names =
        (1..).map(|number| files::beside(database, &format!(".before-restore-{number}")));
    let is_free = |name: &PathBuf| fs::symlink_metadata(name).is_err();
    let aside = names.find(is_free).expect("some number is free");
    if database.exists() {
        fs::hard_link(database, &aside)?;
    }
    let log = files::beside(database, "-wal");
    if log.exists() {
        fs::rename(log, files::beside(&aside, "-wal"))?;
    }
    // The index of that log. It is made anew from it, and of another log it would be wrong.
    match fs::remove_file(files::beside(database, "-shm")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    Ok(aside)
}

fn copy(backup: &Backup, mut to: &File, watch: Watch<'_>) -> io::Result<()> {
    let mut from = File::open(&backup.path)?;
    let mut chunk = vec![0; CHUNK];
    let mut done = 0;
    loop {
        let length = from.read(&mut chunk)?;
        if length == 0 {
            return Ok(());
        }
        to.write_all(&chunk[..length])?;
        done += length as u64;
        watch(done, backup.bytes.max(done));
    }
}

/// Why a file cannot be read as a database.
fn unread(file: &Path, error: &rusqlite::Error) -> BackupError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            unusable(file, &"it is no backup: it is no database at all")
        }
        Some(ErrorCode::DatabaseCorrupt) => unusable(file, &format!("it is damaged: {error}")),
        _ => unusable(file, &error),
    }
}

fn in_use(directory: &Path, holder: &str) -> BackupError {
    BackupError::InUse {
        path: directory.to_owned(),
        holder: holder.to_owned(),
    }
}
