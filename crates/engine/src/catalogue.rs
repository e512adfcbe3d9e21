//! The catalogue: what a project's callers can ask for, by name and with prices.
//!
//! What is listed of the configured hosts is decided here alone, for every list: the models that are known of them, of those
//! that the project may use.

use std::{
    borrow::Cow,
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use domain::{
    CustomModel, ModelName, Named, Page, Paged, Price, Principal, ProjectScope, Timestamp,
    seams::{Host, Registry, Store, StoreError},
};
use serde_json::Value;

use crate::{
    error::Error, options::ModelsOptions, price::PriceBook, projects::Allowed, route::Routes,
};

/// Where a custom model is that does not say.
const CUSTOM: &str = "custom";
/// Where a host is that has no regions.
const GLOBAL: &str = "global";
const PAGE: u32 = 100;
/// So many items nobody looks through.
const MOST: u32 = 10_000;

/// The service of names.
pub struct Catalogue {
    store: Arc<dyn Store>,
    routes: Arc<Routes>,
    registry: Arc<dyn Registry>,
    prices: Arc<PriceBook>,
    defaults: Vec<ModelName>,
    /// The names of the configured hosts' models, in order. Most of them lie in the price book.
    configured: OnceLock<Vec<Cow<'static, str>>>,
}

/// A name that can be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueItem {
    /// The name.
    pub name: String,
    /// Whose model it is; of an alias, that it is one.
    pub owner: String,
    /// When the project made it; the providers' own are not its.
    pub created: Option<Timestamp>,
}

/// A model that can be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Who hosts it.
    pub provider: String,
    /// What it is asked for by.
    pub name: String,
    /// Where it is.
    pub location: String,
    /// Pico-USD per token sent; `None` if that is not known, or it is not billed by tokens.
    pub input: Option<i64>,
    /// Pico-USD per token received.
    pub output: Option<i64>,
}

impl Catalogue {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        (routes, registry): (Arc<Routes>, Arc<dyn Registry>),
        prices: Arc<PriceBook>,
        options: &ModelsOptions,
    ) -> Self {
        let defaults = [&options.default, &options.default_embedding];
        Self {
            store,
            routes,
            registry,
            prices,
            defaults: defaults.into_iter().flatten().cloned().collect(),
            configured: OnceLock::new(),
        }
    }

    /// The project's custom models by name, then the configured hosts' models by name: those that are known, of hosts
    /// that have any others too.
    ///
    /// # Errors
    /// `ServiceUnavailable`.
    pub async fn offers(&self, caller: &Principal, page: Page) -> Result<Paged<Offer>, Error> {
        let scope = caller.scope();
        let custom = self.store.models(scope, page).await?;
        let configured = self.configured(scope).await?;
        let skipped = u64::from(page.offset).saturating_sub(custom.total);
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let room = usize::try_from(page.limit).unwrap_or(usize::MAX) - custom.items.len();
        let shown = configured.iter().skip(skipped).take(room);
        let shown = shown.filter_map(|name| self.offer_of_configured(name));
        let items = custom.items.iter().map(|model| self.offer_of_custom(model));
        let items = items.chain(shown).collect();
        Ok(Paged {
            items,
            total: custom.total + u64::try_from(configured.len()).unwrap_or(u64::MAX),
        })
    }

    /// The custom models by name, then the aliases by name, then the configured hosts' models by name. Names that are
    /// taken twice stand there once: they mean what stands first.
    ///
    /// # Errors
    /// `ServiceUnavailable`.
    pub async fn names(&self, caller: &Principal) -> Result<Vec<CatalogueItem>, Error> {
        let scope = caller.scope();
        let mut items = Vec::new();
        let add = |model: CustomModel| items.push(model.into());
        each_custom(&*self.store, scope, add).await?;
        let aliases = |page| self.store.aliases(scope, page);
        each(aliases, |alias| items.push(alias.into())).await?;
        let configured = self.configured(scope).await?;
        items.extend(configured.into_iter().filter_map(|name| {
            let (provider, _) = name.split_once('/')?;
            Some(CatalogueItem::of_host(name, provider))
        }));
        let mut seen = HashSet::new();
        items.retain(|item| seen.insert(item.name.clone()));
        Ok(items)
    }

    /// What a name means: also a model that a configured provider may have, though it is not in the list.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn find(&self, caller: &Principal, name: &str) -> Result<CatalogueItem, Error> {
        let missing = || Error::not_found("Model");
        let scope = caller.scope();
        let parsed = ModelName::parse(name).map_err(|_| missing())?;
        let item = match self.store.named(scope, &parsed).await? {
            Some(Named::Model(model)) => CatalogueItem::from(model),
            Some(Named::Alias(alias)) => CatalogueItem::from(alias),
            None => {
                let (provider, model) = parsed.split().ok_or_else(missing)?;
                let host = self.registry.host(&provider.to_lowercase());
                let host = host.filter(|host| host.configured).ok_or_else(missing)?;
                let allowed = self.routes.allowed(scope).await?;
                if allowed.is_some_and(|models| models.check(&host.provider, model).is_err()) {
                    return Err(missing());
                }
                CatalogueItem::of_host(name, &host.provider)
            }
        };
        Ok(CatalogueItem {
            name: name.to_owned(),
            ..item
        })
    }

    /// The configured hosts' models that the project may use, by name.
    async fn configured(&self, scope: ProjectScope) -> Result<Vec<&str>, Error> {
        let allowed = self.routes.allowed(scope).await?;
        let may_use = |name: &&str| {
            let allowed = allowed.as_deref();
            allowed.is_none_or(|models| is_allowed(models, name))
        };
        let known = self.known().iter().map(|name| &**name);
        Ok(known.filter(may_use).collect())
    }

    fn known(&self) -> &[Cow<'static, str>] {
        self.configured.get_or_init(|| {
            let hosts = self.registry.configured();
            let mut names: Vec<Cow<'static, str>> = Vec::new();
            for host in hosts {
                self.add(host, &mut names);
            }
            names.sort_unstable();
            names.dedup();
            names.shrink_to_fit();
            names
        })
    }

    fn add(&self, host: &Host, names: &mut Vec<Cow<'static, str>>) {
        let provider = format!("{}/", host.provider);
        let is_home = |address: &String| self.registry.home(&host.provider, address).is_some();
        // Nobody knows which models there are at another address.
        if host.api_base.as_ref().is_none_or(is_home) {
            let rows = PriceBook::rows(&provider).filter(|row| row.region.is_none());
            names.extend(rows.map(|row| Cow::Borrowed(row.name)));
        }
        let default = host.default_model.iter();
        names.extend(default.map(|model| Cow::Owned(format!("{provider}{model}"))));
        let own = self.prices.own().names();
        let defaults = self.defaults.iter().map(ModelName::as_str);
        let mine = own
            .chain(defaults)
            .filter(|name| name.starts_with(&provider));
        names.extend(mine.map(|name| Cow::Owned(name.to_owned())));
    }

    fn offer_of_custom(&self, model: &CustomModel) -> Offer {
        let (price, _) = self.routes.offered_custom(model);
        let location = place_of_custom(model);
        offer(&model.provider, &model.name, location, price.as_ref())
    }

    fn offer_of_configured(&self, name: &str) -> Option<Offer> {
        let (provider, model) = name.split_once('/')?;
        let (price, region) = self.routes.offered(provider, model);
        Some(offer(provider, name, place_of_host(region), price.as_ref()))
    }
}

