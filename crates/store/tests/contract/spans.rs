//! Spans.

use std::time::Duration;

use domain::{Json, ProjectId, Span, SpanKind, seams::StoreError};
use tokio::time::timeout;

use crate::{House, id, on_every_backend, scope, second};

on_every_backend![
    a_span_reads_as_it_was_kept,
    a_span_belongs_to_its_project,
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
        kind: SpanKind::GENERATION,
        trace_id: id(),
        parent_id: None,
        start_time: second(0),
        end_time: Some(second(1)),
        input: None,
        output: None,
        error: None,
        meta: Json::parse("{}").unwrap(),
    }
}

async fn a_span_reads_as_it_was_kept(store: House) {
    let project = id();
    let bare = new(project);
    let mut full = new(project);
    full.parent_id = Some(bare.id);
    full.trace_id = bare.trace_id;
    full.name = "nul \0, \u{1F600}".into();
    full.kind = SpanKind::new("retrieval");
    full.end_time = None;
    full.input = Some(Json::parse(r#"{"b":1.0,"a":12345678901234567890123}"#).unwrap());
    full.output = Some(Json::parse(r#""\u0000 \ud83d\ude00""#).unwrap());
    full.error = Some("Upstream: \0 it broke".to_owned());
    full.meta = Json::parse(r#"{"usage":{"input_tokens":1},"tags":{"z":"1","a":"2"}}"#).unwrap();
    let mut long = new(project);
    long.input = Some(Json::of(&"å".repeat(1_000_000)));
    let spans = vec![bare, full, long];

    store.commit_spans(spans.clone()).await.unwrap();
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

    store.commit_spans(vec![mine.clone()]).await.unwrap();
    assert_eq!(store.span(scope(theirs), mine.id).await.unwrap(), None);
    store.commit_spans(vec![same_id.clone()]).await.unwrap();

    let found = store.span(scope(ours), mine.id).await.unwrap();
    assert_eq!(found, Some(mine));
    let found = store.span(scope(theirs), same_id.id).await.unwrap();
    assert_eq!(found, Some(same_id));
}

async fn a_taken_id_is_refused_with_all_its_company(store: House) {
    let project = id();
    let first = new(project);
    let (before, after, twice) = (new(project), new(project), new(project));
    let mut again = new(project);
    again.id = first.id;
    again.name = "again".into();
    store.commit_spans(vec![first.clone()]).await.unwrap();

    for refused in [
        vec![again.clone()],
        vec![before.clone(), again, after.clone()],
        vec![twice.clone(), twice.clone()],
    ] {
        let result = store.commit_spans(refused).await;
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
    store.commit_spans(vec![taken.clone()]).await.unwrap();
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
                let result = store.commit_spans(spans.clone()).await;
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
        let _ = timeout(Duration::ZERO, store.commit_spans(vec![span])).await;
    }
    store.commit_spans(vec![new(project)]).await.unwrap();

    for span in [given_up, last] {
        let found = store.span(scope(project), span.id).await.unwrap();
        assert_eq!(found, Some(span));
    }
}

async fn a_store_is_ready_until_it_is_closed(store: House) {
    let project = id();
    let span = new(project);
    store.ready().await.unwrap();
    store.commit_spans(vec![span.clone()]).await.unwrap();
    store.ready().await.unwrap();

    tokio::join!(store.close(), store.close());
    store.close().await;

    for refused in [
        store.ready().await,
        store.commit_spans(vec![new(project)]).await,
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
            tokio::spawn(async move { store.commit_spans(vec![span]).await })
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
