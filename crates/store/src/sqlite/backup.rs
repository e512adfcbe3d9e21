//! A copy of the database in one file, and the file's own safety: written under another name, synced, and only then given
//! its own.

use std::{
    fmt::Display,
    fs::{self, File, OpenOptions, Permissions, TryLockError},
    io,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rusqlite::Connection;

use super::{connect, files, migrate};
use crate::{Existing, Watch, error::BackupError};

/// How often somebody is told how far it is.
const TELL: Duration = Duration::from_millis(100);
/// What a data directory's own files begin with.
const OWN_FILES: [&str; 2] = ["gatewright.", "master.key"];

/// Writes a copy of a directory's database, as it stands at the beginning. Whoever writes meanwhile is not held up.
pub(crate) fn back_up(
    directory: &Path,
    (to, existing): (&Path, Existing),
    watch: Watch<'_>,
) -> Result<u64, BackupError> {
    let database = files::database(directory);
    let nothing = || BackupError::Nothing {
        path: directory.to_owned(),
    };
    if !database.is_file() {
        return Err(nothing());
    }
    let unreadable = |error: rusqlite::Error| unusable(&database, &error);
    let file = database
        .canonicalize()
        .map_err(|error| unusable(&database, &error))?;
    let connection = connect::reading(&file).map_err(unreadable)?;
    if migrate::version(&connection).map_err(unreadable)? == 0 {
        return Err(nothing());
    }
    let expected = size(&connection).map_err(unreadable)?;
    check_target(directory, to, existing)?;
    let part = Part::make(to)?;
    let path = part.path();
    let copied = thread::scope(|scope| {
        let copying = scope.spawn(move || copy(&connection, path));
        while !copying.is_finished() {
            let length = fs::metadata(path).map_or(0, |metadata| metadata.len());
            watch(length, expected.max(length));
            thread::sleep(TELL);
        }
        copying.join()
    });
    match copied {
        Ok(Ok(())) => part.finish(to),
        Ok(Err(reason)) => Err(unwritable(to, &reason)),
        Err(_) => Err(unwritable(to, &"the copying broke off")),
    }
}

/// Refuses what a file cannot be, or must not be.
fn check_target(directory: &Path, to: &Path, existing: Existing) -> Result<(), BackupError> {
    match fs::symlink_metadata(to) {
        Ok(_) if to.is_dir() => {
            return Err(unwritable(to, &"it is a folder; give the name of a file"));
        }
        Ok(found) if !found.is_file() => return Err(unwritable(to, &"it is no plain file")),
        Ok(_) if existing == Existing::Stays => {
            return Err(BackupError::Exists {
                path: to.to_owned(),
            });
        }
        _ => {}
    }
    let folder = folder_of(to)
        .canonicalize()
        .map_err(|error| unwritable(to, &error))?;
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    let is_own = OWN_FILES.iter().any(|own| name.starts_with(own));
    if is_own && directory.canonicalize().is_ok_and(|own| own == folder) {
        let reason = "the data directory has its own files under such names; choose another name";
        return Err(unwritable(to, &reason));
    }
    Ok(())
}

fn copy(connection: &Connection, to: &Path) -> Result<(), String> {
    let name = to.to_str().ok_or("its name is no text")?;
    // What was deleted is not in it, and it needs no log beside it.
    let copied = connection.execute("VACUUM INTO ?1", [name]);
    copied.map(drop).map_err(|error| error.to_string())
}

/// How many bytes a copy has at most.
fn size(connection: &Connection) -> Result<u64, rusqlite::Error> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let bytes = number("page_count")?.saturating_mul(number("page_size")?);
    Ok(u64::try_from(bytes).unwrap_or_default())
}

/// A file that is being written, under a name of its own. If it is not finished, it goes.
pub(super) struct Part {
    path: PathBuf,
    /// Locked: what a dead process left is taken over, what a living one writes is not.
    file: File,
    is_finished: bool,
}

impl Part {
    /// Makes it, empty and for its owner alone.
    pub(super) fn make(of: &Path) -> Result<Self, BackupError> {
        let path = files::beside(of, ".partial");
        let refused = |error: io::Error| unwritable(&path, &error);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(refused)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(BackupError::InUse {
                    path,
                    holder: "another copy that is being written".to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(refused(error)),
        }
        let part = Self {
            path,
            file,
            is_finished: false,
        };
        let emptied = part.file.set_len(0);
        let closed =
            emptied.and_then(|()| part.file.set_permissions(Permissions::from_mode(0o600)));
        closed.map_err(|error| unwritable(&part.path, &error))?;
        Ok(part)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) const fn file(&self) -> &File {
        &self.file
    }

    /// Syncs it and gives it its name, in place of what has that now; says how large it is.
    pub(super) fn finish(mut self, name: &Path) -> Result<u64, BackupError> {
        let finish = || -> io::Result<u64> {
            self.file.sync_all()?;
            fs::rename(&self.path, name)?;
            files::sync_directory(folder_of(name))?;
            Ok(self.file.metadata()?.len())
        };
        let length = finish().map_err(|error| unwritable(name, &error))?;
        self.is_finished = true;
        Ok(length)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_finished {
            // What cannot be deleted is taken over by the next try.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn folder_of(file: &Path) -> &Path {
    let folder = file.parent();
    folder
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

pub(super) fn unusable(path: &Path, reason: &dyn Display) -> BackupError {
    BackupError::Unusable {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

pub(super) fn unwritable(path: &Path, reason: &dyn Display) -> BackupError {
    BackupError::Unwritable {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}
