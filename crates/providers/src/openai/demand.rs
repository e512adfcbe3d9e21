//! What a demand for a JSON value becomes in the body of a request, and what its answer needs to be read.
//!
//! What a client wrote out itself among its options wins over what we would ask for.

use domain::{Demand, Json, Rung, seams::Target};
use serde::Serialize;

use super::{
    joining::{Calls, Joining},
    strict, wrap,
};
use crate::{adapter::Manner, wire::Fault};

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
    /// Reads the content of a message.
    pub(super) fn content(&self, text: String) -> String {
        match &self.form {
            Form::Filled(schema) => strict::emptied(schema, text),
            Form::Bare | Form::Wrapped => text,
        }
    }

    /// Joins the content and the calls of the answer to its text.
    pub(super) fn joining(&self) -> Joining {
        Joining::new(self.calls, matches!(self.form, Form::Wrapped))
    }

    /// The fault of the answer, which may be about the demand.
    pub(super) fn fault(&self, fault: Fault) -> Fault {
        if self.is_demanding {
            fault.of_demanding()
        } else {
            fault
        }
    }
}

/// Members of the body.
type Members = Vec<(&'static str, Json)>;

/// Words a demand.
pub(super) fn worded(
    target: &Target,
    demand: Option<&Demand>,
    manner: Manner,
) -> (Members, Reading) {
    let has = |option: &str| target.options.contains_key(option);
    let has_any = CLIENTS.into_iter().any(has);
    let (members, form) = match demand {
        Some(demand) if demand.rung == Rung::NativeSchema && !has(RESPONSE_FORMAT) => {
            native_schema(target, demand, manner)
        }
        Some(demand) if demand.rung == Rung::ForcedTool && !has_any => forced_tool(demand),
        Some(demand) if demand.rung == Rung::JsonMode && !has(RESPONSE_FORMAT) => {
            let format = Json::of(&Typed {
                kind: "json_object",
            });
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
        is_demanding: !members.is_empty() && !has_any,
    };
    (members, reading)
}

#[derive(Serialize)]
struct Typed {
    #[serde(rename = "type")]
    kind: &'static str,
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
