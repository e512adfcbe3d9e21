//! Tables, as HTML tells them and as GitHub's Markdown does (<https://github.github.com/gfm/#tables-extension->).

mod html;
mod pipes;

use std::fmt::Write as _;

use domain::{JsonObject, TableCell, table_data};

/// Above this, a table has no more columns or rows.
const MAX_SIDE: usize = 10_000;
/// Above this, a table is mostly gaps, and is not drawn.
const MAX_PLACES: usize = 1_000_000;

/// A table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Table {
    rows: usize,
    columns: usize,
    /// Row by row.
    cells: Vec<Cell>,
}

/// A cell of a table. The spans are at least 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) row: usize,
    pub(crate) column: usize,
    pub(crate) row_span: usize,
    pub(crate) column_span: usize,
    /// Whether it tells what stands below it.
    pub(crate) is_column_header: bool,
    /// Whether it tells what stands beside it.
    pub(crate) is_row_header: bool,
}

impl Table {
    /// The first table in HTML or Markdown.
    pub(crate) fn read(markup: &str) -> Option<Self> {
        html::read(markup).or_else(|| pipes::read(markup))
    }

    /// A row's or a column's number, as far as there are such.
    pub(crate) fn within(number: u64) -> usize {
        usize::try_from(number).map_or(MAX_SIDE, |number| number.min(MAX_SIDE))
    }

    /// A table of these cells.
    pub(crate) fn of(mut cells: Vec<Cell>) -> Self {
        cells.sort_by_key(|cell| (cell.row, cell.column));
        let ends = |end: fn(&Cell) -> usize| cells.iter().map(end).max().unwrap_or(0);
        Self {
            rows: ends(|cell| cell.row + cell.row_span),
            columns: ends(|cell| cell.column + cell.column_span),
            cells,
        }
    }

    /// What it says: a line to a row, without the cells that say nothing.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let mut row = 0;
        for cell in self.cells.iter().filter(|cell| !cell.text.is_empty()) {
            if !text.is_empty() {
                text.push(if cell.row == row { ' ' } else { '\n' });
            }
            row = cell.row;
            text += &cell.text.replace('\n', " ");
        }
        text
    }

    /// What an element's `data` has of it (`ocr.md` 1).
    pub(crate) fn data(&self) -> JsonObject {
        let cells = self.cells.iter().map(|cell| TableCell {
            text: &cell.text,
            row: cell.row,
            column: cell.column,
            row_span: cell.row_span,
            column_span: cell.column_span,
            is_column_header: cell.is_column_header,
            is_row_header: cell.is_row_header,
        });
        table_data(self.rows, self.columns, cells)
    }

    /// In GitHub's Markdown, which has no spans: what spans cells stands in the first of them.
    pub(crate) fn to_markdown(&self) -> String {
        let (rows, columns) = (self.rows, self.columns);
        if rows.saturating_mul(columns) > MAX_PLACES {
            return self.text();
        }
        let mut cells = self.cells.iter().peekable();
        let mut lines = Vec::new();
        for row in 0..rows {
            let mut line = vec![String::new(); columns];
            while let Some(cell) = cells.next_if(|cell| cell.row == row) {
                let text = cell.text.replace('|', "\\|").replace('\n', "<br>");
                if let Some(place) = line.get_mut(cell.column) {
                    *place = text;
                }
            }
            lines.push(format!("| {} |", line.join(" | ")));
            if row == 0 {
                lines.push(format!("|{}", " --- |".repeat(columns)));
            }
        }
        lines.join("\n")
    }

    /// In HTML.
    pub(crate) fn to_html(&self) -> String {
        let mut html = "<table>".to_owned();
        let mut cells = self.cells.iter().peekable();
        for row in 0..self.rows {
            html += "<tr>";
            while let Some(cell) = cells.next_if(|cell| cell.row == row) {
                let is_header = cell.is_column_header || cell.is_row_header;
                let name = if is_header { "th" } else { "td" };
                let span = |name, span| match span {
                    1 => String::new(),
                    span => format!(" {name}=\"{span}\""),
                };
                let written = write!(
                    html,
                    "<{name}{}{}>{}</{name}>",
                    span("rowspan", cell.row_span),
                    span("colspan", cell.column_span),
                    escaped(&cell.text).replace('\n', "<br>")
                );
                written.expect("a text can be written to");
            }
            html += "</tr>";
        }
        html + "</table>"
    }
}

/// A text in HTML.
pub(crate) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cell(text: &str, (row, column): (usize, usize), spans: (usize, usize)) -> Cell {
        Cell {
            text: text.to_owned(),
            row,
            column,
            row_span: spans.0,
            column_span: spans.1,
            ..Cell::default()
        }
    }

    fn table() -> Table {
        Table::of(vec![
            cell("C|c", (1, 1), (1, 1)),
            cell("A\na", (0, 0), (1, 2)),
            cell("", (1, 0), (1, 1)),
        ])
    }

    #[test]
    fn a_table_is_told_in_lines_cells_and_markup() {
        assert_eq!(table().text(), "A a\nC|c");
        assert_eq!(
            table().to_markdown(),
            "| A<br>a |  |\n| --- | --- |\n|  | C\\|c |"
        );
        assert_eq!(
            table().to_html(),
            "<table><tr><td colspan=\"2\">A<br>a</td></tr><tr><td></td><td>C|c</td></tr></table>"
        );
        let data = table().data();
        assert_eq!(data["num_rows"].text(), "2");
        assert_eq!(data["num_cols"].text(), "2");
        assert_eq!(
            data["table_cells"].to_value()[0],
            json!({
                "text": "A\na", "row_span": 1, "col_span": 2, "start_row_offset_idx": 0, "end_row_offset_idx": 1,
                "start_col_offset_idx": 0, "end_col_offset_idx": 2, "column_header": false, "row_header": false,
            })
        );
        assert_eq!(Table::default().to_markdown(), "");
    }

    #[test]
    fn what_is_written_reads_the_same() {
        let read = Table::read(&table().to_html()).unwrap();
        assert_eq!(read, table());
        assert_eq!(Table::read("no | table"), None);
    }
}
