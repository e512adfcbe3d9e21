//! What holds on disk alone: who may open a data directory, and what is in it after an end of any kind.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process};

use domain::{Json, Project, ProjectName, Span, SpanWrite};
use store::{Durability, OpenError, Options, Stores};
use tempfile::TempDir;

use crate::{id, scope, second, spans};

fn fresh() -> (TempDir, Options) {
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        data_dir: directory.path().join("a?b/file:c"),
        durability: Durability::Standard,
        min_free_mib: 0,
    };
    (directory, options)
}

/// Commits so many spans, one by one.
pub(crate) async fn commit(stores: &Stores, count: usize) -> Vec<Span> {
    let (project, mut kept) = (id(), Vec::new());
    for _ in 0..count {
        let span = spans::new(project);
        spans::commit(&*stores.store, [&span]).await.unwrap();
        kept.push(span);
    }
    kept
}

/// Reads each of them as it was committed.
pub(crate) async fn assert_kept(stores: &Stores, kept: &[Span]) {
    for span in kept {
        let found = stores
            .store
            .span(scope(span.project), span.id)
            .await
            .unwrap();
        assert_eq!(found.as_ref(), Some(span));
    }
}

fn project(name: &str) -> Project {
    Project {
        id: id(),
        name: ProjectName::parse(name).unwrap(),
        created_at: second(0),
    }
}

#[tokio::test]
async fn a_closed_store_has_everything_in_one_file_when_it_opens_again() {
    let (_directory, options) = fresh();
    let stores = store::open(&options).await.unwrap();
    let kept = commit(&stores, 20).await;

    stores.store.close().await;

    assert!(stores.is_new);
    assert!(!options.data_dir.join("gatewright.db-wal").exists());
    let again = store::open(&options).await.unwrap();
    assert!(!again.is_new);
    assert_kept(&again, &kept).await;
}

#[tokio::test]
async fn a_dropped_store_opens_again_with_everything() {
    let (_directory, options) = fresh();
    let stores = store::open(&options).await.unwrap();
    let kept = commit(&stores, 20).await;

    drop(stores);

    let again = store::open(&options).await.unwrap();
    assert_kept(&again, &kept).await;
}

#[tokio::test]
async fn what_was_acknowledged_is_in_the_files_at_once() {
    let (directory, options) = fresh();
    let stores = store::open(&options).await.unwrap();
    let kept = commit(&stores, 20).await;
    let copy = Options {
        data_dir: directory.path().join("copy"),
        ..options.clone()
    };

    fs::create_dir(&copy.data_dir).unwrap();
    for file in ["gatewright.db", "gatewright.db-wal"] {
        fs::copy(options.data_dir.join(file), copy.data_dir.join(file)).unwrap();
    }

    let as_after_a_crash = store::open(&copy).await.unwrap();
    assert_kept(&as_after_a_crash, &kept).await;
}

