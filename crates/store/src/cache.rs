//! Answers kept in this process. They are gone with it.

use std::{mem, sync::Arc};

use async_trait::async_trait;
use domain::{
    Kept, Output, Timestamp,
    seams::{Cache, CacheKey},
};
use moka::policy::EvictionPolicy;

/// Bytes of all answers.
const CAPACITY: u64 = 64 << 20;
/// Bytes of one answer: a larger one would push out too many others.
const LARGEST: u32 = 4 << 20;

/// Keeps answers until they are over or there is no room. The one that was asked for longest ago goes first.
struct InMemory(moka::sync::Cache<CacheKey, Arc<Answer>>);

struct Answer {
    kept: Kept,
    expires: Timestamp,
}

/// An empty cache.
pub(crate) fn in_memory() -> Arc<dyn Cache> {
    let answers = moka::sync::Cache::builder()
        .max_capacity(CAPACITY)
        .weigher(|_, answer: &Arc<Answer>| weight(&answer.kept))
        // A plain queue: what is new always has its turn, and what is over leaves although it was popular.
        .eviction_policy(EvictionPolicy::lru())
        .build();
    Arc::new(InMemory(answers))
}

fn weight(kept: &Kept) -> u32 {
    let output = match &kept.output {
        Output::Message(text) => text.len(),
        Output::Payload(value) => value.text().len(),
        Output::Images(images) => images.iter().map(String::len).sum(),
    };
    let beside = &kept.beside;
    let calls = beside.tool_calls.iter();
    let beside = beside.images.iter().map(String::len).sum::<usize>()
        + calls
            .map(|call| call.id.len() + call.name.len() + call.arguments.len())
            .sum::<usize>()
        + beside.reasoning.len()
        + beside.refusal.as_deref().unwrap_or_default().len()
        + beside.logprobs.as_ref().map_or(0, |json| json.text().len())
        + beside.remarks.bytes();
    let row = mem::size_of::<CacheKey>() + mem::size_of::<Answer>();
    let bytes = output + beside + kept.model.as_str().len() + row;
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[async_trait]
impl Cache for InMemory {
    async fn get(&self, key: &CacheKey, now: Timestamp) -> Option<Kept> {
        let answer = self.0.get(key)?;
        if answer.expires <= now {
            self.0.invalidate(key);
            return None;
        }
        Some(answer.kept.clone())
    }

    async fn put(&self, key: &CacheKey, kept: &Kept, expires: Timestamp) {
        if weight(kept) > LARGEST {
            return;
        }
        let kept = kept.clone();
        self.0.insert(*key, Arc::new(Answer { kept, expires }));
        // Otherwise the bound would hold only after a while.
        self.0.run_pending_tasks();
    }
}
