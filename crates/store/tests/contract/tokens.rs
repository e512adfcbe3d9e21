//! Projects and tokens.

use domain::{Project, ProjectName, Token, TokenId, TokenKey, Usd, seams::StoreError};

use crate::{House, id, on_every_backend, second, token};

on_every_backend![
    a_project_reads_as_it_was_kept,
    a_taken_project_name_is_refused,
    a_token_is_found_by_its_id_and_by_its_hash,
    a_taken_token_is_refused,
    a_revocation_stays_as_it_first_was,
    tokens_are_listed_oldest_first,
    a_token_keeps_its_rate,
    what_a_project_spends_is_summed_by_the_day,
];

fn project(name: &str) -> Project {
    Project {
        id: id(),
        name: ProjectName::parse(name).unwrap(),
        created_at: second(5),
    }
}

async fn a_project_reads_as_it_was_kept(store: House) {
    let mut projects = ["b", "A", "a.b"].map(project);
    for project in &projects {
        store.insert_project(project).await.unwrap();
    }
    projects.sort_by(|one, other| one.name.cmp(&other.name));

    let found = store.project_by_name(&projects[1].name).await.unwrap();

    assert_eq!(found.as_ref(), Some(&projects[1]));
    assert_eq!(store.projects().await.unwrap(), projects);
    let unknown = ProjectName::parse("a").unwrap();
    assert_eq!(store.project_by_name(&unknown).await.unwrap(), None);
}

async fn a_taken_project_name_is_refused(store: House) {
    let first = project("a");
    store.insert_project(&first).await.unwrap();

    let refused = store.insert_project(&project("a")).await;

    assert!(matches!(refused, Err(StoreError::Taken)), "{refused:?}");
    assert_eq!(store.projects().await.unwrap(), [first]);
}

async fn a_token_is_found_by_its_id_and_by_its_hash(store: House) {
    let plain = token(id());
    let full = Token {
        label: Some("nul \0, \u{1F600}".to_owned()),
        expires_at: Some(second(100)),
        revoked_at: Some(second(50)),
        ..token(id())
    };

    store.insert_token(&plain).await.unwrap();
    store.insert_token(&full).await.unwrap();

    for token in [plain, full] {
        let by_id = TokenKey::Id(token.id.clone());
        let by_hash = TokenKey::Hash(token.hash);
        assert_eq!(store.token(&by_id).await.unwrap().as_ref(), Some(&token));
        assert_eq!(store.token(&by_hash).await.unwrap(), Some(token));
    }
    let unknown = TokenKey::Id(TokenId::new("unknown"));
    assert_eq!(store.token(&unknown).await.unwrap(), None);
    assert_eq!(store.token(&TokenKey::Hash([0; 32])).await.unwrap(), None);
}

async fn a_taken_token_is_refused(store: House) {
    let first = token(id());
    store.insert_token(&first).await.unwrap();
    let same_id = Token {
        id: first.id.clone(),
        ..token(id())
    };
    let same_hash = Token {
        hash: first.hash,
        ..token(id())
    };

    for token in [same_id, same_hash] {
        let refused = store.insert_token(&token).await;
        assert!(matches!(refused, Err(StoreError::Taken)), "{refused:?}");
    }
    assert_eq!(store.tokens().await.unwrap(), [first]);
}

async fn a_revocation_stays_as_it_first_was(store: House) {
    let first = token(id());
    let other = token(id());
    store.insert_token(&first).await.unwrap();
    store.insert_token(&other).await.unwrap();

    assert!(store.revoke_token(&first.id, second(7)).await.unwrap());
    assert!(store.revoke_token(&first.id, second(8)).await.unwrap());
    assert!(
        !store
            .revoke_token(&TokenId::new("unknown"), second(7))
            .await
            .unwrap()
    );

    let revoked = Token {
        revoked_at: Some(second(7)),
        ..first
    };
    let key = TokenKey::Hash(revoked.hash);
    assert_eq!(store.token(&key).await.unwrap(), Some(revoked));
    let key = TokenKey::Id(other.id.clone());
    assert_eq!(store.token(&key).await.unwrap(), Some(other));
}

async fn tokens_are_listed_oldest_first(store: House) {
    let project = id();
    let mut tokens = [3, 1, 2, 1].map(|age| Token {
        created_at: second(age),
        ..token(project)
    });
    for token in &tokens {
        store.insert_token(token).await.unwrap();
    }
    tokens.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));

    assert_eq!(store.tokens().await.unwrap(), tokens);
}

async fn what_a_project_spends_is_summed_by_the_day(store: House) {
    let (project, other) = (project("one"), project("other"));
    for project in [&project, &other] {
        store.insert_project(project).await.unwrap();
    }
    let spend = async |project: &Project, day, nanos| {
        let sum = store.spend(project.id, day, Usd::from_nanos(nanos)).await;
        sum.unwrap().nanos()
    };

    assert_eq!(spend(&project, 100, 0).await, 0);
    assert_eq!(spend(&project, 100, 7).await, 7);
    assert_eq!(spend(&project, 100, 5).await, 12);
    assert_eq!(spend(&project, 101, 1).await, 1);
    assert_eq!(spend(&other, 100, 2).await, 2);
    assert_eq!(spend(&project, 101, i64::MAX).await, i64::MAX);
    // A month later it is forgotten, of this project alone.
    assert_eq!(spend(&project, 132, 0).await, 0);
    assert_eq!(spend(&project, 100, 0).await, 0);
    assert_eq!(spend(&other, 100, 0).await, 2);
}

async fn a_token_keeps_its_rate(store: House) {
    let token = Token {
        calls_per_minute: Some(u32::MAX),
        ..token(id())
    };

    store.insert_token(&token).await.unwrap();

    assert_eq!(store.tokens().await.unwrap(), [token]);
}
