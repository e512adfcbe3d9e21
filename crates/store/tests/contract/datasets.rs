//! Datasets and their entries.

use domain::{
    Dataset, DatasetId, Entry, EntryChange, EntryChanges, Function, Json, Page, Paged, ProjectId,
    seams::StoreError,
};

use crate::{House, functions, id, on_every_backend, scope, second};

on_every_backend![
    a_dataset_is_made_with_its_function_and_outlives_it,
    an_entry_reads_as_it_was_kept,
    entries_come_oldest_first_and_by_the_page,
    an_entry_changes_in_what_is_given,
    another_project_sees_and_changes_nothing,
    an_entry_belongs_to_its_dataset,
    every_change_raises_the_version,
    a_function_tells_its_datasets_version,
    changes_since_a_version_are_told_once,
    a_deletion_is_told_by_the_entrys_id,
    an_id_that_comes_back_is_told_as_deleted_and_as_new,
    the_newest_thousand_deletions_are_told_one_by_one,
    a_deletion_is_told_of_its_dataset_alone,
    the_newest_are_told_where_there_are_too_many,
    the_newest_are_told_where_their_texts_are_too_long,
    entries_made_at_once_are_all_counted,
];

const ALL: Page = Page {
    offset: 0,
    limit: 1000,
};

pub(crate) async fn made(store: &House, project: ProjectId) -> Function {
    let (function, revision) = functions::new(project, &id::<DatasetId>().to_string());
    store.insert_function(&function, &revision).await.unwrap();
    function
}

pub(crate) fn entry(dataset: DatasetId, input: &str) -> Entry {
    Entry {
        id: id(),
        dataset_id: dataset,
        input: Json::of(&input),
        output: Json::of(&"output"),
        expected: None,
        comment: None,
        created_at: second(0),
    }
}

/// Keeps entries of these inputs.
pub(crate) async fn filled<const N: usize>(
    store: &House,
    function: &Function,
    inputs: [&str; N],
) -> [Entry; N] {
    let entries = inputs.map(|input| entry(function.dataset_id, input));
    for entry in &entries {
        let kept = store.insert_entry(scope(function.project), entry).await;
        assert!(kept.unwrap());
    }
    entries
}

async fn changes(store: &House, function: &Function, since: i64, limit: u64) -> EntryChanges {
    let (scope, dataset) = (scope(function.project), function.dataset_id);
    store
        .entry_changes(scope, dataset, since, limit, None)
        .await
        .unwrap()
}

fn told<const N: usize>(version: i64, entries: [&Entry; N], are_all: bool) -> EntryChanges {
    EntryChanges {
        version,
        entries: entries.map(|entry| (entry.clone(), None)).to_vec(),
        deleted: Vec::new(),
        are_all,
    }
}

fn output(text: &str) -> EntryChange {
    EntryChange {
        output: Some(Json::of(&text)),
        ..EntryChange::default()
    }
}

async fn a_dataset_is_made_with_its_function_and_outlives_it(store: House) {
    let (project, other) = (id(), id());
    let function = made(&store, project).await;
    let [entry] = filled(&store, &function, ["kept"]).await;
    let dataset = Dataset {
        id: function.dataset_id,
        function_id: function.id,
    };

    store
        .delete_function(scope(project), function.id)
        .await
        .unwrap();

    for (project, id, expected) in [
        (project, dataset.id, Some(dataset)),
        (other, dataset.id, None),
        (project, id(), None),
    ] {
        let found = store.dataset(scope(project), id).await.unwrap();
        assert_eq!(found, expected);
    }
    let found = store.entry(scope(project), dataset.id, entry.id).await;
    assert_eq!(found.unwrap(), Some(entry));
    filled(&store, &function, ["another"]).await;
}

