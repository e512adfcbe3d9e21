//! Spans below others.

use domain::{ProjectId, Span, SpanId};

use crate::{
    House, id, on_every_backend, scope, second,
    spans::{commit, new},
};

on_every_backend![
    those_below_come_after_their_parents_and_by_age,
    the_eldest_come_first_however_many_there_are,
    a_circle_is_walked_once,
    a_deep_tree_is_walked_to_its_end,
    nothing_lies_below_what_the_project_does_not_have,
];

fn child(project: ProjectId, parent: Option<SpanId>, age: i64) -> Span {
    let mut span = new(project);
    span.parent_id = parent;
    span.start_time = Some(second(age));
    span
}

async fn below(store: &House, project: ProjectId, root: SpanId, limit: u64) -> Vec<SpanId> {
    let spans = store
        .spans_below(scope(project), root, limit)
        .await
        .unwrap();
    spans.iter().map(|span| span.id).collect()
}

async fn those_below_come_after_their_parents_and_by_age(store: House) {
    let project = id();
    let top = child(project, None, 0);
    let root = child(project, Some(top.id), 50);
    let younger = child(project, Some(root.id), 5);
    let elder = child(project, Some(root.id), 1);
    let late = child(project, Some(elder.id), 10);
    let early = child(project, Some(younger.id), 6);
    let mut unknown = child(project, Some(root.id), 0);
    unknown.start_time = None;
    let beside = child(project, Some(top.id), 0);
    let spans = [
        &late, &early, &younger, &elder, &unknown, &root, &beside, &top,
    ];
    commit(&*store, spans).await.unwrap();

    let found = store
        .spans_below(scope(project), root.id, 100)
        .await
        .unwrap();

    assert_eq!(found, [root, unknown, elder, younger, early, late]);
}

async fn the_eldest_come_first_however_many_there_are(store: House) {
    let project = id();
    let root = child(project, None, 0);
    let mut children: Vec<_> = (0..50)
        .map(|age| child(project, Some(root.id), 100 - age))
        .collect();
    let last_of_all = child(project, Some(children[0].id), 1000);
    let grandchild = child(project, Some(children[49].id), 52);
    commit(
        &*store,
        children.iter().chain([&root, &last_of_all, &grandchild]),
    )
    .await
    .unwrap();
    children.reverse();
    let mut expected: Vec<_> = children.iter().map(|span| span.id).collect();
    expected.insert(0, root.id);
    expected.insert(3, grandchild.id);
    expected.push(last_of_all.id);

    for limit in [0_usize, 1, 2, 3, 4, 5, 52, 53, 1000] {
        let found = below(&store, project, root.id, u64::try_from(limit).unwrap()).await;
        assert_eq!(found, expected[..limit.min(53)], "{limit}");
    }
    assert_eq!(below(&store, project, root.id, u64::MAX).await, expected);
}

async fn a_circle_is_walked_once(store: House) {
    let project = id();
    let mut one = child(project, None, 3);
    let two = child(project, Some(one.id), 2);
    one.parent_id = Some(two.id);
    let aside = child(project, Some(two.id), 9);
    let mut own = child(project, None, 0);
    own.parent_id = Some(own.id);
    commit(&*store, [&one, &two, &aside, &own]).await.unwrap();

    for (root, expected) in [
        (&one, vec![one.id, two.id, aside.id]),
        (&two, vec![two.id, one.id, aside.id]),
        (&own, vec![own.id]),
    ] {
        assert_eq!(below(&store, project, root.id, 100).await, expected);
    }
    assert_eq!(
        below(&store, project, one.id, 3).await,
        [one.id, two.id, aside.id]
    );
}

async fn a_deep_tree_is_walked_to_its_end(store: House) {
    let project = id();
    let mut spans = vec![child(project, None, 0)];
    for depth in 1..500 {
        let parent = spans[spans.len() - 1].id;
        spans.push(child(project, Some(parent), -depth));
    }
    commit(&*store, &spans).await.unwrap();

    let found = below(&store, project, spans[0].id, 1000).await;

    let expected: Vec<_> = spans.iter().map(|span| span.id).collect();
    assert_eq!(found, expected);
}

async fn nothing_lies_below_what_the_project_does_not_have(store: House) {
    let (ours, theirs) = (id(), id());
    let root = child(ours, None, 0);
    let mine = child(ours, Some(root.id), 1);
    let foreign = child(theirs, Some(root.id), 1);
    let orphan = child(ours, Some(id()), 1);
    commit(&*store, [&root, &mine, &foreign, &orphan])
        .await
        .unwrap();

    assert_eq!(below(&store, ours, root.id, 100).await, [root.id, mine.id]);
    assert!(below(&store, theirs, root.id, 100).await.is_empty());
    let unknown = orphan.parent_id.unwrap();
    assert!(below(&store, ours, unknown, 100).await.is_empty());
}
