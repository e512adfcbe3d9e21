//! What was passed over: recognition misses parts of tables and ends of lines at times.

use domain::Bbox;

use crate::reader::{
    cleanup::{self, Gray},
    geometry::{Place, median},
    tesseract::Recognised,
};

/// What was left over and is read at the second look must be surer than that: specks are left over as well.
pub(super) const SURE: f32 = 70.0;

/// Fewer letters than this left over are specks.
const FEW: usize = 4;

/// More than this are grain or a drawing, which takes minutes to look at and has no words.
const MANY: usize = 600;

/// Words of the second look are on lines of their own.
pub(super) const BLOCK: u32 = 1 << 20;

/// The letters on a page that no word was read from, alone on white, if there are some: parts of tables and ends of lines are
/// passed over at times.
pub(super) fn of(page: &Gray, words: &[Recognised]) -> Option<Gray> {
    let height = median(words.iter().map(|word| word.bbox.height()));
    let boxes: Vec<Bbox> = words
        .iter()
        .map(|word| word.bbox.grown(0.15 * height))
        .collect();
    let rest = cleanup::erased(page, &boxes);
    // A word is as high as its ascenders; most letters have none.
    let letters = cleanup::letters_of(&rest, 0.7 * height, MANY)?;
    if letters.len() < FEW {
        return None;
    }
    let mut alone = Gray::new(page.width, page.height, vec![255; page.data.len()]);
    for letter in letters {
        // With the dots and commas beside it.
        let around = letter.grown(0.5 * height);
        let (left, right) = (
            around.l.max(0.0) as usize,
            (around.r as usize).min(page.width),
        );
        let (top, bottom) = (
            around.t.max(0.0) as usize,
            (around.b as usize).min(page.height),
        );
        for y in top..bottom {
            let row = y * page.width;
            alone.data[row + left..row + right]
                .copy_from_slice(&rest.data[row + left..row + right]);
        }
    }
    Some(alone)
}
