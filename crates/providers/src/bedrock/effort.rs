//! `reasoning_effort` in the words of each family of models.
//!
//! Claude since 4.6 decides itself how long it thinks and takes a level; before, it takes a budget of tokens
//! (<https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html>). Amazon Nova 2 has
//! levels too (<https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html>).

use domain::{ChatRequest, Json, JsonObject, Role, seams::Target};
use serde_json::{Value, json};

use super::{family::Family, options};

pub(super) const REASONING_EFFORT: &str = "reasoning_effort";

/// The smallest budget that Claude takes.
const MIN_BUDGET: u64 = 1024;
const BUDGETS: [(&str, u64); 4] = [
    ("minimal", MIN_BUDGET),
    ("low", MIN_BUDGET),
    ("medium", 4096),
    ("high", 16_384),
];
/// For `xhigh`, `max` and the like.
const MAX_BUDGET: u64 = 32_768;

/// What becomes of the option.
pub(super) enum Effort {
    /// It is not given, or the model does what it asks for unasked.
    Unsaid,
    /// Members of `additionalModelRequestFields`.
    Fields(JsonObject),
    /// It is left out; why, in words that follow `the model`.
    LeftOut(&'static str),
}

impl Effort {
    /// Words the option.
    pub(super) fn of(target: &Target, request: &ChatRequest) -> Self {
        let given = target.options.get(REASONING_EFFORT);
        let Some(given) = given.filter(|given| !given.is_null()) else {
            return Self::Unsaid;
        };
        let level = given.as_string().unwrap_or_default();
        match Family::of(&target.model) {
            Family::Effort => Self::Fields([(REASONING_EFFORT.to_owned(), given.clone())].into()),
            Family::Claude(..) | Family::Nova2 if level.is_empty() => {
                Self::LeftOut("takes a level in words")
            }
            Family::Nova2 => fields(&[("reasoningConfig", nova(&level))]),
            Family::Claude(..) if level == "none" => Self::Unsaid,
            Family::Claude(major, minor) if (major, minor) < (3, 7) => {
                Self::LeftOut("does not reason")
            }
            Family::Claude(major, minor) if (major, minor) < (4, 6) => {
                budget(target, request, &level)
            }
            Family::Claude(..) => {
                let level = if level == "minimal" { "low" } else { &level };
                fields(&[
                    ("thinking", json!({ "type": "adaptive" })),
                    ("output_config", json!({ "effort": level })),
                ])
            }
            Family::Nova | Family::Open | Family::Other | Family::Opaque => {
                Self::LeftOut("is not known to take one")
            }
        }
    }
}

fn fields(members: &[(&str, Value)]) -> Effort {
    let members = members
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Json::of(value)));
    Effort::Fields(members.collect())
}

fn nova(level: &str) -> Value {
    let level = match level {
        "none" => return json!({ "type": "disabled" }),
        "minimal" | "low" => "low",
        "medium" => "medium",
        _ => "high",
    };
    json!({ "type": "enabled", "maxReasoningEffort": level })
}

fn budget(target: &Target, request: &ChatRequest, level: &str) -> Effort {
    // Claude wants its own thoughts back with the results of the tools that it called, and we do not have them.
    let last = request.messages.last();
    if last.is_some_and(|message| message.role == Role::Tool) {
        return Effort::LeftOut(
            "does not reason about a tool's result without its thoughts so far",
        );
    }
    let row = BUDGETS.iter().find(|(known, _)| *known == level);
    let budget = row.map_or(MAX_BUDGET, |(_, budget)| *budget);
    let limit = options::inference(target).get("maxTokens").cloned();
    let limit = limit.and_then(|limit| limit.text().parse::<u64>().ok());
    // The budget is part of the limit, and something must be left for the answer.
    let budget = limit.map_or(budget, |limit| budget.min(limit.saturating_sub(1)));
    if budget < MIN_BUDGET {
        return Effort::LeftOut("reasons only where the answer may have more than 1024 tokens");
    }
    fields(&[(
        "thinking",
        json!({ "type": "enabled", "budget_tokens": budget }),
    )])
}
