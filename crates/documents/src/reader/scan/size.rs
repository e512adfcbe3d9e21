//! How large a page is recognised: as large as its letters need.

use crate::reader::cleanup::{self, Gray};

/// Letters of this height are read without a fault; smaller ones are enlarged.
const GOOD_HEIGHT: f32 = 20.0;
const SMALL_HEIGHT: f32 = 13.0;
const MAX_TIMES: f32 = 4.0;

/// Letters of this height are read well where the paper is good; pages of more pixels than A4 has at 400 dots per inch are.
const FAIR_HEIGHT: f32 = 15.0;
const WORTH_PIXELS: f32 = 15.5e6;

/// What recognition is asked to look at has no more pixels than this; it takes four bytes for each.
const MAX_PIXELS: f32 = 60e6;

/// How many times a page has to be enlarged for its letters to be read well.
pub(super) fn enlargement(page: &Gray) -> f32 {
    let Some(height) = cleanup::letter_height(page) else {
        return 1.0;
    };
    if height >= SMALL_HEIGHT {
        return 1.0;
    }
    let wanted = (GOOD_HEIGHT / height).ceil().min(MAX_TIMES);
    let most = (MAX_PIXELS / page.data.len() as f32)
        .sqrt()
        .floor()
        .max(1.0);
    wanted.min(most)
}

/// By how many times a page may be made smaller, and its small letters are still read well: it takes as long to recognise as it
/// has pixels.
pub(super) fn reduction(page: &Gray) -> usize {
    let pixels = page.data.len();
    // As many times as leave no more than are worth having.
    let many = (pixels as f32 / WORTH_PIXELS).sqrt().ceil();
    let times = match cleanup::small_height(page) {
        Some(height) if pixels as f32 > WORTH_PIXELS => {
            (height / GOOD_HEIGHT).max(many.min(height / FAIR_HEIGHT))
        }
        Some(height) => height / GOOD_HEIGHT,
        // Too few to tell: a title, or specks.
        None => many,
    };
    (times as usize).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of letters of this height and width, far from each other.
    fn lines(height: usize, across: usize, down: usize) -> Gray {
        let mut page = Gray::new(across, down, vec![255; across * down]);
        for top in (height..down - 2 * height).step_by(3 * height) {
            for left in (height..across - 2 * height).step_by(height) {
                for row in top..top + height {
                    let from = row * across + left;
                    page.data[from..from + height / 2].fill(0);
                }
            }
        }
        page
    }

    #[test]
    fn a_page_is_made_smaller_as_far_as_its_letters_are_still_read() {
        assert_eq!(reduction(&lines(24, 1700, 2200)), 1);
        assert_eq!(reduction(&lines(48, 1700, 2200)), 2);
        assert_eq!(reduction(&lines(16, 5000, 4000)), 1);
        assert_eq!(reduction(&lines(32, 5000, 4000)), 2);
        assert_eq!(reduction(&Gray::new(5000, 7000, vec![255; 35_000_000])), 2);
    }
}
