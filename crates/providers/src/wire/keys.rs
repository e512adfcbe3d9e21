//! Several keys for one host: which one a request takes, and another one where that is refused.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use domain::{
    Secret,
    seams::{KeyRefusal, ProviderError, ProviderErrorKind as Kind, Target},
};
use moka::sync::Cache;
use tokio::time::Instant;

use super::Client;

/// For this long a refused key is the last to be taken, unless the host says another time.
const REST: Duration = Duration::from_mins(1);
const LONGEST_REST: Duration = Duration::from_hours(1);
const MOST_KEYS: u64 = 10_000;

/// Which keys rest, and whose turn it is.
pub(super) struct KeyRing {
    turn: AtomicU64,
    resting: Cache<[u8; 32], Instant>,
}

impl KeyRing {
    pub(super) fn new() -> Self {
        Self {
            turn: AtomicU64::new(0),
            resting: Cache::builder()
                .max_capacity(MOST_KEYS)
                .time_to_live(LONGEST_REST)
                .build(),
        }
    }

    /// The keys of a target in the order in which they are tried: those that rest last, the others by weight.
    fn order(&self, target: &Target) -> Vec<Secret> {
        let keys = &*target.keys;
        let total: u64 = keys.iter().map(|key| u64::from(key.weight)).sum();
        let mut place = self.turn.fetch_add(1, Ordering::Relaxed) % total.max(1);
        let mut first = 0;
        for (index, key) in keys.iter().enumerate() {
            if place < u64::from(key.weight) {
                first = index;
                break;
            }
            place -= u64::from(key.weight);
        }
        let now = Instant::now();
        let (before, from) = keys.split_at(first);
        let mut order: Vec<Secret> = from
            .iter()
            .chain(before)
            .map(|key| key.secret.clone())
            .collect();
        let rests = |key: &Secret| {
            self.resting
                .get(&identity(key))
                .is_some_and(|until| now < until)
        };
        order.sort_by_key(rests);
        order
    }

    fn rest(&self, key: &Secret, wait: Option<Duration>) {
        let until = Instant::now() + wait.unwrap_or(REST).min(LONGEST_REST);
        self.resting.insert(identity(key), until);
    }
}

fn identity(key: &Secret) -> [u8; 32] {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, key.expose().as_bytes());
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// The turns of one request: one for each key of its target, as long as the host refuses the last.
pub(crate) struct Turns<'a> {
    ring: &'a KeyRing,
    /// The target with the key whose turn it is; `None` while that is the target's only one.
    own: Option<Target>,
    given: &'a Target,
    left: std::vec::IntoIter<Secret>,
    /// Since when it is the present key's turn.
    since: Instant,
}

impl<'a> Turns<'a> {
    /// The turns of a request to `target`.
    pub(crate) fn of(client: &'a Client, target: &'a Target) -> Self {
        let ring = &client.keys;
        let order = if target.keys.len() < 2 {
            Vec::new()
        } else {
            ring.order(target)
        };
        let mut turns = Self {
            ring,
            own: None,
            given: target,
            left: order.into_iter(),
            since: Instant::now(),
        };
        turns.take_next();
        turns
    }

    /// The target with the key whose turn it is.
    pub(crate) fn target(&self) -> &Target {
        self.own.as_ref().unwrap_or(self.given)
    }

    /// Whether the answer is about the key alone and another key is left; the turn is that one's then.
    pub(crate) fn go_on<T>(&mut self, answer: &Result<T, ProviderError>) -> bool {
        let Err(error) = answer else {
            return false;
        };
        if self.given.keys.len() < 2 || !matches!(error.kind, Kind::Auth | Kind::RateLimited) {
            return false;
        }
        if let Some(key) = &self.target().key {
            self.ring.rest(key, error.retry_after);
        }
        let (took, has_next) = (self.since.elapsed(), self.take_next());
        if has_next {
            let error = error.clone();
            self.given.key_refusals.add(KeyRefusal { error, took });
        }
        has_next
    }

    fn take_next(&mut self) -> bool {
        let next = self.left.next();
        let has_next = next.is_some();
        if has_next {
            self.since = Instant::now();
            self.own = Some(Target {
                key: next,
                ..self.given.clone()
            });
        }
        has_next
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use domain::seams::Key;

    use super::*;
    use crate::wire::tests::target;

    fn with(keys: &[(&str, u32)]) -> Target {
        let key = |&(secret, weight): &(&str, u32)| Key {
            secret: Secret::new(secret),
            weight,
        };
        Target {
            keys: keys.iter().map(key).collect(),
            ..target("http://localhost")
        }
    }

    fn firsts(ring: &KeyRing, target: &Target, count: usize) -> BTreeMap<String, usize> {
        let mut firsts = BTreeMap::new();
        for _ in 0..count {
            *firsts
                .entry(ring.order(target)[0].expose().to_owned())
                .or_default() += 1;
        }
        firsts
    }

    #[tokio::test(start_paused = true)]
    async fn keys_are_taken_by_weight_and_a_refused_one_last() {
        let (ring, target) = (KeyRing::new(), with(&[("a", 2), ("b", 1)]));

        let before = firsts(&ring, &target, 300);
        ring.rest(&Secret::new("a"), None);
        let meanwhile = firsts(&ring, &target, 300);
        tokio::time::advance(REST).await;
        let after = firsts(&ring, &target, 300);

        let both = BTreeMap::from([("a".to_owned(), 200), ("b".to_owned(), 100)]);
        assert_eq!(before, both);
        assert_eq!(meanwhile, BTreeMap::from([("b".to_owned(), 300)]));
        assert_eq!(after, both);
        assert_eq!(ring.order(&target).len(), 2);
    }
}
