//! A function of the caller's, in the words that many dialects have for it: declared, and called.

use std::borrow::Cow;

use domain::{Json, Tool, ToolCall};
use serde::Serialize;
use serde_json::json;

use super::ids;

/// A function that may be called.
#[derive(Serialize)]
pub(crate) struct Declared<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    function: Named<'a>,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parameters: Json,
}

impl<'a> Declared<'a> {
    /// Declares one; without parameters, it has an object of none.
    pub(crate) fn of(tool: &'a Tool) -> Self {
        let none = || Json::of(&json!({ "type": "object", "properties": {} }));
        Self {
            kind: &tool.kind,
            function: Named {
                name: &tool.name,
                description: tool.description.as_deref(),
                parameters: tool.parameters.clone().unwrap_or_else(none),
            },
        }
    }
}

/// A call of one.
#[derive(Serialize)]
pub(crate) struct Call<'a> {
    id: Cow<'a, str>,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a> Call<'a> {
    /// Words a call.
    pub(crate) fn of(call: &'a ToolCall) -> Self {
        Self {
            id: Cow::Borrowed(&call.id),
            kind: "function",
            function: Called {
                name: &call.name,
                arguments: &call.arguments,
            },
        }
    }

    /// The same with an id of no more than so many characters.
    pub(crate) fn with_id_within(call: &'a ToolCall, longest_id: usize) -> Self {
        Self {
            id: ids::short(&call.id, longest_id),
            ..Self::of(call)
        }
    }
}
