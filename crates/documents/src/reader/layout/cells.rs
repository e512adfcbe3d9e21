//! A table: cells with words in them.

use domain::Bbox;

use super::{Word, lines};
use crate::reader::geometry::around;

/// A table.
#[derive(Debug, Clone, Default)]
pub(in crate::reader) struct Table {
    /// How many rows it has.
    pub rows: usize,
    /// How many columns it has.
    pub columns: usize,
    /// Row by row, each from left to right; a merged cell stands where it begins.
    pub cells: Vec<Cell>,
    /// Where it is.
    pub bbox: Bbox,
}

/// A cell of a table.
#[derive(Debug, Clone, Default)]
pub(in crate::reader) struct Cell {
    /// Its first row.
    pub row: usize,
    /// Its first column.
    pub column: usize,
    /// How many rows it takes.
    pub row_span: usize,
    /// How many columns it takes.
    pub column_span: usize,
    /// Whether it heads a column.
    pub is_header: bool,
    /// What it says.
    pub text: String,
    /// Its words, in any order.
    pub words: Vec<Word>,
}

impl Table {
    /// All of its words.
    pub(super) fn words(&self) -> impl Iterator<Item = &Word> {
        self.cells.iter().flat_map(|cell| &cell.words)
    }

    /// Writes out what its cells say, and finds the rows that head it.
    pub(super) fn finish(&mut self) {
        for cell in &mut self.cells {
            cell.text = cell_text(&cell.words);
        }
        self.cells.sort_by_key(|cell| (cell.row, cell.column));
        let headed = self.header_rows();
        for cell in &mut self.cells {
            cell.is_header = cell.row < headed;
        }
    }

    /// What it says, a line for each row.
    pub(in crate::reader) fn text(&self) -> String {
        let mut lines = vec![String::new(); self.rows];
        for cell in &self.cells {
            if cell.text.is_empty() {
                continue;
            }
            let line = &mut lines[cell.row];
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&cell.text);
        }
        lines.join("\n")
    }

    /// The first row, and those below it that a merged cell of the first row heads.
    fn header_rows(&self) -> usize {
        if self.rows < 2 {
            return 0;
        }
        let merged = self
            .cells
            .iter()
            .any(|cell| cell.row == 0 && cell.column_span > 1 && cell.column_span < self.columns);
        let tallest = self.cells.iter().filter(|cell| cell.row == 0);
        let tallest = tallest.map(|cell| cell.row_span).max().unwrap_or(1);
        let rows = if merged { tallest.max(2) } else { tallest };
        // A label that runs down the side is no head.
        if rows < self.rows && rows <= 3 {
            rows
        } else {
            1
        }
    }
}

/// What words in a cell say, line after line.
fn cell_text(words: &[Word]) -> String {
    let mut lines = lines::segments(words.to_vec());
    lines.sort_by(|a, b| a.baseline.total_cmp(&b.baseline));
    let mut joined: Vec<lines::Line> = Vec::new();
    for line in lines {
        match joined.last() {
            Some(last) if last.is_level_with(&line) => {
                let last = joined.pop().unwrap_or_else(|| line.clone());
                joined.push(last.with(line));
            }
            _ => joined.push(line),
        }
    }
    let texts: Vec<String> = joined.iter().map(lines::Line::text).collect();
    texts.join(" ")
}

/// Where a table's words are, if it has any.
pub(super) fn extent(table: &Table) -> Bbox {
    around(table.words().map(|word| word.bbox))
}
