//! The OpenAI dialect: chat completions and embeddings.
//!
//! Translation only. Sending, timing and status codes are `wire`'s; hosts that speak this dialect under another
//! address are rows in `compatible`.

mod answer;
mod demand;
mod fault;
mod joining;
mod request;
mod stream;
mod strict;
mod wrap;

use domain::{
    ChatRequest, EmbeddingRequest, Embeddings, Generation, JsonObject, Rung, Secret,
    seams::{ProviderError, ProviderErrorKind, Target},
};
use http::{HeaderMap, HeaderValue, header};
use serde::Serialize;

use crate::{
    adapter::{Adapter, Manner},
    compatible,
    wire::{Fault, WireRequest},
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
        let demand = request.demand.as_ref();
        let (demand, reading) = demand::worded(target, demand, manner);
        let body = request::ChatBody {
            target,
            request,
            manner,
            demand: &demand,
        };
        let wire = wire_request("chat/completions", target, &body)?;
        Ok((wire, reading))
    }

    fn generation(&self, reading: &Self::Reading, body: &[u8]) -> Result<Generation, Fault> {
        let read = answer::generation(reading, body);
        read.map_err(|fault| reading.fault(fault))
    }

    fn decoder(&self, reading: Self::Reading) -> Self::Decoder {
        stream::ChunkDecoder::new(reading)
    }

    fn rungs(&self, target: &Target) -> &'static [Rung] {
        compatible::rungs(&target.provider)
    }

    fn embed(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<WireRequest, ProviderError> {
        let body = request::EmbeddingBody { target, request };
        wire_request("embeddings", target, &body)
    }

    fn embeddings(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
        body: &[u8],
    ) -> Result<Embeddings, Fault> {
        answer::embeddings(request, dimensions(&target.options), body)
    }

    fn fault(&self, reading: &Self::Reading, status: u16, body: &[u8]) -> Fault {
        reading.fault(fault::of_status(status, body))
    }
}

/// The length of vectors that was asked for, if a sensible one was.
fn dimensions(options: &JsonObject) -> Option<usize> {
    options.get("dimensions")?.text().parse().ok()
}

fn wire_request(
    path: &'static str,
    target: &Target,
    body: &impl Serialize,
) -> Result<WireRequest, ProviderError> {
    let mut headers = HeaderMap::new();
    if let Some(key) = &target.key {
        headers.insert(header::AUTHORIZATION, bearer(key)?);
    }
    let body = serde_json::to_vec(body).expect("the body serializes: its keys are strings");
    Ok(WireRequest {
        path,
        headers,
        body,
    })
}

fn bearer(key: &Secret) -> Result<HeaderValue, ProviderError> {
    let value = HeaderValue::try_from(format!("Bearer {}", key.expose()));
    let mut value = value.map_err(|_| {
        let reason = "the key holds characters that no header can carry";
        ProviderError::new(ProviderErrorKind::Misconfigured, reason)
    })?;
    value.set_sensitive(true);
    Ok(value)
}
