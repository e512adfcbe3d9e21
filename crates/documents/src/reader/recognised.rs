//! Recognised words measured: the size of their font, the line that they stand on, how bold they are, whether their letters
//! are of one width.
//!
//! A recognised word comes with the rectangle around its ink, which is lower for `cave` than for `type`. What letters it has
//! tells how much of the size that is.

use std::collections::HashMap;

use domain::Bbox;

use super::{
    cleanup::Gray,
    geometry::{median, weighted_median},
    layout::Word,
    tesseract::Recognised,
    words::{ASCENT, DESCENT},
};

/// How high letters are above their line, in parts of the size: with an ascender, and without.
const TALL: f32 = 0.71;
const LOW: f32 = 0.50;
/// How deep descenders are.
const DEEP: f32 = 0.21;

/// Letters of one width are this wide in parts of the size, in all faces that programs are set in.
const PITCH: std::ops::Range<f32> = 0.5..0.68;

/// Fewer letters do not tell how bold they are.
const MIN_LETTERS: usize = 12;

/// Words of a page, measured.
pub(super) fn words(found: &[Recognised], page: &Gray) -> Vec<Word> {
    let threshold = page.threshold();
    let found: Vec<Recognised> = found
        .iter()
        .map(|word| Recognised {
            bbox: inked(page, threshold, word.bbox),
            ..word.clone()
        })
        .collect();
    let mut lines: HashMap<(u32, u32, u32), Vec<&Recognised>> = HashMap::new();
    let mut order = Vec::new();
    for word in &found {
        let line = lines.entry(word.line).or_default();
        if line.is_empty() {
            order.push(word.line);
        }
        line.push(word);
    }
    let lines: Vec<&Vec<&Recognised>> = order.iter().filter_map(|line| lines.get(line)).collect();
    let mut sizes: Vec<f32> = lines.iter().map(|line| line_size(line)).collect();
    snap(&mut sizes, &lines);
    let mut words = Vec::new();
    for (line, size) in lines.into_iter().zip(sizes) {
        let baseline = Baseline::of(line, size);
        let pitch = pitch(line, size);
        let stroke = line_stroke(line, page, threshold) / size * 1000.0;
        for word in line {
            let level = baseline.at(word);
            words.push(Word {
                text: plain(&word.text),
                bbox: Bbox {
                    l: word.bbox.l,
                    t: level - ASCENT * size,
                    r: word.bbox.r,
                    b: level + DESCENT * size,
                },
                size,
                baseline: level,
                stroke,
                pitch,
                confidence: Some((word.confidence / 100.0).clamp(0.0, 1.0)),
            });
        }
    }
    words
}

/// A rectangle drawn in to the ink in it: those that come with words are at times too high by half.
fn inked(page: &Gray, threshold: u8, bbox: Bbox) -> Bbox {
    let (left, right) = (
        bbox.l.max(0.0) as usize,
        (bbox.r.ceil() as usize).min(page.width),
    );
    let (top, bottom) = (
        bbox.t.max(0.0) as usize,
        (bbox.b.ceil() as usize).min(page.height),
    );
    if left >= right || top >= bottom {
        return bbox;
    }
    let is_inked = |y: &usize| {
        page.row(*y)[left..right]
            .iter()
            .any(|&pixel| pixel < threshold)
    };
    let first = (top..bottom).find(is_inked);
    let last = (top..bottom).rev().find(is_inked);
    match (first, last) {
        // Half of a letter's height would be lost print, and no blank rim.
        (Some(first), Some(last)) if (last + 1 - first) * 3 > bottom - top => Bbox {
            t: first as f32,
            b: last as f32 + 1.0,
            ..bbox
        },
        _ => bbox,
    }
}

/// What recognition makes of quotes and bars, as one would type it.
fn plain(text: &str) -> String {
    text.replace(['‘', '’'], "'")
        .replace(['“', '”'], "\"")
        .replace('—', "-")
}

fn line_size(line: &[&Recognised]) -> f32 {
    let measured = |word: &&&Recognised| extent(&word.text).is_some();
    let sizes = line.iter().filter(measured).filter_map(|word| {
        let (up, down) = extent(&word.text)?;
        Some(word.bbox.height() / (up + down))
    });
    let size = median(sizes);
    if size > 0.0 {
        size
    } else {
        median(line.iter().map(|word| word.bbox.height())) / TALL
    }
}

/// How far a word reaches above and below its line, in parts of the size; `None` for marks alone.
fn extent(text: &str) -> Option<(f32, f32)> {
    let low = text
        .chars()
        .any(|letter| "acemnorsuvwxzgpqy".contains(letter));
    let tall = text.chars().any(|letter| {
        letter.is_ascii_digit()
            || letter.is_uppercase()
            || "bdfhklt()[]{}|/\\!?\"'%&$#@ß".contains(letter)
    });
    let dotted = text.chars().any(|letter| "ij".contains(letter));
    let deep = text.chars().any(|letter| "gjpqy()[]{}".contains(letter));
    let comma = text.contains([',', ';']);
    let up = match (tall, dotted, low) {
        (true, ..) => TALL,
        (_, true, _) => 0.68,
        (_, _, true) => LOW,
        _ => return None,
    };
    let down = match (deep, comma) {
        (true, _) => DEEP,
        (_, true) => 0.13,
        _ => 0.0,
    };
    Some((up, down))
}

