//! The Cohere dialect, in its second version: chat, embeddings and reranking.
//!
//! The reference: <https://docs.cohere.com/reference/chat>, <https://docs.cohere.com/reference/embed> and
//! <https://docs.cohere.com/reference/rerank>. Other hosts of the same form of reranking are served by `crate::openai`.

mod answer;
mod demand;
mod embed;
mod fault;
mod message;
mod options;
mod request;
mod stream;

use domain::{
    ChatRequest, EmbeddingRequest, Embeddings, Generation, RerankRequest, Reranking, Rung,
    seams::{BESIDE_TOOLS, ProviderError, Taken, Target, Wanted},
};
use serde_json::Value;

use crate::{
    adapter::{Adapter, Manner, needs_key},
    brought, count,
    rerank::{self, Form},
    vocabulary,
    wire::{Fault, WireRequest, with_bearer},
};

/// The name that `protocol` has the dialect under, and the provider's.
pub(crate) const NAME: &str = "cohere";

/// The host's own address.
pub(crate) const API_BASE: &str = "https://api.cohere.com/v2";
/// The variable that its own libraries read.
pub(crate) const KEY_VARIABLE: &str = "CO_API_KEY";

/// How a JSON value can be demanded.
const RUNGS: [Rung; 4] = [
    Rung::NativeSchema,
    Rung::ForcedTool,
    Rung::JsonMode,
    Rung::Prompt,
];

/// The dialect.
pub(crate) struct Cohere;

impl Adapter for Cohere {
    type Reading = demand::Reading;
    type Decoder = stream::EventDecoder;

    fn chat(
        &self,
        target: &Target,
        request: &ChatRequest,
        manner: Manner,
    ) -> Result<(WireRequest, Self::Reading), ProviderError> {
        brought::check(target, request)?;
        let (demand, reading) = demand::worded(target, request);
        let body = request::body(target, request, manner, demand)?;
        let wire = with_bearer(WireRequest::json("chat", &body), target)?;
        Ok((wire, reading))
    }

    fn generation(&self, reading: &Self::Reading, body: &[u8]) -> Result<Generation, Fault> {
        answer::generation(reading, body)
    }

    fn decoder(&self, reading: Self::Reading) -> Self::Decoder {
        stream::EventDecoder::new(&reading)
    }

    fn rungs(&self, _: &Target) -> &'static [Rung] {
        &RUNGS
    }

    /// A form cannot be asked for beside tools, whether or not they may be called.
    fn obstacle(&self, target: &Target, request: &ChatRequest, rung: Rung) -> Option<&'static str> {
        (rung != Rung::Prompt && brought::has_tools(target, request)).then_some(BESIDE_TOOLS)
    }

    fn taken(&self, body: &[u8]) -> Taken {
        let usage = |answer: &Value| {
            let said = answer::usage(&answer["usage"]);
            said.or_else(|| rerank::usage(answer))
        };
        count::taken(body, usage, &["results"])
    }

    fn warnings(&self, target: &Target, wanted: Wanted<'_>) -> Vec<String> {
        let request = match wanted {
            Wanted::Chat(request) => request,
            Wanted::Embedding => return vocabulary::warnings(target, embed::VOCABULARY),
            Wanted::Rerank(request) => return Form::of_cohere(target).warnings(target, request),
            Wanted::Image => return Vec::new(),
        };
        let mut warnings = vocabulary::warnings(target, options::VOCABULARY);
        if !request.tools.is_empty() {
            warnings.extend(vocabulary::replaced(target, &["tools", "tool_choice"]));
        }
        warnings
    }

    fn check(&self, target: &Target) -> Result<(), ProviderError> {
        needs_key(target, API_BASE, KEY_VARIABLE)?;
        vocabulary::check(target, options::VOCABULARY)?;
        vocabulary::check_effort(target)
    }

    fn embed(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<WireRequest, ProviderError> {
        let body = embed::body(target, request)?;
        with_bearer(WireRequest::json("embed", &body), target)
    }

    fn embedding_batch(&self, _: &Target) -> usize {
        96
    }

    fn embeddings(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
        body: &[u8],
    ) -> Result<Embeddings, Fault> {
        embed::embeddings(target, request, body)
    }

    fn rerank(
        &self,
        target: &Target,
        request: &RerankRequest,
    ) -> Result<WireRequest, ProviderError> {
        let body = Form::of_cohere(target).body(target, request);
        with_bearer(WireRequest::json("rerank", &body), target)
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
