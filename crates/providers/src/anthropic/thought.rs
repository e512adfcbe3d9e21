//! Whether and how hard a model thinks before it answers, and what that rules out.
//! <https://platform.claude.com/docs/en/build-with-claude/thinking>

use domain::{ChatRequest, Json, Role, ToolMode, seams::Target};
use serde_json::json;

use super::{
    model::{Model, Off, Thinking},
    options::{self, Demanded, given},
};

const MAX_TOKENS: u64 = 4096;
/// The least that a budget for thinking may be.
const LEAST_BUDGET: u64 = 1024;
/// No budget is more, whatever a client writes.
const MAX_BUDGET: u64 = 1 << 20;

/// Whether the target can be made to call a tool: not a model that refuses to be, and none that was told to think.
pub(super) fn may_force_tool(target: &Target) -> bool {
    let thinking = given(target, "thinking").map(Json::to_value);
    let is_off = thinking.is_none_or(|thinking| thinking["type"] == "disabled");
    is_off && Model::named(&target.model).takes_forced_tool()
}

/// What becomes of the OpenAI dialect's `reasoning_effort`, beside a client's own `thinking`.
/// <https://platform.claude.com/docs/en/build-with-claude/effort>
#[derive(Debug, Default)]
pub(super) struct Thought {
    pub(super) thinking: Option<Json>,
    pub(super) effort: Option<Json>,
    /// What is added for thinking to the tokens of the answer itself.
    budget: u64,
    /// Whether it is we who have the model think.
    is_on: bool,
    /// Why nothing became of it, if so.
    pub(super) left_out: Option<&'static str>,
}

impl Thought {
    /// What becomes of it in that request.
    pub(super) fn of(target: &Target, request: &ChatRequest, demanded: &Demanded) -> Self {
        let own = given(target, "thinking").cloned();
        let is_told = own.is_some();
        let budget = own
            .as_ref()
            .map(|own| own.to_value()["budget_tokens"].as_u64());
        let told = Self {
            thinking: own,
            budget: budget.flatten().unwrap_or(0).min(MAX_BUDGET),
            ..Self::default()
        };
        let Some(effort) = given(target, "reasoning_effort") else {
            return told;
        };
        let model = Model::named(&target.model);
        let word = effort.as_string().unwrap_or_default();
        let is_forced = is_forced(target, request, demanded);
        match model.thinking() {
            Thinking::Adaptive => {
                let adaptive = Self::adaptive(model, effort, &word, is_forced);
                if is_told {
                    let effort = adaptive.effort;
                    return Self { effort, ..told };
                }
                adaptive
            }
            _ if is_told || word == "none" => told,
            Thinking::Never => Self::none_because("the model cannot think"),
            Thinking::Budget if is_forced => {
                Self::none_because("the model cannot think where it has to call a tool")
            }
            Thinking::Budget if goes_on_after_tools(request) => Self::none_because(
                "the model goes on after a tool only with thoughts that the conversation does not hold",
            ),
            Thinking::Budget => Self::with_budget(target, &word),
        }
    }

    fn none_because(why: &'static str) -> Self {
        Self {
            left_out: Some(why),
            ..Self::default()
        }
    }

    fn adaptive(model: Model, effort: &Json, word: &str, is_forced: bool) -> Self {
        if word == "none" {
            return match model.off() {
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
            ..Self::default()
        }
    }

    fn with_budget(target: &Target, word: &str) -> Self {
        let wished = match word {
            "minimal" | "low" => LEAST_BUDGET,
            "medium" => 4 * LEAST_BUDGET,
            "xhigh" | "max" => 24 * LEAST_BUDGET,
            _ => 16 * LEAST_BUDGET,
        };
        // Half of what the client allows in all is for the answer.
        let most = options::max_tokens(target).and_then(|most| most.text().parse::<u64>().ok());
        let budget = most.map_or(wished, |most| wished.min(most / 2));
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

    /// How long the answer may be, thoughts included.
    pub(super) fn max_tokens(&self, target: &Target) -> Json {
        let ours = || Json::of(&(MAX_TOKENS + self.budget));
        options::max_tokens(target).cloned().unwrap_or_else(ours)
    }

    /// Whether the model can be told how bold to be.
    pub(super) fn takes_sampling(&self, target: &Target) -> bool {
        !self.is_on && Model::named(&target.model).takes_sampling()
    }
}

/// Whether the model has to call a tool: for us, for the caller, or for the client's own `tool_choice`.
fn is_forced(target: &Target, request: &ChatRequest, demanded: &Demanded) -> bool {
    let is_force =
        |choice: &Json| matches!(choice.to_value()["type"].as_str(), Some("any" | "tool"));
    let callers = request.tool_choice.as_ref();
    let callers = callers.filter(|_| !request.tools.is_empty());
    demanded.tool.is_some()
        || callers.is_some_and(|it| matches!(it.mode, ToolMode::Required | ToolMode::Named(_)))
        || given(target, "tool_choice").is_some_and(is_force)
}

/// Whether the model has not answered yet since it got the result of a tool.
fn goes_on_after_tools(request: &ChatRequest) -> bool {
    let messages = request.messages.iter().rev();
    let mut since = messages.take_while(|message| message.role != Role::Assistant);
    since.any(|message| message.role == Role::Tool)
}
