//! Families of models: Converse is one dialect, but its models do not take the same of it.
//!
//! A family is told by the model's id, with the prefix of an inference profile or inside of an ARN. The ARN of a profile
//! of one's own names no model, so nothing is known of it.

use domain::Rung;

/// A family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Anthropic's, by major and minor version; a name without one is newer than all numbers.
    Claude(u32, u32),
    /// Amazon's second Nova.
    Nova2,
    /// Amazon's first Nova.
    Nova,
    /// Models that take `reasoning_effort` as OpenAI's own host does.
    Effort,
    /// Other models that hold answers to a schema.
    Open,
    /// Models that do not, and those of which nothing is known.
    Other,
    /// An ARN that names no model.
    Opaque,
}

/// Parts of ids, as of <https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html>.
const PARTS: [(&str, Family); 19] = [
    ("amazon.nova-2", Family::Nova2),
    ("amazon.nova", Family::Nova),
    ("openai.", Family::Effort),
    ("moonshot.", Family::Effort),
    ("moonshotai.", Family::Effort),
    ("xai.", Family::Effort),
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
const NEWEST: (u32, u32) = (u32::MAX, 0);

const FROM_SCHEMA: &[Rung] = &[Rung::NativeSchema, Rung::ForcedTool, Rung::Prompt];
const FROM_TOOL: &[Rung] = &[Rung::ForcedTool, Rung::Prompt];

impl Family {
    /// The family of a model.
    pub(super) fn of(model: &str) -> Self {
        if let Some((_, name)) = model.split_once(CLAUDE) {
            let (major, minor) = claude_version(name);
            return Self::Claude(major, minor);
        }
        let row = PARTS.iter().find(|(part, _)| model.contains(part));
        row.map_or(Self::Other, |(_, family)| *family)
    }

    /// The rungs that are tried; a model that refuses one after all says so.
    pub(super) const fn rungs(self) -> &'static [Rung] {
        match self {
            Self::Claude(major, minor) if major < 4 || (major == 4 && minor < 5) => FROM_TOOL,
            Self::Nova | Self::Nova2 | Self::Other => FROM_TOOL,
            Self::Claude(..) | Self::Effort | Self::Open | Self::Opaque => FROM_SCHEMA,
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

/// The version in `3-7-sonnet-20250219-v1:0`, `sonnet-4-20250514-v1:0`, `opus-4-6-v1` or `v2:1`.
fn claude_version(name: &str) -> (u32, u32) {
    if name.starts_with('v') || name.starts_with("instant") {
        return (2, 0);
    }
    let parts = name.split(['-', ':', '.']);
    // Dates have more digits.
    let mut numbers = parts
        .skip_while(|part| !is_number(part))
        .take_while(|part| is_number(part))
        .filter_map(|part| part.parse().ok());
    match numbers.next() {
        Some(major) => (major, numbers.next().unwrap_or(0)),
        None => NEWEST,
    }
}

fn is_number(part: &str) -> bool {
    matches!(part.len(), 1..=2) && part.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_by_the_models_id() {
        let cases = [
            ("anthropic.claude-v2:1", Family::Claude(2, 0)),
            ("anthropic.claude-instant-v1", Family::Claude(2, 0)),
            (
                "anthropic.claude-3-haiku-20240307-v1:0",
                Family::Claude(3, 0),
            ),
            (
                "us.anthropic.claude-3-7-sonnet-20250219-v1:0",
                Family::Claude(3, 7),
            ),
            (
                "eu.anthropic.claude-sonnet-4-20250514-v1:0",
                Family::Claude(4, 0),
            ),
            (
                "global.anthropic.claude-haiku-4-5-20251001-v1:0",
                Family::Claude(4, 5),
            ),
            ("us.anthropic.claude-opus-4-6-v1", Family::Claude(4, 6)),
            ("anthropic.claude-opus-5", Family::Claude(5, 0)),
            (
                "anthropic.claude-mythos-preview",
                Family::Claude(u32::MAX, 0),
            ),
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
    fn schemas_are_native_since_claude_4_5() {
        assert_eq!(Family::Claude(4, 4).rungs(), FROM_TOOL);
        assert_eq!(Family::Claude(4, 5).rungs(), FROM_SCHEMA);
        assert_eq!(Family::Claude(u32::MAX, 0).rungs(), FROM_SCHEMA);
    }
}
