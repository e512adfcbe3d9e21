//! Whether and how hard a model of Anthropic's thinks before it answers, wherever it is hosted, and what that rules out.
//! <https://platform.claude.com/docs/en/build-with-claude/thinking>

use domain::{ChatRequest, Json, Role};
use serde_json::json;

use super::model::{Model, Off, Thinking};

/// The tokens of an answer itself, where nobody says how long it may be.
const MAX_TOKENS: u64 = 4096;
/// The least that a budget for thinking may be.
const LEAST_BUDGET: u64 = 1024;
/// Why a model that thinks with a budget does not.
const THOUGHTLESS: &str =
    "the model goes on after a tool only with thoughts that the conversation does not hold";
/// No budget is more, whatever a client writes.
const MAX_BUDGET: u64 = 1 << 20;

/// Whether the model can be made to call a tool: not one that refuses to be, and none that the client told to think.
pub(crate) fn may_force_tool(model: Model, thinking: Option<&Json>) -> bool {
    let thinking = thinking.map(Json::to_value);
    let is_off = thinking.is_none_or(|thinking| thinking["type"] == "disabled");
    is_off && model.takes_forced_tool()
}

/// Whether the model has not answered yet since it got the result of a tool.
pub(crate) fn goes_on_after_tools(request: &ChatRequest) -> bool {
    let messages = request.messages.iter().rev();
    let mut since = messages.take_while(|message| message.role != Role::Assistant);
    since.any(|message| message.role == Role::Tool)
}

/// What of a request thinking depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// Who is to think.
    pub(crate) model: Model,
    /// The client's own `thinking`.
    pub(crate) thinking: Option<&'a Json>,
    /// The OpenAI dialect's `reasoning_effort`.
    pub(crate) effort: Option<&'a Json>,
    /// How long the client lets the answer be, thoughts included.
    pub(crate) max_tokens: Option<u64>,
    /// Whether the model has to call a tool.
    pub(crate) is_forced: bool,
    /// Whether it goes on with the result of one.
    pub(crate) goes_on_after_tools: bool,
}

/// What becomes of `reasoning_effort`, beside a client's own `thinking`.
/// <https://platform.claude.com/docs/en/build-with-claude/effort>
#[derive(Debug, Default)]
pub(crate) struct Thought {
    pub(crate) thinking: Option<Json>,
    pub(crate) effort: Option<Json>,
    /// What is added for thinking to the tokens of the answer itself.
    budget: u64,
    /// Whether it is we who have the model think.
    is_on: bool,
    /// Why nothing became of it, or nothing but an effort.
    left_out: Option<&'static str>,
    /// Why nothing became of the client's own `thinking`, if so.
    own_left_out: Option<&'static str>,
}

impl Thought {
    /// What becomes of it in that request.
    pub(crate) fn of(asked: Asked<'_>) -> Self {
        let is_told = asked.thinking.is_some();
        let told = Self::told(asked);
        let Some(effort) = asked.effort else {
            return told;
        };
        let word = effort.as_string().unwrap_or_default();
        match asked.model.thinking() {
            Thinking::Adaptive => {
                let adaptive = Self::adaptive(asked, effort, &word);
                if is_told {
                    let effort = adaptive.effort;
                    return Self { effort, ..told };
                }
                adaptive
            }
            _ if is_told || word == "none" => told,
            Thinking::Never => Self::none_because("the model cannot think"),
            Thinking::Budget if asked.is_forced => {
                Self::none_because("the model cannot think where it has to call a tool")
            }
            Thinking::Budget if asked.goes_on_after_tools => Self::none_because(THOUGHTLESS),
            Thinking::Budget => Self::with_budget(asked.max_tokens, &word),
        }
    }

    /// What the client says itself. With a budget the model wants its thoughts back with a tool's results; without one
    /// it does not mind: <https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking#validation-changes>.
    fn told(asked: Asked<'_>) -> Self {
        let Some(own) = asked.thinking else {
            return Self::default();
        };
        let thinking = own.to_value();
        if asked.goes_on_after_tools && thinking["type"] == "enabled" {
            return Self {
                own_left_out: Some(THOUGHTLESS),
                ..Self::default()
            };
        }
        let budget = thinking["budget_tokens"].as_u64();
        Self {
            thinking: Some(own.clone()),
            budget: budget.unwrap_or(0).min(MAX_BUDGET),
            ..Self::default()
        }
    }

    fn none_because(why: &'static str) -> Self {
        Self {
            left_out: Some(why),
            ..Self::default()
        }
    }

    fn adaptive(asked: Asked<'_>, effort: &Json, word: &str) -> Self {
        let Asked {
            model, is_forced, ..
        } = asked;
        if word == "none" {
            return match model.off() {
                _ if !model.thinks_unasked() => Self::default(),
                Off::Type(kind) => Self {
                    thinking: Some(Json::of(&json!({ "type": kind }))),
                    ..Self::default()
                },
                Off::Never => Self {
                    effort: Some(Json::of(&"low")),
                    ..Self::default()
                },
            };
        }
        let effort = match word {
            "minimal" => Json::of(&"low"),
            "xhigh" if !model.has_extra_high() => Json::of(&"high"),
            _ => effort.clone(),
        };
        let kind = if model.hides_thoughts() {
            json!({ "type": "adaptive", "display": "summarized" })
        } else {
            json!({ "type": "adaptive" })
        };
        Self {
            // A model that is told to think cannot be made to call a tool.
            thinking: (!is_forced).then(|| Json::of(&kind)),
            effort: Some(effort),
            is_on: !is_forced,
            left_out: is_forced.then_some("the model cannot think where it has to call a tool"),
            ..Self::default()
        }
    }

    fn with_budget(max_tokens: Option<u64>, word: &str) -> Self {
        let wished = match word {
            "minimal" | "low" => LEAST_BUDGET,
            "medium" => 4 * LEAST_BUDGET,
            "xhigh" | "max" => 24 * LEAST_BUDGET,
            _ => 16 * LEAST_BUDGET,
        };
        // Half of what the client allows in all is for the answer.
        let budget = max_tokens.map_or(wished, |most| wished.min(most / 2));
        if budget < LEAST_BUDGET {
            return Self::none_because("`max_tokens` leaves no room to think");
        }
        let thinking = json!({ "type": "enabled", "budget_tokens": budget });
        Self {
            thinking: Some(Json::of(&thinking)),
            budget,
            is_on: true,
            ..Self::default()
        }
    }

    /// How long the answer may be, thoughts included, where the client does not say.
    pub(crate) const fn max_tokens(&self) -> u64 {
        MAX_TOKENS + self.budget
    }

    /// Whether it is we who gave the model so many tokens to think with.
    pub(crate) const fn has_our_budget(&self) -> bool {
        self.is_on && self.budget > 0
    }

    /// Whether the model can be told how bold to be.
    pub(crate) fn takes_sampling(&self, model: Model) -> bool {
        !self.is_on && model.takes_sampling()
    }

    /// Whether the client's own `thinking` does not go out.
    pub(crate) const fn leaves_out_own(&self) -> bool {
        self.own_left_out.is_some()
    }

    /// What the client is to know of it.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let fate = match self.effort {
            Some(_) => "goes out without thinking",
            None => "was left out",
        };
        let effort = self
            .left_out
            .map(|why| format!("the option `reasoning_effort` {fate}: {why}"));
        let own = self
            .own_left_out
            .map(|why| format!("the option `thinking` was left out: {why}"));
        effort.into_iter().chain(own).collect()
    }
}
