//! Routing: from the models that a revision names to the targets that can be asked, in order.

mod destination;
mod extra;
mod lent;
mod names;
mod places;

use std::{borrow::Cow, collections::BTreeMap, sync::Arc, time::Duration};

use domain::{
    ChatRequest, CustomModel, Delta, Deltas, ExtraHeaders, Generation, Json, JsonObject,
    ModelChoice, ModelKind, ModelName, ModelSpec, Price, ProjectScope, Secret, TokenPrice,
    UsageReport,
    seams::{
        EgressPolicy, Host, Key, KeyRefusals, Provider, ProviderError, Registry, Store, Target,
        Wanted,
    },
};
use futures_util::stream;

pub(crate) use self::destination::{Destination, is_credentials};

use self::{extra::Extra, names::Meant};
use crate::{
    error::{CallDetail, Code, Error},
    line::Line,
    options::Options,
    price::{Asked, Name, PriceBook, Quote, UsdNumber, has_fees, is_other_offer},
    projects::{Allowed, Projects},
    tokens::Sent,
    vault::Vault,
};

const DEFAULT_PROTOCOL: &str = "openai";
/// The setting that says where a model is asked, of providers that have several places.
const REGION: &str = "region";
/// The option for the length of vectors.
pub(crate) const DIMENSIONS: &str = "dimensions";
/// The setting that says where tokens are asked for with a key.
const TOKEN_URL: &str = "token_url";

/// One model that can be asked, or the reason why it cannot.
pub(crate) struct Stop {
    /// The name that it was asked for under.
    pub(crate) name: ModelName,
    /// Where the way leads, if anywhere.
    pub(crate) leads_to: Result<Reachable, String>,
}

/// A target with the dialect that speaks to it and its price.
pub(crate) struct Reachable {
    /// Whom to ask.
    pub(crate) target: Target,
    /// How to ask.
    pub(crate) provider: Arc<dyn Provider>,
    /// What it is asked for.
    pub(crate) kind: ModelKind,
    /// What it costs, as far as that is known.
    pub(crate) quote: Option<Quote>,
    /// Scheme, host and port of its address; the provider's name, where it has none.
    origin: String,
    /// Whose keys are used ([`Line::account`]).
    account: String,
}

impl Reachable {
    /// Asks for an answer as a whole. A model that makes images makes one of the conversation's words.
    pub(crate) async fn chat(&self, chat: &ChatRequest) -> Result<Generation, ProviderError> {
        if !self.makes_images() {
            return self.provider.chat(&self.target, chat).await;
        }
        let request = chat.to_draw();
        let made = self
            .provider
            .generate_images(&self.target, &request)
            .await?;
        // Where no token has a price, nothing is missing without a count of them.
        let nothing = || self.is_free_of_tokens().then(UsageReport::default);
        let mut usage = made.usage.or_else(nothing);
        if let Some(report) = &mut usage {
            report.usage.images = made.images.len() as u64;
        }
        Ok(Generation {
            images: made.images,
            usage,
            ..Generation::default()
        })
    }

    /// Asks for an answer as it comes; images come when all are made.
    pub(crate) async fn chat_stream(&self, chat: &ChatRequest) -> Result<Deltas, ProviderError> {
        if !self.makes_images() {
            return self.provider.chat_stream(&self.target, chat).await;
        }
        let made = self.chat(chat).await?;
        let images = made.images.into_iter().map(Delta::Image);
        let end = Delta::End {
            finish_reason: made.finish_reason,
            usage: made.usage,
        };
        Ok(Box::pin(stream::iter(images.chain([end]).map(Ok))))
    }

    /// Whether it is known to be billed by other units than tokens, or not at all.
    fn is_free_of_tokens(&self) -> bool {
        let price = self.quote.as_ref().and_then(|quote| quote.price);
        price.is_some_and(|price| price.tokens == TokenPrice::default() && price.above.is_none())
    }

    /// Whether it answers with images alone.
    pub(crate) fn makes_images(&self) -> bool {
        self.kind == ModelKind::Image
    }

