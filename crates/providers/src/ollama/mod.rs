//! The Ollama dialect: chat and embeddings, in its own words.
//!
//! The reference: <https://docs.ollama.com/api>. Its other door, which speaks as OpenAI does, knows nothing of contexts'
//! lengths, schemas and thought; so an address that leads there is taken for the host's.

mod answer;
mod embed;
mod message;
mod options;
mod request;
mod stream;

use domain::{
    ChatRequest, EmbeddingRequest, Embeddings, Generation, Part, Rung,
    seams::{ProviderError, Taken, Target, Wanted},
};
use serde::Serialize;

use crate::{
    adapter::{Adapter, Demanding, Manner},
    assembly::{Assembly, Shape},
    count,
    openai::fault,
    vocabulary,
    wire::{Fault, Framing, WireRequest, with_bearer},
};

/// How a JSON value can be demanded: no tool can be forced.
const RUNGS: [Rung; 3] = [Rung::NativeSchema, Rung::JsonMode, Rung::Prompt];

/// The name that `protocol` has the dialect under, and the provider's.
pub(crate) const NAME: &str = "ollama";

/// The dialect.
pub(crate) struct Ollama;

/// What must be known of a request to read its answer.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    shape: Shape,
    /// Whether the request has a member that only the demand put there.
    is_demanding: bool,
}

impl Reading {
    fn assembly(&self) -> Assembly {
        Assembly::new(self.shape)
    }
}

impl Demanding for Reading {
    fn is_demanding(&self) -> bool {
        self.is_demanding
    }
}

impl Adapter for Ollama {
    type Reading = Reading;
    type Decoder = stream::LineDecoder;

    fn chat(
        &self,
        target: &Target,
        request: &ChatRequest,
        manner: Manner,
    ) -> Result<(WireRequest, Reading), ProviderError> {
        let (body, reading) = request::body(target, request, manner)?;
        Ok((wire_request("api/chat", target, &body)?, reading))
    }

    fn generation(&self, reading: &Reading, body: &[u8]) -> Result<Generation, Fault> {
        answer::generation(reading, body)
    }

    fn decoder(&self, reading: Reading) -> Self::Decoder {
        stream::LineDecoder::new(&reading)
    }

    fn framing(&self) -> Framing {
        Framing::lines()
    }

    fn rungs(&self, _: &Target) -> &'static [Rung] {
        &RUNGS
    }

    fn obstacle(&self, target: &Target, request: &ChatRequest, rung: Rung) -> Option<&'static str> {
        request::obstacle(target, request, rung)
    }

    fn taken(&self, body: &[u8]) -> Taken {
        count::taken(body, answer::usage, &["embeddings"])
    }

    fn warnings(&self, target: &Target, wanted: Wanted<'_>) -> Vec<String> {
        let mut warnings = vocabulary::warnings(target, options::VOCABULARY);
        if matches!(wanted, Wanted::Chat(request) if !request.tools.is_empty()) {
            warnings.extend(vocabulary::replaced(target, &["tools"]));
        }
        warnings
    }

    fn check(&self, target: &Target) -> Result<(), ProviderError> {
        options::check(target)
    }

    /// Images go out as their bytes.
    fn needs_bytes(&self, _: &Target, part: &Part) -> bool {
        matches!(part, Part::Image(_))
    }

    fn embed(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<WireRequest, ProviderError> {
        wire_request("api/embed", target, &embed::body(target, request))
    }

    /// There is no limit; but a model on one's own machine takes its time.
    fn embedding_batch(&self, _: &Target) -> usize {
        256
    }

    fn embeddings(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
        body: &[u8],
    ) -> Result<Embeddings, Fault> {
        embed::embeddings(target, request, body)
    }

    fn fault(&self, status: u16, body: &[u8]) -> Fault {
        fault::of_status(status, body)
    }
}

/// A request to the host, whichever of its doors the address names.
fn wire_request(
    path: &'static str,
    target: &Target,
    body: &impl Serialize,
) -> Result<WireRequest, ProviderError> {
    let address = target.api_base.as_deref().unwrap_or_default();
    let is_api = address.trim_end_matches('/').ends_with("/api");
    let wire = WireRequest {
        instead_of: Some(if is_api { "api" } else { "v1" }),
        ..WireRequest::json(path, body)
    };
    with_bearer(wire, target)
}
