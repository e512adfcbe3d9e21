//! The configuration: the crates' own options out of defaults, file, environment and flags.
//!
//! The environment, files and arguments are read here and nowhere else; everything below is given values. Defaults
//! stand in `config.default.toml` alone.

mod check;
mod key;
mod layers;
mod options;
mod prices;
mod problem;
mod schema;
mod secrets;
mod show;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt::Display, path::PathBuf, time::Duration};

use domain::{ProjectName, Secret, seams};
use engine::OwnPrices;
use indexmap::IndexMap;
use tracing_subscriber::EnvFilter;

use crate::config::{layers::Layers, secrets::ProviderKey};
pub(crate) use crate::config::{
    options::{LogFormat, Options},
    problem::Problems,
    secrets::MasterKeySource,
};

const LOG_FILTER: &str = "GATEWRIGHT_LOG";
const DEFAULT_LOG_FILTER: &str = "info";

/// What the configuration is made from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources {
    /// `--config`.
    pub(crate) file: Option<PathBuf>,
    /// `--listen`.
    pub(crate) listen: Option<String>,
    /// `--data-dir`.
    pub(crate) data_dir: Option<String>,
    /// All environment variables.
    pub(crate) environment: BTreeMap<String, String>,
}

/// The environment of this process.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub(crate) fn environment() -> BTreeMap<String, String> {
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    std::env::vars_os()
        .map(|(name, value)| (text(name), text(value)))
        .collect()
}

/// The configuration that a server starts with.
#[derive(Debug)]
pub(crate) struct Config {
    /// Every section.
    pub(crate) options: Options,
    /// Where the master key is.
    pub(crate) master_key: MasterKeySource,
    /// `GATEWRIGHT_BOOTSTRAP_TOKENS`: tokens that are accepted from the first request on.
    pub(crate) bootstrap_tokens: Vec<(ProjectName, Secret)>,
    /// `GATEWRIGHT_LOG`: what is logged. It is a valid filter.
    pub(crate) log_filter: String,
    log_filter_is_given: bool,
    /// What the file says that `prices.file` names.
    pub(crate) own_prices: OwnPrices,
    keys: IndexMap<String, Vec<ProviderKey>>,
    provider_settings: IndexMap<String, BTreeMap<String, String>>,
    layers: Layers,
}

/// Reads the options alone: for commands that need the store and no secret.
///
/// # Errors
/// Everything that is wrong.
pub(crate) fn options(sources: &Sources) -> Result<Options, Problems> {
    let (layers, options) = settle(sources);
    accepted(layers.problems, options)
}

