//! The OpenAI dialect: chat completions, embeddings, images, and the reranking that many of its hosts have.
//!
//! By <https://platform.openai.com/docs/api-reference/chat>, and by what other hosts made of it.
//! Translation only. Sending, timing and status codes are `wire`'s; hosts that speak this dialect under another
//! address are rows in `compatible`.

pub(crate) mod answer;
mod calling;
mod content;
pub(crate) mod demand;
mod edits;
mod embeddings;
pub(crate) mod fault;
pub(crate) mod function;
pub(crate) mod ids;
mod images;
pub(crate) mod joining;
pub(crate) mod parts;
mod remarks;
pub(crate) mod request;
mod stream;
mod strict;
pub(crate) mod usage;
pub(crate) mod wrap;

use domain::{
    ChatRequest, EmbeddingRequest, Embeddings, Generation, ImageRequest, Images, Part,
    RerankRequest, Reranking, Rung,
    seams::{ProviderError, Taken, Target, Wanted},
};
use http::header;
use serde::Serialize;
use serde_json::Value;

use crate::{
    adapter::{Adapter, Manner},
    brought,
    compatible::{self, Fetched},
    count,
    rerank::{self, Form},
    vocabulary,
    wire::{Fault, Framing, WireRequest, address, secret_header},
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
        vocabulary::check_count(target, "n", target.options.get("n"))?;
        brought::check(target, request)?;
        let demand = demand::standing(target, request);
        let (demand, reading) = demand::worded(target, demand.as_deref(), manner);
        let body = request::ChatBody {
            target,
            request,
            manner,
            demand: &demand,
        };
        let wire = wire_request("chat/completions", target, &body)?;
        let has_tools = brought::has_functions(target, request);
        Ok((wire, reading.beside_tools(has_tools)))
    }

    fn generation(&self, reading: &Self::Reading, body: &[u8]) -> Result<Generation, Fault> {
        answer::generation(reading, body)
    }

    fn decoder(&self, reading: Self::Reading) -> Self::Decoder {
        stream::ChunkDecoder::new(reading)
    }

    fn framing(&self) -> Framing {
        Framing::events().with_images()
    }

    fn reads_as_given(&self, _: &Target) -> bool {
        true
    }

    fn rungs(&self, target: &Target) -> &'static [Rung] {
        compatible::of(target).rungs
    }

    fn taken(&self, body: &[u8]) -> Taken {
        let usage = |answer: &Value| {
            let counted = usage::of_any(&answer["usage"], body);
            counted.or_else(|| rerank::usage(answer))
        };
        count::taken(body, usage, &["data", "results"])
    }

    fn warnings(&self, target: &Target, wanted: Wanted<'_>) -> Vec<String> {
        match wanted {
            Wanted::Chat(request) => request::warnings(target, request),
            Wanted::Image => vocabulary::replaced(target, &[request::PROMPT]),
            Wanted::Embedding => embeddings::warnings(target),
            Wanted::Rerank(request) => Form::of(&target.provider).warnings(target, request),
        }
    }

    fn check(&self, target: &Target) -> Result<(), ProviderError> {
        address(target)?;
        let given = |name: &str| target.options.get(name).filter(|value| !value.is_null());
        if given("audio").is_some() {
            return Err(vocabulary::no_sound(target, "audio"));
        }
        vocabulary::check_soundless(target, "modalities", given("modalities"))
    }

    /// OpenAI itself fetches images alone; others also what their pages say.
    fn needs_bytes(&self, target: &Target, part: &Part) -> bool {
        let fetches = compatible::of(target).fetches;
        match part {
            Part::Text(_) | Part::Image(_) => false,
            Part::Audio(_) => !fetches.contains(&Fetched::Sound),
            Part::File(_) => !fetches.contains(&Fetched::Documents),
        }
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
        embeddings::batch(target)
    }

    fn embedding_tokens(&self, target: &Target) -> usize {
        compatible::of(target).embedding_tokens
    }

    fn embeddings(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
        body: &[u8],
    ) -> Result<Embeddings, Fault> {
        embeddings::embeddings(target, request, body)
    }

    fn image_request(
        &self,
        target: &Target,
        request: &ImageRequest,
    ) -> Result<WireRequest, ProviderError> {
        if !request.media.is_empty() {
            return edits::request(target, request);
        }
        let body = request::ImageBody { target, request };
        wire_request("images/generations", target, &body)
    }

    fn draws_from(&self, _: &Target, part: &Part) -> bool {
        matches!(part, Part::Image(_))
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

    fn rerank_batch(&self, target: &Target) -> usize {
        compatible::of(target).rerank_batch
    }

    fn reranking(
        &self,
        target: &Target,
        request: &RerankRequest,
        body: &[u8],
    ) -> Result<Reranking, Fault> {
        rerank::reranking(target, request, body)
    }

    fn fault(&self, status: u16, body: &[u8]) -> Fault {
        fault::of_status(status, body)
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::target;

    #[test]
    fn what_a_host_does_not_fetch_goes_out_as_bytes() {
        let own = "https://api.openai.com/v1";
        let parts = [
            Part::Image("https://h/a.png".to_owned()),
            Part::Audio("https://h/a.mp3".to_owned()),
            Part::File("https://h/a.pdf".to_owned()),
        ];
        let cases = [
            ("openai", own, [false, true, true]),
            ("azure", "https://r.openai.azure.com", [false, true, true]),
            ("openai", "http://localhost:8000/v1", [false, true, true]),
            (
                "openrouter",
                "https://openrouter.ai/api/v1",
                [false, true, false],
            ),
            ("vllm", "http://localhost:8000/v1", [false, false, true]),
        ];

        for (provider, api_base, expected) in cases {
            let target = Target {
                provider: provider.to_owned(),
                ..target(api_base)
            };
            let needs = parts
                .each_ref()
                .map(|part| OpenAi.needs_bytes(&target, part));
            assert_eq!(needs, expected, "{provider} {api_base}");
        }
    }
}