/// The line under a line of words: nearly straight, nearly level.
struct Baseline {
    level: f32,
    size: f32,
}

impl Baseline {
    fn of(line: &[&Recognised], size: f32) -> Self {
        let bottoms = line.iter().filter_map(|word| {
            let (_, down) = extent(&word.text)?;
            Some(word.bbox.b - down * size)
        });
        let level = median(bottoms);
        let level = if level > 0.0 {
            level
        } else {
            median(line.iter().map(|word| word.bbox.b))
        };
        Self { level, size }
    }

    /// Where a word stands: on the line, unless its own ink says that it is raised or lowered.
    fn at(&self, word: &Recognised) -> f32 {
        let own = extent(&word.text).map(|(_, down)| word.bbox.b - down * self.size);
        own.filter(|own| (own - self.level).abs() > 0.35 * self.size)
            .unwrap_or(self.level)
    }
}

/// Lines that are nearly of the page's usual size are of it: pixels are coarse, and a line without ascenders measures small.
fn snap(sizes: &mut [f32], lines: &[&Vec<&Recognised>]) {
    let weights = lines.iter().map(|line| {
        line.iter()
            .map(|word| word.text.chars().count())
            .sum::<usize>() as f32
    });
    let usual = weighted_median(sizes.iter().copied().zip(weights));
    for size in sizes {
        if (0.88..1.13).contains(&(*size / usual)) {
            *size = usual;
        }
    }
}

/// The advance of a line's letters in parts of the size, where it is the same for all.
///
/// Words begin on a grid then, and all of them are as wide as they have letters.
fn pitch(line: &[&Recognised], size: f32) -> Option<f32> {
    let wide = |word: &&&Recognised| word.text.chars().count() >= 3;
    // Ink does not reach the edges of its letters: a tenth of the size is missing at both ends together.
    let own =
        |word: &Recognised| (word.bbox.width() + 0.1 * size) / word.text.chars().count() as f32;
    let pitches: Vec<f32> = line.iter().filter(wide).map(|word| own(word)).collect();
    if pitches.is_empty() {
        return None;
    }
    let pitch = median(pitches.iter().copied());
    let alike = pitches.iter().all(|own| (own / pitch - 1.0).abs() < 0.08);
    if !alike || !PITCH.contains(&(pitch / size)) {
        return None;
    }
    let first = line[0].bbox.l;
    let on_grid = |word: &&&Recognised| {
        let steps = (word.bbox.l - first) / pitch;
        (steps - steps.round()).abs() < 0.25
    };
    let fits = line.iter().filter(on_grid).count();
    (fits * 10 >= line.len() * 8).then_some(0.6)
}

/// How thick the strokes of a line are; 0 where it has too few letters to tell.
fn line_stroke(line: &[&Recognised], page: &Gray, threshold: u8) -> f32 {
    let letters = |word: &Recognised| {
        word.text
            .chars()
            .filter(|letter| letter.is_alphanumeric())
            .count()
    };
    if line.iter().map(|word| letters(word)).sum::<usize>() < MIN_LETTERS {
        return 0.0;
    }
    let strokes = line
        .iter()
        .map(|word| (stroke(page, threshold, word.bbox), letters(word) as f32));
    weighted_median(strokes)
}

/// How thick strokes are in a rectangle, in pixels: a stroke's area over the length of one of its sides.
fn stroke(page: &Gray, threshold: u8, bbox: Bbox) -> f32 {
    let (left, right) = (bbox.l.max(0.0) as usize, (bbox.r as usize).min(page.width));
    let (top, bottom) = (bbox.t.max(0.0) as usize, (bbox.b as usize).min(page.height));
    if left >= right || top >= bottom {
        return 0.0;
    }
    // Gray counts as a part of black: strokes are few pixels thick.
    let (mut area, mut rim) = (0.0, 0.0);
    let black = |x: usize, y: usize| {
        let span = f32::from(threshold).max(1.0) * 2.0;
        (1.0 - f32::from(page.data[y * page.width + x]) / span).max(0.0)
    };
    for y in top..bottom {
        let mut before = 0.0;
        for x in left..right {
            let here = black(x, y);
            area += here;
            let above = if y > top { black(x, y - 1) } else { 0.0 };
            rim += (here - before).abs() + (here - above).abs();
            before = here;
        }
    }
    if rim > 0.0 { 2.0 * area / rim } else { 0.0 }
}
