//! What is added to spans: changes, feedback, observations.

use domain::{
    Feedback, Json, JsonObject, Observation, ProjectId, Span, SpanChange, SpanKind, SpanWrite,
};

use crate::{
    House, id, on_every_backend, scope, second,
    spans::{commit, new},
};

on_every_backend![
    a_change_is_laid_over_what_was_recorded,
    a_change_clears_what_it_gives_as_nothing,
    members_of_meta_are_laid_over_one_by_one,
    a_change_of_an_open_span_survives_its_close,
    of_two_changes_at_once_none_is_lost,
    the_latest_feedback_stands,
    an_observation_gives_a_score_and_a_member,
    a_clients_score_stands_whoever_came_first,
    a_clients_score_of_nothing_stands_as_well,
    another_project_adds_nothing,
    what_was_added_goes_with_its_span,
];

fn object(text: &str) -> JsonObject {
    serde_json::from_str(text).unwrap()
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn observation(score: i64) -> Observation {
    Observation {
        score,
        observations: format!("says \"{score}\""),
    }
}

fn scored(score: Option<i64>) -> SpanChange {
    SpanChange {
        score: Some(score),
        ..SpanChange::default()
    }
}

async fn committed(store: &House, project: ProjectId) -> Span {
    let mut span = new(project);
    span.input = Some(json("[1.0]"));
    span.output = Some(json("2"));
    span.error = Some("it broke".to_owned());
    span.meta = json(r#"{"z":1.50,"a":"\u00e9","n":null}"#);
    commit(&**store, [&span]).await.unwrap();
    span
}

async fn a_change_is_laid_over_what_was_recorded(store: House) {
    let project = id();
    let span = committed(&store, project).await;
    let untouched = committed(&store, project).await;
    let first = SpanChange {
        name: Some("named".to_owned()),
        kind: Some(Some(SpanKind::new("retrieval"))),
        start_time: Some(Some(second(5))),
        end_time: Some(Some(second(6))),
        ..SpanChange::default()
    };
    let then = SpanChange {
        name: Some("named again".to_owned()),
        input: Some(Some(json(r#"{"b":1e2}"#))),
        output: Some(Some(Json::null())),
        error: Some(Some("otherwise".to_owned())),
        score: Some(Some(7)),
        ..SpanChange::default()
    };

    let scope = scope(project);
    store.change_span(scope, span.id, first).await.unwrap();
    let given = store.change_span(scope, span.id, then).await.unwrap();

    let expected = Span {
        name: "named again".to_owned(),
        kind: Some(SpanKind::new("retrieval")),
        start_time: Some(second(5)),
        end_time: Some(second(6)),
        input: Some(json(r#"{"b":1e2}"#)),
        output: Some(Json::null()),
        error: Some("otherwise".to_owned()),
        score: Some(7),
        ..span
    };
    assert_eq!(given.as_ref(), Some(&expected));
    let found = store.span(scope, expected.id).await.unwrap();
    assert_eq!(found, Some(expected));
    let found = store.span(scope, untouched.id).await.unwrap();
    assert_eq!(found, Some(untouched));
}

async fn a_change_clears_what_it_gives_as_nothing(store: House) {
    let project = id();
    let span = committed(&store, project).await;
    let nothing = SpanChange {
        kind: Some(None),
        start_time: Some(None),
        end_time: Some(None),
        input: Some(None),
        output: Some(None),
        error: Some(None),
        score: Some(None),
        ..SpanChange::default()
    };

    let scope = scope(project);
    let cleared = store.change_span(scope, span.id, nothing).await.unwrap();
    let unchanged = store
        .change_span(scope, span.id, SpanChange::default())
        .await
        .unwrap();

    let expected = Span {
        kind: None,
        start_time: None,
        end_time: None,
        input: None,
        output: None,
        error: None,
        ..span
    };
    assert_eq!(cleared.as_ref(), Some(&expected));
    assert_eq!(unchanged, Some(expected));
}

async fn members_of_meta_are_laid_over_one_by_one(store: House) {
    let project = id();
    let mut span = committed(&store, project).await;
    let scope = scope(project);

    for members in [
        r#"{"a":{"deep":[1e400000,1.0]},"new":12345678901234567890123}"#,
        "{}",
        r#"{"new":null,"last":"\u0000"}"#,
    ] {
        let change = SpanChange {
            meta: Some(object(members)),
            ..SpanChange::default()
        };
        store.change_span(scope, span.id, change).await.unwrap();
    }

    span.meta = serde_json::from_str(
        r#"{"z":1.50,"a":{"deep":[1e400000,1.0]},"n":null,"new":null,"last":"\u0000"}"#,
    )
    .unwrap();
    let found = store.span(scope, span.id).await.unwrap();
    assert_eq!(found, Some(span));
}

async fn a_change_of_an_open_span_survives_its_close(store: House) {
    let project = id();
    let mut begun = new(project);
    begun.end_time = None;
    let begin = SpanWrite::Begin(begun.clone());
    store.commit_spans(vec![begin]).await.unwrap();
    let change = SpanChange {
        name: Some("changed".to_owned()),
        error: Some(None),
        meta: Some(object(r#"{"mine":1,"ours":2}"#)),
        score: Some(Some(9)),
        ..SpanChange::default()
    };
    let mut closed = begun.clone();
    closed.end_time = Some(second(3));
    closed.output = Some(json("1"));
    closed.error = Some("late".to_owned());
    closed.meta = json(r#"{"ours":1,"theirs":0}"#);

    let scope = scope(project);
    store.change_span(scope, begun.id, change).await.unwrap();
    let close = SpanWrite::Close(closed.clone());
    store.commit_spans(vec![close]).await.unwrap();

    let expected = Span {
        name: "changed".to_owned(),
        error: None,
        meta: json(r#"{"ours":2,"theirs":0,"mine":1}"#),
        score: Some(9),
        ..closed
    };
    let found = store.span(scope, expected.id).await.unwrap();
    assert_eq!(found, Some(expected));
}

async fn of_two_changes_at_once_none_is_lost(store: House) {
    let project = id();
    let span = committed(&store, project).await;
    let callers: Vec<_> = (0..20)
        .map(|number| {
            let store = store.store.clone();
            let members = object(&format!(r#"{{"m{number}":{number}}}"#));
            let mut change = SpanChange {
                meta: Some(members),
                ..SpanChange::default()
            };
            match number {
                0 => change.name = Some("changed".to_owned()),
                1 => change.output = Some(None),
                _ => {}
            }
            tokio::spawn(async move { store.change_span(scope(project), span.id, change).await })
        })
        .collect();

    for caller in callers {
        assert!(caller.await.unwrap().unwrap().is_some());
    }

    let found = store.span(scope(project), span.id).await.unwrap().unwrap();
    let members = object(found.meta.text());
    assert_eq!(members.len(), 23);
    for number in 0..20 {
        assert_eq!(members[&format!("m{number}")], Json::of(&number));
    }
    assert_eq!((found.name.as_str(), found.output), ("changed", None));
}

async fn the_latest_feedback_stands(store: House) {
    let project = id();
    let mut span = committed(&store, project).await;
    let (first, last) = (
        Feedback {
            score: 0.1,
            comment: Some("bad".to_owned()),
        },
        Feedback {
            score: 1.0,
            comment: None,
        },
    );

    for feedback in [&first, &last] {
        let rated = store.rate_span(scope(project), span.id, feedback).await;
        assert!(rated.unwrap());
    }

    span.feedback = Some(last);
    let found = store.span(scope(project), span.id).await.unwrap();
    assert_eq!(found, Some(span));
}

async fn an_observation_gives_a_score_and_a_member(store: House) {
    let project = id();
    let mut span = committed(&store, project).await;

    for score in [0, 85] {
        let says = observation(score);
        let observed = store.observe_span(project, span.id, &says).await;
        assert!(observed.unwrap());
    }

    span.score = Some(85);
    span.meta = json(
        r#"{"z":1.50,"a":"\u00e9","n":null,"observer":{"score":85,"observations":"says \"85\""}}"#,
    );
    let found = store.span(scope(project), span.id).await.unwrap();
    assert_eq!(found, Some(span));
}

async fn a_clients_score_stands_whoever_came_first(store: House) {
    let project = id();
    let scope = scope(project);
    let (before, after) = (
        committed(&store, project).await,
        committed(&store, project).await,
    );

    store
        .change_span(scope, before.id, scored(Some(3)))
        .await
        .unwrap();
    for span in [&before, &after] {
        store
            .observe_span(project, span.id, &observation(85))
            .await
            .unwrap();
    }
    store
        .change_span(scope, after.id, scored(Some(3)))
        .await
        .unwrap();

    for span in [before, after] {
        let found = store.span(scope, span.id).await.unwrap().unwrap();
        assert_eq!(found.score, Some(3));
        assert!(object(found.meta.text()).contains_key("observer"));
    }
}

async fn a_clients_score_of_nothing_stands_as_well(store: House) {
    let project = id();
    let scope = scope(project);
    let span = committed(&store, project).await;

    store
        .change_span(scope, span.id, scored(None))
        .await
        .unwrap();
    store
        .observe_span(project, span.id, &observation(85))
        .await
        .unwrap();

    let found = store.span(scope, span.id).await.unwrap().unwrap();
    assert_eq!(found.score, None);
}

async fn another_project_adds_nothing(store: House) {
    let (ours, theirs) = (id(), id());
    let span = committed(&store, ours).await;
    let feedback = Feedback {
        score: 0.5,
        comment: None,
    };

    for (project, span) in [(theirs, span.id), (ours, id())] {
        let change = SpanChange {
            meta: Some(object(r#"{"x":1}"#)),
            ..scored(Some(1))
        };
        let changed = store.change_span(scope(project), span, change).await;
        assert_eq!(changed.unwrap(), None);
        let rated = store.rate_span(scope(project), span, &feedback).await;
        assert!(!rated.unwrap());
        let observed = store.observe_span(project, span, &observation(1)).await;
        assert!(!observed.unwrap());
    }

    let found = store.span(scope(ours), span.id).await.unwrap();
    assert_eq!(found, Some(span));
}

async fn what_was_added_goes_with_its_span(store: House) {
    let project = id();
    let scope = scope(project);
    let span = committed(&store, project).await;
    let feedback = Feedback {
        score: 0.5,
        comment: None,
    };
    store
        .change_span(scope, span.id, scored(Some(1)))
        .await
        .unwrap();
    store.rate_span(scope, span.id, &feedback).await.unwrap();

    store.delete_span(scope, span.id).await.unwrap();
    commit(&*store, [&span]).await.unwrap();

    let found = store.span(scope, span.id).await.unwrap();
    assert_eq!(found, Some(span));
}
