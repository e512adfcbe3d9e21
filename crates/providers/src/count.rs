//! Token counts for providers that give none: a quarter of the characters.

/// What `texts` count for.
pub(crate) fn estimated_tokens(texts: &[String]) -> u64 {
    let tokens = texts.iter().map(|text| text.chars().count().div_ceil(4));
    tokens.sum::<usize>() as u64
}
