//! Tools, the choice among them, and the form of the answer, as the dialect writes them.

use std::{collections::HashSet, sync::LazyLock};

use domain::{Demand, Invalid, Json, Rung, Tool, ToolChoice, ToolMode};
use engine::Step;
use serde::Deserialize;
use serde_json::json;

use super::messages::missing;
use crate::{extract::reread, problem::Problem};

/// The kind of a tool that takes a text and no object.
const CUSTOM: &str = "custom";
/// What a caller that demands a value names it, if it names it nothing.
const UNNAMED: &str = "answer";

static ANY_OBJECT: LazyLock<Json> = LazyLock::new(|| Json::of(&json!({"type": "object"})));
static ANYTHING: LazyLock<Json> = LazyLock::new(|| Json::of(&json!({})));

#[derive(Deserialize)]
struct ToolBody {
    #[serde(rename = "type")]
    kind: String,
    function: Option<Declared>,
    custom: Option<Named>,
}

#[derive(Deserialize)]
struct Declared {
    name: String,
    description: Option<String>,
    parameters: Option<Json>,
}

#[derive(Deserialize)]
struct Chosen {
    #[serde(rename = "type")]
    kind: String,
    function: Option<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct Format {
    #[serde(rename = "type")]
    kind: String,
    json_schema: Option<SchemaBody>,
}

#[derive(Deserialize)]
struct SchemaBody {
    name: Option<String>,
    schema: Option<Json>,
}

/// What a `response_format` asks for.
pub(super) enum Form {
    /// Nothing.
    Text,
    /// A value.
    Demanded(Demand),
    /// Something that the model's host may know.
    Other(Json),
}

/// The names of the tools that take a text: calls of these are told in another shape.
#[derive(Debug, Default)]
pub(super) struct Customs(HashSet<String>);

impl Customs {
    /// Those among a request's tools.
    pub(super) fn of(tools: &[Tool]) -> Self {
        let customs = tools.iter().filter(|tool| tool.kind == CUSTOM);
        Self(customs.map(|tool| tool.name.clone()).collect())
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// Reads `body.tools`.
pub(super) fn tools(given: Vec<Json>) -> Result<Vec<Tool>, Problem> {
    let read = |(index, given): (usize, Json)| {
        let at = [
            Step::Name("body".to_owned()),
            Step::Name("tools".to_owned()),
            Step::Index(index),
        ];
        let tool: ToolBody = reread(&given, &at)?;
        if tool.kind != "function" {
            let custom = tool.custom.filter(|_| tool.kind == CUSTOM);
            return Ok(Tool {
                name: custom.map_or_else(|| tool.kind.clone(), |custom| custom.name),
                kind: tool.kind,
                description: None,
                parameters: None,
                as_given: given,
            });
        }
        let declared = tool.function.ok_or_else(|| missing(&at, "function"))?;
        Ok(Tool {
            kind: tool.kind,
            name: declared.name,
            description: declared.description,
            parameters: declared.parameters,
            as_given: given,
        })
    };
    given.into_iter().enumerate().map(read).collect()
}

/// Reads `body.tool_choice`.
pub(super) fn choice(given: Json) -> Result<ToolChoice, Problem> {
    let mode = match given.as_string().as_deref() {
        Some("auto") => ToolMode::Auto,
        Some("none") => ToolMode::None,
        Some("required") => ToolMode::Required,
        Some(_) => {
            let fault = "must be one of: none, auto, required; or an object";
            let fault = Invalid::new("enum", fault).at("tool_choice");
            return Err(Problem::invalid("body", &fault));
        }
        None => {
            let at = ["body", "tool_choice"].map(|name| Step::Name(name.to_owned()));
            let chosen: Chosen = reread(&given, &at)?;
            match (chosen.kind.as_str(), chosen.function) {
                ("function", Some(named)) => ToolMode::Named(named.name),
                ("function", None) => return Err(missing(&at, "function")),
                _ => ToolMode::Other,
            }
        }
    };
    Ok(ToolChoice {
        mode,
        as_given: given,
    })
}

/// Reads `body.response_format`.
pub(super) fn form(given: Json) -> Result<Form, Problem> {
    let at = ["body", "response_format"].map(|name| Step::Name(name.to_owned()));
    let format: Format = reread(&given, &at)?;
    Ok(match (format.kind.as_str(), format.json_schema) {
        ("text", _) => Form::Text,
        ("json_object", _) => Form::Demanded(Demand {
            name: UNNAMED.to_owned(),
            schema: ANY_OBJECT.clone(),
            rung: Rung::JsonMode,
            as_given: Some(given),
        }),
        ("json_schema", Some(named)) => Form::Demanded(Demand {
            name: named.name.unwrap_or_else(|| UNNAMED.to_owned()),
            schema: named.schema.unwrap_or_else(|| ANYTHING.clone()),
            rung: Rung::NativeSchema,
            as_given: Some(given),
        }),
        ("json_schema", None) => return Err(missing(&at, "json_schema")),
        _ => Form::Other(given),
    })
}