    /// What of its options and headers its dialect has no place for when it is asked for that, a sentence each.
    pub(crate) fn warnings(&self, sent: &Sent) -> Vec<String> {
        let wanted = match sent {
            Sent::Chat(_) if self.makes_images() => Wanted::Image,
            Sent::Chat(chat) => Wanted::Chat(chat),
            Sent::Embedding(_) => Wanted::Embedding,
            Sent::Rerank(request) => Wanted::Rerank(request),
            Sent::Document => return Vec::new(),
        };
        self.provider.warnings(&self.target, wanted)
    }

    /// The same of whatever it is asked for.
    fn left_out(&self) -> Vec<String> {
        let plain = ChatRequest::default();
        let wanted = match self.kind {
            ModelKind::Llm => Wanted::Chat(&plain),
            ModelKind::Embedding => Wanted::Embedding,
            ModelKind::Image => Wanted::Image,
        };
        self.provider.warnings(&self.target, wanted)
    }

    /// What is remembered of it is remembered by this.
    pub(crate) fn line(&self, scope: ProjectScope) -> Line {
        Line {
            project: scope.project(),
            origin: self.origin.clone(),
            account: self.account.clone(),
            model: self.target.model.clone(),
        }
    }
}

/// What a model is asked for.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// A function's answer, which may be an image.
    Call,
    /// To go on with a conversation.
    Chat,
    /// Vectors of texts.
    Embedding,
    /// The order of texts. Whatever it was registered for: there is no type for this (`interface.md` 5.4).
    Rerank,
    /// What stands in a document, likewise.
    Ocr,
}

impl Purpose {
    /// Clients that cannot send a type register every model as `llm`, so that one may turn out to embed
    /// (`interface.md` 6).
    const fn suits(self, kind: ModelKind) -> bool {
        match self {
            Self::Call => matches!(kind, ModelKind::Llm | ModelKind::Image),
            Self::Chat => matches!(kind, ModelKind::Llm),
            Self::Embedding => matches!(kind, ModelKind::Llm | ModelKind::Embedding),
            Self::Rerank | Self::Ocr => true,
        }
    }
}

/// The stops of a call in order.
pub(crate) type Route = Vec<Stop>;

/// Finds routes.
pub(crate) struct Routes {
    store: Arc<dyn Store>,
    vault: Arc<Vault>,
    registry: Arc<dyn Registry>,
    projects: Arc<Projects>,
    prices: Arc<PriceBook>,
    default_model: ModelSpec,
    default_embedding: ModelName,
    request_timeout: Duration,
    document_timeout: Duration,
}

impl Routes {
    /// With the default models that the options name, else the first configured host's that has one.
    pub(crate) fn new(
        (store, projects): (Arc<dyn Store>, Arc<Projects>),
        vault: Arc<Vault>,
        (registry, prices): (Arc<dyn Registry>, Arc<PriceBook>),
        options: &Options,
    ) -> Self {
        let default_model = options
            .models
            .default
            .clone()
            .unwrap_or_else(|| first_default(&*registry, |host| host.default_model.as_deref()));
        let default_embedding = options.models.default_embedding.clone().unwrap_or_else(|| {
            first_default(&*registry, |host| host.default_embedding_model.as_deref())
        });
        Self {
            store,
            vault,
            registry,
            projects,
            prices,
            default_model: ModelSpec::One(ModelChoice::plain(default_model)),
            default_embedding,
            request_timeout: options.request_timeout,
            document_timeout: options.document_timeout,
        }
    }

    /// The model that is asked when nobody is named.
    pub(crate) fn default_model(&self) -> &ModelName {
        &self.default_model.choices()[0].name
    }

    /// The model that is asked when nobody is named, as a spec.
    pub(crate) const fn default_spec(&self) -> &ModelSpec {
        &self.default_model
    }

    /// The model that embeds when nobody is named.
    pub(crate) const fn default_embedding(&self) -> &ModelName {
        &self.default_embedding
    }

    /// Whether a target is the model that embeds when nobody is named. What a project registered under its name may be
    /// another one, and what has another name the same.
    pub(crate) fn is_default_embedding(&self, target: &Target) -> bool {
        let name = &self.default_embedding;
        let Some((provider, model)) = name.split() else {
            return false;
        };
        let plain = ModelChoice::plain(name.clone());
        let default = self.configured(Purpose::Embedding, &plain, &provider.to_lowercase(), model);
        let what = |target: &Target| {
            let Target {
                provider,
                model,
                api_base,
                settings,
                ..
            } = target.clone();
            (provider, model, api_base, settings)
        };
        default.is_ok_and(|default| what(&default.target) == what(target))
    }

