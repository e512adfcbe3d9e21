//! The lock by which a server keeps other servers out of its data directory.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    process,
};

const FILE: &str = "gatewright.lock";

/// A held lock. It ends with the process, however that ends.
#[derive(Debug)]
pub(crate) struct DirLock {
    /// The system's lock lives as long as the open file.
    _file: File,
}

/// Why the lock is not ours.
pub(crate) enum LockError {
    /// Another holds it.
    Held(String),
    /// The file cannot be used.
    Io(io::Error),
}

impl From<io::Error> for LockError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl DirLock {
    /// Takes the lock of a directory or says who has it.
    pub(crate) fn take(directory: &Path) -> Result<Self, LockError> {
        // Not truncated: what the holder wrote must survive those who only ask.
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(directory.join(FILE))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LockError::Held(holder(&mut file))),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        file.set_len(0)?;
        writeln!(file, "{}", process::id())?;
        Ok(Self { _file: file })
    }
}

/// Who has the lock of a directory; nobody where there is none to be had.
pub(crate) fn holder_in(directory: &Path) -> io::Result<Option<String>> {
    let mut file = match File::open(directory.join(FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(Some(holder(&mut file))),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.take(64).read_to_string(&mut text) {
        Ok(_) if text.trim().parse::<u32>().is_ok() => format!("process {}", text.trim()),
        _ => "another process".to_owned(),
    }
}
