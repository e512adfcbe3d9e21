//! Custom models.

use domain::{
    CustomModel, Json, ModelKind, ModelName, Named, Page, Paged, ProjectId, seams::StoreError,
};

use crate::{House, id, on_every_backend, scope, second};

on_every_backend![
    a_model_reads_as_it_was_kept,
    a_taken_name_is_refused,
    another_project_sees_nothing,
    the_newest_of_an_identifier_is_found,
    an_update_needs_the_version_before_it,
    a_rename_to_a_taken_name_is_refused,
    a_deleted_model_frees_its_name,
    models_are_listed_by_name,
    a_sealed_key_of_any_project_is_found,
];

/// A model without a key.
pub(crate) fn new(project: ProjectId, name: &str) -> CustomModel {
    CustomModel {
        id: id(),
        project,
        name: name.to_owned(),
        identifier: ModelName::parse("openai/gpt").unwrap(),
        provider: "openai".to_owned(),
        kind: ModelKind::Llm,
        extra: Json::parse("{}").unwrap(),
        sealed_key: None,
        version: 1,
        created_at: second(0),
    }
}

async fn a_model_reads_as_it_was_kept(store: House) {
    let project = id();
    let mut first = new(project, "nul \0 and \u{1F600}, 'quoted'");
    first.sealed_key = Some(vec![0, 255, 1, 0]);
    first.extra = Json::parse(r#"{"z":"\u0000","api_base":"http://x","n":1.50}"#).unwrap();
    let mut second = new(project, "second");
    second.kind = ModelKind::Embedding;
    second.sealed_key = Some(Vec::new());
    let mut third = new(project, "third");
    third.kind = ModelKind::Image;

    for model in [&first, &second, &third] {
        store.insert_model(model).await.unwrap();
    }

    let scope = scope(project);
    for model in [first, second, third] {
        let found = store.model_by_name(scope, &model.name).await.unwrap();
        assert_eq!(found.as_ref(), Some(&model));
        assert_eq!(store.model(scope, model.id).await.unwrap(), Some(model));
    }
}

async fn a_taken_name_is_refused(store: House) {
    let project = id();
    let first = new(project, "mine");
    store.insert_model(&first).await.unwrap();

    let refused = store.insert_model(&new(project, "mine")).await;

    assert!(matches!(refused, Err(StoreError::Taken)), "{refused:?}");
    let scope = scope(project);
    assert_eq!(
        store.model_by_name(scope, "mine").await.unwrap(),
        Some(first)
    );
    store.insert_model(&new(project, "Mine")).await.unwrap();
}

async fn another_project_sees_nothing(store: House) {
    let (ours, theirs) = (id(), id());
    let model = new(theirs, "mine");
    store.insert_model(&model).await.unwrap();
    let scope = scope(ours);

    assert_eq!(store.model(scope, model.id).await.unwrap(), None);
    assert_eq!(store.model_by_name(scope, "mine").await.unwrap(), None);
    for name in ["mine", "openai/gpt"] {
        let name = ModelName::parse(name).unwrap();
        assert_eq!(store.named(scope, &name).await.unwrap(), None);
    }
    assert!(!store.delete_model(scope, model.id).await.unwrap());
    let mut stolen = model.clone();
    stolen.project = ours;
    stolen.version = 2;
    let refused = store.update_model(&stolen).await;
    assert!(matches!(refused, Err(StoreError::Stale)), "{refused:?}");
    store.insert_model(&new(ours, "mine")).await.unwrap();
}

async fn the_newest_of_an_identifier_is_found(store: House) {
    let project = id();
    for (name, age) in [("old", 1), ("newest", 3), ("new", 2)] {
        let mut model = new(project, name);
        model.created_at = second(age);
        store.insert_model(&model).await.unwrap();
    }
    let mut other = new(project, "other");
    other.identifier = ModelName::parse("openai/gpt-2").unwrap();
    other.created_at = second(9);
    store.insert_model(&other).await.unwrap();
    let scope = scope(project);

    let name = ModelName::parse("openai/gpt").unwrap();
    let found = store.named(scope, &name).await.unwrap();

    let Some(Named::Model(found)) = found else {
        panic!("{found:?}");
    };
    assert_eq!(found.name, "newest");
    let name = ModelName::parse("openai/g").unwrap();
    assert_eq!(store.named(scope, &name).await.unwrap(), None);
}

async fn an_update_needs_the_version_before_it(store: House) {
    let project = id();
    let model = new(project, "mine");
    store.insert_model(&model).await.unwrap();
    let mut second = model.clone();
    second.version = 2;
    second.name = "ours".into();
    second.sealed_key = Some(vec![1]);
    second.extra = Json::parse(r#"{"a":1}"#).unwrap();
    store.update_model(&second).await.unwrap();

    let mut late = model.clone();
    late.version = 2;
    let mut early = second.clone();
    early.version = 4;
    let mut unknown = new(project, "unknown");
    unknown.version = 2;

    for stale in [late, early, unknown] {
        let refused = store.update_model(&stale).await;
        assert!(matches!(refused, Err(StoreError::Stale)), "{refused:?}");
    }
    let scope = scope(project);
    assert_eq!(store.model(scope, model.id).await.unwrap(), Some(second));
    assert_eq!(store.model_by_name(scope, "mine").await.unwrap(), None);
}

async fn a_rename_to_a_taken_name_is_refused(store: House) {
    let project = id();
    let model = new(project, "mine");
    store.insert_model(&model).await.unwrap();
    store.insert_model(&new(project, "ours")).await.unwrap();
    let mut renamed = model.clone();
    renamed.version = 2;
    renamed.name = "ours".into();

    let refused = store.update_model(&renamed).await;

    assert!(matches!(refused, Err(StoreError::Taken)), "{refused:?}");
    assert_eq!(
        store.model(scope(project), model.id).await.unwrap(),
        Some(model)
    );
}

async fn a_deleted_model_frees_its_name(store: House) {
    let project = id();
    let model = new(project, "mine");
    store.insert_model(&model).await.unwrap();
    let scope = scope(project);

    assert!(store.delete_model(scope, model.id).await.unwrap());
    assert!(!store.delete_model(scope, model.id).await.unwrap());

    assert_eq!(store.model(scope, model.id).await.unwrap(), None);
    store.insert_model(&new(project, "mine")).await.unwrap();
}

async fn models_are_listed_by_name(store: House) {
    let project = id();
    let mut models = ["b", "A", "ä", "a"].map(|name| new(project, name));
    for model in &models {
        store.insert_model(model).await.unwrap();
    }
    store.insert_model(&new(id(), "theirs")).await.unwrap();
    models.sort_by(|one, other| one.name.cmp(&other.name));
    let scope = scope(project);

    let page = Page {
        offset: 1,
        limit: 2,
    };
    let listed = store.models(scope, page).await.unwrap();

    assert_eq!(
        listed,
        Paged {
            items: models[1..3].to_vec(),
            total: 4
        }
    );
}

async fn a_sealed_key_of_any_project_is_found(store: House) {
    assert_eq!(store.any_sealed_model().await.unwrap(), None);
    store.insert_model(&new(id(), "open")).await.unwrap();
    assert_eq!(store.any_sealed_model().await.unwrap(), None);
    let mut sealed = new(id(), "sealed");
    sealed.sealed_key = Some(vec![1, 2, 3]);

    store.insert_model(&sealed).await.unwrap();

    assert_eq!(store.any_sealed_model().await.unwrap(), Some(sealed));
}
