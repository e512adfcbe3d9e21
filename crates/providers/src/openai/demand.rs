//! What a demand for a JSON value becomes in the body of a request, and what its answer needs to be read.
//!
//! What a client wrote out itself among its options wins over what we would ask for.

use std::borrow::Cow;

use domain::{ChatRequest, Demand, Json, Rung, seams::Target};
use serde::Serialize;

use super::{
    joining::{Calls, Joining},
    strict, wrap,
};
use crate::{
    adapter::{Demanding, Manner},
    compatible,
};

const RESPONSE_FORMAT: &str = "response_format";
/// Options that say how an answer is to be given. With one of them, a host that refuses may well refuse the client's.
const CLIENTS: [&str; 5] = [
    RESPONSE_FORMAT,
    "tools",
    "tool_choice",
    "functions",
    "function_call",
];

/// What must be known of a request to read its answer.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    form: Form,
    calls: Calls,
    /// Whether the calls of the answer are the caller's.
    has_tools: bool,
    /// Whether the request has members that only the demand put there.
    is_demanding: bool,
}

/// How the answer is less, or more, than what was demanded.
#[derive(Debug, Default)]
enum Form {
    /// It is neither.
    #[default]
    Bare,
    /// The arguments of a call hold it as a member.
    Wrapped,
    /// Members that the schema does not ask for are `null` rather than left out.
    Filled(Json),
}

impl Reading {
    /// The same of a request that has tools of the caller, or none.
    pub(super) fn beside_tools(self, has_tools: bool) -> Self {
        Self { has_tools, ..self }
    }

    /// Whether the calls of the answer are of the caller's tools, and no part of its text.
    pub(super) const fn has_tools(&self) -> bool {
        self.has_tools
    }

    /// Reads the content of a message.
    pub(crate) fn content(&self, text: String) -> String {
        match &self.form {
            Form::Filled(schema) => strict::emptied(schema, text),
            Form::Bare | Form::Wrapped => text,
        }
    }

    /// Joins the content and the calls of the answer to its text.
    pub(crate) fn joining(&self) -> Joining {
        Joining::new(self.calls, matches!(self.form, Form::Wrapped))
    }
}

impl Demanding for Reading {
    fn is_demanding(&self) -> bool {
        self.is_demanding
    }
}

/// Members of the body.
pub(crate) type Members = Vec<(&'static str, Json)>;

/// The request's demand, on a rung that can be stood on: among the caller's tools none can be forced for us, so the next
/// lower one is asked.
pub(super) fn standing<'a>(target: &Target, request: &'a ChatRequest) -> Option<Cow<'a, Demand>> {
    let demand = request.demand.as_ref()?;
    if request.tools.is_empty() || demand.rung != Rung::ForcedTool {
        return Some(Cow::Borrowed(demand));
    }
    let mut rungs = compatible::of(target).rungs.iter();
    let lower = rungs.find(|lower| **lower > demand.rung);
    Some(Cow::Owned(Demand {
        rung: lower.copied().unwrap_or(Rung::Prompt),
        ..demand.clone()
    }))
}

/// Words a demand.
pub(crate) fn worded(
    target: &Target,
    demand: Option<&Demand>,
    manner: Manner,
) -> (Members, Reading) {
    let has = |option: &str| target.options.contains_key(option);
    let has_any = CLIENTS.into_iter().any(has);
    let (members, form) = match demand {
        Some(demand) if demand.rung == Rung::NativeSchema && !has(RESPONSE_FORMAT) => {
            match &demand.as_given {
                Some(format) => (vec![(RESPONSE_FORMAT, format.clone())], Form::Bare),
                None => native_schema(target, demand, manner),
            }
        }
        Some(demand) if demand.rung == Rung::ForcedTool && !has_any => forced_tool(demand),
        Some(demand) if demand.rung == Rung::JsonMode && !has(RESPONSE_FORMAT) => {
            let format = demand.as_given.clone().filter(is_json_object);
            let format = format.unwrap_or_else(|| json_mode(target, demand));
            (vec![(RESPONSE_FORMAT, format)], Form::Bare)
        }
        _ => (Vec::new(), Form::Bare),
    };
    let calls = match demand {
        None => Calls::Instead,
        Some(demand) if demand.rung == Rung::ForcedTool && !has_any => Calls::Demanded,
        Some(_) => Calls::Beside,
    };
    let reading = Reading {
        form,
        calls,
        has_tools: false,
        is_demanding: !members.is_empty() && !has_any,
    };
    (members, reading)
}

/// Whether a caller's own form is that of any JSON.
fn is_json_object(format: &Json) -> bool {
    format.to_value()["type"] == "json_object"
}

/// Any JSON; of the schema, where the host reads that or has never been seen to mind.
fn json_mode(target: &Target, demand: &Demand) -> Json {
    #[derive(Serialize)]
    struct Format<'a> {
        #[serde(rename = "type")]
        kind: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        schema: Option<&'a Json>,
    }
    let takes_schema = compatible::of(target).takes_schema_in_json_mode;
    Json::of(&Format {
        kind: "json_object",
        schema: takes_schema.then_some(&demand.schema),
    })
}

/// The schema as the host's own affair; strictly, where the model can and nothing stands against it.
fn native_schema(target: &Target, demand: &Demand, manner: Manner) -> (Members, Form) {
    #[derive(Serialize)]
    struct Format<'a> {
        #[serde(rename = "type")]
        kind: &'static str,
        json_schema: Named<'a>,
    }
    #[derive(Serialize)]
    struct Named<'a> {
        name: &'a str,
        schema: &'a Json,
        strict: bool,
    }
    let subset = strict::subset(&target.provider, &target.model);
    let strict = subset.and_then(|subset| strict::rewritten(&demand.schema, subset));
    // What was filled in can be taken back out of a whole answer alone.
    let strict = strict.filter(|strict| manner == Manner::Whole || !strict.is_filled);
    let format = Format {
        kind: "json_schema",
        json_schema: Named {
            name: &demand.name,
            schema: strict.as_ref().map_or(&demand.schema, |it| &it.schema),
            strict: strict.is_some(),
        },
    };
    let form = if strict.as_ref().is_some_and(|strict| strict.is_filled) {
        Form::Filled(demand.schema.clone())
    } else {
        Form::Bare
    };
    (vec![(RESPONSE_FORMAT, Json::of(&format))], form)
}

/// A tool whose parameters are the schema, and no choice but to call it.
fn forced_tool(demand: &Demand) -> (Members, Form) {
    #[derive(Serialize)]
    struct Tool<F> {
        #[serde(rename = "type")]
        kind: &'static str,
        function: F,
    }
    #[derive(Serialize)]
    struct Declared<'a> {
        name: &'a str,
        parameters: &'a Json,
    }
    #[derive(Serialize)]
    struct Called<'a> {
        name: &'a str,
    }
    let wrapped = wrap::wrapped(&demand.schema);
    let name = demand.name.as_str();
    let declared = Tool {
        kind: "function",
        function: Declared {
            name,
            parameters: wrapped.as_ref().unwrap_or(&demand.schema),
        },
    };
    let called = Tool {
        kind: "function",
        function: Called { name },
    };
    let members = vec![
        ("tools", Json::of(&[declared])),
        ("tool_choice", Json::of(&called)),
    ];
    let form = match wrapped {
        Some(_) => Form::Wrapped,
        None => Form::Bare,
    };
    (members, form)
}
