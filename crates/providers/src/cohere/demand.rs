//! What a demand for a JSON value becomes in the body of a request, and what its answer needs to be read.
//!
//! What a client wrote out itself among its options wins over what we would ask for. A format cannot be asked for beside
//! tools, so with tools of the caller's the words in the prompt are all there is: no other rung can be asked on.

use domain::{ChatRequest, Demand, Json, Rung, seams::Target};
use serde::Serialize;

use crate::{
    adapter::Demanding,
    assembly::{Assembly, Shape, Wrapped},
    brought,
    openai::{joining::Calls, wrap},
};

const RESPONSE_FORMAT: &str = "response_format";
/// Options that say how an answer is to be given.
const CLIENTS: [&str; 3] = [RESPONSE_FORMAT, "tools", "tool_choice"];

/// What must be known of a request to read its answer.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    shape: Shape,
    /// Whether the request has members that only the demand put there.
    is_demanding: bool,
}

impl Reading {
    /// Puts the answer together.
    pub(super) fn assembly(&self) -> Assembly {
        Assembly::new(self.shape)
    }
}

impl Demanding for Reading {
    fn is_demanding(&self) -> bool {
        self.is_demanding
    }
}

/// Members of the body.
pub(super) type Members = Vec<(&'static str, Json)>;

/// Words a demand.
pub(super) fn worded(target: &Target, request: &ChatRequest) -> (Members, Reading) {
    let has_tools = !request.tools.is_empty();
    let has_any = CLIENTS
        .iter()
        .any(|option| target.options.contains_key(*option));
    let demand = request.demand.as_ref().filter(|_| !has_tools && !has_any);
    let (members, wrapped) = match demand {
        Some(demand) => members(demand),
        None => (Vec::new(), Wrapped::Nothing),
    };
    let calls = match (&request.demand, demand) {
        (None, _) => Calls::Instead,
        (_, Some(demand)) if demand.rung == Rung::ForcedTool => Calls::Demanded,
        _ => Calls::Beside,
    };
    let reading = Reading {
        is_demanding: !members.is_empty(),
        shape: Shape {
            has_tools: brought::has_functions(target, request),
            calls,
            wrapped,
        },
    };
    (members, reading)
}

fn members(demand: &Demand) -> (Members, Wrapped) {
    #[derive(Serialize)]
    struct Format<'a> {
        #[serde(rename = "type")]
        kind: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        json_schema: Option<&'a Json>,
    }
    #[derive(Serialize)]
    struct Tool<'a> {
        #[serde(rename = "type")]
        kind: &'static str,
        function: Function<'a>,
    }
    #[derive(Serialize)]
    struct Function<'a> {
        name: &'a str,
        parameters: &'a Json,
    }
    // The root of a schema is an object, wherever one stands.
    let around = wrap::wrapped(&demand.schema);
    let schema = around.as_ref().unwrap_or(&demand.schema);
    let wrapped_in = |place| {
        if around.is_some() {
            place
        } else {
            Wrapped::Nothing
        }
    };
    let format = |json_schema| {
        let kind = "json_object";
        vec![(RESPONSE_FORMAT, Json::of(&Format { kind, json_schema }))]
    };
    match demand.rung {
        Rung::NativeSchema => (format(Some(schema)), wrapped_in(Wrapped::Content)),
        Rung::ForcedTool => {
            let function = Function {
                name: &demand.name,
                parameters: schema,
            };
            let kind = "function";
            let members = vec![
                ("tools", Json::of(&[Tool { kind, function }])),
                ("tool_choice", Json::of(&"REQUIRED")),
            ];
            (members, wrapped_in(Wrapped::Arguments))
        }
        // The mode lets objects through alone.
        Rung::JsonMode if around.is_none() => (format(None), Wrapped::Nothing),
        Rung::JsonMode | Rung::Prompt => (Vec::new(), Wrapped::Nothing),
    }
}
