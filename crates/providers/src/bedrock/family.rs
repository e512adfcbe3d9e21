//! Families of models: Converse is one dialect, but its models do not take the same of it.
//!
//! A family is told by the model's id, with the prefix of an inference profile or inside of an ARN. The ARN of a profile
//! of one's own names no model, so nothing is known of it.

use domain::{Json, Rung};

use crate::anthropic::{model::Model, thought};

/// A family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Anthropic's.
    Claude(Model),
    /// Amazon's second Nova.
    Nova2,
    /// Amazon's first Nova.
    Nova,
    /// Models that take `reasoning_effort` as OpenAI's own host does.
    Effort,
    /// Other models that hold answers to a schema.
    Open,
    /// Cohere's.
    Cohere,
    /// Models that do not, and those of which nothing is known.
    Other,
    /// An ARN that names no model.
    Opaque,
}

/// Parts of ids, as of <https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html>.
const PARTS: [(&str, Family); 20] = [
    ("amazon.nova-2", Family::Nova2),
    ("amazon.nova", Family::Nova),
    ("openai.", Family::Effort),
    ("moonshot.", Family::Effort),
    ("moonshotai.", Family::Effort),
    ("xai.", Family::Effort),
    ("cohere.", Family::Cohere),
    ("qwen.", Family::Open),
    ("deepseek.v", Family::Open),
    ("google.gemma", Family::Open),
    ("nvidia.", Family::Open),
    ("minimax.", Family::Open),
    ("zai.", Family::Open),
    ("mistral.devstral", Family::Open),
    ("mistral.magistral", Family::Open),
    ("mistral.ministral", Family::Open),
    ("mistral.mistral-large-3", Family::Open),
    ("mistral.voxtral", Family::Open),
    (":application-inference-profile/", Family::Opaque),
    (":provisioned-model/", Family::Opaque),
];
const CLAUDE: &str = "anthropic.claude-";

const FROM_SCHEMA: &[Rung] = &[Rung::NativeSchema, Rung::ForcedTool, Rung::Prompt];
const FROM_TOOL: &[Rung] = &[Rung::ForcedTool, Rung::Prompt];
const SCHEMA_ALONE: &[Rung] = &[Rung::NativeSchema, Rung::Prompt];
const PROMPT_ALONE: &[Rung] = &[Rung::Prompt];

impl Family {
    /// The family of a model.
    pub(super) fn of(model: &str) -> Self {
        if model.contains(CLAUDE) {
            return Self::Claude(Model::named(model));
        }
        let row = PARTS.iter().find(|(part, _)| model.contains(part));
        row.map_or(Self::Other, |(_, family)| *family)
    }

    /// The rungs that are tried where the client has that `thinking` of its own; a model that refuses one after all says
    /// so.
    pub(super) fn rungs(self, thinking: Option<&Json>) -> &'static [Rung] {
        let may_force_tool = self.may_force_tool(thinking);
        match self {
            Self::Claude(model) => match (model.holds_to_schema(), may_force_tool) {
                (true, true) => FROM_SCHEMA,
                (true, false) => SCHEMA_ALONE,
                (false, true) => FROM_TOOL,
                (false, false) => PROMPT_ALONE,
            },
            Self::Nova | Self::Nova2 | Self::Cohere | Self::Other => FROM_TOOL,
            Self::Effort | Self::Open | Self::Opaque => FROM_SCHEMA,
        }
    }

    /// Whether a tool can be forced at all.
    pub(super) fn may_force_tool(self, thinking: Option<&Json>) -> bool {
        match self {
            Self::Claude(model) => thought::may_force_tool(model, thinking),
            _ => true,
        }
    }

    /// Whether a tool can be forced by its name; the others can only be forced to call any.
    pub(super) const fn takes_named_choice(self) -> bool {
        matches!(
            self,
            Self::Claude(..) | Self::Nova | Self::Nova2 | Self::Opaque
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_by_the_models_id() {
        let cases = [
            (
                "us.anthropic.claude-opus-4-6-v1",
                Family::Claude(Model::named("claude-opus-4-6")),
            ),
            ("cohere.command-r-plus-v1:0", Family::Cohere),
            (
                "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-2-lite-v1:0",
                Family::Nova2,
            ),
            ("amazon.nova-micro-v1:0", Family::Nova),
            ("openai.gpt-oss-20b-1:0", Family::Effort),
            ("deepseek.v3-v1:0", Family::Open),
            ("us.deepseek.r1-v1:0", Family::Other),
            ("meta.llama3-3-70b-instruct-v1:0", Family::Other),
            (
                "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3",
                Family::Opaque,
            ),
        ];

        for (model, family) in cases {
            assert_eq!(Family::of(model), family, "{model}");
        }
    }

    #[test]
    fn a_claude_has_the_rungs_that_its_version_and_its_thoughts_allow() {
        let rungs = |model: &str, thinking: Option<&str>| {
            let thinking = thinking.map(|thinking| Json::parse(thinking).unwrap());
            Family::of(model).rungs(thinking.as_ref())
        };
        let thinks = Some(r#"{"type":"enabled","budget_tokens":2000}"#);
        let cases = [
            (
                "us.anthropic.claude-opus-4-1-20250805-v1:0",
                None,
                FROM_TOOL,
            ),
            (
                "us.anthropic.claude-opus-4-1-20250805-v1:0",
                thinks,
                PROMPT_ALONE,
            ),
            (
                "anthropic.claude-haiku-4-5-20251001-v1:0",
                None,
                FROM_SCHEMA,
            ),
            (
                "anthropic.claude-haiku-4-5-20251001-v1:0",
                Some(r#"{"type":"disabled"}"#),
                FROM_SCHEMA,
            ),
            (
                "anthropic.claude-haiku-4-5-20251001-v1:0",
                thinks,
                SCHEMA_ALONE,
            ),
            ("us.anthropic.claude-opus-5-5", None, SCHEMA_ALONE),
            ("anthropic.claude-mythos-preview", None, SCHEMA_ALONE),
        ];

        for (model, thinking, expected) in cases {
            assert_eq!(rungs(model, thinking), expected, "{model} {thinking:?}");
        }
    }
}
