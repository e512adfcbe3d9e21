//! The cells of drawn tables, one below the other.
//!
//! Side by side they mislead recognition: a cell of one line stands between two lines of its neighbour, and all three are taken for
//! one line.

use domain::Bbox;

use crate::reader::{
    cleanup::{self, Gray},
    tesseract::Recognised,
};

/// What is between two cells, in pixels: as much as between two paragraphs.
const GAP: usize = 24;

/// Paper around the ink of a cell.
const RIM: usize = 3;

/// Less ink than this, across or down, is a speck.
const SPECK: usize = 4;

/// Words of the column are on lines of their own.
const BLOCK: u32 = 1 << 21;

/// The cells of a page in one column.
pub(super) struct Column {
    /// What it looks like.
    pub picture: Gray,
    pieces: Vec<Piece>,
}

/// A cell's ink: where it is on the page, and how far down the column it begins.
struct Piece {
    left: usize,
    top: usize,
    width: usize,
    height: usize,
    below: usize,
}

impl Column {
    /// Of a page without rules, and the page without these cells; `None` where there is nothing in them.
    pub(super) fn of(page: &Gray, cells: &[Bbox]) -> Option<(Self, Gray)> {
        let threshold = page.threshold();
        let mut below = GAP;
        let mut pieces = Vec::new();
        for cell in cells {
            if let Some(piece) = Piece::of(page, *cell, threshold, below) {
                below += piece.height + GAP;
                pieces.push(piece);
            }
        }
        let width = pieces.iter().map(|piece| piece.width).max()? + 2 * GAP;
        let mut picture = Gray::new(width, below, vec![255; width * below]);
        for piece in &pieces {
            for row in 0..piece.height {
                let from = (piece.top + row) * page.width + piece.left;
                let to = (piece.below + row) * width + GAP;
                picture.data[to..to + piece.width]
                    .copy_from_slice(&page.data[from..from + piece.width]);
            }
        }
        Some((Self { picture, pieces }, cleanup::erased(page, cells)))
    }

    /// A word that was read in the column, where it stands on the page.
    pub(super) fn back(&self, mut word: Recognised) -> Option<Recognised> {
        let middle = f32::midpoint(word.bbox.t, word.bbox.b);
        let after = self
            .pieces
            .partition_point(|piece| piece.below as f32 <= middle);
        let piece = self.pieces.get(after.checked_sub(1)?)?;
        let right = piece.left as f32 - GAP as f32;
        let down = piece.top as f32 - piece.below as f32;
        word.bbox = Bbox {
            l: word.bbox.l + right,
            t: word.bbox.t + down,
            r: word.bbox.r + right,
            b: word.bbox.b + down,
        };
        word.line.0 += BLOCK;
        Some(word)
    }
}

impl Piece {
    fn of(page: &Gray, cell: Bbox, threshold: u8, below: usize) -> Option<Self> {
        let (from, right) = (cell.l.max(0.0) as usize, (cell.r as usize).min(page.width));
        let (first, bottom) = (cell.t.max(0.0) as usize, (cell.b as usize).min(page.height));
        let (mut l, mut t, mut r, mut b) = (right, bottom, 0, 0);
        for y in first..bottom {
            let row = page.row(y).get(from..right).unwrap_or_default();
            let is_dark = |pixel: &u8| *pixel < threshold;
            if let Some((dark, last)) = row
                .iter()
                .position(is_dark)
                .zip(row.iter().rposition(is_dark))
            {
                (l, r) = (l.min(from + dark), r.max(from + last + 1));
                (t, b) = (t.min(y), y + 1);
            }
        }
        if r < l + SPECK || b < t + SPECK {
            return None;
        }
        let (left, top) = (l.saturating_sub(RIM), t.saturating_sub(RIM));
        Some(Self {
            left,
            top,
            width: (r + RIM).min(page.width) - left,
            height: (b + RIM).min(page.height) - top,
            below,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_below_each_other_and_their_words_go_back() {
        let mut page = Gray::new(200, 100, vec![255; 20_000]);
        let mut ink = |left: usize, top: usize| {
            for y in top..top + 10 {
                page.data[y * 200 + left..y * 200 + left + 30].fill(0);
            }
        };
        ink(20, 30);
        ink(120, 40);
        let cell = |l: f32, r: f32| Bbox {
            l,
            t: 0.0,
            r,
            b: 100.0,
        };

        let (column, rest) = Column::of(&page, &[cell(0.0, 90.0), cell(100.0, 190.0)]).unwrap();

        assert!(rest.data.iter().all(|&pixel| pixel == 255));
        let dark = |gray: &Gray| gray.data.iter().filter(|pixel| **pixel < 128).count();
        assert_eq!(dark(&column.picture), dark(&page));
        let second = GAP + 16 + GAP + RIM;
        let word = Recognised {
            text: "b".to_owned(),
            bbox: Bbox {
                l: (GAP + RIM) as f32,
                t: second as f32,
                r: (GAP + RIM + 30) as f32,
                b: second as f32 + 10.0,
            },
            confidence: 90.0,
            line: (1, 1, 2),
        };
        let there = column.back(word).unwrap().bbox;
        let expected = Bbox {
            l: 120.0,
            t: 40.0,
            r: 150.0,
            b: 50.0,
        };
        assert_eq!(there, expected);
        assert!(Column::of(&rest, &[cell(0.0, 90.0)]).is_none());
    }
}
