//! What is forgotten of spans, what they take, and long texts.

use std::fs;

use domain::{
    Feedback, Json, Metric, Page, ProjectId, Span, SpanBounds, SpanChange, SpanWrite, Timestamp,
    seams::Store,
};
use store::{Durability, Options};

use crate::{
    House, datasets, id, on_every_backend, scope, second,
    spans::{commit, new},
};

on_every_backend![
    what_began_before_the_bound_goes_and_the_rest_stays,
    the_oldest_go_until_the_rest_fits,
    a_step_forgets_no_more_than_it_may,
    a_step_ends_early_where_spans_are_long,
    another_projects_spans_stay,
    what_is_open_stays_until_it_is_closed,
    a_clients_word_on_the_beginning_changes_nothing,
    what_hangs_at_a_span_goes_with_it_and_examples_stay,
    the_sum_follows_everything_that_becomes_of_a_span,
    long_texts_read_as_they_were_kept_and_take_less,
    a_long_change_lies_over_a_long_record,
];

const NONE: SpanBounds = SpanBounds {
    since: None,
    max_bytes: None,
};

fn since(since: Timestamp) -> SpanBounds {
    SpanBounds {
        since: Some(since),
        ..NONE
    }
}

fn at_most(bytes: u64) -> SpanBounds {
    SpanBounds {
        max_bytes: Some(bytes),
        ..NONE
    }
}

/// A span that began then.
fn begun(project: ProjectId, at: i64) -> Span {
    Span {
        start_time: Some(second(at)),
        ..new(project)
    }
}

/// Which of them are there.
async fn there(store: &dyn Store, spans: &[Span]) -> Vec<bool> {
    let mut there = Vec::new();
    for span in spans {
        let found = store.span(scope(span.project), span.id).await.unwrap();
        there.push(found.is_some());
    }
    there
}

async fn taken(store: &dyn Store, project: ProjectId) -> u64 {
    store.span_bytes(project).await.unwrap()
}

/// Some text that is long, and no two alike.
fn long(seed: &str) -> Json {
    let words: Vec<String> = (0..600)
        .map(|count| format!("{seed} \"å\" {count}"))
        .collect();
    Json::of(&words)
}

async fn what_began_before_the_bound_goes_and_the_rest_stays(store: House) {
    let project = id();
    let mut unknown = begun(project, 0);
    unknown.start_time = None;
    let spans = [
        begun(project, 20),
        begun(project, 9),
        unknown,
        begun(project, 10),
        begun(project, -5),
    ];
    commit(&*store, &spans).await.unwrap();

    let unbound = store.forget_spans(project, NONE, 99).await.unwrap();
    let forgotten = store.forget_spans(project, since(second(10)), 99).await;
    let again = store.forget_spans(project, since(second(10)), 99).await;

    assert_eq!((unbound, forgotten.unwrap(), again.unwrap()), (0, 3, 0));
    assert_eq!(
        there(&*store, &spans).await,
        [true, false, false, true, false]
    );
}

async fn the_oldest_go_until_the_rest_fits(store: House) {
    let project = id();
    let spans = [3, 1, 2, 0].map(|at| begun(project, at));
    commit(&*store, &spans).await.unwrap();
    let each = taken(&*store, project).await / 4;

    let enough = store.forget_spans(project, at_most(4 * each), 99).await;
    let forgotten = store.forget_spans(project, at_most(3 * each - 1), 99).await;

    assert_eq!((enough.unwrap(), forgotten.unwrap()), (0, 2));
    assert_eq!(there(&*store, &spans).await, [true, false, true, false]);
    assert_eq!(taken(&*store, project).await, 2 * each);
    let all = store.forget_spans(project, at_most(0), 99).await.unwrap();
    assert_eq!((all, taken(&*store, project).await), (2, 0));
}

async fn a_step_forgets_no_more_than_it_may(store: House) {
    let project = id();
    let spans: Vec<Span> = (0..5).map(|at| begun(project, at)).collect();
    commit(&*store, &spans).await.unwrap();

    let mut steps = Vec::new();
    for _ in 0..4 {
        steps.push(
            store
                .forget_spans(project, since(second(9)), 2)
                .await
                .unwrap(),
        );
    }

    assert_eq!(steps, [2, 2, 1, 0]);
}

