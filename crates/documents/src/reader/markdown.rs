//! Blocks written as GitHub's markdown.

use domain::{Label, OcrImage};

use super::{
    TableFormat,
    layout::{Block, Cell, Detail, Table},
};

/// How a block stands to the one before it.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Kind {
    Item,
    Other,
}

/// Writes blocks. `pictures` are the names of the page's pictures; one without a name is left out.
pub(super) fn of(blocks: &[Block], pictures: &[Option<String>], format: TableFormat) -> String {
    let mut markdown = String::new();
    let mut last = None;
    for block in blocks {
        let Some((kind, written)) = written(block, pictures, format) else {
            continue;
        };
        match last {
            None => {}
            Some(Kind::Item) if kind == Kind::Item => markdown.push('\n'),
            Some(_) => markdown.push_str("\n\n"),
        }
        markdown.push_str(&written);
        last = Some(kind);
    }
    markdown
}

fn written(
    block: &Block,
    pictures: &[Option<String>],
    format: TableFormat,
) -> Option<(Kind, String)> {
    let text = &block.text;
    let written = match (&block.detail, block.label) {
        (_, Label::PageHeader | Label::PageFooter) => return None,
        (Detail::Picture(index), _) => {
            let name = pictures.get(*index)?.as_ref()?;
            OcrImage::mark(name)
        }
        (Detail::Table(table), _) => match format {
            TableFormat::Markdown => piped(table),
            TableFormat::Html => html(table),
        },
        (Detail::Level(level), _) => {
            format!(
                "{} {}",
                "#".repeat(usize::from(*level).clamp(1, 6)),
                escaped(text)
            )
        }
        (
            Detail::Marker {
                text: marker,
                enumerated,
                depth,
            },
            _,
        ) => {
            let indent = "    ".repeat(usize::from(*depth));
            let item = format!("{indent}{} {}", bullet(marker, *enumerated), escaped(text));
            return Some((Kind::Item, item));
        }
        (Detail::None, Label::Code) => fenced(text),
        (Detail::None, _) => {
            // Two blanks at the end of a line keep it; each may begin like markup.
            let lines = text.split('\n').map(|line| escaped_start(&escaped(line)));
            lines.collect::<Vec<_>>().join("  \n")
        }
    };
    (!written.is_empty()).then_some((Kind::Other, written))
}

/// A marker that markdown knows; others stay as text behind one that it knows.
fn bullet(marker: &str, enumerated: bool) -> String {
    let digits = marker.trim_end_matches(['.', ')']);
    if !enumerated {
        "-".to_owned()
    } else if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        marker.to_owned()
    } else {
        format!("- {marker}")
    }
}

fn fenced(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}\n{text}\n{fence}")
}

