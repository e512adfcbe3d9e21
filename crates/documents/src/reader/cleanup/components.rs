//! Pixels that hang together: letters.

use domain::Bbox;

use super::Gray;

/// Pages with more pixels are looked at at half their size.
const MAX_PIXELS: usize = 6_000_000;

/// As many letters tell how high letters are.
const ENOUGH: usize = 6_000;

/// Letters that are less high on a page made smaller are looked at on the page itself.
const TOLD: f32 = 8.0;

/// How high most letters are, in pixels; `None` where there are none.
pub(in crate::reader) fn letter_height(gray: &Gray) -> Option<f32> {
    height(gray, 0.5)
}

/// How high small letters are: four of five are at least that high.
pub(in crate::reader) fn small_height(gray: &Gray) -> Option<f32> {
    height(gray, 0.2)
}

/// The height that this part of the letters does not exceed.
fn height(gray: &Gray, part: f32) -> Option<f32> {
    if gray.data.len() > MAX_PIXELS
        && let Some(half) = height(&gray.shrunk(2), part)
        && half >= TOLD
    {
        return Some(2.0 * half);
    }
    let mut heights = Vec::new();
    for_each_letter(gray, gray.threshold(), |letter| {
        heights.push(letter.height() as usize);
        heights.len() < ENOUGH
    });
    if heights.len() < 20 {
        return None;
    }
    let place = (heights.len() as f32 * part) as usize;
    Some(*heights.select_nth_unstable(place).1 as f32)
}

/// Where letters of about a height are; `None` where there are more than `most`.
pub(in crate::reader) fn letters_of(gray: &Gray, height: f32, most: usize) -> Option<Vec<Bbox>> {
    let mut found = Vec::new();
    for_each_letter(gray, gray.threshold(), |letter| {
        if (0.7..2.2).contains(&(letter.height() / height)) {
            found.push(letter);
        }
        found.len() <= most
    });
    (found.len() <= most).then_some(found)
}

/// Tells where each letter is, of what is darker than a threshold, until it is enough.
pub(super) fn for_each_letter(gray: &Gray, threshold: u8, mut tell: impl FnMut(Bbox) -> bool) {
    let mut seen: Vec<bool> = gray.data.iter().map(|&pixel| pixel >= threshold).collect();
    let mut stack = Vec::new();
    for start in 0..seen.len() {
        if seen[start] {
            continue;
        }
        seen[start] = true;
        stack.push(start);
        let (mut left, mut right) = (usize::MAX, 0);
        let (mut top, mut bottom, mut area) = (usize::MAX, 0, 0usize);
        while let Some(at) = stack.pop() {
            let (x, y) = (at % gray.width, at / gray.width);
            left = left.min(x);
            right = right.max(x);
            top = top.min(y);
            bottom = bottom.max(y);
            area += 1;
            for row in y.saturating_sub(1)..(y + 2).min(gray.height) {
                for column in x.saturating_sub(1)..(x + 2).min(gray.width) {
                    let next = row * gray.width + column;
                    if !seen[next] {
                        seen[next] = true;
                        stack.push(next);
                    }
                }
            }
        }
        let (width, height) = (right - left + 1, bottom - top + 1);
        // Dots, rules and pictures are no letters.
        let is_letter =
            height >= 4 && width >= 2 && width < 6 * height && height < 5 * width && area > 8;
        let letter = Bbox {
            l: left as f32,
            t: top as f32,
            r: right as f32 + 1.0,
            b: bottom as f32 + 1.0,
        };
        if is_letter && !tell(letter) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_as_high_as_most_of_them() {
        let mut gray = Gray::new(400, 200, vec![255; 80_000]);
        for letter in 0..60 {
            let (x, y) = (10 + letter % 30 * 12, 20 + letter / 30 * 60);
            let height = if letter % 5 == 0 { 20 } else { 14 };
            for row in y..y + height {
                for column in x..x + 7 {
                    gray.data[row * 400 + column] = 0;
                }
            }
        }

        assert_eq!(letter_height(&gray), Some(14.0));
        assert_eq!(letter_height(&Gray::new(50, 50, vec![255; 2500])), None);
    }
}
