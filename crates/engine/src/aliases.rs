//! Aliases: create, read, change, delete. What they lead to is `route`'s.

use std::{collections::HashSet, sync::Arc};

use domain::{
    Alias, AliasId, Invalid, ModelName, Named, Page, Paged, Principal, ProjectScope,
    seams::{Clock, Ids, Store, StoreError},
};

use crate::error::{Code, Error};

/// How many names are followed in search of a circle. One that is larger is found by the calls.
const MAX_FOLLOWED: usize = 64;

/// The service of aliases.
pub struct Aliases {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
}

/// An alias to be made.
#[derive(Debug, Clone)]
pub struct NewAlias {
    /// What it is asked for by.
    pub name: String,
    /// The names that it stands for, in order.
    pub fallback_models: Vec<ModelName>,
    /// What it is for.
    pub description: Option<String>,
}

/// Changes to an alias. The outer `None` leaves a member as it is, the inner one clears it.
#[derive(Debug, Clone, Default)]
pub struct AliasChange {
    /// A new name.
    pub name: Option<String>,
    /// Another list, which replaces the whole.
    pub fallback_models: Option<Vec<ModelName>>,
    /// A new description.
    pub description: Option<Option<String>>,
}

impl Aliases {
    /// Makes an alias. Nothing in its list has to exist yet.
    ///
    /// # Errors
    /// `Conflict` for a taken name, `BadRequest` if it leads back to itself, `RequestValidation` for lengths that do not
    /// hold.
    pub async fn create(&self, caller: &Principal, new: NewAlias) -> Result<Alias, Error> {
        let alias = Alias {
            id: self.ids.next().into(),
            project: caller.scope().project(),
            name: new.name,
            fallback_models: new.fallback_models,
            description: new.description,
            version: 1,
            created_at: self.clock.now(),
        };
        check(&alias)?;
        self.refuse_circle(caller.scope(), &alias).await?;
        match self.store.insert_alias(&alias).await {
            Ok(()) => Ok(alias),
            Err(StoreError::Taken) => Err(name_taken(&alias.name)),
            Err(error) => Err(error.into()),
        }
    }

    /// The alias.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn get(&self, caller: &Principal, id: AliasId) -> Result<Alias, Error> {
        self.store
            .alias(caller.scope(), id)
            .await?
            .ok_or_else(missing)
    }

    /// The alias of that name.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn get_by_name(&self, caller: &Principal, name: &str) -> Result<Alias, Error> {
        self.store
            .alias_by_name(caller.scope(), name)
            .await?
            .ok_or_else(missing)
    }

    /// The aliases of the project by name.
    ///
    /// # Errors
    /// `ServiceUnavailable`.
    pub async fn list(&self, caller: &Principal, page: Page) -> Result<Paged<Alias>, Error> {
        Ok(self.store.aliases(caller.scope(), page).await?)
    }

    /// Changes an alias.
    ///
    /// # Errors
    /// `NotFound`, and as [`Aliases::create`].
    pub async fn change(
        &self,
        caller: &Principal,
        id: AliasId,
        change: &AliasChange,
    ) -> Result<Alias, Error> {
        loop {
            let current = self.get(caller, id).await?;
            let changed = apply(&current, change)?;
            if changed == current {
                return Ok(current);
            }
            self.refuse_circle(caller.scope(), &changed).await?;
            match self.store.update_alias(&changed).await {
                Ok(()) => return Ok(changed),
                // Somebody else was first: look again. Each round means that another writer got through.
                Err(StoreError::Stale) => {}
                Err(StoreError::Taken) => return Err(name_taken(&changed.name)),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Forgets an alias.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn delete(&self, caller: &Principal, id: AliasId) -> Result<(), Error> {
        let was_there = self.store.delete_alias(caller.scope(), id).await?;
        was_there.then_some(()).ok_or_else(missing)
    }

    /// Refuses an alias that would lead back to itself as things stand. That names mean something else later, or that
    /// two such aliases are written at the same moment, shows at the call.
    async fn refuse_circle(&self, scope: ProjectScope, alias: &Alias) -> Result<(), Error> {
        let mut seen = HashSet::new();
        let mut ahead = alias.fallback_models.clone();
        while let Some(name) = ahead.pop() {
            if seen.len() == MAX_FOLLOWED || !seen.insert(name.clone()) {
                continue;
            }
            match self.store.named(scope, &name).await? {
                Some(Named::Model(model)) if model.name == name.as_str() => {}
                _ if alias.name == name.as_str() => return Err(circle(&alias.name)),
                // Its old row, under a name that it is about to give up.
                Some(Named::Alias(next)) if next.id == alias.id => {}
                Some(Named::Alias(next)) => ahead.extend(next.fallback_models),
                Some(Named::Model(_)) | None => {}
            }
        }
        Ok(())
    }
}

fn apply(current: &Alias, change: &AliasChange) -> Result<Alias, Invalid> {
    let mut alias = current.clone();
    alias.name = change.name.clone().unwrap_or(alias.name);
    alias.fallback_models = change
        .fallback_models
        .clone()
        .unwrap_or(alias.fallback_models);
    alias.description = change.description.clone().unwrap_or(alias.description);
    check(&alias)?;
    if alias != *current {
        alias.version += 1;
    }
    Ok(alias)
}

fn check(alias: &Alias) -> Result<(), Invalid> {
    let models = alias.fallback_models.len();
    let name_chars = alias.name.chars().count();
    let description_chars = alias
        .description
        .iter()
        .flat_map(|text| text.chars())
        .count();
    let limits = [
        (
            name_chars == 0,
            "name",
            "string_too_short",
            "must have at least 1 character",
        ),
        (
            name_chars > 255,
            "name",
            "string_too_long",
            "must have at most 255 characters",
        ),
        (
            models == 0,
            "fallback_models",
            "too_short",
            "must have at least 1 item",
        ),
        (
            models > 16,
            "fallback_models",
            "too_long",
            "must have at most 16 items",
        ),
        (
            description_chars > 1000,
            "description",
            "string_too_long",
            "must have at most 1000 characters",
        ),
    ];
    match limits.into_iter().find(|(is_broken, ..)| *is_broken) {
        Some((_, member, slug, message)) => Err(Invalid::new(slug, message).at(member)),
        None => Ok(()),
    }
}

fn missing() -> Error {
    Error::not_found("Alias")
}

fn name_taken(name: &str) -> Error {
    Error::text(
        Code::Conflict,
        format!("an alias named `{name}` already exists"),
    )
}

fn circle(name: &str) -> Error {
    Error::text(
        Code::BadRequest,
        format!("the alias `{name}` would lead back to itself; take it out of its own list"),
    )
}
