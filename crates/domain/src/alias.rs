//! Aliases: names that stand for lists of models.

use crate::{AliasId, CustomModel, ModelName, ProjectId, Timestamp};

/// A name of a project that stands for an ordered list of models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// Its id.
    pub id: AliasId,
    /// The project that owns it.
    pub project: ProjectId,
    /// What it is asked for by, unique among the project's aliases. A custom model may have the same name, and goes first.
    pub name: String,
    /// The names that it stands for, tried in order. Each may be an alias again.
    pub fallback_models: Vec<ModelName>,
    /// What it is for.
    pub description: Option<String>,
    /// Counts the changes, so that two writers cannot overwrite each other unseen.
    pub version: i64,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What a model's name means in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// A custom model, by its name or by its identifier.
    Model(CustomModel),
    /// An alias, by its name.
    Alias(Alias),
}
