//! What a demand for a JSON value becomes in the body of a request, and what its answer needs to be read.
//!
//! What a client wrote out itself among its options wins over what we would ask for.

use domain::{
    ChatRequest, Demand, Json, JsonObject, Rung,
    seams::{BESIDE_TOOLS, Target},
};
use serde::Serialize;

use super::{
    options::{self, Demanded, OUTPUT_CONFIG},
    schema,
    tools::{Choice, TOOL_CHOICE, TOOLS},
};
use crate::{
    adapter::Demanding,
    brought,
    openai::{
        joining::{Calls, Joining},
        wrap::{self, Unwrapping},
    },
    wire::Fault,
};

/// What keeps a schema from the rung on which the host itself holds an answer to it.
pub(crate) const TOO_MUCH: &str = "cannot carry the schema";

/// What must be known of a request to read its answer.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    form: Form,
    calls: Calls,
    /// Whether calls are of the caller's tools.
    has_tools: bool,
    /// Whether the request has members that only the demand put there.
    is_demanding: bool,
}

/// Whether the value comes as a member of an object, and of which.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Form {
    #[default]
    Bare,
    /// Of the text.
    WrappedText,
    /// Of the arguments of a call.
    WrappedCall,
}

impl Reading {
    /// Whether a call is one of the caller's tools, and no answer.
    pub(super) fn has_tools(&self) -> bool {
        self.has_tools
    }

    /// Joins what is said and called to the text of the answer.
    pub(super) fn joining(&self) -> Joined {
        Joined {
            joining: Joining::new(self.calls, self.form == Form::WrappedCall),
            unwrapping: (self.form == Form::WrappedText).then(Unwrapping::default),
        }
    }
}

impl Demanding for Reading {
    fn is_demanding(&self) -> bool {
        self.is_demanding
    }
}

/// The text of an answer, piece by piece.
#[derive(Debug)]
pub(super) struct Joined {
    joining: Joining,
    unwrapping: Option<Unwrapping>,
}

impl Joined {
    /// What a piece of the text adds.
    pub(super) fn said(&mut self, piece: &str) -> String {
        match &mut self.unwrapping {
            Some(unwrapping) => self.joining.content(&unwrapping.push(piece)),
            None => self.joining.content(piece),
        }
    }

    /// What a piece of the arguments of the call of that number adds.
    pub(super) fn called(&mut self, number: u64, piece: &str) -> Result<String, Fault> {
        self.joining.call(number, piece)
    }

    /// What was held back, when nothing more comes.
    pub(super) fn finish(&mut self) -> String {
        let rest = self.unwrapping.as_mut().map(Unwrapping::finish);
        let rest = rest.map_or_else(String::new, |rest| self.joining.content(&rest));
        rest + &self.joining.finish()
    }
}

/// What keeps a request from being asked on a rung.
pub(super) fn obstacle(target: &Target, request: &ChatRequest, rung: Rung) -> Option<&'static str> {
    let has_tools = brought::has_tools(target, request) || has_own_tools(target);
    let may_call = !has_tools && options::may_force_tool(target);
    match rung {
        Rung::ForcedTool if has_tools => Some(BESIDE_TOOLS),
        Rung::NativeSchema if !may_call && !has_own_format(target) => {
            let demand = request.demand.as_ref()?;
            native_schema(demand).is_none().then_some(TOO_MUCH)
        }
        _ => None,
    }
}

/// Words a demand, on its rung or, where that cannot carry the schema, on the next below.
pub(super) fn worded(target: &Target, request: &ChatRequest) -> (Demanded, Reading) {
    let has_tools = !request.tools.is_empty();
    let reading = Reading {
        has_tools: brought::has_functions(target, request),
        ..Reading::default()
    };
    let Some(demand) = &request.demand else {
        return (Demanded::default(), reading);
    };
    let may_call = !has_tools && !has_own_tools(target) && options::may_force_tool(target);
    let native = (demand.rung == Rung::NativeSchema && !has_own_format(target))
        .then(|| native_schema(demand))
        .flatten();
    let is_tool = matches!(demand.rung, Rung::NativeSchema | Rung::ForcedTool)
        && !has_own_format(target)
        && may_call;
    let (demanded, form, calls) = match native {
        Some((format, form)) => {
            let format = Some(format);
            let demanded = Demanded { format, tool: None };
            (demanded, form, Calls::Beside)
        }
        None if is_tool => {
            let (demanded, form) = forced_tool(demand);
            (demanded, form, Calls::Demanded)
        }
        None => (Demanded::default(), Form::Bare, Calls::Beside),
    };
    let reading = Reading {
        form,
        calls,
        is_demanding: demanded.format.is_some() || demanded.tool.is_some(),
        ..reading
    };
    (demanded, reading)
}

/// Whether the client says itself what form the answer is to have.
fn has_own_format(target: &Target) -> bool {
    let config = options::given(target, OUTPUT_CONFIG);
    let own = config.is_some_and(|config| !config.to_value()["format"].is_null());
    // The member's name before it had a place in `output_config`.
    own || options::given(target, "output_format").is_some()
}

/// Whether the client brings tools in the dialect's own words.
fn has_own_tools(target: &Target) -> bool {
    let options = [TOOLS, TOOL_CHOICE];
    options
        .iter()
        .any(|name| options::given(target, name).is_some())
}

/// The schema as the host's own affair.
/// <https://platform.claude.com/docs/en/build-with-claude/structured-outputs>
fn native_schema(demand: &Demand) -> Option<(Json, Form)> {
    #[derive(Serialize)]
    struct Format<'a> {
        #[serde(rename = "type")]
        kind: &'static str,
        schema: &'a Json,
    }
    let wrapped = wrap::wrapped(&demand.schema);
    let schema = schema::carried(wrapped.as_ref().unwrap_or(&demand.schema))?;
    let format = Format {
        kind: "json_schema",
        schema: &schema,
    };
    let form = match wrapped {
        Some(_) => Form::WrappedText,
        None => Form::Bare,
    };
    Some((Json::of(&format), form))
}

/// A tool whose arguments fit the schema, and no choice but to call it, once.
fn forced_tool(demand: &Demand) -> (Demanded, Form) {
    #[derive(Serialize)]
    struct Tool<'a> {
        name: &'a str,
        input_schema: &'a Json,
    }
    let wrapped = wrap::wrapped(&demand.schema);
    let tool = Tool {
        name: &demand.name,
        input_schema: &without_choices(wrapped.as_ref().unwrap_or(&demand.schema)),
    };
    let choice = Choice {
        kind: "tool",
        name: Some(&demand.name),
        disable_parallel_tool_use: Some(true),
    };
    let form = match wrapped {
        Some(_) => Form::WrappedCall,
        None => Form::Bare,
    };
    let tool = Some((Json::of(&tool), Json::of(&choice)));
    (Demanded { format: None, tool }, form)
}

/// The schema without choices at its root, which tools may not have: fewer demands, never more.
fn without_choices(schema: &Json) -> Json {
    let mut root: JsonObject = serde_json::from_str(schema.text()).unwrap_or_default();
    for keyword in ["anyOf", "oneOf", "allOf"] {
        root.shift_remove(keyword);
    }
    Json::of(&root)
}
