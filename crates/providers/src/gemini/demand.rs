//! Demands for a JSON value and the caller's tools in the body of a request, and what its answer needs to be read.
//!
//! What a client wrote out itself among its options wins over what we would ask for.

use domain::{
    ChatRequest, Demand, Json, JsonObject, Rung, Tool, ToolMode,
    seams::{ProviderError, ProviderErrorKind as Kind, Target},
};
use serde::Serialize;

use super::{config, schema};
use crate::{
    adapter::Demanding,
    brought,
    openai::{
        joining::{Calls, Joining},
        wrap,
    },
};

const MIME_TYPE: &str = "responseMimeType";
const JSON_SCHEMA: &str = "responseJsonSchema";
/// With one of these in a client's `generationConfig`, a host that refuses may well refuse the client's.
const CLIENTS: [&str; 4] = [MIME_TYPE, JSON_SCHEMA, "responseSchema", "responseFormat"];
const TOOL_CONFIG: &str = "toolConfig";

/// What must be known of a request to read its answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reading {
    calls: Calls,
    is_wrapped: bool,
    /// Whether the caller gave tools: then the calls are the caller's.
    has_tools: bool,
    /// Whether the request has members that only the demand put there.
    is_demanding: bool,
}

impl Reading {
    /// Joins the text and the calls of the answer to one text.
    pub(super) fn joining(&self) -> Joining {
        Joining::new(self.calls, self.is_wrapped)
    }

    /// Whether the calls are the caller's.
    pub(super) const fn has_tools(&self) -> bool {
        self.has_tools
    }
}

impl Demanding for Reading {
    fn is_demanding(&self) -> bool {
        self.is_demanding
    }
}

/// Members of the body.
pub(super) struct Worded {
    /// Of `generationConfig`.
    pub(super) config: JsonObject,
    pub(super) tools: Vec<Json>,
    pub(super) tool_config: Option<Json>,
    pub(super) reading: Reading,
}

/// Words tools and demand.
pub(super) fn worded(target: &Target, request: &ChatRequest) -> Result<Worded, ProviderError> {
    let mut tools = declared(target, request)?;
    let clients_tools = config::clients_tools(target)?;
    let clients_config = config::clients(target)?;
    let has_format = CLIENTS.iter().any(|it| clients_config.contains_key(*it));
    let has_tool_config = config::given(target, TOOL_CONFIG).is_some();
    let has_any_tools = !tools.is_empty() || !clients_tools.is_empty() || has_tool_config;
    let mut reading = Reading {
        has_tools: brought::has_functions(target, request),
        ..Reading::default()
    };
    let mut members = JsonObject::new();
    let mut tool_config = None;
    match &request.demand {
        Some(demand) if demand.rung == Rung::NativeSchema && !has_format => {
            members = native_schema(demand);
            reading.calls = Calls::Beside;
        }
        Some(demand) if demand.rung == Rung::JsonMode && !has_format => {
            members = json_mode();
            reading.calls = Calls::Beside;
        }
        // A model that is forced to call one tool could call none of the caller's.
        Some(demand) if demand.rung == Rung::ForcedTool && !has_any_tools && !has_format => {
            let wrapped = wrap::wrapped(&demand.schema);
            let parameters = wrapped.as_ref().unwrap_or(&demand.schema);
            tools.push(declaration(&demand.name, None, Some(parameters)));
            tool_config = Some(calling("ANY", Some(&demand.name)));
            reading.calls = Calls::Demanded;
            reading.is_wrapped = wrapped.is_some();
        }
        Some(_) => reading.calls = Calls::Beside,
        None => {}
    }
    reading.is_demanding = !members.is_empty() || tool_config.is_some();
    let chosen = chosen(target, request)?.filter(|_| !has_tool_config);
    Ok(Worded {
        config: members,
        tools: declarations(tools)
            .into_iter()
            .chain(clients_tools)
            .collect(),
        tool_config: tool_config.or(chosen),
        reading,
    })
}

/// The schema as the host's own affair.
fn native_schema(demand: &Demand) -> JsonObject {
    let mut members = json_mode();
    let schema = schema::within_subset(&demand.schema);
    if schema.text() != "{}" {
        members.insert(JSON_SCHEMA.to_owned(), schema);
    }
    members
}

fn json_mode() -> JsonObject {
    JsonObject::from_iter([(MIME_TYPE.to_owned(), Json::of(&"application/json"))])
}

/// The caller's tools.
fn declared(target: &Target, request: &ChatRequest) -> Result<Vec<Json>, ProviderError> {
    let declared = request.tools.iter().map(|tool| match tool.kind.as_str() {
        "function" => Ok(of_caller(tool)),
        kind => {
            let reason = format!(
                "a tool of the kind `{kind}` cannot be used with the model `{}`: the dialect of `{}` has functions alone",
                target.name, target.provider
            );
            Err(ProviderError::new(Kind::Invalid, reason))
        }
    });
    declared.collect()
}

fn of_caller(tool: &Tool) -> Json {
    let description = tool.description.as_deref();
    declaration(&tool.name, description, tool.parameters.as_ref())
}

fn declaration(name: &str, description: Option<&str>, parameters: Option<&Json>) -> Json {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Declaration<'a> {
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parameters_json_schema: Option<Json>,
    }
    Json::of(&Declaration {
        name,
        description,
        parameters_json_schema: parameters.map(schema::within_subset),
    })
}

/// All functions as the one tool that holds them.
fn declarations(functions: Vec<Json>) -> Option<Json> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Functions {
        function_declarations: Vec<Json>,
    }
    let function_declarations = functions;
    (!function_declarations.is_empty()).then(|| {
        Json::of(&Functions {
            function_declarations,
        })
    })
}

/// The caller's choice among its tools.
fn chosen(target: &Target, request: &ChatRequest) -> Result<Option<Json>, ProviderError> {
    let Some(choice) = request.tool_choice.as_ref() else {
        return Ok(None);
    };
    let calling = match &choice.mode {
        _ if request.tools.is_empty() => return Ok(None),
        ToolMode::Auto => calling("AUTO", None),
        ToolMode::None => calling("NONE", None),
        ToolMode::Required => calling("ANY", None),
        ToolMode::Named(name) => calling("ANY", Some(name)),
        ToolMode::Other => {
            let reason = format!(
                "the `tool_choice` {} cannot be used with the model `{}`",
                choice.as_given.text(),
                target.name
            );
            return Err(ProviderError::new(Kind::Invalid, reason));
        }
    };
    Ok(Some(calling))
}

fn calling(mode: &'static str, name: Option<&str>) -> Json {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct ToolConfig<'a> {
        function_calling_config: Calling<'a>,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Calling<'a> {
        mode: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        allowed_function_names: Option<[&'a str; 1]>,
    }
    Json::of(&ToolConfig {
        function_calling_config: Calling {
            mode,
            allowed_function_names: name.map(|name| [name]),
        },
    })
}
