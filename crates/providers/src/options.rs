//! The configuration keys of `[providers.NAME]`, `[egress]` and `[upstream]`.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Everything that this crate is told.
#[derive(Debug, Clone)]
pub struct Options {
    /// `[providers.NAME]`, in the file's order.
    pub providers: IndexMap<String, ProviderOptions>,
    /// Keys out of the environment or files, by provider: `OPENAI_API_KEY` and the like.
    pub keys: IndexMap<String, domain::Secret>,
    /// `[egress]`.
    pub egress: EgressOptions,
    /// `[upstream]`.
    pub upstream: UpstreamOptions,
}

/// A host of models, as the operator describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderOptions {
    /// Its address; for OpenAI-style hosts with the version segment, as in `http://localhost:8000/v1`.
    pub api_base: Option<String>,
    /// The environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// The file that holds the key.
    pub api_key_file: Option<std::path::PathBuf>,
    /// The dialect, where the provider's name does not imply it.
    pub protocol: Option<String>,
    /// The model to start with, without the provider's name.
    pub default_model: Option<String>,
}

/// Which private addresses may be dialled on behalf of tenants: `host:port` or `cidr:port`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EgressOptions {
    /// For models (`extra.api_base`).
    pub allow: Vec<String>,
    /// For documents and media.
    pub allow_documents: Vec<String>,
}

/// How requests to hosts are timed.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct UpstreamOptions {
    /// To connect, TLS included.
    pub connect_timeout_seconds: f64,
    /// For one request, unless the model says otherwise.
    pub timeout_seconds: f64,
    /// Between two pieces of a stream.
    pub idle_timeout_seconds: f64,
}
