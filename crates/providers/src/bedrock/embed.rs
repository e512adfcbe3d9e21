//! Vectors, in the words of each maker of models for them
//! (<https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html>,
//! <https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed.html>).

use domain::{
    EmbeddingRequest, Embeddings, Json, JsonObject, Usage, UsageReport,
    seams::{ProviderError, ProviderErrorKind as Kind, Target},
};
use serde_json::{Value, json};

use super::{
    invoke::{answer, members, unknown, with_options},
    options,
};
use crate::{
    count::whole,
    embedding::{dimensions, vectors},
    vocabulary::{
        Fate::{Own, Renamed},
        NO_USERS, ONE_ENCODING, Vocabulary,
    },
    wire::Fault,
};

const COHERE_BATCH: usize = 96;

/// Makers of models for vectors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Embedder {
    Titan,
    Nova,
    Cohere,
}

impl Embedder {
    fn of(model: &str) -> Option<Self> {
        let has = |part: &str| model.contains(part);
        match () {
            () if has("amazon.titan-embed") => Some(Self::Titan),
            () if has("amazon.nova") && has("embed") => Some(Self::Nova),
            () if has("cohere.embed") => Some(Self::Cohere),
            () => None,
        }
    }
}

const TO_EMBED: Vocabulary = &[("encoding_format", ONE_ENCODING), ("user", NO_USERS)];
const TO_EMBED_COHERE: Vocabulary = &[
    ("encoding_format", ONE_ENCODING),
    ("user", NO_USERS),
    ("dimensions", Renamed("output_dimension")),
];
const TO_EMBED_NOVA: Vocabulary = &[
    ("encoding_format", ONE_ENCODING),
    ("user", NO_USERS),
    ("dimensions", Own),
    ("singleEmbeddingParams", Own),
    (TRUNCATION, Own),
];
/// What becomes of a text that is too long. Nobody wants the vector of half a text unasked.
const TRUNCATION: &str = "truncationMode";

/// What becomes of the options of a model that embeds.
pub(super) fn vocabulary(target: &Target) -> Vocabulary {
    match Embedder::of(&target.model) {
        Some(Embedder::Titan) => TO_EMBED,
        Some(Embedder::Cohere) => TO_EMBED_COHERE,
        Some(Embedder::Nova) => TO_EMBED_NOVA,
        None => &[],
    }
}

/// How many texts go into one request.
pub(super) fn embedding_batch(target: &Target) -> usize {
    match Embedder::of(&target.model) {
        Some(Embedder::Cohere) => COHERE_BATCH,
        _ => 1,
    }
}

/// Words texts to embed.
pub(super) fn embed(
    target: &Target,
    request: &EmbeddingRequest,
) -> Result<JsonObject, ProviderError> {
    let embedder = Embedder::of(&target.model).ok_or_else(|| unknown(target, "embeddings"))?;
    let one = || {
        let [text] = request.input.as_slice() else {
            let reason = format!("the model `{}` takes one text per request", target.name);
            return Err(ProviderError::new(Kind::Invalid, reason));
        };
        Ok(text)
    };
    Ok(match embedder {
        Embedder::Titan => with_options(json!({ "inputText": one()? }), target, TO_EMBED),
        Embedder::Cohere => {
            let body = json!({ "texts": request.input, "input_type": "search_document" });
            with_options(body, target, TO_EMBED_COHERE)
        }
        Embedder::Nova => {
            let mut text = members(json!({ TRUNCATION: "NONE", "value": one()? }));
            if let Some(mode) = target.options.get(TRUNCATION) {
                text.insert(TRUNCATION.to_owned(), mode.clone());
            }
            let mut params = members(json!({ "embeddingPurpose": "GENERIC_INDEX", "text": text }));
            if let Some(dimensions) = target.options.get("dimensions") {
                params.insert("embeddingDimension".to_owned(), dimensions.clone());
            }
            let params = options::merged(params, target, "singleEmbeddingParams");
            let body = json!({ "taskType": "SINGLE_EMBEDDING", "singleEmbeddingParams": params });
            with_options(body, target, TO_EMBED_NOVA)
        }
    })
}

/// Reads one vector per text, each as long as was asked for.
pub(super) fn embeddings(
    target: &Target,
    request: &EmbeddingRequest,
    body: &[u8],
) -> Result<Embeddings, Fault> {
    let answer = answer(body)?;
    let given = match (&answer["embedding"], &answer["embeddings"]) {
        (vector @ Value::Array(_), _) => vec![vector],
        (_, Value::Array(vectors)) => vectors
            .iter()
            .map(|vector| vector.get("embedding").unwrap_or(vector))
            .collect(),
        (_, types) => types["float"].as_array().into_iter().flatten().collect(),
    };
    let dimensions = dimensions(&target.options, &["dimensions", "output_dimension"]);
    let vectors = vectors(&given, request.input.len(), dimensions)?;
    let usage = usage(&answer);
    Ok(Embeddings { vectors, usage })
}

/// Titan's count; others count in a header.
pub(super) fn usage(answer: &Value) -> Option<UsageReport> {
    let count = whole(&answer["inputTextTokenCount"])?;
    let raw = json!({ "inputTextTokenCount": count });
    Some(UsageReport {
        usage: Usage {
            input_tokens: count,
            ..Usage::default()
        },
        cost: None,
        raw: Some(Json::of(&raw)),
    })
}