async fn a_step_ends_early_where_spans_are_long(store: House) {
    let project = id();
    let spans: Vec<Span> = (0..3)
        .map(|at| Span {
            error: Some("x".repeat(1_500_000)),
            ..begun(project, at)
        })
        .collect();
    commit(&*store, &spans).await.unwrap();

    let first = store
        .forget_spans(project, since(second(9)), 64)
        .await
        .unwrap();
    let then = store
        .forget_spans(project, since(second(9)), 64)
        .await
        .unwrap();

    assert_eq!((first, then), (1, 1));
}

async fn another_projects_spans_stay(store: House) {
    let (ours, theirs) = (id(), id());
    let mut same_id = begun(theirs, 0);
    let mine = begun(ours, 0);
    same_id.id = mine.id;
    commit(&*store, [&mine, &same_id]).await.unwrap();
    let before = taken(&*store, theirs).await;

    let forgotten = store.forget_spans(ours, at_most(0), 99).await.unwrap();

    assert_eq!(forgotten, 1);
    assert_eq!(there(&*store, &[mine, same_id]).await, [false, true]);
    assert_eq!(taken(&*store, ours).await, 0);
    assert_eq!(taken(&*store, theirs).await, before);
}

async fn what_is_open_stays_until_it_is_closed(store: House) {
    let project = id();
    let mut open = begun(project, 0);
    open.end_time = None;
    let begin = SpanWrite::Begin(open.clone());
    store.commit_spans(vec![begin]).await.unwrap();
    let both = SpanBounds {
        since: Some(second(99)),
        max_bytes: Some(0),
    };

    let while_open = store.forget_spans(project, both, 99).await.unwrap();
    let still = there(&*store, &[open.clone()]).await;
    let close = SpanWrite::Close(open.clone());
    store.commit_spans(vec![close]).await.unwrap();
    let closed = store.forget_spans(project, both, 99).await.unwrap();

    assert_eq!((while_open, still, closed), (0, vec![true], 1));
    assert_eq!(there(&*store, &[open]).await, [false]);
}

async fn a_clients_word_on_the_beginning_changes_nothing(store: House) {
    let project = id();
    let (old, young) = (begun(project, 0), begun(project, 20));
    commit(&*store, [&old, &young]).await.unwrap();
    for (span, then) in [(&old, 20), (&young, 0)] {
        let change = SpanChange {
            start_time: Some(Some(second(then))),
            ..SpanChange::default()
        };
        store
            .change_span(scope(project), span.id, change)
            .await
            .unwrap();
    }

    store
        .forget_spans(project, since(second(10)), 99)
        .await
        .unwrap();

    assert_eq!(there(&*store, &[old, young]).await, [false, true]);
}

async fn what_hangs_at_a_span_goes_with_it_and_examples_stay(store: House) {
    let project = id();
    let function = datasets::made(&store, project).await;
    let entry = datasets::entry(function.dataset_id, "from a span");
    store.insert_entry(scope(project), &entry).await.unwrap();
    let old = begun(project, 0);
    let mut child = begun(project, 20);
    child.parent_id = Some(old.id);
    commit(&*store, [&old, &child]).await.unwrap();
    added_to(&store, &old).await;

    store
        .forget_spans(project, since(second(10)), 99)
        .await
        .unwrap();

    assert_eq!(
        there(&*store, &[old.clone(), child.clone()]).await,
        [false, true]
    );
    let found = store.span(scope(project), child.id).await.unwrap();
    assert_eq!(found.unwrap().parent_id, Some(old.id));
    let kept = store
        .entry(scope(project), function.dataset_id, entry.id)
        .await;
    assert_eq!(kept.unwrap(), Some(entry));
    commit(&*store, [&old]).await.unwrap();
    let anew = store.span(scope(project), old.id).await.unwrap();
    assert_eq!(anew, Some(old.clone()));
    let all = Page {
        offset: 0,
        limit: 9,
    };
    let metrics = store.metrics(scope(project), old.id, all).await.unwrap();
    assert_eq!(metrics.total, 0);
}

/// A change, a rating and a metric.
async fn added_to(store: &House, span: &Span) {
    let scope = scope(span.project);
    let change = SpanChange {
        name: Some("named".to_owned()),
        input: Some(Some(long("changed"))),
        ..SpanChange::default()
    };
    store.change_span(scope, span.id, change).await.unwrap();
    let feedback = Feedback {
        score: 0.5,
        comment: Some("so so".to_owned()),
    };
    store.rate_span(scope, span.id, &feedback).await.unwrap();
    let metric = Metric {
        id: id(),
        span_id: span.id,
        dimension: "speed".to_owned(),
        value: 1.0,
        comment: Some("fast".to_owned()),
        created_at: second(0),
    };
    store.insert_metric(scope, &metric).await.unwrap();
}

