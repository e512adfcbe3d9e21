//! The providers: which have a key, and what each says when it is asked for a few tokens.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{
    ChatRequest, Json, JsonObject, Message, ModelChoice, ModelName, ModelSpec, Principal,
    RerankRequest, Role, Tags, Usd,
    seams::{Host, Registry},
};
use engine::{ChatCall, Code, Detail, EmbeddingCall, Error, Gateway};
use tokio::task::JoinSet;

use super::finding::Finding;
use crate::{
    commands::{
        amount::{NANO, decimal},
        backup::turning,
    },
    compose,
    config::Config,
};

const PROVIDERS: &str = "providers";
/// Those that are built in: they have no network and no key.
const BUILT_IN: [&str; 2] = ["offline", "local"];
/// Longer than a provider takes for a few tokens.
const PATIENCE: Duration = Duration::from_secs(30);
/// The least that every provider takes as a bound.
const MAX_TOKENS: u32 = 16;
const WORDS: &str = "Say ok.";

/// What a provider is asked for: what it has a model for.
#[derive(Debug, Clone, Copy)]
enum Want {
    Chat,
    Vectors,
    Order,
}

/// One provider with one of its keys, to be asked.
struct Asked {
    check: String,
    provider: String,
    /// Where its key was found.
    key: Option<String>,
    model: ModelName,
    want: Want,
}

/// Which providers there are, and where their keys were found.
pub(super) fn look(config: &Config, registry: &dyn Registry) -> Vec<Finding> {
    let mut findings = Vec::new();
    let named: Vec<String> = hosts(registry).map(|host| in_short(config, host)).collect();
    findings.push(if named.is_empty() {
        Finding::warn(
            PROVIDERS,
            "none has a key: calls that name no model go to the built-in one, which is no language model",
            "set OPENAI_API_KEY or another provider's variable, or name one in `[providers.NAME]`",
        )
    } else {
        Finding::ok(PROVIDERS, named.join(", "))
    });
    let models = &config.options.models;
    let defaults = [
        ("models.default", &models.default),
        ("models.default_embedding", &models.default_embedding),
    ];
    for (key, model) in defaults {
        let Some(model) = model else { continue };
        let provider = model.split().map_or("", |(provider, _)| provider);
        if !registry.host(provider).is_some_and(|host| host.configured) {
            findings.push(Finding::warn(
                PROVIDERS,
                format!("`{key}` is `{model}`, of a provider that is not configured"),
                "calls that name no model fail; give that provider a key, or name another model",
            ));
        }
    }
    findings
}

fn hosts(registry: &dyn Registry) -> impl Iterator<Item = &Host> {
    let hosts = registry.configured().into_iter();
    hosts.filter(|host| !BUILT_IN.contains(&host.provider.as_str()))
}

fn in_short(config: &Config, host: &Host) -> String {
    let keys: Vec<&str> = config.keys_of(&host.provider).collect();
    let keys = match keys[..] {
        [] => "no key".to_owned(),
        [key] => key.to_owned(),
        _ => format!("{} keys", keys.len()),
    };
    format!("{} ({keys})", host.provider)
}

/// Asks each of them, once with each of its keys, all at once.
pub(super) async fn ask(config: &Config, registry: &dyn Registry) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut asking = JoinSet::new();
    let spinner = turning("asking the providers");
    for host in hosts(registry) {
        let name = &host.provider;
        let Some((model, want)) = model(host) else {
            findings.push(Finding::warn(
                format!("provider {name}"),
                "was not asked: no cheap model of it is known",
                format!("name one as `providers.{name}.default_model`"),
            ));
            continue;
        };
        let found_in: Vec<Option<String>> = match config.keys_of(name).collect::<Vec<_>>()[..] {
            [] => vec![None],
            ref keys => keys.iter().map(|key| Some((*key).to_owned())).collect(),
        };
        for (position, key) in found_in.iter().enumerate() {
            let check = match found_in.len() {
                1 => format!("provider {name}"),
                _ => format!("provider {name}, key {}", position + 1),
            };
            let mut options = config.provider_options();
            if let Some(keys) = options.keys.get_mut(name) {
                let one = keys.drain(..).skip(position).take(1).collect();
                *keys = one;
            }
            let asked = Asked {
                check,
                provider: name.clone(),
                key: key.clone(),
                model: model.clone(),
                want,
            };
            match compose::alone_with(config, options).await {
                Ok((gateway, caller)) => {
                    let gateway = Arc::new(gateway);
                    asking.spawn(async move { asked.ask(&gateway, &caller).await });
                }
                Err(error) => {
                    let advice = "mend the configuration";
                    findings.push(Finding::fail(asked.check, format!("{error:#}"), advice));
                }
            }
        }
    }
    let mut answered: Vec<Finding> = asking.join_all().await;
    spinner.finish_and_clear();
    answered.sort_by(|one, other| one.check().cmp(other.check()));
    findings.extend(answered);
    findings
}

