//! Bodies of chat requests.

use super::{Reading, message, options};
use crate::{
    adapter::Manner,
    assembly::{Shape, Wrapped},
    brought,
    openai::{function::Declared, joining::Calls, wrap},
};
use domain::{
    ChatRequest, Json, JsonObject, Rung, ToolMode,
    seams::{BESIDE_TOOLS, ProviderError, ProviderErrorKind, Target},
};

const FORMAT: &str = "format";

/// The body of a chat request, and what its answer needs to be read.
pub(super) fn body(
    target: &Target,
    request: &ChatRequest,
    manner: Manner,
) -> Result<(JsonObject, Reading), ProviderError> {
    brought::check(target, request)?;
    let given = options::members(target);
    let tools = tools(request)?;
    let format = format(target, request).filter(|_| !given.contains_key(FORMAT));
    let reading = Reading {
        shape: Shape {
            has_tools: tools.is_some() || brought::functions(target).is_some(),
            calls: match &request.demand {
                Some(_) => Calls::Beside,
                None => Calls::Instead,
            },
            wrapped: Wrapped::Nothing,
        },
        is_demanding: format.is_some(),
    };
    let messages = message::messages(target, request)?;
    let is_streamed = manner == Manner::Streamed;
    let members = [
        ("model", Some(Json::of(&target.model))),
        ("messages", Some(Json::of(&messages))),
        ("tools", tools),
        (FORMAT, format),
        // Unasked, it streams.
        ("stream", Some(Json::of(&is_streamed))),
    ];
    let mut body: JsonObject = members
        .into_iter()
        .filter_map(|(member, value)| Some((member.to_owned(), value?)))
        .collect();
    for (member, value) in given {
        body.entry(member).or_insert(value);
    }
    Ok((body, reading))
}

/// What keeps a request from being asked on a rung: a form of the answer would keep the model from calling tools.
pub(super) fn obstacle(target: &Target, request: &ChatRequest, rung: Rung) -> Option<&'static str> {
    (rung != Rung::Prompt && may_call(target, request)).then_some(BESIDE_TOOLS)
}

/// Whether the model is told of tools.
fn may_call(target: &Target, request: &ChatRequest) -> bool {
    let choice = request.tool_choice.as_ref();
    let is_off = choice.is_some_and(|choice| choice.mode == ToolMode::None);
    brought::has_tools(target, request) && (request.tools.is_empty() || !is_off)
}

/// What holds the answer to the schema, where that has a place.
fn format(target: &Target, request: &ChatRequest) -> Option<Json> {
    let demand = request.demand.as_ref()?;
    if obstacle(target, request, demand.rung).is_some() {
        return None;
    }
    match demand.rung {
        Rung::NativeSchema => Some(demand.schema.clone()),
        // The mode lets objects through alone.
        Rung::JsonMode if wrap::wrapped(&demand.schema).is_none() => Some(Json::of(&"json")),
        Rung::JsonMode | Rung::ForcedTool | Rung::Prompt => None,
    }
}

/// The caller's tools. There is no choice of tools here: those that must not be called are not told.
fn tools(request: &ChatRequest) -> Result<Option<Json>, ProviderError> {
    let invalid = |what: &str| {
        let reason = format!("{what}: the dialect of Ollama has nothing like it");
        Err(ProviderError::new(ProviderErrorKind::Invalid, reason))
    };
    if let Some(other) = request.tools.iter().find(|tool| tool.kind != "function") {
        return invalid(&format!(
            "tools of the kind `{}` cannot be used here",
            other.kind
        ));
    }
    let choice = request.tool_choice.as_ref();
    let choice = choice.filter(|_| !request.tools.is_empty());
    match choice.map(|choice| (&choice.mode, choice.as_given.text())) {
        None | Some((ToolMode::Auto, _)) => {}
        Some((ToolMode::None, _)) => return Ok(None),
        Some((_, given)) => {
            return invalid(&format!("the tool choice `{given}` cannot be used here"));
        }
    }
    let declared: Vec<Declared> = request.tools.iter().map(Declared::of).collect();
    Ok((!declared.is_empty()).then(|| Json::of(&declared)))
}
