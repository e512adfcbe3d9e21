//! Bodies of requests. What the client wrote in this dialect's own words wins over what we make of the rest.

use std::borrow::Cow;

use domain::{
    ChatRequest, Demand, Json, JsonObject, Rung,
    seams::{ProviderError, Target},
};
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{VOCABULARY, input::Item, tools};
use crate::{
    adapter::Manner,
    compatible::PERPLEXITY,
    openai::demand::{self, Members},
    vocabulary::carried,
};

const RESPONSE_FORMAT: &str = "response_format";
const STREAM_OPTIONS: &str = "stream_options";
const TOOLS: &str = "tools";
const TOOL_CHOICE: &str = "tool_choice";
/// What has to be asked for if log probabilities are to come.
const LOGPROBS: &str = "message.output_text.logprobs";

/// The body of a request.
pub(super) struct Body<'a> {
    pub(super) model: &'a str,
    pub(super) input: &'a [Item<'a>],
    pub(super) members: &'a JsonObject,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry("model", self.model)?;
        body.serialize_entry("input", self.input)?;
        for (name, value) in self.members {
            body.serialize_entry(name, value)?;
        }
        body.end()
    }
}

/// All members of the body but the model and the conversation, and how the answer is read.
pub(super) fn members(
    target: &Target,
    request: &ChatRequest,
    manner: Manner,
) -> Result<(JsonObject, demand::Reading), ProviderError> {
    let demand = request
        .demand
        .as_ref()
        .map(|demand| feasible(target, request, demand));
    let (demanded, reading) = demand::worded(target, demand.as_deref(), manner);
    let chat = Chat {
        options: &target.options,
        demanded: &demanded,
    };

    let mut body = JsonObject::new();
    // Perplexity keeps nothing that it could be told not to, and has the form where chats have it:
    // https://docs.perplexity.ai/api-reference/agent-post.
    let is_perplexity = target.provider == PERPLEXITY;
    if !is_perplexity {
        body.insert("store".to_owned(), Json::of(&false));
    }
    if manner == Manner::Streamed {
        body.insert("stream".to_owned(), Json::of(&true));
        // Its one member there is that of the chat dialect; the count always comes here.
        let mut options = object(chat.get(STREAM_OPTIONS));
        options.shift_remove("include_usage");
        merge(&mut body, STREAM_OPTIONS, options);
    }
    for (name, value) in carried(target, VOCABULARY) {
        body.insert(name.to_owned(), value.clone());
    }

    let reasoning = chat.named(&[("effort", "reasoning_effort")]);
    merge(&mut body, "reasoning", reasoning);
    let mut text = chat.named(&[("format", RESPONSE_FORMAT), ("verbosity", "verbosity")]);
    if is_perplexity && let Some(format) = text.shift_remove("format") {
        body.insert(RESPONSE_FORMAT.to_owned(), format);
    }
    if let Some(format) = text.get_mut("format") {
        *format = tools::flat(format);
        // Whose host is not known may get a schema beside it in the chat dialect; here it is no member.
        let mut members = object(Some(format));
        if members.get("type").and_then(Json::as_string).as_deref() == Some("json_object") {
            members.shift_remove("schema");
            *format = Json::of(&members);
        }
    }
    merge(&mut body, "text", text);
    include_logprobs(&mut body, chat.get("logprobs"));
    let (declared, choice) = tools::worded(request, chat.get(TOOLS), chat.get(TOOL_CHOICE))?;
    let both = [(TOOLS, declared), (TOOL_CHOICE, choice)];
    let given = both
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    body.extend(given);
    Ok((body, reading))
}

/// The demand on the rung on which it can be put beside what the client wrote itself.
fn feasible<'a>(target: &Target, request: &ChatRequest, demand: &'a Demand) -> Cow<'a, Demand> {
    let has_format = object(target.options.get("text")).contains_key("format");
    let is_taken = match demand.rung {
        Rung::NativeSchema | Rung::JsonMode => has_format,
        Rung::ForcedTool => has_format || !request.tools.is_empty(),
        Rung::Prompt => false,
    };
    if is_taken {
        Cow::Owned(Demand {
            rung: Rung::Prompt,
            ..demand.clone()
        })
    } else {
        Cow::Borrowed(demand)
    }
}

/// What is asked for in the words of the chat dialect: by the client's options, and by the demand.
struct Chat<'a> {
    options: &'a JsonObject,
    demanded: &'a Members,
}

impl<'a> Chat<'a> {
    fn get(&self, name: &str) -> Option<&'a Json> {
        let demanded = || {
            let mut demanded = self.demanded.iter();
            demanded.find_map(|(known, value)| (*known == name).then_some(value))
        };
        let given = self.options.get(name).or_else(demanded);
        given.filter(|value| !value.is_null())
    }

    /// Members by the names that they have here.
    fn named(&self, names: &[(&str, &str)]) -> JsonObject {
        let names = names.iter();
        let given = names.filter_map(|(here, there)| {
            let value = self.get(there)?;
            Some(((*here).to_owned(), value.clone()))
        });
        given.collect()
    }
}

/// Puts members into an object of the body; the client's own members of it win.
fn merge(body: &mut JsonObject, name: &str, mut ours: JsonObject) {
    let given = body.get(name).filter(|given| !given.is_null());
    // What is no object is for the provider to refuse.
    if ours.is_empty() || given.is_some_and(|given| !given.is_object()) {
        return;
    }
    ours.extend(object(given));
    body.insert(name.to_owned(), Json::of(&ours));
}

fn include_logprobs(body: &mut JsonObject, asked: Option<&Json>) {
    if asked.is_none_or(|asked| asked.text() != "true") {
        return;
    }
    let given = body.get("include").map(Json::text);
    let given: Option<Vec<Json>> = given.and_then(|given| serde_json::from_str(given).ok());
    let mut include = given.unwrap_or_default();
    let logprobs = Json::of(&LOGPROBS);
    if !include.contains(&logprobs) {
        include.push(logprobs);
    }
    body.insert("include".to_owned(), Json::of(&include));
}

/// The members of an object; none of anything else.
pub(super) fn object(value: Option<&Json>) -> JsonObject {
    let members = value.and_then(|value| serde_json::from_str(value.text()).ok());
    members.unwrap_or_default()
}
