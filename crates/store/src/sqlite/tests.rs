//! What holds of the whole schema: an old database reads on, and queries find their rows by an index.

use domain::{
    Definition, Function, FunctionName, Json, ProjectScope, Revision, Settings, Span, SpanKind,
    Timestamp, Token, TokenId,
    seams::{DatasetStore, FunctionStore, Ids, RandomIds, SpanStore},
};

use super::{datasets::changes, *};

/// Rows as the first version of the schema had them, most ids all zeros.
const VERSION_ONE: &str = r#"
    INSERT INTO functions VALUES (zeroblob(16), zeroblob(16), 'greet', NULL, zeroblob(16), zeroblob(16), 1, 5);
    INSERT INTO revisions VALUES (zeroblob(16), zeroblob(16), 1, 'Greet.', NULL, 'true', NULL, '{"own":1.0}', 6);
    INSERT INTO datasets VALUES (zeroblob(16), zeroblob(16), zeroblob(16), 5);
    INSERT INTO spans VALUES
        (zeroblob(16), zeroblob(16), zeroblob(16), NULL, 'greet', 'generation', 7, 8, NULL, '{"a":1.0}', '1', '2');
    INSERT INTO spans VALUES
        (zeroblob(16), randomblob(16), zeroblob(16), zeroblob(16), 'greet', 'other', 9, NULL, 'broke', '{}', NULL,
         NULL);
"#;

/// A dataset whose fourth change was a deletion, its fifth an entry.
const VERSION_THREE: &str = "
    INSERT INTO datasets VALUES (zeroblob(16), zeroblob(16), zeroblob(16), 5, 5, 4);
    INSERT INTO entries VALUES (zeroblob(16), zeroblob(16), 5, 5, 5, NULL, '1', '2', NULL, NULL, NULL);
";

fn nil<T: From<uuid::Uuid>>() -> T {
    uuid::Uuid::nil().into()
}

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

fn scope() -> ProjectScope {
    let token = Token {
        id: TokenId::new("a"),
        hash: [0; 32],
        project: nil(),
        label: None,
        created_at: at(0),
        expires_at: None,
        revoked_at: None,
        calls_per_minute: None,
    };
    domain::Principal::of(&token).scope()
}

fn upgraded() -> Sqlite {
    upgraded_from(1, VERSION_ONE)
}

/// A database that so many migrations made, with these rows.
fn upgraded_from(version: usize, rows: &str) -> Sqlite {
    let mut connection = connect::in_memory().unwrap();
    migrate::run(&mut connection, &migrate::MIGRATIONS[..version]).unwrap();
    connection.execute_batch(rows).unwrap();
    assert!(!migrate::migrate(&mut connection).unwrap());
    let connection = connect::share(connection);
    Sqlite::start(Parts {
        writer: Arc::clone(&connection),
        readers: vec![connection],
        checkpointer: None,
        durability: Durability::Strict,
        space: None,
        unclean: None,
        lock: None,
    })
    .unwrap()
}

