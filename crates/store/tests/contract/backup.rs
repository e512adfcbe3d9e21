//! Copies of a store: written beside a running server, looked through, put into a directory.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use domain::Span;
use store::{BackupError, Durability, Existing, Options, Restored};
use tempfile::TempDir;

use crate::{
    disk::{assert_kept, commit},
    id, models, scope,
};

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn options(&self, name: &str) -> Options {
        Options {
            data_dir: self.path(name),
            durability: Durability::Standard,
            min_free_mib: 0,
        }
    }

    /// Everything in the place itself, by name.
    fn names(&self) -> Vec<String> {
        names(self.0.path())
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn unwatched(_: u64, _: u64) {}

fn back_up(options: &Options, to: &Path) -> Result<u64, BackupError> {
    store::back_up(options, to, Existing::Stays, &unwatched)
}

fn restore(from: &Path, options: &Options, existing: Existing) -> Result<Restored, BackupError> {
    store::restore(&store::look_into(from)?, options, existing, &unwatched)
}

/// A closed store with so many spans, and a copy of it.
async fn copied(place: &Place, count: usize) -> (Options, PathBuf, Vec<Span>) {
    let options = place.options("a");
    let stores = store::open(&options).await.unwrap();
    let kept = commit(&stores, count).await;
    stores.store.close().await;
    let file = place.path("copy");
    back_up(&options, &file).unwrap();
    (options, file, kept)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_beside_writers_has_everything_that_was_kept_before_it() {
    let (place, is_over) = (Place::new(), Arc::new(AtomicBool::new(false)));
    let options = place.options("a");
    let stores = Arc::new(store::open(&options).await.unwrap());
    let writers: Vec<_> = (0..8)
        .map(|_| {
            let (stores, is_over) = (stores.clone(), is_over.clone());
            tokio::spawn(async move {
                let mut count = 0;
                while !is_over.load(Ordering::SeqCst) {
                    count += commit(&stores, 5).await.len();
                }
                count
            })
        })
        .collect();
    let kept = commit(&stores, 50).await;
    let file = place.path("copy");
    let copying = tokio::task::spawn_blocking({
        let (options, file) = (options.clone(), file.clone());
        move || back_up(&options, &file).unwrap()
    });
    let bytes = copying.await.unwrap();
    is_over.store(true, Ordering::SeqCst);
    let mut written = 0;
    for writer in writers {
        written += writer.await.unwrap();
    }

    let other = place.options("b");
    let restored = restore(&file, &other, Existing::Stays).unwrap();

    assert!(written > 0 && restored.aside.is_none());
    assert_eq!(bytes, fs::metadata(&file).unwrap().len());
    let again = store::open(&other).await.unwrap();
    assert!(!again.is_new);
    assert_kept(&again, &kept).await;
}

#[tokio::test]
async fn a_copy_is_one_file_for_its_owner_alone_and_so_is_what_is_restored() {
    let place = Place::new();
    let (_, file, kept) = copied(&place, 3).await;
    let other = place.options("b");

    restore(&file, &other, Existing::Stays).unwrap();

    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(place.names(), ["a", "b", "copy"]);
    assert_eq!(names(&other.data_dir), ["gatewright.db", "gatewright.lock"]);
    let database = other.data_dir.join("gatewright.db");
    assert_eq!(
        [mode(&file), mode(&database), mode(&other.data_dir)],
        [0o600, 0o600, 0o700]
    );
    assert_kept(&store::open(&other).await.unwrap(), &kept).await;
}

#[tokio::test]
async fn a_copy_tells_how_far_it_is_and_which_keys_are_sealed_in_it() {
    let place = Place::new();
    let options = place.options("a");
    let stores = store::open(&options).await.unwrap();
    let mut model = models::new(id(), "mine");
    model.sealed_key = Some(b"sealed".to_vec());
    stores.store.insert_model(&model).await.unwrap();
    let (file, told) = (place.path("copy"), AtomicU64::new(0));
    let watch = |done: u64, of: u64| {
        assert!(done <= of);
        told.fetch_max(of, Ordering::SeqCst);
    };

    store::back_up(&options, &file, Existing::Stays, &watch).unwrap();
    let backup = store::look_into(&file).unwrap();

    assert!(told.load(Ordering::SeqCst) > 0);
    let [key] = &backup.sealed[..] else {
        panic!("{backup:?}")
    };
    assert_eq!(
        (key.project, key.model, key.name.as_str(), &key.sealed[..]),
        (model.project, model.id, "mine", &b"sealed"[..])
    );
    assert!(!format!("{backup:?}").contains("115"), "{backup:?}");
}

#[tokio::test]
async fn a_copy_that_cannot_be_written_leaves_nothing_behind() {
    let place = Place::new();
    let options = place.options("a");
    let stores = store::open(&options).await.unwrap();
    commit(&stores, 1).await;
    fs::write(place.path("taken"), "mine").unwrap();

    for (to, words) in [
        (place.path("taken"), "exists already"),
        (place.path("a"), "it is a folder"),
        (place.path("nowhere/copy"), "No such file"),
        (PathBuf::from("/dev/null"), "no plain file"),
        (place.path("a/gatewright.db"), "exists already"),
        (place.path("a/gatewright.db-journal"), "its own files"),
        (place.path("a/master.key"), "its own files"),
    ] {
        let refused = back_up(&options, &to).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
    let own = options.data_dir.join("gatewright.db");
    let refused = store::back_up(&options, &own, Existing::Gives, &unwatched).unwrap_err();
    let missing = back_up(&place.options("c"), &place.path("copy")).unwrap_err();

    assert!(refused.to_string().contains("its own files"), "{refused}");
    assert!(matches!(missing, BackupError::Nothing { .. }), "{missing}");
    assert_eq!(place.names(), ["a", "taken"]);
    assert_eq!(fs::read(place.path("taken")).unwrap(), b"mine");
    assert!(
        !names(&options.data_dir)
            .iter()
            .any(|name| name.contains("partial"))
    );
}

#[tokio::test]
async fn a_name_that_is_taken_gives_way_when_that_is_asked_for() {
    let place = Place::new();
    let (options, file, kept) = copied(&place, 2).await;
    fs::write(&file, "something else").unwrap();
    // What a copy left that was killed is written over.
    fs::write(place.path("copy.partial"), "x".repeat(100_000)).unwrap();

    store::back_up(&options, &file, Existing::Gives, &unwatched).unwrap();

    assert_eq!(place.names(), ["a", "copy"]);
    let other = place.options("b");
    restore(&file, &other, Existing::Stays).unwrap();
    assert_kept(&store::open(&other).await.unwrap(), &kept).await;
}

#[tokio::test]
async fn nothing_is_restored_over_a_server_or_a_database() {
    let place = Place::new();
    let (_, file, _) = copied(&place, 1).await;
    let other = place.options("b");
    let stores = store::open(&other).await.unwrap();
    let kept = commit(&stores, 1).await;

    let beside = restore(&file, &other, Existing::Gives).unwrap_err();
    stores.store.close().await;
    let before = names(&other.data_dir);
    let over = restore(&file, &other, Existing::Stays).unwrap_err();

    assert!(matches!(beside, BackupError::InUse { .. }), "{beside}");
    assert!(beside.to_string().contains("a server, process"), "{beside}");
    assert!(matches!(over, BackupError::Occupied { .. }), "{over}");
    assert_eq!(names(&other.data_dir), before);
    assert_kept(&store::open(&other).await.unwrap(), &kept).await;
}

#[tokio::test]
async fn a_database_that_gives_way_is_kept_aside() {
    let place = Place::new();
    let (_, file, kept) = copied(&place, 2).await;
    let other = place.options("b");
    let stores = store::open(&other).await.unwrap();
    let own = commit(&stores, 2).await;
    drop(stores);

    let first = restore(&file, &other, Existing::Gives).unwrap();
    let second = restore(&file, &other, Existing::Gives).unwrap();

    let aside = first.aside.unwrap();
    assert_ne!(second.aside.unwrap(), aside);
    let again = store::open(&other).await.unwrap();
    assert_kept(&again, &kept).await;
    let gone = again.store.span(scope(own[0].project), own[0].id).await;
    assert_eq!(gone.unwrap(), None);
    let old = place.options("c");
    restore(&aside, &old, Existing::Stays).unwrap();
    assert_kept(&store::open(&old).await.unwrap(), &own).await;
}

#[tokio::test]
async fn a_damaged_database_gives_way_with_its_log() {
    let place = Place::new();
    let (_, file, kept) = copied(&place, 2).await;
    let other = place.options("b");
    fs::create_dir(&other.data_dir).unwrap();
    for (name, text) in [
        ("gatewright.db", "no database"),
        ("gatewright.db-wal", "no log"),
    ] {
        fs::write(other.data_dir.join(name), text.repeat(1000)).unwrap();
    }

    let restored = restore(&file, &other, Existing::Gives).unwrap();

    assert!(
        restored
            .aside
            .unwrap()
            .ends_with("gatewright.db.before-restore-1")
    );
    assert_eq!(
        names(&other.data_dir),
        [
            "gatewright.db",
            "gatewright.db.before-restore-1",
            "gatewright.db.before-restore-1-wal",
            "gatewright.lock"
        ]
    );
    assert_kept(&store::open(&other).await.unwrap(), &kept).await;
}

#[tokio::test]
async fn what_is_no_sound_copy_is_refused_and_touches_nothing() {
    let place = Place::new();
    let (options, file, _) = copied(&place, 200).await;
    let sound = fs::read(&file).unwrap();
    let put = |name: &str, bytes: &[u8]| {
        fs::write(place.path(name), bytes).unwrap();
        place.path(name)
    };
    let (mut newer, mut damaged) = (sound.clone(), sound.clone());
    // The schema's number stands in bytes 60 to 63 of the file.
    newer[60..64].copy_from_slice(&1000_u32.to_be_bytes());
    let middle = damaged.len() / 2;
    damaged[middle..middle + 8192].fill(0x5a);
    let foreign = rusqlite::Connection::open(place.path("foreign")).unwrap();
    foreign
        .execute_batch("CREATE TABLE a (x); PRAGMA user_version = 1")
        .unwrap();
    drop(foreign);
    let _served = store::open(&options).await.unwrap();
    let other = place.options("b");

    for (from, words) in [
        (
            put("text", b"no database at all, and long enough to be asked"),
            "no database at all",
        ),
        (put("empty", b""), "holds something else"),
        (
            put("newer", &newer),
            "a newer Gatewright wrote it: its schema is number 1000",
        ),
        (put("damaged", &damaged), "it is damaged"),
        (put("cut", &sound[..sound.len() / 2]), "it is damaged"),
        (place.path("foreign"), "holds something else"),
        (place.path("missing"), "No such file"),
        (place.path("a"), "it is no file"),
        (options.data_dir.join("gatewright.db"), "a database in use"),
    ] {
        let refused = restore(&from, &other, Existing::Gives).unwrap_err();

        assert!(matches!(refused, BackupError::Unusable { .. }), "{refused}");
        assert!(refused.to_string().contains(words), "{refused}");
    }
    assert!(!other.data_dir.exists());
}

#[tokio::test]
async fn an_inspection_tells_what_is_there_and_leaves_no_trace() {
    let place = Place::new();
    let options = place.options("a");
    let nothing = store::inspect(&options).unwrap();
    let stores = store::open(&options).await.unwrap();
    commit(&stores, 2).await;
    let newest = commit(&stores, 1).await.remove(0);

    let served = store::inspect(&options).unwrap();
    stores.store.close().await;
    let before = names(&options.data_dir);
    let closed = store::inspect(&options).unwrap();

    assert!(nothing.holder.is_none() && nothing.database.is_none());
    assert!(served.holder.unwrap().starts_with("process "));
    assert_eq!(closed.holder, None);
    assert_eq!(names(&options.data_dir), before);
    for database in [served.database.unwrap(), closed.database.unwrap()] {
        assert_eq!(database.schema, database.known);
        assert_eq!((database.complaint, database.tokens), (None, 0));
        assert_eq!(database.newest_span, newest.start_time);
    }
}

#[tokio::test]
async fn an_inspection_finds_damage() {
    let place = Place::new();
    let (options, ..) = copied(&place, 200).await;
    let file = options.data_dir.join("gatewright.db");
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8192].fill(0x5a);
    fs::write(&file, bytes).unwrap();

    let found = store::inspect(&options);

    let complaint = match found {
        Ok(found) => found.database.unwrap().complaint,
        Err(error) => Some(error.to_string()),
    };
    assert!(complaint.is_some());
}
