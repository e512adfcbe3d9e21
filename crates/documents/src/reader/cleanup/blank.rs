//! Pages with nothing on them that could be a letter.

use super::{Gray, background, components, noise};

/// Print that is fainter than so many levels on its paper is read by nobody.
const FAINT: f32 = 12.0;

/// Grain that is so many times further from its paper than most of it is rare, and never hangs together.
const RARE: f32 = 4.0;

/// What is darker than its paper by so many levels may be print on any paper.
const PRINT: f32 = 60.0;

/// Smaller pictures may be one letter.
const PAGE_SIDE: usize = 400;

/// A component that spans this part of a page both ways is a frame or the edge of the glass.
const FRAME: f32 = 0.6;

/// Whether nothing on a page is as large and as shaped as letters.
///
/// Recognition takes longest where there is nothing to be found: on grain it looks at every speck.
pub(in crate::reader) fn is_blank(gray: &Gray) -> bool {
    let mut page = gray.clone();
    page.set_black_on_white();
    if noise::is_noisy(&page) {
        page.smooth();
    }
    background::divide(&mut page);
    let threshold = print_below(&page);
    let (width, height) = (page.width as f32, page.height as f32);
    let is_page = page.width.min(page.height) >= PAGE_SIDE;
    let mut is_blank = true;
    components::for_each_letter(&page, threshold, |letter| {
        let spans = (letter.r - letter.l) > FRAME * width && (letter.b - letter.t) > FRAME * height;
        is_blank = is_page && spans;
        is_blank
    });
    is_blank
}

/// What is darker is not the paper's own unevenness, on a page whose paper is white.
fn print_below(page: &Gray) -> u8 {
    let level = |part: f64| f32::from(background::percentile(page, part));
    let middle = level(0.5);
    // Of the normal distribution, 16 of 100 are above the middle by more than its deviation, 30 below by half of it. Paper that is cut off
    // at white has nothing above; print is below.
    let deviation = (level(0.84) - middle).max(1.9 * (middle - level(0.3)));
    let off = (RARE * deviation).clamp(FAINT, PRINT);
    (middle - off).max(1.0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sheet of gray paper with grain up to `grain` levels either way.
    fn sheet(grain: u32) -> Gray {
        let mut seed = 7u32;
        let mut level = || {
            let mut sum = 0;
            for _ in 0..4 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                sum += (seed >> 16) % (grain / 2 + 1);
            }
            (235 + sum).saturating_sub(grain).min(255) as u8
        };
        Gray::new(900, 1200, (0..900 * 1200).map(|_| level()).collect())
    }

    fn print(
        page: &mut Gray,
        (left, top): (usize, usize),
        (width, height): (usize, usize),
        gray: u8,
    ) {
        for y in top..top + height {
            page.data[y * 900 + left..y * 900 + left + width].fill(gray);
        }
    }

    #[test]
    fn paper_is_blank_and_one_letter_on_it_is_not() {
        for grain in [0, 12, 60] {
            let mut page = sheet(grain);
            assert!(is_blank(&page), "{grain}");

            print(&mut page, (400, 600), (9, 14), 90);
            assert!(!is_blank(&page), "{grain}");
        }
    }

    #[test]
    fn faint_print_is_print() {
        let mut page = sheet(4);
        print(&mut page, (400, 600), (9, 14), 205);

        assert!(!is_blank(&page));
    }

    #[test]
    fn what_has_no_room_for_a_letter_is_blank() {
        assert!(is_blank(&Gray::new(1, 1, vec![0])));
        assert!(is_blank(&Gray::new(8000, 3, vec![255; 24_000])));
        let mut line = sheet(0);
        print(&mut line, (50, 500), (800, 3), 0);
        assert!(is_blank(&line));
    }

    #[test]
    fn a_page_that_is_black_is_blank() {
        assert!(is_blank(&Gray::new(900, 1200, vec![3; 900 * 1200])));
    }
}
