//! Answers kept for equal calls. What is kept may be dropped at any time.

use async_trait::async_trait;

use crate::{Kept, ProjectId, ProjectScope, Timestamp};

/// What a kept answer is found by. It cannot be made without the project, so nothing crosses projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheKey {
    project: ProjectId,
    digest: [u8; 32],
}

impl CacheKey {
    /// The key of whatever `digest` is a collision-free digest of, in one project.
    pub const fn new(scope: ProjectScope, digest: [u8; 32]) -> Self {
        Self {
            project: scope.project(),
            digest,
        }
    }
}

/// Keeps answers.
#[async_trait]
pub trait Cache: Send + Sync {
    /// The answer under `key`, unless its time is over at `now`. A cache that does not work has none.
    async fn get(&self, key: &CacheKey, now: Timestamp) -> Option<Kept>;

    /// Keeps an answer until `expires`, or drops it.
    async fn put(&self, key: &CacheKey, kept: &Kept, expires: Timestamp);
}
