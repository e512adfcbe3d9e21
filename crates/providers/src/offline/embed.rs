//! Vectors by feature hashing: words, and the letters in them, so that similar texts are near.

use domain::{
    EmbeddingRequest, Embeddings, JsonObject,
    seams::{ProviderError, ProviderErrorKind},
};

const DIMENSIONS: usize = 1536;
const MAX_DIMENSIONS: usize = 8192;
/// How many letters are taken together.
const GRAM: usize = 3;
const WORD_WEIGHT: f32 = 1.0;
const GRAM_WEIGHT: f32 = 0.5;

/// One vector of length one per text.
pub(super) fn embeddings(
    options: &JsonObject,
    request: &EmbeddingRequest,
) -> Result<Embeddings, ProviderError> {
    let dimensions = dimensions(options)?;
    let vector = |text: &String| vector(text, dimensions);
    Ok(Embeddings {
        vectors: request.input.iter().map(vector).collect(),
        usage: None,
    })
}

fn dimensions(options: &JsonObject) -> Result<usize, ProviderError> {
    let Some(given) = options.get("dimensions").filter(|given| !given.is_null()) else {
        return Ok(DIMENSIONS);
    };
    let dimensions = given.text().parse().ok();
    let dimensions = dimensions.filter(|dimensions| (1..=MAX_DIMENSIONS).contains(dimensions));
    dimensions.ok_or_else(|| {
        let reason = format!("`dimensions` is a whole number from 1 to {MAX_DIMENSIONS}");
        ProviderError::new(ProviderErrorKind::Invalid, reason)
    })
}

fn vector(text: &str, dimensions: usize) -> Vec<f32> {
    let mut vector = vec![0.0; dimensions];
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    for word in words.filter(|word| !word.is_empty()) {
        add(&mut vector, word, WORD_WEIGHT);
        let letters: Vec<char> = format!("^{word}$").chars().collect();
        for gram in letters.windows(GRAM) {
            add(&mut vector, &gram.iter().collect::<String>(), GRAM_WEIGHT);
        }
    }
    let is_empty = |vector: &[f32]| vector.iter().all(|&number| number == 0.0);
    if is_empty(&vector) {
        // A text without words, or one whose features cancel out, still is a text.
        let hash = hash(text);
        vector[place(hash, dimensions)] = 1.0;
    }
    let length = vector
        .iter()
        .map(|number| number * number)
        .sum::<f32>()
        .sqrt();
    vector.iter().map(|number| number / length).collect()
}

fn add(vector: &mut [f32], feature: &str, weight: f32) {
    let hash = hash(feature);
    // The top bit is the sign, so that features that share a place do not all add up.
    let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
    let place = place(hash, vector.len());
    vector[place] += sign * weight;
}

fn place(hash: u64, dimensions: usize) -> usize {
    let place = (hash & (u64::MAX >> 1)) % dimensions as u64;
    usize::try_from(place).expect("it is less than the number of dimensions")
}

/// FNV-1a, with its bits mixed once more: vectors must never change between versions or machines.
fn hash(text: &str) -> u64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, fold);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use domain::Json;

    use super::*;

    fn embed(dimensions: Option<&str>, texts: &[&str]) -> Result<Vec<Vec<f32>>, String> {
        let option = dimensions.map(|text| ("dimensions".to_owned(), Json::parse(text).unwrap()));
        let request = EmbeddingRequest {
            input: texts.iter().map(|&text| text.to_owned()).collect(),
        };
        let embeddings = embeddings(&option.into_iter().collect(), &request);
        embeddings
            .map(|answer| answer.vectors)
            .map_err(|error| error.reason)
    }

    fn nearness(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn similar_texts_are_near_and_others_far() {
        let texts = [
            "How do I reset my password?",
            "how can I reset the password",
            "Passwords: resetting them",
            "Bananas ripen faster in a paper bag",
        ];

        let vectors = embed(None, &texts).unwrap();

        let near = [1, 2, 3].map(|at| nearness(&vectors[0], &vectors[at]));
        assert!(near[0] > 0.6 && near[1] > 0.2 && near[2] < 0.1, "{near:?}");
        assert!(near[0] > near[1] && near[1] > near[2], "{near:?}");
    }

    #[test]
    fn vectors_have_length_one_and_the_dimensions_that_were_asked_for() {
        for (dimensions, length) in [
            (None, 1536),
            (Some("null"), 1536),
            (Some("1"), 1),
            (Some("7"), 7),
        ] {
            for text in ["one", "a b c d e f g", "!?", "日本語", " "] {
                let vector = embed(dimensions, &[text]).unwrap().remove(0);
                let norm = nearness(&vector, &vector);
                assert_eq!(vector.len(), length);
                assert!((norm - 1.0).abs() < 1e-4, "{text}: {norm}");
            }
        }
        for bad in ["0", "-1", "1.5", "\"3\"", "8193"] {
            let told = embed(Some(bad), &["a"]).unwrap_err();
            assert_eq!(told, "`dimensions` is a whole number from 1 to 8192");
        }
    }

    #[test]
    fn vectors_never_change() {
        let vector = embed(Some("4"), &["Gatewright"]).unwrap().remove(0);
        let rounded: Vec<String> = vector.iter().map(|number| format!("{number:.3}")).collect();

        assert_eq!(rounded, ["0.000", "0.000", "-0.707", "0.707"]);
        assert_eq!(hash("Gatewright"), 8_354_423_730_529_206_142);
    }
}
