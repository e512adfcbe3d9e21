//! The one list: which providers there are, where they are, and who speaks their dialect.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use domain::{
    Secret,
    seams::{Host, Provider, Registry},
};
use indexmap::IndexMap;
use thiserror::Error;
use url::Url;

use crate::{
    Options, ProviderOptions,
    adapter::HttpProvider,
    compatible,
    offline::{self, Offline},
    openai::OpenAi,
    wire::{Client, EgressError},
};

const OPENAI: &str = "openai";
/// The dialects, by the name that `protocol` has them under.
const PROTOCOLS: [&str; 2] = [OPENAI, offline::NAME];

/// Why the providers cannot be set up: a key of the configuration and what is wrong with its value.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct RegistryError(#[from] Reason);

#[derive(Debug, Error)]
enum Reason {
    #[error(
        "`providers.{0}` is no name for a provider: it has lower case letters, digits, `-`, `_` and `.` alone"
    )]
    Name(String),
    #[error(
        "`providers.{0}.api_base` is missing; only the providers of our table have an address of their own"
    )]
    NoAddress(String),
    #[error(
        "`providers.{name}.api_base` is `{value}`, which is not an `http` or `https` URL: {fault}"
    )]
    Address {
        name: String,
        value: String,
        fault: String,
    },
    #[error("`providers.{name}.protocol` is `{value}`; the protocols are: {}", PROTOCOLS.join(", "))]
    Protocol { name: String, value: String },
    #[error("`providers.offline.{0}` makes no sense: that provider has no network")]
    Offline(&'static str),
    #[error(transparent)]
    Egress(#[from] EgressError),
}

/// Sets up all providers: those of the operator's file, those of our table, and the one that is built in.
///
/// # Errors
/// Names the first key with a bad value.
pub fn registry(options: Options) -> Result<Arc<dyn Registry>, RegistryError> {
    let client = Client::new(&options.egress, &options.upstream).map_err(Reason::Egress)?;
    let client = Arc::new(client);
    let openai: Arc<dyn Provider> = Arc::new(HttpProvider::new(OpenAi, client));
    let offline: Arc<dyn Provider> = Arc::new(Offline);
    Ok(Arc::new(Hosts {
        hosts: hosts(options)?,
        protocols: HashMap::from([(OPENAI, openai), (offline::NAME, offline)]),
    }))
}

/// The environment variables that hold keys by custom, with the provider that each is for.
///
/// This crate does not read them: whoever reads the environment hands their values over in [`Options::keys`].
pub fn key_variables() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = compatible::TABLE.iter();
    rows.filter_map(|row| Some((row.name, row.key_variable?)))
}

/// Every host that is known, the configured ones in the order in which a default model is looked for.
struct Hosts {
    hosts: IndexMap<String, Host>,
    protocols: HashMap<&'static str, Arc<dyn Provider>>,
}

impl Registry for Hosts {
    fn host(&self, provider: &str) -> Option<&Host> {
        self.hosts.get(provider)
    }

    fn configured(&self) -> Vec<&Host> {
        self.hosts.values().filter(|host| host.configured).collect()
    }

    fn origin(&self, api_base: &str) -> Option<String> {
        let url = Url::parse(api_base).ok().filter(Url::has_host)?;
        Some(url.origin().ascii_serialization())
    }

    fn protocol(&self, name: &str) -> Option<Arc<dyn Provider>> {
        self.protocols.get(name).cloned()
    }
}

/// The file's hosts, then the table's, then the built-in one.
fn hosts(options: Options) -> Result<IndexMap<String, Host>, Reason> {
    let Options {
        mut providers,
        mut keys,
        ..
    } = options;
    let mut key = |name: &str| {
        let key = keys.shift_remove(name);
        key.filter(|key| !key.expose().trim().is_empty())
    };
    let built_in = offline_host(&providers.shift_remove(offline::NAME).unwrap_or_default())?;
    let mut hosts = IndexMap::new();
    for (name, given) in providers {
        let key = key(&name);
        hosts.insert(name.clone(), named_host(name, given, key)?);
    }
    for row in &compatible::TABLE {
        if !hosts.contains_key(row.name) {
            let key = key(row.name);
            let host = Host {
                provider: row.name.to_owned(),
                protocol: OPENAI.to_owned(),
                api_base: Some(row.api_base.to_owned()),
                configured: key.is_some(),
                key,
                default_model: row.default_model.map(str::to_owned),
                settings: BTreeMap::new(),
            };
            hosts.insert(row.name.to_owned(), host);
        }
    }
    hosts.insert(offline::NAME.to_owned(), built_in);
    Ok(hosts)
}

