//! Which of the configured models a project may use (`[projects.NAME] models`).

use std::sync::Arc;

use domain::{
    ModelName, ProjectId, ProjectScope,
    seams::{Store, StoreError},
};
use indexmap::IndexMap;
use moka::sync::Cache;

use crate::{
    error::Error,
    options::{Options, ProjectOptions},
};

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
    /// In lower case, as in the file of prices.
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
            let models = self.projects.get(name)?.models.as_deref()?;
            Some(Arc::new(Models::of(name, models)))
        });
        self.known.insert(scope.project(), models.clone());
        Ok(models)
    }
}

/// Says what of the operator's lists does not do what it seems to: one of a project that there is not, and one that
/// leaves out the judge.
pub(crate) async fn warn(store: &dyn Store, options: &Options) -> Result<(), StoreError> {
    if options.projects.is_empty() {
        return Ok(());
    }
    let known = store.projects().await?;
    for (name, project) in &options.projects {
        if !known.iter().any(|known| known.name.as_str() == name) {
            tracing::warn!(
                project.name = name,
                "`projects.{name}` names no project that there is: it holds once a project of that name is created"
            );
        }
        let judge = options.observer.judge.as_ref();
        let judge = judge.filter(|_| options.observer.enabled);
        let models = project.models.as_deref();
        if let (Some(judge), Some(models)) = (judge.and_then(ModelName::split), models)
            && Models::of(name, models).check(judge.0, judge.1).is_err()
        {
            tracing::warn!(
                project.name = name,
                model.name = format!("{}/{}", judge.0, judge.1),
                "`projects.{name}.models` does not list the model of `observer.judge`: unless the project registers one \
                 of that name, its calls keep the score of the rule"
            );
        }
    }
    Ok(())
}

impl Models {
    /// Of a project's name and its list.
    fn of(project: &str, models: &[String]) -> Self {
        Self {
            project: project.to_owned(),
            patterns: models.iter().map(|model| model.to_lowercase()).collect(),
        }
    }

    /// Refuses a model that is not among them.
    pub(crate) fn check(&self, provider: &str, model: &str) -> Result<(), String> {
        let name = format!("{provider}/{model}");
        let lower = name.to_lowercase();
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(beginning) => lower.starts_with(beginning),
            None => lower == *pattern,
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
        let models = ["OpenAI/*", "anthropic/Claude", "together/meta-llama/Llama*"];
        let models = Models::of("p", &models.map(str::to_owned));

        for (provider, model, is_allowed) in [
            ("openai", "gpt", true),
            ("openai", "a/b", true),
            ("openai2", "gpt", false),
            ("anthropic", "claude", true),
            ("anthropic", "CLAUDE", true),
            ("anthropic", "claude-2", false),
            ("together", "meta-llama/Llama-4", true),
            ("together", "meta-llama/llama-4", true),
            ("together", "Meta", false),
            ("offline", "json", false),
        ] {
            assert_eq!(models.check(provider, model).is_ok(), is_allowed, "{model}");
        }
    }
}
