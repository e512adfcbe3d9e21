//! The text of programs: letters of one width, and indents that mean something.

use super::{blocks::leading, lines::Line};
use crate::reader::geometry::median;

/// Which lines are set in letters of one width.
pub(super) fn monospaced(lines: &[Line]) -> Vec<bool> {
    // Lines whose words have one pitch, and together many different letters, cannot be otherwise; short lines beside them
    // are judged by that pitch.
    let pitches: Vec<Option<f32>> = lines.iter().map(Line::pitch).collect();
    let sure: Vec<bool> = lines
        .iter()
        .zip(&pitches)
        .map(|(line, pitch)| pitch.is_some() && distinct_letters(line) >= 6)
        .collect();
    let known = median(
        pitches
            .iter()
            .zip(&sure)
            .filter(|(_, sure)| **sure)
            .filter_map(|(pitch, _)| *pitch),
    );
    // A recognised line alone is of one pitch by chance at times.
    let beside = |at: usize| sure.get(at).copied().unwrap_or(false);
    let given = |at: usize| lines[at].words.iter().all(|word| word.confidence.is_none());
    let mut mono: Vec<bool> = (0..lines.len())
        .map(|at| sure[at] && (given(at) || beside(at + 1) || at > 0 && beside(at - 1)))
        .collect();
    let fits = |at: usize| {
        let fits = |pitch: f32| known > 0.0 && (pitch - known).abs() < 0.03 * known;
        pitches[at].is_some_and(fits)
    };
    for at in 1..lines.len() {
        mono[at] = mono[at] || mono[at - 1] && fits(at);
    }
    for at in (1..lines.len()).rev() {
        mono[at - 1] = mono[at - 1] || mono[at] && fits(at - 1);
    }
    mono
}

fn distinct_letters(line: &Line) -> usize {
    let mut letters: Vec<char> = line
        .words
        .iter()
        .flat_map(|word| word.text.chars())
        .filter(|letter| letter.is_alphanumeric())
        .collect();
    letters.sort_unstable();
    letters.dedup();
    letters.len()
}

/// A program's lines with their indents, by the width of a letter.
pub(super) fn program(lines: &[Line]) -> String {
    let left = lines
        .iter()
        .map(|line| line.bbox.l)
        .fold(f32::MAX, f32::min);
    let leading = leading(lines);
    let mut text = String::new();
    let mut last: Option<f32> = None;
    for line in lines {
        let letter = line.pitch().unwrap_or(0.6) * line.size;
        if let Some(last) = last {
            text.push('\n');
            if line.baseline - last > 1.7 * leading {
                text.push('\n');
            }
        }
        last = Some(line.baseline);
        let mut at = left;
        for word in &line.words {
            let blanks = ((word.bbox.l - at) / letter).round().max(0.0) as usize;
            let blanks = if at > left { blanks.max(1) } else { blanks };
            // A line is never wider than a page of the smallest print.
            text.extend(std::iter::repeat_n(' ', blanks.min(400)));
            text.push_str(&word.text);
            at = word.bbox.r;
        }
    }
    text
}
