//! Aliases of models, and what a name means beside them.

use domain::{
    Alias, CustomModel, Json, ModelKind, ModelName, Named, Page, Paged, ProjectId,
    seams::StoreError,
};

use crate::{House, id, on_every_backend, scope, second};

on_every_backend![
    an_alias_reads_as_it_was_kept,
    a_taken_name_is_refused,
    another_project_sees_nothing,
    a_name_means_a_model_then_an_alias_then_the_newest_of_an_identifier,
    an_update_needs_the_version_before_it,
    a_rename_to_a_taken_name_is_refused,
    of_two_writers_one_gets_through,
    a_deleted_alias_frees_its_name,
    aliases_are_listed_by_name,
];

fn name(text: &str) -> ModelName {
    ModelName::parse(text).unwrap()
}

fn new(project: ProjectId, name: &str) -> Alias {
    Alias {
        id: id(),
        project,
        name: name.to_owned(),
        fallback_models: vec![ModelName::parse("openai/gpt").unwrap()],
        description: None,
        version: 1,
        created_at: second(0),
    }
}

fn model(project: ProjectId, name: &str, age: i64) -> CustomModel {
    CustomModel {
        id: id(),
        project,
        name: name.to_owned(),
        identifier: ModelName::parse("house/fast").unwrap(),
        provider: "house".to_owned(),
        kind: ModelKind::Llm,
        extra: Json::parse("{}").unwrap(),
        sealed_key: None,
        version: 1,
        created_at: second(age),
    }
}

async fn an_alias_reads_as_it_was_kept(store: House) {
    let project = id();
    let mut first = new(project, "nul \0 and \u{1F600}, 'quoted'");
    first.fallback_models = ["b/\u{0}\"\\", "a", "b/\u{1F600}", "a"].map(name).to_vec();
    first.description = Some(String::new());
    let mut second = new(project, "second");
    second.description = Some("What is \"quick\"?".to_owned());
    let third = new(project, "third");

    for alias in [&first, &second, &third] {
        store.insert_alias(alias).await.unwrap();
    }

    let scope = scope(project);
    for alias in [first, second, third] {
        let found = store.alias_by_name(scope, &alias.name).await.unwrap();
        assert_eq!(found.as_ref(), Some(&alias));
        assert_eq!(store.alias(scope, alias.id).await.unwrap(), Some(alias));
    }
}

async fn a_taken_name_is_refused(store: House) {
    let project = id();
    let first = new(project, "fast");
    store.insert_alias(&first).await.unwrap();

    let refused = store.insert_alias(&new(project, "fast")).await;

    assert!(matches!(refused, Err(StoreError::Taken)), "{refused:?}");
    let scope = scope(project);
    assert_eq!(
        store.alias_by_name(scope, "fast").await.unwrap(),
        Some(first)
    );
    store.insert_alias(&new(project, "Fast")).await.unwrap();
    store
        .insert_model(&model(project, "fast", 0))
        .await
        .unwrap();
}

async fn another_project_sees_nothing(store: House) {
    let (ours, theirs) = (id(), id());
    let alias = new(theirs, "fast");
    store.insert_alias(&alias).await.unwrap();
    let scope = scope(ours);

    assert_eq!(store.alias(scope, alias.id).await.unwrap(), None);
    assert_eq!(store.alias_by_name(scope, "fast").await.unwrap(), None);
    assert_eq!(store.named(scope, &name("fast")).await.unwrap(), None);
    let page = Page {
        offset: 0,
        limit: 9,
    };
    assert_eq!(store.aliases(scope, page).await.unwrap().total, 0);
    assert!(!store.delete_alias(scope, alias.id).await.unwrap());
    let mut stolen = alias.clone();
    stolen.project = ours;
    stolen.version = 2;
    let refused = store.update_alias(&stolen).await;
    assert!(matches!(refused, Err(StoreError::Stale)), "{refused:?}");
    store.insert_alias(&new(ours, "fast")).await.unwrap();
}

