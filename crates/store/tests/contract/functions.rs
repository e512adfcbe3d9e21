//! Functions and revisions.

use domain::{
    Definition, Function, FunctionFilter, FunctionName, FunctionSort, Json, Page, Paged, ProjectId,
    Revision, Settings, seams::StoreError,
};

use crate::{House, id, on_every_backend, scope, second};

on_every_backend![
    a_function_reads_as_it_was_kept,
    every_text_survives,
    a_taken_name_is_refused_and_leaves_nothing,
    of_many_creates_of_one_name_one_succeeds,
    another_project_sees_nothing,
    an_update_needs_the_version_before_it,
    a_rename_to_a_taken_name_is_refused,
    concurrent_updates_form_one_line,
    an_update_may_bring_no_revision,
    a_revision_belongs_to_its_function,
    revisions_come_newest_first,
    a_deleted_function_takes_its_revisions_along,
    a_dataset_outlives_its_function,
    lists_are_ordered,
    lists_are_filtered_by_a_part_of_the_name,
    lists_are_paged,
];

const ALL: Page = Page {
    offset: 0,
    limit: 1000,
};

fn name(text: &str) -> FunctionName {
    FunctionName::parse(text).unwrap()
}

pub(crate) fn settings(text: &str) -> Settings {
    Settings::parse(serde_json::from_str(text).unwrap()).unwrap()
}

pub(crate) fn plain() -> Definition {
    Definition {
        instructions: "Say hello.".to_owned(),
        input_schema: None,
        output_schema: None,
        model: None,
        configuration: Settings::default(),
    }
}

pub(crate) fn new(project: ProjectId, text: &str) -> (Function, Revision) {
    let function = Function {
        id: id(),
        project,
        name: name(text),
        description: None,
        dataset_id: id(),
        dataset_version: 0,
        revision_id: id(),
        version: 1,
        created_at: second(0),
    };
    let revision = Revision {
        id: function.revision_id,
        function_id: function.id,
        definition: plain(),
        created_at: second(0),
    };
    (function, revision)
}

/// The function one version on, at a new revision.
pub(crate) fn next(function: &Function) -> (Function, Revision) {
    let mut next = function.clone();
    next.version += 1;
    next.revision_id = id();
    let revision = Revision {
        id: next.revision_id,
        function_id: next.id,
        definition: plain(),
        created_at: second(0),
    };
    (next, revision)
}

async fn names(
    store: &House,
    project: ProjectId,
    filter: FunctionFilter,
    page: Page,
) -> Vec<String> {
    let functions = store
        .functions(scope(project), &filter, page)
        .await
        .unwrap();
    functions
        .items
        .into_iter()
        .map(|(function, _)| function.name.as_str().to_owned())
        .collect()
}