    /// The hosts whose models can be asked without a registration.
    pub(crate) fn configured_hosts(&self) -> Vec<&Host> {
        self.registry.configured()
    }

    /// The configured models that a project may use; `None` if it may use all.
    pub(crate) async fn allowed(&self, scope: ProjectScope) -> Result<Option<Arc<Allowed>>, Error> {
        Ok(self.projects.allowed_to(scope.project()).await?)
    }

    /// What a configured model costs and where it is, as far as that is known.
    pub(crate) fn offered(&self, provider: &str, model: &str) -> (Option<Price>, Option<String>) {
        let name = ModelName::parse(&format!("{provider}/{model}"));
        let reachable = name
            .map(|name| self.configured(Purpose::Chat, &ModelChoice::plain(name), provider, model));
        reachable.map_or_else(|_| (None, None), offered)
    }

    /// What a custom model costs and where it is, as far as that is known.
    pub(crate) fn offered_custom(&self, model: &CustomModel) -> (Option<Price>, Option<String>) {
        let purpose = purpose_of(model.kind);
        let choice = ModelChoice::plain(model.identifier.clone());
        offered(self.custom(purpose, &choice, model, None))
    }

    /// What stands against using a custom model, or else what of its registration is left out of every call; as far as
    /// that can be told without asking it.
    pub(crate) async fn warnings_of(
        &self,
        scope: ProjectScope,
        model: &CustomModel,
    ) -> Result<Vec<String>, Error> {
        let allowed = self.allowed(scope).await?;
        let choice = ModelChoice::plain(model.identifier.clone());
        let purpose = purpose_of(model.kind);
        let reachable = match self.custom(purpose, &choice, model, allowed.as_deref()) {
            Ok(reachable) => reachable,
            Err(reason) => return Ok(vec![reason]),
        };
        if let Err(error) = reachable.provider.check(&reachable.target) {
            return Ok(vec![error.reason]);
        }
        Ok(reachable.left_out())
    }

    /// The route of a spec whose models are asked for this.
    ///
    /// # Errors
    /// `BadRequest` if no model of the spec can be asked.
    pub(crate) async fn resolve(
        &self,
        purpose: Purpose,
        scope: ProjectScope,
        spec: &ModelSpec,
    ) -> Result<Route, Error> {
        let meant = names::meant(&*self.store, scope, spec.choices()).await?;
        let allowed = self.allowed(scope).await?;
        let route: Route = meant
            .into_iter()
            .map(|meant| Stop {
                leads_to: self.reach(purpose, &meant, allowed.as_deref()),
                name: meant.choice.name,
            })
            .collect();
        leading_somewhere(route)
    }

