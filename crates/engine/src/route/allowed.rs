//! Which of the configured models a project may use (`[projects.NAME] models`).

use std::sync::Arc;

use domain::{ProjectId, ProjectScope, seams::Store};
use indexmap::IndexMap;
use moka::sync::Cache;

use crate::{error::Error, options::ProjectOptions};

const MOST_PROJECTS: u64 = 10_000;

/// What the operator's file says of projects.
pub(super) struct Allowed {
    projects: IndexMap<String, ProjectOptions>,
    /// What holds for a project. Neither its name nor the file changes while the server runs.
    known: Cache<ProjectId, Option<Arc<Models>>>,
}

/// The models that one project may use.
pub(crate) struct Models {
    project: String,
    patterns: Vec<String>,
}

impl Allowed {
    pub(super) fn new(projects: IndexMap<String, ProjectOptions>) -> Self {
        Self {
            projects,
            known: Cache::new(MOST_PROJECTS),
        }
    }

    /// What the project is held to; `None` if it may use all.
    pub(super) async fn to(
        &self,
        scope: ProjectScope,
        store: &dyn Store,
    ) -> Result<Option<Arc<Models>>, Error> {
        if self.projects.is_empty() {
            return Ok(None);
        }
        if let Some(known) = self.known.get(&scope.project()) {
            return Ok(known);
        }
        let projects = store.projects().await?;
        let project = projects
            .iter()
            .find(|project| project.id == scope.project());
        let models = project.and_then(|project| {
            let name = project.name.as_str();
            Some(Arc::new(Models {
                project: name.to_owned(),
                patterns: self.projects.get(name)?.models.clone()?,
            }))
        });
        self.known.insert(scope.project(), models.clone());
        Ok(models)
    }
}

impl Models {
    /// Refuses a model that is not among them.
    pub(crate) fn check(&self, provider: &str, model: &str) -> Result<(), String> {
        let name = format!("{provider}/{model}");
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == *pattern,
        };
        if self.patterns.iter().any(fits) {
            return Ok(());
        }
        let project = &self.project;
        Err(format!(
            "the project `{project}` may not use the model `{name}`: `projects.{project}.models` in the server's \
             configuration does not list it"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_beginnings_of_names_are_allowed() {
        let models = Models {
            project: "p".to_owned(),
            patterns: vec!["openai/*".to_owned(), "anthropic/claude".to_owned()],
        };

        for (provider, model, is_allowed) in [
            ("openai", "gpt", true),
            ("openai", "a/b", true),
            ("openai2", "gpt", false),
            ("anthropic", "claude", true),
            ("anthropic", "claude-2", false),
            ("offline", "json", false),
        ] {
            assert_eq!(models.check(provider, model).is_ok(), is_allowed, "{model}");
        }
    }
}
