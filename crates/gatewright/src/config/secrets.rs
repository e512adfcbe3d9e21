//! Secrets that the environment and files hold: providers' keys, the master key, declared tokens.
//!
//! What is refused is named by its place; no part of a secret gets into a message.

use std::{
    collections::{BTreeMap, HashMap},
    fmt, fs,
    path::{Path, PathBuf},
};

use domain::{ProjectName, Secret};
use engine::{MasterKey, token};
use indexmap::IndexMap;
use providers::{Holds, ProviderOptions, Variable};

use crate::config::{
    key::{Key, Origin},
    layers::Layers,
    options::Options,
    problem,
};

const MASTER_KEY: &str = "GATEWRIGHT_MASTER_KEY";
const BOOTSTRAP_TOKENS: &str = "GATEWRIGHT_BOOTSTRAP_TOKENS";
const KEY_BYTES: usize = 4096;

/// Where the key that seals providers' keys is to be had.
#[derive(Debug, Clone)]
pub(crate) enum MasterKeySource {
    /// It was given in the environment, and has the right form.
    Given(Secret),
    /// It stands in this file of the operator's.
    File(PathBuf),
    /// It stands in this file in the data directory, which is made at the first start.
    BesideStore(PathBuf),
}

impl fmt::Display for MasterKeySource {
    /// Where it is; nothing of what it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(_) => write!(f, "the environment variable {MASTER_KEY}"),
            Self::File(path) | Self::BesideStore(path) => write!(f, "the file {}", path.display()),
        }
    }
}

/// One of a provider's keys and the place that it was found at.
#[derive(Debug, Clone)]
pub(crate) struct ProviderKey {
    /// The key.
    pub(crate) key: Secret,
    /// How often it is taken, relative to the others.
    pub(crate) weight: u32,
    /// For `gatewright config`.
    pub(crate) found_in: String,
}

/// The environment.
pub(crate) type Environment = BTreeMap<String, String>;

/// The keys of all providers that have some: by what the configuration says of a provider, else by its usual variables.
pub(crate) fn provider_keys(
    options: &Options,
    environment: &Environment,
    layers: &mut Layers,
) -> IndexMap<String, Vec<ProviderKey>> {
    let mut keys = IndexMap::new();
    for (name, provider) in &options.providers {
        let found = match declared_keys(name, provider, environment) {
            Ok(found) => found,
            Err((setting, reason)) => {
                layers.refuse(&Key::provider(name, setting), &reason);
                continue;
            }
        };
        if !found.is_empty() {
            keys.insert(name.clone(), found);
        }
    }
    let mut members: IndexMap<&str, Members> = IndexMap::new();
    for Variable {
        provider,
        name,
        holds,
    } in providers::variables()
    {
        let declared = options.providers.get(provider);
        if keys.contains_key(provider) || declared.is_some_and(has_own_keys) {
            continue;
        }
        let found = match holds {
            Holds::Key => from_variable(environment, name),
            Holds::KeyFile => given(environment, name)
                .map(|path| from_file(Path::new(path.trim())))
                .transpose(),
            Holds::KeyMember(member) => {
                if let Some(text) = given(environment, name) {
                    let members = members.entry(provider).or_default();
                    let value = text.trim().into();
                    members.values.insert(member.to_owned(), value);
                    members.found_in.push(name);
                }
                Ok(None)
            }
            Holds::Setting(_) => Ok(None),
        };
        match found {
            Ok(found) => {
                keys.extend(found.map(|key| (provider.to_owned(), vec![key])));
            }
            Err(reason) => layers
                .problems
                .push(format!("the environment variable {name} {reason}")),
        }
    }
    for (provider, Members { values, found_in }) in members {
        if !keys.contains_key(provider) {
            let key = ProviderKey {
                key: Secret::new(serde_json::Value::Object(values).to_string()),
                weight: 1,
                found_in: format!("environment {}", found_in.join(", ")),
            };
            keys.insert(provider.to_owned(), vec![key]);
        }
    }
    keys
}

/// A key that is found in several variables.
#[derive(Default)]
struct Members {
    values: serde_json::Map<String, serde_json::Value>,
    found_in: Vec<&'static str>,
}