impl Config {
    /// Reads everything.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub(crate) fn load(sources: &Sources) -> Result<Self, Problems> {
        let (config, problems) = Self::load_what_holds(sources);
        accepted(problems, config)
    }

    /// Reads everything, with the default wherever something is wrong; says what is. There is nothing at all where not even
    /// that can be read.
    pub(crate) fn load_what_holds(sources: &Sources) -> (Option<Self>, Vec<String>) {
        let (mut layers, options) = settle(sources);
        let Some(options) = options else {
            return (None, layers.problems);
        };
        let environment = &sources.environment;
        let keys = secrets::provider_keys(&options, environment, &mut layers);
        let provider_settings = secrets::provider_settings(environment);
        let master_key = secrets::master_key(&options, environment, &mut layers);
        let problems = &mut layers.problems;
        let own_prices = own_prices(&options, problems);
        let bootstrap_tokens = secrets::bootstrap_tokens(environment, problems);
        let given_filter = given_log_filter(environment, problems);
        let problems = std::mem::take(&mut layers.problems);
        let config = Self {
            options,
            master_key,
            bootstrap_tokens,
            log_filter: given_filter.unwrap_or(DEFAULT_LOG_FILTER).to_owned(),
            log_filter_is_given: given_filter.is_some(),
            own_prices,
            keys,
            provider_settings,
            layers,
        };
        (Some(config), problems)
    }

    /// Where each of a provider's keys was found.
    pub(crate) fn keys_of(&self, provider: &str) -> impl Iterator<Item = &str> {
        let keys = self.keys.get(provider).into_iter().flatten();
        keys.map(|key| key.found_in.as_str())
    }

    /// How many keys are not as the defaults have them.
    pub(crate) fn given(&self) -> usize {
        let entries = self.layers.entries.values();
        entries
            .filter(|entry| entry.origin != key::Origin::Default)
            .count()
    }

    /// What the engine is told.
    pub(crate) fn engine_options(&self) -> engine::Options {
        engine::Options {
            models: self.options.models.clone(),
            calls: self.options.calls.clone(),
            prices: self.options.prices.clone(),
            own_prices: self.own_prices.clone(),
            observer: self.options.observer.clone(),
            feedback: self.options.feedback,
            spans: self.options.spans,
            projects: self.options.projects.clone(),
            model_calls: self.options.limits.model_calls,
            max_document_bytes: self.options.ocr.max_document_bytes,
            document_timeout: Duration::from_secs_f64(self.options.ocr.timeout_seconds),
            request_timeout: Duration::from_secs_f64(self.options.upstream.timeout_seconds),
        }
    }

    /// What the providers are told, their keys included.
    pub(crate) fn provider_options(&self) -> providers::Options {
        let key = |found: &ProviderKey| seams::Key {
            secret: found.key.clone(),
            weight: found.weight,
        };
        let keys = self.keys.iter();
        let keys = keys.map(|(name, found)| (name.clone(), found.iter().map(key).collect()));
        providers::Options {
            providers: self.options.providers.clone(),
            keys: keys.collect(),
            settings: self.provider_settings.clone(),
            egress: self.options.egress.clone(),
            upstream: self.options.upstream.clone(),
        }
    }

    /// The refusal of a crate that was given its options, with the place of the key that it names.
    pub(crate) fn refusal(&self, fault: &impl Display) -> Problems {
        let fault = fault.to_string();
        let named = self
            .layers
            .entries
            .iter()
            .find(|(key, _)| fault.contains(&format!("`{key}`")));
        let problem = match named {
            Some((_, entry)) => format!("{fault} ({})", entry.origin),
            None => fault,
        };
        Problems(vec![problem])
    }
}

/// Reads the options and the prices that they name: for commands that need no secret.
///
/// # Errors
/// Everything that is wrong.
pub(crate) fn options_and_prices(sources: &Sources) -> Result<(Options, OwnPrices), Problems> {
    let options = options(sources)?;
    let mut problems = Vec::new();
    let own = own_prices(&options, &mut problems);
    accepted(problems, Some((options, own)))
}

/// Reads the options and where the master key is: for commands that need no other secret.
///
/// # Errors
/// Everything that is wrong.
pub(crate) fn options_and_master_key(
    sources: &Sources,
) -> Result<(Options, MasterKeySource), Problems> {
    let (mut layers, options) = settle(sources);
    let options = options.map(|options| {
        let source = secrets::master_key(&options, &sources.environment, &mut layers);
        (options, source)
    });
    accepted(layers.problems, options)
}

fn own_prices(options: &Options, problems: &mut Vec<String>) -> OwnPrices {
    let own = prices::read(options.prices.file.as_deref());
    own.unwrap_or_else(|faults| {
        problems.extend(faults);
        OwnPrices::default()
    })
}

fn settle(sources: &Sources) -> (Layers, Option<Options>) {
    let mut layers = layers::gather(sources);
    check::check(&mut layers);
    let options = options::read(&mut layers);
    (layers, options)
}

fn accepted<T>(problems: Vec<String>, value: Option<T>) -> Result<T, Problems> {
    match value {
        Some(value) if problems.is_empty() => Ok(value),
        _ => Err(Problems(problems)),
    }
}

fn given_log_filter<'a>(
    environment: &'a BTreeMap<String, String>,
    problems: &mut Vec<String>,
) -> Option<&'a str> {
    let filter = environment
        .get(LOG_FILTER)
        .filter(|text| !text.trim().is_empty())?;
    if let Err(fault) = EnvFilter::try_new(filter) {
        problems.push(format!(
            "bad value in the environment variable {LOG_FILTER}: {filter:?}: {fault}"
        ));
    }
    Some(filter)
}
