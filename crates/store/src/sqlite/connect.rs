//! Connections and their pragmas (`reliability.md` 13).

use std::{
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

/// How long a statement waits for another process.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const CACHED_STATEMENTS: usize = 64;

/// A connection for one thread on disk; in memory, where a database has just one, the readers and the writer share it.
pub(super) type SharedConnection = Arc<Mutex<Connection>>;

/// Makes a connection ready for a thread.
pub(super) fn share(connection: Connection) -> SharedConnection {
    Arc::new(Mutex::new(connection))
}

/// Takes a connection over. A panic elsewhere left it usable: what was open was rolled back on the way.
pub(super) fn lock(connection: &SharedConnection) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a connection that writes, to a file that exists.
pub(super) fn writing(file: &Path) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    prepare(&connection)?;
    use_log(&connection)?;
    // Checkpoints have a thread of their own, also the one at the end.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "cache_size", -16 * 1024)?;
    set_synchronous(&connection, true)?;
    Ok(connection)
}

/// Opens a connection that only reads.
pub(super) fn reading(file: &Path) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    prepare(&connection)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "mmap_size", 128 * 1024 * 1024)?;
    connection.pragma_update(None, "cache_size", -4 * 1024)?;
    Ok(connection)
}

/// Opens a file that nobody changes meanwhile and that has no log: nothing is made beside it, not even for a moment.
pub(super) fn immutable(file: &Path) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(uri(file), flags)?;
    prepare(&connection)?;
    Ok(connection)
}

/// A path as a URI, whatever stands in it.
fn uri(file: &Path) -> String {
    let bytes = file.as_os_str().as_bytes().iter();
    let path: String = bytes
        .map(|&byte| {
            if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect();
    format!("file:{path}?immutable=1")
}

/// Opens a database in memory.
pub(super) fn in_memory() -> Result<Connection, rusqlite::Error> {
    let connection = Connection::open_in_memory()?;
    prepare(&connection)?;
    Ok(connection)
}

/// Whether the next commits are synced before they return. It cannot change within a transaction.
pub(super) fn set_synchronous(
    connection: &Connection,
    synced: bool,
) -> Result<(), rusqlite::Error> {
    let level = if synced { "FULL" } else { "NORMAL" };
    connection.pragma_update(None, "synchronous", level)
}

/// Runs a statement without parameters, prepared once per connection.
pub(super) fn execute(connection: &Connection, sql: &str) -> Result<usize, rusqlite::Error> {
    connection.prepare_cached(sql)?.execute([])
}

fn prepare(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")
}

/// Turns on the write-ahead log. Two processes that do so at once are refused without waiting, hence the loop.
fn use_log(connection: &Connection) -> Result<(), rusqlite::Error> {
    let give_up = Instant::now() + BUSY_TIMEOUT;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < give_up =>
            {
                thread::sleep(Duration::from_millis(20));
            }
            result => return result,
        }
    }
}
