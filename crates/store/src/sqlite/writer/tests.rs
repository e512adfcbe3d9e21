//! The writer, run by hand.

use std::{path::Path, sync::atomic::AtomicUsize};

use domain::{
    Json, Project, ProjectName, Span, SpanKind, SpanWrite, Timestamp,
    seams::{Ids, RandomIds},
};
use rusqlite::ffi;
use tempfile::TempDir;

use super::*;
use crate::sqlite::{migrate, queue::Queue};

/// A writer that is run by hand, and the queue before it.
struct Bench {
    writer: Writer,
    queue: Queue<Job>,
    commits: Arc<AtomicUsize>,
    _directory: TempDir,
}

type Answered = oneshot::Receiver<Answer>;

fn bench(durability: Durability) -> Bench {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("test.db");
    std::fs::write(&file, "").unwrap();
    let (queue, jobs) = Queue::new(1000);
    let health = Arc::new(Health::new());
    let connection = connection(&file);
    let commits = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&commits);
    let counting = move || {
        counted.fetch_add(1, Ordering::SeqCst);
        false
    };
    connect::lock(&connection)
        .commit_hook(Some(counting))
        .unwrap();
    let writer = Writer::new(connection, jobs, durability, health, None).unwrap();
    Bench {
        writer,
        queue,
        commits,
        _directory: directory,
    }
}

fn connection(file: &Path) -> SharedConnection {
    let mut connection = connect::writing(file).unwrap();
    migrate::migrate(&mut connection).unwrap();
    connect::share(connection)
}

impl Bench {
    async fn push(&self, write: Write) -> Answered {
        let (answer, answered) = oneshot::channel();
        self.queue.push(Job { write, answer }).await.unwrap();
        answered
    }

    /// Serves what was pushed, as one group.
    fn serve(&mut self) {
        let first = self.writer.jobs.recv().unwrap().take();
        self.writer.serve(first);
    }

    async fn write(&mut self, write: Write) -> Answer {
        let answered = self.push(write).await;
        self.serve();
        answered.await.unwrap()
    }

    fn is_kept(&self, span: &Span) -> bool {
        let connection = connect::lock(&self.writer.connection);
        let mut statement = connection
            .prepare_cached("SELECT 1 FROM spans WHERE id = ?1 AND name = ?2")
            .unwrap();
        statement
            .exists((span.id.uuid().into_bytes(), &span.name))
            .unwrap()
    }
}

fn span(name: &str) -> Span {
    Span {
        id: RandomIds.next().into(),
        project: RandomIds.next().into(),
        name: name.to_owned(),
        kind: Some(SpanKind::GENERATION),
        trace_id: RandomIds.next().into(),
        parent_id: None,
        start_time: Some(Timestamp::from_micros(0)),
        end_time: None,
        input: None,
        output: None,
        error: None,
        meta: Json::parse("{}").unwrap(),
        score: None,
        feedback: None,
    }
}

async fn spans<const N: usize>(spans: [&Span; N]) -> Write {
    written(spans.map(|span| SpanWrite::New(span.clone())).to_vec()).await
}

async fn written(writes: Vec<SpanWrite>) -> Write {
    Write::Spans(Packed::all(writes).await.unwrap())
}

fn change(change: impl FnOnce(&Connection) -> Result<bool, Fault> + Send + 'static) -> Write {
    Write::Change(Box::new(change))
}

fn project() -> Write {
    let project = Project {
        id: RandomIds.next().into(),
        name: ProjectName::parse("a").unwrap(),
        created_at: Timestamp::from_micros(0),
    };
    change(move |connection| {
        let row = (project.id.uuid().into_bytes(), project.name.as_str());
        connection.execute("INSERT INTO projects VALUES (?1, ?2, 0)", row)?;
        Ok(true)
    })
}

fn failing(code: i32) -> Write {
    change(move |_| Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into()))
}

fn synchronous(bench: &Bench) -> i64 {
    connect::lock(&bench.writer.connection)
        .pragma_query_value(None, "synchronous", |row| row.get(0))
        .unwrap()
}

const NORMAL: i64 = 1;
const FULL: i64 = 2;

#[tokio::test]
async fn standard_spans_are_synced_later_and_changes_at_once() {
    let mut bench = bench(Durability::Standard);

    bench.write(spans([&span("a")]).await).await.unwrap();
    let due = bench.writer.sync_due.unwrap();
    assert_eq!(synchronous(&bench), NORMAL);

    bench.write(spans([&span("b")]).await).await.unwrap();
    assert_eq!(bench.writer.sync_due, Some(due));

    bench.write(project()).await.unwrap();
    assert_eq!((bench.writer.sync_due, synchronous(&bench)), (None, FULL));

    bench.write(spans([&span("c")]).await).await.unwrap();
    bench.writer.sync();
    assert_eq!((bench.writer.sync_due, synchronous(&bench)), (None, FULL));
}

#[tokio::test]
async fn a_change_that_was_refused_has_synced_nothing() {
    let mut bench = bench(Durability::Standard);
    bench.write(project()).await.unwrap();
    bench.write(spans([&span("a")]).await).await.unwrap();

    let refused = bench.write(project()).await;

    assert!(matches!(refused, Err(StoreError::Taken)), "{refused:?}");
    assert!(bench.writer.sync_due.is_some());
}

