//! The built-in provider: chat, embeddings and reranking with no network and no key.
//!
//! It is not a language model. `echo` repeats, `json` makes up values that satisfy the output schema, `embed` hashes
//! words, `rerank` counts those that texts share with a query, and `fail-…` fails on purpose, for those who test how they take it. The same request gives the same answer.

mod embed;
mod fits;
mod format;
mod generate;
mod leaf;
mod model;
mod pattern;
mod rerank;
mod schema;
mod stream;

use async_trait::async_trait;
use domain::{
    ChatRequest, Deltas, EmbeddingRequest, Embeddings, FinishReason, Generation, Message, Part,
    RerankRequest, Reranking, Role, Rung,
    seams::{Provider, ProviderError, ProviderErrorKind as Kind, Target},
};
use serde_json::Value;

use crate::{adapter::EMBEDDING_TOKENS, brought, compatible::RUNGS};
use model::{Broken, Fail, Model};

/// The provider's name, and its dialect's.
pub(crate) const NAME: &str = "offline";
/// The model to start with: it answers with and without an output schema.
pub(crate) const DEFAULT_MODEL: &str = "json";
/// The model that makes vectors.
pub(crate) const EMBEDDING_MODEL: &str = "embed";

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
            Model::Embed | Model::Rerank => Err(unknown(target)),
            Model::Echo => Ok(says(answer(request, echo))),
            Model::Json => Ok(says(answer(request, json))),
            Model::Fail(fail) => failing(fail, target, request).await,
        }
    }

    async fn chat_stream(
        &self,
        target: &Target,
        request: &ChatRequest,
    ) -> Result<Deltas, ProviderError> {
        if let Some(Model::Fail(Fail::Stream { pieces, end })) = Model::parse(&target.model) {
            return Ok(stream::breaking(
                &whole(request),
                pieces,
                end,
                target.timeout,
            ));
        }
        let generation = self.chat(target, request).await?;
        Ok(stream::of(generation))
    }

    /// All: whatever is demanded how, the answer is the same.
    fn rungs(&self, _: &Target) -> &'static [Rung] {
        &RUNGS
    }

    fn brings_functions(&self, target: &Target) -> Option<&'static str> {
        brought::functions(target)
    }

    fn check(&self, _: &Target) -> Result<(), ProviderError> {
        Ok(())
    }

    fn embedding_batch(&self, _: &Target) -> usize {
        2048
    }

    fn embedding_tokens(&self, _: &Target) -> usize {
        EMBEDDING_TOKENS
    }

    async fn rerank(
        &self,
        target: &Target,
        request: &RerankRequest,
    ) -> Result<Reranking, ProviderError> {
        let model = Model::parse(&target.model);
        if model != Some(Model::Rerank) {
            failing_beside_chats(model, target).await?;
        }
        Ok(rerank::reranking(request))
    }

    fn rerank_batch(&self, _: &Target) -> usize {
        usize::MAX
    }

    async fn embed(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<Embeddings, ProviderError> {
        let model = Model::parse(&target.model);
        if model != Some(Model::Embed) {
            failing_beside_chats(model, target).await?;
        }
        embed::embeddings(&target.options, request)
    }
}

/// The failures that are not about what a chat says; a late answer is a good one after all.
async fn failing_beside_chats(model: Option<Model>, target: &Target) -> Result<(), ProviderError> {
    match model {
        Some(Model::Fail(Fail::Status(status))) => Err(of_status(status)),
        Some(Model::Fail(Fail::Cut)) => Err(cut()),
        Some(Model::Fail(Fail::Delay(delay))) => wait(delay, target).await,
        _ => Err(unknown(target)),
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
            let whole = whole(request);
            let half = whole.floor_char_boundary(whole.len() / 2);
            Ok(Generation {
                finish_reason: FinishReason::Length,
                ..says(&whole[..half])
            })
        }
        Fail::Stream { end, .. } => Err(stream::failure(end, target.timeout).await),
    }
}

/// A sound answer, for models that give a part of it.
fn whole(request: &ChatRequest) -> String {
    match &request.demand {
        Some(_) => json(request, input(&request.messages)),
        None => echo(request, input(&request.messages)),
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
        ..Generation::default()
    }
}

/// An answer to what the user said last. Where the conversation ends in the beginning of the answer to what was said
/// before that, as when a stream broke off, it is gone on with: a text with what is missing, a value as a whole.
fn answer(request: &ChatRequest, say: fn(&ChatRequest, String) -> String) -> String {
    if let [.., asked, begun, last] = request.messages.as_slice()
        && [asked.role, begun.role, last.role] == [Role::User, Role::Assistant, Role::User]
    {
        let (whole, begun) = (say(request, text(&asked.parts)), text(&begun.parts));
        match whole.strip_prefix(&begun) {
            Some(rest) if !begun.is_empty() && !rest.is_empty() => {
                let is_text = request.demand.is_none();
                return if is_text { rest.to_owned() } else { whole };
            }
            _ => {}
        }
    }
    say(request, input(&request.messages))
}

/// The input as it is; as JSON, where JSON is demanded.
fn echo(request: &ChatRequest, input: String) -> String {
    if request.demand.is_none()
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
    let value = match &request.demand {
        Some(demand) => generate::value(&demand.schema.to_value(), &input),
        None => serde_json::json!({ "input": input }),
    };
    value.to_string()
}

/// A JSON value that misses the output schema.
fn off_schema(request: &ChatRequest) -> String {
    let demand = request.demand.as_ref();
    let schema = demand.map_or(Value::Bool(true), |demand| demand.schema.to_value());
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
    Err(late())
}

fn late() -> ProviderError {
    let reason = "the offline provider was asked to be late";
    ProviderError::new(Kind::Timeout, reason)
}

fn cut() -> ProviderError {
    let reason = "the offline provider was asked to break the connection";
    ProviderError::new(Kind::Connection, reason)
}

fn of_status(status: u16) -> ProviderError {
    let kind = crate::wire::kind_of_status(status);
    let reason = match kind {
        Kind::Auth if status != 402 => "provider_auth".to_owned(),
        _ => format!("the offline provider was asked for status {status}"),
    };
    ProviderError {
        status: Some(status),
        ..ProviderError::new(kind, reason)
    }
}

/// That there is no such model, or none that does this.
fn unknown(target: &Target) -> ProviderError {
    let reason = format!(
        "the offline provider has no model `{}` for this; chats: {}; embeddings: embed, {}; reranking: rerank, {}",
        target.model,
        model::CHATS,
        model::FAILS,
        model::FAILS,
    );
    if Model::parse(&target.model).is_some() {
        return ProviderError::new(Kind::Misconfigured, reason);
    }
    ProviderError {
        status: Some(404),
        ..ProviderError::new(Kind::UnknownModel, reason)
    }
}

#[cfg(test)]
mod tests;
