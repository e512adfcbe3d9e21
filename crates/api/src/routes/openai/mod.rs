//! `/v2/openai`: chat completions, embeddings and models in the shapes of the OpenAI ecosystem (`interface.md` 11), so
//! that a program that speaks to OpenAI needs no more than another address and a token. Errors have the body of every
//! other route.
//!
//! Reference: <https://platform.openai.com/docs/api-reference/chat>.

pub(crate) mod chat;
mod chunks;
mod completion;
pub(crate) mod embeddings;
mod input;
mod messages;
pub(crate) mod models;
mod request;
mod tools;
