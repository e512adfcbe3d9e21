//! Texts in order, by the words that they share with the query: rare ones count more.

use std::collections::{HashMap, HashSet};

use domain::{Ranked, RerankRequest, Reranking};

/// Scores are told to so many parts, since logarithms differ in their last digit from machine to machine.
const PARTS: f64 = 10_000.0;

/// The texts with a score from 0 to 1, the best first; those that tie in the order of the request.
pub(super) fn reranking(request: &RerankRequest) -> Reranking {
    let texts: Vec<HashSet<String>> = request.documents.iter().map(|it| words(it)).collect();
    let mut found: HashMap<&str, u32> = HashMap::new();
    for word in texts.iter().flatten() {
        *found.entry(word).or_default() += 1;
    }
    let mut asked: Vec<String> = words(&request.query).into_iter().collect();
    // Sums of fractions depend on their order.
    asked.sort_unstable();
    let weight = |word: &String| {
        let count = found.get(word.as_str()).copied();
        count.map_or(0.0, |count| {
            let all = u32::try_from(texts.len()).unwrap_or(u32::MAX);
            (1.0 + f64::from(all) / f64::from(count)).ln()
        })
    };
    let whole: f64 = asked.iter().map(weight).sum();
    let score = |text: &HashSet<String>| {
        let shared = asked.iter().filter(|it| text.contains(*it)).map(weight);
        // The sum of no numbers would be -0.0.
        let shared = shared.fold(0.0, |sum, weight| sum + weight);
        let score = if whole > 0.0 { shared / whole } else { 0.0 };
        (score * PARTS).round() / PARTS
    };
    let ranked = texts.iter().enumerate().map(|(index, text)| Ranked {
        index,
        score: score(text),
    });
    let mut results: Vec<Ranked> = ranked.collect();
    results.sort_by(|a, b| b.score.total_cmp(&a.score));
    results.truncate(request.top_k.unwrap_or(usize::MAX));
    Reranking {
        results,
        usage: None,
    }
}

/// The different words of a text in lower case; in scripts without spaces, each character is one.
fn words(text: &str) -> HashSet<String> {
    let mut spaced = String::with_capacity(text.len());
    for char in text.to_lowercase().chars() {
        match char {
            '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}' => {
                spaced.extend([' ', char, ' ']);
            }
            char if char.is_alphanumeric() => spaced.push(char),
            _ => spaced.push(' '),
        }
    }
    spaced.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(query: &str, documents: &[&str], top_k: Option<usize>) -> Vec<(usize, f64)> {
        let request = RerankRequest {
            query: query.to_owned(),
            documents: documents.iter().map(|&text| text.to_owned()).collect(),
            top_k,
            max_chunks_per_doc: None,
        };
        let results = reranking(&request).results.into_iter();
        results.map(|it| (it.index, it.score)).collect()
    }

    #[test]
    fn rare_words_count_more_and_ties_keep_their_order() {
        let documents = [
            "The weather in Oslo",
            "the capital of France",
            "Paris is the capital of France.",
            "the the the",
        ];

        let told = ranked("Is Paris the capital?", &documents, None);
        let best = ranked("Is Paris the capital?", &documents, Some(1));

        assert_eq!(told, [(2, 1.0), (1, 0.3576), (0, 0.1383), (3, 0.1383)]);
        assert_eq!(best, [(2, 1.0)]);
    }

    #[test]
    fn nothing_shared_is_nothing_and_scripts_without_spaces_have_words() {
        assert_eq!(ranked("x", &["a", ""], None), [(0, 0.0), (1, 0.0)]);
        assert_eq!(ranked("", &["a"], None), [(0, 0.0)]);
        let told = ranked("x", &["a"], None);
        assert!(told[0].1.is_sign_positive());
        assert_eq!(
            ranked("東京の天気", &["大阪の食べ物", "東京タワー"], None)
                .iter()
                .map(|(index, _)| *index)
                .collect::<Vec<_>>(),
            [1, 0]
        );
    }
}
