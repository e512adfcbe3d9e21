//! White between columns that is narrower than what parts lines: seen in one row it may be a wide space, in many it is not.

use super::{Row, columns};
use crate::reader::{
    geometry::median,
    layout::{Word, lines::Line, markers},
};

/// White is no gutter where it is narrower than this, in parts of the size, or in parts of the space between words.
const NARROW: f32 = 0.45;
const SPACES: f32 = 1.4;

/// Edges that differ by less than this part of the size are under each other.
const LEVEL: f32 = 0.15;

/// So many words must begin, or end, at a gutter: fewer stand under each other by chance. In a table of few rows all must but
/// the head, which may stand in the middle of its column.
const MIN_ALIGNED: usize = 3;

/// Rows whose lines are parted at narrow gutters.
pub(super) struct Parted {
    pub lines: Vec<Line>,
    pub rows: Vec<Row>,
    /// The middle of each gutter at which a line was parted.
    pub gutters: Vec<f32>,
}

/// Parts the lines of rows where white runs from top to bottom, with words that begin or end under each other beside it. In a
/// row alone only one of two such columns may be filled. `None` where no line has a gap at such a place.
pub(super) fn part(lines: &[&Line], rows: &[Row]) -> Option<Parted> {
    let size = median(rows.iter().flatten().map(|&index| lines[index].size));
    let least = least(lines, rows, size);
    let mut gutters = gutters(lines, rows, size, least);
    let crossed = |gutter: f32, pair: &[Word]| {
        pair[0].bbox.r <= gutter
            && gutter <= pair[1].bbox.l
            && pair[1].bbox.l - pair[0].bbox.r >= least
    };
    gutters.retain(|gutter| {
        let mut all = rows.iter().flatten();
        all.any(|&index| {
            lines[index]
                .words
                .windows(2)
                .any(|pair| crossed(*gutter, pair))
        })
    });
    if gutters.is_empty() {
        return None;
    }
    let mut parted = Parted {
        lines: Vec::new(),
        rows: Vec::new(),
        gutters,
    };
    for row in rows {
        let first = parted.lines.len();
        for &index in row {
            let words = &lines[index].words;
            let mut from = 0;
            for at in 1..words.len() {
                let pair = &words[at - 1..=at];
                // The mark of an item stays with it.
                let is_marker = at == 1 && markers::is_marker(&words[0].text);
                if !is_marker && parted.gutters.iter().any(|gutter| crossed(*gutter, pair)) {
                    parted.lines.push(Line::of(words[from..at].to_vec()));
                    from = at;
                }
            }
            parted.lines.push(Line::of(words[from..].to_vec()));
        }
        parted.rows.push((first..parted.lines.len()).collect());
    }
    Some(parted)
}

/// Whether a word of a line begins here, after more than a space.
pub(super) fn begins_at(line: &Line, left: f32) -> bool {
    line.words.windows(2).any(|pair| {
        (pair[1].bbox.l - left).abs() < LEVEL * line.size
            && pair[1].bbox.l - pair[0].bbox.r > NARROW * line.size
    })
}

/// How wide a gutter is at least.
fn least(lines: &[&Line], rows: &[Row], size: f32) -> f32 {
    let words = rows.iter().flatten().map(|&index| &lines[index].words);
    let gaps = words.flat_map(|words| words.windows(2).map(|pair| pair[1].bbox.l - pair[0].bbox.r));
    // What is raised stands close to its word.
    let space = median(gaps.filter(|gap| *gap > 0.1 * size));
    (NARROW * size).max(SPACES * space)
}

/// The middles of what is white from top to bottom.
fn gutters(lines: &[&Line], rows: &[Row], size: f32, least: f32) -> Vec<f32> {
    let words = || rows.iter().flatten().flat_map(|&index| &lines[index].words);
    let near = |a: f32, b: f32| (a - b).abs() < LEVEL * size;
    let aligned = MIN_ALIGNED.min(rows.len().saturating_sub(1));
    let mut gutters = Vec::new();
    // A title or a sum may run across; but what few rows have beside a gutter counts where nothing runs across.
    for crossing in [0, rows.len() / 10] {
        let extents = words().map(|word| (word.bbox.l, word.bbox.r));
        for pair in columns::covered(extents, crossing).windows(2) {
            let (from, to) = (pair[0].1, pair[1].0);
            if to - from < least {
                continue;
            }
            let ended = words().filter(|word| near(word.bbox.r, from)).count();
            let begun = words().filter(|word| near(word.bbox.l, to)).count();
            if ended.max(begun) >= aligned {
                gutters.push(f32::midpoint(from, to));
            }
        }
    }
    gutters
}
