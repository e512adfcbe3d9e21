//! Bodies of chat requests: the conversation in the dialect's words.

use std::{borrow::Cow, collections::HashMap, mem};

use domain::{
    ChatRequest, Json, JsonObject, Message, Part, Role, ToolCall,
    seams::{ProviderError, ProviderErrorKind as Kind, Target},
};
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{
    call::{self, Signed},
    config,
    demand::{self, Reading},
    media::Medium,
};
use crate::vocabulary;

const USER: &str = "user";
const MODEL: &str = "model";

/// The body of `generateContent`.
pub(super) struct Body<'a> {
    target: &'a Target,
    system: Vec<Piece<'a>>,
    contents: Vec<Content<'a>>,
    tools: Vec<Json>,
    tool_config: Option<Json>,
    config: JsonObject,
}

/// Words a conversation.
pub(super) fn chat<'a>(
    target: &'a Target,
    request: &'a ChatRequest,
) -> Result<(Body<'a>, Reading), ProviderError> {
    config::check(target)?;
    let demanded = demand::worded(target, request)?;
    let (system, contents) = conversation(target, &request.messages)?;
    let body = Body {
        target,
        system,
        contents,
        tools: demanded.tools,
        tool_config: demanded.tool_config,
        config: config::generation_config(target, demanded.config)?,
    };
    Ok((body, demanded.reading))
}

/// Words a conversation that asks for nothing special.
pub(super) fn plain<'a>(
    target: &'a Target,
    request: &'a ChatRequest,
    config: JsonObject,
) -> Result<Body<'a>, ProviderError> {
    let (system, contents) = conversation(target, &request.messages)?;
    Ok(Body {
        target,
        system,
        contents,
        tools: config::clients_tools(target)?,
        tool_config: None,
        config: config::generation_config(target, config)?,
    })
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct System<'a> {
            parts: &'a [Piece<'a>],
        }
        let mut body = serializer.serialize_map(None)?;
        if !self.system.is_empty() {
            let parts = &self.system;
            body.serialize_entry("systemInstruction", &System { parts })?;
        }
        body.serialize_entry("contents", &self.contents)?;
        if !self.tools.is_empty() {
            body.serialize_entry("tools", &self.tools)?;
        }
        if let Some(tool_config) = &self.tool_config {
            body.serialize_entry("toolConfig", tool_config)?;
        }
        if !self.config.is_empty() {
            body.serialize_entry("generationConfig", &self.config)?;
        }
        if let Some(tier) = config::service_tier(self.target) {
            body.serialize_entry("serviceTier", &tier)?;
        }
        for (name, value) in vocabulary::carried(self.target, config::VOCABULARY) {
            body.serialize_entry(name, value)?;
        }
        body.end()
    }
}

/// One turn, or several of one side.
#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: Vec<Piece<'a>>,
    /// Whether it is results of tools, which must be alone between the calls and what follows.
    #[serde(skip)]
    is_results: bool,
}

impl<'a> Content<'a> {
    fn said(role: &'static str, parts: Vec<Piece<'a>>) -> Self {
        Self {
            role,
            parts,
            is_results: false,
        }
    }

    fn result(part: Piece<'a>) -> Self {
        Self {
            role: USER,
            parts: vec![part],
            is_results: true,
        }
    }
}

#[derive(Serialize)]
struct Piece<'a> {
    #[serde(flatten)]
    said: Said<'a>,
    #[serde(rename = "thoughtSignature", skip_serializing_if = "Option::is_none")]
    signature: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Said<'a> {
    Text(&'a str),
    FunctionCall(Call<'a>),
    FunctionResponse(Response<'a>),
    #[serde(untagged)]
    Medium(Medium<'a>),
}

#[derive(Serialize)]
struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    args: Json,
}

#[derive(Serialize)]
struct Response<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    #[serde(rename = "response")]
    result: Json,
    #[serde(rename = "parts", skip_serializing_if = "Vec::is_empty")]
    media: Vec<Medium<'a>>,
}

impl<'a> From<Said<'a>> for Piece<'a> {
    fn from(said: Said<'a>) -> Self {
        Self {
            said,
            signature: None,
        }
    }
}

