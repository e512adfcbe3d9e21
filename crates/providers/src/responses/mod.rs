//! OpenAI's second dialect, the Responses API (<https://platform.openai.com/docs/api-reference/responses/create>).
//!
//! What is asked for is worded as in the chat dialect first, then brought into this one, so that rungs, schemas and
//! options mean the same in both. The host is asked to keep nothing (`store` is `false` unless the client says else):
//! what is to be kept stands in our own spans.

mod answer;
mod choice;
mod input;
mod request;
mod stream;
mod tools;

use domain::{
    ChatRequest, EmbeddingRequest, Embeddings, Generation, ImageRequest, Images, Part, Rung,
    seams::{ProviderError, Taken, Target, Wanted},
};
use serde_json::Value;

pub(crate) use choice::Choice;

use crate::{
    adapter::{Adapter, Demanding, Manner},
    brought, compatible, count,
    openai::{OpenAi, demand, fault, parts::base64_data, wire_request},
    vocabulary::{self, Fate, Vocabulary},
    wire::{Fault, Framing, WireRequest},
};

/// The name that `protocol` has the dialect under.
pub(crate) const NAME: &str = "openai-responses";

/// The dialect.
pub(crate) struct Responses;

/// The chat dialect's options that this one names otherwise, words in an object of its own, or lacks.
const VOCABULARY: Vocabulary = &[
    ("max_tokens", Fate::Renamed("max_output_tokens")),
    ("max_completion_tokens", Fate::Renamed("max_output_tokens")),
    ("reasoning_effort", Fate::Own),
    ("verbosity", Fate::Own),
    ("response_format", Fate::Own),
    ("tools", Fate::Own),
    ("tool_choice", Fate::Own),
    ("logprobs", Fate::Own),
    ("stream_options", Fate::Own),
    ("seed", Fate::LeftOut("has no seed")),
    ("presence_penalty", Fate::LeftOut("has no penalties")),
    ("frequency_penalty", Fate::LeftOut("has no penalties")),
    (
        "prediction",
        Fate::LeftOut("takes no prediction of the answer"),
    ),
    ("stop", Fate::Refused(&["[]", "\"\""])),
    ("n", Fate::Refused(&["1"])),
    ("logit_bias", Fate::Refused(&["{}"])),
    ("modalities", Fate::Refused(&["[\"text\"]"])),
    ("audio", Fate::Refused(&[])),
    ("web_search_options", Fate::Refused(&[])),
    ("functions", Fate::Refused(&["[]"])),
    ("function_call", Fate::Refused(&["\"auto\""])),
];

/// What must be known of a request to read its answer.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    demanded: demand::Reading,
    /// Whether calls are the caller's affair, and no answer.
    has_tools: bool,
}

impl Demanding for Reading {
    fn is_demanding(&self) -> bool {
        self.demanded.is_demanding()
    }
}

impl Adapter for Responses {
    type Reading = Reading;
    type Decoder = stream::ResponseDecoder;

    fn chat(
        &self,
        target: &Target,
        request: &ChatRequest,
        manner: Manner,
    ) -> Result<(WireRequest, Self::Reading), ProviderError> {
        let (members, demanded) = request::members(target, request, manner)?;
        let body = request::Body {
            model: &target.model,
            input: &input::items(&request.messages)?,
            members: &members,
        };
        let reading = Reading {
            demanded,
            has_tools: brought::has_functions(target, request),
        };
        Ok((wire_request("responses", target, &body)?, reading))
    }

    fn generation(&self, reading: &Self::Reading, body: &[u8]) -> Result<Generation, Fault> {
        answer::generation(reading, body)
    }

    fn decoder(&self, reading: Self::Reading) -> Self::Decoder {
        stream::ResponseDecoder::new(reading)
    }

    fn framing(&self) -> Framing {
        Framing::events().with_images()
    }

    fn rungs(&self, target: &Target) -> &'static [Rung] {
        compatible::of(target).rungs
    }

    fn taken(&self, body: &[u8]) -> Taken {
        let responded = |response: &Value| answer::usage(&response["usage"]);
        match count::taken(body, responded, &[]) {
            Taken::Nothing => OpenAi.taken(body),
            taken => taken,
        }
    }

    fn warnings(&self, target: &Target, _: Wanted<'_>) -> Vec<String> {
        vocabulary::warnings(target, VOCABULARY)
    }

    fn check(&self, target: &Target) -> Result<(), ProviderError> {
        vocabulary::check(target, VOCABULARY)
    }

    /// Sound comes as bytes alone.
    fn needs_bytes(&self, _target: &Target, part: &Part) -> bool {
        matches!(part, Part::Audio(url) if base64_data(url).is_none())
    }

    fn embed(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<WireRequest, ProviderError> {
        OpenAi.embed(target, request)
    }

    fn embedding_batch(&self, target: &Target) -> usize {
        OpenAi.embedding_batch(target)
    }

    fn embedding_tokens(&self, target: &Target) -> usize {
        OpenAi.embedding_tokens(target)
    }

    fn embeddings(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
        body: &[u8],
    ) -> Result<Embeddings, Fault> {
        OpenAi.embeddings(target, request, body)
    }

    fn image_request(
        &self,
        target: &Target,
        request: &ImageRequest,
    ) -> Result<WireRequest, ProviderError> {
        OpenAi.image_request(target, request)
    }

    fn draws_from(&self, target: &Target, part: &Part) -> bool {
        OpenAi.draws_from(target, part)
    }

    fn images(
        &self,
        target: &Target,
        request: &ImageRequest,
        body: &[u8],
    ) -> Result<Images, Fault> {
        OpenAi.images(target, request, body)
    }

    fn fault(&self, status: u16, body: &[u8]) -> Fault {
        fault::of_status(status, body)
    }
}