    /// Where a name leads that is asked for this, if it can be asked for.
    pub(crate) async fn lookup(
        &self,
        purpose: Purpose,
        scope: ProjectScope,
        name: &str,
    ) -> Result<Option<Reachable>, Error> {
        let Ok(name) = ModelName::parse(name) else {
            return Ok(None);
        };
        let spec = ModelSpec::One(ModelChoice::plain(name));
        match self.resolve(purpose, scope, &spec).await {
            Ok(route) => Ok(route.into_iter().find_map(|stop| stop.leads_to.ok())),
            Err(error) if error.code == Code::BadRequest => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn reach(
        &self,
        purpose: Purpose,
        meant: &Meant,
        allowed: Option<&Allowed>,
    ) -> Result<Reachable, String> {
        let Meant { choice, model } = meant;
        if let Some(model) = model {
            return self.custom(purpose, choice, model, allowed);
        }
        let Some((provider, upstream_name)) = choice.name.split() else {
            return Err(format!(
                "unknown model `{}`: no custom model or alias has this name",
                choice.name
            ));
        };
        let provider = provider.to_lowercase();
        let reachable = self.configured(purpose, choice, &provider, upstream_name)?;
        allowed.map_or(Ok(()), |models| models.check(&provider, upstream_name))?;
        Ok(reachable)
    }

    /// How long one request may take, if the model says nothing of it. A long document takes longer than any answer.
    const fn timeout(&self, purpose: Purpose) -> Duration {
        match purpose {
            Purpose::Ocr => self.document_timeout,
            _ => self.request_timeout,
        }
    }

    fn configured(
        &self,
        purpose: Purpose,
        choice: &ModelChoice,
        provider: &str,
        model: &str,
    ) -> Result<Reachable, String> {
        let host = self.registry.host(provider).filter(|host| host.configured).ok_or_else(|| {
            format!(
                "unknown model `{}`: no custom model or alias has this name or identifier, and the provider \
                 `{provider}` is not configured on this server",
                choice.name
            )
        })?;
        let target = Target {
            name: choice.name.clone(),
            provider: provider.to_owned(),
            model: model.to_owned(),
            api_base: host.api_base.clone(),
            egress: EgressPolicy::Operator,
            key: first(&host.keys),
            keys: host.keys.clone(),
            options: choice.options.clone(),
            extra_headers: choice.extra_headers.clone(),
            settings: host.settings.clone(),
            timeout: self.timeout(purpose),
            key_refusals: KeyRefusals::default(),
        };
        self.connected(target, &host.protocol, (ModelKind::Llm, None))
    }

    fn custom(
        &self,
        purpose: Purpose,
        choice: &ModelChoice,
        model: &CustomModel,
        allowed: Option<&Allowed>,
    ) -> Result<Reachable, String> {
        let fail = |why: &str| format!("the custom model `{}` cannot be used: {why}", model.name);
        if !purpose.suits(model.kind) {
            return Err(fail(&format!("its type is `{}`", model.kind.as_str())));
        }
        let extra = Extra::read(&model.extra).map_err(|why| fail(&why))?;
        let key = model
            .sealed_key
            .as_ref()
            .map(|sealed| self.vault.open(model.project, model.id, sealed));
        let key = key
            .transpose()
            .map_err(|error| fail(&format!("its key is {error}")))?;
        let provider = model.provider.to_lowercase();
        let host = self.registry.host(&provider).map(|host| {
            if key.is_some() {
                places::of_owner(&extra, host)
            } else {
                Cow::Borrowed(host)
            }
        });
        let host = host.as_deref();
        let is_own = key.is_some() || extra.api_base.is_some();
        let account = key.is_some().then(|| model.id.to_string());
        // A key says nothing where the operator's own host asks for none.
        let is_the_operators = |host: &Host| host.configured && host.keys.is_empty();
        let is_listed = match host {
            Some(host) if extra.api_base.is_none() => key.is_none() || is_the_operators(host),
            _ => false,
        };
        let address = address(&extra, host, key).map_err(|why| fail(&why))?;
        let upstream_name = model.identifier.split().map_or("", |(_, name)| name);
        // With the operator's key it is the operator's model under another name.
        if let Some(models) = allowed.filter(|_| is_listed) {
            models.check(&provider, upstream_name)?;
        }
        // Whatever is built in here speaks to no address.
        let speaks = |host: &&Host| host.api_base.is_some() || address.api_base.is_none();
        let implied = host.filter(speaks).map(|host| host.protocol.as_str());
        let protocol = extra.protocol.as_deref().or(implied);
        let protocol = protocol.unwrap_or(DEFAULT_PROTOCOL);
        if !is_own {
            lent::check(&extra, host, protocol).map_err(|why| fail(&why))?;
        }
        places::check(&extra, host, protocol).map_err(|why| fail(&why))?;
        let target = Target {
            name: choice.name.clone(),
            provider,
            model: upstream_name.to_owned(),
            api_base: address.api_base,
            egress: address.egress,
            key: first(&address.keys),
            keys: address.keys,
            options: options(purpose, &extra, &choice.options),
            extra_headers: headers(&extra, &choice.extra_headers).map_err(|why| fail(&why))?,
            settings: settings(&extra, host, is_own),
            timeout: extra.timeout().unwrap_or_else(|| self.timeout(purpose)),
            key_refusals: KeyRefusals::default(),
        };
        let reachable = self.connected(target, protocol, (model.kind, price_of(&extra)));
        let reachable = reachable.map_err(|why| fail(&why))?;
        Ok(Reachable {
            account: account.unwrap_or(reachable.account),
            ..reachable
        })
    }

    fn connected(
        &self,
        mut target: Target,
        protocol: &str,
        (kind, own_price): (ModelKind, Option<Price>),
    ) -> Result<Reachable, String> {
        let provider = self.registry.protocol(protocol);
        let provider =
            provider.ok_or_else(|| format!("`{}`: unknown protocol `{protocol}`", target.name))?;
        let filled = target
            .api_base
            .as_deref()
            .map(|address| filled(address, &target.provider, &target.settings));
        target.api_base = filled.transpose()?;
        let address = target.api_base.as_deref();
        let origin = address.and_then(|address| self.registry.origin(address));
        let quote = own_price.map_or_else(|| self.quote(&target), |price| Quote::of_model(&price));
        Ok(Reachable {
            origin: origin.unwrap_or_else(|| target.provider.clone()),
            account: target.provider.clone(),
            target,
            provider,
            kind,
            quote: Some(quote),
        })
    }

    /// What a target costs of which its registration says nothing. At another address than the provider's own the book
    /// does not hold, and at one that a tenant gave nothing is known.
    fn quote(&self, target: &Target) -> Quote {
        let Some(address) = &target.api_base else {
            return Quote::built_in();
        };
        let home = self.registry.home(&target.provider, address);
        if home.is_none() && target.egress == EgressPolicy::Tenant {
            return Quote::of_stranger();
        }
        let places = home.as_ref().and_then(|places| places.get(REGION));
        let region = places.or_else(|| target.settings.get(REGION));
        let name = Name {
            provider: &target.provider,
            model: &target.model,
            region: region.map(String::as_str),
        };
        let quote = self.prices.quote(Asked {
            name,
            not_by_book: home.is_none() || is_other_offer(&target.provider, &target.options),
        });
        if has_fees(&target.provider, &target.options) {
            quote.with_fees()
        } else {
            quote
        }
    }
}

/// A route on which anybody can be asked.
///
/// # Errors
/// `BadRequest` with the reasons why nobody can.
pub(crate) fn leading_somewhere(route: Route) -> Result<Route, Error> {
    if route.iter().any(|stop| stop.leads_to.is_ok()) {
        return Ok(route);
    }
    let reasons: Vec<&str> = route
        .iter()
        .filter_map(|stop| stop.leads_to.as_ref().err().map(String::as_str))
        .collect();
    Err(Error::call(
        Code::BadRequest,
        CallDetail::because(reasons.join("; ")),
    ))
}

const fn purpose_of(kind: ModelKind) -> Purpose {
    match kind {
        ModelKind::Llm | ModelKind::Image => Purpose::Call,
        ModelKind::Embedding => Purpose::Embedding,
    }
}

fn offered(reachable: Result<Reachable, String>) -> (Option<Price>, Option<String>) {
    let Ok(Reachable { target, quote, .. }) = reachable else {
        return (None, None);
    };
    let mut settings = target.settings;
    (quote.and_then(|quote| quote.price), settings.remove(REGION))
}

struct Address {
    api_base: Option<String>,
    egress: EgressPolicy,
    keys: Arc<[Key]>,
}

/// A tenant's address gets the tenant's key alone; the operator's key goes to the provider's own address alone
/// (`reliability.md` 7).
fn address(extra: &Extra, host: Option<&Host>, key: Option<Secret>) -> Result<Address, String> {
    let own = key.map(|secret| Key { secret, weight: 1 });
    if let Some(api_base) = &extra.api_base {
        return Ok(Address {
            api_base: Some(api_base.clone()),
            egress: EgressPolicy::Tenant,
            keys: own.into_iter().collect(),
        });
    }
    let Some(host) = host else {
        return Err("its provider has no address of its own: set `extra.api_base`".to_owned());
    };
    let keys = own.map_or_else(|| host.keys.clone(), |own| Arc::from([own]));
    // Servers on this machine have addresses of their own too: the operator says whether they are for tenants.
    let egress = if host.configured {
        EgressPolicy::Operator
    } else {
        EgressPolicy::Tenant
    };
    Ok(Address {
        api_base: host.api_base.clone(),
        egress,
        keys,
    })
}

fn first(keys: &[Key]) -> Option<Secret> {
    keys.first().map(|key| key.secret.clone())
}

fn first_default(registry: &dyn Registry, model: fn(&Host) -> Option<&str>) -> ModelName {
    let default = registry.configured().into_iter().find_map(|host| {
        let model = model(host)?;
        ModelName::parse(&format!("{}/{model}", host.provider)).ok()
    });
    default.expect("the registry holds a built-in provider with default models")
}

/// The call's options over those that the model's registration has for the purpose.
fn options(purpose: Purpose, extra: &Extra, given: &JsonObject) -> JsonObject {
    let own = match purpose {
        Purpose::Call | Purpose::Chat => extra
            .max_tokens
            .map(|limit| ("max_tokens".to_owned(), Json::of(&limit))),
        Purpose::Embedding => extra
            .dimensions
            .map(|length| (DIMENSIONS.to_owned(), Json::of(&length))),
        Purpose::Rerank | Purpose::Ocr => None,
    };
    let mut options: JsonObject = own.into_iter().collect();
    options.extend(given.clone());
    options
}

fn headers(extra: &Extra, given: &ExtraHeaders) -> Result<ExtraHeaders, String> {
    let mut headers = extra.headers.clone().unwrap_or_default();
    headers.extend(
        given
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    ExtraHeaders::parse(headers).map_err(|invalid| invalid.message)
}

/// The model's own settings over its host's; at an address that a tenant gave, which could tell them, its own alone. With
/// the operator's key, no setting but the region may lead it to another address than the operator's (`reliability.md` 7).
fn settings(extra: &Extra, host: Option<&Host>, is_own: bool) -> BTreeMap<String, String> {
    let template = host.and_then(|host| host.api_base.as_deref());
    let leads_elsewhere =
        |name: &str| name != REGION && template.is_some_and(|it| places::is_in(it, name));
    // It is dialled as freely as the model's address: a tenant's word for it needs a tenant's address.
    let may_say = |name: &str| match name {
        TOKEN_URL => extra.api_base.is_some(),
        name => is_own || !leads_elsewhere(name),
    };
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Number(_) | serde_json::Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    let given = extra.settings.iter();
    let given = given.filter(|(name, _)| may_say(name));
    let of_host = host.filter(|_| extra.api_base.is_none());
    let mut settings = of_host
        .map(|host| host.settings.clone())
        .unwrap_or_default();
    settings.extend(given.filter_map(|(name, value)| Some((name.clone(), text(value)?))));
    settings
}

/// The address with the settings in the places that it has for them.
fn filled(
    address: &str,
    provider: &str,
    settings: &BTreeMap<String, String>,
) -> Result<String, String> {
    let (mut filled, mut rest) = (String::new(), address);
    while let Some((before, place)) = rest.split_once('{') {
        let (name, after) = place.split_once('}').unwrap_or((place, ""));
        let value = settings.get(name).ok_or_else(|| {
            format!("`{name}` is missing: set `providers.{provider}.{name}`, or `extra.{name}` of a custom model")
        })?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if value.is_empty() || !value.bytes().all(is_plain) {
            return Err(format!(
                "`{name}` is `{value}`, which has signs other than letters, digits, `-` and `_`"
            ));
        }
        filled.push_str(before);
        filled.push_str(value);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// What the registration of a model says of its price: all of it, so that what it does not name costs nothing.
fn price_of(extra: &Extra) -> Option<Price> {
    let given = [
        extra.input_cost_per_token,
        extra.output_cost_per_token,
        extra.cost_per_request,
        extra.cost_per_image,
        extra.cost_per_page,
    ];
    let given = given.map(|usd| usd.and_then(|UsdNumber(picos)| picos));
    given.iter().any(Option::is_some).then(|| {
        let [input, output, request, image, page] = given.map(Option::unwrap_or_default);
        let tokens = TokenPrice {
            input,
            output,
            ..TokenPrice::default()
        };
        Price {
            tokens,
            request,
            image,
            page,
            ..Price::default()
        }
    })
}
