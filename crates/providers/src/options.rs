//! The configuration keys of `[providers.NAME]`, `[egress]` and `[upstream]`.

use std::{collections::BTreeMap, path::PathBuf};

use domain::seams::Key;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Everything that this crate is told.
#[derive(Debug, Clone)]
pub struct Options {
    /// `[providers.NAME]`, in the file's order.
    pub providers: IndexMap<String, ProviderOptions>,
    /// Keys out of the environment or files, by provider: `OPENAI_API_KEY` and the like.
    pub keys: IndexMap<String, Vec<Key>>,
    /// Settings that the environment holds by custom, by provider: `AWS_REGION` and the like. A provider's own section
    /// goes before them.
    pub settings: IndexMap<String, BTreeMap<String, String>>,
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
    pub api_key_file: Option<PathBuf>,
    /// The dialect, where the provider's name does not imply it.
    pub protocol: Option<String>,
    /// Several keys instead of one.
    pub keys: Option<Vec<KeyOptions>>,
    /// The model to start with, without the provider's name.
    pub default_model: Option<String>,
    /// The region, of hosts that have several.
    pub region: Option<String>,
    /// The project that is billed.
    pub project: Option<String>,
    /// The version of the interface.
    pub api_version: Option<String>,
    /// The name of the resource in the address.
    pub resource: Option<String>,
    /// The account in the address.
    pub account_id: Option<String>,
    /// Whether the address of a document is handed over, for the provider to fetch, instead of the document.
    pub pass_url: Option<bool>,
}

impl ProviderOptions {
    /// What the dialect is told beside address and key.
    pub(crate) fn settings(&self) -> BTreeMap<String, String> {
        let pass_url = self.pass_url.map(|it| it.to_string());
        let settings = [
            ("pass_url", &pass_url),
            ("region", &self.region),
            ("project", &self.project),
            ("api_version", &self.api_version),
            ("resource", &self.resource),
            ("account_id", &self.account_id),
        ];
        let given = settings
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_ref()?)));
        given
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect()
    }
}

/// Where one of several keys is to be had, and how often it is taken.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KeyOptions {
    /// The environment variable that holds it.
    pub env: Option<String>,
    /// The file that holds it.
    pub file: Option<PathBuf>,
    /// How often it is taken, relative to the others.
    #[serde(default = "once")]
    pub weight: u32,
}

const fn once() -> u32 {
    1
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
