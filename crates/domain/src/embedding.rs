//! Embeddings: texts as vectors.

use crate::UsageReport;

/// Texts to embed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingRequest {
    /// The texts, none empty.
    pub input: Vec<String>,
}

/// One vector per text, in the order of the request.
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    /// The vectors.
    pub vectors: Vec<Vec<f32>>,
    /// The provider's own count, where it gave one.
    pub usage: Option<UsageReport>,
}
