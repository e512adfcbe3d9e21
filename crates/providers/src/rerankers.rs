//! The models that put texts in order, as their providers list them: what `GET /rerank/models` shows.
//!
//! Others can be asked for as well; this is no list of what is allowed.

/// Providers and their models.
static TABLE: [(&str, &[&str]); 4] = [
    // https://docs.cohere.com/docs/rerank
    (
        "cohere",
        &[
            "rerank-v4.0-pro",
            "rerank-v4.0-fast",
            "rerank-v3.5",
            "rerank-english-v3.0",
            "rerank-multilingual-v3.0",
        ],
    ),
    // https://jina.ai/reranker
    (
        "jina",
        &[
            "jina-reranker-v3.5",
            "jina-reranker-v3",
            "jina-reranker-m0",
            "jina-reranker-v2-base-multilingual",
            "jina-colbert-v2",
        ],
    ),
    // https://docs.voyageai.com/docs/reranker
    (
        "voyage",
        &["rerank-2.5", "rerank-2.5-lite", "rerank-2", "rerank-2-lite"],
    ),
    ("offline", &["rerank"]),
];

/// What is known of a provider's models.
pub(crate) fn of(provider: &str) -> &'static [&'static str] {
    let row = TABLE.iter().find(|(name, _)| *name == provider);
    row.map_or(&[], |(_, models)| models)
}
