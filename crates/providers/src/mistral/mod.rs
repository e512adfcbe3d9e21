//! The Mistral dialect: OpenAI's, but for words here and there.
//!
//! A request is brought into Mistral's words and then worded as OpenAI's is; answers are OpenAI's. The reference:
//! <https://docs.mistral.ai/api>. It refuses every member that it does not know.

mod message;
mod ocr;
mod options;

use domain::{
    ChatRequest, EmbeddingRequest, Embeddings, Generation, Json, OcrPages, OcrRequest, Rung,
    ToolMode,
    seams::{ProviderError, ProviderErrorKind as Kind, Taken, Target, Wanted},
};
use serde_json::Value;

use crate::{
    adapter::{Adapter, Manner, needs_key},
    compatible::MISTRAL,
    embedding,
    openai::OpenAi,
    reading::misplaced,
    vocabulary::{self, Vocabulary},
    wire::{Fault, MAX_PAGES_BYTES, WireRequest, with_bearer},
};

const API_BASE: &str = "https://api.mistral.ai/v1";
const KEY_VARIABLE: &str = "MISTRAL_API_KEY";
/// Whatever their number, texts have 16,384 tokens in all, those that mark their beginnings among them:
/// <https://github.com/mistralai/client-python/issues/46>.
const EMBEDDING_TOKENS: usize = 16_000;
/// So that even texts of a word each leave room for those marks.
const EMBEDDING_BATCH: usize = 128;

/// The dialect.
pub(crate) struct Mistral;

impl Adapter for Mistral {
    type Reading = <OpenAi as Adapter>::Reading;
    type Decoder = <OpenAi as Adapter>::Decoder;

    fn chat(
        &self,
        target: &Target,
        request: &ChatRequest,
        manner: Manner,
    ) -> Result<(WireRequest, Self::Reading), ProviderError> {
        let mut target = worded(target, options::CHAT);
        if let Some(choice) = target.options.get_mut("tool_choice") {
            *choice = options::tool_choice(choice);
        }
        let mut request = request.clone();
        for message in &mut request.messages {
            message.as_given = Some(message::worded(message));
        }
        for tool in &mut request.tools {
            options::complete(tool);
        }
        if let Some(choice) = &mut request.tool_choice
            && choice.mode == ToolMode::Required
        {
            choice.as_given = Json::of(&options::ANY);
        }
        OpenAi.chat(&target, &request, manner)
    }

    fn generation(&self, reading: &Self::Reading, body: &[u8]) -> Result<Generation, Fault> {
        OpenAi.generation(reading, body)
    }

    fn decoder(&self, reading: Self::Reading) -> Self::Decoder {
        OpenAi.decoder(reading)
    }

    fn reads_as_given(&self, _: &Target) -> bool {
        true
    }

    fn rungs(&self, target: &Target) -> &'static [Rung] {
        OpenAi.rungs(&worded(target, options::CHAT))
    }

    fn taken(&self, body: &[u8]) -> Taken {
        match OpenAi.taken(body) {
            Taken::Nothing => ocr::taken(body),
            taken => taken,
        }
    }

    fn warnings(&self, target: &Target, wanted: Wanted<'_>) -> Vec<String> {
        let vocabulary = match wanted {
            Wanted::Embedding => options::EMBEDDINGS,
            Wanted::Chat(_) | Wanted::Image | Wanted::Rerank(_) => options::CHAT,
        };
        let mut warnings = vocabulary::warnings(target, vocabulary);
        warnings.extend(OpenAi.warnings(&worded(target, vocabulary), wanted));
        warnings
    }

    fn check(&self, target: &Target) -> Result<(), ProviderError> {
        needs_key(target, API_BASE, KEY_VARIABLE)?;
        vocabulary::check(target, options::CHAT)?;
        OpenAi.check(target)
    }

    fn embed(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<WireRequest, ProviderError> {
        OpenAi.embed(&worded(target, options::EMBEDDINGS), request)
    }

    fn embedding_batch(&self, _: &Target) -> usize {
        EMBEDDING_BATCH
    }

    fn embedding_tokens(&self, _: &Target) -> usize {
        EMBEDDING_TOKENS
    }

    fn embeddings(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
        body: &[u8],
    ) -> Result<Embeddings, Fault> {
        let names = &[options::DIMENSION, options::DIMENSIONS];
        let dimensions = embedding::dimensions(&target.options, names);
        let mut target = worded(target, options::EMBEDDINGS);
        if let Some(dimensions) = dimensions {
            let dimensions = Json::of(&dimensions);
            target
                .options
                .insert(options::DIMENSIONS.to_owned(), dimensions);
        }
        OpenAi.embeddings(&target, request, body)
    }

    fn ocr(&self, target: &Target, request: &OcrRequest) -> Result<WireRequest, ProviderError> {
        let wire = WireRequest {
            max_answer_bytes: MAX_PAGES_BYTES,
            ..WireRequest::json("ocr", &ocr::body(target, request))
        };
        with_bearer(wire, target)
    }

    fn ocr_pages(
        &self,
        target: &Target,
        request: &OcrRequest,
        body: &[u8],
    ) -> Result<OcrPages, Fault> {
        ocr::pages(target, request, body)
    }

    fn ocr_instead(&self, request: &OcrRequest, refusal: &ProviderError) -> Option<OcrRequest> {
        ocr::without_blocks(request, refusal)
    }

    fn fault(&self, status: u16, body: &[u8]) -> Fault {
        let fault = OpenAi.fault(status, body);
        let better = better_kind(status, body).filter(|_| fault.kind != Kind::Batch);
        let kind = better.unwrap_or(fault.kind);
        let told: Value = serde_json::from_slice(body).unwrap_or_default();
        // "Field required" says little without the field.
        let words = misplaced(&told).or(fault.words);
        Fault {
            kind,
            words,
            ..fault
        }
    }
}

/// The target as the one of the table that has Mistral's ways, with its options in Mistral's words.
fn worded(target: &Target, vocabulary: Vocabulary) -> Target {
    let options = vocabulary::carried(target, vocabulary);
    Target {
        provider: MISTRAL.to_owned(),
        options: options
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect(),
        ..target.clone()
    }
}

/// What only Mistral's own codes tell: that a prompt is too long, and that a guardrail stopped it.
fn better_kind(status: u16, body: &[u8]) -> Option<Kind> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let code = match &body["code"] {
        Value::String(code) => code.clone(),
        code => code.to_string(),
    };
    let words = body["message"].as_str().unwrap_or_default().to_lowercase();
    let is_stopped = words.contains("guardrail") || words.contains("moderation");
    match status {
        400 | 422 if code == "3051" => Some(Kind::ContextWindow),
        403 if is_stopped => Some(Kind::ContentPolicy),
        _ => None,
    }
}