async fn the_sum_follows_everything_that_becomes_of_a_span(store: House) {
    let project = id();
    let scope = scope(project);
    let (mut span, other) = (new(project), new(project));
    let begin = SpanWrite::Begin(span.clone());
    store.commit_spans(vec![begin]).await.unwrap();
    let begun = taken(&*store, project).await;
    span.input = Some(Json::of(&"x".repeat(100)));
    span.error = Some("y".repeat(50));
    let close = SpanWrite::Close(span.clone());
    let new = SpanWrite::New(other.clone());
    store.commit_spans(vec![close, new]).await.unwrap();
    let closed = taken(&*store, project).await;

    let refused = commit(&*store, [&other]).await;
    let after_refusal = taken(&*store, project).await;
    added_to(&store, &span).await;
    let added = taken(&*store, project).await;
    let shorter = SpanChange {
        input: Some(None),
        ..SpanChange::default()
    };
    store.change_span(scope, span.id, shorter).await.unwrap();
    let changed = taken(&*store, project).await;
    store.delete_span(scope, span.id).await.unwrap();
    let one_left = taken(&*store, project).await;
    store.delete_span(scope, other.id).await.unwrap();

    assert_eq!(closed, 2 * begun + 102 + 50);
    assert!(refused.is_err());
    assert_eq!(after_refusal, closed);
    assert!(
        added > changed + 400 && changed > closed + 300,
        "{closed} {added} {changed}"
    );
    assert_eq!((one_left, taken(&*store, project).await), (begun, 0));
}

async fn long_texts_read_as_they_were_kept_and_take_less(store: House) {
    let project = id();
    let mut span = new(project);
    span.input = Some(long("one"));
    span.output =
        Some(Json::parse(&format!(r#"{{"a":1.0,"b":"{}"}}"#, "\\u00e9".repeat(500))).unwrap());
    let mut mixed = new(project);
    mixed.input = Some(Json::of(&"short"));
    mixed.output = Some(long("two"));
    mixed.parent_id = Some(span.id);

    commit(&*store, [&span, &mixed]).await.unwrap();

    let below = store.spans_below(scope(project), span.id, 9).await.unwrap();
    assert_eq!(below, [span.clone(), mixed]);
    let bytes = taken(&*store, project).await;
    let plain = span.input.unwrap().text().len();
    assert!(bytes < u64::try_from(plain).unwrap(), "{bytes} {plain}");
}

async fn a_long_change_lies_over_a_long_record(store: House) {
    let project = id();
    let mut span = new(project);
    (span.input, span.output) = (Some(long("in")), Some(long("out")));
    commit(&*store, [&span]).await.unwrap();
    let change = async |input: Option<Json>| {
        let change = SpanChange {
            input: Some(input),
            ..SpanChange::default()
        };
        let changed = store.change_span(scope(project), span.id, change).await;
        let changed = changed.unwrap().unwrap();
        (changed.input, changed.output == span.output)
    };

    for input in [
        Some(long("new")),
        Some(Json::of(&1)),
        None,
        Some(long("again")),
    ] {
        assert_eq!(change(input.clone()).await, (input, true));
    }
}

#[tokio::test]
async fn sums_and_texts_are_the_same_after_a_restart_and_long_ones_are_packed() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        data_dir: directory.path().join("data"),
        durability: Durability::Standard,
        min_free_mib: 0,
    };
    let stores = store::open(&options).await.unwrap();
    let project = id();
    let spans: Vec<Span> = (0..4)
        .map(|at| Span {
            input: Some(long("needle-in-the-hay")),
            ..begun(project, at)
        })
        .collect();
    commit(&*stores.store, &spans).await.unwrap();
    let bound = since(second(2));
    stores.store.forget_spans(project, bound, 99).await.unwrap();
    let before = taken(&*stores.store, project).await;

    stores.store.close().await;
    let file = fs::read(options.data_dir.join("gatewright.db")).unwrap();
    let again = store::open(&options).await.unwrap().store;

    assert_eq!(taken(&*again, project).await, before);
    assert_eq!(there(&*again, &spans).await, [false, false, true, true]);
    let found = again.span(scope(project), spans[3].id).await.unwrap();
    assert_eq!(found.as_ref(), Some(&spans[3]));
    let text = String::from_utf8_lossy(&file);
    assert!(text.matches("needle-in-the-hay").count() < 10);
    let rest = again.forget_spans(project, at_most(0), 99).await.unwrap();
    assert_eq!((rest, taken(&*again, project).await), (2, 0));
}