#[tokio::test]
async fn what_a_dead_process_began_is_open_until_it_is_interrupted() {
    let (_directory, options) = fresh();
    let stores = store::open(&options).await.unwrap();
    let (mut begun, mut running) = (spans::new(id()), spans::new(id()));
    begun.end_time = None;
    running.end_time = None;
    let writes = vec![
        SpanWrite::Begin(begun.clone()),
        SpanWrite::New(running.clone()),
    ];
    stores.store.commit_spans(writes).await.unwrap();
    drop(stores);

    let again = store::open(&options).await.unwrap();
    assert_kept(&again, &[begun.clone(), running.clone()]).await;
    let interrupted = again.store.interrupt_open_spans(second(5)).await.unwrap();

    assert_eq!(interrupted, 1);
    begun.end_time = Some(second(5));
    begun.error = Some("InternalServerError: interrupted".to_owned());
    begun.meta = Json::parse(r#"{"error_type":"InternalServerError"}"#).unwrap();
    assert_kept(&again, &[begun, running]).await;
}

#[tokio::test]
async fn a_second_server_is_told_who_holds_the_directory() {
    let (_directory, options) = fresh();
    let stores = store::open(&options).await.unwrap();

    let refused = store::open(&options).await.unwrap_err();

    assert!(matches!(refused, OpenError::InUse { .. }), "{refused:?}");
    let holder = format!("process {}", process::id());
    assert!(refused.to_string().contains(&holder), "{refused}");
    stores.store.close().await;
    store::open(&options).await.unwrap();
}

#[tokio::test]
async fn a_command_works_beside_a_server() {
    let (_directory, options) = fresh();
    let server = store::open(&options).await.unwrap();
    let kept = commit(&server, 5).await;

    let command = store::open_shared(&options).await.unwrap();
    let made = project("a");
    command.store.insert_project(&made).await.unwrap();
    assert_kept(&command, &kept).await;
    command.store.close().await;

    assert!(!command.is_new);
    assert_eq!(server.store.projects().await.unwrap(), [made]);
    let kept = commit(&server, 5).await;
    assert_kept(&server, &kept).await;
    store::open(&options).await.unwrap_err();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_may_open_and_write_at_once_but_one_makes_the_database() {
    let (_directory, options) = fresh();
    let commands: Vec<_> = (0..8)
        .map(|number| {
            let options = options.clone();
            tokio::spawn(async move {
                let stores = store::open_shared(&options).await.unwrap();
                let made = project(&format!("p{number}"));
                stores.store.insert_project(&made).await.unwrap();
                stores.is_new
            })
        })
        .collect();

    let mut makers = 0;
    for command in commands {
        makers += u32::from(command.await.unwrap());
    }

    let stores = store::open(&options).await.unwrap();
    assert_eq!(makers, 1);
    assert_eq!(stores.store.projects().await.unwrap().len(), 8);
}

#[tokio::test]
async fn a_newer_directory_is_refused_and_left_alone() {
    let (_directory, options) = fresh();
    store::open(&options).await.unwrap().store.close().await;
    let file = options.data_dir.join("gatewright.db");
    let mut bytes = fs::read(&file).unwrap();
    // The schema's number stands in bytes 60 to 63 of the file.
    bytes[60..64].copy_from_slice(&1000_u32.to_be_bytes());
    fs::write(&file, &bytes).unwrap();

    for refused in [
        store::open(&options).await.unwrap_err(),
        store::open_shared(&options).await.unwrap_err(),
    ] {
        let is_newer = matches!(refused, OpenError::Newer { found: 1000, .. });
        assert!(is_newer, "{refused:?}");
        assert!(refused.to_string().contains("newer"), "{refused}");
    }
    assert_eq!(fs::read(&file).unwrap(), bytes);
}

#[tokio::test]
async fn a_directory_of_the_first_version_is_brought_up_to_date() {
    let (_directory, options) = fresh();
    fs::create_dir_all(&options.data_dir).unwrap();
    let file = options.data_dir.join("gatewright.db");
    let old = rusqlite::Connection::open(&file).unwrap();
    old.execute_batch(include_str!("../../src/sqlite/migrations/0001_start.sql"))
        .unwrap();
    old.execute_batch(
        "INSERT INTO spans VALUES
            (zeroblob(16), zeroblob(16), zeroblob(16), NULL, 'old', 'generation', 1, 2, NULL, '{}', NULL, NULL);
         PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(old);

    let stores = store::open(&options).await.unwrap();
    let nil = uuid::Uuid::nil();
    let found = stores.store.span(scope(nil.into()), nil.into()).await;
    commit(&stores, 1).await;
    stores.store.close().await;

    assert!(!stores.is_new);
    assert_eq!(found.unwrap().unwrap().name, "old");
    let new = rusqlite::Connection::open(&file).unwrap();
    let check = new.pragma_query_value(None, "integrity_check", |row| row.get::<_, String>(0));
    assert_eq!(check.unwrap(), "ok");
}

#[tokio::test]
async fn what_is_no_database_is_refused() {
    let (_directory, options) = fresh();
    fs::create_dir_all(&options.data_dir).unwrap();
    fs::write(options.data_dir.join("gatewright.db"), "x".repeat(10_000)).unwrap();

    let refused = store::open(&options).await.unwrap_err();

    assert!(matches!(refused, OpenError::Database { .. }), "{refused:?}");
    assert!(refused.to_string().contains("not a database"), "{refused}");
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_named() {
    let (directory, mut options) = fresh();
    fs::write(directory.path().join("taken"), "").unwrap();
    options.data_dir = directory.path().join("taken/data");

    let refused = store::open(&options).await.unwrap_err();

    assert!(
        matches!(refused, OpenError::Directory { .. }),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("taken/data"), "{refused}");
}

#[tokio::test]
async fn only_the_owner_reads_the_files() {
    let (_directory, options) = fresh();
    let stores = store::open(&options).await.unwrap();
    commit(&stores, 1).await;

    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&options.data_dir), 0o700);
    let mut files: Vec<_> = fs::read_dir(&options.data_dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_owned(), mode(&path)))
        .collect();
    files.sort();
    let expected = [
        "gatewright.db",
        "gatewright.db-shm",
        "gatewright.db-wal",
        "gatewright.lock",
    ];
    assert_eq!(files, expected.map(|name| (name.into(), 0o600)));
}
