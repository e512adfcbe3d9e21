//! Figures that are set large, side by side, each with what it counts in small letters below or above it.

use super::{LEADING, Row, cells};
use crate::reader::{
    geometry::Place,
    layout::{Cell, Table, lines::Line},
};

/// Two of them may be the headings of two columns of text.
const MIN_FIGURES: usize = 3;

/// The figures are larger than their labels by this at least.
const LARGER: f32 = 1.3;

/// Neither a figure nor its label has more words.
const MAX_WORDS: usize = 5;

/// The table of the first two rows, if they are figures and their labels and no others go on with them.
pub(super) fn table(lines: &[&Line], rows: &[Row], start: usize) -> Option<Table> {
    let [upper, lower] = rows.get(start..start + 2)? else {
        return None;
    };
    let (first, second) = (lines[upper[0]], lines[lower[0]]);
    let (figures, small) = if first.size > second.size {
        (upper, second.size)
    } else {
        (lower, first.size)
    };
    let large = first.size.max(second.size);
    let counted = figures
        .iter()
        .filter(|&&index| lines[index].text().contains(char::is_numeric));
    let is_alike = upper.len() >= MIN_FIGURES
        && upper.len() == lower.len()
        && large > LARGER * small
        && counted.count() == figures.len()
        && second.baseline - first.baseline < large + small;
    let under = upper.iter().zip(lower).all(|(&above, &below)| {
        let (above, below) = (lines[above], lines[below]);
        let near = |a: f32, b: f32| (a - b).abs() < 0.5 * small;
        (near(above.bbox.l, below.bbox.l)
            || near(above.bbox.r, below.bbox.r)
            || near(above.bbox.middle_x(), below.bbox.middle_x()))
            && (above.size / first.size - 1.0).abs() < 0.1
            && (below.size / second.size - 1.0).abs() < 0.1
            && above.words.len().max(below.words.len()) <= MAX_WORDS
    });
    // What goes on below its first line is a text with a heading.
    let goes_on = |at: usize| {
        let distance = |row: &Row| (lines[row[0]].baseline - lines[rows[at][0]].baseline).abs();
        let beyond = if at == start {
            start.checked_sub(1)
        } else {
            Some(at + 1)
        };
        let row = beyond.and_then(|at| rows.get(at));
        row.is_some_and(|row| distance(row) < LEADING * lines[rows[at][0]].size)
    };
    if !is_alike || !under || goes_on(start) || goes_on(start + 1) {
        return None;
    }
    let mut table = Table {
        rows: 2,
        columns: upper.len(),
        ..Table::default()
    };
    for (row, pieces) in [upper, lower].into_iter().enumerate() {
        for (column, &index) in pieces.iter().enumerate() {
            table.cells.push(Cell {
                row,
                column,
                row_span: 1,
                column_span: 1,
                words: lines[index].words.clone(),
                ..Cell::default()
            });
        }
    }
    table.finish();
    table.bbox = cells::extent(&table);
    Some(table)
}
