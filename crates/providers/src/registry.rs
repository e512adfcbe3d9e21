//! The one list: which providers there are, where they are, and who speaks their dialect.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use domain::seams::{Clock, Documents, Fetcher, Home, Host, Key, OcrModels, Provider, Registry};
use indexmap::IndexMap;
use thiserror::Error;
use url::Url;

use crate::{
    Options, ProviderOptions,
    adapter::{Adapter, HttpProvider},
    anthropic::{self, Anthropic},
    azure::{self, Azure},
    bedrock::{self, Bedrock},
    cohere::{self, Cohere},
    compatible::{self, MISTRAL, OPENAI},
    docling::{self, Docling},
    gemini::{self, Gemini},
    home,
    local::{self, Local},
    mistral::Mistral,
    offline::{self, Offline},
    ollama::{self, Ollama},
    openai::OpenAi,
    readers, rerankers,
    responses::{self, Choice, Responses},
    wire::{Client, EgressError},
};

/// What the providers stand on.
#[derive(Clone)]
pub struct Ground {
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Reads documents on this machine.
    pub documents: Arc<dyn Documents>,
}

/// The way out to the hosts.
pub struct Providers {
    /// Which there are, and how each is spoken to.
    pub registry: Arc<dyn Registry>,
    /// Brings documents.
    pub fetcher: Arc<dyn Fetcher>,
}

/// What makes a provider of a dialect.
type Connect = fn(&Arc<Client>, &Ground) -> Arc<dyn Provider>;

/// The dialects, by the name that `protocol` has them under.
static PROTOCOLS: [(&str, Connect); 13] = [
    (OPENAI, |client, _| {
        let responses = over_http(Responses, client);
        Arc::new(Choice::by_address(over_http(OpenAi, client), responses))
    }),
    (responses::NAME, |client, _| over_http(Responses, client)),
    (anthropic::NAME, |client, _| over_http(Anthropic, client)),
    (gemini::STUDIO, |client, _| {
        over_http(Gemini::in_studio(), client)
    }),
    (gemini::VERTEX, |client, _| {
        over_http(Gemini::on_vertex(), client)
    }),
    (azure::NAME, |client, _| {
        let responses = over_http(Azure(Responses), client);
        Arc::new(Choice::by_model(
            over_http(Azure(OpenAi), client),
            responses,
        ))
    }),
    (bedrock::NAME, |client, ground| {
        over_http(Bedrock::new(ground.clock.clone()), client)
    }),
    (MISTRAL, |client, _| over_http(Mistral, client)),
    (cohere::NAME, |client, _| over_http(Cohere, client)),
    (ollama::NAME, |client, _| over_http(Ollama, client)),
    (docling::NAME, |client, _| {
        Arc::new(Docling::new(client.clone()))
    }),
    (offline::NAME, |_, _| Arc::new(Offline)),
    (local::NAME, |_, ground| {
        Arc::new(Local(ground.documents.clone()))
    }),
];

/// A host with a dialect of its own.
struct Native {
    /// Its name, and the dialect's.
    name: &'static str,
    /// Its address. `{region}` and the like in it stand for settings of that name.
    api_base: &'static str,
    /// The environment variable that its users keep their key in; `None` for hosts on one's own machine.
    key_variable: Option<&'static str>,
    /// A cheap model that answers chats and keeps to a schema; `None` where a key may lie about for other purposes.
    default_model: Option<&'static str>,
}

/// The hosts with a dialect of their own; in the order in which a default model is looked for, after the compatible ones.
static NATIVE: [Native; 8] = [
    Native {
        name: anthropic::NAME,
        api_base: "https://api.anthropic.com",
        key_variable: Some("ANTHROPIC_API_KEY"),
        default_model: Some("claude-haiku-5-5"),
    },
    Native {
        name: gemini::STUDIO,
        api_base: "https://generativelanguage.googleapis.com/v1beta",
        key_variable: Some("GEMINI_API_KEY"),
        default_model: Some("gemini-3.5-flash-lite"),
    },
    Native {
        name: cohere::NAME,
        api_base: cohere::API_BASE,
        key_variable: Some(cohere::KEY_VARIABLE),
        default_model: Some("command-r7b-12-2024"),
    },
    Native {
        name: gemini::VERTEX,
        api_base: "https://{region}-aiplatform.googleapis.com/v1",
        key_variable: Some("VERTEX_CREDENTIALS"),
        default_model: None,
    },
    Native {
        name: azure::NAME,
        api_base: "https://{resource}.openai.azure.com",
        key_variable: Some("AZURE_OPENAI_API_KEY"),
        default_model: None,
    },
    Native {
        name: bedrock::NAME,
        api_base: "https://bedrock-runtime.{region}.amazonaws.com",
        key_variable: Some("AWS_BEARER_TOKEN_BEDROCK"),
        default_model: None,
    },
    Native {
        name: ollama::NAME,
        api_base: "http://localhost:11434",
        key_variable: None,
        default_model: None,
    },
    Native {
        name: docling::NAME,
        api_base: docling::API_BASE,
        key_variable: Some(docling::KEY_VARIABLE),
        default_model: None,
    },
];

