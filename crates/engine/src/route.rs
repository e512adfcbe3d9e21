//! Routing: from the models that a revision names to the targets that can be asked, in order.

mod names;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use domain::{
    CustomModel, ExtraHeaders, Json, JsonObject, ModelChoice, ModelKind, ModelName, ModelSpec,
    Price, ProjectScope, Secret,
    seams::{EgressPolicy, Host, Provider, Registry, Store, Target},
};
use indexmap::IndexMap;
use serde::Deserialize;

use self::names::Meant;
use crate::{
    error::{CallDetail, Code, Error},
    line::Line,
    options::Options,
    price,
    vault::Vault,
};

const DEFAULT_PROTOCOL: &str = "openai";

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
    /// What it costs, if that is known.
    pub(crate) price: Option<Price>,
    /// Scheme, host and port of its address; the provider's name, where it has none.
    origin: String,
}

impl Reachable {
    /// What is remembered of it is remembered by this.
    pub(crate) fn line(&self, scope: ProjectScope) -> Line {
        Line {
            project: scope.project(),
            origin: self.origin.clone(),
            model: self.target.model.clone(),
        }
    }
}

/// What a model is asked for.
#[derive(Clone, Copy)]
enum Purpose {
    Chat,
    Embedding,
}

impl Purpose {
    /// Clients that cannot send a type register every model as `llm`, so that one may turn out to embed
    /// (`interface.md` 6).
    const fn suits(self, kind: ModelKind) -> bool {
        match self {
            Self::Chat => matches!(kind, ModelKind::Llm),
            Self::Embedding => matches!(kind, ModelKind::Llm | ModelKind::Embedding),
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
    default_model: ModelSpec,
    request_timeout: Duration,
}

/// The members of a custom model's `extra` that mean something here (`interface.md` 5.4). A member of the wrong type
/// makes the model unusable, and the call says so.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Extra {
    api_base: Option<String>,
    api_version: Option<String>,
    region: Option<String>,
    timeout_seconds: Option<f64>,
    headers: Option<IndexMap<String, String>>,
    protocol: Option<String>,
    max_tokens: Option<Json>,
    input_cost_per_token: Option<f64>,
    output_cost_per_token: Option<f64>,
    cost_per_request: Option<f64>,
}

impl Routes {
    /// With the default model that the options name, else the first configured host's.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        vault: Arc<Vault>,
        registry: Arc<dyn Registry>,
        options: &Options,
    ) -> Self {
        let default_model = options
            .models
            .default
            .clone()
            .unwrap_or_else(|| first_default(&*registry));
        Self {
            store,
            vault,
            registry,
            default_model: ModelSpec::One(ModelChoice::plain(default_model)),
            request_timeout: options.request_timeout,
        }
    }

    /// The model that is asked when nobody is named.
    pub(crate) fn default_model(&self) -> &ModelName {
        &self.default_model.choices()[0].name
    }

    /// The route of a spec, or of the default model.
    ///
    /// # Errors
    /// `BadRequest` if no model of the spec can be asked.
    pub(crate) async fn resolve(
        &self,
        scope: ProjectScope,
        spec: Option<&ModelSpec>,
    ) -> Result<Route, Error> {
        let spec = spec.unwrap_or(&self.default_model);
        self.resolve_for(Purpose::Chat, scope, spec).await
    }

    /// The route of a spec whose models make vectors of texts.
    ///
    /// # Errors
    /// `BadRequest` if no model of the spec can be asked.
    pub(crate) async fn resolve_embedding(
        &self,
        scope: ProjectScope,
        spec: &ModelSpec,
    ) -> Result<Route, Error> {
        self.resolve_for(Purpose::Embedding, scope, spec).await
    }

    async fn resolve_for(
        &self,
        purpose: Purpose,
        scope: ProjectScope,
        spec: &ModelSpec,
    ) -> Result<Route, Error> {
        let meant = names::meant(&*self.store, scope, spec.choices()).await?;
        let route: Route = meant
            .into_iter()
            .map(|meant| Stop {
                leads_to: self.reach(purpose, &meant),
                name: meant.choice.name,
            })
            .collect();
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

    fn reach(&self, purpose: Purpose, meant: &Meant) -> Result<Reachable, String> {
        let Meant { choice, model } = meant;
        if let Some(model) = model {
            return self.custom(purpose, choice, model);
        }
        let Some((provider, upstream_name)) = choice.name.split() else {
            return Err(format!(
                "unknown model `{}`: no custom model or alias has this name",
                choice.name
            ));
        };
        self.configured(choice, &provider.to_lowercase(), upstream_name)
    }

    fn configured(
        &self,
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
            key: host.key.clone(),
            options: choice.options.clone(),
            extra_headers: choice.extra_headers.clone(),
            settings: host.settings.clone(),
            timeout: self.request_timeout,
        };
        let free = host.api_base.is_none();
        self.connected(target, &host.protocol, free.then(Price::default))
    }