/// A host that the operator's file names.
fn named_host(name: String, given: ProviderOptions, key: Option<Secret>) -> Result<Host, Reason> {
    let is_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_name) {
        return Err(Reason::Name(name));
    }
    let row = compatible::TABLE.iter().find(|row| row.name == name);
    let protocol = given.protocol.unwrap_or_else(|| OPENAI.to_owned());
    if !PROTOCOLS.contains(&protocol.as_str()) {
        let value = protocol;
        return Err(Reason::Protocol { name, value });
    }
    let own = row.map(|row| row.api_base.to_owned());
    let api_base = match given.api_base {
        Some(api_base) => {
            check_address(&name, &api_base)?;
            Some(api_base)
        }
        None if protocol == offline::NAME => None,
        None => Some(own.ok_or_else(|| Reason::NoAddress(name.clone()))?),
    };
    let default_model = given.default_model;
    let own_model = row.and_then(|row| row.default_model);
    Ok(Host {
        provider: name,
        protocol,
        api_base,
        key,
        configured: true,
        default_model: default_model.or_else(|| own_model.map(str::to_owned)),
        settings: BTreeMap::new(),
    })
}

fn check_address(name: &str, value: &str) -> Result<(), Reason> {
    let fault = match Url::parse(value) {
        Ok(url) if !matches!(url.scheme(), "http" | "https") => "another scheme".to_owned(),
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            // The key has a place of its own; here it would be shown with the address.
            return Err(Reason::Address {
                name: name.to_owned(),
                value: "http://[secret]@…".to_owned(),
                fault: "a user or password stands in it".to_owned(),
            });
        }
        Ok(_) => return Ok(()),
        Err(fault) => fault.to_string(),
    };
    Err(Reason::Address {
        name: name.to_owned(),
        value: value.to_owned(),
        fault,
    })
}