async fn an_entry_reads_as_it_was_kept(store: House) {
    let project = id();
    let function = made(&store, project).await;
    let mut full = entry(function.dataset_id, "\0");
    full.input = Json::parse(r#"{"b":1.0,"a":12345678901234567890123}"#).unwrap();
    full.output = Json::null();
    full.expected = Some(Json::null());
    full.comment = Some("nul \0, \u{1F600}".to_owned());
    full.created_at = second(-5);

    assert!(store.insert_entry(scope(project), &full).await.unwrap());

    let found = store
        .entry(scope(project), function.dataset_id, full.id)
        .await;
    assert_eq!(found.unwrap(), Some(full));
}

async fn entries_come_oldest_first_and_by_the_page(store: House) {
    let project = id();
    let (function, beside) = (made(&store, project).await, made(&store, project).await);
    let kept = filled(&store, &function, ["c", "a", "b"]).await;
    filled(&store, &beside, ["d"]).await;
    let change = output("changed last");
    let changed = store
        .change_entry(scope(project), function.dataset_id, kept[0].id, change)
        .await
        .unwrap()
        .unwrap();
    let [_, second, third] = kept;
    let kept = [changed, second, third];

    for (offset, limit, expected) in [
        (0, 2, &kept[..2]),
        (2, 2, &kept[2..]),
        (3, 2, &[]),
        (0, 0, &[]),
        (0, u32::MAX, &kept),
    ] {
        let page = store
            .entries(scope(project), function.dataset_id, Page { offset, limit })
            .await
            .unwrap();
        let expected = Paged {
            items: expected.to_vec(),
            total: 3,
        };
        assert_eq!(page, expected);
    }
}

async fn an_entry_changes_in_what_is_given(store: House) {
    let project = id();
    let function = made(&store, project).await;
    let [before] = filled(&store, &function, ["input"]).await;
    let (scope, dataset) = (scope(project), function.dataset_id);
    let all = EntryChange {
        input: Some(Json::of(&1)),
        output: Some(Json::of(&2)),
        expected: Some(Some(Json::of(&3))),
        comment: Some(Some("4".to_owned())),
    };
    let clearing = EntryChange {
        expected: Some(None),
        comment: Some(None),
        ..EntryChange::default()
    };

    let full = store.change_entry(scope, dataset, before.id, all).await;
    let cleared = store
        .change_entry(scope, dataset, before.id, clearing)
        .await;

    let mut expected = Entry {
        input: Json::of(&1),
        output: Json::of(&2),
        expected: Some(Json::of(&3)),
        comment: Some("4".to_owned()),
        ..before
    };
    assert_eq!(full.unwrap().as_ref(), Some(&expected));
    expected.expected = None;
    expected.comment = None;
    assert_eq!(cleared.unwrap().as_ref(), Some(&expected));
    let found = store.entry(scope, dataset, expected.id).await;
    assert_eq!(found.unwrap(), Some(expected));
}

async fn another_project_sees_and_changes_nothing(store: House) {
    let (ours, theirs) = (id(), id());
    let function = made(&store, ours).await;
    let [mine] = filled(&store, &function, ["mine"]).await;
    let (foreign, dataset) = (scope(theirs), function.dataset_id);

    let inserted = store.insert_entry(foreign, &entry(dataset, "x")).await;
    let listed = store.entries(foreign, dataset, ALL).await.unwrap();
    let found = store.entry(foreign, dataset, mine.id).await;
    let changed = store.change_entry(foreign, dataset, mine.id, output("x"));
    let changed = changed.await;
    let deleted = store.delete_entry(foreign, dataset, mine.id).await;
    let told_them = store.entry_changes(foreign, dataset, 0, 100, None).await;

    assert!(!inserted.unwrap() && !deleted.unwrap());
    assert_eq!((listed.items, listed.total), (vec![], 0));
    assert_eq!((found.unwrap(), changed.unwrap()), (None, None));
    assert_eq!(told_them.unwrap(), EntryChanges::default());
    let untouched = changes(&store, &function, 0, 100).await;
    assert_eq!(untouched, told(1, [&mine], true));
}

async fn an_entry_belongs_to_its_dataset(store: House) {
    let project = id();
    let (function, beside) = (made(&store, project).await, made(&store, project).await);
    let [mine] = filled(&store, &function, ["mine"]).await;
    let (scope, elsewhere) = (scope(project), beside.dataset_id);

    let found = store.entry(scope, elsewhere, mine.id).await;
    let changed = store.change_entry(scope, elsewhere, mine.id, output("x"));
    let changed = changed.await;
    let deleted = store.delete_entry(scope, elsewhere, mine.id).await;
    let lost = store.insert_entry(scope, &entry(id(), "x")).await;

    assert_eq!((found.unwrap(), changed.unwrap()), (None, None));
    assert!(!deleted.unwrap() && !lost.unwrap());
    let untouched = changes(&store, &beside, 0, 100).await;
    assert_eq!(untouched, told(0, [], true));
}

async fn every_change_raises_the_version(store: House) {
    let project = id();
    let function = made(&store, project).await;
    let (scope, dataset) = (scope(project), function.dataset_id);
    let [one, two] = filled(&store, &function, ["one", "two"]).await;
    let mut versions = vec![changes(&store, &function, 0, 9).await.version];

    for change in [output("new"), output("new"), EntryChange::default()] {
        store
            .change_entry(scope, dataset, one.id, change)
            .await
            .unwrap();
        versions.push(changes(&store, &function, 0, 9).await.version);
    }
    for _ in 0..2 {
        store.delete_entry(scope, dataset, two.id).await.unwrap();
        versions.push(changes(&store, &function, 0, 9).await.version);
    }

    assert_eq!(versions, [2, 3, 3, 3, 4, 4]);
}

async fn a_function_tells_its_datasets_version(store: House) {
    let project = id();
    let (mut function, beside) = (made(&store, project).await, made(&store, project).await);
    let before = store.function(scope(project), function.id).await;
    filled(&store, &function, ["one", "two"]).await;
    filled(&store, &beside, ["three"]).await;
    // Never written with the function.
    function.version += 1;
    function.dataset_version = 77;
    store.update_function(&function, None).await.unwrap();

    let scope = scope(project);
    let by_id = store.function(scope, function.id).await.unwrap().unwrap();
    let by_name = store.function_by_name(scope, &function.name).await;
    let listed = store
        .functions(scope, &domain::FunctionFilter::default(), ALL)
        .await
        .unwrap();

    assert_eq!(before.unwrap().unwrap().dataset_version, 0);
    function.dataset_version = 2;
    assert_eq!(
        (&by_id, by_name.unwrap().as_ref()),
        (&function, Some(&function))
    );
    let mut versions: Vec<_> = listed
        .items
        .iter()
        .map(|(function, _)| function.dataset_version)
        .collect();
    versions.sort_unstable();
    assert_eq!(versions, [1, 2]);
}

async fn changes_since_a_version_are_told_once(store: House) {
    let project = id();
    let function = made(&store, project).await;
    let [one, two, three] = filled(&store, &function, ["1", "2", "3"]).await;
    let one = store
        .change_entry(scope(project), function.dataset_id, one.id, output("new"))
        .await
        .unwrap()
        .unwrap();

    for (since, expected) in [
        (0, told(4, [&two, &three, &one], true)),
        (1, told(4, [&two, &three, &one], false)),
        (2, told(4, [&three, &one], false)),
        (3, told(4, [&one], false)),
        (4, told(4, [], false)),
    ] {
        assert_eq!(changes(&store, &function, since, 100).await, expected);
    }
}

async fn delete(store: &House, function: &Function, entry: &Entry) {
    let (scope, dataset) = (scope(function.project), function.dataset_id);
    let deleted = store.delete_entry(scope, dataset, entry.id).await;
    assert!(deleted.unwrap());
}

fn gone<const N: usize>(changes: EntryChanges, entries: [&Entry; N]) -> EntryChanges {
    EntryChanges {
        deleted: entries.map(|entry| entry.id).to_vec(),
        ..changes
    }
}

async fn a_deletion_is_told_by_the_entrys_id(store: House) {
    let function = made(&store, id()).await;
    let [one, two, three] = filled(&store, &function, ["1", "2", "3"]).await;
    delete(&store, &function, &two).await;
    let [four] = filled(&store, &function, ["4"]).await;
    delete(&store, &function, &one).await;

    for (since, expected) in [
        (0, told(6, [&three, &four], true)),
        (1, gone(told(6, [&three, &four], false), [&two, &one])),
        (3, gone(told(6, [&four], false), [&two, &one])),
        (4, gone(told(6, [&four], false), [&one])),
        (5, gone(told(6, [], false), [&one])),
        (6, told(6, [], false)),
    ] {
        assert_eq!(changes(&store, &function, since, 100).await, expected);
    }
    let cut = changes(&store, &function, 3, 1).await;
    assert_eq!(cut, told(6, [&four], true));
}

async fn an_id_that_comes_back_is_told_as_deleted_and_as_new(store: House) {
    let function = made(&store, id()).await;
    let [one] = filled(&store, &function, ["1"]).await;
    delete(&store, &function, &one).await;
    let kept = store.insert_entry(scope(function.project), &one).await;

    assert!(kept.unwrap());

    let found = changes(&store, &function, 1, 100).await;
    assert_eq!(found, gone(told(3, [&one], false), [&one]));
}

/// Does something with each of these entries at the same time; it has to succeed.
async fn at_once<F>(entries: &[Entry], write: impl Fn(Entry) -> F)
where
    F: Future<Output = Result<bool, StoreError>> + Send + 'static,
{
    let write = |entry: &Entry| tokio::spawn(write(entry.clone()));
    let writes: Vec<_> = entries.iter().map(write).collect();
    for write in writes {
        assert!(write.await.unwrap().unwrap());
    }
}

async fn the_newest_thousand_deletions_are_told_one_by_one(store: House) {
    let function = made(&store, id()).await;
    let [left] = filled(&store, &function, ["left"]).await;
    let entries: Vec<Entry> = (0..1002)
        .map(|_| entry(function.dataset_id, "gone"))
        .collect();
    let (scope, dataset) = (scope(function.project), function.dataset_id);
    // Some at once, so that they are written together.
    for some in entries.chunks(50) {
        at_once(some, |entry| {
            let store = store.store.clone();
            async move { store.insert_entry(scope, &entry).await }
        })
        .await;
    }

    for some in entries.chunks(50) {
        at_once(some, |entry| {
            let store = store.store.clone();
            async move { store.delete_entry(scope, dataset, entry.id).await }
        })
        .await;
    }

    for (since, deleted, are_all) in [
        (1004, 0, true),
        (1005, 1000, false),
        (1006, 999, false),
        (2005, 0, false),
    ] {
        let found = changes(&store, &function, since, 100).await;
        let told = (found.version, found.deleted.len(), found.are_all);
        assert_eq!(told, (2005, deleted, are_all), "since {since}");
    }
    let all = changes(&store, &function, 1004, 100).await;
    assert_eq!(all, told(2005, [&left], true));
}

async fn a_deletion_is_told_of_its_dataset_alone(store: House) {
    let project = id();
    let (function, beside) = (made(&store, project).await, made(&store, project).await);
    let [one, _] = filled(&store, &function, ["1", "2"]).await;
    filled(&store, &beside, ["3"]).await;
    let scope = scope(project);

    let elsewhere = store.delete_entry(scope, beside.dataset_id, one.id).await;
    assert!(!elsewhere.unwrap());
    assert_eq!(changes(&store, &function, 2, 100).await, told(2, [], false));
    delete(&store, &function, &one).await;

    assert_eq!(changes(&store, &beside, 1, 100).await, told(1, [], false));
    let told_once = changes(&store, &function, 2, 100).await;
    assert_eq!(told_once, gone(told(3, [], false), [&one]));
}

async fn the_newest_are_told_where_there_are_too_many(store: House) {
    let project = id();
    let function = made(&store, project).await;
    let [one, _, three, four] = filled(&store, &function, ["1", "2", "3", "4"]).await;
    let one = store
        .change_entry(scope(project), function.dataset_id, one.id, output("new"))
        .await
        .unwrap()
        .unwrap();

    for (since, limit, expected) in [
        (0, 3, told(5, [&three, &four, &one], true)),
        // All that a copy of so many needs, so it may as well be made anew.
        (1, 3, told(5, [&three, &four, &one], true)),
        (3, 3, told(5, [&four, &one], false)),
        (4, 1, told(5, [&one], true)),
        (0, u64::MAX, changes(&store, &function, 0, 100).await),
    ] {
        assert_eq!(changes(&store, &function, since, limit).await, expected);
    }
}

async fn the_newest_are_told_where_their_texts_are_too_long(store: House) {
    let function = made(&store, id()).await;
    let quarter = "x".repeat(16 * 1024 * 1024);
    for count in 0..6 {
        let long = Entry {
            comment: Some(quarter.clone()),
            ..entry(function.dataset_id, &count.to_string())
        };
        let kept = store.insert_entry(scope(function.project), &long).await;
        assert!(kept.unwrap());
    }

    for (since, first, are_all) in [
        (0, "2", true),
        (1, "2", true),
        (2, "2", false),
        (3, "3", false),
    ] {
        let found = changes(&store, &function, since, 100).await;
        let oldest = &found.entries[0].0.input;
        assert_eq!((oldest, found.are_all), (&Json::of(&first), are_all));
    }
}

async fn entries_made_at_once_are_all_counted(store: House) {
    let project = id();
    let function = made(&store, project).await;
    let callers: Vec<_> = (0..30)
        .map(|_| {
            let store = store.store.clone();
            let entry = entry(function.dataset_id, "x");
            tokio::spawn(async move { store.insert_entry(scope(project), &entry).await })
        })
        .collect();

    for caller in callers {
        assert!(caller.await.unwrap().unwrap());
    }

    let all = changes(&store, &function, 0, 100).await;
    assert_eq!((all.version, all.entries.len()), (30, 30));
}