    fn custom(
        &self,
        purpose: Purpose,
        choice: &ModelChoice,
        model: &CustomModel,
    ) -> Result<Reachable, String> {
        let fail = |why: &str| format!("the custom model `{}` cannot be used: {why}", model.name);
        if !purpose.suits(model.kind) {
            return Err(fail(&format!("its type is `{}`", model.kind.as_str())));
        }
        let mut reader = serde_json::Deserializer::from_str(model.extra.text());
        let extra: Extra = serde_path_to_error::deserialize(&mut reader)
            .map_err(|error| fail(&format!("`extra.{}` has the wrong type", error.path())))?;
        let key = model
            .sealed_key
            .as_ref()
            .map(|sealed| self.vault.open(model.project, model.id, sealed));
        let key = key
            .transpose()
            .map_err(|error| fail(&format!("its key is {error}")))?;
        let provider = model.provider.to_lowercase();
        let host = self.registry.host(&provider);
        let address = address(&extra, host, key).map_err(|why| fail(&why))?;
        let protocol = extra
            .protocol
            .clone()
            .or_else(|| host.map(|host| host.protocol.clone()));
        let target = Target {
            name: choice.name.clone(),
            provider,
            model: model
                .identifier
                .split()
                .map_or("", |(_, name)| name)
                .to_owned(),
            api_base: address.api_base,
            egress: address.egress,
            key: address.key,
            options: options(&extra, &choice.options),
            extra_headers: headers(&extra, &choice.extra_headers).map_err(|why| fail(&why))?,
            settings: settings(&extra, host),
            timeout: timeout(&extra, self.request_timeout),
        };
        let price = price_of(&extra).or_else(|| target.api_base.is_none().then(Price::default));
        self.connected(
            target,
            protocol.as_deref().unwrap_or(DEFAULT_PROTOCOL),
            price,
        )
    }

    fn connected(
        &self,
        target: Target,
        protocol: &str,
        price: Option<Price>,
    ) -> Result<Reachable, String> {
        let provider = self.registry.protocol(protocol);
        let provider =
            provider.ok_or_else(|| format!("`{}`: unknown protocol `{protocol}`", target.name))?;
        let address = target.api_base.as_deref();
        let origin = address.and_then(|address| self.registry.origin(address));
        Ok(Reachable {
            origin: origin.unwrap_or_else(|| target.provider.clone()),
            target,
            provider,
            price,
        })
    }
}

struct Address {
    api_base: Option<String>,
    egress: EgressPolicy,
    key: Option<Secret>,
}

/// A tenant's address gets the tenant's key alone; the operator's key goes to the provider's own address alone
/// (`reliability.md` 7).
fn address(extra: &Extra, host: Option<&Host>, key: Option<Secret>) -> Result<Address, String> {
    if let Some(api_base) = &extra.api_base {
        return Ok(Address {
            api_base: Some(api_base.clone()),
            egress: EgressPolicy::Tenant,
            key,
        });
    }
    let Some(host) = host else {
        return Err("its provider has no address of its own: set `extra.api_base`".to_owned());
    };
    let key = key.or_else(|| host.key.clone());
    Ok(Address {
        api_base: host.api_base.clone(),
        egress: EgressPolicy::Operator,
        key,
    })
}

fn first_default(registry: &dyn Registry) -> ModelName {
    let default = registry.configured().into_iter().find_map(|host| {
        let model = host.default_model.as_ref()?;
        ModelName::parse(&format!("{}/{model}", host.provider)).ok()
    });
    default.expect("the registry holds a built-in provider with a default model")
}

/// The call's options over the model's own `max_tokens`.
fn options(extra: &Extra, given: &JsonObject) -> JsonObject {
    let mut options = JsonObject::new();
    options.extend(
        extra
            .max_tokens
            .clone()
            .map(|limit| ("max_tokens".to_owned(), limit)),
    );
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

fn settings(extra: &Extra, host: Option<&Host>) -> BTreeMap<String, String> {
    let mut settings = host.map(|host| host.settings.clone()).unwrap_or_default();
    let given = [
        ("api_version", &extra.api_version),
        ("region", &extra.region),
    ];
    settings.extend(
        given
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value.clone()?))),
    );
    settings
}

fn timeout(extra: &Extra, default: Duration) -> Duration {
    let given = extra.timeout_seconds.filter(|seconds| *seconds > 0.0);
    given
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .unwrap_or(default)
}

fn price_of(extra: &Extra) -> Option<Price> {
    let given = [
        extra.input_cost_per_token,
        extra.output_cost_per_token,
        extra.cost_per_request,
    ];
    given.iter().any(Option::is_some).then(|| {
        let [input, output, request] = given.map(|usd| usd.and_then(price::picos).unwrap_or(0));
        Price {
            input,
            output,
            request,
        }
    })
}
