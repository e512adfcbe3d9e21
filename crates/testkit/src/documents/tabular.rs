//! Pages with a table.

use domain::Label;

use super::{
    chance::Chance,
    font::Font,
    page::{Look, paragraphs, title},
    prose::{Letters, Prose},
    sheet::Sheet,
    table::{Rules, Table, single},
    truth::Cell,
};

/// A table with lines around its cells; some are empty, some hold two lines.
pub(crate) fn ruled_sheet(chance: &mut Chance, letters: Letters, smallest: f32) -> Sheet {
    let (columns, rows) = (chance.number(3, 5), chance.number(6, 11));
    table_sheet(chance, letters, smallest, |prose, font| {
        let mut cells = Vec::new();
        for (row, col) in grid(rows, columns) {
            let text = match col {
                _ if row == 0 => prose.entry(),
                0 => prose.place(),
                // The rows' own marks are never empty, so that an empty cell is one for certain.
                _ if prose.chance.percent(12) => String::new(),
                1 => prose.phrase(),
                _ if col + 1 == columns => prose.price(),
                _ => prose.entry(),
            };
            cells.push(single(row, col, text));
        }
        Table {
            rows,
            columns,
            cells,
            font,
            rules: prose.chance.choose(&[Rules::Strokes, Rules::Boxes]),
            centred: prose.chance.percent(50),
            right: vec![columns - 1],
            column_limit: 100.0,
        }
    })
}

/// A table whose columns are parted by white space alone.
pub(crate) fn borderless_sheet(chance: &mut Chance, letters: Letters, smallest: f32) -> Sheet {
    let (columns, rows) = (chance.number(3, 4), chance.number(7, 13));
    table_sheet(chance, letters, smallest, |prose, font| {
        let mut cells = Vec::new();
        for (row, col) in grid(rows, columns) {
            let text = match col {
                _ if row == 0 => capital_noun(prose),
                0 => prose.place(),
                1 => prose.date(),
                _ if col + 1 == columns => prose.price(),
                _ => prose.entry(),
            };
            cells.push(single(row, col, text));
        }
        Table {
            rows,
            columns,
            cells,
            font,
            rules: Rules::Absent,
            centred: false,
            right: vec![columns - 1],
            column_limit: 200.0,
        }
    })
}

/// A head of two rows with groups, and names that stand beside two rows each.
pub(crate) fn merged_sheet(chance: &mut Chance) -> Sheet {
    let pairs = chance.number(3, 5);
    table_sheet(chance, Letters::Rich, 9.0, |prose, font| {
        let spanning = |row, col, (row_span, col_span), text: String| Cell {
            row_span,
            col_span,
            header: row < 2,
            ..single(row, col, text)
        };
        let mut cells = vec![spanning(0, 0, (2, 1), capital_noun(prose))];
        for group in 0..2 {
            cells.push(spanning(0, 1 + group * 2, (1, 2), prose.place()));
        }
        for col in 1..5 {
            cells.push(spanning(1, col, (1, 1), capital_noun(prose)));
        }
        for pair in 0..pairs {
            let row = 2 + pair * 2;
            cells.push(spanning(row, 0, (2, 1), prose.place()));
            for (row, col) in (row..row + 2).flat_map(|row| (1..5).map(move |col| (row, col))) {
                cells.push(spanning(row, col, (1, 1), prose.amount()));
            }
        }
        cells.sort_by_key(|cell| (cell.row, cell.col));
        Table {
            rows: 2 + pairs * 2,
            columns: 5,
            cells,
            font,
            rules: prose.chance.choose(&[Rules::Strokes, Rules::Boxes]),
            centred: prose.chance.percent(50),
            right: Vec::new(),
            column_limit: 120.0,
        }
    })
}

/// A table between paragraphs, with a line above that says what it shows.
fn table_sheet(
    chance: &mut Chance,
    letters: Letters,
    smallest: f32,
    make: impl FnOnce(&mut Prose<'_>, Font) -> Table,
) -> Sheet {
    let look = Look {
        margin: 50.0,
        ..Look::new(chance, smallest)
    };
    let (mut sheet, mut frame) = look.sheet();
    let mut prose = Prose::new(chance, letters);
    let text = prose.heading();
    title(&mut sheet, &mut frame, &look, &text);
    paragraphs(&mut sheet, &mut frame, &look, &mut prose, 1);
    let caption = format!("Table {}: {}", prose.chance.number(1, 9), prose.phrase());
    sheet.set(&mut frame, &look.body, Label::Caption, &caption);
    frame.skip(look.gap);
    make(&mut prose, look.body.font).set(&mut sheet, &mut frame);
    frame.skip(look.gap * 2.0);
    paragraphs(&mut sheet, &mut frame, &look, &mut prose, 2);
    sheet
}

fn grid(rows: u32, columns: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..rows).flat_map(move |row| (0..columns).map(move |col| (row, col)))
}

fn capital_noun(prose: &mut Prose<'_>) -> String {
    let noun = prose.noun();
    noun[..1].to_uppercase() + &noun[1..]
}
