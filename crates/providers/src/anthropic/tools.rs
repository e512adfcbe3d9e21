//! Tools: the caller's, which of them may be called, and how their calls are named.
//! <https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview>

use std::{borrow::Cow, collections::BTreeSet, ops::Not};

use domain::{
    ChatRequest, Json, JsonObject, Role, Rung, Tool, ToolMode,
    seams::{ProviderError, ProviderErrorKind, Target},
};
use serde::Serialize;

use super::{model::Model, options::given, schema::Room};
use crate::{openai::wrap, schema};

/// Tools in the dialect's own words among a client's options, and the choice of them.
pub(super) const TOOLS: &str = "tools";
pub(super) const TOOL_CHOICE: &str = "tool_choice";

/// A choice of tools.
#[derive(Debug, Serialize)]
pub(super) struct Choice<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) disable_parallel_tool_use: Option<bool>,
}

/// A tool.
#[derive(Debug, Serialize)]
struct Declared<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Not::not")]
    strict: bool,
    input_schema: JsonObject,
}

/// All tools of a request, and which of them may be called.
#[derive(Debug, Default)]
pub(super) struct Tooling {
    pub(super) tools: Option<Json>,
    pub(super) choice: Option<Json>,
}

impl Tooling {
    /// With the tool that takes the answer, if one was `demanded`. The caller's tools stand beside those that the
    /// client's options name in the dialect's own words; of two choices the caller's holds.
    pub(super) fn of(
        target: &Target,
        request: &ChatRequest,
        demanded: Option<(Json, Json)>,
    ) -> Result<Self, ProviderError> {
        if let Some((tool, choice)) = demanded {
            return Ok(Self {
                tools: Some(Json::of(&[tool])),
                choice: Some(choice),
            });
        }
        let own_choice = given(target, TOOL_CHOICE).cloned();
        let own = given(target, TOOLS);
        let Some(mut tools) = own.map_or(Some(Vec::new()), list) else {
            // The provider will say what is wrong with it.
            return Ok(Self {
                tools: own.cloned(),
                choice: own_choice,
            });
        };
        let mut choice = own_choice;
        if !request.tools.is_empty() {
            tools.splice(..0, declared(target, request)?);
            if request.tool_choice.is_some() || choice.is_none() {
                choice = caller_choice(target, request)?.map(|choice| Json::of(&choice));
            }
        } else if tools.is_empty() {
            tools = told(request).into_iter().map(undescribed).collect();
            if !tools.is_empty() && choice.is_none() {
                choice = Some(Json::of(&Choice {
                    kind: "none",
                    name: None,
                    disable_parallel_tool_use: None,
                }));
            }
        }
        Ok(Self {
            tools: (!tools.is_empty()).then(|| Json::of(&tools)),
            choice,
        })
    }

    /// Whether the model has to call one.
    pub(super) fn is_forced(&self) -> bool {
        let choice = self.choice.as_ref().map(Json::to_value);
        choice.is_some_and(|choice| matches!(choice["type"].as_str(), Some("any" | "tool")))
    }
}

fn list(tools: &Json) -> Option<Vec<Json>> {
    serde_json::from_str(tools.text()).ok()
}

/// The names of the tools that the conversation tells of. Anthropic's models want to be told of these, though none of
/// them may be called any more.
pub(crate) fn told(request: &ChatRequest) -> BTreeSet<&str> {
    let calls = request
        .messages
        .iter()
        .filter(|it| it.role == Role::Assistant);
    let calls = calls.flat_map(|message| &message.tool_calls);
    calls.map(|call| call.name.as_str()).collect()
}

/// A tool of which only the name is known.
fn undescribed(name: &str) -> Json {
    let input_schema = [("type".to_owned(), Json::of(&"object"))];
    Json::of(&Declared {
        name,
        description: None,
        strict: false,
        input_schema: input_schema.into(),
    })
}

/// The caller's tools.
fn declared(target: &Target, request: &ChatRequest) -> Result<Vec<Json>, ProviderError> {
    let tools = request.tools.iter().zip(held(target, request));
    let declared = tools.map(|(tool, held)| {
        if tool.kind != "function" {
            let reason = format!(
                "a tool of the type `{}` cannot be carried: the dialect knows functions alone",
                tool.kind
            );
            return Err(ProviderError::new(ProviderErrorKind::Invalid, reason));
        }
        Ok(Json::of(&Declared {
            name: &tool.name,
            description: tool.description.as_deref(),
            strict: held.is_some(),
            input_schema: held.unwrap_or_else(|| parameters(tool)),
        }))
    });
    declared.collect()
}

