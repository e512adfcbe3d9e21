//! Finding a revision by what it fixes.

use domain::{Definition, Json, Revision};

use crate::{
    House,
    functions::{new, next, plain, settings},
    id, on_every_backend, scope,
};

on_every_backend![
    a_revision_is_found_by_all_that_it_fixes,
    of_equal_revisions_the_newest_is_found,
    another_functions_revision_is_not_found,
];

fn full() -> Definition {
    Definition {
        instructions: "Greet.".to_owned(),
        input_schema: Some(Json::parse(r#"{"a":1}"#).unwrap()),
        output_schema: Some(Json::parse(r#"{"b":1}"#).unwrap()),
        model: serde_json::from_str(r#"{"name":"a/one","options":{"temperature":0.10}}"#).unwrap(),
        configuration: settings(r#"{"invocation.cache.ttl":60,"own":[1.0]}"#),
    }
}

/// Definitions of which no two are equal.
fn different() -> Vec<Definition> {
    let change = |change: fn(&mut Definition)| {
        let mut definition = full();
        change(&mut definition);
        definition
    };
    vec![
        plain(),
        full(),
        change(|it| it.instructions = "Greet!".into()),
        change(|it| it.instructions = String::new()),
        change(|it| it.input_schema = None),
        change(|it| it.input_schema = it.output_schema.clone()),
        change(|it| it.output_schema = None),
        change(|it| it.output_schema = it.input_schema.clone()),
        change(|it| it.model = None),
        change(|it| it.model = serde_json::from_str(r#""a/one""#).unwrap()),
        change(|it| it.configuration = settings("{}")),
        change(|it| it.configuration = settings(r#"{"invocation.cache.ttl":60,"own":[1]}"#)),
    ]
}

async fn a_revision_is_found_by_all_that_it_fixes(store: House) {
    let project = id();
    let mut definitions = different();
    let unused = definitions.pop().unwrap();
    let (mut function, mut first) = new(project, "greet");
    first.definition = definitions[0].clone();
    store.insert_function(&function, &first).await.unwrap();
    let mut revisions: Vec<Revision> = vec![first];
    for definition in &definitions[1..] {
        let (changed, mut revision) = next(&function);
        revision.definition = definition.clone();
        store
            .update_function(&changed, Some(&revision))
            .await
            .unwrap();
        revisions.push(revision);
        function = changed;
    }

    let scope = scope(project);
    for revision in revisions {
        let found = store
            .revision_with(scope, function.id, &revision.definition)
            .await
            .unwrap();
        assert_eq!(found, Some(revision));
    }
    let found = store.revision_with(scope, function.id, &unused).await;
    assert_eq!(found.unwrap(), None);
}

async fn of_equal_revisions_the_newest_is_found(store: House) {
    let project = id();
    let (mut function, first) = new(project, "greet");
    store.insert_function(&function, &first).await.unwrap();
    let mut newest = first;
    for definition in [full(), plain(), full()] {
        let (changed, mut revision) = next(&function);
        revision.definition = definition;
        store
            .update_function(&changed, Some(&revision))
            .await
            .unwrap();
        if revision.definition == plain() {
            newest = revision;
        }
        function = changed;
    }

    let found = store
        .revision_with(scope(project), function.id, &plain())
        .await
        .unwrap();

    assert_eq!(found, Some(newest));
}

async fn another_functions_revision_is_not_found(store: House) {
    let (ours, theirs) = (id(), id());
    let (mine, my_revision) = new(ours, "greet");
    let (mut beside, mut other_revision) = new(ours, "other");
    other_revision.definition = full();
    store.insert_function(&mine, &my_revision).await.unwrap();
    store
        .insert_function(&beside, &other_revision)
        .await
        .unwrap();
    beside.id = id();

    for (project, function, definition) in [
        (theirs, mine.id, plain()),
        (ours, mine.id, full()),
        (ours, beside.id, full()),
    ] {
        let found = store
            .revision_with(scope(project), function, &definition)
            .await;
        assert_eq!(found.unwrap(), None);
    }
}
