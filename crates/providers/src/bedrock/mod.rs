//! The dialect of Amazon Bedrock: Converse for conversations, each model's own words for the rest
//! (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html>).
//!
//! Translation and signing only; the time that a signature holds from is handed in. Credentials of the machine that
//! we run on are not looked for: a key is what a target has.

mod answer;
mod credentials;
mod demand;
mod effort;
mod embed;
mod family;
mod fault;
mod invoke;
mod messages;
mod options;
mod request;
mod schema;
mod stream;
mod telling;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, sync::Arc};

use domain::{
    ChatRequest, EmbeddingRequest, Embeddings, Generation, ImageRequest, Images, Json, JsonObject,
    Part, RerankRequest, Reranking, Rung,
    seams::{Clock, ProviderError, Taken, Target, Wanted},
};
use serde_json::Value;

use crate::{
    adapter::{Adapter, Manner},
    count,
    rerank::without_pieces,
    vocabulary,
    wire::{Fault, Framing, WireRequest},
};

/// The name of the provider and of its dialect.
pub(crate) const NAME: &str = "bedrock";

/// The dialect.
pub(crate) struct Bedrock {
    clock: Arc<dyn Clock>,
}

impl Bedrock {
    /// Signs at `clock`'s time.
    pub(crate) const fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock }
    }

    /// A request to what a model is asked by.
    fn wire_request(
        &self,
        target: &Target,
        operation: &'static str,
        body: &JsonObject,
    ) -> Result<WireRequest, ProviderError> {
        let mut wire = WireRequest::json("model", body);
        // An ARN has slashes, and is one segment all the same.
        wire.segments.push(Cow::Owned(target.model.clone()));
        wire.segments.push(Cow::Borrowed(operation));
        let credential = credentials::Credential::of(target)?;
        credential.authorize(&mut wire, target, self.clock.now())?;
        Ok(wire)
    }
}

impl Adapter for Bedrock {
    type Reading = demand::Reading;
    type Decoder = stream::EventDecoder;

    fn chat(
        &self,
        target: &Target,
        request: &ChatRequest,
        manner: Manner,
    ) -> Result<(WireRequest, Self::Reading), ProviderError> {
        options::check(target)?;
        let (body, reading) = request::converse(target, request)?;
        let operation = match manner {
            Manner::Whole => "converse",
            Manner::Streamed => "converse-stream",
        };
        Ok((self.wire_request(target, operation, &body)?, reading))
    }

    fn generation(&self, reading: &Self::Reading, body: &[u8]) -> Result<Generation, Fault> {
        answer::generation(reading, body)
    }

    fn decoder(&self, reading: Self::Reading) -> Self::Decoder {
        stream::EventDecoder::new(reading)
    }

    fn framing(&self) -> Framing {
        Framing::frames().with_images()
    }

    fn rungs(&self, target: &Target) -> &'static [Rung] {
        let family = family::Family::of(&target.model);
        family.rungs(options::own_thinking(target).as_ref())
    }

    fn obstacle(&self, target: &Target, request: &ChatRequest, rung: Rung) -> Option<&'static str> {
        demand::obstacle(target, request, rung)
    }

    fn taken(&self, body: &[u8]) -> Taken {
        let usage = |answer: &Value| {
            let said = answer.get("usage").map(Json::of);
            let said = said.as_ref().and_then(answer::usage);
            said.or_else(|| embed::usage(answer))
        };
        count::taken(body, usage, &["embedding", "embeddings", "results"])
    }

    fn warnings(&self, target: &Target, wanted: Wanted<'_>) -> Vec<String> {
        match wanted {
            Wanted::Chat(request) => options::warnings(target, request),
            Wanted::Image => vocabulary::warnings(target, invoke::to_draw(target)),
            Wanted::Embedding => vocabulary::warnings(target, embed::vocabulary(target)),
            Wanted::Rerank(request) => without_pieces(target, request),
        }
    }

    fn check(&self, target: &Target) -> Result<(), ProviderError> {
        let api_base = target.api_base.as_deref().unwrap_or_default();
        if api_base.contains("{region}") {
            return Err(credentials::misconfigured(format!(
                "the provider `{}` has an address for each region: set `region`, or the whole address",
                target.provider
            )));
        }
        credentials::Credential::of(target).map(|_| ())
    }

    fn needs_bytes(&self, _: &Target, _: &Part) -> bool {
        true
    }

    fn embed(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<WireRequest, ProviderError> {
        self.wire_request(target, "invoke", &embed::embed(target, request)?)
    }

    fn embedding_batch(&self, target: &Target) -> usize {
        embed::embedding_batch(target)
    }

    fn embeddings(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
        body: &[u8],
    ) -> Result<Embeddings, Fault> {
        embed::embeddings(target, request, body)
    }

    fn image_request(
        &self,
        target: &Target,
        request: &ImageRequest,
    ) -> Result<WireRequest, ProviderError> {
        self.wire_request(target, "invoke", &invoke::image_request(target, request)?)
    }

    fn images(&self, _: &Target, _: &ImageRequest, body: &[u8]) -> Result<Images, Fault> {
        invoke::images(body)
    }

    fn rerank(
        &self,
        target: &Target,
        request: &RerankRequest,
    ) -> Result<WireRequest, ProviderError> {
        self.wire_request(target, "invoke", &invoke::rerank(target, request)?)
    }

    fn reranking(
        &self,
        _: &Target,
        request: &RerankRequest,
        body: &[u8],
    ) -> Result<Reranking, Fault> {
        invoke::reranking(request, body)
    }

    fn fault(&self, status: u16, body: &[u8]) -> Fault {
        self.typed_fault((status, None), body)
    }

    fn typed_fault(&self, (status, error_type): (u16, Option<&str>), body: &[u8]) -> Fault {
        fault::of_status(status, error_type, body)
    }
}