async fn a_function_reads_as_it_was_kept(store: House) {
    let project = id();
    let (mut function, mut revision) = new(project, "team/greet");
    function.description = Some("Greets.".to_owned());
    revision.created_at = second(9);
    revision.definition = Definition {
        instructions: "Greet {name}.".to_owned(),
        input_schema: Some(Json::parse(r#"{"type":"object","z":1,"a":1.50}"#).unwrap()),
        output_schema: Some(Json::parse("true").unwrap()),
        model: serde_json::from_str(
            r#"["a/one",{"name":"b/two","options":{"temperature":0.10},"extra_headers":{"x":"y"}}]"#,
        )
        .unwrap(),
        configuration: settings(r#"{"own.key":{"b":1,"a":1e3},"invocation.cache.ttl":60}"#),
    };

    store.insert_function(&function, &revision).await.unwrap();

    let scope = scope(project);
    let found = store.function(scope, function.id).await.unwrap();
    assert_eq!(found.as_ref(), Some(&function));
    let found = store.function_by_name(scope, &function.name).await.unwrap();
    assert_eq!(found.as_ref(), Some(&function));
    let found = store
        .revision(scope, function.id, revision.id)
        .await
        .unwrap();
    assert_eq!(found.as_ref(), Some(&revision));
    let listed = store
        .functions(scope, &FunctionFilter::default(), ALL)
        .await
        .unwrap();
    assert_eq!(
        listed,
        Paged {
            items: vec![(function, revision)],
            total: 1
        }
    );
}

async fn every_text_survives(store: House) {
    let project = id();
    let text = "nul \0, quote ' \" \\, \u{1F600} \u{202E}\u{FFFD}\u{7F} e\u{301} \r\n, end";
    let (mut function, mut revision) = new(project, "texts");
    function.description = Some(text.to_owned());
    revision.definition.instructions = text.into();
    revision.definition.input_schema =
        Some(Json::of(&std::collections::BTreeMap::from([(text, text)])));
    revision.definition.output_schema = Some(Json::parse(r#""\u0000\u001f\ud83d\ude00""#).unwrap());

    store.insert_function(&function, &revision).await.unwrap();

    let scope = scope(project);
    let found = store.function(scope, function.id).await.unwrap();
    assert_eq!(found, Some(function.clone()));
    let found = store
        .revision(scope, function.id, revision.id)
        .await
        .unwrap();
    assert_eq!(found, Some(revision));
}

async fn a_taken_name_is_refused_and_leaves_nothing(store: House) {
    let project = id();
    let (first, first_revision) = new(project, "greet");
    let (second, second_revision) = new(project, "greet");
    let (mut same_dataset, other_revision) = new(project, "other");
    same_dataset.dataset_id = first.dataset_id;
    store
        .insert_function(&first, &first_revision)
        .await
        .unwrap();

    let refused = store.insert_function(&second, &second_revision).await;
    let refused_late = store.insert_function(&same_dataset, &other_revision).await;

    assert!(matches!(refused, Err(StoreError::Taken)), "{refused:?}");
    assert!(
        matches!(refused_late, Err(StoreError::Taken)),
        "{refused_late:?}"
    );
    assert_eq!(
        names(&store, project, FunctionFilter::default(), ALL).await,
        ["greet"]
    );
    let scope = scope(project);
    assert_eq!(store.function(scope, same_dataset.id).await.unwrap(), None);
    let found = store.function_by_name(scope, &name("greet")).await.unwrap();
    assert_eq!(found, Some(first));
}

async fn of_many_creates_of_one_name_one_succeeds(store: House) {
    let project = id();
    let tries: Vec<_> = (0..100)
        .map(|_| {
            let store = store.store.clone();
            tokio::spawn(async move {
                let (function, revision) = new(project, "greet");
                store.insert_function(&function, &revision).await
            })
        })
        .collect();

    let mut kept = 0;
    for tried in tries {
        match tried.await.unwrap() {
            Ok(()) => kept += 1,
            Err(error) => assert!(matches!(error, StoreError::Taken), "{error:?}"),
        }
    }

    assert_eq!(kept, 1);
    assert_eq!(
        names(&store, project, FunctionFilter::default(), ALL).await,
        ["greet"]
    );
}

async fn another_project_sees_nothing(store: House) {
    let (ours, theirs) = (id(), id());
    let (function, revision) = new(theirs, "greet");
    let (mine, my_revision) = new(ours, "greet");
    store.insert_function(&function, &revision).await.unwrap();
    let scope = scope(ours);

    assert_eq!(store.function(scope, function.id).await.unwrap(), None);
    assert_eq!(
        store.function_by_name(scope, &function.name).await.unwrap(),
        None
    );
    assert_eq!(
        store
            .revision(scope, function.id, revision.id)
            .await
            .unwrap(),
        None
    );
    assert_eq!(
        store
            .revisions(scope, function.id, ALL)
            .await
            .unwrap()
            .total,
        0
    );
    assert!(!store.delete_function(scope, function.id).await.unwrap());
    let (mut stolen, stolen_revision) = next(&function);
    stolen.project = ours;
    let refused = store.update_function(&stolen, Some(&stolen_revision)).await;
    assert!(matches!(refused, Err(StoreError::Stale)), "{refused:?}");

    store.insert_function(&mine, &my_revision).await.unwrap();
    let listed = store
        .functions(scope, &FunctionFilter::default(), ALL)
        .await
        .unwrap();
    assert_eq!((listed.total, &listed.items[0].0), (1, &mine));
}

async fn an_update_needs_the_version_before_it(store: House) {
    let project = id();
    let (function, revision) = new(project, "greet");
    store.insert_function(&function, &revision).await.unwrap();
    let (mut second, second_revision) = next(&function);
    second.name = name("salute");
    second.description = Some("new".to_owned());
    store
        .update_function(&second, Some(&second_revision))
        .await
        .unwrap();

    let (late, late_revision) = next(&function);
    let (third, _) = next(&second);
    let (early, early_revision) = next(&third);
    let (unknown, unknown_revision) = new(project, "unknown");

    for (stale, revision) in [
        (late, late_revision),
        (early, early_revision),
        (unknown, unknown_revision),
    ] {
        let refused = store.update_function(&stale, Some(&revision)).await;
        assert!(matches!(refused, Err(StoreError::Stale)), "{refused:?}");
    }
    let scope = scope(project);
    assert_eq!(
        store.function(scope, second.id).await.unwrap().as_ref(),
        Some(&second)
    );
    assert_eq!(
        store.function_by_name(scope, &function.name).await.unwrap(),
        None
    );
    assert_eq!(
        store.revisions(scope, second.id, ALL).await.unwrap().items,
        [second_revision, revision]
    );
}

async fn a_rename_to_a_taken_name_is_refused(store: House) {
    let project = id();
    let (greet, greet_revision) = new(project, "greet");
    let (salute, salute_revision) = new(project, "salute");
    store
        .insert_function(&greet, &greet_revision)
        .await
        .unwrap();
    store
        .insert_function(&salute, &salute_revision)
        .await
        .unwrap();
    let (mut renamed, renamed_revision) = next(&salute);
    renamed.name = name("greet");

    let refused = store
        .update_function(&renamed, Some(&renamed_revision))
        .await;

    assert!(matches!(refused, Err(StoreError::Taken)), "{refused:?}");
    let scope = scope(project);
    assert_eq!(
        store.function(scope, salute.id).await.unwrap().as_ref(),
        Some(&salute)
    );
    assert_eq!(
        store.revisions(scope, salute.id, ALL).await.unwrap().items,
        [salute_revision]
    );
}

async fn concurrent_updates_form_one_line(store: House) {
    let project = id();
    let (function, revision) = new(project, "greet");
    store.insert_function(&function, &revision).await.unwrap();
    let writers: Vec<_> = (0..8)
        .map(|_| {
            let store = store.store.clone();
            let id = function.id;
            tokio::spawn(async move {
                let mut kept = 0;
                while kept < 5 {
                    let read = store.function(scope(project), id).await.unwrap().unwrap();
                    let (next, revision) = next(&read);
                    match store.update_function(&next, Some(&revision)).await {
                        Ok(()) => kept += 1,
                        Err(error) => assert!(matches!(error, StoreError::Stale), "{error:?}"),
                    }
                }
            })
        })
        .collect();

    for writer in writers {
        writer.await.unwrap();
    }

    let scope = scope(project);
    let last = store.function(scope, function.id).await.unwrap().unwrap();
    let line = store.revisions(scope, function.id, ALL).await.unwrap();
    assert_eq!((last.version, line.total), (41, 41));
    assert_eq!(line.items[0].id, last.revision_id);
    assert_eq!(line.items[40].id, revision.id);
}

async fn an_update_may_bring_no_revision(store: House) {
    let project = id();
    let (function, revision) = new(project, "greet");
    store.insert_function(&function, &revision).await.unwrap();
    let mut described = function.clone();
    described.version = 2;
    described.description = Some("Greets.".to_owned());

    store.update_function(&described, None).await.unwrap();

    let listed = store
        .functions(scope(project), &FunctionFilter::default(), ALL)
        .await
        .unwrap();
    assert_eq!(listed.items, [(described, revision)]);
}

async fn a_revision_belongs_to_its_function(store: House) {
    let project = id();
    let (greet, greet_revision) = new(project, "greet");
    let (salute, salute_revision) = new(project, "salute");
    store
        .insert_function(&greet, &greet_revision)
        .await
        .unwrap();
    store
        .insert_function(&salute, &salute_revision)
        .await
        .unwrap();

    let crossed = store
        .revision(scope(project), greet.id, salute_revision.id)
        .await;

    assert_eq!(crossed.unwrap(), None);
}

async fn revisions_come_newest_first(store: House) {
    let project = id();
    let (mut function, revision) = new(project, "greet");
    store.insert_function(&function, &revision).await.unwrap();
    let mut line = vec![revision];
    for step in 1..5 {
        let (next, mut revision) = next(&function);
        // The clock goes backwards meanwhile.
        revision.created_at = second(-step);
        revision.definition.instructions = format!("step {step}");
        store.update_function(&next, Some(&revision)).await.unwrap();
        function = next;
        line.insert(0, revision);
    }
    let scope = scope(project);

    let whole = store.revisions(scope, function.id, ALL).await.unwrap();
    let page = Page {
        offset: 1,
        limit: 2,
    };
    let part = store.revisions(scope, function.id, page).await.unwrap();

    assert_eq!((whole.total, part.total), (5, 5));
    assert_eq!(part.items, line[1..3]);
    assert_eq!(whole.items, line);
}

async fn a_deleted_function_takes_its_revisions_along(store: House) {
    let project = id();
    let (function, revision) = new(project, "greet");
    store.insert_function(&function, &revision).await.unwrap();
    let (second, second_revision) = next(&function);
    store
        .update_function(&second, Some(&second_revision))
        .await
        .unwrap();
    let scope = scope(project);

    assert!(store.delete_function(scope, function.id).await.unwrap());
    assert!(!store.delete_function(scope, function.id).await.unwrap());

    assert_eq!(store.function(scope, function.id).await.unwrap(), None);
    for revision in [revision.id, second_revision.id] {
        assert_eq!(
            store.revision(scope, function.id, revision).await.unwrap(),
            None
        );
    }
    assert_eq!(
        store
            .revisions(scope, function.id, ALL)
            .await
            .unwrap()
            .total,
        0
    );
    let (again, mut again_revision) = new(project, "greet");
    again_revision.definition.instructions = "Again.".into();
    store
        .insert_function(&again, &again_revision)
        .await
        .unwrap();
    let listed = store
        .functions(scope, &FunctionFilter::default(), ALL)
        .await
        .unwrap();
    assert_eq!(listed.items, [(again, again_revision)]);
}

async fn a_dataset_outlives_its_function(store: House) {
    let project = id();
    let (function, revision) = new(project, "greet");
    store.insert_function(&function, &revision).await.unwrap();
    store
        .delete_function(scope(project), function.id)
        .await
        .unwrap();
    let (mut other, other_revision) = new(project, "greet");
    other.dataset_id = function.dataset_id;

    let refused = store.insert_function(&other, &other_revision).await;

    assert!(matches!(refused, Err(StoreError::Taken)), "{refused:?}");
}

async fn lists_are_ordered(store: House) {
    let project = id();
    let made = [
        ("b", 3),
        ("B", 1),
        ("a/b", 2),
        ("a", 2),
        ("a.b", 0),
        ("_", 2),
    ];
    let mut by_age = Vec::new();
    for (text, age) in made {
        let (mut function, revision) = new(project, text);
        function.created_at = second(age);
        store.insert_function(&function, &revision).await.unwrap();
        by_age.push((function.created_at, function.id, text));
    }
    by_age.sort_unstable();
    let oldest: Vec<_> = by_age.iter().map(|(_, _, text)| *text).collect();
    let newest: Vec<_> = oldest.iter().rev().copied().collect();
    let ascending = vec!["B", "_", "a", "a.b", "a/b", "b"];
    let descending: Vec<_> = ascending.iter().rev().copied().collect();

    for (sort, expected) in [
        (FunctionSort::Name, ascending),
        (FunctionSort::NameDescending, descending),
        (FunctionSort::Created, oldest),
        (FunctionSort::CreatedDescending, newest),
    ] {
        let filter = FunctionFilter { name: None, sort };
        assert_eq!(
            names(&store, project, filter, ALL).await,
            expected,
            "{sort:?}"
        );
    }
}

async fn lists_are_filtered_by_a_part_of_the_name(store: House) {
    let project = id();
    for text in ["team/Greet", "team/greet", "greeting", "a_b", "axb"] {
        let (function, revision) = new(project, text);
        store.insert_function(&function, &revision).await.unwrap();
    }

    for (part, expected) in [
        ("greet", vec!["greeting", "team/greet"]),
        ("Greet", vec!["team/Greet"]),
        ("_", vec!["a_b"]),
        ("%", vec![]),
        (
            "",
            vec!["a_b", "axb", "greeting", "team/Greet", "team/greet"],
        ),
        ("greet\0", vec![]),
        ("é", vec![]),
    ] {
        let filter = FunctionFilter {
            name: Some(part.to_owned()),
            sort: FunctionSort::Name,
        };
        let total = store
            .functions(scope(project), &filter, ALL)
            .await
            .unwrap()
            .total;
        assert_eq!(
            names(&store, project, filter, ALL).await,
            expected,
            "{part:?}"
        );
        assert_eq!(usize::try_from(total).unwrap(), expected.len(), "{part:?}");
    }
}

async fn lists_are_paged(store: House) {
    let project = id();
    for number in 0..7 {
        let (function, revision) = new(project, &format!("f{number}"));
        store.insert_function(&function, &revision).await.unwrap();
    }

    for (offset, limit, expected) in [
        (0, 3, vec!["f0", "f1", "f2"]),
        (3, 3, vec!["f3", "f4", "f5"]),
        (6, 3, vec!["f6"]),
        (7, 3, vec![]),
        (u32::MAX, u32::MAX, vec![]),
        (2, 0, vec![]),
    ] {
        let page = Page { offset, limit };
        let filter = FunctionFilter::default();
        let total = store
            .functions(scope(project), &filter, page)
            .await
            .unwrap()
            .total;
        assert_eq!(
            names(&store, project, filter, page).await,
            expected,
            "{page:?}"
        );
        assert_eq!(total, 7);
    }
}