fn over_http(adapter: impl Adapter, client: &Arc<Client>) -> Arc<dyn Provider> {
    Arc::new(HttpProvider::new(adapter, client.clone()))
}

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
    #[error(
        "`providers.{name}.protocol` is `{value}`; the protocols are: {}",
        protocol_names()
    )]
    Protocol { name: String, value: String },
    #[error("`providers.offline.{0}` makes no sense: that provider has no network")]
    Offline(&'static str),
    #[error("`providers.local` has no settings: those of the engine for documents are in `[ocr]`")]
    Local,
    #[error(transparent)]
    Egress(#[from] EgressError),
}

/// Sets up all providers: those of the operator's file, those of our table, and the one that is built in.
///
/// # Errors
/// Names the first key with a bad value.
pub fn connect(options: Options, ground: &Ground) -> Result<Providers, RegistryError> {
    let client = Client::new(&options.egress, &options.upstream, ground.clock.clone())
        .map_err(Reason::Egress)?;
    let client = Arc::new(client);
    let protocols = PROTOCOLS.iter();
    let protocols = protocols.map(|(name, connect)| (*name, connect(&client, ground)));
    Ok(Providers {
        registry: Arc::new(Hosts {
            hosts: hosts(options)?,
            protocols: protocols.collect(),
        }),
        fetcher: client,
    })
}

fn protocol_names() -> String {
    PROTOCOLS.map(|(name, _)| name).join(", ")
}

/// An environment variable that means something for a provider by custom.
///
/// This crate reads none: whoever reads the environment hands the values over in [`Options`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// The provider that it is for.
    pub provider: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub holds: Holds,
}

