//! The configuration keys of `[store]`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where and how rows are kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The folder of the embedded database. It is made if it is not there.
    pub data_dir: PathBuf,
    /// When a committed span counts as durable.
    pub durability: Durability,
    /// Below so many MiB of free space calls and new rows are refused; what is under way is still recorded. 0: not before
    /// the disk is full.
    pub min_free_mib: u64,
}

/// When a committed span counts as durable (`reliability.md` D2). Definitions are synced in both modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Survives a crash of the process at once, and a power loss after at most one second.
    Standard,
    /// Survives both at once: every commit is synced.
    Strict,
}