/// The settings of providers that stand in their usual variables.
pub(crate) fn provider_settings(
    environment: &Environment,
) -> IndexMap<String, BTreeMap<String, String>> {
    let mut settings: IndexMap<String, BTreeMap<String, String>> = IndexMap::new();
    for variable in providers::variables() {
        if let Holds::Setting(setting) = variable.holds
            && let Some(value) = given(environment, variable.name)
        {
            let mine = settings.entry(variable.provider.to_owned()).or_default();
            let value = value.trim().to_owned();
            mine.entry(setting.to_owned()).or_insert(value);
        }
    }
    settings
}

const fn has_own_keys(given: &ProviderOptions) -> bool {
    given.api_key_env.is_some() || given.api_key_file.is_some() || given.keys.is_some()
}

/// The keys that a provider's own section leads to, or the setting at fault and why.
fn declared_keys(
    name: &str,
    provider: &ProviderOptions,
    environment: &Environment,
) -> Result<Vec<ProviderKey>, (&'static str, String)> {
    let Some(listed) = &provider.keys else {
        let key = declared_key(name, provider, environment)?;
        return Ok(key.into_iter().collect());
    };
    let refused = |reason: String| ("keys", reason);
    if provider.api_key_env.is_some() || provider.api_key_file.is_some() {
        let reason = "is given beside `api_key_env` or `api_key_file`; one of them is enough";
        return Err(refused(reason.to_owned()));
    }
    if listed.is_empty() {
        return Err(refused("lists no key".to_owned()));
    }
    let mut keys = Vec::with_capacity(listed.len());
    for (position, listed) in listed.iter().enumerate() {
        let refused =
            |reason: String| refused(format!("has no usable entry {}: {reason}", position + 1));
        if !(1..=1000).contains(&listed.weight) {
            return Err(refused("its `weight` is not between 1 and 1000".to_owned()));
        }
        let found = match (&listed.env, &listed.file) {
            (Some(variable), None) if !problem::is_variable_name(variable) => {
                Err("its `env` is not the name of an environment variable".to_owned())
            }
            (Some(variable), None) => match from_variable(environment, variable) {
                Ok(Some(key)) => Ok(key),
                Ok(None) => {
                    Err("its `env` names an environment variable that is not set".to_owned())
                }
                Err(reason) => Err(format!(
                    "its `env` names an environment variable that {reason}"
                )),
            },
            (None, Some(path)) => from_file(path).map_err(|reason| format!("its `file` {reason}")),
            _ => Err("it needs an `env` or a `file`".to_owned()),
        };
        keys.push(ProviderKey {
            weight: listed.weight,
            ..found.map_err(refused)?
        });
    }
    Ok(keys)
}

/// The key that a provider's own section leads to, or the setting at fault and why.
fn declared_key(
    name: &str,
    provider: &ProviderOptions,
    environment: &Environment,
) -> Result<Option<ProviderKey>, (&'static str, String)> {
    match (&provider.api_key_env, &provider.api_key_file) {
        (Some(_), Some(_)) => {
            let other = Key::provider(name, "api_key_env");
            Err((
                "api_key_file",
                format!("is given beside `{other}`; one of them is enough"),
            ))
        }
        (Some(variable), None) if !problem::is_variable_name(variable) => {
            let reason = "is not the name of an environment variable (capitals, digits and `_`)";
            Err(("api_key_env", reason.to_owned()))
        }
        (Some(variable), None) => match from_variable(environment, variable) {
            Ok(Some(key)) => Ok(Some(key)),
            Ok(None) => Err((
                "api_key_env",
                "names an environment variable that is not set".to_owned(),
            )),
            Err(reason) => Err((
                "api_key_env",
                format!("names an environment variable that {reason}"),
            )),
        },
        (None, Some(path)) => match from_file(path) {
            Ok(key) => Ok(Some(key)),
            Err(reason) => Err(("api_key_file", reason)),
        },
        (None, None) => Ok(None),
    }
}

fn from_variable(environment: &Environment, variable: &str) -> Result<Option<ProviderKey>, String> {
    let Some(text) = given(environment, variable) else {
        return Ok(None);
    };
    let found_in = Origin::Environment(variable.to_owned()).to_string();
    let key = usable(text)?;
    Ok(Some(ProviderKey {
        key,
        weight: 1,
        found_in,
    }))
}