async fn a_name_means_a_model_then_an_alias_then_the_newest_of_an_identifier(store: House) {
    let project = id();
    let (scope, asked) = (scope(project), name("house/fast"));
    let alias = new(project, "house/fast");
    let (old, newest) = (model(project, "old", 1), model(project, "newest", 2));
    let mut namesake = model(project, "house/fast", 0);
    namesake.identifier = name("other/model");
    let meant = async || store.named(scope, &asked).await.unwrap();

    assert_eq!(meant().await, None);
    store.insert_model(&newest).await.unwrap();
    store.insert_model(&old).await.unwrap();
    assert_eq!(meant().await, Some(Named::Model(newest)));
    store.insert_alias(&alias).await.unwrap();
    assert_eq!(meant().await, Some(Named::Alias(alias)));
    store.insert_model(&namesake).await.unwrap();
    assert_eq!(meant().await, Some(Named::Model(namesake)));
}

async fn an_update_needs_the_version_before_it(store: House) {
    let project = id();
    let alias = new(project, "fast");
    store.insert_alias(&alias).await.unwrap();
    let mut second = alias.clone();
    second.version = 2;
    second.name = "quick".into();
    second.fallback_models = vec![name("c"), name("d/e")];
    second.description = Some("d".into());
    store.update_alias(&second).await.unwrap();

    let mut late = alias.clone();
    late.version = 2;
    let mut early = second.clone();
    early.version = 4;
    let mut unknown = new(project, "unknown");
    unknown.version = 2;

    for stale in [late, early, unknown] {
        let refused = store.update_alias(&stale).await;
        assert!(matches!(refused, Err(StoreError::Stale)), "{refused:?}");
    }
    let scope = scope(project);
    assert_eq!(store.alias(scope, alias.id).await.unwrap(), Some(second));
    assert_eq!(store.alias_by_name(scope, "fast").await.unwrap(), None);
}

async fn a_rename_to_a_taken_name_is_refused(store: House) {
    let project = id();
    let alias = new(project, "fast");
    store.insert_alias(&alias).await.unwrap();
    store.insert_alias(&new(project, "quick")).await.unwrap();
    let mut renamed = alias.clone();
    renamed.version = 2;
    renamed.name = "quick".into();

    let refused = store.update_alias(&renamed).await;

    assert!(matches!(refused, Err(StoreError::Taken)), "{refused:?}");
    assert_eq!(
        store.alias(scope(project), alias.id).await.unwrap(),
        Some(alias)
    );
}

async fn of_two_writers_one_gets_through(store: House) {
    let project = id();
    let alias = new(project, "fast");
    store.insert_alias(&alias).await.unwrap();
    let changed = |description: &str| Alias {
        description: Some(description.to_owned()),
        version: 2,
        ..alias.clone()
    };
    let (one, other) = (changed("one"), changed("other"));

    let outcomes = tokio::join!(store.update_alias(&one), store.update_alias(&other));

    let kept = match outcomes {
        (Ok(()), Err(StoreError::Stale)) => one,
        (Err(StoreError::Stale), Ok(())) => other,
        outcomes => panic!("{outcomes:?}"),
    };
    assert_eq!(
        store.alias(scope(project), alias.id).await.unwrap(),
        Some(kept)
    );
}

async fn a_deleted_alias_frees_its_name(store: House) {
    let project = id();
    let alias = new(project, "fast");
    store.insert_alias(&alias).await.unwrap();
    let scope = scope(project);

    assert!(store.delete_alias(scope, alias.id).await.unwrap());
    assert!(!store.delete_alias(scope, alias.id).await.unwrap());

    assert_eq!(store.alias(scope, alias.id).await.unwrap(), None);
    store.insert_alias(&new(project, "fast")).await.unwrap();
}

async fn aliases_are_listed_by_name(store: House) {
    let project = id();
    let mut aliases = ["b", "A", "ä", "a"].map(|name| new(project, name));
    for alias in &aliases {
        store.insert_alias(alias).await.unwrap();
    }
    store.insert_alias(&new(id(), "theirs")).await.unwrap();
    aliases.sort_by(|one, other| one.name.cmp(&other.name));
    let scope = scope(project);

    let page = Page {
        offset: 1,
        limit: 2,
    };
    let listed = store.aliases(scope, page).await.unwrap();

    assert_eq!(
        listed,
        Paged {
            items: aliases[1..3].to_vec(),
            total: 4
        }
    );
}
