//! Chance that a seed brings back.

use std::time::Duration;

/// Between two numbers of a sequence.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence of numbers (splitmix64).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// Begins where the seed says.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a time below `limit`, which must be less than some days.
    pub fn below(&mut self, limit: Duration) -> Duration {
        let micros = u64::try_from(limit.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(self.number() % micros.max(1))
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        let number = mixed(self.0);
        self.0 = self.0.wrapping_add(STEP);
        number
    }
}

/// A number that looks like chance (the finaliser of `SplitMix64`).
pub fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(STEP);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_brings_the_same_moments_back_and_all_are_within_the_limit() {
        let limit = Duration::from_millis(10);
        let moments = |seed| {
            let mut chance = Chance::new(seed);
            std::array::from_fn::<Duration, 100, _>(|_| chance.below(limit))
        };

        assert_eq!(moments(7), moments(7));
        assert_ne!(moments(7), moments(8));
        assert!(moments(7).iter().all(|moment| *moment < limit));
    }
}