/// What an environment variable holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// The key.
    Key,
    /// The path of a file with the key.
    KeyFile,
    /// One member of a key that is a JSON object.
    KeyMember(&'static str),
    /// A setting of the dialect.
    Setting(&'static str),
}

/// Customs beyond one key in one variable.
static CUSTOMS: [(&str, &str, Holds); 14] = [
    (cohere::NAME, "COHERE_API_KEY", Holds::Key),
    (gemini::STUDIO, "GOOGLE_API_KEY", Holds::Key),
    (
        gemini::VERTEX,
        "GOOGLE_APPLICATION_CREDENTIALS",
        Holds::KeyFile,
    ),
    (
        gemini::VERTEX,
        "GOOGLE_CLOUD_PROJECT",
        Holds::Setting("project"),
    ),
    (
        gemini::VERTEX,
        "GOOGLE_CLOUD_LOCATION",
        Holds::Setting("region"),
    ),
    (azure::NAME, "AZURE_API_KEY", Holds::Key),
    (
        azure::NAME,
        "AZURE_RESOURCE_NAME",
        Holds::Setting("resource"),
    ),
    (
        azure::NAME,
        "OPENAI_API_VERSION",
        Holds::Setting("api_version"),
    ),
    (
        bedrock::NAME,
        "AWS_ACCESS_KEY_ID",
        Holds::KeyMember("access_key_id"),
    ),
    (
        bedrock::NAME,
        "AWS_SECRET_ACCESS_KEY",
        Holds::KeyMember("secret_access_key"),
    ),
    (
        bedrock::NAME,
        "AWS_SESSION_TOKEN",
        Holds::KeyMember("session_token"),
    ),
    (bedrock::NAME, "AWS_REGION", Holds::Setting("region")),
    (
        bedrock::NAME,
        "AWS_DEFAULT_REGION",
        Holds::Setting("region"),
    ),
    (
        "cloudflare",
        "CLOUDFLARE_ACCOUNT_ID",
        Holds::Setting("account_id"),
    ),
];

/// The environment variables that mean something by custom. Of several for the same thing, the first that is set holds.
pub fn variables() -> impl Iterator<Item = Variable> {
    let keys = known().filter_map(|row| Some((row.name, row.key_variable?, Holds::Key)));
    let all = keys.chain(CUSTOMS);
    all.map(|(provider, name, holds)| Variable {
        provider,
        name,
        holds,
    })
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

    fn home(&self, provider: &str, api_base: &str) -> Option<BTreeMap<String, String>> {
        let row = known().find(|row| row.name == provider)?;
        home::places(provider, row.api_base, api_base)
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
        mut settings,
        ..
    } = options;
    let mut found = |name: &str| Found {
        keys: {
            let mut keys = keys.shift_remove(name).unwrap_or_default();
            keys.retain(|key| !key.secret.expose().trim().is_empty());
            keys
        },
        settings: settings.shift_remove(name).unwrap_or_default(),
    };
    let built_in = offline_host(&providers.shift_remove(offline::NAME).unwrap_or_default())?;
    let local = local_host(providers.shift_remove(local::NAME).as_ref())?;
    let mut hosts = IndexMap::new();
    for (name, given) in providers {
        let found = found(&name);
        hosts.insert(name.clone(), named_host(name, given, found)?);
    }
    for row in known() {
        if !hosts.contains_key(row.name) {
            let Found { keys, settings } = found(row.name);
            let host = Host {
                provider: row.name.to_owned(),
                protocol: row.protocol.to_owned(),
                api_base: Some(row.api_base.to_owned()),
                home: Some(row.home()),
                configured: !keys.is_empty(),
                keys: keys.into(),
                default_model: row.default_model.map(str::to_owned),
                default_embedding_model: row.default_embedding_model.map(str::to_owned),
                rerank_models: rerankers::of(row.name),
                ocr: readers::of(row.name),
                settings,
            };
            hosts.insert(row.name.to_owned(), host);
        }
    }
    hosts.insert(offline::NAME.to_owned(), built_in);
    // The first of those that read documents.
    hosts.shift_insert(0, local::NAME.to_owned(), local);
    Ok(hosts)
}

/// What the environment and files hold for a provider.
struct Found {
    keys: Vec<Key>,
    settings: BTreeMap<String, String>,
}

/// A host of one of the two tables.
struct Known {
    name: &'static str,
    protocol: &'static str,
    api_base: &'static str,
    key_variable: Option<&'static str>,
    default_model: Option<&'static str>,
    default_embedding_model: Option<&'static str>,
}

impl Known {
    const fn home(&self) -> Home {
        Home {
            api_base: self.api_base,
            protocol: self.protocol,
        }
    }
}

/// The hosts of both tables.
fn known() -> impl Iterator<Item = Known> {
    let compatible = compatible::TABLE.iter().map(|row| Known {
        name: row.name,
        protocol: row.protocol,
        api_base: row.api_base,
        key_variable: row.key_variable,
        default_model: row.default_model,
        default_embedding_model: row.default_embedding_model,
    });
    let native = NATIVE.iter().map(|row| Known {
        name: row.name,
        protocol: row.name,
        api_base: row.api_base,
        key_variable: row.key_variable,
        default_model: row.default_model,
        default_embedding_model: None,
    });
    compatible.chain(native)
}

/// A host that the operator's file names.
fn named_host(name: String, given: ProviderOptions, found: Found) -> Result<Host, Reason> {
    let is_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_name) {
        return Err(Reason::Name(name));
    }
    let row = known().find(|row| row.name == name);
    let mut settings = found.settings;
    settings.extend(given.settings());
    let implied = row.as_ref().map_or(OPENAI, |row| row.protocol);
    let protocol = given.protocol.unwrap_or_else(|| implied.to_owned());
    if !PROTOCOLS.iter().any(|(known, _)| *known == protocol) {
        let value = protocol;
        return Err(Reason::Protocol { name, value });
    }
    let own = row.as_ref().map(|row| row.api_base.to_owned());
    let home = row.as_ref().map(Known::home);
    let api_base = match given.api_base {
        Some(api_base) => {
            check_address(&name, &api_base)?;
            Some(api_base)
        }
        None if protocol == offline::NAME => None,
        None => Some(own.ok_or_else(|| Reason::NoAddress(name.clone()))?),
    };
    let default_model = given.default_model;
    let own_model = row.as_ref().and_then(|row| row.default_model);
    let embedding_model = row.and_then(|row| row.default_embedding_model);
    Ok(Host {
        rerank_models: rerankers::of(&name),
        ocr: readers::of(&name),
        provider: name,
        protocol,
        api_base,
        home,
        keys: found.keys.into(),
        configured: true,
        default_model: default_model.or_else(|| own_model.map(str::to_owned)),
        default_embedding_model: embedding_model.map(str::to_owned),
        settings,
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
        home: None,
        keys: Arc::default(),
        configured: true,
        default_model: Some(default_model.unwrap_or_else(|| offline::DEFAULT_MODEL.to_owned())),
        default_embedding_model: Some(offline::EMBEDDING_MODEL.to_owned()),
        rerank_models: rerankers::of(offline::NAME),
        ocr: OcrModels::default(),
        settings: BTreeMap::new(),
    })
}