fn from_file(path: &Path) -> Result<ProviderKey, String> {
    let text = fs::read_to_string(path).map_err(|fault| format!("cannot be read: {fault}"))?;
    let key = usable(&text).map_err(|reason| format!("names a file that {reason}"))?;
    let found_in = format!("file {}", path.display());
    Ok(ProviderKey {
        key,
        weight: 1,
        found_in,
    })
}

/// A key that can be sent in a header; or credentials of several members, as one line of JSON.
fn usable(text: &str) -> Result<Secret, String> {
    let key = text.trim();
    if key.starts_with('{') {
        let credentials: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(key).map_err(|_| "holds no key: what begins with `{` is JSON")?;
        return Ok(Secret::new(
            serde_json::Value::Object(credentials).to_string(),
        ));
    }
    if key.is_empty() || key.len() > KEY_BYTES || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "holds no key: a key is 1 to {KEY_BYTES} visible ASCII characters"
        ));
    }
    Ok(Secret::new(key))
}

/// A variable that is set and not blank.
fn given<'a>(environment: &'a Environment, variable: &str) -> Option<&'a str> {
    let text = environment.get(variable)?;
    Some(text.as_str()).filter(|text| !text.trim().is_empty())
}

/// Where the master key is. A given one is looked at; one beside the store is the start's to read or make.
pub(crate) fn master_key(
    options: &Options,
    environment: &Environment,
    layers: &mut Layers,
) -> MasterKeySource {
    if let Some(text) = given(environment, MASTER_KEY) {
        if let Err(fault) = MasterKey::parse(text) {
            let place = Origin::Environment(MASTER_KEY.to_owned()).place();
            layers.problems.push(format!("bad value {place}: {fault}"));
        }
        return MasterKeySource::Given(Secret::new(text.trim()));
    }
    let Some(path) = &options.secrets.master_key_file else {
        return MasterKeySource::BesideStore(options.store.data_dir.join("master.key"));
    };
    let fault = match fs::read_to_string(path) {
        Ok(text) => MasterKey::parse(&text)
            .err()
            .map(|fault| format!("is a file with no master key: {fault}")),
        Err(fault) => Some(format!("cannot be read: {fault}")),
    };
    if let Some(reason) = fault {
        layers.refuse(&Key::new(["secrets", "master_key_file"]), &reason);
    }
    MasterKeySource::File(path.clone())
}

/// The tokens that the environment declares, with the projects that they open.
pub(crate) fn bootstrap_tokens(
    environment: &Environment,
    problems: &mut Vec<String>,
) -> Vec<(ProjectName, Secret)> {
    let mut tokens = Vec::new();
    let mut seen: HashMap<&str, (usize, ProjectName)> = HashMap::new();
    let items = given(environment, BOOTSTRAP_TOKENS)
        .unwrap_or_default()
        .split(',')
        .map(str::trim);
    for (position, item) in items.enumerate().filter(|(_, item)| !item.is_empty()) {
        let place = format!("entry {} of {BOOTSTRAP_TOKENS}", position + 1);
        let Some((project, text)) = item.split_once(':') else {
            problems.push(format!("{place} is not PROJECT:TOKEN"));
            continue;
        };
        let project = match ProjectName::parse(project.trim()) {
            Ok(project) => project,
            Err(fault) => {
                problems.push(format!(
                    "{place} has no project's name before the colon: {}",
                    fault.message
                ));
                continue;
            }
        };
        let text = text.trim();
        if let Err(fault) = token::chosen(text) {
            problems.push(format!(
                "{place}, for project `{project}`, has a bad token: {fault}"
            ));
            continue;
        }
        match seen.get(text) {
            Some((_, first)) if *first == project => continue,
            Some((first, _)) => {
                problems.push(format!(
                    "{place}, for project `{project}`, has the token of entry {first}"
                ));
                continue;
            }
            None => {}
        }
        seen.insert(text, (position + 1, project.clone()));
        tokens.push((project, Secret::new(text)));
    }
    tokens
}
