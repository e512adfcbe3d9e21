//! What a model of Anthropic's takes, wherever it is hosted, as far as its name tells: `claude-<family>-<version>`, or the other way round in older names.
//!
//! As of <https://platform.claude.com/docs/en/models/overview> and the pages of what is new in each model. Of a name
//! without a version the newest is assumed; of a stranger's model, what hosts that copy this dialect have copied.

/// How a model is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// It cannot think.
    Never,
    /// With so many tokens.
    Budget,
    /// As it sees fit, with an effort.
    Adaptive,
}

/// How a model is told not to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Off {
    /// By that type of `thinking`.
    Type(&'static str),
    /// It cannot be: the lowest effort is the least.
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Haiku,
    Sonnet,
    Opus,
    /// The largest, which think whatever is asked for.
    Largest,
    Other,
}

/// A model, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Model {
    family: Family,
    version: (u32, u32),
}

const NEWEST: (u32, u32) = (u32::MAX, 0);
/// That of names that end with it: `claude-v2:1`, `claude-instant-v1`.
const OLDEST: (u32, u32) = (2, 0);
/// The version whose ways others copied.
const COPIED: (u32, u32) = (4, 5);

impl Model {
    /// The model of that name.
    pub(crate) fn named(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let Some((_, name)) = name.split_once("claude") else {
            return Self {
                family: Family::Other,
                version: COPIED,
            };
        };
        let words = || name.split(|char: char| !char.is_ascii_alphanumeric());
        let family = words().find_map(|word| match word {
            "haiku" => Some(Family::Haiku),
            "sonnet" => Some(Family::Sonnet),
            "opus" => Some(Family::Opus),
            "fable" | "mythos" => Some(Family::Largest),
            _ => None,
        });
        // Longer numbers are dates.
        let short = words().filter(|word| word.len() <= 2);
        let mut numbers = short.filter_map(|word| word.parse().ok());
        let version = numbers
            .next()
            .map(|major| (major, numbers.next().unwrap_or(0)));
        let is_old = name.starts_with("-v") || name.starts_with("-instant");
        Self {
            family: family.unwrap_or(Family::Other),
            version: match version {
                _ if is_old => OLDEST,
                version => version.unwrap_or(NEWEST),
            },
        }
    }

    pub(crate) fn thinking(self) -> Thinking {
        match self.version {
            version if version < (3, 7) => Thinking::Never,
            version if version < (4, 6) => Thinking::Budget,
            _ => Thinking::Adaptive,
        }
    }

    /// Whether it thinks unless it is told not to.
    pub(crate) fn thinks_unasked(self) -> bool {
        self.version >= (5, 0)
    }

    /// Whether it holds an answer to a schema.
    pub(crate) fn holds_to_schema(self) -> bool {
        self.version >= (4, 5)
    }

    /// Whether it holds the arguments of tools to their schemas; of strangers' models nobody knows.
    pub(crate) fn holds_tools_to_schemas(self) -> bool {
        self.holds_to_schema() && self.family != Family::Other
    }

    pub(crate) fn off(self) -> Off {
        match self.family {
            Family::Largest => Off::Never,
            Family::Opus if self.version >= (5, 5) => Off::Never,
            Family::Sonnet if self.version >= (5, 5) => Off::Type("between_tools"),
            _ => Off::Type("disabled"),
        }
    }

    /// Whether it tells its thoughts only where that is asked for.
    pub(crate) fn hides_thoughts(self) -> bool {
        self.version >= (4, 7)
    }

    /// Whether there is an effort between `high` and `max`.
    pub(crate) fn has_extra_high(self) -> bool {
        self.version >= (4, 7)
    }

    /// Whether it can be told how bold to be: `temperature` and the like.
    pub(crate) fn takes_sampling(self) -> bool {
        self.version < (4, 7)
    }

    /// Whether it can be made to call a tool.
    pub(crate) fn takes_forced_tool(self) -> bool {
        match self.family {
            Family::Opus | Family::Sonnet => self.version < (5, 5),
            Family::Largest => self.version < (5, 1),
            Family::Haiku | Family::Other => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_out_of_every_form_of_name() {
        let cases = [
            ("claude-haiku-5-5", Family::Haiku, (5, 5)),
            ("claude-haiku-4-5-20251001", Family::Haiku, (4, 5)),
            ("claude-opus-4-20250514", Family::Opus, (4, 0)),
            ("claude-3-7-sonnet-latest", Family::Sonnet, (3, 7)),
            ("anthropic/Claude-Sonnet-4.6", Family::Sonnet, (4, 6)),
            ("us.anthropic.claude-opus-4-6-v1", Family::Opus, (4, 6)),
            ("claude-sonnet-5@default", Family::Sonnet, (5, 0)),
            ("claude-mythos-preview", Family::Largest, NEWEST),
            ("claude-sonnet-latest", Family::Sonnet, NEWEST),
            ("anthropic.claude-v2:1", Family::Other, OLDEST),
            ("anthropic.claude-instant-v1", Family::Other, OLDEST),
            (
                "us.anthropic.claude-3-7-sonnet-20250219-v1:0",
                Family::Sonnet,
                (3, 7),
            ),
            (
                "arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-20250514-v1:0",
                Family::Sonnet,
                (4, 0),
            ),
            ("MiniMax-M2.1", Family::Other, COPIED),
        ];

        for (name, family, version) in cases {
            assert_eq!(Model::named(name), Model { family, version }, "{name}");
        }
    }

    #[test]
    fn models_take_what_their_pages_say() {
        let takes = |name: &str| {
            let model = Model::named(name);
            (
                model.thinking(),
                model.off(),
                model.takes_sampling(),
                model.takes_forced_tool(),
            )
        };
        let disabled = Off::Type("disabled");

        let cases = [
            (
                "claude-3-5-haiku-20241022",
                (Thinking::Never, disabled, true, true),
            ),
            ("claude-haiku-4-5", (Thinking::Budget, disabled, true, true)),
            (
                "claude-sonnet-4-6",
                (Thinking::Adaptive, disabled, true, true),
            ),
            (
                "claude-opus-4-8",
                (Thinking::Adaptive, disabled, false, true),
            ),
            (
                "claude-haiku-5-5",
                (Thinking::Adaptive, disabled, false, true),
            ),
            (
                "claude-sonnet-5",
                (Thinking::Adaptive, disabled, false, true),
            ),
            (
                "claude-sonnet-5-5",
                (Thinking::Adaptive, Off::Type("between_tools"), false, false),
            ),
            (
                "claude-opus-5-5",
                (Thinking::Adaptive, Off::Never, false, false),
            ),
            (
                "claude-fable-5",
                (Thinking::Adaptive, Off::Never, false, true),
            ),
            (
                "claude-fable-5-1",
                (Thinking::Adaptive, Off::Never, false, false),
            ),
            ("glm-4.6", (Thinking::Budget, disabled, true, true)),
        ];

        for (name, expected) in cases {
            assert_eq!(takes(name), expected, "{name}");
        }
    }
}