/// The instructions, and the turns of the two sides. Without any other turn, the instructions are what is asked.
fn conversation<'a>(
    target: &Target,
    messages: &'a [Message],
) -> Result<(Vec<Piece<'a>>, Vec<Content<'a>>), ProviderError> {
    let mut system = Vec::new();
    let mut contents: Vec<Content<'a>> = Vec::new();
    let mut tools: HashMap<&str, &str> = HashMap::new();
    // Media of results that have no place inside of them: the user shows them, after all results.
    let mut shown: Vec<Piece<'a>> = Vec::new();
    for message in messages {
        match message.role {
            Role::System => system.append(&mut pieces(&message.parts)?),
            Role::User => {
                let mut parts = mem::take(&mut shown);
                parts.append(&mut pieces(&message.parts)?);
                add(&mut contents, Content::said(USER, parts));
            }
            Role::Assistant => {
                add(&mut contents, Content::said(USER, mem::take(&mut shown)));
                let mut parts = pieces(&message.parts)?;
                let calls = message.tool_calls.iter();
                tools.extend(calls.map(|call| (call.id.as_str(), call.name.as_str())));
                parts.extend(called(target, &message.tool_calls));
                add(&mut contents, Content::said(MODEL, parts));
            }
            Role::Tool => {
                let (inside, beside) = media(target, &message.parts)?;
                let result = answered(&tools, message, inside)?;
                add(&mut contents, Content::result(result));
                shown.extend(beside);
            }
        }
    }
    add(&mut contents, Content::said(USER, shown));
    // Gemma's models have no place for instructions (https://ai.google.dev/gemma/docs/core/prompt-structure).
    if contents.is_empty() || (target.model.contains("gemma-3") && !system.is_empty()) {
        let parts = std::mem::take(&mut system);
        match contents.first_mut().filter(|first| first.role == USER) {
            Some(first) => first.parts.splice(0..0, parts).for_each(drop),
            None => contents.insert(0, Content::said(USER, parts)),
        }
    }
    Ok((system, contents))
}

/// Adds a turn, or goes on with the last one of that side.
fn add<'a>(contents: &mut Vec<Content<'a>>, mut content: Content<'a>) {
    let is_more =
        |last: &&mut Content| last.role == content.role && last.is_results == content.is_results;
    match contents.last_mut().filter(is_more) {
        _ if content.parts.is_empty() => {}
        Some(last) => last.parts.append(&mut content.parts),
        None => contents.push(content),
    }
}

/// The parts of a message; empty texts, which the host refuses, are left out.
fn pieces(parts: &[Part]) -> Result<Vec<Piece<'_>>, ProviderError> {
    let mut pieces = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) if text.is_empty() => {}
            Part::Text(text) => pieces.push(Said::Text(text).into()),
            Part::Image(url) | Part::Audio(url) | Part::File(url) => {
                pieces.push(Said::Medium(Medium::at(url)?).into());
            }
        }
    }
    Ok(pieces)
}

/// The media of a tool's result: those that the model looks at inside of it, and those that it is shown beside it.
///
/// The second generation wants as many parts as there were calls, and none inside of another.
fn media<'a>(
    target: &Target,
    parts: &'a [Part],
) -> Result<(Vec<Medium<'a>>, Vec<Piece<'a>>), ProviderError> {
    let (mut inside, mut beside) = (Vec::new(), Vec::new());
    for part in parts {
        let (Part::Image(url) | Part::Audio(url) | Part::File(url)) = part else {
            continue;
        };
        let medium = Medium::at(url)?;
        if config::is_third(&target.model) && medium.fits_result() {
            inside.push(medium);
        } else {
            beside.push(Said::Medium(medium).into());
        }
    }
    Ok((inside, beside))
}

/// The calls of a turn of the model's.
fn called<'a>(target: &Target, calls: &'a [ToolCall]) -> Vec<Piece<'a>> {
    let signed: Vec<Signed<'a>> = calls.iter().map(|call| call::signed(&call.id)).collect();
    let is_signed = signed.iter().any(|call| call.signature.is_some());
    let pieces = calls.iter().zip(signed).enumerate();
    let pieces = pieces.map(|(position, (call, signed))| {
        let placeholder = (position == 0 && !is_signed && config::is_third(&target.model))
            .then_some(Cow::Borrowed(call::UNSIGNED));
        Piece {
            said: Said::FunctionCall(Call {
                id: signed.id,
                name: &call.name,
                args: call::arguments(&call.arguments),
            }),
            signature: signed.signature.map(Cow::Owned).or(placeholder),
        }
    });
    pieces.collect()
}

/// The result of a call, which is told apart by the name of its tool.
fn answered<'a>(
    tools: &HashMap<&str, &'a str>,
    message: &'a Message,
    media: Vec<Medium<'a>>,
) -> Result<Piece<'a>, ProviderError> {
    let id = message.tool_call_id.as_deref().unwrap_or_default();
    let name = tools.get(id).ok_or_else(|| {
        let reason = format!("the result of the call `{id}` follows no call of that id");
        ProviderError::new(Kind::Invalid, reason)
    })?;
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let response = Response {
        id: call::signed(id).id,
        name,
        result: call::result(&texts.collect::<String>()),
        media,
    };
    Ok(Said::FunctionResponse(response).into())
}
