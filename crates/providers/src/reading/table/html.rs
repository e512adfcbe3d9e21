//! Tables of HTML, with what spans several cells: as much of HTML as models write, and whatever comes is no fault.

use super::{Cell, MAX_SIDE, Table};

/// Above this, a cell spans no more; what browsers hold to.
const MAX_SPAN: usize = 1000;

/// The first table in a text.
pub(super) fn read(html: &str) -> Option<Table> {
    let mut reader = Reader::default();
    let mut rest = &html[find(html, "<table")?..];
    let mut is_over = false;
    while !is_over && let Some(begin) = rest.find('<') {
        reader.text(&rest[..begin]);
        rest = &rest[begin..];
        if let Some(tag) = Tag::read(rest) {
            is_over = reader.tag(&tag);
            rest = &rest[tag.length..];
        } else {
            reader.text("<");
            rest = &rest[1..];
        }
    }
    if !is_over {
        reader.text(rest);
    }
    let table = reader.finish();
    (table.rows > 0).then_some(table)
}

/// Where a word stands, in letters of either case.
fn find(text: &str, word: &str) -> Option<usize> {
    let mut places = text.as_bytes().windows(word.len());
    places.position(|it| it.eq_ignore_ascii_case(word.as_bytes()))
}

/// A tag.
struct Tag<'a> {
    name: String,
    is_end: bool,
    attributes: &'a str,
    length: usize,
}

impl<'a> Tag<'a> {
    /// The tag that a text begins with.
    fn read(text: &'a str) -> Option<Self> {
        let length = text.find('>')? + 1;
        let inside = &text[1..length - 1];
        let (is_end, inside) = match inside.strip_prefix('/') {
            Some(inside) => (true, inside),
            None => (false, inside),
        };
        let end = inside
            .find(|it: char| !it.is_ascii_alphanumeric())
            .unwrap_or(inside.len());
        let is_tag = inside.starts_with(|it: char| it.is_ascii_alphabetic());
        is_tag.then(|| Self {
            name: inside[..end].to_ascii_lowercase(),
            is_end,
            attributes: &inside[end..],
            length,
        })
    }

    /// The number of an attribute, from 1.
    fn span(&self, name: &str) -> usize {
        let value = find(self.attributes, name).and_then(|at| {
            let value = self.attributes[at + name.len()..].trim_start();
            let value = value.strip_prefix('=')?;
            let value = value.trim_start_matches([' ', '"', '\'']);
            let end = value
                .find(|it: char| !it.is_ascii_digit())
                .unwrap_or(value.len());
            value[..end].parse::<usize>().ok()
        });
        value.unwrap_or(1).clamp(1, MAX_SPAN)
    }
}

/// A table, as far as it was read.
#[derive(Default)]
struct Reader {
    cells: Vec<Cell>,
    /// How many tables are open: what stands within a cell's own table is the cell's text.
    depth: usize,
    rows: usize,
    column: usize,
    /// For each column, the row from which on it is free again.
    free_from: Vec<usize>,
    is_in_head: bool,
    /// Whether there is a row, and a cell of it, that is still open.
    is_in_row: bool,
    is_in_cell: bool,
}

impl Reader {
    fn text(&mut self, text: &str) {
        if self.is_in_cell
            && let Some(cell) = self.cells.last_mut()
        {
            cell.text += &text.replace(['\n', '\r', '\t'], " ");
        }
    }

    /// Whether the table has come to its end.
    fn tag(&mut self, tag: &Tag<'_>) -> bool {
        match (tag.name.as_str(), tag.is_end) {
            ("table", false) => self.depth += 1,
            ("table", true) => self.depth = self.depth.saturating_sub(1),
            ("tr" | "td" | "th", _) if self.depth > 1 => self.text(" "),
            ("thead", is_end) if self.depth == 1 => self.is_in_head = !is_end,
            ("tr", false) => self.row(),
            ("tr", true) => (self.is_in_row, self.is_in_cell) = (false, false),
            ("td" | "th", false) => self.cell(tag),
            ("td" | "th", true) => self.is_in_cell = false,
            ("br", _) => {
                if let Some(cell) = self.cells.last_mut().filter(|_| self.is_in_cell) {
                    cell.text.push('\n');
                }
            }
            _ => {}
        }
        self.depth == 0
    }

    fn row(&mut self) {
        (self.is_in_row, self.is_in_cell) = (true, false);
        (self.rows, self.column) = (self.rows + 1, 0);
    }

