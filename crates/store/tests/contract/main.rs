//! What every backend of the store must do, run against each of them.
//!
//! A fact is an async function that takes a [`House`]; [`on_every_backend`] makes one test per backend of it. A
//! further backend is one more module there.
#![expect(clippy::unwrap_used, reason = "a test says so by panicking")]

mod aliases;
mod backup;
mod cache;
mod datasets;
mod disk;
mod functions;
mod metrics;
mod models;
mod notes;
mod record;
mod retention;
mod revisions;
mod spans;
mod tokens;
mod trees;
mod vectors;

use std::{ops::Deref, sync::Arc};

use domain::{
    Principal, ProjectId, ProjectScope, Timestamp, Token, TokenId,
    seams::{Ids, RandomIds, Store},
};
use store::{Durability, Options};
use tempfile::TempDir;

macro_rules! on_every_backend {
    ($($fact:ident),* $(,)?) => {
        mod in_memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $fact() {
                super::$fact(crate::Backend::Memory.open().await).await;
            })*
        }

        mod on_disk_standard {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $fact() {
                super::$fact(crate::Backend::Standard.open().await).await;
            })*
        }

        mod on_disk_strict {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $fact() {
                super::$fact(crate::Backend::Strict.open().await).await;
            })*
        }
    };
}
use on_every_backend;

/// Which store a fact is tried on.
#[derive(Debug, Clone, Copy)]
enum Backend {
    Memory,
    Standard,
    Strict,
}

/// An empty store, and what must live as long.
struct House {
    store: Arc<dyn Store>,
    _directory: Option<TempDir>,
}

impl Deref for House {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        self.store.as_ref()
    }
}

impl Backend {
    async fn open(self) -> House {
        let durability = match self {
            Self::Memory => {
                let stores = store::open_in_memory().await.unwrap();
                return House {
                    store: stores.store,
                    _directory: None,
                };
            }
            Self::Standard => Durability::Standard,
            Self::Strict => Durability::Strict,
        };
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            data_dir: directory.path().join("data"),
            durability,
            min_free_mib: 0,
        };
        let stores = store::open(&options).await.unwrap();
        assert!(stores.is_new);
        House {
            store: stores.store,
            _directory: Some(directory),
        }
    }
}

/// A new id of any kind.
fn id<T: From<uuid::Uuid>>() -> T {
    RandomIds.next().into()
}

/// The instant so many seconds after some beginning.
fn second(count: i64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_007 + count * 1_000_000)
}

/// A token that opens the project.
fn token(project: ProjectId) -> Token {
    let id: uuid::Uuid = id();
    let mut hash = [7; 32];
    hash[..16].copy_from_slice(id.as_bytes());
    Token {
        id: TokenId::new(id.simple().to_string()),
        hash,
        project,
        label: None,
        created_at: second(0),
        expires_at: None,
        revoked_at: None,
        calls_per_minute: None,
    }
}

fn scope(project: ProjectId) -> ProjectScope {
    Principal::of(&token(project)).scope()
}
