//! `reasoning_effort` in the words of each family of models, and what it rules out.
//!
//! Claude takes here what it takes at its maker's own host
//! (<https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html>). Amazon Nova 2 has
//! levels, too (<https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html>).

use domain::{ChatRequest, Json, JsonObject, seams::Target};
use serde_json::json;

use super::{demand, family::Family, options};
use crate::anthropic::{
    model::Model,
    thought::{self, Asked, Thought},
};

pub(super) const REASONING_EFFORT: &str = "reasoning_effort";

/// What becomes of the option.
#[derive(Debug, Default)]
pub(super) struct Effort {
    /// Members of `additionalModelRequestFields`.
    pub(super) fields: JsonObject,
    /// How long the answer has to be allowed to be, where the client does not say.
    pub(super) max_tokens: Option<u64>,
    /// What the model is not told beside it, under the names that go out.
    pub(super) unsaid: &'static [&'static str],
    /// What the client is to know of it.
    pub(super) warnings: Vec<String>,
    /// Whether the client's own `thinking` does not go out.
    pub(super) leaves_out_thinking: bool,
}

impl Effort {
    /// Words the option for a request with those tools.
    pub(super) fn of(target: &Target, request: &ChatRequest, tool_config: &JsonObject) -> Self {
        let given = target.options.get(REASONING_EFFORT);
        let given = given.filter(|given| !given.is_null());
        let level = given.map(|given| given.as_string().unwrap_or_default());
        let level = level.as_deref();
        let family = Family::of(&target.model);
        if let Family::Claude(model) = family {
            let effort = given.filter(|_| level != Some(""));
            let is_forced = demand::is_forced(tool_config);
            let claude = Self::claude(target, request, (model, effort, is_forced));
            return match level {
                Some("") => claude.but_not(target, "takes a level in words"),
                _ => claude,
            };
        }
        match (family, given, level) {
            (_, None, _) | (_, _, None) => Self::default(),
            (Family::Effort, Some(given), _) => Self {
                fields: [(REASONING_EFFORT.to_owned(), given.clone())].into(),
                ..Self::default()
            },
            (Family::Nova2, _, Some(level)) => Self::nova(level),
            _ => Self::default().but_not(target, "is not known to take one"),
        }
    }

    fn claude(
        target: &Target,
        request: &ChatRequest,
        (model, effort, is_forced): (Model, Option<&Json>, bool),
    ) -> Self {
        let max_tokens = options::max_tokens(target);
        let thought = Thought::of(Asked {
            model,
            thinking: options::own_thinking(target).as_ref(),
            effort,
            max_tokens,
            is_forced,
            goes_on_after_tools: thought::goes_on_after_tools(request),
        });
        // Converse allows few tokens where nobody says how many, and a budget must be less than all.
        let most = max_tokens.is_none() && thought.has_our_budget();
        let unsaid: &[&str] = if thought.takes_sampling(model) {
            &[]
        } else {
            &["temperature", "topP", "top_k"]
        };
        let warnings = thought.warnings();
        let leaves_out_thinking = thought.leaves_out_own();
        let max_tokens = most.then(|| thought.max_tokens());
        let effort = thought.effort.map(|effort| json!({ "effort": effort }));
        let members = [
            (options::THINKING, thought.thinking),
            ("output_config", effort.map(|effort| Json::of(&effort))),
        ];
        let fields = members
            .into_iter()
            .filter_map(|(name, member)| Some((name.to_owned(), member?)));
        Self {
            fields: fields.collect(),
            max_tokens,
            unsaid,
            warnings,
            leaves_out_thinking,
        }
    }

    fn nova(level: &str) -> Self {
        let level = match level {
            "none" => None,
            "minimal" | "low" => Some("low"),
            "medium" => Some("medium"),
            _ => Some("high"),
        };
        let config = match level {
            None => json!({ "type": "disabled" }),
            Some(level) => json!({ "type": "enabled", "maxReasoningEffort": level }),
        };
        Self {
            fields: [("reasoningConfig".to_owned(), Json::of(&config))].into(),
            // It takes as long as it takes then.
            unsaid: match level {
                Some("high") => &["temperature", "topP", "maxTokens"],
                _ => &[],
            },
            ..Self::default()
        }
    }

    /// It is left out; why, in words that follow `the model`.
    fn but_not(self, target: &Target, why: &str) -> Self {
        let warning = format!(
            "the option `{REASONING_EFFORT}` was left out: the model `{}` {why}",
            target.name
        );
        Self {
            warnings: vec![warning],
            ..self
        }
    }
}
