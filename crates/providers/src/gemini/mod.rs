//! The Gemini dialect: `generateContent` and its kin, in AI Studio (<https://ai.google.dev/api>) and on Vertex AI
//! (<https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference>).
//!
//! One dialect in two places: addresses and keys differ (`place`), bodies only where vectors are asked for.

mod answer;
mod call;
mod config;
mod demand;
mod embed;
mod fault;
mod image;
mod media;
mod place;
mod request;
mod schema;
mod stream;

use std::borrow::Cow;

use domain::{
    ChatRequest, EmbeddingRequest, Embeddings, Generation, ImageRequest, Images, Part, Rung,
    seams::{ProviderError, Taken, Target, Wanted},
};
use serde_json::Value;

use crate::{
    adapter::{Adapter, Manner},
    compatible, count, vocabulary,
    wire::{Fault, Framing, Grant, WireRequest},
};
use place::Place;

/// The place whose keys are made in AI Studio.
pub(crate) const STUDIO: &str = "gemini";
/// The place in Google's cloud.
pub(crate) const VERTEX: &str = "vertex";

/// The dialect in one of its places.
pub(crate) struct Gemini(Place);

impl Gemini {
    /// As it is spoken in AI Studio.
    pub(crate) const fn in_studio() -> Self {
        Self(Place::Studio)
    }

    /// As it is spoken on Vertex AI.
    pub(crate) const fn on_vertex() -> Self {
        Self(Place::Vertex)
    }
}

impl Adapter for Gemini {
    type Reading = demand::Reading;
    type Decoder = stream::ChunkDecoder;

    fn chat(
        &self,
        target: &Target,
        request: &ChatRequest,
        manner: Manner,
    ) -> Result<(WireRequest, Self::Reading), ProviderError> {
        let (body, reading) = request::chat(target, request)?;
        let method = match manner {
            Manner::Whole => "generateContent",
            Manner::Streamed => "streamGenerateContent",
        };
        let mut wire = self.0.request(target, method, &body)?;
        if manner == Manner::Streamed {
            wire.query.push(("alt", "sse".to_owned()));
        }
        Ok((wire, reading))
    }

    fn generation(&self, reading: &Self::Reading, body: &[u8]) -> Result<Generation, Fault> {
        stream::generation(reading, body)
    }

    fn decoder(&self, reading: Self::Reading) -> Self::Decoder {
        stream::ChunkDecoder::new(reading)
    }

    fn framing(&self) -> Framing {
        Framing::events().with_images()
    }

    fn rungs(&self, _target: &Target) -> &'static [Rung] {
        &compatible::RUNGS
    }

    fn taken(&self, body: &[u8]) -> Taken {
        let pieces = answer::answers(body).unwrap_or_default();
        let usage = |answer: &Value| {
            let said = pieces.iter().rev().find_map(answer::Answer::usage);
            said.or_else(|| embed::input_tokens(answer))
        };
        count::taken(body, usage, &["embeddings"])
    }

    fn warnings(&self, target: &Target, wanted: Wanted<'_>) -> Vec<String> {
        match wanted {
            Wanted::Chat(_) => config::warnings(target),
            Wanted::Image => image::warnings(target),
            Wanted::Embedding => vocabulary::warnings(target, embed::VOCABULARY),
            Wanted::Rerank(_) => Vec::new(),
        }
    }

    fn check(&self, target: &Target) -> Result<(), ProviderError> {
        self.0.check(target)
    }

    fn needs_bytes(&self, _target: &Target, part: &Part) -> bool {
        self.0.needs_bytes(part)
    }

    fn settled<'t>(&self, target: &'t Target) -> Result<Cow<'t, Target>, ProviderError> {
        self.0.settled(target)
    }

    fn grant(&self, target: &Target) -> Result<Option<Grant>, ProviderError> {
        self.0.grant(target)
    }

    fn embed(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<WireRequest, ProviderError> {
        let manner = embed::Manner::of(self.0, target);
        let body = manner.body(target, request)?;
        self.0.request(target, manner.method(), &body)
    }

    fn embedding_batch(&self, target: &Target) -> usize {
        embed::Manner::of(self.0, target).batch(target)
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
        if image::is_imagen(&target.model) {
            return self
                .0
                .request(target, "predict", &image::prediction(target, request)?);
        }
        let body = image::chat(target, request)?;
        self.0.request(target, "generateContent", &body)
    }

    fn draws_from(&self, target: &Target, _: &Part) -> bool {
        !image::is_imagen(&target.model)
    }

    fn images(
        &self,
        _target: &Target,
        _request: &ImageRequest,
        body: &[u8],
    ) -> Result<Images, Fault> {
        image::images(body)
    }

    fn fault(&self, status: u16, body: &[u8]) -> Fault {
        fault::of_status(status, body)
    }
}
