//! Grain and specks.

use super::{Gray, background::percentile};

/// Grain of more than this part of the contrast breaks letters up.
const GRAIN: f32 = 0.12;

/// Whether a page has grain: how far pixels are from what their neighbours let expect, in the middle, is nothing on clean
/// paper, and what print does to it is rare.
pub(in crate::reader) fn is_noisy(gray: &Gray) -> bool {
    if gray.width < 3 || gray.height < 3 {
        return false;
    }
    let mut counts = [0u64; 1025];
    for y in (1..gray.height - 1).step_by(3) {
        let (above, row, below) = (gray.row(y - 1), gray.row(y), gray.row(y + 1));
        for x in (1..gray.width - 1).step_by(2) {
            let around = i32::from(above[x])
                + i32::from(below[x])
                + i32::from(row[x - 1])
                + i32::from(row[x + 1]);
            let bend = (4 * i32::from(row[x]) - around).unsigned_abs();
            counts[bend.min(1024) as usize] += 1;
        }
    }
    let half = counts.iter().sum::<u64>() / 2;
    let mut sum = 0;
    let median = counts.iter().position(|count| {
        sum += count;
        sum > half
    });
    let contrast = percentile(gray, 0.6).saturating_sub(percentile(gray, 0.02));
    // Grain of one level bends by three in the middle.
    let grain = median.unwrap_or(0) as f32 / 3.0;
    grain > GRAIN * f32::from(contrast).max(20.0)
}

/// Print, however small, changes from dark to light between fewer of a page's pixels than this; grain, also when it is smoothed, between
/// more of them, both across and down.
const RESTLESS: f32 = 0.18;

/// Whether a page is nothing but grain. Recognition would look at every speck of it, for minutes.
pub(in crate::reader) fn is_grain(gray: &Gray) -> bool {
    if !is_noisy(gray) {
        return false;
    }
    let mut page = gray.clone();
    smooth(&mut page);
    let threshold = page.threshold();
    let (mut across, mut down) = (0usize, 0usize);
    let is_dark = |pixel: u8| pixel < threshold;
    for y in 1..page.height {
        let (above, row) = (page.row(y - 1), page.row(y));
        for x in 1..page.width {
            let here = is_dark(row[x]);
            across += usize::from(here != is_dark(row[x - 1]));
            down += usize::from(here != is_dark(above[x]));
        }
    }
    let least = RESTLESS * page.data.len() as f32;
    across as f32 > least && down as f32 > least
}

/// What differs from the middle one of its neighbours by more is a speck, or beyond an edge.
const SPECK: u8 = 56;

/// Each pixel becomes a mean of the nine around it, in which none counts as further from the middle one than `SPECK`.
///
/// The middle one alone would close the gaps in small letters, a mean alone would smear specks.
pub(super) fn smooth(gray: &mut Gray) {
    let (width, height) = (gray.width, gray.height);
    if width < 3 || height < 3 {
        return;
    }
    let source = gray.data.clone();
    let row = |y: usize| &source[y * width..(y + 1) * width];
    let (mut low, mut middle, mut high) = (vec![0u8; width], vec![0u8; width], vec![0u8; width]);
    for y in 1..height - 1 {
        let (above, here, below) = (row(y - 1), row(y), row(y + 1));
        for x in 0..width {
            let (a, b, c) = (above[x], here[x], below[x]);
            let (small, large) = (a.min(b), a.max(b));
            low[x] = small.min(c);
            high[x] = large.max(c);
            middle[x] = small.max(large.min(c));
        }
        let out = &mut gray.data[y * width..(y + 1) * width];
        for x in 1..width - 1 {
            // The middle of nine is the middle of: the largest of the small ones, the middle of the middle ones, the
            // smallest of the large ones.
            let lows = low[x - 1].max(low[x]).max(low[x + 1]);
            let highs = high[x - 1].min(high[x]).min(high[x + 1]);
            let middles = median(middle[x - 1], middle[x], middle[x + 1]);
            let middle = median(lows, middles, highs);
            let (least, most) = (middle.saturating_sub(SPECK), middle.saturating_add(SPECK));
            let near = |pixel: u8| u32::from(pixel.clamp(least, most));
            let corners =
                near(above[x - 1]) + near(above[x + 1]) + near(below[x - 1]) + near(below[x + 1]);
            let sides = near(above[x]) + near(below[x]) + near(here[x - 1]) + near(here[x + 1]);
            out[x] = ((corners + 2 * sides + 4 * near(here[x]) + 8) / 16) as u8;
        }
    }
}

fn median(a: u8, b: u8, c: u8) -> u8 {
    a.min(b).max(a.max(b).min(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of print with grain up to `grain` levels.
    fn grained(grain: u32) -> Gray {
        let mut seed = 7u32;
        let mut data = Vec::new();
        for y in 0..200 {
            for x in 0..200 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let paper: u32 = if y % 20 < 4 && x % 10 < 5 { 40 } else { 220 };
                let off = (seed >> 16) % (2 * grain + 1);
                data.push((paper + off).saturating_sub(grain).min(255) as u8);
            }
        }
        Gray::new(200, 200, data)
    }

    #[test]
    fn grain_is_told_from_print() {
        assert!(!is_noisy(&grained(0)));
        assert!(!is_noisy(&grained(6)));
        assert!(is_noisy(&grained(80)));
    }

    #[test]
    fn a_page_of_grain_alone_is_told_from_grained_print() {
        let mut seed = 7u32;
        let mut level = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if seed >> 31 == 0 { 0 } else { 255 }
        };
        let grain = Gray::new(200, 200, (0..40_000).map(|_| level()).collect());

        assert!(is_grain(&grain));
        assert!(!is_grain(&grained(80)) && !is_grain(&grained(0)));
    }

    #[test]
    fn a_speck_goes_and_a_stroke_stays() {
        let mut gray = Gray::new(9, 9, vec![255; 81]);
        gray.data[2 * 9 + 2] = 0;
        for y in 0..9 {
            for x in 5..8 {
                gray.data[y * 9 + x] = 0;
            }
        }

        gray.smooth();

        assert!(gray.data[2 * 9 + 2] > 230);
        assert!(gray.data[4 * 9 + 6] < 30);
    }
}
