//! Which of the configured models a project may use (`[projects.NAME] models`).

use domain::ModelName;

use crate::options::{ObserverOptions, ProjectOptions};

/// The models that one project may use.
pub(crate) struct Allowed {
    project: String,
    /// In lower case, as in the file of prices.
    patterns: Vec<String>,
}

/// Says that a list leaves out the judge.
pub(super) fn warn_of_judge(name: &str, project: &ProjectOptions, observer: &ObserverOptions) {
    let judge = observer.judge.as_ref().filter(|_| observer.enabled);
    let models = project.models.as_deref();
    if let (Some(judge), Some(models)) = (judge.and_then(ModelName::split), models)
        && Allowed::of(name, models).check(judge.0, judge.1).is_err()
    {
        tracing::warn!(
            project.name = name,
            model.name = format!("{}/{}", judge.0, judge.1),
            "`projects.{name}.models` does not list the model of `observer.judge`: unless the project registers one of \
             that name, its calls keep the score of the rule"
        );
    }
}

impl Allowed {
    /// Of a project's name and its list.
    pub(super) fn of(project: &str, models: &[String]) -> Self {
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
        let models = Allowed::of("p", &models.map(str::to_owned));

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
