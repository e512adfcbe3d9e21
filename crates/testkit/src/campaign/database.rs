//! The database of a data directory, judged by another build of SQLite: the one that Python brings.
//!
//! What is looked at is a copy, so that a log is left to be recovered by the server itself.

use std::{fs, path::Path, process::Command};

use super::Failure;

/// What there is in a database.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Database {
    /// What `PRAGMA integrity_check` says; `ok` is all that it should.
    pub integrity: String,
    /// Spans.
    pub spans: u64,
    /// Spans that are not closed.
    pub open: u64,
}

const LOOK: &str = "
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
one = lambda sql: database.execute(sql).fetchone()[0]
print(one('PRAGMA integrity_check'))
print(one('SELECT count(*) FROM spans'))
print(one('SELECT count(*) FROM spans WHERE open = 1'))
";

impl Database {
    /// Looks at the database of a data directory whose server does not write.
    pub fn look(data_dir: &Path) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let file = "gatewright.db";
        fs::copy(data_dir.join(file), folder.path().join(file))?;
        let log = data_dir.join(format!("{file}-wal"));
        if log.exists() {
            fs::copy(log, folder.path().join(format!("{file}-wal")))?;
        }
        let looked = Command::new("python3")
            .args(["-c", LOOK])
            .arg(folder.path().join(file))
            .output()?;
        let said = String::from_utf8_lossy(&looked.stdout);
        let lines: Vec<&str> = said.lines().collect();
        let [integrity, spans, open] = lines[..] else {
            let why = String::from_utf8_lossy(&looked.stderr);
            return Err(format!("the database cannot be read: {said}{why}").into());
        };
        Ok(Self {
            integrity: integrity.to_owned(),
            spans: spans.parse()?,
            open: open.parse()?,
        })
    }
}
