//! The OpenAI dialect: chat completions, embeddings, images, and the reranking that many of its hosts have.
//!
//! By <https://platform.openai.com/docs/api-reference/chat>, and by what other hosts made of it.
//! Translation only. Sending, timing and status codes are `wire`'s; hosts that speak this dialect under another
//! address are rows in `compatible`.

pub(crate) mod answer;
mod calling;
mod content;
pub(crate) mod demand;
mod embeddings;
pub(crate) mod fault;
mod images;
pub(crate) mod joining;
pub(crate) mod parts;
pub(crate) mod request;
mod stream;
mod strict;
pub(crate) mod usage;
pub(crate) mod wrap;

use domain::{
    ChatRequest, EmbeddingRequest, Embeddings, Generation, ImageRequest, Images, JsonObject,
    RerankRequest, Reranking, Rung,
    seams::{ProviderError, Target},
};
use http::header;
use serde::Serialize;

use crate::{
    adapter::{Adapter, Manner},
    compatible,
    rerank::{self, Form},
    wire::{Fault, WireRequest, address, secret_header},
};

/// The dialect.
pub(crate) struct OpenAi;

impl Adapter for OpenAi {
    type Reading = demand::Reading;
    type Decoder = stream::ChunkDecoder;

    fn chat(
        &self,
        target: &Target,
        request: &ChatRequest,
        manner: Manner,
    ) -> Result<(WireRequest, Self::Reading), ProviderError> {
        let demand = demand::standing(target, request);
        let (demand, reading) = demand::worded(target, demand.as_deref(), manner);
        let body = request::ChatBody {
            target,
            request,
            manner,
            demand: &demand,
        };
        let wire = wire_request("chat/completions", target, &body)?;
        Ok((wire, reading.beside_tools(!request.tools.is_empty())))
    }

    fn generation(&self, reading: &Self::Reading, body: &[u8]) -> Result<Generation, Fault> {
        let read = answer::generation(reading, body);
        read.map_err(|fault| reading.fault(fault))
    }

    fn decoder(&self, reading: Self::Reading) -> Self::Decoder {
        stream::ChunkDecoder::new(reading)
    }

    fn reads_as_given(&self, _: &Target) -> bool {
        true
    }

    fn rungs(&self, target: &Target) -> &'static [Rung] {
        compatible::of(target).rungs
    }

    fn warnings(&self, target: &Target, request: &ChatRequest) -> Vec<String> {
        request::warnings(target, request)
    }

    fn check(&self, target: &Target) -> Result<(), ProviderError> {
        address(target).map(drop)
    }

    fn embed(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<WireRequest, ProviderError> {
        let body = request::EmbeddingBody { target, request };
        wire_request("embeddings", target, &body)
    }

    fn embedding_batch(&self, target: &Target) -> usize {
        compatible::of(target).embedding_batch
    }

    fn embeddings(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
        body: &[u8],
    ) -> Result<Embeddings, Fault> {
        embeddings::embeddings(request, dimensions(&target.options), body)
    }

    fn image_request(
        &self,
        target: &Target,
        request: &ImageRequest,
    ) -> Result<WireRequest, ProviderError> {
        let body = request::ImageBody { target, request };
        wire_request("images/generations", target, &body)
    }

    fn images(
        &self,
        _target: &Target,
        _request: &ImageRequest,
        body: &[u8],
    ) -> Result<Images, Fault> {
        images::images(body)
    }

    fn rerank(
        &self,
        target: &Target,
        request: &RerankRequest,
    ) -> Result<WireRequest, ProviderError> {
        let form = Form::of(&target.provider);
        let wire = wire_request("rerank", target, &form.body(target, request))?;
        Ok(WireRequest {
            instead_of: form.instead_of(),
            ..wire
        })
    }

    fn reranking(
        &self,
        target: &Target,
        request: &RerankRequest,
        body: &[u8],
    ) -> Result<Reranking, Fault> {
        rerank::reranking(target, request, body)
    }

    fn fault(&self, reading: &Self::Reading, status: u16, body: &[u8]) -> Fault {
        reading.fault(fault::of_status(status, body))
    }
}

/// The length of vectors that was asked for, if a sensible one was.
fn dimensions(options: &JsonObject) -> Option<usize> {
    options.get("dimensions")?.text().parse().ok()
}

/// A request with the key in it.
pub(crate) fn wire_request(
    path: &'static str,
    target: &Target,
    body: &impl Serialize,
) -> Result<WireRequest, ProviderError> {
    let mut wire = WireRequest::json(path, body);
    if let Some(key) = &target.key {
        let bearer = format!("Bearer {}", key.expose());
        wire.headers
            .insert(header::AUTHORIZATION, secret_header(bearer)?);
    }
    Ok(wire)
}
