//! The record of spans: gone through in steps, and corrected.

use domain::{
    Json, MetaCorrection, ProjectId, Recorded, RecordedMeta, Span, SpanChange, SpanRange,
    SpanWrite, seams::Store,
};

use crate::{
    House, id, on_every_backend, scope, second,
    spans::{commit, new},
};

on_every_backend![
    the_record_is_gone_through_in_steps,
    a_range_is_by_project_and_beginning,
    what_is_under_way_is_none_of_the_record,
    a_clients_own_span_is_none_of_the_record,
    a_correction_holds_where_nothing_changed_meanwhile,
    what_was_laid_over_a_span_stays_there,
];

fn at(project: ProjectId, seconds: i64, meta: &str) -> Span {
    Span {
        start_time: Some(second(seconds)),
        meta: Json::parse(meta).unwrap(),
        ..new(project)
    }
}

const fn all() -> SpanRange {
    SpanRange {
        project: None,
        since: domain::Timestamp::from_micros(i64::MIN),
        until: None,
    }
}

fn recorded(span: &Span) -> RecordedMeta {
    RecordedMeta {
        project: span.project,
        id: span.id,
        meta: span.meta.clone(),
    }
}

async fn whole(store: &dyn Store, range: SpanRange) -> Vec<RecordedMeta> {
    store.recorded(range, 0, 1_000).await.unwrap().spans
}

async fn the_record_is_gone_through_in_steps(store: House) {
    let project = id();
    let spans: Vec<Span> = (0..5).map(|at_| at(project, at_, "{}")).collect();
    let empty = store.recorded(all(), 0, 2).await.unwrap();
    commit(&*store, &spans).await.unwrap();

    let (mut found, mut steps, mut position) = (Vec::new(), Vec::new(), 0);
    loop {
        let step = store.recorded(all(), position, 2).await.unwrap();
        assert!(step.position <= step.end && step.position >= position);
        steps.push(step.spans.len());
        found.extend(step.spans);
        if step.position == step.end {
            break;
        }
        position = step.position;
    }

    let nothing = Recorded {
        spans: Vec::new(),
        position: 0,
        end: 0,
    };
    assert_eq!(empty, nothing);
    assert_eq!(steps, [2, 2, 1]);
    assert_eq!(found, spans.iter().map(recorded).collect::<Vec<_>>());
    let after = store.recorded(all(), i64::MAX, 2).await.unwrap();
    assert_eq!(after.spans, []);
}

async fn a_range_is_by_project_and_beginning(store: House) {
    let (mine, others) = (id(), id());
    let spans = [at(mine, 1, "{}"), at(mine, 2, "{}"), at(mine, 3, "{}")];
    let mut timeless = new(mine);
    timeless.start_time = None;
    let other = at(others, 2, "{}");
    commit(&*store, &spans).await.unwrap();
    commit(&*store, [&timeless, &other]).await.unwrap();

    let of = |project, since, until: Option<i64>| SpanRange {
        project,
        since: second(since),
        until: until.map(second),
    };
    let one = whole(&*store, of(Some(mine), 2, Some(3))).await;
    let since = whole(&*store, of(None, 2, None)).await;

    assert_eq!(one, [recorded(&spans[1])]);
    assert_eq!(since, [&spans[1], &spans[2], &other].map(recorded));
    // A step that finds nothing still goes on.
    let nothing = store.recorded(of(Some(id()), 0, None), 0, 3).await.unwrap();
    assert_eq!((nothing.spans.len(), nothing.end), (0, 5));
    assert_eq!(nothing.position, 3);
}

async fn what_is_under_way_is_none_of_the_record(store: House) {
    let span = at(id(), 1, r#"{"a":1}"#);
    store
        .commit_spans(vec![SpanWrite::Begin(span.clone())])
        .await
        .unwrap();
    let correction = MetaCorrection {
        before: recorded(&span),
        after: Json::parse("{}").unwrap(),
    };

    assert_eq!(whole(&*store, all()).await, []);
    assert_eq!(store.correct_meta(vec![correction]).await.unwrap(), 0);

    store
        .commit_spans(vec![SpanWrite::Close(span.clone())])
        .await
        .unwrap();
    assert_eq!(whole(&*store, all()).await, [recorded(&span)]);
}

async fn a_clients_own_span_is_none_of_the_record(store: House) {
    let project = id();
    let (given, ours) = (at(project, 1, r#"{"a":1}"#), at(project, 2, "{}"));
    let writes = vec![
        SpanWrite::Given(given.clone()),
        SpanWrite::New(ours.clone()),
    ];
    store.commit_spans(writes).await.unwrap();
    let correction = MetaCorrection {
        before: recorded(&given),
        after: Json::parse("{}").unwrap(),
    };

    let found = whole(&*store, all()).await;
    let corrected = store.correct_meta(vec![correction]).await.unwrap();

    assert_eq!((found, corrected), (vec![recorded(&ours)], 0));
    let read = store.span(scope(project), given.id).await.unwrap().unwrap();
    assert_eq!(read, given);
}

async fn a_correction_holds_where_nothing_changed_meanwhile(store: House) {
    let project = id();
    let spans = [at(project, 1, r#"{"a":1}"#), at(project, 2, r#"{"a":2}"#)];
    commit(&*store, &spans).await.unwrap();
    let correct = |span: &Span, before: &str, after: &str| MetaCorrection {
        before: RecordedMeta {
            meta: Json::parse(before).unwrap(),
            ..recorded(span)
        },
        after: Json::parse(after).unwrap(),
    };
    let elsewhere = Span {
        project: id(),
        ..spans[0].clone()
    };

    let corrected = store
        .correct_meta(vec![
            correct(&spans[0], r#"{"a":1}"#, r#"{"a":3}"#),
            correct(&spans[1], r#"{"a":9}"#, r#"{"a":4}"#),
            correct(&elsewhere, r#"{"a":3}"#, r#"{"a":5}"#),
        ])
        .await
        .unwrap();

    assert_eq!(corrected, 1);
    let texts: Vec<String> = whole(&*store, all())
        .await
        .iter()
        .map(|span| span.meta.text().to_owned())
        .collect();
    assert_eq!(texts, [r#"{"a":3}"#, r#"{"a":2}"#]);
    assert_eq!(store.correct_meta(Vec::new()).await.unwrap(), 0);
}

async fn what_was_laid_over_a_span_stays_there(store: House) {
    let project = id();
    let span = at(project, 1, r#"{"a":1,"b":1}"#);
    commit(&*store, [&span]).await.unwrap();
    let change = SpanChange {
        meta: Some([("b".to_owned(), Json::of(&2))].into_iter().collect()),
        ..SpanChange::default()
    };
    store
        .change_span(scope(project), span.id, change)
        .await
        .unwrap();
    assert_eq!(whole(&*store, all()).await, [recorded(&span)]);

    let correction = MetaCorrection {
        before: recorded(&span),
        after: Json::parse(r#"{"a":3,"b":3}"#).unwrap(),
    };
    assert_eq!(store.correct_meta(vec![correction]).await.unwrap(), 1);

    let read = store.span(scope(project), span.id).await.unwrap().unwrap();
    assert_eq!(read.meta.text(), r#"{"a":3,"b":2}"#);
}
