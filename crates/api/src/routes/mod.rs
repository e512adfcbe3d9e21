//! The routes: body types and thin handlers, one file per noun.

pub(crate) mod aliases;
pub(crate) mod calls;
pub(crate) mod datasets;
pub(crate) mod embeddings;
pub(crate) mod feedback;
pub(crate) mod functions;
pub(crate) mod health;
pub(crate) mod inline;
pub(crate) mod metrics;
pub(crate) mod models;
pub(crate) mod offers;
pub(crate) mod openai;
pub(crate) mod rerank;
pub(crate) mod spans;
pub(crate) mod streams;
