//! Spans.

use std::time::Duration;

use domain::{
    Json, ProjectId, Span, SpanChange, SpanKind, SpanWrite,
    seams::{Store, StoreError},
};
use tokio::time::timeout;

use crate::{House, id, on_every_backend, scope, second};

on_every_backend![
    a_span_reads_as_it_was_kept,
    a_span_belongs_to_its_project,
    a_begun_span_is_read_until_it_is_closed,
    closing_replaces_nothing_but_what_was_begun,
    a_begun_span_of_a_taken_id_is_refused,
    what_was_begun_and_not_closed_is_interrupted,
    the_trace_of_a_span_is_its_projects_alone,
    a_deleted_span_stays_away,
    a_taken_id_is_refused_with_all_its_company,
    a_refused_span_harms_no_other_caller,
    a_write_outlives_its_caller,
    a_store_is_ready_until_it_is_closed,
    what_was_queued_before_closing_is_answered,
];

pub(crate) fn new(project: ProjectId) -> Span {
    Span {
        id: id(),
        project,
        name: "greet".to_owned(),
        kind: Some(SpanKind::GENERATION),
        trace_id: id(),
        parent_id: None,
        start_time: Some(second(0)),
        end_time: Some(second(1)),
        input: None,
        output: None,
        error: None,
        meta: Json::parse("{}").unwrap(),
        score: None,
        feedback: None,
    }
}

/// Writes whole spans.
pub(crate) async fn commit(
    store: &dyn Store,
    spans: impl IntoIterator<Item = &Span>,
) -> Result<(), StoreError> {
    let writes = spans.into_iter().cloned().map(SpanWrite::New).collect();
    store.commit_spans(writes).await
}

