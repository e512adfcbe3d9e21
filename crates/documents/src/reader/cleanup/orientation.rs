//! Which way lines of print run.

use super::Gray;

/// A page is looked at about this wide: lines of print are some pixels high then.
const WIDTH: usize = 700;

/// Print is looked at in strips of this part of the page: lines that are not quite level would blur over all of it.
const STRIPS: usize = 10;

/// Lines of print make a page this much more uneven across them than along them.
const SURE: f64 = 1.25;

/// Whether lines run up and down: `None` where it cannot be told.
pub(in crate::reader) fn lies_sideways(gray: &Gray) -> Option<bool> {
    let small = gray.shrunk(gray.width.max(gray.height) / WIDTH);
    let level = unevenness(&small);
    let upright = unevenness(&small.turned(1));
    if level > SURE * upright {
        Some(false)
    } else if upright > SURE * level {
        Some(true)
    } else {
        None
    }
}

/// How much neighbouring rows differ, summed over strips.
fn unevenness(gray: &Gray) -> f64 {
    let strip = (gray.width / STRIPS).max(1);
    let mut sum = 0.0;
    for from in (0..gray.width.saturating_sub(strip - 1)).step_by(strip) {
        let mut last: Option<f64> = None;
        for y in 0..gray.height {
            let dark: u32 = gray.row(y)[from..from + strip]
                .iter()
                .map(|&pixel| u32::from(255 - pixel))
                .sum();
            let dark = f64::from(dark) / strip as f64;
            if let Some(last) = last {
                sum += (dark - last) * (dark - last);
            }
            last = Some(dark);
        }
    }
    sum / (gray.width * gray.height) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Gray {
        let mut data = Vec::new();
        for y in 0..800usize {
            for x in 0..600usize {
                // Letters stand where they will, from line to line.
                let seed = (x / 7 * 31 + y / 24 * 17) as u32;
                let letter = seed.wrapping_mul(2_654_435_761) >> 16;
                let print = y % 24 < 10 && !letter.is_multiple_of(3);
                data.push(if print { 30 } else { 250 });
            }
        }
        Gray::new(600, 800, data)
    }

    #[test]
    fn lines_that_run_up_are_told_from_level_ones() {
        assert_eq!(lies_sideways(&lines()), Some(false));
        assert_eq!(lies_sideways(&lines().turned(1)), Some(true));
        assert_eq!(
            lies_sideways(&Gray::new(600, 800, vec![255; 480_000])),
            None
        );
    }
}
