//! Tables of GitHub's Markdown: a line of headers, a line that parts them from the rest, and the rest.

use super::{Cell, MAX_SIDE, Table};

/// The first table in a text.
pub(super) fn read(markdown: &str) -> Option<Table> {
    let lines: Vec<&str> = markdown.lines().map(str::trim).collect();
    let begin = lines
        .windows(2)
        .position(|lines| lines[0].contains('|') && parts(lines[1]))?;
    let columns = split(lines[begin]).len();
    let below = lines[begin + 2..]
        .iter()
        .take_while(|line| line.contains('|'));
    let rows = std::iter::once(&lines[begin]).chain(below).take(MAX_SIDE);
    let cells = rows.enumerate().flat_map(|(row, line)| {
        let mut texts = split(line);
        texts.resize(columns, String::new());
        let texts = texts.into_iter().enumerate();
        texts.map(move |(column, text)| Cell {
            text,
            row,
            column,
            row_span: 1,
            column_span: 1,
            is_column_header: row == 0,
            is_row_header: false,
        })
    });
    Some(Table::of(cells.collect()))
}

/// Whether a line parts the headers from the rest: `| --- | :-: |`.
fn parts(line: &str) -> bool {
    let is_dashes = |cell: &String| {
        let dashes = cell.trim_start_matches(':');
        let dashes = dashes.strip_suffix(':').unwrap_or(dashes);
        !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-')
    };
    line.contains('|') && split(line).iter().all(is_dashes)
}

/// The cells of a line. A pipe that is meant has a backslash before it.
fn split(line: &str) -> Vec<String> {
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = vec![String::new()];
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some('|')) => {
                characters.next();
                cells.last_mut().expect("there is one").push('|');
            }
            // The last one closes the line.
            ('|', None) => break,
            ('|', _) => cells.push(String::new()),
            _ => cells.last_mut().expect("there is one").push(character),
        }
    }
    let text = |cell: String| cell.replace("<br>", "\n").trim().to_owned();
    cells.into_iter().take(MAX_SIDE).map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(markdown: &str) -> Vec<Vec<String>> {
        let table = read(markdown).unwrap();
        let mut rows = vec![Vec::new(); table.rows];
        for cell in table.cells {
            rows[cell.row].push(cell.text);
        }
        rows
    }

    #[test]
    fn rows_have_the_cells_that_their_headers_have() {
        let markdown = "Before\n\n| Berth | Vessel |\n|:---|---:|\n| B-03 | Mari\\|gold<br>II |\n| B-04 |\n| a | b | c |\n\nAfter | x";

        let found = texts(markdown);

        assert_eq!(
            found,
            [
                ["Berth", "Vessel"],
                ["B-03", "Mari|gold\nII"],
                ["B-04", ""],
                ["a", "b"],
            ]
        );
        assert_eq!(texts("a | b\n--|--\nc | d"), [["a", "b"], ["c", "d"]]);
        assert_eq!(texts("|  | b |\n|---|---|\n"), [["", "b"]]);
    }

    #[test]
    fn what_has_no_line_that_parts_it_is_no_table() {
        for text in ["", "a | b\nc | d", "a\n---\nb", "| a |\n| : |", "|\n|"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
