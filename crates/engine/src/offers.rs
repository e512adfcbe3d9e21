//! All models that can be asked for, with their prices: a project's custom models, then those of the configured hosts.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

use domain::{
    CustomModel, ModelName, Page, Paged, Price, Principal,
    seams::{Host, Registry, Store},
};

use crate::{
    error::Error,
    options::ModelsOptions,
    price::PriceBook,
    route::{Routes, allowed},
};

/// Where a custom model is that does not say.
const CUSTOM: &str = "custom";
/// Where a host is that has no regions.
const GLOBAL: &str = "global";

/// The list of all models.
pub struct Offers {
    store: Arc<dyn Store>,
    routes: Arc<Routes>,
    registry: Arc<dyn Registry>,
    prices: Arc<PriceBook>,
    defaults: Vec<ModelName>,
    /// The names of the configured hosts' models, in order. Most of them lie in the price book.
    configured: OnceLock<Vec<Cow<'static, str>>>,
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

impl Offers {
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
    pub async fn list(&self, caller: &Principal, page: Page) -> Result<Paged<Offer>, Error> {
        let scope = caller.scope();
        let custom = self.store.models(scope, page).await?;
        let allowed = self.routes.allowed(scope).await?;
        let may_use = |name: &&str| {
            let allowed = allowed.as_deref();
            allowed.is_none_or(|models| is_allowed(models, name))
        };
        let configured = self.names().iter().map(|name| &**name);
        let configured: Vec<&str> = configured.filter(may_use).collect();
        let skipped = u64::from(page.offset).saturating_sub(custom.total);
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let room = usize::try_from(page.limit).unwrap_or(usize::MAX) - custom.items.len();
        let shown = configured.iter().skip(skipped).take(room);
        let shown = shown.filter_map(|name| self.configured(name));
        let items = custom.items.iter().map(|model| self.custom(model));
        let items = items.chain(shown).collect();
        Ok(Paged {
            items,
            total: custom.total + u64::try_from(configured.len()).unwrap_or(u64::MAX),
        })
    }

    fn names(&self) -> &[Cow<'static, str>] {
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

    fn custom(&self, model: &CustomModel) -> Offer {
        let (price, _) = self.routes.offered_custom(model);
        let location = region(model).unwrap_or_else(|| CUSTOM.to_owned());
        offer(&model.provider, &model.name, location, price.as_ref())
    }

    fn configured(&self, name: &str) -> Option<Offer> {
        let (provider, model) = name.split_once('/')?;
        let (price, region) = self.routes.offered(provider, model);
        let location = region.unwrap_or_else(|| GLOBAL.to_owned());
        Some(offer(provider, name, location, price.as_ref()))
    }
}

fn is_allowed(allowed: &allowed::Models, name: &str) -> bool {
    let name = name.split_once('/');
    name.is_some_and(|(provider, model)| allowed.check(provider, model).is_ok())
}

fn region(model: &CustomModel) -> Option<String> {
    let extra = model.extra.to_value();
    Some(extra.get("region")?.as_str()?.to_owned())
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
