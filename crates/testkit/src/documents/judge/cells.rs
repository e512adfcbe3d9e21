//! Whether the cells of tables are where they belong.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::documents::{Cell, PageTruth};

use super::{distance::alike, text::fold};

/// How many cells are in place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cells {
    /// In their row and column, with their text, and as large as they are.
    pub right: usize,
    /// The true cells, and those in an answer that are none.
    pub total: usize,
}

/// Compares the tables of a page with those among an answer's elements, best matches first.
pub fn cells(page: &PageTruth, elements: &[Value]) -> Cells {
    let tables = elements.iter().filter(|element| element["type"] == "table");
    let mut answers: Vec<Vec<Cell>> = tables.map(cells_of).collect();
    let mut all = Cells::default();
    for truth in page.blocks.iter().filter(|block| !block.cells.is_empty()) {
        let scores = answers.iter().map(|answer| compare(&truth.cells, answer));
        let best = scores.enumerate().max_by_key(|(_, score)| score.right);
        let (right, total) = match best {
            Some((index, score)) => {
                answers.remove(index);
                (score.right, score.total)
            }
            None => (0, truth.cells.len()),
        };
        all.right += right;
        all.total += total;
    }
    // A table where there is none: every one of its cells is too many.
    let surplus = answers.iter().flatten();
    all.total += surplus.filter(|cell| !cell.text.is_empty()).count();
    all
}

fn compare(truth: &[Cell], answer: &[Cell]) -> Cells {
    let at = |row, col| {
        let mut cells = answer.iter();
        cells.find(|cell| (cell.row, cell.col) == (row, col))
    };
    let right = truth.iter().filter(|cell| match at(cell.row, cell.col) {
        Some(found) => {
            alike(&fold(&cell.text), &found.text)
                && (found.row_span, found.col_span) == (cell.row_span, cell.col_span)
        }
        // A cell without a text need not be mentioned.
        None => cell.text.is_empty(),
    });
    let known = |cell: &Cell| {
        let mut truth = truth.iter();
        truth.any(|true_cell| (true_cell.row, true_cell.col) == (cell.row, cell.col))
    };
    let surplus = answer
        .iter()
        .filter(|cell| !cell.text.is_empty() && !known(cell));
    Cells {
        right: right.count(),
        total: truth.len() + surplus.count(),
    }
}

/// The cells of a table element, as `ocr.md` 1 has them.
fn cells_of(element: &Value) -> Vec<Cell> {
    let cells = element["data"]["table_cells"].as_array();
    let number = |cell: &Value, name: &str, default: u32| {
        let number = cell[name]
            .as_u64()
            .and_then(|number| number.try_into().ok());
        number.unwrap_or(default)
    };
    let cells = cells.into_iter().flatten().map(|cell| Cell {
        row: number(cell, "start_row_offset_idx", u32::MAX),
        col: number(cell, "start_col_offset_idx", u32::MAX),
        row_span: number(cell, "row_span", 1),
        col_span: number(cell, "col_span", 1),
        header: cell["column_header"].as_bool().unwrap_or_default(),
        text: fold(cell["text"].as_str().unwrap_or_default()),
    });
    cells.collect()
}

#[cfg(test)]
mod tests {
    use domain::{Bbox, Label};
    use serde_json::json;

    use super::*;
    use crate::documents::{Block, table::single};

    fn page(cells: Vec<Cell>) -> PageTruth {
        let mut block = Block::new(Label::Table, "", Bbox::default());
        block.cells = cells;
        PageTruth {
            blocks: vec![block],
            ..PageTruth::default()
        }
    }

    fn table(cells: &[(u32, u32, &str)]) -> Value {
        let cells: Vec<_> = cells
            .iter()
            .map(|(row, col, text)| {
                json!({"text": text, "row_span": 1, "col_span": 1,
                       "start_row_offset_idx": row, "start_col_offset_idx": col})
            })
            .collect();
        json!({"type": "table", "data": {"table_cells": cells}})
    }

    #[test]
    fn a_cell_counts_in_its_place_only() {
        let truth = page(vec![
            single(0, 0, "Berth"),
            single(0, 1, "Vessel"),
            single(1, 0, "B-03"),
            single(1, 1, ""),
        ]);
        let answer = table(&[
            (0, 0, "Berth"),
            (0, 1, "B-03"),
            (1, 0, "B-03"),
            (2, 0, "dirt"),
        ]);

        // Right: Berth, B-03 and the empty one. The vessel is wrong, and the dirt is one too many.
        assert_eq!(cells(&truth, &[answer]), Cells { right: 3, total: 5 });
        assert_eq!(cells(&truth, &[]), Cells { right: 0, total: 4 });
    }

    #[test]
    fn a_merged_cell_is_as_large_as_it_is() {
        let truth = page(vec![Cell {
            col_span: 2,
            ..single(0, 0, "Both")
        }]);

        assert_eq!(cells(&truth, &[table(&[(0, 0, "Both")])]).right, 0);
        let mut wide = table(&[(0, 0, "Both")]);
        wide["data"]["table_cells"][0]["col_span"] = json!(2);
        assert_eq!(cells(&truth, &[wide]), Cells { right: 1, total: 1 });
    }

    #[test]
    fn a_table_that_is_none_has_only_wrong_cells() {
        let truth = PageTruth::default();

        let found = cells(&truth, &[table(&[(0, 0, "a"), (0, 1, "b")])]);

        assert_eq!(found, Cells { right: 0, total: 2 });
    }
}
