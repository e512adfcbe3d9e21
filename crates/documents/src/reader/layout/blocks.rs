//! The lines of a column put together to paragraphs, items of lists, programs.

use domain::{Bbox, Label};

use super::{
    Block, Body, Detail, Piece, cut,
    items::Item,
    lines::Line,
    program::{monospaced, program},
};
use crate::reader::geometry::{around, median};

/// Lines that are further from each other than this, in parts of the size, belong to different blocks.
const LEADING: f32 = 1.75;

/// A block in the making.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub label: Label,
    pub lines: Vec<Line>,
    pub bbox: Bbox,
    /// Where the column is that it stands in.
    pub column: Bbox,
    pub detail: Detail,
    /// What it says, once that is known better than from its lines.
    pub text: Option<String>,
}

impl Draft {
    fn of(lines: Vec<Line>) -> Self {
        Self {
            label: Label::Text,
            bbox: around(lines.iter().map(|line| line.bbox)),
            column: Bbox::default(),
            lines,
            detail: Detail::None,
            text: None,
        }
    }

    /// The size of most of its lines.
    pub(super) fn size(&self) -> f32 {
        median(self.lines.iter().map(|line| line.size))
    }

    /// How thick the strokes of most of its lines are.
    pub(super) fn stroke(&self) -> f32 {
        median(self.lines.iter().map(|line| line.stroke))
    }

    /// What it says.
    pub(super) fn text(&self) -> String {
        self.text.clone().unwrap_or_else(|| flowing(&self.lines))
    }

    pub(super) fn into_block(self) -> Block {
        let words = self.lines.iter().flat_map(|line| &line.words);
        let in_cells = match &self.detail {
            Detail::Table(table) => Some(table.words()),
            _ => None,
        };
        let sure = words.chain(in_cells.into_iter().flatten());
        let sure: Vec<f32> = sure.filter_map(|word| word.confidence).collect();
        Block {
            label: self.label,
            text: self.text(),
            bbox: self.bbox,
            detail: self.detail,
            confidence: (!sure.is_empty()).then(|| sure.iter().sum::<f32>() / sure.len() as f32),
        }
    }
}

/// The blocks of a column.
pub(super) fn of(column: Vec<Piece>, body: Body) -> Vec<Draft> {
    let extent = cut::extent(&column);
    let mut drafts = Vec::new();
    let mut list = Vec::new();
    let mut stretch: Vec<Line> = Vec::new();
    for piece in column {
        let other = match piece {
            Piece::Line(line) => {
                add(&mut stretch, line);
                continue;
            }
            Piece::Table(table) => Draft {
                label: Label::Table,
                text: Some(table.text()),
                bbox: table.bbox,
                detail: Detail::Table(table),
                ..Draft::of(Vec::new())
            },
            Piece::Picture(index, bbox) => Draft {
                label: Label::Picture,
                bbox,
                detail: Detail::Picture(index),
                ..Draft::of(Vec::new())
            },
        };
        let above = std::mem::take(&mut stretch);
        paragraphs(&above, extent, body, &mut list, &mut drafts);
        drafts.push(other);
    }
    paragraphs(&stretch, extent, body, &mut list, &mut drafts);
    drafts
}

/// The head or the foot of a page: one block, whose parts follow each other as they stand.
pub(super) fn edge(pieces: Vec<Piece>, label: Label) -> Option<Draft> {
    let mut lines: Vec<Line> = Vec::new();
    for piece in pieces {
        if let Piece::Line(line) = piece {
            add(&mut lines, line);
        }
    }
    (!lines.is_empty()).then(|| Draft {
        label,
        ..Draft::of(lines)
    })
}

/// Adds a line below the others, or to one that stands on its baseline.
fn add(stretch: &mut Vec<Line>, line: Line) {
    let level = stretch
        .iter()
        .rev()
        .take(4)
        .position(|known| known.is_level_with(&line));
    match level {
        Some(back) => {
            let at = stretch.len() - 1 - back;
            let known = stretch.remove(at);
            stretch.insert(at, known.with(line));
        }
        None => stretch.push(line),
    }
}

/// Adds the paragraphs, items and programs of a stretch of lines; `list` has the items of the list that goes on, for those to
/// come. A program, a picture or a table between two items does not end it.
fn paragraphs(
    lines: &[Line],
    column: Bbox,
    body: Body,
    list: &mut Vec<Item>,
    drafts: &mut Vec<Draft>,
) {
    let leading = leading(lines);
    let mono: Vec<bool> = monospaced(lines);
    let first = drafts.len();
    let mut open: Vec<Line> = Vec::new();
    let mut open_mono = false;
    let mut item: Option<Item> = None;
    let right = lines.iter().map(|line| line.bbox.r).fold(0.0, f32::max);
    for (at, line) in lines.iter().enumerate() {
        let mono = mono[at];
        let begins = open.last().is_none_or(|last| {
            mono != open_mono
                || if mono {
                    line.baseline - last.baseline > 3.0 * line.size
                } else {
                    is_apart(&open, line, leading, body)
                        || item.as_ref().map_or_else(
                            || is_begun(&open, last, line, right, column),
                            |item| !item.takes(last, line, right),
                        )
                }
        });
        let midst = open.last().filter(|_| !begins && !mono);
        let begun = (!mono)
            .then(|| Item::of(line, &lines[at + 1..], midst, list))
            .flatten();
        if begins || begun.is_some() {
            close(std::mem::take(&mut open), open_mono, item.take(), drafts);
            match &begun {
                Some(begun) => list.push(begun.clone()),
                None if mono => {}
                None => list.clear(),
            }
            item = begun;
        }
        open_mono = mono;
        open.push(line.clone());
    }
    close(open, open_mono, item, drafts);
    for draft in &mut drafts[first..] {
        draft.column = column;
    }
}