async fn a_span_reads_as_it_was_kept(store: House) {
    let project = id();
    let mut bare = new(project);
    bare.kind = None;
    bare.start_time = None;
    let mut full = new(project);
    full.parent_id = Some(bare.id);
    full.trace_id = bare.trace_id;
    full.name = "nul \0, \u{1F600}".into();
    full.kind = Some(SpanKind::new("retrieval"));
    full.score = Some(-1);
    full.end_time = None;
    full.input = Some(Json::parse(r#"{"b":1.0,"a":12345678901234567890123}"#).unwrap());
    full.output = Some(Json::parse(r#""\u0000 \ud83d\ude00""#).unwrap());
    full.error = Some("Upstream: \0 it broke".to_owned());
    full.meta = Json::parse(r#"{"usage":{"input_tokens":1},"tags":{"z":"1","a":"2"}}"#).unwrap();
    let mut long = new(project);
    long.input = Some(Json::of(&"å".repeat(1_000_000)));
    let spans = vec![bare, full, long];

    commit(&*store, &spans).await.unwrap();
    store.commit_spans(Vec::new()).await.unwrap();

    for span in spans {
        let found = store.span(scope(project), span.id).await.unwrap();
        assert!(found.as_ref() == Some(&span), "{}", span.id);
    }
}

async fn a_span_belongs_to_its_project(store: House) {
    let (ours, theirs) = (id(), id());
    let mine = new(ours);
    let mut same_id = new(theirs);
    same_id.id = mine.id;
    same_id.name = "theirs".into();

    commit(&*store, [&mine]).await.unwrap();
    assert_eq!(store.span(scope(theirs), mine.id).await.unwrap(), None);
    commit(&*store, [&same_id]).await.unwrap();

    let found = store.span(scope(ours), mine.id).await.unwrap();
    assert_eq!(found, Some(mine));
    let found = store.span(scope(theirs), same_id.id).await.unwrap();
    assert_eq!(found, Some(same_id));
}

async fn a_begun_span_is_read_until_it_is_closed(store: House) {
    let project = id();
    let mut span = new(project);
    span.end_time = None;
    store
        .commit_spans(vec![SpanWrite::Begin(span.clone())])
        .await
        .unwrap();
    let begun = store.span(scope(project), span.id).await.unwrap();
    let mut closed = new(project);
    closed.id = span.id;
    closed.parent_id = Some(id());
    closed.name = "closed".into();
    closed.kind = None;
    closed.start_time = Some(second(1));
    closed.end_time = Some(second(2));
    closed.input = Some(Json::parse("[1.0]").unwrap());
    closed.output = Some(Json::parse("null").unwrap());
    closed.error = Some("it broke".to_owned());
    closed.meta = Json::parse(r#"{"a":1}"#).unwrap();
    closed.score = Some(3);

    store
        .commit_spans(vec![SpanWrite::Close(closed.clone())])
        .await
        .unwrap();

    assert_eq!(begun, Some(span));
    let found = store.span(scope(project), closed.id).await.unwrap();
    assert_eq!(found, Some(closed));
}

async fn closing_replaces_nothing_but_what_was_begun(store: House) {
    let (project, other) = (id(), id());
    let (whole, never, begun) = (new(project), new(project), new(project));
    let begin = SpanWrite::Begin(begun.clone());
    store
        .commit_spans(vec![SpanWrite::New(whole.clone()), begin])
        .await
        .unwrap();
    let mut again = whole.clone();
    again.name = "again".into();
    let mut elsewhere = begun.clone();
    elsewhere.project = other;
    let closes = [&again, &never, &elsewhere, &begun].map(|span| SpanWrite::Close(span.clone()));
    let mut too_late = begun.clone();
    too_late.name = "too late".into();

    store.commit_spans(closes.to_vec()).await.unwrap();
    store
        .commit_spans(vec![SpanWrite::Close(too_late)])
        .await
        .unwrap();

    for (span, expected) in [
        (&whole, Some(&whole)),
        (&never, None),
        (&elsewhere, None),
        (&begun, Some(&begun)),
    ] {
        let found = store.span(scope(span.project), span.id).await.unwrap();
        assert_eq!(found.as_ref(), expected);
    }
}

async fn a_begun_span_of_a_taken_id_is_refused(store: House) {
    let project = id();
    let taken = new(project);
    commit(&*store, [&taken]).await.unwrap();

    let refused = store
        .commit_spans(vec![SpanWrite::Begin(taken.clone())])
        .await;

    assert!(matches!(refused, Err(StoreError::Taken)), "{refused:?}");
    assert_eq!(store.interrupt_open_spans(second(9)).await.unwrap(), 0);
}

async fn what_was_begun_and_not_closed_is_interrupted(store: House) {
    let project = id();
    let [mut begun, mut ahead, closed, running] = [(); 4].map(|()| {
        let mut span = new(project);
        span.end_time = None;
        span.meta =
            Json::parse(r#"{"big":12345678901234567890123,"one":1.0,"s":"\u00e9/"}"#).unwrap();
        span
    });
    ahead.start_time = Some(second(20));
    store
        .commit_spans(vec![
            SpanWrite::Begin(begun.clone()),
            SpanWrite::Begin(ahead.clone()),
            SpanWrite::Begin(closed.clone()),
            SpanWrite::Close(closed.clone()),
            SpanWrite::New(running.clone()),
        ])
        .await
        .unwrap();

    let first = store.interrupt_open_spans(second(9)).await.unwrap();
    let second_time = store.interrupt_open_spans(second(10)).await.unwrap();

    assert_eq!((first, second_time), (2, 0));
    for (span, end) in [(&mut begun, 9), (&mut ahead, 20)] {
        span.end_time = Some(second(end));
        span.error = Some("InternalServerError: interrupted".to_owned());
        span.meta = Json::parse(
            r#"{"big":12345678901234567890123,"one":1.0,"s":"\u00e9/","error_type":"InternalServerError"}"#,
        )
        .unwrap();
    }
    for span in [begun, ahead, closed, running] {
        let found = store.span(scope(project), span.id).await.unwrap();
        assert_eq!(found, Some(span));
    }
}

async fn the_trace_of_a_span_is_its_projects_alone(store: House) {
    let (project, other) = (id(), id());
    let span = new(project);
    commit(&*store, [&span]).await.unwrap();

    for (project, id, expected) in [
        (project, span.id, Some(span.trace_id)),
        (other, span.id, None),
        (project, id(), None),
    ] {
        let found = store.trace_of(scope(project), id).await.unwrap();
        assert_eq!(found, expected);
    }
}

async fn a_deleted_span_stays_away(store: House) {
    let (project, other) = (id(), id());
    let span = new(project);
    let mut child = new(project);
    child.parent_id = Some(span.id);
    store
        .commit_spans(vec![
            SpanWrite::Begin(span.clone()),
            SpanWrite::New(child.clone()),
        ])
        .await
        .unwrap();
    let change = SpanChange {
        name: Some("changed".to_owned()),
        ..SpanChange::default()
    };
    let ours = scope(project);
    store.change_span(ours, span.id, change).await.unwrap();

    assert!(!store.delete_span(scope(other), span.id).await.unwrap());
    assert!(store.delete_span(ours, span.id).await.unwrap());
    assert!(!store.delete_span(ours, span.id).await.unwrap());
    store
        .commit_spans(vec![SpanWrite::Close(span.clone())])
        .await
        .unwrap();

    assert_eq!(store.span(ours, span.id).await.unwrap(), None);
    let found = store.span(ours, child.id).await.unwrap();
    assert_eq!(found, Some(child));
    assert_eq!(store.interrupt_open_spans(second(9)).await.unwrap(), 0);
    commit(&*store, [&span]).await.unwrap();
    let found = store.span(ours, span.id).await.unwrap();
    assert_eq!(found, Some(span));
}

async fn a_taken_id_is_refused_with_all_its_company(store: House) {
    let project = id();
    let first = new(project);
    let (before, after, twice) = (new(project), new(project), new(project));
    let mut again = new(project);
    again.id = first.id;
    again.name = "again".into();
    commit(&*store, [&first]).await.unwrap();

    for refused in [
        vec![again.clone()],
        vec![before.clone(), again, after.clone()],
        vec![twice.clone(), twice.clone()],
    ] {
        let result = commit(&*store, &refused).await;
        assert!(matches!(result, Err(StoreError::Taken)), "{result:?}");
    }

    let scope = scope(project);
    for absent in [before, after, twice] {
        assert_eq!(store.span(scope, absent.id).await.unwrap(), None);
    }
    assert_eq!(store.span(scope, first.id).await.unwrap(), Some(first));
}

async fn a_refused_span_harms_no_other_caller(store: House) {
    let project = id();
    let taken = new(project);
    commit(&*store, [&taken]).await.unwrap();
    let callers: Vec<_> = (0..200)
        .map(|number| {
            let store = store.store.clone();
            let mut span = new(project);
            let is_taken = number % 3 == 0;
            if is_taken {
                span.id = taken.id;
            }
            let mut spans = vec![span];
            if number % 2 == 0 {
                spans.push(new(project));
            }
            tokio::spawn(async move {
                let result = commit(&*store, &spans).await;
                (is_taken, result, spans)
            })
        })
        .collect();

    for caller in callers {
        let (is_taken, result, spans) = caller.await.unwrap();
        if is_taken {
            assert!(matches!(result, Err(StoreError::Taken)), "{result:?}");
        } else {
            result.unwrap();
        }
        for span in spans {
            let found = store.span(scope(project), span.id).await.unwrap();
            let expected = match (is_taken, span.id == taken.id) {
                (true, true) => Some(taken.clone()),
                (true, false) => None,
                (false, _) => Some(span),
            };
            assert_eq!(found, expected);
        }
    }
}

async fn a_write_outlives_its_caller(store: House) {
    let project = id();
    let (given_up, last) = (new(project), new(project));

    for span in [given_up.clone(), last.clone()] {
        // Looks once: enough to queue the write, hardly ever enough to see its answer.
        let _ = timeout(Duration::ZERO, commit(&*store, [&span])).await;
    }
    commit(&*store, [&new(project)]).await.unwrap();

    for span in [given_up, last] {
        let found = store.span(scope(project), span.id).await.unwrap();
        assert_eq!(found, Some(span));
    }
}

async fn a_store_is_ready_until_it_is_closed(store: House) {
    let project = id();
    let span = new(project);
    store.ready().await.unwrap();
    commit(&*store, [&span]).await.unwrap();
    store.ready().await.unwrap();

    tokio::join!(store.close(), store.close());
    store.close().await;

    for refused in [
        store.ready().await,
        commit(&*store, [&new(project)]).await,
        store.span(scope(project), span.id).await.map(drop),
    ] {
        assert!(
            matches!(refused, Err(StoreError::Unavailable(_))),
            "{refused:?}"
        );
    }
}

async fn what_was_queued_before_closing_is_answered(store: House) {
    let project = id();
    let callers: Vec<_> = (0..300)
        .map(|_| {
            let store = store.store.clone();
            let span = new(project);
            tokio::spawn(async move { commit(&*store, [&span]).await })
        })
        .collect();

    store.close().await;

    for caller in callers {
        let result = timeout(Duration::from_secs(10), caller)
            .await
            .unwrap()
            .unwrap();
        assert!(
            matches!(result, Ok(()) | Err(StoreError::Unavailable(_))),
            "{result:?}"
        );
    }
}
