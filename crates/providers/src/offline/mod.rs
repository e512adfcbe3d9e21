//! The built-in provider: chat and embeddings with no network and no key.
//!
//! It is not a language model. `echo` repeats, `json` makes up values that satisfy the output schema, `embed` hashes
//! words, and `fail-…` fails on purpose, for those who test how they take it. The same request gives the same answer.

mod embed;
mod fits;
mod format;
mod generate;
mod leaf;
mod model;
mod pattern;
mod schema;

use async_trait::async_trait;
use domain::{
    ChatRequest, EmbeddingRequest, Embeddings, FinishReason, Generation, Message, Part, Role,
    seams::{Provider, ProviderError, ProviderErrorKind as Kind, Target},
};
use serde_json::Value;

use model::{Fail, Model};

/// The provider's name, and its dialect's.
pub(crate) const NAME: &str = "offline";
/// The model to start with: it answers with and without an output schema.
pub(crate) const DEFAULT_MODEL: &str = "json";

/// What a broken answer looks like. A conversation that holds it has been answered badly before.
const BROKEN_JSON: &str = r#"{"offline": "this answer breaks off"#;
const REFUSAL: &str = "The offline provider was asked to refuse.";

/// The provider.
pub(crate) struct Offline;

#[async_trait]
impl Provider for Offline {
    async fn chat(
        &self,
        target: &Target,
        request: &ChatRequest,
    ) -> Result<Generation, ProviderError> {
        let model = Model::parse(&target.model).ok_or_else(|| unknown(target))?;
        match model {
            Model::Embed => Err(unknown(target)),
            Model::Echo => Ok(says(echo(request, input(&request.messages)))),
            Model::Json => Ok(says(json(request, input(&request.messages)))),
            Model::Fail(fail) => failing(fail, target, request).await,
        }
    }

    async fn embed(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<Embeddings, ProviderError> {
        match Model::parse(&target.model) {
            Some(Model::Embed) => {}
            Some(Model::Fail(Fail::Status(status))) => return Err(of_status(status)),
            Some(Model::Fail(Fail::Cut)) => return Err(cut()),
            Some(Model::Fail(Fail::Delay(delay))) => wait(delay, target).await?,
            _ => return Err(unknown(target)),
        }
        embed::embeddings(&target.options, request)
    }
}

async fn failing(
    fail: Fail,
    target: &Target,
    request: &ChatRequest,
) -> Result<Generation, ProviderError> {
    match fail {
        Fail::Status(status) => Err(of_status(status)),
        Fail::Cut => Err(cut()),
        Fail::Delay(delay) => {
            wait(delay, target).await?;
            Ok(says(echo(request, input(&request.messages))))
        }
        Fail::Json { times } => Ok(says(bad_at_first(request, times, BROKEN_JSON))),
        Fail::Schema { times } => Ok(says(bad_at_first(request, times, &off_schema(request)))),
        Fail::Empty => Ok(says("")),
        Fail::Refusal => Ok(Generation {
            refusal: Some(REFUSAL.to_owned()),
            ..says("")
        }),
        Fail::Length => {
            let whole = match &request.output_schema {
                Some(_) => json(request, input(&request.messages)),
                None => echo(request, input(&request.messages)),
            };
            let half = whole.floor_char_boundary(whole.len() / 2);
            Ok(Generation {
                finish_reason: FinishReason::Length,
                ..says(&whole[..half])
            })
        }
    }
}

/// A bad answer until it has been given that often, then a good one. The conversation itself tells how often it was.
fn bad_at_first(request: &ChatRequest, times: Option<usize>, bad: &str) -> String {
    let messages = request.messages.iter();
    let given = messages.filter(|message| is_bad(message, bad)).count();
    if times.is_some_and(|times| given >= times) {
        json(request, first_input(request, bad))
    } else {
        bad.to_owned()
    }
}

fn says(text: impl Into<String>) -> Generation {
    Generation {
        text: text.into(),
        refusal: None,
        finish_reason: FinishReason::Stop,
        usage: None,
    }
}

/// The input as it is; as JSON, where JSON is demanded.
fn echo(request: &ChatRequest, input: String) -> String {
    if request.output_schema.is_none()
        || serde_json::from_str::<&serde_json::value::RawValue>(&input).is_ok()
    {
        input
    } else {
        Value::String(input).to_string()
    }
}

/// A value that satisfies the output schema; without one, an object that holds the input.
fn json(request: &ChatRequest, input: String) -> String {
    let input = serde_json::from_str(&input).unwrap_or(Value::String(input));
    let value = match &request.output_schema {
        Some(schema) => generate::value(&schema.schema.to_value(), &input),
        None => serde_json::json!({ "input": input }),
    };
    value.to_string()
}

/// A JSON value that misses the output schema.
fn off_schema(request: &ChatRequest) -> String {
    let schema = request.output_schema.as_ref();
    let schema = schema.map_or(Value::Bool(true), |schema| schema.schema.to_value());
    generate::misfit(&schema).to_string()
}

/// What the user said last.
fn input(messages: &[Message]) -> String {
    let mut users = messages.iter().rev();
    let last = users.find(|message| message.role == Role::User);
    last.map_or_else(String::new, |message| text(&message.parts))
}

/// What the user said before the first bad answer: what follows is complaints.
fn first_input(request: &ChatRequest, bad: &str) -> String {
    let is_bad = |message: &Message| is_bad(message, bad);
    let first = request.messages.iter().position(is_bad);
    let before = &request.messages[..first.unwrap_or(request.messages.len())];
    input(before)
}

fn text(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Image(_) | Part::Audio(_) | Part::File(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Whether a message is the bad answer that was given before.
fn is_bad(message: &Message, bad: &str) -> bool {
    message.role == Role::Assistant && text(&message.parts) == bad
}

/// Waits, unless the request's time is over before that.
async fn wait(delay: std::time::Duration, target: &Target) -> Result<(), ProviderError> {
    tokio::time::sleep(delay.min(target.timeout)).await;
    if delay < target.timeout {
        return Ok(());
    }
    let reason = "the offline provider was asked to be late";
    Err(ProviderError::new(Kind::Timeout, reason))
}

fn cut() -> ProviderError {
    let reason = "the offline provider was asked to break the connection";
    ProviderError::new(Kind::Connection, reason)
}

fn of_status(status: u16) -> ProviderError {
    let kind = crate::wire::kind_of_status(status);
    let reason = match kind {
        Kind::Auth => "provider_auth".to_owned(),
        _ => format!("the offline provider was asked for status {status}"),
    };
    ProviderError {
        status: Some(status),
        ..ProviderError::new(kind, reason)
    }
}

fn unknown(target: &Target) -> ProviderError {
    let reason = format!(
        "the offline provider has no model `{}` for this; chats: {}; embeddings: {}",
        target.model,
        model::CHATS,
        model::EMBEDDINGS,
    );
    ProviderError {
        status: Some(404),
        ..ProviderError::new(Kind::UnknownModel, reason)
    }
}

#[cfg(test)]
mod tests;
