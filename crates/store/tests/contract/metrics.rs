//! Metrics of spans.

use domain::{Metric, Page, Paged, ProjectId, Span, SpanId, seams::StoreError};

use crate::{
    House, id, on_every_backend, scope, second,
    spans::{commit, new},
};

on_every_backend![
    a_metric_reads_as_it_was_kept,
    metrics_come_oldest_first_and_by_the_page,
    a_metric_is_replaced_but_for_its_age,
    a_deleted_metric_is_gone,
    a_metric_needs_its_span,
    another_project_measures_nothing,
    a_metric_belongs_to_its_span,
    metrics_go_with_their_span,
];

const ALL: Page = Page {
    offset: 0,
    limit: 1000,
};

fn metric(span: SpanId) -> Metric {
    Metric {
        id: id(),
        span_id: span,
        dimension: "speed".to_owned(),
        value: 0.1,
        comment: None,
        created_at: second(0),
    }
}

async fn committed(store: &House, project: ProjectId) -> Span {
    let span = new(project);
    commit(&**store, [&span]).await.unwrap();
    span
}

async fn of(store: &House, project: ProjectId, span: SpanId, page: Page) -> Paged<Metric> {
    store.metrics(scope(project), span, page).await.unwrap()
}

async fn a_metric_reads_as_it_was_kept(store: House) {
    let project = id();
    let span = committed(&store, project).await;
    let (mut small, mut large) = (metric(span.id), metric(span.id));
    small.value = f64::MIN_POSITIVE;
    large.value = -f64::MAX;
    large.dimension = "nul \0, \u{1F600}".into();
    large.comment = Some(String::new());

    for metric in [&small, &large] {
        assert!(store.insert_metric(scope(project), metric).await.unwrap());
    }

    for metric in [small, large] {
        let found = store.metric(scope(project), span.id, metric.id).await;
        assert_eq!(found.unwrap(), Some(metric));
    }
}

async fn metrics_come_oldest_first_and_by_the_page(store: House) {
    let project = id();
    let span = committed(&store, project).await;
    let beside = committed(&store, project).await;
    let mut kept = Vec::new();
    for age in [3, 1, 2, 2, 0] {
        let mut metric = metric(span.id);
        // The clock went backwards: the order of their making counts.
        metric.created_at = second(age);
        store.insert_metric(scope(project), &metric).await.unwrap();
        kept.push(metric);
    }
    store
        .insert_metric(scope(project), &metric(beside.id))
        .await
        .unwrap();

    for (offset, limit, expected) in [
        (0, 2, &kept[..2]),
        (2, 2, &kept[2..4]),
        (4, 2, &kept[4..]),
        (5, 2, &[]),
        (0, 0, &[]),
        (0, u32::MAX, &kept),
    ] {
        let page = of(&store, project, span.id, Page { offset, limit }).await;
        let expected = Paged {
            items: expected.to_vec(),
            total: 5,
        };
        assert_eq!(page, expected);
    }
}

async fn a_metric_is_replaced_but_for_its_age(store: House) {
    let project = id();
    let span = committed(&store, project).await;
    let before = metric(span.id);
    store.insert_metric(scope(project), &before).await.unwrap();
    let asked = Metric {
        dimension: "taste".to_owned(),
        value: -2.0,
        comment: Some("well".to_owned()),
        created_at: second(99),
        ..before
    };

    assert!(store.update_metric(scope(project), &asked).await.unwrap());

    let after = Metric {
        created_at: second(0),
        ..asked
    };
    let found = store.metric(scope(project), span.id, after.id).await;
    assert_eq!(found.unwrap(), Some(after));
}

async fn a_deleted_metric_is_gone(store: House) {
    let project = id();
    let scope = scope(project);
    let span = committed(&store, project).await;
    let (one, two) = (metric(span.id), metric(span.id));
    for metric in [&one, &two] {
        store.insert_metric(scope, metric).await.unwrap();
    }

    assert!(store.delete_metric(scope, span.id, one.id).await.unwrap());

    assert!(!store.delete_metric(scope, span.id, one.id).await.unwrap());
    assert!(!store.update_metric(scope, &one).await.unwrap());
    assert_eq!(store.metric(scope, span.id, one.id).await.unwrap(), None);
    let left = of(&store, project, span.id, ALL).await;
    assert_eq!((left.items, left.total), (vec![two], 1));
}

async fn a_metric_needs_its_span(store: House) {
    let project = id();
    let span = committed(&store, project).await;
    let (kept, lost) = (metric(span.id), metric(id()));

    assert!(!store.insert_metric(scope(project), &lost).await.unwrap());
    assert!(store.insert_metric(scope(project), &kept).await.unwrap());
    let again = store.insert_metric(scope(project), &kept).await;

    assert!(matches!(again, Err(StoreError::Taken)), "{again:?}");
    let page = of(&store, project, lost.span_id, ALL).await;
    assert_eq!((page.items, page.total), (vec![], 0));
}

async fn another_project_measures_nothing(store: House) {
    let (ours, theirs) = (id(), id());
    let span = committed(&store, ours).await;
    let mine = metric(span.id);
    store.insert_metric(scope(ours), &mine).await.unwrap();
    let foreign = scope(theirs);
    let mut changed = mine.clone();
    changed.value = 9.0;

    let inserted = store.insert_metric(foreign, &metric(span.id)).await;
    let updated = store.update_metric(foreign, &changed).await;
    let deleted = store.delete_metric(foreign, span.id, mine.id).await;
    let found = store.metric(foreign, span.id, mine.id).await;

    assert!(!inserted.unwrap() && !updated.unwrap() && !deleted.unwrap());
    assert_eq!(found.unwrap(), None);
    assert_eq!(of(&store, theirs, span.id, ALL).await.total, 0);
    assert_eq!(of(&store, ours, span.id, ALL).await.items, [mine]);
}

async fn a_metric_belongs_to_its_span(store: House) {
    let project = id();
    let scope = scope(project);
    let (span, beside) = (
        committed(&store, project).await,
        committed(&store, project).await,
    );
    let mine = metric(span.id);
    store.insert_metric(scope, &mine).await.unwrap();
    let mut moved = mine.clone();
    moved.span_id = beside.id;

    assert!(!store.update_metric(scope, &moved).await.unwrap());
    assert!(
        !store
            .delete_metric(scope, beside.id, mine.id)
            .await
            .unwrap()
    );
    let elsewhere = store.metric(scope, beside.id, mine.id).await;
    assert_eq!(elsewhere.unwrap(), None);

    assert_eq!(of(&store, project, span.id, ALL).await.items, [mine]);
}

async fn metrics_go_with_their_span(store: House) {
    let project = id();
    let (span, beside) = (
        committed(&store, project).await,
        committed(&store, project).await,
    );
    let (lost, kept) = (metric(span.id), metric(beside.id));
    for metric in [&lost, &kept] {
        store.insert_metric(scope(project), metric).await.unwrap();
    }

    store.delete_span(scope(project), span.id).await.unwrap();
    commit(&*store, [&span]).await.unwrap();

    assert_eq!(of(&store, project, span.id, ALL).await.total, 0);
    assert_eq!(of(&store, project, beside.id, ALL).await.items, [kept]);
}
