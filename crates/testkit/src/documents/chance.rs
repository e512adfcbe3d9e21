//! What is drawn from a seed.

use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha8Rng};

/// A source of random choices: the same seed and name make the same choices on every machine.
pub(crate) struct Chance(ChaCha8Rng);

impl Chance {
    /// A source for the fixture of this name, so that a fixture does not change when another is added.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        // FNV-1a, which the standard library's hasher is not: that one may change with its version.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        key[8..16].copy_from_slice(&hash.to_le_bytes());
        Self(ChaCha8Rng::from_seed(key))
    }

    /// A whole number from `low` to `high`, both included.
    pub(crate) fn number(&mut self, low: u32, high: u32) -> u32 {
        self.0.random_range(low..=high)
    }

    /// An index below `length`.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        self.0.random_range(0..length)
    }

    /// A number between the two.
    pub(crate) fn between(&mut self, low: f32, high: f32) -> f32 {
        self.0.random_range(low..high)
    }

    /// `true` in so many cases of a hundred.
    pub(crate) fn percent(&mut self, percent: u32) -> bool {
        self.number(1, 100) <= percent
    }

    /// One of these.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.index(of.len())]
    }

    /// One of these.
    pub(crate) fn choose<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.index(of.len())]
    }

    /// Mixes a list.
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.index(last + 1));
        }
    }

    /// About normal, mean 0, deviation 1: the sum of four bytes, which is quick enough for a page's pixels.
    pub(crate) fn bell(&mut self) -> f32 {
        let bytes = self.0.next_u32().to_le_bytes();
        let sum: u16 = bytes.iter().copied().map(u16::from).sum();
        // Four uniform bytes have the mean 510 and the deviation 147.8.
        (f32::from(sum) - 510.0) / 147.8
    }

    /// Bytes without sense.
    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_name_draw_the_same() {
        let draw = |seed, name| Chance::new(seed, name).bytes(8);

        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
    }
}
