//! Bodies of requests. A target's options follow our own members, verbatim.

use std::borrow::Cow;

use domain::{ChatRequest, EmbeddingRequest, ImageRequest, Json, Message, Role, seams::Target};
use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};

use super::{
    embeddings::{ENCODING, renamed, wants_base64},
    function::Call,
    ids,
    parts::Content,
};
use crate::{adapter::Manner, compatible, vocabulary::OURS};

const STREAM_OPTIONS: &str = "stream_options";
const TOOLS: &str = "tools";
const TOOL_CHOICE: &str = "tool_choice";
pub(super) const PROMPT: &str = "prompt";

/// The body of a chat request.
pub(super) struct ChatBody<'a> {
    pub(super) target: &'a Target,
    pub(super) request: &'a ChatRequest,
    pub(super) manner: Manner,
    /// What holds the answer to a schema.
    pub(super) demand: &'a [(&'static str, Json)],
}

impl Serialize for ChatBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry("model", &self.target.model)?;
        let messages = Messages {
            messages: &self.request.messages,
            longest_id: compatible::longest_id(self.target),
        };
        body.serialize_entry("messages", &messages)?;
        if !self.request.tools.is_empty() {
            let tools = self.request.tools.iter().map(|tool| &tool.as_given);
            body.serialize_entry(TOOLS, &tools.collect::<Vec<_>>())?;
        }
        if let Some(choice) = &self.request.tool_choice {
            body.serialize_entry(TOOL_CHOICE, &choice.as_given)?;
        }
        for (member, value) in self.demand {
            body.serialize_entry(member, value)?;
        }
        if self.manner == Manner::Streamed {
            body.serialize_entry("stream", &true)?;
            let is_given = self.target.options.contains_key(STREAM_OPTIONS);
            if !is_given && compatible::of(self.target).takes_stream_options {
                body.serialize_entry(
                    STREAM_OPTIONS,
                    &StreamOptions {
                        include_usage: true,
                    },
                )?;
            }
        }
        let limit = compatible::of(self.target).limit.other_name(self.target);
        for (name, value) in &self.target.options {
            let is_ours = OURS.contains(&name.as_str()) || is_replaced(name, self.request);
            if !is_ours {
                let name = limit
                    .filter(|(given, _)| given == name)
                    .map_or(name.as_str(), |it| it.1);
                body.serialize_entry(name, value)?;
            }
        }
        body.end()
    }
}

/// A sentence for each option that the request has something else for.
pub(super) fn warnings(target: &Target, request: &ChatRequest) -> Vec<String> {
    let options = target.options.iter().filter(|(_, value)| !value.is_null());
    let replaced = options.filter(|(name, _)| is_replaced(name, request));
    let warning = |name: &str| format!("the option `{name}` was left out: the request has its own");
    replaced.map(|(name, _)| warning(name)).collect()
}

/// Whether the request says what an option says.
fn is_replaced(option: &str, request: &ChatRequest) -> bool {
    match option {
        TOOLS => !request.tools.is_empty(),
        TOOL_CHOICE => request.tool_choice.is_some(),
        _ => false,
    }
}

/// The body of an embedding request.
pub(super) struct EmbeddingBody<'a> {
    pub(super) target: &'a Target,
    pub(super) request: &'a EmbeddingRequest,
}

impl Serialize for EmbeddingBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry("model", &self.target.model)?;
        body.serialize_entry("input", &self.request.input)?;
        if wants_base64(self.target) && !self.target.options.contains_key(ENCODING) {
            body.serialize_entry(ENCODING, "base64")?;
        }
        for (name, value) in options(self.target, "input") {
            if let Some(name) = renamed(self.target, name) {
                body.serialize_entry(name, value)?;
            }
        }
        body.end()
    }
}

/// The body of a request for an image.
pub(super) struct ImageBody<'a> {
    pub(super) target: &'a Target,
    pub(super) request: &'a ImageRequest,
}

impl Serialize for ImageBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry("model", &self.target.model)?;
        body.serialize_entry(PROMPT, &self.request.prompt)?;
        for (name, value) in options(self.target, PROMPT) {
            body.serialize_entry(name, value)?;
        }
        body.end()
    }
}

/// All options that are not ours, nor the body's `own`.
fn options<'t>(target: &'t Target, own: &str) -> impl Iterator<Item = (&'t str, &'t Json)> {
    let options = target.options.iter();
    let options = options.map(|(name, value)| (name.as_str(), value));
    options.filter(move |(name, _)| *name != own && !OURS.contains(name))
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

struct Messages<'a> {
    messages: &'a [Message],
    /// How many characters the id of a call may have.
    longest_id: usize,
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let most = self.longest_id;
        let mut turns = serializer.serialize_seq(Some(self.messages.len()))?;
        for message in self.messages {
            match &message.as_given {
                Some(given) if may_have_longer(message, given, most) => {
                    let shortened = ids::shortened(given, most);
                    turns.serialize_element(shortened.as_ref().unwrap_or(given))?;
                }
                Some(given) => turns.serialize_element(given)?,
                None => turns.serialize_element(&Turn::of(message, most))?,
            }
        }
        turns.end()
    }
}

/// Whether a turn in the caller's own words is worth a look for ids that are too long.
fn may_have_longer(message: &Message, given: &Json, most: usize) -> bool {
    matches!(message.role, Role::Assistant | Role::Tool) && given.text().len() > most
}

#[derive(Serialize)]
struct Turn<'a> {
    role: Role,
    /// `null` where a turn is its calls alone: some hosts refuse an empty text there.
    content: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
}

impl<'a> Turn<'a> {
    fn of(message: &'a Message, longest_id: usize) -> Self {
        let calls = message.tool_calls.iter();
        let answered = message.tool_call_id.as_deref();
        let is_calls_alone = message.parts.is_empty() && !message.tool_calls.is_empty();
        Self {
            role: message.role,
            content: (!is_calls_alone).then(|| Content::of(&message.parts)),
            tool_calls: calls
                .map(|call| Call::with_id_within(call, longest_id))
                .collect(),
            tool_call_id: answered.map(|id| ids::short(id, longest_id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{JsonObject, Tool};

    use super::*;
    use crate::wire::tests::target;

    #[test]
    fn an_option_that_the_request_replaces_is_told() {
        let options: JsonObject =
            serde_json::from_str(r#"{"tools":[],"tool_choice":"auto","top_k":1}"#).unwrap();
        let target = Target {
            options,
            ..target("http://localhost")
        };
        let tool = Tool {
            kind: "function".to_owned(),
            name: "f".to_owned(),
            description: None,
            parameters: None,
            as_given: Json::null(),
        };
        let request = ChatRequest {
            tools: vec![tool],
            ..ChatRequest::default()
        };

        assert_eq!(
            warnings(&target, &request),
            ["the option `tools` was left out: the request has its own"]
        );
        assert_eq!(warnings(&target, &ChatRequest::default()), [""; 0]);
    }
}
