//! Answers to embedding requests, and how many texts one answer has room for.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{EmbeddingRequest, Embeddings, Json, seams::Target};
use serde_json::Value;

use super::{answer::answer, usage};
use crate::{
    compatible::{self, DIMENSIONS},
    embedding, vocabulary,
    wire::{Fault, MAX_BODY_BYTES},
};

/// The option that says how vectors are written.
pub(super) const ENCODING: &str = "encoding_format";
/// What few models' vectors are longer than.
const LONG_VECTOR: usize = 4096;
/// How many bytes a number takes: four in base64, or a dozen digits on a line of its own.
const BASE64_BYTES: usize = 6;
const DECIMAL_BYTES: usize = 32;

/// Whether vectors are to come in base64: where the host is known to write them so, unless the client wants them otherwise.
pub(super) fn wants_base64(target: &Target) -> bool {
    let given = target.options.get(ENCODING).and_then(Json::as_string);
    compatible::of(target).takes_base64 && given.is_none_or(|given| given == "base64")
}

/// What an option is called that the host has another name for: the length of vectors. `None` if the client says it in the
/// host's own words as well, which hold.
pub(super) fn renamed<'o>(target: &Target, option: &'o str) -> Option<&'o str> {
    let own = compatible::of(target).dimensions;
    if option != DIMENSIONS || own == DIMENSIONS {
        return Some(option);
    }
    (!vocabulary::is_given(target, own)).then_some(own)
}

/// A sentence for what is left out.
pub(super) fn warnings(target: &Target) -> Vec<String> {
    let own = compatible::of(target).dimensions;
    let is_twice =
        vocabulary::is_given(target, DIMENSIONS) && renamed(target, DIMENSIONS).is_none();
    let twice = is_twice.then(|| vocabulary::said_twice(DIMENSIONS, own));
    twice.into_iter().collect()
}

/// The length of vectors that was asked for.
fn length(target: &Target) -> Option<usize> {
    let own = compatible::of(target).dimensions;
    embedding::dimensions(&target.options, &[own, DIMENSIONS])
}

/// How many texts go out at once: as many as the host takes, and as its answer has room for vectors of.
pub(super) fn batch(target: &Target) -> usize {
    let asked = length(target);
    let bytes = if wants_base64(target) {
        BASE64_BYTES
    } else {
        DECIMAL_BYTES
    };
    let vector = asked.unwrap_or(LONG_VECTOR).saturating_mul(bytes);
    let room = MAX_BODY_BYTES / vector.max(1);
    room.clamp(1, compatible::of(target).embedding_batch)
}

/// Reads the answer to an embedding request: one vector per text, each as long as was asked for.
pub(super) fn embeddings(
    target: &Target,
    request: &EmbeddingRequest,
    body: &[u8],
) -> Result<Embeddings, Fault> {
    let dimensions = length(target);
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

#[cfg(test)]
mod tests {
    use domain::JsonObject;

    use super::*;
    use crate::wire::tests::target;

    fn asked(provider: &str, api_base: &str, options: &str) -> Target {
        let options: JsonObject = serde_json::from_str(options).unwrap();
        Target {
            provider: provider.to_owned(),
            options,
            ..target(api_base)
        }
    }

    #[test]
    fn so_many_texts_go_out_as_the_answer_has_room_for_vectors_of() {
        let openai = |options| batch(&asked("openai", "https://api.openai.com/v1", options));
        let other = |options| batch(&asked("house", "http://localhost:8000/v1", options));

        assert_eq!(openai("{}"), 512);
        assert_eq!(openai(r#"{"encoding_format":"float"}"#), 256);
        assert_eq!(other("{}"), 256);
        assert_eq!(other(r#"{"dimensions":1024}"#), 512);
        assert_eq!(other(r#"{"dimensions":8192}"#), 128);
        assert_eq!(other(r#"{"dimensions":0}"#), 512);
        assert_eq!(other(r#"{"dimensions":99999999999}"#), 1);
    }

    #[test]
    fn the_length_of_vectors_goes_out_under_one_name() {
        let both = r#"{"dimensions":256,"output_dimension":512}"#;
        let name = |provider, options| {
            let target = asked(provider, "http://localhost:8000/v1", options);
            renamed(&target, DIMENSIONS).map(str::to_owned)
        };

        assert_eq!(name("voyage", both), None);
        let alone = name("voyage", r#"{"dimensions":256}"#);
        assert_eq!(alone.as_deref(), Some("output_dimension"));
        assert_eq!(name("house", both).as_deref(), Some(DIMENSIONS));
    }

    #[test]
    fn the_longest_vectors_of_the_most_texts_fit_into_their_answers() {
        let target = asked("openai", "https://api.openai.com/v1", "{}");
        let vector = STANDARD.encode([0x3e; 4 * 3072]);
        let (mut left, mut requests) = (2048, 0);

        while left > 0 {
            let count = left.min(batch(&target));
            let items: Vec<String> = (0..count)
                .map(|index| {
                    format!(
                        "    {{\n      \"object\": \"embedding\",\n      \"index\": {index},\n      \"embedding\": \"{vector}\"\n    }}"
                    )
                })
                .collect();
            let body = format!(
                "{{\n  \"object\": \"list\",\n  \"data\": [\n{}\n  ]\n}}",
                items.join(",\n")
            );
            let input = vec!["x".to_owned(); count];

            let read = embeddings(&target, &EmbeddingRequest { input }, body.as_bytes());

            assert!(body.len() <= MAX_BODY_BYTES, "{}", body.len());
            let vectors = read.unwrap().vectors;
            assert_eq!((vectors.len(), vectors[0].len()), (count, 3072));
            left -= count;
            requests += 1;
        }
        assert_eq!(requests, 4);
    }

    #[test]
    fn decimals_fit_too_however_long_they_are_written() {
        let target = asked("house", "http://localhost:8000/v1", "{}");
        let number = "        -0.006929283495992422,\n";

        let longest = batch(&target) * LONG_VECTOR * number.len();

        assert!(longest <= MAX_BODY_BYTES, "{longest}");
    }
}
