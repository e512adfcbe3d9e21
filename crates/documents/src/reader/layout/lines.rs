//! Words side by side.

use domain::Bbox;

use super::{Word, bidi, markers};
use crate::reader::geometry::{around, weighted_median};

/// A gap of this part of the size is no space between words: what is beyond may be another column.
const GAP: f32 = 1.0;

/// A stretched space is no wider than this, in parts of the size.
const STRETCHED: f32 = 2.5;

/// Baselines that differ by less than this part of the size are one: recognised words are placed to a pixel or two.
const LEVEL: f32 = 0.3;

/// How far behind the marker of a list its item may begin, in parts of the size.
const MARKER_GAP: f32 = 4.0;

/// How far before its word the number of a note or of an affiliation is raised, in parts of the size of the word; it may touch
/// it or keep a space.
const RAISED: (f32, f32) = (0.15, 0.6);
const MARK_GAP: f32 = 0.6;

/// More small words than this are no notes and indices but small print.
const MAX_RAISED: usize = 2_000;

/// Words on one baseline.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// From left to right; there is always one.
    pub words: Vec<Word>,
    pub bbox: Bbox,
    pub baseline: f32,
    pub size: f32,
    /// How thick most of its strokes are; 0 where that is not known.
    pub stroke: f32,
}

impl Line {
    /// Of words from left to right.
    pub(super) fn of(words: Vec<Word>) -> Self {
        let weight = |word: &Word| word.text.chars().count() as f32;
        let size = weighted_median(words.iter().map(|word| (word.size, weight(word))));
        let baseline = weighted_median(words.iter().map(|word| (word.baseline, weight(word))));
        let strokes = words.iter().filter(|word| word.stroke > 0.0);
        Self {
            bbox: around(words.iter().map(|word| word.bbox)),
            size,
            baseline,
            stroke: weighted_median(strokes.map(|word| (word.stroke, weight(word)))),
            words,
        }
    }

    /// Two lines on one baseline as one.
    pub(super) fn with(mut self, other: Self) -> Self {
        self.words.extend(other.words);
        self.words.sort_by(|a, b| a.bbox.l.total_cmp(&b.bbox.l));
        Self::of(self.words)
    }

    /// What it says.
    pub(super) fn text(&self) -> String {
        text(&self.words)
    }

    /// Whether another line stands on its baseline.
    pub(super) fn is_level_with(&self, other: &Self) -> bool {
        (self.baseline - other.baseline).abs() < LEVEL * self.size.min(other.size)
    }

    /// The advance of its letters in parts of its size, where it is the same for all that are not alike anyway.
    pub(super) fn pitch(&self) -> Option<f32> {
        let first = self.words.first()?.pitch?;
        let alike = |word: &Word| {
            word.pitch
                .is_some_and(|pitch| (pitch - first).abs() < 0.03 * first)
        };
        self.words.iter().all(alike).then_some(first)
    }
}

/// What words from left to right say.
pub(super) fn text(words: &[Word]) -> String {
    let mut text = String::new();
    let mut last: Option<&Word> = None;
    for word in words {
        if let Some(last) = last {
            let gap = word.bbox.l - last.bbox.r;
            // A raised number or a change of face within a word leaves no gap; what was recognised as two words is two.
            if gap > 0.1 * word.size.min(last.size) || word.confidence.is_some() {
                text.push(' ');
            }
        }
        // What was recognised is in the order of its script already, but for the order of its words.
        if word.confidence.is_some() {
            text.push_str(&bidi::logical(word.text.clone()));
        } else {
            text.push_str(&word.text);
        }
        last = Some(word);
    }
    bidi::logical(text)
}

/// Words joined to stretches of lines, in no order: never across a gap that may be one between columns.
pub(super) fn segments(mut words: Vec<Word>) -> Vec<Line> {
    words.sort_by(|a, b| a.baseline.total_cmp(&b.baseline));
    lower(&mut words);
    let mut segments = Vec::new();
    for mut row in rows(words) {
        row.sort_by(|a, b| a.bbox.l.total_cmp(&b.bbox.l));
        let stretched: Vec<bool> = (0..row.len()).map(|at| is_stretched(&row, at)).collect();
        let mut open: Vec<Word> = Vec::new();
        for (word, stretched) in row.into_iter().zip(stretched) {
            if let Some(last) = open.last()
                && !stretched
                && is_apart(&open, last, &word)
            {
                segments.push(Line::of(std::mem::take(&mut open)));
            }
            open.push(word);
        }
        if !open.is_empty() {
            segments.push(Line::of(open));
        }
    }
    segments
}

