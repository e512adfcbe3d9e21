//! Embeddings: bodies of requests and of answers.

use domain::{EmbeddingRequest, Embeddings, Json, JsonObject, seams::Target};

use super::{answer, options};
use crate::{embedding, wire::Fault};

/// The body of a request. A text that is too long is refused rather than cut, unless the client wants it cut.
pub(super) fn body(target: &Target, request: &EmbeddingRequest) -> JsonObject {
    let mut body = JsonObject::new();
    let mut put = |member: &str, value: Json| body.insert(member.to_owned(), value);
    put("model", Json::of(&target.model));
    put("input", Json::of(&request.input));
    put("truncate", Json::of(&false));
    for (member, value) in options::members(target) {
        put(&member, value);
    }
    body
}

/// Reads the answer to a request.
pub(super) fn embeddings(
    target: &Target,
    request: &EmbeddingRequest,
    body: &[u8],
) -> Result<Embeddings, Fault> {
    let answer = answer::answer(body)?;
    let dimensions = embedding::dimensions(&target.options, &["dimensions"]);
    let list = embedding::listed(&answer["embeddings"])?;
    Ok(Embeddings {
        vectors: embedding::vectors(&list, request.input.len(), dimensions)?,
        usage: answer::usage(&answer),
    })
}
