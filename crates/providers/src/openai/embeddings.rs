//! Answers to embedding requests.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{EmbeddingRequest, Embeddings};
use serde_json::Value;

use super::{answer::answer, usage};
use crate::wire::Fault;

/// Reads the answer to an embedding request: one vector per text, each as long as was asked for.
pub(super) fn embeddings(
    request: &EmbeddingRequest,
    dimensions: Option<usize>,
    body: &[u8],
) -> Result<Embeddings, Fault> {
    let answer = answer(body)?;
    let items = answer["data"].as_array();
    let items = items.ok_or_else(|| Fault::protocol("the provider's answer has no vectors"))?;
    let asked = request.input.len();
    if items.len() != asked {
        let found = items.len();
        let words = format!("the provider answered {asked} texts with {found} vectors");
        return Err(Fault::protocol(words));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; asked];
    for (position, item) in items.iter().enumerate() {
        let index = item["index"]
            .as_u64()
            .and_then(|at| usize::try_from(at).ok());
        let place = vectors.get_mut(index.unwrap_or(position));
        let place = place.filter(|place| place.is_none());
        let place = place.ok_or_else(|| Fault::protocol("the vectors' indices make no sense"))?;
        let given = &item["embedding"];
        let vector = vector(given).ok_or_else(|| {
            // llama.cpp's server does so with models that are not made to embed.
            Fault::protocol(if given[0].is_array() {
                "the provider answered with a vector per token: its model does not pool them to one per text"
            } else {
                "a vector of the provider's answer is none"
            })
        })?;
        if dimensions.is_some_and(|dimensions| dimensions != vector.len()) {
            let found = vector.len();
            let words = format!("the provider answered with vectors of length {found}");
            return Err(Fault::protocol(words));
        }
        *place = Some(vector);
    }
    Ok(Embeddings {
        vectors: vectors.into_iter().flatten().collect(),
        usage: usage::of_texts(&answer["usage"], body),
    })
}

/// Numbers, or the base64 of 32-bit floats, low byte first.
fn vector(embedding: &Value) -> Option<Vec<f32>> {
    let vector: Vec<f32> = match embedding {
        #[expect(clippy::cast_possible_truncation, reason = "a vector is 32-bit floats")]
        Value::Array(numbers) => {
            let read = |number: &Value| number.as_f64().map(|number| number as f32);
            numbers.iter().map(read).collect::<Option<_>>()?
        }
        Value::String(text) => {
            let bytes = STANDARD.decode(text).ok()?;
            let (numbers, []) = bytes.as_chunks::<4>() else {
                return None;
            };
            numbers.iter().copied().map(f32::from_le_bytes).collect()
        }
        _ => return None,
    };
    let is_sound = !vector.is_empty() && vector.iter().all(|number| number.is_finite());
    is_sound.then_some(vector)
}