/// Whether the gap before a word is a space of a line that was stretched to the width of its column: all of its spaces are as
/// wide. Numbers in columns may stand like that as well.
fn is_stretched(row: &[Word], at: usize) -> bool {
    let gap = |at: usize| {
        let (last, word) = (row.get(at.checked_sub(1)?)?, row.get(at)?);
        Some((word.bbox.l - last.bbox.r) / word.size)
    };
    let Some(own) = gap(at).filter(|own| *own < STRETCHED) else {
        return false;
    };
    let exact = if row[at].confidence.is_some() {
        0.12
    } else {
        0.04
    };
    let alike = |other: Option<f32>| other.is_some_and(|other| (other - own).abs() < exact);
    let is_number = |word: &Word| word.text.contains(|letter: char| letter.is_ascii_digit());
    (alike(gap(at - 1)) || alike(gap(at + 1))) && !is_number(&row[at]) && !is_number(&row[at - 1])
}

fn is_apart(open: &[Word], last: &Word, word: &Word) -> bool {
    let size = word.size.max(last.size);
    let gap = word.bbox.l - last.bbox.r;
    let limit = if open.len() == 1 && markers::is_marker(&last.text) {
        MARKER_GAP
    } else {
        GAP
    };
    gap > limit * size
        || word.size > 1.6 * last.size
        || last.size > 1.6 * word.size && gap > 0.3 * size
}

/// Puts raised and lowered words on the line of the word that they touch. `words` are sorted by baseline, and stay so.
fn lower(words: &mut [Word]) {
    let typical = weighted_median(words.iter().map(|word| (word.size, word.text.len() as f32)));
    let small: Vec<usize> = (0..words.len())
        .filter(|&index| words[index].size < 0.85 * typical)
        .collect();
    if small.len() > MAX_RAISED {
        return;
    }
    let mut moved = false;
    for index in small {
        let word = &words[index];
        let (from, to) = (word.baseline - 0.4 * typical, word.baseline + 0.7 * typical);
        let start = words.partition_point(|other| other.baseline < from);
        let host = words[start..]
            .iter()
            .take_while(|other| other.baseline <= to)
            .find(|other| {
                let gap = word.bbox.l - other.bbox.r;
                other.size > word.size / 0.85 && gap.abs() < 0.25 * other.size
            });
        let marked = || {
            let mut near = words[start..]
                .iter()
                .take_while(|other| other.baseline <= to);
            near.find(|other| is_mark_of(word, other))
        };
        if let Some(baseline) = host.or_else(marked).map(|host| host.baseline) {
            words[index].baseline = baseline;
            moved = true;
        }
    }
    if moved {
        words.sort_by(|a, b| a.baseline.total_cmp(&b.baseline));
    }
}

/// Whether a small word is the sign of a note, or of whom an author works for, before a word that it belongs to: a footnote's
/// text is small itself, so the sign is known by being raised.
fn is_mark_of(mark: &Word, word: &Word) -> bool {
    let raised = (word.baseline - mark.baseline) / word.size;
    let gap = (word.bbox.l - mark.bbox.r) / word.size;
    let is_sign = |sign: char| sign.is_ascii_digit() || "*†‡§¶,".contains(sign);
    RAISED.0 < raised
        && raised < RAISED.1
        && -0.1 < gap
        && gap < MARK_GAP
        && word.size > 1.05 * mark.size
        && mark.text.chars().count() <= 3
        && mark.text.chars().all(is_sign)
}

/// Words on one baseline each; `words` are sorted by it.
fn rows(words: Vec<Word>) -> Vec<Vec<Word>> {
    let mut rows: Vec<Vec<Word>> = Vec::new();
    let mut level = f32::MIN;
    for word in words {
        match rows.last_mut() {
            Some(row) if word.baseline - level < LEVEL * word.size.min(row[0].size) => {
                // The row's level follows its words slowly: on a page that is not quite straight it would lose them.
                level += (word.baseline - level) / (row.len() + 1) as f32;
                row.push(word);
            }
            _ => {
                level = word.baseline;
                rows.push(vec![word]);
            }
        }
    }
    rows
}
