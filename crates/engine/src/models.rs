//! Custom models: register, read, change, delete. Their keys are sealed before they are kept and never read back out.

use std::sync::Arc;

use domain::{
    CustomModel, ExtraHeaders, Invalid, Json, ModelId, ModelKind, ModelName, Page, Paged,
    Principal, Secret,
    seams::{Clock, Ids, Registry, Store, StoreError},
};
use indexmap::IndexMap;

use crate::{
    error::{Code, Error},
    route::{Destination, Routes, is_credentials},
    vault::Vault,
};

const MAX_EXTRA_BYTES: usize = 64 * 1024;
const MAX_KEY_BYTES: usize = 4 * 1024;

/// The service of custom models.
pub struct Models {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) vault: Arc<Vault>,
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) routes: Arc<Routes>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
}

/// A model to be registered.
#[derive(Debug, Clone)]
pub struct NewModel {
    /// What it is asked for by.
    pub name: String,
    /// `<provider>/<model_name>`.
    pub identifier: ModelName,
    /// Whose dialect and address it has; out of the identifier when absent.
    pub provider: Option<String>,
    /// What it is for.
    pub kind: ModelKind,
    /// Provider settings.
    pub extra: Option<Json>,
    /// Its key.
    pub api_key: Option<Secret>,
}

/// Changes to a custom model. The outer `None` leaves a member as it is, the inner one clears it.
#[derive(Debug, Clone, Default)]
pub struct ModelChange {
    /// A new name.
    pub name: Option<String>,
    /// A new identifier.
    pub identifier: Option<ModelName>,
    /// A new provider.
    pub provider: Option<Option<String>>,
    /// What it is for.
    pub kind: Option<Option<ModelKind>>,
    /// Provider settings, replaced whole.
    pub extra: Option<Option<Json>>,
    /// A new key.
    pub api_key: Option<Option<Secret>>,
}

/// A custom model after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedModel {
    /// The model.
    pub model: CustomModel,
    /// Whether its key was dropped, because it would have gone to another host than the one that it was stored for.
    pub has_lost_its_key: bool,
}

impl Models {
    /// Registers a model.
    ///
    /// # Errors
    /// `Conflict` for a taken name, `RequestValidation` for lengths, headers and keys that do not hold.
    pub async fn register(&self, caller: &Principal, new: NewModel) -> Result<CustomModel, Error> {
        let mut model = CustomModel {
            id: self.ids.next().into(),
            project: caller.scope().project(),
            name: new.name,
            provider: new.provider.unwrap_or_else(|| provider_of(&new.identifier)),
            identifier: new.identifier,
            kind: new.kind,
            extra: new.extra.unwrap_or_else(no_extra),
            sealed_key: None,
            version: 1,
            created_at: self.clock.now(),
        };
        check(&model)?;
        model.sealed_key = self.seal(&model, new.api_key)?;
        match self.store.insert_model(&model).await {
            Ok(()) => Ok(model),
            Err(StoreError::Taken) => Err(name_taken(&model.name)),
            Err(error) => Err(error.into()),
        }
    }

    /// What stands against using a model, or is left out of what it is asked; as far as that can be told without asking
    /// it. It is kept all the same: what is missing may come with the operator's configuration.
    ///
    /// # Errors
    /// `ServiceUnavailable`.
    pub async fn warnings_of(
        &self,
        caller: &Principal,
        model: &CustomModel,
    ) -> Result<Vec<String>, Error> {
        let warnings = self.routes.warnings_of(caller.scope(), model).await?;
        if !warnings.is_empty() {
            tracing::info!(
                model.id = %model.id,
                warnings = warnings.len(),
                "there are warnings about a custom model"
            );
        }
        Ok(warnings)
    }