fn close(lines: Vec<Line>, mono: bool, item: Option<Item>, drafts: &mut Vec<Draft>) {
    if lines.is_empty() {
        return;
    }
    let mut draft = Draft::of(lines);
    if mono {
        draft.label = Label::Code;
        draft.text = Some(program(&draft.lines));
    } else if let Some(item) = item {
        let whole = flowing(&draft.lines);
        let rest = whole.strip_prefix(&item.marked.marker).unwrap_or(&whole);
        draft.label = Label::ListItem;
        draft.text = Some(rest.trim_start().to_owned());
        draft.detail = Detail::Marker {
            text: item.marked.marker,
            enumerated: item.marked.number.is_some(),
            depth: 0,
        };
    }
    drafts.push(draft);
}

/// The distance of most baselines from the one above.
pub(super) fn leading(lines: &[Line]) -> f32 {
    let distances = lines
        .windows(2)
        .map(|pair| pair[1].baseline - pair[0].baseline)
        .filter(|distance| *distance > 0.0);
    median(distances)
}

/// Whether a line stands apart from those above: by distance, by size or by weight.
fn is_apart(open: &[Line], line: &Line, leading: f32, body: Body) -> bool {
    let last = &open[open.len() - 1];
    let distance = line.baseline - last.baseline;
    let usual = if open.len() > 1 {
        distance_of(open)
    } else {
        leading.min(LEADING * line.size)
    };
    let (small, large) = (line.size.min(last.size), line.size.max(last.size));
    // A quarter more than the usual distance is a space between paragraphs; recognised lines are off by a tenth.
    let spaced = distance > 1.25 * usual.max(1.1 * small) || distance > LEADING * large;
    let resized = large / small > 1.12;
    let reweighted = body.stroke > 0.0
        && line.stroke > 0.0
        && last.stroke > 0.0
        && body.is_bold(line.stroke) != body.is_bold(last.stroke);
    spaced || resized || reweighted && (line.stroke / last.stroke - 1.0).abs() > 0.2
}

fn distance_of(open: &[Line]) -> f32 {
    median(
        open.windows(2)
            .map(|pair| pair[1].baseline - pair[0].baseline),
    )
}

/// Whether a line begins a paragraph though it does not stand apart.
fn is_begun(open: &[Line], last: &Line, line: &Line, right: f32, column: Bbox) -> bool {
    let left = open.iter().map(|line| line.bbox.l).fold(column.r, f32::min);
    let indent = line.bbox.l - left;
    let ended = ends_sentence(&last.text());
    // Indented, after a line that was not: centred lines are indented each by its own.
    let centred =
        (f32::midpoint(line.bbox.l, line.bbox.r) - f32::midpoint(last.bbox.l, last.bbox.r)).abs()
            < 0.5 * line.size;
    let indented = indent > 0.8 * line.size && indent < 4.0 * line.size && !centred;
    indented && (last.bbox.l - left) < 0.4 * line.size && ended
        || ended && had_room(last, line, right)
}

/// Whether the first word of a line would have fitted on the line above: nobody breaks a line there within a paragraph.
pub(super) fn had_room(last: &Line, line: &Line, right: f32) -> bool {
    let word = &line.words[0].bbox;
    right - last.bbox.r > word.width() + 1.0 * line.size
}

pub(super) fn ends_sentence(text: &str) -> bool {
    text.trim_end_matches(['"', '\'', ')', '”', '’', ']'])
        .ends_with(['.', '!', '?', ':', ';'])
}

/// Lines as one text: words that were broken at the end of a line are whole again.
pub(super) fn flowing(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        let next = line.text();
        if text.is_empty() {
            text = next;
        } else if is_broken(&text, &next) {
            text.pop();
            text.push_str(&next);
        } else {
            if !text.ends_with('-') || text.ends_with(" -") {
                text.push(' ');
            }
            text.push_str(&next);
        }
    }
    text
}

/// Whether a hyphen at the end of a line goes when the lines are joined: between small letters, and not in a compound that
/// has another one (`state-of-the-`).
fn is_broken(text: &str, next: &str) -> bool {
    let Some(before) = text.strip_suffix('-') else {
        return false;
    };
    let word = before.rsplit(' ').next().unwrap_or(before);
    before.ends_with(char::is_lowercase)
        && next.starts_with(char::is_lowercase)
        && !word.contains('-')
        && word.chars().filter(|letter| letter.is_alphabetic()).count() >= 2
}