/// The provider that reads documents here. There is nothing to say of it in `[providers]`: `[ocr]` is its place.
fn local_host(given: Option<&ProviderOptions>) -> Result<Host, Reason> {
    if given.is_some() {
        return Err(Reason::Local);
    }
    Ok(Host {
        provider: local::NAME.to_owned(),
        protocol: local::NAME.to_owned(),
        api_base: None,
        home: None,
        keys: Arc::default(),
        configured: true,
        default_model: None,
        default_embedding_model: None,
        rerank_models: &[],
        ocr: readers::of(local::NAME),
        settings: BTreeMap::new(),
    })
}

#[cfg(test)]
mod tests {
    use domain::{Secret, seams::SystemClock};

    use super::*;
    use crate::{EgressOptions, UpstreamOptions};

    fn ground() -> Ground {
        Ground {
            clock: Arc::new(SystemClock),
            documents: Arc::new(domain::seams::NoDocuments),
        }
    }

    fn options(providers: &[(&str, ProviderOptions)], keys: &[(&str, &str)]) -> Options {
        let owned = |(name, given): &(&str, ProviderOptions)| ((*name).to_owned(), given.clone());
        let secret = |(name, key): &(&str, &str)| {
            let secret = Secret::new(*key);
            ((*name).to_owned(), vec![Key { secret, weight: 1 }])
        };
        Options {
            providers: providers.iter().map(owned).collect(),
            keys: keys.iter().map(secret).collect(),
            settings: IndexMap::new(),
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
        connect(options, &ground()).err().unwrap().to_string()
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

        let registry = connect(options(&given, &keys), &ground()).unwrap().registry;

        let configured: Vec<(&str, Option<&str>)> = registry
            .configured()
            .into_iter()
            .map(|host| {
                (
                    host.provider.as_str(),
                    host.keys.first().map(|key| key.secret.expose()),
                )
            })
            .collect();
        assert_eq!(
            configured,
            [
                ("local", None),
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
        let registry = connect(options(&[], &[]), &ground()).unwrap().registry;

        let openai = registry.host("openai").unwrap();
        assert_eq!(
            openai.api_base.as_deref(),
            Some("https://api.openai.com/v1")
        );
        assert_eq!(openai.default_model.as_deref(), Some("gpt-5.4-mini"));
        assert!(!openai.configured && openai.keys.is_empty());
        assert!(registry.host("nobody").is_none());
        assert!(registry.protocol("openai").is_some());
        assert!(registry.protocol("offline").is_some());
        assert!(registry.protocol("morse").is_none());
    }

    #[test]
    fn a_host_implies_its_dialect() {
        let registry = connect(options(&[], &[]), &ground()).unwrap().registry;

        for (provider, protocol) in [
            ("openai", "openai"),
            ("jina", "openai"),
            ("perplexity", "openai-responses"),
            ("mistral", "mistral"),
            ("cohere", "cohere"),
            ("ollama", "ollama"),
        ] {
            assert_eq!(registry.host(provider).unwrap().protocol, protocol);
            assert!(registry.protocol(protocol).is_some());
        }
    }

    #[test]
    fn every_host_is_named_once() {
        let mut names: Vec<&str> = known().map(|row| row.name).collect();
        let count = names.len();

        names.sort_unstable();
        names.dedup();

        assert_eq!(names.len(), count);
    }

    #[test]
    fn the_operators_section_wins_over_the_table() {
        let given = ProviderOptions {
            default_model: Some("big".to_owned()),
            ..at("http://proxy.internal/openai")
        };

        let registry = connect(options(&[("openai", given)], &[]), &ground())
            .unwrap()
            .registry;

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
    fn variables_come_with_their_provider() {
        let variables: Vec<_> = variables().collect();

        let first = Variable {
            provider: "openai",
            name: "OPENAI_API_KEY",
            holds: Holds::Key,
        };
        assert_eq!(variables[0], first);
        assert!(
            variables
                .iter()
                .all(|variable| variable.provider != "ollama")
        );
    }
}