fn offline_host(given: &ProviderOptions) -> Result<Host, Reason> {
    let misplaced = [
        ("api_base", given.api_base.is_some()),
        ("api_key_env", given.api_key_env.is_some()),
        ("api_key_file", given.api_key_file.is_some()),
        (
            "protocol",
            given
                .protocol
                .as_deref()
                .is_some_and(|name| name != offline::NAME),
        ),
    ];
    if let Some((key, _)) = misplaced.into_iter().find(|(_, is_given)| *is_given) {
        return Err(Reason::Offline(key));
    }
    let default_model = given.default_model.clone();
    Ok(Host {
        provider: offline::NAME.to_owned(),
        protocol: offline::NAME.to_owned(),
        api_base: None,
        key: None,
        configured: true,
        default_model: Some(default_model.unwrap_or_else(|| offline::DEFAULT_MODEL.to_owned())),
        settings: BTreeMap::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EgressOptions, UpstreamOptions};

    fn options(providers: &[(&str, ProviderOptions)], keys: &[(&str, &str)]) -> Options {
        let owned = |(name, given): &(&str, ProviderOptions)| ((*name).to_owned(), given.clone());
        let secret = |(name, key): &(&str, &str)| ((*name).to_owned(), Secret::new(*key));
        Options {
            providers: providers.iter().map(owned).collect(),
            keys: keys.iter().map(secret).collect(),
            egress: EgressOptions::default(),
            upstream: UpstreamOptions {
                connect_timeout_seconds: 3.0,
                timeout_seconds: 120.0,
                idle_timeout_seconds: 60.0,
            },
        }
    }

    fn at(api_base: &str) -> ProviderOptions {
        ProviderOptions {
            api_base: Some(api_base.to_owned()),
            ..ProviderOptions::default()
        }
    }

    fn refusal(options: Options) -> String {
        registry(options).err().unwrap().to_string()
    }

    #[test]
    fn configured_hosts_come_in_the_files_order_then_the_tables() {
        let given = [
            ("mine", at("http://10.0.0.1:8000/v1")),
            ("xai", ProviderOptions::default()),
            ("ollama", ProviderOptions::default()),
        ];
        let keys = [
            ("mistral", "m"),
            ("openai", "o"),
            ("mine", "k"),
            ("groq", " "),
        ];

        let registry = registry(options(&given, &keys)).unwrap();

        let configured: Vec<(&str, Option<&str>)> = registry
            .configured()
            .into_iter()
            .map(|host| {
                (
                    host.provider.as_str(),
                    host.key.as_ref().map(Secret::expose),
                )
            })
            .collect();
        assert_eq!(
            configured,
            [
                ("mine", Some("k")),
                ("xai", None),
                ("ollama", None),
                ("openai", Some("o")),
                ("mistral", Some("m")),
                ("offline", None),
            ]
        );
    }

    #[test]
    fn a_known_host_needs_no_configuration_and_an_unknown_one_is_none() {
        let registry = registry(options(&[], &[])).unwrap();

        let openai = registry.host("openai").unwrap();
        assert_eq!(
            openai.api_base.as_deref(),
            Some("https://api.openai.com/v1")
        );
        assert_eq!(openai.default_model.as_deref(), Some("gpt-4.1-mini"));
        assert!(!openai.configured && openai.key.is_none());
        assert!(registry.host("nobody").is_none());
        assert!(registry.protocol("openai").is_some());
        assert!(registry.protocol("offline").is_some());
        assert!(registry.protocol("morse").is_none());
    }

    #[test]
    fn the_operators_section_wins_over_the_table() {
        let given = ProviderOptions {
            default_model: Some("big".to_owned()),
            ..at("http://proxy.internal/openai")
        };

        let registry = registry(options(&[("openai", given)], &[])).unwrap();

        let openai = registry.host("openai").unwrap();
        assert_eq!(
            openai.api_base.as_deref(),
            Some("http://proxy.internal/openai")
        );
        assert_eq!(openai.default_model.as_deref(), Some("big"));
    }

    #[test]
    fn a_bad_value_is_named_with_its_key() {
        let protocol = ProviderOptions {
            protocol: Some("morse".to_owned()),
            ..at("http://h/v1")
        };
        let cases = [
            (
                ("x", ProviderOptions::default()),
                "`providers.x.api_base` is missing",
            ),
            (
                ("x", at("localhost:8000")),
                "`providers.x.api_base` is `localhost:8000`",
            ),
            (("x", at("http://")), "`providers.x.api_base` is `http://`"),
            (
                ("x", at("http://u:p@h/")),
                "`providers.x.api_base` is `http://[secret]@…`",
            ),
            (
                ("x", protocol),
                "`providers.x.protocol` is `morse`; the protocols are: openai",
            ),
            (("X", at("http://h")), "`providers.X` is no name"),
            (("a/b", at("http://h")), "`providers.a/b` is no name"),
            (
                ("offline", at("http://h")),
                "`providers.offline.api_base` makes no sense",
            ),
        ];

        for (given, start) in cases {
            let told = refusal(options(&[given], &[]));
            assert!(told.starts_with(start), "{told}");
        }
    }

    #[test]
    fn bad_limits_and_lists_are_named_too() {
        let mut bad_entry = options(&[], &[]);
        bad_entry.egress.allow = vec!["10.0.0.0/8".to_owned()];
        let mut bad_document = options(&[], &[]);
        bad_document.egress.allow_documents = vec!["*:80".to_owned()];
        let mut bad_time = options(&[], &[]);
        bad_time.upstream.connect_timeout_seconds = -1.0;
        let mut no_time = options(&[], &[]);
        no_time.upstream.idle_timeout_seconds = 0.0;

        let told = [bad_entry, bad_document, bad_time, no_time].map(refusal);

        assert_eq!(
            told,
            [
                "`egress.allow` has the entry `10.0.0.0/8`, which is neither `host:port` nor `cidr:port`",
                "`egress.allow_documents` has the entry `*:80`, which is neither `host:port` nor `cidr:port`",
                "`upstream.connect_timeout_seconds` is `-1`, which is not a number of seconds above 0",
                "`upstream.idle_timeout_seconds` is `0`, which is not a number of seconds above 0",
            ]
        );
    }

    #[test]
    fn key_variables_come_with_their_provider() {
        let variables: Vec<_> = key_variables().collect();

        assert_eq!(variables[0], ("openai", "OPENAI_API_KEY"));
        assert!(variables.iter().all(|(provider, _)| *provider != "ollama"));
    }
}
