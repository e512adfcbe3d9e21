//! Words, rules and pictures with their places in; blocks in reading order out.
//!
//! From one list of blocks both the markdown and the elements of a page are written, so they cannot disagree. Nothing here
//! knows whether a word was in the file or was recognised, but that recognised ones are placed less exactly.

mod aligned;
mod banded;
mod bidi;
mod blocks;
mod cells;
mod cut;
mod furniture;
mod initials;
mod items;
mod labels;
mod lines;
mod markers;
mod program;
mod ruled;
#[cfg(test)]
mod tests;
mod verse;

use domain::{Bbox, Label};

pub(super) use bidi::runs_left;
pub(super) use cells::{Cell, Table};
pub(super) use ruled::cells as drawn_cells;

use super::geometry::{Place, weighted_median};

/// A word with its place.
#[derive(Debug, Clone)]
pub(super) struct Word {
    /// What it says.
    pub text: String,
    /// Where it is: from the height of its capitals to the depth of its descenders, whether it has any or not.
    pub bbox: Bbox,
    /// The size of its font.
    pub size: f32,
    /// The line that it stands on.
    pub baseline: f32,
    /// How thick its strokes are, in thousandths of the size; 0 where that is not known.
    pub stroke: f32,
    /// The advance of its letters in parts of the size, where it is the same for all.
    pub pitch: Option<f32>,
    /// How sure its reader was, from 0 to 1; `None` where it was not recognised but given.
    pub confidence: Option<f32>,
}

/// What is on a page.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    /// Its height.
    pub height: f32,
    /// Its words, in any order.
    pub words: Vec<Word>,
    /// Thin straight lines, level or upright.
    pub rules: Vec<Bbox>,
    /// Where pictures are.
    pub pictures: Vec<Bbox>,
    /// Whether it is the first page of its document: there the title is.
    pub is_first: bool,
}

/// A piece of a page.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// What it is.
    pub label: Label,
    /// What it says: of an item of a list without its marker, of a program or a verse with its line breaks.
    pub text: String,
    /// Where it is.
    pub bbox: Bbox,
    /// What more there is to say.
    pub detail: Detail,
    /// How sure its reader was of its words, from 0 to 1.
    pub confidence: Option<f32>,
}

/// What is known of some blocks alone.
#[derive(Debug, Clone)]
pub(super) enum Detail {
    /// Nothing.
    None,
    /// How deep a heading is, from 1.
    Level(u8),
    /// What stands before an item of a list.
    Marker {
        /// As it is printed.
        text: String,
        /// Whether it counts.
        enumerated: bool,
        /// How deep the item is, from 0.
        depth: u8,
    },
    /// A table's cells.
    Table(Table),
    /// Which of the page's pictures it is.
    Picture(usize),
}

/// Puts a page in order.
pub(super) fn of(mut sheet: Sheet) -> Vec<Block> {
    let (mut tables, words) = ruled::tables(&sheet.rules, std::mem::take(&mut sheet.words));
    let (banded, mut words) = banded::tables(&sheet.rules, words);
    tables.extend(banded);
    initials::join(&mut words);
    let body = Body::of(&words, &tables);
    let mut pieces: Vec<Piece> = lines::segments(words)
        .into_iter()
        .map(Piece::Line)
        .collect();
    pieces.extend(tables.into_iter().map(Piece::Table));
    let pictures = sheet.pictures.iter().enumerate();
    pieces.extend(pictures.map(|(index, &bbox)| Piece::Picture(index, bbox)));
    let parted = furniture::part(pieces, sheet.height, body);
    let mut drafts = Vec::new();
    for column in cut::columns(parted.middle, &sheet.rules, body) {
        drafts.extend(blocks::of(column, body));
    }
    labels::name(&mut drafts, &sheet, body);
    let head = blocks::edge(parted.head, Label::PageHeader);
    let foot = blocks::edge(parted.foot, Label::PageFooter);
    head.into_iter()
        .chain(drafts)
        .chain(foot)
        .map(blocks::Draft::into_block)
        .collect()
}

/// What most of a page's text looks like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Body {
    /// The size of its font.
    pub size: f32,
    /// How thick its strokes are.
    pub stroke: f32,
}

impl Body {
    /// By the length of what is set in each size; the cells of tables count where there is nothing else.
    fn of(words: &[Word], tables: &[Table]) -> Self {
        let in_cells: Vec<&Word> = tables.iter().flat_map(Table::words).collect();
        let outside: usize = words.iter().map(|word| word.text.len()).sum();
        let inside: usize = in_cells.iter().map(|word| word.text.len()).sum();
        let mut counted: Vec<&Word> = words.iter().collect();
        if outside < inside / 4 {
            counted.extend(in_cells);
        }
        let size = weighted_median(
            counted
                .iter()
                .map(|word| (word.size, word.text.len() as f32)),
        );
        let strokes = counted
            .iter()
            .filter(|word| word.stroke > 0.0 && (word.size / size - 1.0).abs() < 0.1);
        let stroke = weighted_median(strokes.map(|word| (word.stroke, word.text.len() as f32)));
        Self {
            size: if size > 0.0 { size } else { 10.0 },
            stroke,
        }
    }

    /// Whether strokes are as thick as those of a bold face. A face and its bold differ by half; sans and serif by a third.
    fn is_bold(self, stroke: f32) -> bool {
        self.stroke > 0.0 && stroke > 1.3 * self.stroke
    }
}

/// What is put in order.
#[derive(Debug, Clone)]
enum Piece {
    Line(lines::Line),
    Table(Table),
    Picture(usize, Bbox),
}

impl Piece {
    const fn bbox(&self) -> Bbox {
        match self {
            Self::Line(line) => line.bbox,
            Self::Table(table) => table.bbox,
            Self::Picture(_, bbox) => *bbox,
        }
    }

    const fn line(&self) -> Option<&lines::Line> {
        match self {
            Self::Line(line) => Some(line),
            _ => None,
        }
    }

    fn middle(&self) -> f32 {
        self.bbox().middle_y()
    }
}
