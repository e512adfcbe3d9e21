//! Rerank: texts in the order in which they answer a query.

use crate::UsageReport;

/// Texts to put in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RerankRequest {
    /// What they should answer.
    pub query: String,
    /// The texts, at least one.
    pub documents: Vec<String>,
    /// How many of the best are wanted; all, if nothing is said.
    pub top_k: Option<usize>,
    /// Into how many pieces a long text may be cut, where the provider cuts.
    pub max_chunks_per_doc: Option<u32>,
}

/// One text of the request, found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// Its place in the request, from 0.
    pub index: usize,
    /// How well it answers; comparable within one answer alone.
    pub score: f64,
}

/// Texts, put in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Reranking {
    /// The best first, each text at most once.
    pub results: Vec<Ranked>,
    /// The provider's own count, where it gave one.
    pub usage: Option<UsageReport>,
}
