//! How far a text is from another.

use std::{collections::HashMap, ops::AddAssign};

use rapidfuzz::distance::levenshtein;
use serde::{Deserialize, Serialize};

/// So many changes in a text of this length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// What has to be put in, taken out or replaced.
    pub edits: usize,
    /// How many there are in the true text.
    pub length: usize,
}

impl Tally {
    /// Edits in parts of the true text; a text that should be empty counts as one long.
    pub fn rate(self) -> f64 {
        ratio(self.edits, self.length.max(1))
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.edits += other.edits;
        self.length += other.length;
    }
}

/// A part of a whole.
#[expect(clippy::cast_precision_loss, reason = "letters and cells of documents")]
pub(crate) fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// Counts wrong letters.
pub fn letters(truth: &str, answer: &str) -> Tally {
    Tally {
        edits: levenshtein::distance(truth.chars(), answer.chars()),
        length: truth.chars().count(),
    }
}

/// Counts wrong words.
pub fn words(truth: &str, answer: &str) -> Tally {
    let mut known = HashMap::new();
    let mut numbered = |text| {
        let words = str::split_whitespace(text);
        let numbers = words.map(|word| {
            let next = u32::try_from(known.len()).expect("a page has fewer words");
            *known.entry(word).or_insert(next)
        });
        numbers.collect::<Vec<_>>()
    };
    let (truth, answer) = (numbered(truth), numbered(answer));
    Tally {
        length: truth.len(),
        edits: levenshtein::distance(truth, answer),
    }
}

/// Whether a text is nearly the other: at most a letter in five is wrong.
pub fn alike(truth: &str, answer: &str) -> bool {
    let longest = truth.chars().count().max(answer.chars().count());
    letters(truth, answer).edits * 5 <= longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_put_in_taken_out_and_replaced() {
        let tally = |edits, length| Tally { edits, length };

        assert_eq!(letters("harbour", "harbour"), tally(0, 7));
        assert_eq!(letters("harbour", "harbor"), tally(1, 7));
        assert_eq!(letters("kitten", "sitting"), tally(3, 6));
        assert_eq!(letters("", "dirt"), tally(4, 0));
        assert!((letters("harbour", "").rate() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_word_is_wrong_whole() {
        let tally = |edits, length| Tally { edits, length };

        assert_eq!(words("the old bridge", "the cold bridge"), tally(1, 3));
        assert_eq!(words("the old bridge", "theold bridge"), tally(2, 3));
        assert_eq!(words("a b c d", "b c d"), tally(1, 4));
    }

    #[test]
    fn texts_are_alike_up_to_a_fifth() {
        assert!(alike("12345", "1234x"));
        assert!(!alike("1234", "123x"));
        assert!(alike("", ""));
        assert!(!alike("", "x"));
    }
}