#[tokio::test]
async fn an_overdue_sync_takes_the_next_spans_along() {
    let mut bench = bench(Durability::Standard);
    bench.write(spans([&span("a")]).await).await.unwrap();
    bench.writer.sync_due = Some(Instant::now());

    bench.write(spans([&span("b")]).await).await.unwrap();

    assert_eq!((bench.writer.sync_due, synchronous(&bench)), (None, FULL));
}

#[tokio::test]
async fn strict_spans_are_synced_at_once() {
    let mut bench = bench(Durability::Strict);

    bench.write(spans([&span("a")]).await).await.unwrap();

    assert_eq!((bench.writer.sync_due, synchronous(&bench)), (None, FULL));
}

#[tokio::test]
async fn a_remark_is_synced_as_spans_are() {
    let mut bench = bench(Durability::Standard);
    let Write::Change(change) = project() else {
        unreachable!("a project is a change");
    };

    bench.write(Write::Remark(change)).await.unwrap();

    assert!(bench.writer.sync_due.is_some());
    assert_eq!(synchronous(&bench), NORMAL);
}

#[tokio::test]
async fn a_span_is_begun_and_closed_by_one_statement_each() {
    let mut bench = bench(Durability::Standard);
    let (mut one, two) = (span("begun"), span("other"));
    let commits = bench.commits.load(Ordering::SeqCst);

    let begun = vec![SpanWrite::Begin(one.clone())];
    bench.write(written(begun).await).await.unwrap();
    one.name = "closed".to_owned();
    let closed = vec![SpanWrite::Close(one.clone()), SpanWrite::Begin(two.clone())];
    bench.write(written(closed).await).await.unwrap();

    assert!(bench.is_kept(&one) && bench.is_kept(&two));
    assert_eq!(bench.commits.load(Ordering::SeqCst), commits + 2);
    assert_eq!(synchronous(&bench), NORMAL);
}

#[tokio::test]
async fn a_group_is_one_commit_in_which_each_stands_alone() {
    let mut bench = bench(Durability::Standard);
    bench.write(project()).await.unwrap();
    let taken = span("taken");
    bench.write(spans([&taken]).await).await.unwrap();
    let commits = bench.commits.load(Ordering::SeqCst);
    let (one, two, three, lost) = (span("one"), span("two"), span("three"), span("lost"));

    let mut answers = Vec::new();
    for write in [
        spans([&one]).await,
        spans([&taken]).await,
        spans([&lost, &taken]).await,
        project(),
        change(|_| panic!("a bug")),
        spans([&two, &three]).await,
    ] {
        answers.push(bench.push(write).await);
    }
    bench.serve();

    let mut told = Vec::new();
    for answer in answers {
        told.push(match answer.await.unwrap() {
            Ok(_) => "kept",
            Err(StoreError::Taken) => "taken",
            Err(_) => "failed",
        });
    }
    assert_eq!(told, ["kept", "taken", "taken", "taken", "failed", "kept"]);
    assert_eq!(bench.commits.load(Ordering::SeqCst), commits + 1);
    for (span, kept) in [(one, true), (two, true), (three, true), (lost, false)] {
        assert_eq!(bench.is_kept(&span), kept, "{}", span.name);
    }
}

#[tokio::test]
async fn after_a_failed_sync_nothing_is_written_any_more() {
    let mut bench = bench(Durability::Standard);
    let (beside, later) = (span("beside"), span("later"));

    let beside_answer = bench.push(spans([&beside]).await).await;
    let failed = bench.push(failing(ffi::SQLITE_IOERR_FSYNC)).await;
    bench.serve();
    let later_answer = bench.write(spans([&later]).await).await;

    for answer in [
        beside_answer.await.unwrap(),
        failed.await.unwrap(),
        later_answer,
        bench.writer.health.check().map(|()| true),
    ] {
        assert!(
            matches!(answer, Err(StoreError::Unavailable(_))),
            "{answer:?}"
        );
    }
    assert!(!bench.is_kept(&beside) && !bench.is_kept(&later));
}

#[tokio::test]
async fn a_full_disk_refuses_and_is_forgotten_when_there_is_space() {
    let mut bench = bench(Durability::Standard);
    let (before, after) = (span("before"), span("after"));
    let mut large = span("large");
    large.error = Some("x".repeat(1_000_000));
    bench.write(spans([&before]).await).await.unwrap();
    let limit = |pages: &'static str| {
        change(move |connection| {
            connection
                .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(true))
                .map_err(Fault::from)
        })
    };

    bench.write(limit("100")).await.unwrap();
    let refused = bench.write(spans([&large]).await).await;
    bench.write(limit("100000")).await.unwrap();
    bench.write(spans([&after]).await).await.unwrap();

    assert!(matches!(refused, Err(StoreError::Full(_))), "{refused:?}");
    assert!(bench.is_kept(&before) && bench.is_kept(&after) && !bench.is_kept(&large));
}
