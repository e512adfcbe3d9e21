//! Vectors of entries' inputs.

use domain::{Entry, EntryChange, Function, Json};

use crate::{
    House,
    datasets::{entry, filled, made},
    id, on_every_backend, scope,
};

on_every_backend![
    a_vector_is_kept_bit_by_bit,
    a_vector_is_its_models_alone,
    a_vector_goes_with_the_input_that_it_is_of,
    a_vector_of_what_is_gone_is_not_kept,
    a_vector_raises_no_version,
    vectors_come_along_beside_a_deletion,
];

async fn keep(store: &House, function: &Function, model: &str, vectors: &[(&Entry, Vec<f32>)]) {
    let vectors = vectors
        .iter()
        .map(|(entry, vector)| ((*entry).clone(), vector.clone()))
        .collect();
    let (scope, dataset) = (scope(function.project), function.dataset_id);
    store
        .keep_vectors(scope, dataset, model, vectors)
        .await
        .unwrap();
}

/// The vectors under a model's name, entry by entry.
async fn kept(store: &House, function: &Function, model: Option<&str>) -> Vec<Option<Vec<f32>>> {
    let (scope, dataset) = (scope(function.project), function.dataset_id);
    let changes = store.entry_changes(scope, dataset, 0, 100, model).await;
    let entries = changes.unwrap().entries.into_iter();
    entries.map(|(_, vector)| vector).collect()
}

async fn a_vector_is_kept_bit_by_bit(store: House) {
    let function = made(&store, id()).await;
    let [one, _, three] = filled(&store, &function, ["1", "2", "3"]).await;
    let exact = vec![1.0, -0.1, f32::MIN_POSITIVE, f32::MAX, 1e-45];

    keep(&store, &function, "m", &[]).await;
    keep(
        &store,
        &function,
        "m",
        &[(&one, exact.clone()), (&three, vec![0.5])],
    )
    .await;

    let found = kept(&store, &function, Some("m")).await;
    assert_eq!(found, [Some(exact), None, Some(vec![0.5])]);
}

async fn a_vector_is_its_models_alone(store: House) {
    let function = made(&store, id()).await;
    let [entry] = filled(&store, &function, ["1"]).await;

    keep(&store, &function, "a/one", &[(&entry, vec![1.0])]).await;

    let of = async |model| kept(&store, &function, model).await;
    assert_eq!(of(Some("a/one")).await, [Some(vec![1.0])]);
    assert_eq!(of(Some("a/two")).await, [None]);
    assert_eq!(of(None).await, [None]);
    keep(&store, &function, "a/two", &[(&entry, vec![2.0])]).await;
    assert_eq!(of(Some("a/two")).await, [Some(vec![2.0])]);
    assert_eq!(of(Some("a/one")).await, [None]);
}

async fn a_vector_goes_with_the_input_that_it_is_of(store: House) {
    let function = made(&store, id()).await;
    let [entry] = filled(&store, &function, ["1"]).await;
    let (scope, dataset) = (scope(function.project), function.dataset_id);
    let change = async |change| {
        store
            .change_entry(scope, dataset, entry.id, change)
            .await
            .unwrap();
        kept(&store, &function, Some("m")).await
    };
    keep(&store, &function, "m", &[(&entry, vec![1.0])]).await;

    let same_input = change(EntryChange {
        input: Some(entry.input.clone()),
        output: Some(Json::of(&"other")),
        ..EntryChange::default()
    });
    assert_eq!(same_input.await, [Some(vec![1.0])]);
    let other_input = change(EntryChange {
        input: Some(Json::of(&"2")),
        ..EntryChange::default()
    });
    assert_eq!(other_input.await, [None]);
    keep(&store, &function, "m", &[(&entry, vec![1.0])]).await;

    assert_eq!(kept(&store, &function, Some("m")).await, [None]);
}

async fn a_vector_of_what_is_gone_is_not_kept(store: House) {
    let function = made(&store, id()).await;
    let other = made(&store, function.project).await;
    let foreign = made(&store, id()).await;
    let [gone, left] = filled(&store, &function, ["1", "2"]).await;
    let (scope, dataset) = (scope(function.project), function.dataset_id);
    store.delete_entry(scope, dataset, gone.id).await.unwrap();
    let never = entry(dataset, "3");

    keep(&store, &other, "m", &[(&left, vec![3.0])]).await;
    let mut theirs = foreign.clone();
    theirs.dataset_id = dataset;
    keep(&store, &theirs, "m", &[(&left, vec![4.0])]).await;
    assert_eq!(kept(&store, &function, Some("m")).await, [None]);
    let vectors = [(&gone, vec![1.0]), (&never, vec![2.0]), (&left, vec![3.0])];
    keep(&store, &function, "m", &vectors).await;

    let found = kept(&store, &function, Some("m")).await;
    assert_eq!(found, [Some(vec![3.0])]);
}

async fn a_vector_raises_no_version(store: House) {
    let function = made(&store, id()).await;
    let [entry] = filled(&store, &function, ["1"]).await;

    keep(&store, &function, "m", &[(&entry, vec![1.0])]).await;

    let found = store.function(scope(function.project), function.id).await;
    assert_eq!(found.unwrap().unwrap().dataset_version, 1);
}

async fn vectors_come_along_beside_a_deletion(store: House) {
    let function = made(&store, id()).await;
    let [one, two] = filled(&store, &function, ["1", "2"]).await;
    let (scope, dataset) = (scope(function.project), function.dataset_id);
    let vectors = [(&one, vec![1.0]), (&two, vec![2.0])];
    keep(&store, &function, "m", &vectors).await;

    store.delete_entry(scope, dataset, one.id).await.unwrap();

    let changes = store.entry_changes(scope, dataset, 1, 100, Some("m")).await;
    let changes = changes.unwrap();
    assert_eq!(changes.deleted, [one.id]);
    assert_eq!(changes.entries, [(two, Some(vec![2.0]))]);
}
