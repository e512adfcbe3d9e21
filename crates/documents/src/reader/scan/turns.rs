//! Which way up a page is, as far as what was read of it tells.

use super::attempt::{Attempt, SURE, letters};
use crate::reader::tesseract::Recognised;

/// Which way a page of more letters lies can be told from them.
const FEW_LETTERS: usize = 1500;

/// A word of so many letters is wider than it is high.
const TELLING: usize = 3;

impl Attempt {
    /// The turns that are worth trying as well.
    pub(super) fn other_turns(&self) -> Vec<usize> {
        if self.lies_sideways() {
            return vec![(self.quarters + 1) % 4, (self.quarters + 3) % 4];
        }
        let letters: usize = self.words.iter().map(letters).sum();
        if letters < FEW_LETTERS && self.confidence() < SURE {
            return (1..4).map(|turn| (self.quarters + turn) % 4).collect();
        }
        Vec::new()
    }

    /// The one of two turns that reads better.
    pub(super) fn or_better(self, other: Self) -> Self {
        if other.read() > self.read() {
            other
        } else {
            self
        }
    }

    /// Whether most words run up or down.
    fn lies_sideways(&self) -> bool {
        let words = self.words.iter().filter(|word| letters(word) >= TELLING);
        let (upright, all) = words.fold((0, 0), |(upright, all), word| {
            (upright + usize::from(is_upright(word)), all + 1)
        });
        2 * upright > all
    }

    /// How much was read, and how surely: twice as sure letters count four times, as noise is read as many unsure ones; words that
    /// run up or down count half.
    fn read(&self) -> f32 {
        let worth = |word: &Recognised| {
            let part = if letters(word) >= TELLING && is_upright(word) {
                0.5
            } else {
                1.0
            };
            part * letters(word) as f32 * word.confidence * word.confidence
        };
        self.words.iter().map(worth).sum()
    }
}

fn is_upright(word: &Recognised) -> bool {
    word.bbox.height() > word.bbox.width()
}

#[cfg(test)]
mod tests {
    use domain::Bbox;

    use super::*;
    use crate::reader::{cleanup::Gray, scan::Picture};

    fn picture(page: &Gray) -> Picture {
        Picture {
            gray: page.clone(),
            colours: None,
            dpi: 200,
            known: Vec::new(),
        }
    }

    fn attempt(quarters: usize, words: &[(&str, f32, f32, f32)]) -> Attempt {
        let gray = Gray::new(20, 20, vec![255; 400]);
        let word = |&(text, width, height, confidence): &(&str, f32, f32, f32)| Recognised {
            text: text.to_owned(),
            bbox: Bbox {
                l: 0.0,
                t: 0.0,
                r: width,
                b: height,
            },
            confidence,
            line: (1, 1, 1),
        };
        Attempt {
            words: words.iter().map(word).collect(),
            ..Attempt::clean(&picture(&gray), quarters)
        }
    }

    #[test]
    fn words_that_run_up_are_a_reason_to_turn_a_page_and_a_surer_turn_is_kept() {
        let upright = attempt(
            3,
            &[("Upside", 12.0, 80.0, 96.0), ("down", 12.0, 60.0, 96.0)],
        );
        let on_its_head = attempt(
            0,
            &[("apisdn", 80.0, 12.0, 31.0), ("umop", 60.0, 12.0, 28.0)],
        );
        let level = attempt(
            2,
            &[("Upside", 80.0, 12.0, 95.0), ("down", 60.0, 12.0, 95.0)],
        );

        assert_eq!(upright.other_turns(), [0, 2]);
        assert_eq!(on_its_head.other_turns(), [1, 2, 3]);
        assert!(level.other_turns().is_empty());
        let best = upright.or_better(on_its_head).or_better(level);
        assert_eq!(best.quarters, 2);
    }
}
