//! What a demand for a JSON value, and the caller's tools, become in a request, and what the answer needs to be read.
//!
//! What a client wrote out itself among its options wins over what we would ask for.

use domain::{
    ChatRequest, Demand, Json, JsonObject, Rung, ToolChoice, ToolMode,
    seams::{BESIDE_TOOLS, ProviderError, ProviderErrorKind as Kind, Target},
};
use serde::Serialize;
use serde_json::json;

use super::{
    family::Family,
    options::{self, OUTPUT_CONFIG, TOOL_CONFIG},
    schema,
};
use crate::{
    adapter::Demanding,
    anthropic::{TOO_MUCH, tools},
    brought,
    openai::wrap,
};

/// What must be known of a request to read its answer.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(super) calls: Calls,
    /// Whether the value stands inside of an object that the schema does not speak of.
    pub(super) is_wrapped: bool,
    /// Whether the request has members that only the demand put there.
    is_demanding: bool,
}

/// What the calls of an answer are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Calls {
    /// Nobody asked for them: the first is the answer where no text is.
    #[default]
    Instead,
    /// They are for the caller, who has the tools.
    Told,
    /// A call was demanded: it is the answer, and text beside it mere talk.
    Demanded,
}

impl Demanding for Reading {
    fn is_demanding(&self) -> bool {
        self.is_demanding
    }
}

/// The members of the body that hold tools and schemas.
pub(super) struct Worded {
    pub(super) tool_config: JsonObject,
    pub(super) output_config: JsonObject,
    pub(super) reading: Reading,
}

/// Words the caller's tools and the demand.
pub(super) fn worded(target: &Target, request: &ChatRequest) -> Result<Worded, ProviderError> {
    brought::check_functions(target, request)?;
    let mut tool_config = callers(target, request)?;
    let mut output_config = JsonObject::new();
    let mut reading = Reading::default();
    if brought::has_functions(target, request) {
        reading.calls = Calls::Told;
    }
    let may_force = !has_tools(target, request)
        && Family::of(&target.model).may_force_tool(options::own_thinking(target).as_ref());
    match &request.demand {
        Some(demand) if demand.rung == Rung::NativeSchema => {
            let given = options::merged(JsonObject::new(), target, OUTPUT_CONFIG);
            let wrapped = wrap::wrapped(&demand.schema);
            let schema = schema::closed(wrapped.as_ref().unwrap_or(&demand.schema));
            match schema {
                _ if given.contains_key("textFormat") => {}
                Some(schema) => {
                    output_config.insert("textFormat".to_owned(), text_format(demand, &schema));
                    reading.is_wrapped = wrapped.is_some();
                    reading.is_demanding = true;
                }
                None if may_force => force(target, demand, &mut tool_config, &mut reading),
                None => {}
            }
        }
        Some(demand) if demand.rung == Rung::ForcedTool && may_force => {
            force(target, demand, &mut tool_config, &mut reading);
        }
        _ => {}
    }
    Ok(Worded {
        tool_config: options::merged(tool_config, target, TOOL_CONFIG),
        output_config: options::merged(output_config, target, OUTPUT_CONFIG),
        reading,
    })
}

/// What keeps a request from being asked on a rung.
pub(super) fn obstacle(target: &Target, request: &ChatRequest, rung: Rung) -> Option<&'static str> {
    let has_tools = has_tools(target, request);
    let thinking = options::own_thinking(target);
    let may_force = !has_tools && Family::of(&target.model).may_force_tool(thinking.as_ref());
    match rung {
        Rung::ForcedTool if has_tools => Some(BESIDE_TOOLS),
        Rung::NativeSchema if !may_force => {
            let schema = &request.demand.as_ref()?.schema;
            let wrapped = wrap::wrapped(schema);
            let closed = schema::closed(wrapped.as_ref().unwrap_or(schema));
            closed.is_none().then_some(TOO_MUCH)
        }
        _ => None,
    }
}

/// Whether there are tools of the caller's: who forces ours keeps the model from these.
fn has_tools(target: &Target, request: &ChatRequest) -> bool {
    brought::has_tools(target, request) || target.options.contains_key(TOOL_CONFIG)
}