    fn cell(&mut self, tag: &Tag<'_>) {
        if !self.is_in_row {
            self.row();
        }
        let row = self.rows - 1;
        while self.free_from.get(self.column).is_some_and(|&it| it > row) {
            self.column += 1;
        }
        let (row_span, column_span) = (tag.span("rowspan"), tag.span("colspan"));
        let end = self.column + column_span;
        self.is_in_cell = row < MAX_SIDE && end <= MAX_SIDE;
        if !self.is_in_cell {
            return;
        }
        if self.free_from.len() < end {
            self.free_from.resize(end, 0);
        }
        self.free_from[self.column..end].fill(row + row_span);
        let is_header = tag.name == "th";
        self.cells.push(Cell {
            text: String::new(),
            row,
            column: self.column,
            row_span,
            column_span,
            is_column_header: self.is_in_head,
            is_row_header: is_header && !self.is_in_head,
        });
        self.column = end;
    }

    fn finish(self) -> Table {
        let rows = self.rows.min(MAX_SIDE);
        let mut cells = self.cells;
        // A row of headers alone tells what stands below it, wherever it is.
        let mut of_values = vec![false; rows];
        for cell in &cells {
            of_values[cell.row] |= !cell.is_row_header && !cell.is_column_header;
        }
        for cell in &mut cells {
            cell.text = plain(&cell.text);
            cell.row_span = cell.row_span.min(rows - cell.row);
            if cell.is_row_header && !of_values[cell.row] {
                (cell.is_column_header, cell.is_row_header) = (true, false);
            }
        }
        let table = Table::of(cells);
        Table { rows, ..table }
    }
}

/// A text without what HTML writes characters and spaces with.
fn plain(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.join(" ")
    });
    let lines: Vec<String> = lines.collect();
    decoded(lines.join("\n").trim())
}

fn decoded(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find('&') {
        plain += &rest[..begin];
        rest = &rest[begin..];
        let end = rest.find(';').filter(|end| *end <= 10);
        let character = end.and_then(|end| Some((end, character(&rest[1..end])?)));
        if let Some((end, character)) = character {
            plain.push(character);
            rest = &rest[end + 1..];
        } else {
            plain.push('&');
            rest = &rest[1..];
        }
    }
    plain + rest
}

fn character(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        name => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(number) => u32::from_str_radix(number, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(number)?
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Text, place, spans and header marks of every cell, shortly.
    fn cells(html: &str) -> Vec<String> {
        let table = read(html).unwrap();
        let cell = |cell: &Cell| {
            let mark = match (cell.is_column_header, cell.is_row_header) {
                (true, _) => "^",
                (_, true) => "<",
                _ => "",
            };
            format!(
                "{},{} {}x{} {mark}{}",
                cell.row, cell.column, cell.row_span, cell.column_span, cell.text
            )
        };
        table.cells.iter().map(cell).collect()
    }

    #[test]
    fn cells_stand_where_the_spans_before_them_leave_room() {
        let html = "<p>x</p><TABLE border=1><thead><tr><th rowspan=\"2\">Berth</th><th colspan='2'>Tides</th></tr>\
            <tr><th>High</th><th>Low</th></tr></thead><tbody>\n<tr><th>B&nbsp;3</th><td> 4.1 &lt;m<br/>west</td><td></td></tr>\
            <tr><td colspan=3><b>closed</b> &#233;&amp;&bogus;</td></tr></tbody></table><td>after</td>";

        assert_eq!(
            cells(html),
            [
                "0,0 2x1 ^Berth",
                "0,1 1x2 ^Tides",
                "1,1 1x1 ^High",
                "1,2 1x1 ^Low",
                "2,0 1x1 <B 3",
                "2,1 1x1 4.1 <m\nwest",
                "2,2 1x1 ",
                "3,0 1x3 closed é&&bogus;",
            ]
        );
    }

    #[test]
    fn what_models_leave_out_is_made_up_for() {
        assert_eq!(
            cells("<table><tr><th>A<th>B<tr><td>1<td>2"),
            ["0,0 1x1 ^A", "0,1 1x1 ^B", "1,0 1x1 1", "1,1 1x1 2"]
        );
        assert_eq!(
            cells(
                "<table><td>a</td><td rowspan=9>b<table><tr><td>c</td></tr></table></td></table>"
            ),
            ["0,0 1x1 a", "0,1 1x1 b c"]
        );
        assert_eq!(
            cells("<table><tr><td colspan=\"99999999999999999999\">a < b</td></tr></table>"),
            ["0,0 1x1 a < b"]
        );
        assert_eq!(read("<table></table>"), None);
        assert_eq!(read("no table"), None);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_no_panic(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "<table>", "</table>", "<tr>", "</tr>", "<td>", "<td rowspan=3>", "<th colspan=\"2\">", "</td>",
                    "<thead>", "</thead>", "<br>", "é", "&amp;", "&#x41;", "&", "<", ">", "<td rowspan=0 colspan=5000>", "a|b",
                ]),
                0..40,
            )
        ) {
            let html = "<table>".to_owned() + &pieces.concat();
            if let Some(table) = read(&html) {
                for cell in &table.cells {
                    prop_assert!(cell.row + cell.row_span <= table.rows);
                    prop_assert!(cell.column + cell.column_span <= table.columns);
                }
                table.to_markdown();
            }
        }
    }
}
