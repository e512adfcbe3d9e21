//! Embeddings: bodies of requests and of answers.

use domain::{
    EmbeddingRequest, Embeddings, Json, JsonObject, Usage, UsageReport,
    seams::{ProviderError, Target},
};
use serde_json::Value;

use super::answer;
use crate::{
    count::whole,
    embedding,
    vocabulary::{self, Fate, NO_USERS, ONE_ENCODING, Vocabulary},
    wire::Fault,
};

const DIMENSION: &str = "output_dimension";
const INPUT_TYPE: &str = "input_type";

/// What becomes of an option; as of <https://docs.cohere.com/reference/embed>.
pub(super) const VOCABULARY: Vocabulary = &[
    ("dimensions", Fate::Renamed(DIMENSION)),
    ("embedding_types", Fate::Refused(&["[\"float\"]"])),
    ("encoding_format", ONE_ENCODING),
    ("images", Fate::Refused(&[])),
    ("inputs", Fate::Refused(&[])),
    ("texts", Fate::Refused(&[])),
    ("user", NO_USERS),
];

/// The body of a request. Texts are embedded to be found, unless the client says what for.
pub(super) fn body(
    target: &Target,
    request: &EmbeddingRequest,
) -> Result<JsonObject, ProviderError> {
    vocabulary::check(target, VOCABULARY)?;
    let mut body = JsonObject::new();
    let mut put = |member: &str, value: Json| body.insert(member.to_owned(), value);
    put("model", Json::of(&target.model));
    put("texts", Json::of(&request.input));
    put(INPUT_TYPE, Json::of(&"search_document"));
    put("embedding_types", Json::of(&["float"]));
    for (member, value) in vocabulary::carried(target, VOCABULARY) {
        put(member, value.clone());
    }
    Ok(body)
}

/// Reads the answer to a request.
pub(super) fn embeddings(
    target: &Target,
    request: &EmbeddingRequest,
    body: &[u8],
) -> Result<Embeddings, Fault> {
    let answer = answer::answer(body)?;
    let dimensions = embedding::dimensions(&target.options, &[DIMENSION, "dimensions"]);
    let list = embedding::listed(&answer["embeddings"]["float"])?;
    Ok(Embeddings {
        vectors: embedding::vectors(&list, request.input.len(), dimensions)?,
        usage: usage(&answer["meta"]),
    })
}

fn usage(meta: &Value) -> Option<UsageReport> {
    let counts = [&meta["billed_units"], &meta["tokens"]];
    let counted = counts
        .into_iter()
        .find_map(|it| whole(&it["input_tokens"]))?;
    Some(UsageReport {
        usage: Usage {
            input_tokens: counted,
            ..Usage::default()
        },
        cost: None,
        raw: Some(Json::of(meta)),
    })
}
