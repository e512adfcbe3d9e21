//! How a host is spoken to: dialects, the table of hosts that speak them, and the one way out to the network.
//!
//! It knows nothing of functions, spans or retries: one request in, one answer or one [`domain::seams::ProviderError`]
//! out. It never reads the environment; keys and addresses come in [`Options`].

mod adapter;
mod anthropic;
mod assembly;
mod azure;
mod bedrock;
mod brought;
mod call_id;
mod cohere;
mod compatible;
mod count;
mod docling;
mod embedding;
mod ending;
mod gemini;
mod home;
mod local;
mod mistral;
mod offline;
mod ollama;
mod openai;
mod options;
mod readers;
mod reading;
mod registry;
mod rerank;
mod rerankers;
mod responses;
mod schema;
mod vocabulary;
mod wire;

pub use options::{EgressOptions, KeyOptions, Options, ProviderOptions, UpstreamOptions};
pub use registry::{Ground, Holds, Providers, RegistryError, Variable, connect, variables};
