//! What the campaigns on a whole server share: starting and ending it, calling it, and looking for what it recorded.
//!
//! A campaign judges: what stands here only does and tells.

mod callers;
mod database;
mod disk;
mod server;

use std::error::Error;

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

pub use self::{
    callers::{Caller, End, Outcome, Way},
    database::Database,
    disk::{Disk, Unsynced},
    server::{Launch, Server, TOKEN},
};

/// Why a campaign could not go on.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Returns the source of chance of a seed, and the seed: the one that was given, or a new one for an empty text.
pub fn chance(given: &str) -> Result<(ChaCha8Rng, u64), Failure> {
    let seed = if given.is_empty() {
        rand::rngs::ChaCha8Rng::from_seed(fresh()).random_range(0..1_000_000)
    } else {
        given.parse()?
    };
    Ok((ChaCha8Rng::seed_from_u64(seed), seed))
}

/// The standard library's own source of chance.
fn fresh() -> [u8; 32] {
    use std::hash::{BuildHasher, RandomState};
    let mut key = [0; 32];
    for part in key.chunks_mut(8) {
        part.copy_from_slice(&RandomState::new().hash_one(()).to_le_bytes());
    }
    key
}