    /// The model.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn get(&self, caller: &Principal, id: ModelId) -> Result<CustomModel, Error> {
        self.store
            .model(caller.scope(), id)
            .await?
            .ok_or_else(missing)
    }

    /// The model of that name.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn get_by_name(&self, caller: &Principal, name: &str) -> Result<CustomModel, Error> {
        self.store
            .model_by_name(caller.scope(), name)
            .await?
            .ok_or_else(missing)
    }

    /// The models of the project by name.
    ///
    /// # Errors
    /// `ServiceUnavailable`.
    pub async fn list(&self, caller: &Principal, page: Page) -> Result<Paged<CustomModel>, Error> {
        Ok(self.store.models(caller.scope(), page).await?)
    }

    /// Changes a model. A change by which its key would go to another host drops the key, unless it gives one.
    ///
    /// # Errors
    /// `NotFound`, `Conflict`, `RequestValidation`.
    pub async fn change(
        &self,
        caller: &Principal,
        id: ModelId,
        change: &ModelChange,
    ) -> Result<ChangedModel, Error> {
        loop {
            let current = self.get(caller, id).await?;
            let changed = self.apply(&current, change)?;
            let had_key = current.sealed_key.is_some() && change.api_key.is_none();
            let changed = ChangedModel {
                has_lost_its_key: had_key && changed.sealed_key.is_none(),
                model: changed,
            };
            if changed.model == current {
                return Ok(changed);
            }
            match self.store.update_model(&changed.model).await {
                Ok(()) => return Ok(changed),
                // Somebody else was first: look again. Each round means that another writer got through.
                Err(StoreError::Stale) => {}
                Err(StoreError::Taken) => return Err(name_taken(&changed.model.name)),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Forgets a model.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn delete(&self, caller: &Principal, id: ModelId) -> Result<(), Error> {
        let was_there = self.store.delete_model(caller.scope(), id).await?;
        was_there.then_some(()).ok_or_else(missing)
    }

    fn apply(&self, current: &CustomModel, change: &ModelChange) -> Result<CustomModel, Error> {
        let mut model = current.clone();
        let provider_was_implied = model.provider == provider_of(&model.identifier);
        model.name = change.name.clone().unwrap_or(model.name);
        model.identifier = change.identifier.clone().unwrap_or(model.identifier);
        match &change.provider {
            Some(Some(provider)) => model.provider.clone_from(provider),
            None if !provider_was_implied => {}
            _ => model.provider = provider_of(&model.identifier),
        }
        model.kind = change.kind.map_or(model.kind, Option::unwrap_or_default);
        if let Some(extra) = &change.extra {
            model.extra = extra.clone().unwrap_or_else(no_extra);
        }
        match &change.api_key {
            Some(key) => model.sealed_key = self.seal(&model, key.clone())?,
            None if self.key_stays_where_it_goes(current, &model) => {}
            None => model.sealed_key = None,
        }
        check(&model)?;
        if model != *current {
            model.version += 1;
        }
        Ok(model)
    }

    /// Whether the model's key goes to the same hosts after a change as before it. It goes only to those that it was
    /// stored for (`reliability.md` 7): what cannot be told counts as another place.
    fn key_stays_where_it_goes(&self, before: &CustomModel, after: &CustomModel) -> bool {
        let Some(sealed) = &before.sealed_key else {
            return true;
        };
        if before.provider == after.provider && before.extra == after.extra {
            return true;
        }
        let key = self.vault.open(before.project, before.id, sealed);
        let is_plain = key.is_ok_and(|key| !is_credentials(&key));
        let destination = |model| {
            let destination = Destination::of(&*self.registry, model)?;
            Some(if is_plain {
                destination.of_plain_key()
            } else {
                destination
            })
        };
        let before = destination(before);
        before.is_some() && before == destination(after)
    }

    fn seal(&self, model: &CustomModel, key: Option<Secret>) -> Result<Option<Vec<u8>>, Invalid> {
        let Some(key) = key.filter(|key| !key.expose().is_empty()) else {
            return Ok(None);
        };
        let refused = |why: &str| Invalid::new("value_error", why).at("api_key");
        let key = match is_credentials(&key) {
            true => credentials(&key).ok_or_else(|| {
                refused("a key that begins with `{` is a JSON object: the credentials of a service account and the like")
            })?,
            false if key.expose().bytes().all(|byte| byte.is_ascii_graphic()) => key,
            false => return Err(refused("a key is at most 4096 visible ASCII characters")),
        };
        if key.expose().len() > MAX_KEY_BYTES {
            return Err(refused("a key is at most 4096 visible ASCII characters"));
        }
        Ok(Some(self.vault.seal(model.project, model.id, &key)))
    }
}

/// Credentials of several members, as one line of JSON.
fn credentials(key: &Secret) -> Option<Secret> {
    let members: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(key.expose()).ok()?;
    let line = serde_json::Value::Object(members).to_string();
    line.is_ascii().then(|| Secret::new(line))
}

fn missing() -> Error {
    Error::not_found("Custom model")
}

fn name_taken(name: &str) -> Error {
    Error::text(
        Code::Conflict,
        format!("a custom model named `{name}` already exists"),
    )
}

fn no_extra() -> Json {
    Json::parse("{}").expect("an empty object is JSON")
}

/// The part of an identifier before the slash, lower case (`interface.md` 5.1).
fn provider_of(identifier: &ModelName) -> String {
    identifier
        .split()
        .map_or_else(String::new, |(provider, _)| provider.to_lowercase())
}

fn check(model: &CustomModel) -> Result<(), Invalid> {
    for (member, text) in [("name", &model.name), ("provider", &model.provider)] {
        let fault = match text.chars().count() {
            0 => Invalid::new("string_too_short", "must have at least 1 character"),
            256.. => Invalid::new("string_too_long", "must have at most 255 characters"),
            _ => continue,
        };
        return Err(fault.at(member));
    }
    check_extra(&model.extra).map_err(|invalid| invalid.at("extra"))
}

fn check_extra(extra: &Json) -> Result<(), Invalid> {
    if !extra.is_object() {
        return Err(Invalid::new("object_type", "must be an object"));
    }
    if extra.text().len() > MAX_EXTRA_BYTES {
        return Err(Invalid::new("too_long", "must have at most 64 KiB"));
    }
    let members: IndexMap<String, Json> = serde_json::from_str(extra.text())
        .map_err(|_| Invalid::new("object_type", "must be an object"))?;
    let Some(headers) = members.get("headers").filter(|headers| !headers.is_null()) else {
        return Ok(());
    };
    // What is no text makes the model unusable, as another member of the wrong type does: see `route/extra.rs`.
    let headers: IndexMap<String, Json> = serde_json::from_str(headers.text()).unwrap_or_default();
    let texts = headers.into_iter();
    let texts = texts.filter_map(|(name, value)| Some((name, value.as_string()?)));
    ExtraHeaders::parse(texts.collect())
        .map(drop)
        .map_err(|invalid| invalid.at("headers"))
}