impl CatalogueItem {
    fn of_host(name: &str, provider: &str) -> Self {
        Self {
            name: name.to_owned(),
            owner: provider.to_owned(),
            created: None,
        }
    }
}

/// Goes through a project's custom models by name.
pub(crate) async fn each_custom(
    store: &dyn Store,
    scope: ProjectScope,
    take: impl FnMut(CustomModel),
) -> Result<(), Error> {
    each(|page| store.models(scope, page), take).await
}

/// Where a custom model is, in the words of the lists.
pub(crate) fn place_of_custom(model: &CustomModel) -> String {
    match &model.extra.to_value()["region"] {
        Value::String(region) => region.clone(),
        Value::Number(region) => region.to_string(),
        _ => CUSTOM.to_owned(),
    }
}

/// Where a configured host is, in the words of the lists.
pub(crate) fn place_of_host(region: Option<String>) -> String {
    region.unwrap_or_else(|| GLOBAL.to_owned())
}

async fn each<T, F>(page: impl Fn(Page) -> F, take: impl FnMut(T)) -> Result<(), Error>
where
    F: Future<Output = Result<Paged<T>, StoreError>>,
{
    let mut take = take;
    for offset in (0..MOST).step_by(PAGE as usize) {
        let limit = PAGE;
        let items = page(Page { offset, limit }).await?.items;
        let is_last = items.len() < limit as usize;
        items.into_iter().for_each(&mut take);
        if is_last {
            break;
        }
    }
    Ok(())
}

fn is_allowed(allowed: &Allowed, name: &str) -> bool {
    let name = name.split_once('/');
    name.is_some_and(|(provider, model)| allowed.check(provider, model).is_ok())
}

fn offer(provider: &str, name: &str, location: String, price: Option<&Price>) -> Offer {
    let is_by_unit = |price: &Price| {
        let units = [price.request, price.image, price.page, price.second];
        price.tokens == domain::TokenPrice::default() && units.iter().any(|unit| *unit > 0)
    };
    let tokens = price
        .filter(|price| !is_by_unit(price))
        .map(|price| price.tokens);
    Offer {
        provider: provider.to_owned(),
        name: name.to_owned(),
        location,
        input: tokens.map(|tokens| tokens.input),
        output: tokens.map(|tokens| tokens.output),
    }
}

impl From<CustomModel> for CatalogueItem {
    fn from(model: CustomModel) -> Self {
        Self {
            name: model.name,
            owner: model.provider,
            created: Some(model.created_at),
        }
    }
}

impl From<domain::Alias> for CatalogueItem {
    fn from(alias: domain::Alias) -> Self {
        Self {
            name: alias.name,
            owner: "alias".to_owned(),
            created: Some(alias.created_at),
        }
    }
}