/// Of each of the caller's tools the schema that its arguments are held to, if they are. The provider does that for fewer
/// and smaller schemas than the hosts that callers write them for: one too many, and it refuses the request.
/// <https://platform.claude.com/docs/en/agents-and-tools/tool-use/strict-tool-use>
fn held(target: &Target, request: &ChatRequest) -> Vec<Option<JsonObject>> {
    let may_be = Model::named(&target.model).holds_tools_to_schemas();
    let demand = request.demand.as_ref();
    let native = demand.filter(|demand| demand.rung == Rung::NativeSchema);
    let answer = native.map(|it| wrap::wrapped(&it.schema).unwrap_or_else(|| it.schema.clone()));
    let mut room = Room::beside(answer.as_ref());
    let held = request.tools.iter().map(|tool| {
        let wanted = tool.parameters.as_ref();
        let wanted = wanted.filter(|_| may_be && is_strict(tool))?;
        schema::object(&room.take(wanted)?)
    });
    held.collect()
}

/// Whether the caller wants a tool's arguments held to their schema.
fn is_strict(tool: &Tool) -> bool {
    tool.as_given.to_value()["function"]["strict"] == true
}

/// What is said of tools whose arguments were to be held to their schemas and are not.
pub(super) fn warnings_of_strict(target: &Target, request: &ChatRequest) -> Vec<String> {
    let tools = request.tools.iter().zip(held(target, request));
    let loose = tools.filter(|(tool, held)| is_strict(tool) && held.is_none());
    let warning = |tool: &Tool| {
        format!(
            "`strict` of the tool `{}` was left out: its arguments are not held to its schema",
            tool.name
        )
    };
    loose.map(|(tool, _)| warning(tool)).collect()
}

/// The same, where no tool's are.
pub(crate) fn warning_of_strict(request: &ChatRequest) -> Option<String> {
    request.tools.iter().find(|tool| is_strict(tool))?;
    let warning =
        "`strict` of the tools was left out: their arguments are not held to their schemas";
    Some(warning.to_owned())
}

/// The arguments of a tool, which are an object whether or not its schema says so; here it has to.
fn parameters(tool: &Tool) -> JsonObject {
    let given = tool.parameters.as_ref();
    let given = given.and_then(|given| serde_json::from_str(given.text()).ok());
    let mut schema: JsonObject = given.unwrap_or_default();
    if !schema.contains_key("type") {
        schema.shift_insert(0, "type".to_owned(), Json::of(&"object"));
    }
    schema
}

/// Which of the caller's tools may be called; `None` where the caller says nothing of it.
fn caller_choice<'a>(
    target: &Target,
    request: &'a ChatRequest,
) -> Result<Option<Choice<'a>>, ProviderError> {
    let parallel = target.options.get("parallel_tool_calls").map(Json::text);
    let one_at_most = (parallel == Some("false")).then_some(true);
    let (kind, name) = match request.tool_choice.as_ref().map(|choice| &choice.mode) {
        None if one_at_most.is_none() => return Ok(None),
        None | Some(ToolMode::Auto) => ("auto", None),
        Some(ToolMode::None) => ("none", None),
        Some(ToolMode::Required) => ("any", None),
        Some(ToolMode::Named(name)) => ("tool", Some(name.as_str())),
        Some(ToolMode::Other) => {
            let reason = "the `tool_choice` cannot be carried: the dialect has nothing like it";
            return Err(ProviderError::new(ProviderErrorKind::Invalid, reason));
        }
    };
    Ok(Some(Choice {
        kind,
        name,
        // Nothing is told of calls where there are none.
        disable_parallel_tool_use: one_at_most.filter(|_| kind != "none"),
    }))
}

/// The id of a call, which another host may have made up of characters that are refused here.
pub(super) fn call_id(id: &str) -> Cow<'_, str> {
    let is_taken = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    if id.chars().all(is_taken) {
        return Cow::Borrowed(id);
    }
    let taken = id.chars();
    let taken = taken.map(|char| if is_taken(char) { char } else { '_' });
    Cow::Owned(taken.collect())
}
