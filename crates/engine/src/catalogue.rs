//! The catalogue: the names that a project's callers can ask for.

use std::{collections::HashSet, sync::Arc};

use domain::{
    ModelName, Named, Page, Principal, Timestamp,
    seams::{Registry, Store},
};

use crate::error::Error;

const PAGE: u32 = 100;
const MOST: u32 = 10_000;

/// The service of names.
pub struct Catalogue {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) registry: Arc<dyn Registry>,
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

impl Catalogue {
    /// The custom models by name, then the aliases by name, then what each configured provider is best begun with. Names
    /// that are taken twice stand there once: they mean what stands first.
    ///
    /// # Errors
    /// `ServiceUnavailable`.
    pub async fn all(&self, caller: &Principal) -> Result<Vec<CatalogueItem>, Error> {
        let scope = caller.scope();
        let mut items = Vec::new();
        for page in pages() {
            let models = self.store.models(scope, page).await?.items;
            let is_last = models.len() < PAGE as usize;
            items.extend(models.into_iter().map(CatalogueItem::from));
            if is_last {
                break;
            }
        }
        for page in pages() {
            let aliases = self.store.aliases(scope, page).await?.items;
            let is_last = aliases.len() < PAGE as usize;
            items.extend(aliases.into_iter().map(CatalogueItem::from));
            if is_last {
                break;
            }
        }
        items.extend(self.registry.configured().into_iter().filter_map(|host| {
            let model = host.default_model.as_ref()?;
            Some(CatalogueItem {
                name: format!("{}/{model}", host.provider),
                owner: host.provider.clone(),
                created: None,
            })
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
        let parsed = ModelName::parse(name).map_err(|_| missing())?;
        let meant = self.store.named(caller.scope(), &parsed).await?;
        let item = match meant {
            Some(Named::Model(model)) => CatalogueItem::from(model),
            Some(Named::Alias(alias)) => CatalogueItem::from(alias),
            None => {
                let (provider, _) = parsed.split().ok_or_else(missing)?;
                let host = self.registry.host(&provider.to_lowercase());
                let host = host.filter(|host| host.configured).ok_or_else(missing)?;
                CatalogueItem {
                    name: String::new(),
                    owner: host.provider.clone(),
                    created: None,
                }
            }
        };
        Ok(CatalogueItem {
            name: name.to_owned(),
            ..item
        })
    }
}

/// All pages, up to a number that nobody looks through.
fn pages() -> impl Iterator<Item = Page> {
    let offsets = (0..MOST).step_by(PAGE as usize);
    offsets.map(|offset| Page {
        offset,
        limit: PAGE,
    })
}

impl From<domain::CustomModel> for CatalogueItem {
    fn from(model: domain::CustomModel) -> Self {
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