/// A cheap model of a host and what it is for.
fn model(host: &Host) -> Option<(ModelName, Want)> {
    let chat = host
        .default_model
        .as_deref()
        .map(|model| (model, Want::Chat));
    let vectors = host.default_embedding_model.as_deref();
    let vectors = vectors.map(|model| (model, Want::Vectors));
    let order = host
        .rerank_models
        .first()
        .map(|model| (*model, Want::Order));
    let (model, want) = chat.or(vectors).or(order)?;
    let name = ModelName::parse(&format!("{}/{model}", host.provider));
    name.ok().map(|name| (name, want))
}

impl Asked {
    async fn ask(self, gateway: &Gateway, caller: &Principal) -> Finding {
        let started = Instant::now();
        let answered = tokio::time::timeout(PATIENCE, self.request(gateway, caller)).await;
        gateway.close().await;
        match answered {
            Ok(Ok((tokens, cost))) => Finding::ok(
                self.check,
                format!(
                    "{} answered in {:.1} s: {tokens} tokens, {} USD",
                    self.model,
                    started.elapsed().as_secs_f64(),
                    decimal(cost.nanos(), NANO)
                ),
            ),
            Ok(Err(error)) => self.told(&error),
            Err(_) => Finding::fail(
                self.check,
                format!(
                    "{} did not answer within {} s",
                    self.model,
                    PATIENCE.as_secs()
                ),
                "ask again later; if others answer, look at its status page",
            ),
        }
    }

    async fn request(
        &self,
        gateway: &Gateway,
        caller: &Principal,
    ) -> Result<(u64, Usd), Box<Error>> {
        let model = || Some(ModelSpec::One(ModelChoice::plain(self.model.clone())));
        let (usage, cost) = match self.want {
            Want::Chat => {
                let options =
                    JsonObject::from_iter([("max_tokens".to_owned(), Json::of(&MAX_TOKENS))]);
                let call = ChatCall {
                    request: ChatRequest {
                        messages: vec![Message::text(Role::User, WORDS)],
                        ..ChatRequest::default()
                    },
                    model: model(),
                    fallbacks: Vec::new(),
                    options,
                    cache_ttl: Duration::ZERO,
                    parent_span_id: None,
                    tags: Tags::default(),
                    unread: None,
                };
                let result = Box::pin(gateway.calls.chat(caller, call)).await?;
                (result.usage, result.cost)
            }
            Want::Vectors => {
                let call = EmbeddingCall {
                    input: vec![WORDS.to_owned()],
                    model: model(),
                    fallbacks: Vec::new(),
                    options: JsonObject::new(),
                    parent_span_id: None,
                    tags: Tags::default(),
                };
                let embedded = Box::pin(gateway.embeddings.embed(caller, call)).await?;
                (embedded.usage, embedded.cost)
            }
            Want::Order => {
                let request = RerankRequest {
                    query: WORDS.to_owned(),
                    documents: vec![WORDS.to_owned()],
                    top_k: None,
                    max_chunks_per_doc: None,
                };
                let ranked = gateway.rerank.rerank(caller, request, self.model.clone());
                let ranked = Box::pin(ranked).await?;
                (ranked.usage, ranked.cost)
            }
        };
        Ok((usage.total_tokens(), cost.total()))
    }

    /// What a failure means, in plain words.
    fn told(self, error: &Error) -> Finding {
        let status = match &error.detail {
            Detail::Call(detail) => detail.upstream_status,
            _ => None,
        };
        let key = self
            .key
            .as_deref()
            .unwrap_or("`api_key_env` or `api_key_file`");
        let section = format!("providers.{}", self.provider);
        match (error.code, status) {
            (_, Some(status @ (401 | 403 | 407))) => Finding::fail(
                self.check,
                format!("wrong key: it is refused (status {status})"),
                format!("put a valid one into {key}"),
            ),
            (_, Some(402)) => Finding::fail(
                self.check,
                "the key is right, and its account has nothing left to pay with (status 402)",
                "charge the account",
            ),
            (_, Some(404)) => Finding::fail(
                self.check,
                format!("reached, and it does not know {} (status 404)", self.model),
                format!("look at `{section}.api_base`, and at `{section}.default_model`"),
            ),
            (Code::RateLimit, _) => Finding::warn(
                self.check,
                "the key is right, and its rate limit is used up (status 429)",
                "ask again later, or raise the limit at the provider",
            ),
            (Code::UpstreamTimeout, _) => Finding::fail(
                self.check,
                error.reason(),
                "ask again later; if others answer, look at its status page",
            ),
            (_, Some(status @ 500..)) => Finding::fail(
                self.check,
                format!(
                    "reached, and it fails (status {status}): {}",
                    error.reason()
                ),
                "ask again later, or look at its status page",
            ),
            (_, Some(status)) => Finding::warn(
                self.check,
                format!(
                    "reached, and it refuses {} (status {status}): {}",
                    self.model,
                    error.reason()
                ),
                format!("name another model as `{section}.default_model`"),
            ),
            (Code::BadRequest, None) => Finding::fail(
                self.check,
                format!("was not asked: {}", error.reason()),
                format!("mend `[{section}]`, or let the address through with `egress.allow`"),
            ),
            (_, None) => Finding::fail(
                self.check,
                format!("unreachable: {}", error.reason()),
                format!("look at the network, at DNS, and at `{section}.api_base`"),
            ),
        }
    }
}