fn first_span() -> Span {
    Span {
        id: nil(),
        project: nil(),
        name: "greet".to_owned(),
        kind: Some(SpanKind::GENERATION),
        trace_id: nil(),
        parent_id: None,
        start_time: Some(at(7)),
        end_time: Some(at(8)),
        input: Some(Json::of(&1)),
        output: Some(Json::of(&2)),
        error: None,
        meta: Json::parse(r#"{"a":1.0}"#).unwrap(),
        score: None,
        feedback: None,
    }
}

#[tokio::test]
async fn spans_of_the_first_version_read_on() {
    let store = upgraded();

    let spans = store.spans_below(scope(), nil(), 100).await.unwrap();
    let interrupted = store.interrupt_open_spans(at(99)).await.unwrap();

    let first = first_span();
    let second = Span {
        id: spans[1].id,
        kind: Some(SpanKind::new("other")),
        parent_id: Some(first.id),
        start_time: Some(at(9)),
        end_time: None,
        input: None,
        output: None,
        error: Some("broke".to_owned()),
        meta: Json::parse("{}").unwrap(),
        ..first.clone()
    };
    assert_eq!(spans, [first, second]);
    assert_eq!(interrupted, 0);
}

#[tokio::test]
async fn functions_of_the_first_version_read_on() {
    let store = upgraded();
    let function = Function {
        id: nil(),
        project: nil(),
        name: FunctionName::parse("greet").unwrap(),
        description: None,
        dataset_id: nil(),
        dataset_version: 0,
        revision_id: nil(),
        version: 1,
        created_at: at(5),
    };
    let revision = Revision {
        id: nil(),
        function_id: nil(),
        definition: Definition {
            instructions: "Greet.".to_owned(),
            input_schema: None,
            output_schema: Some(Json::of(&true)),
            model: None,
            configuration: Settings::parse(serde_json::from_str(r#"{"own":1.0}"#).unwrap())
                .unwrap(),
        },
        created_at: at(6),
    };

    let found = store.function(scope(), nil()).await.unwrap();
    let equal = store
        .revision_with(scope(), nil(), &revision.definition)
        .await
        .unwrap();
    let changes = store.entry_changes(scope(), nil(), 0, 9, None).await;

    assert_eq!((found, equal), (Some(function), Some(revision)));
    assert_eq!(changes.unwrap().version, 0);
}

#[tokio::test]
async fn deletions_of_the_third_version_are_not_told_one_by_one() {
    let store = upgraded_from(3, VERSION_THREE);
    let told = async |since| {
        let changes = store.entry_changes(scope(), nil(), since, 9, None).await;
        let changes = changes.unwrap();
        (changes.entries.len(), changes.deleted, changes.are_all)
    };

    assert_eq!(told(3).await, (1, vec![], true));
    assert_eq!(told(4).await, (1, vec![], false));
    store.delete_entry(scope(), nil(), nil()).await.unwrap();

    assert_eq!(told(3).await, (0, vec![], true));
    assert_eq!(told(4).await, (0, vec![nil()], false));
}

#[tokio::test]
async fn a_span_of_the_first_version_may_be_forgotten_and_written_anew() {
    let store = upgraded();
    let mut bare = first_span();
    bare.kind = None;
    bare.start_time = None;
    bare.trace_id = RandomIds.next().into();

    assert!(store.delete_span(scope(), bare.id).await.unwrap());
    let write = domain::SpanWrite::Begin(bare.clone());
    store.commit_spans(vec![write]).await.unwrap();

    assert_eq!(store.span(scope(), bare.id).await.unwrap(), Some(bare));
}

/// Rows of the fifth version, all of one project: two spans with everything that can be added to one.
const VERSION_FIVE: &str = r#"
    INSERT INTO spans (project_id, id, trace_id, name, start_time, meta, input, output, error, open) VALUES
        (zeroblob(16), zeroblob(16), zeroblob(16), 'åb', 7, '{"a":1.0}', '"ü"', '2', 'broke', 0),
        (zeroblob(16), randomblob(16), zeroblob(16), 'open', 8, '{}', NULL, NULL, NULL, 1);
    INSERT INTO notes (project_id, span_id, changed, observations, feedback_comment, name, meta, error, input, output)
        VALUES (zeroblob(16), zeroblob(16), 1, 'öl', 'x', 'named', '{}', 'no', '1', '[2]');
    INSERT INTO metrics (id, project_id, span_id, dimension, value, comment, created_at) VALUES
        (randomblob(16), zeroblob(16), zeroblob(16), 'größe', 1.0, 'so', 9);
"#;

#[tokio::test]
async fn spans_of_the_fifth_version_are_summed_up_as_new_ones_are_and_can_be_forgotten() {
    let (old, new) = (
        upgraded_from(5, VERSION_FIVE),
        upgraded_from(6, VERSION_FIVE),
    );
    let all = domain::SpanBounds {
        since: Some(at(99)),
        max_bytes: None,
    };

    let sum = old.span_bytes(nil()).await.unwrap();
    let forgotten = old.forget_spans(nil(), all, 9).await.unwrap();

    assert_eq!(sum, new.span_bytes(nil()).await.unwrap());
    assert!(sum > 2 * 256 + 128 + 192, "{sum}");
    assert_eq!(forgotten, 1);
    let open = old.span_bytes(nil()).await.unwrap();
    assert_eq!(open, 256 + 4 + 2);
}

#[test]
fn queries_find_their_rows_by_an_index() {
    let mut connection = connect::in_memory().unwrap();
    migrate::migrate(&mut connection).unwrap();

    for (sql, index) in [
        (spans::INTERRUPT.to_owned(), "spans_open"),
        (spans::CHILDREN.to_owned(), "COVERING INDEX spans_by_parent"),
        (spans::BY_ID.to_owned(), "sqlite_autoindex_spans_1"),
        (retention::OLDEST.to_owned(), "spans_by_age"),
        (metrics::PAGE.to_owned(), "metrics_by_span"),
        (metrics::FORGET.to_owned(), "metrics_by_span"),
        (changes::CHANGES.to_owned(), "(dataset_id=? AND version>?)"),
        (
            changes::DELETIONS.to_owned(),
            "(dataset_id=? AND version>?)",
        ),
        (changes::SURPLUS.to_owned(), "(dataset_id=?)"),
        (changes::FORGET.to_owned(), "(dataset_id=? AND version<?)"),
        (datasets::in_order(), "(dataset_id=?)"),
        (revisions::with(), "revisions_by_digest"),
    ] {
        let mut statement = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        let mut rows = statement.raw_query();
        let mut plan = String::new();
        while let Some(row) = rows.next().unwrap() {
            plan += &row.get::<_, String>(3).unwrap();
            plan.push('\n');
        }
        assert!(plan.contains(index), "{sql}\n{plan}");
        assert!(
            !plan.contains("SCAN ") && !plan.contains("TEMP B-TREE"),
            "{sql}\n{plan}"
        );
    }
}
