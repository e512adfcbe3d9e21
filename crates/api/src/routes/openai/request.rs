//! The body of a chat completion: what of it is the gateway's, and what the model's.

use std::{fmt, time::Duration};

use domain::{ChatRequest, Invalid, Json, JsonObject, ModelChoice, ModelSpec, SpanId, Tags};
use engine::{ChatCall, Code, Error};
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor},
};
use utoipa::ToSchema;

use super::{
    messages,
    tools::{self, Form},
};
use crate::{
    extract::{Integer, RequestBody},
    problem::Problem,
    schemas,
};

const MAX_FALLBACKS: usize = 16;

/// What a chat completion takes. Members that are not named here go to the model as they are.
#[derive(Default, ToSchema)]
#[schema(as = ChatCompletionRequest)]
pub(crate) struct CreateCompletion {
    /// The conversation, at least one turn: objects with a `role`, and `content` that is a string or an array of parts.
    #[schema(value_type = Vec<schemas::Object>, min_items = 1)]
    messages: Vec<Json>,
    /// Who is asked; the default model when absent.
    #[schema(value_type = Option<schemas::ModelSpec>)]
    model: Option<ModelSpec>,
    /// Who is asked when nobody of `model` can be, in this order.
    #[schema(value_type = Option<Vec<schemas::ModelItem>>, max_items = 16)]
    fallback_models: Vec<ModelChoice>,
    /// Kept with the span. Values are strings, numbers or booleans.
    #[schema(value_type = Option<BTreeMap<String, schemas::TagValue>>)]
    tags: Option<Tags>,
    /// The span under which the call is recorded.
    #[schema(value_type = Option<uuid::Uuid>)]
    parent_span_id: Option<SpanId>,
    /// Whether the answer comes as events.
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    /// How many choices are given; only one can be.
    #[schema(value_type = Option<i64>, minimum = 1)]
    n: Option<Integer>,
    /// What the model may call.
    #[schema(value_type = Option<Vec<schemas::Object>>)]
    tools: Option<Vec<Json>>,
    /// Which of them it may, or must, call.
    #[schema(value_type = Option<serde_json::Value>)]
    tool_choice: Option<Json>,
    /// What the answer has to be: `text`, `json_object` or `json_schema`.
    #[schema(value_type = Option<schemas::Object>)]
    response_format: Option<Json>,
    /// The model's.
    #[schema(ignore)]
    options: JsonObject,
}

/// What a stream brings beside the answer.
#[derive(Deserialize, ToSchema)]
pub(crate) struct StreamOptions {
    /// Whether the last chunk has the usage.
    include_usage: Option<bool>,
}

impl RequestBody for CreateCompletion {}

impl<'de> Deserialize<'de> for CreateCompletion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = CreateCompletion;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut body = CreateCompletion::default();
        let mut messages = None;
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "messages" => messages = members.next_value()?,
                "model" => body.model = members.next_value()?,
                "fallback_models" => {
                    body.fallback_models = members.next_value::<Fallbacks>()?.0;
                }
                "tags" => body.tags = members.next_value()?,
                "parent_span_id" => body.parent_span_id = members.next_value()?,
                "stream" => body.stream = members.next_value()?,
                "stream_options" => body.stream_options = members.next_value()?,
                "n" => body.n = members.next_value()?,
                "tools" => body.tools = members.next_value()?,
                "tool_choice" => body.tool_choice = members.next_value()?,
                "response_format" => body.response_format = members.next_value()?,
                _ => {
                    let value: Json = members.next_value()?;
                    if !value.is_null() {
                        body.options.insert(name, value);
                    }
                }
            }
        }
        body.messages = messages.ok_or_else(|| de::Error::missing_field("messages"))?;
        Ok(body)
    }
}

/// Models in an order, none or some.
pub(super) struct Fallbacks(pub(super) Vec<ModelChoice>);

impl<'de> Deserialize<'de> for Fallbacks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Option::<Vec<ModelSpec>>::deserialize(deserializer)?.unwrap_or_default();
        let choices: Vec<ModelChoice> = given
            .iter()
            .flat_map(|spec| spec.choices().iter().cloned())
            .collect();
        if choices.len() > MAX_FALLBACKS {
            let fault = format!("at most {MAX_FALLBACKS} models");
            return Err(de::Error::custom(Invalid::new("too_long", fault)));
        }
        Ok(Self(choices))
    }
}

impl CreateCompletion {
    /// Whether the answer is to come as events.
    pub(super) fn is_streamed(&self) -> bool {
        self.stream.unwrap_or_default()
    }

    /// Whether the last of them is to have the usage.
    pub(super) fn includes_usage(&self) -> bool {
        let options = self.stream_options.as_ref();
        options.and_then(|options| options.include_usage) == Some(true)
    }

    /// What the engine is asked.
    pub(super) fn into_call(mut self, cache_ttl: Duration) -> Result<ChatCall, Problem> {
        self.one_choice()?;
        for older in ["functions", "function_call"] {
            if self.options.contains_key(older) {
                let reason =
                    format!("`{older}` is not taken any more: use `tools` and `tool_choice`");
                return Err(Error::text(Code::BadRequest, reason).into());
            }
        }
        let conversation = messages::read(self.messages)?;
        let tools = tools::tools(self.tools.unwrap_or_default())?;
        let choice = self.tool_choice.filter(|choice| !choice.is_null());
        let tool_choice = choice.map(tools::choice).transpose()?;
        let format = self.response_format.filter(|format| !format.is_null());
        let demand = match format.map(tools::form).transpose()? {
            None | Some(Form::Text) => None,
            Some(Form::Demanded(demand)) => Some(demand),
            Some(Form::Other(given)) => {
                self.options.insert("response_format".to_owned(), given);
                None
            }
        };
        Ok(ChatCall {
            request: ChatRequest {
                messages: conversation.messages,
                demand,
                tool_choice: tool_choice.filter(|_| !tools.is_empty()),
                tools,
            },
            model: self.model,
            fallbacks: self.fallback_models,
            options: self.options,
            cache_ttl,
            parent_span_id: self.parent_span_id,
            tags: self.tags.unwrap_or_default(),
            unread: conversation.unread,
        })
    }

    fn one_choice(&self) -> Result<(), Problem> {
        match self.n {
            None | Some(Integer(1)) => Ok(()),
            Some(Integer(..1)) => {
                let fault = Invalid::new("greater_than_equal", "must be at least 1");
                Err(Problem::invalid("body", &fault.at("n")))
            }
            Some(Integer(more)) => {
                let reason = format!(
                    "`n` is {more}, and this gateway gives one choice: ask again for another one"
                );
                Err(Error::text(Code::BadRequest, reason).into())
            }
        }
    }
}
