//! Where data and secrets lie: who may read them, and how much room is left.

use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use rustix::{
    fs::{Access, StatVfsMountFlags, access, statvfs},
    io::Errno,
};

use super::{finding::Finding, size};
use crate::config::{Config, MasterKeySource};

const PERMISSIONS: &str = "permissions";
const SPACE: &str = "disk space";
/// A day of many calls may take as much.
const LITTLE: u64 = 4 << 30;
/// All bits of those who do not own a file.
const OTHERS: u32 = 0o077;
/// That they may write it.
const OTHERS_WRITE: u32 = 0o022;

/// Looks at the data directory, and at the files that the configuration names.
pub(super) fn look(config: &Config, file: Option<&Path>) -> Vec<Finding> {
    let directory = &config.options.store.data_dir;
    let mut findings = match fs::metadata(directory) {
        Ok(found) => closed(directory, &found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => vec![Finding::ok(
            PERMISSIONS,
            format!(
                "there is no {} yet; the first start makes it",
                directory.display()
            ),
        )],
        Err(error) => vec![Finding::fail(
            PERMISSIONS,
            format!("{} cannot be looked at: {error}", directory.display()),
            "run this as the user that the server runs as",
        )],
    };
    findings.extend(file.and_then(written_by_others));
    findings.extend(key_file(&config.master_key));
    findings.push(space(
        directory,
        config.options.store.min_free_mib.saturating_mul(1 << 20),
    ));
    findings
}

/// The folder and every file in it.
fn closed(directory: &Path, found: &Metadata) -> Vec<Finding> {
    if !found.is_dir() {
        return vec![Finding::fail(
            PERMISSIONS,
            format!("{} is no folder", directory.display()),
            "give another one with `store.data_dir`",
        )];
    }
    let mut open = Vec::new();
    let mut note = |path: &Path, found: &Metadata, right: &str| {
        let mode = found.permissions().mode() & 0o777;
        if mode & OTHERS != 0 {
            let path = path.display();
            open.push(Finding::fail(
                PERMISSIONS,
                format!("{path} has mode {mode:03o}: others on this machine get at it"),
                format!("`chmod {right} {path}`"),
            ));
        }
    };
    note(directory, found, "700");
    let mut count = 0;
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if let Ok(found) = entry.metadata()
            && found.is_file()
        {
            count += 1;
            note(&entry.path(), &found, "600");
        }
    }
    // A disk that nobody can write is told as such.
    if access(directory, Access::WRITE_OK | Access::EXEC_OK) == Err(Errno::ACCESS) {
        open.push(Finding::fail(
            PERMISSIONS,
            format!("{} cannot be written by this user", directory.display()),
            format!(
                "it belongs to the user {}; run the server as that one, or `chown` it",
                found.uid()
            ),
        ));
    }
    if open.is_empty() {
        open.push(Finding::ok(
            PERMISSIONS,
            format!(
                "{} and its {count} files are their owner's alone",
                directory.display()
            ),
        ));
    }
    open
}

fn written_by_others(file: &Path) -> Option<Finding> {
    let mode = fs::metadata(file).ok()?.permissions().mode() & 0o777;
    (mode & OTHERS_WRITE != 0).then(|| {
        let file = file.display();
        Finding::fail(
            PERMISSIONS,
            format!(
                "{file} has mode {mode:03o}: others on this machine can change the configuration"
            ),
            format!("`chmod go-w {file}`"),
        )
    })
}

/// A key file of the operator's own place: a mounted one may have a mode that its owner cannot choose.
fn key_file(source: &MasterKeySource) -> Option<Finding> {
    let MasterKeySource::File(path) = source else {
        return None;
    };
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    (mode & OTHERS != 0).then(|| {
        let path = path.display();
        Finding::warn(
            PERMISSIONS,
            format!("{path} has mode {mode:03o}: others on this machine may read the master key"),
            format!("`chmod 600 {path}`, where it is not mounted so"),
        )
    })
}

/// The room on the disk that the data is on, or will be.
fn space(directory: &Path, mark: u64) -> Finding {
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let existing = absolute.ancestors().find(|path| path.exists());
    let disk = match statvfs(existing.unwrap_or(Path::new("/"))) {
        Ok(disk) => disk,
        Err(error) => {
            let found = format!("it cannot be told for {}: {error}", directory.display());
            return Finding::warn(SPACE, found, "look with `df`");
        }
    };
    if disk.f_flag.contains(StatVfsMountFlags::RDONLY) {
        let found = format!(
            "{} is on a disk that is mounted read-only",
            directory.display()
        );
        return Finding::fail(SPACE, found, "mount it with `rw`, and look why it was not");
    }
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let told = format!("{} free for {}", size(free), directory.display());
    let is_out_of_files = disk.f_files > 0 && disk.f_favail == 0;
    if is_out_of_files {
        let found = format!("{told}, and not one more file can be made");
        return Finding::fail(SPACE, found, "delete files: the disk has no inodes left");
    }
    if free < mark {
        return Finding::fail(
            SPACE,
            format!(
                "{told}: calls are refused below {} (`store.min_free_mib`)",
                size(mark)
            ),
            "make room, or move the data directory; `[spans]` bounds what is kept",
        );
    }
    if free < LITTLE {
        return Finding::warn(
            SPACE,
            format!(
                "{told}: calls are refused below {} (`store.min_free_mib`)",
                size(mark)
            ),
            "make room before it comes to that, or bound what is kept with `[spans]`",
        );
    }
    Finding::ok(SPACE, told)
}