/// The schema as the model's own affair. It is carried as a text.
fn text_format(demand: &Demand, schema: &Json) -> Json {
    Json::of(&json!({
        "type": "json_schema",
        "structure": { "jsonSchema": { "schema": schema.text(), "name": demand.name } },
    }))
}

/// A tool whose input is the schema, and no choice but to call it.
fn force(target: &Target, demand: &Demand, tool_config: &mut JsonObject, reading: &mut Reading) {
    let wrapped = wrap::wrapped(&demand.schema);
    let schema = wrapped.as_ref().unwrap_or(&demand.schema);
    let tool = spec(&demand.name, None, Some(schema));
    tool_config.insert("tools".to_owned(), Json::of(&[tool]));
    let choice = if Family::of(&target.model).takes_named_choice() {
        json!({ "tool": { "name": demand.name } })
    } else {
        json!({ "any": {} })
    };
    tool_config.insert("toolChoice".to_owned(), Json::of(&choice));
    *reading = Reading {
        calls: Calls::Demanded,
        is_wrapped: wrapped.is_some(),
        is_demanding: true,
    };
}

/// The caller's tools and which of them the model may call; empty if there are none.
fn callers(target: &Target, request: &ChatRequest) -> Result<JsonObject, ProviderError> {
    let mode = request.tool_choice.as_ref().map(|choice| &choice.mode);
    let other = request.tools.iter().find(|tool| tool.kind != "function");
    if let Some(tool) = other {
        return Err(no_such_tool(
            target,
            &format!("a tool of the type `{}`", tool.kind),
        ));
    }
    if let (Some(ToolMode::Other), Some(ToolChoice { as_given, .. })) = (mode, &request.tool_choice)
    {
        return Err(no_such_tool(
            target,
            &format!("the tool choice `{as_given:?}`"),
        ));
    }
    let mut config = JsonObject::new();
    let told = tools::told(request);
    // Tools that may not be called are not told of; those of turns before must be.
    let is_off = mode == Some(&ToolMode::None) && told.is_empty();
    let mut specs: Vec<Json> = Vec::new();
    if !is_off {
        specs.extend(request.tools.iter().map(|tool| {
            let description = tool.description.as_deref();
            spec(&tool.name, description, tool.parameters.as_ref())
        }));
    }
    if request.tools.is_empty() {
        specs.extend(told.iter().map(|name| spec(name, None, None)));
    }
    if specs.is_empty() {
        return Ok(config);
    }
    config.insert("tools".to_owned(), Json::of(&specs));
    let choice = match mode {
        Some(ToolMode::Required) => json!({ "any": {} }),
        Some(ToolMode::Named(name)) => json!({ "tool": { "name": name } }),
        _ => return Ok(config),
    };
    config.insert("toolChoice".to_owned(), Json::of(&choice));
    Ok(config)
}

/// Whether the model has to call a tool.
pub(super) fn is_forced(tool_config: &JsonObject) -> bool {
    let choice = tool_config.get("toolChoice").map(Json::to_value);
    choice.is_some_and(|choice| choice["any"].is_object() || choice["tool"].is_object())
}

/// A tool; one without a schema takes no arguments, or nothing is known of them.
fn spec(name: &str, description: Option<&str>, schema: Option<&Json>) -> Json {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec<'a> {
        tool_spec: Described<'a>,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Described<'a> {
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        input_schema: Schema<'a>,
    }
    #[derive(Serialize)]
    struct Schema<'a> {
        json: &'a Json,
    }
    let none = || Json::of(&json!({ "type": "object", "properties": {} }));
    let json = schema.cloned().unwrap_or_else(none);
    Json::of(&Spec {
        tool_spec: Described {
            name,
            description: description.filter(|text| !text.trim().is_empty()),
            input_schema: Schema { json: &json },
        },
    })
}

fn no_such_tool(target: &Target, what: &str) -> ProviderError {
    let reason = format!(
        "{what} cannot be used with the model `{}`: the dialect of `{}` has nothing like it",
        target.name, target.provider
    );
    ProviderError::new(Kind::Invalid, reason)
}
