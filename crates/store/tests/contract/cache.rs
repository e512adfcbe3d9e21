//! Answers that are kept for a while.

use std::sync::Arc;

use domain::{
    Beside, FinishReason, Json, Kept, ModelName, Output,
    seams::{Cache, CacheKey},
};

use crate::{id, scope, second};

const MIB: usize = 1 << 20;

async fn empty() -> Arc<dyn Cache> {
    store::open_in_memory().await.unwrap().cache
}

fn says(text: impl Into<String>) -> Kept {
    Kept {
        output: Output::Message(text.into()),
        beside: Beside::default(),
        model: ModelName::parse("a/one").unwrap(),
        finish_reason: FinishReason::Stop,
    }
}

fn key(number: u8) -> CacheKey {
    CacheKey::new(scope(uuid::Uuid::nil().into()), [number; 32])
}

#[tokio::test]
async fn an_answer_reads_as_it_was_kept() {
    let cache = empty().await;
    let value = Kept {
        output: Output::Payload(Json::parse(r#"{"b":1.0,"a":1e2}"#).unwrap()),
        beside: Beside {
            images: vec!["https://host/1.png".to_owned()],
            reasoning: "well".to_owned(),
            ..Beside::default()
        },
        model: ModelName::parse("mine").unwrap(),
        finish_reason: FinishReason::Length,
    };

    cache.put(&key(1), &value, second(1)).await;
    cache.put(&key(2), &says("two"), second(1)).await;

    assert_eq!(cache.get(&key(1), second(0)).await, Some(value));
    assert_eq!(cache.get(&key(2), second(0)).await, Some(says("two")));
    assert_eq!(cache.get(&key(3), second(0)).await, None);
}

#[tokio::test]
async fn an_answer_is_over_at_its_time() {
    let cache = empty().await;

    cache.put(&key(1), &says("one"), second(10)).await;
    cache.put(&key(2), &says("two"), second(11)).await;

    assert_eq!(cache.get(&key(1), second(9)).await, Some(says("one")));
    assert_eq!(cache.get(&key(1), second(10)).await, None);
    assert_eq!(cache.get(&key(2), second(10)).await, Some(says("two")));
    cache.put(&key(1), &says("again"), second(20)).await;
    assert_eq!(cache.get(&key(1), second(10)).await, Some(says("again")));
}

#[tokio::test]
async fn the_latest_answer_stands() {
    let cache = empty().await;

    cache.put(&key(1), &says("first"), second(99)).await;
    cache.put(&key(1), &says("last"), second(10)).await;

    assert_eq!(cache.get(&key(1), second(9)).await, Some(says("last")));
    assert_eq!(cache.get(&key(1), second(10)).await, None);
}

#[tokio::test]
async fn an_answer_is_its_projects_alone() {
    let cache = empty().await;
    let [ours, theirs] = [(); 2].map(|()| CacheKey::new(scope(id()), [7; 32]));

    cache.put(&ours, &says("ours"), second(1)).await;

    assert_eq!(cache.get(&theirs, second(0)).await, None);
    assert_eq!(cache.get(&ours, second(0)).await, Some(says("ours")));
}

#[tokio::test]
async fn what_is_too_large_is_not_kept() {
    let cache = empty().await;

    cache
        .put(&key(1), &says("x".repeat(4 * MIB)), second(1))
        .await;
    cache
        .put(&key(2), &says("x".repeat(4 * MIB - 1000)), second(1))
        .await;

    assert!(cache.get(&key(1), second(0)).await.is_none());
    assert!(cache.get(&key(2), second(0)).await.is_some());
}

#[tokio::test]
async fn what_was_asked_for_longest_ago_makes_room() {
    let cache = empty().await;
    cache.put(&key(0), &says("x".repeat(MIB)), second(1)).await;

    for number in 1..=100 {
        cache.get(&key(0), second(0)).await.unwrap();
        let answer = says("x".repeat(MIB));
        cache.put(&key(number), &answer, second(1)).await;
    }

    let mut kept = Vec::new();
    for number in 0..=100 {
        if cache.get(&key(number), second(0)).await.is_some() {
            kept.push(number);
        }
    }
    let expected: Vec<_> = [0].into_iter().chain(39..=100).collect();
    assert_eq!(kept, expected);
}