/// Escapes what would be taken for markup, and no more: `snake_case`, `a * b` and `x < y` are none.
fn escaped(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut escaped = String::with_capacity(text.len() + 8);
    for (at, &letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let after = letters.get(at + 1).copied();
        let is_space = |neighbour: Option<char>| neighbour.is_none_or(char::is_whitespace);
        let is_word = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
        let is_markup = match letter {
            '`' => true,
            '\\' => after.is_some_and(|after| after.is_ascii_punctuation()),
            '*' => !(is_space(before) && is_space(after)),
            '_' => !(is_word(before) && is_word(after) || is_space(before) && is_space(after)),
            '<' => after.is_some_and(|after| after.is_ascii_alphabetic() || "/!?".contains(after)),
            '[' => letters[at..].contains(&']'),
            ']' => matches!(after, Some('(' | '[' | ':')),
            '~' => after == Some('~') || before == Some('~'),
            '&' => is_entity(&letters[at + 1..]),
            _ => false,
        };
        if is_markup {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// Whether what follows an ampersand makes it the beginning of an entity.
fn is_entity(rest: &[char]) -> bool {
    let length = rest.iter().take(32).position(|&letter| letter == ';');
    length.is_some_and(|length| {
        length > 0
            && rest[..length]
                .iter()
                .all(|letter| letter.is_ascii_alphanumeric() || *letter == '#')
    })
}

/// Escapes what would be markup at the beginning of a paragraph alone.
fn escaped_start(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default();
    let hashes = !first.is_empty() && first.len() <= 6 && first.bytes().all(|byte| byte == b'#');
    let marks = matches!(first, "-" | "+" | "*") || first.starts_with('>');
    let rule = first.len() >= 3
        && text.len() == first.len()
        && ["-", "=", "*", "_"]
            .iter()
            .any(|mark| first.replace(mark, "").is_empty());
    if hashes || marks || rule {
        return format!("\\{text}");
    }
    let digits = first.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &first[digits..];
    if (1..=9).contains(&digits) && matches!(rest, "." | ")") && first.len() < text.len() {
        return format!("{}\\{}", &text[..digits], &text[digits..]);
    }
    text.to_owned()
}

/// A table with pipes; a merged cell stands where it begins, and what it covers is empty.
fn piped(table: &Table) -> String {
    let mut rows = vec![vec![String::new(); table.columns]; table.rows];
    for cell in &table.cells {
        if let Some(place) = rows
            .get_mut(cell.row)
            .and_then(|row| row.get_mut(cell.column))
        {
            *place = escaped(&cell.text).replace('|', "\\|");
        }
    }
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let mut lines: Vec<String> = rows.iter().map(|row| line(row)).collect();
    let ruler = vec!["---".to_owned(); table.columns];
    lines.insert(1.min(lines.len()), line(&ruler));
    lines.join("\n")
}

fn html(table: &Table) -> String {
    let mut html = "<table>".to_owned();
    for row in 0..table.rows {
        html.push_str("\n<tr>");
        for cell in table.cells.iter().filter(|cell| cell.row == row) {
            html.push_str(&html_cell(cell));
        }
        html.push_str("</tr>");
    }
    html.push_str("\n</table>");
    html
}

fn html_cell(cell: &Cell) -> String {
    let tag = if cell.is_header { "th" } else { "td" };
    let span = |name: &str, span: usize| match span {
        1 => String::new(),
        span => format!(" {name}=\"{span}\""),
    };
    let text = cell
        .text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let (rows, columns) = (
        span("rowspan", cell.row_span),
        span("colspan", cell.column_span),
    );
    format!("<{tag}{rows}{columns}>{text}</{tag}>")
}

#[cfg(test)]
mod tests {
    use domain::Bbox;

    use super::*;

    fn block(label: Label, detail: Detail, text: &str) -> Block {
        Block {
            label,
            text: text.to_owned(),
            bbox: Bbox::default(),
            detail,
            confidence: None,
        }
    }

    fn markdown(blocks: &[Block]) -> String {
        of(
            blocks,
            &[Some("img-0.png".to_owned()), None],
            TableFormat::Markdown,
        )
    }

    fn item(marker: &str, enumerated: bool, depth: u8, text: &str) -> Block {
        let detail = Detail::Marker {
            text: marker.to_owned(),
            enumerated,
            depth,
        };
        block(Label::ListItem, detail, text)
    }

    #[test]
    fn blocks_are_written_as_markdown() {
        let blocks = [
            block(Label::PageHeader, Detail::None, "Yearly Report"),
            block(Label::Title, Detail::Level(1), "Berths"),
            block(Label::Text, Detail::None, "All vessels."),
            item("•", false, 0, "Marigold"),
            item("a)", true, 1, "Heron"),
            block(Label::Picture, Detail::Picture(0), ""),
            block(Label::Picture, Detail::Picture(1), ""),
            block(Label::Code, Detail::None, "let a = 1;\n  b()"),
        ];

        assert_eq!(
            markdown(&blocks),
            "# Berths\n\nAll vessels.\n\n- Marigold\n    - a) Heron\n\n![img-0.png](img-0.png)\n\n```\nlet a = 1;\n  b()\n```"
        );
    }

    #[test]
    fn what_would_be_markup_is_escaped_and_what_would_not_is_left() {
        for (text, written) in [
            (
                "snake_case and a * b, x < y & z",
                "snake_case and a * b, x < y & z",
            ),
            ("*bold* and `code`", "\\*bold\\* and \\`code\\`"),
            ("<b> &amp; [a](b)", "\\<b> \\&amp; \\[a\\](b)"),
            ("# no heading", "\\# no heading"),
            ("1. no list", "1\\. no list"),
            ("- no item", "\\- no item"),
            ("2024 was a year", "2024 was a year"),
        ] {
            assert_eq!(markdown(&[block(Label::Text, Detail::None, text)]), written);
        }
    }

    #[test]
    fn lines_that_end_where_they_were_ended_stay_lines() {
        let poem = block(
            Label::Text,
            Detail::None,
            "Roses are red,\n- violets are blue",
        );

        assert_eq!(markdown(&[poem]), "Roses are red,  \n\\- violets are blue");
    }

    #[test]
    fn a_table_is_written_with_pipes_or_with_tags() {
        let cell = |row, column, column_span, text: &str| Cell {
            row,
            column,
            row_span: 1,
            column_span,
            is_header: row == 0,
            text: text.to_owned(),
            ..Cell::default()
        };
        let table = Table {
            rows: 2,
            columns: 2,
            cells: vec![
                cell(0, 0, 2, "Berths"),
                cell(1, 0, 1, "a|b"),
                cell(1, 1, 1, "<3"),
            ],
            ..Table::default()
        };

        assert_eq!(
            piped(&table),
            "| Berths |  |\n| --- | --- |\n| a\\|b | <3 |"
        );
        assert_eq!(
            html(&table),
            "<table>\n<tr><th colspan=\"2\">Berths</th></tr>\n<tr><td>a|b</td><td>&lt;3</td></tr>\n</table>"
        );
    }
}
