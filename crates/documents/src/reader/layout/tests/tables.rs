use super::*;

/// An invoice whose rows have a rule below them, with a cell of two lines that the others stand beside.
fn invoice(page: Page) -> Page {
    let mut page = page;
    for y in [160.0, 180.0, 212.0, 232.0] {
        page = page.rule(50.0, y, 450.0, y);
    }
    page.line(52.0, 155.0, BOLD, "#")
        .line(80.0, 155.0, BOLD, "Work")
        .line(300.0, 155.0, BOLD, "Days")
        .line(326.0, 155.0, BOLD, "Sum")
        .line(52.0, 173.0, BODY, "1")
        .line(80.0, 173.0, BODY, "Caulking")
        .line(310.0, 173.0, BODY, "12")
        .line(326.0, 173.0, BODY, "140")
        .line(80.0, 192.0, BODY, "Tarring of the hull, and of")
        .line(80.0, 204.0, BODY, "all that is above it")
        .line(52.0, 198.0, BODY, "2")
        .line(315.0, 198.0, BODY, "2")
        .line(331.0, 198.0, BODY, "30")
        .line(80.0, 225.0, BODY, "Total")
        .line(326.0, 225.0, BODY, "170")
}

fn texts(table: &Table) -> Vec<Vec<&str>> {
    (0..table.rows)
        .map(|row| {
            let cells = table.cells.iter().filter(|cell| cell.row == row);
            cells.map(|cell| cell.text.as_str()).collect()
        })
        .collect()
}

const INVOICE: [[&str; 4]; 4] = [
    ["#", "Work", "Days", "Sum"],
    ["1", "Caulking", "12", "140"],
    [
        "2",
        "Tarring of the hull, and of all that is above it",
        "2",
        "30",
    ],
    ["", "Total", "", "170"],
];

#[test]
fn rules_between_rows_make_a_table_with_the_head_above_them() {
    let page = Page::new().lines(50.0, 60.0, &LEFT);

    let table = invoice(page).table();

    assert_eq!(texts(&table), INVOICE);
}

#[test]
fn a_rule_far_below_is_none_of_the_table() {
    let page = Page::new()
        .lines(50.0, 60.0, &LEFT)
        .lines(50.0, 300.0, &RIGHT)
        .rule(50.0, 600.0, 450.0, 600.0);

    let blocks = invoice(page).blocks();

    let tables: Vec<&Table> = blocks
        .iter()
        .filter_map(|block| match &block.detail {
            Detail::Table(table) => Some(table),
            _ => None,
        })
        .collect();
    assert_eq!(tables.len(), 1);
    assert_eq!(texts(tables[0]), INVOICE);
    assert_eq!(
        blocks.last().map(|block| block.text.clone()),
        Some(RIGHT.join(" "))
    );
}

#[test]
fn one_row_may_have_two_lines_in_all_of_its_cells_and_many_are_rows() {
    let ruled = |bands: &[[&[&str]; 2]]| {
        let (mut page, mut y) = (Page::new().lines(50.0, 60.0, &LEFT), 150.0);
        page = page.rule(50.0, y, 300.0, y);
        for [left, right] in bands {
            page = page
                .lines(60.0, y + 12.0, left)
                .lines(200.0, y + 12.0, right);
            y += 4.0 + 12.0 * left.len() as f32;
            page = page.rule(50.0, y, 300.0, y);
        }
        page
    };
    let wrapped = ruled(&[
        [&["Berth"], &["Vessel"]],
        [&["The old", "bridge"], &["Marigold of", "Westhaven"]],
        [&["B-04"], &["Heron"]],
        [&["B-05"], &["Kestrel"]],
    ]);
    let headed = ruled(&[
        [&["Berth"], &["Vessel"]],
        [
            &["B-03", "B-04", "B-05", "B-06"],
            &["Marigold", "Heron", "Kestrel", "Gannet"],
        ],
        [&["Both"], &["Two"]],
    ]);

    let expected = [
        ["Berth", "Vessel"],
        ["The old bridge", "Marigold of Westhaven"],
        ["B-04", "Heron"],
        ["B-05", "Kestrel"],
    ];
    assert_eq!(texts(&wrapped.table()), expected);
    assert_eq!(texts(&headed.table())[1], ["B-03", "Marigold"]);
}

#[test]
fn text_between_rules_is_no_table() {
    let mut page = Page::new();
    for (at, text) in [LEFT, RIGHT, THIRD].iter().enumerate() {
        let y = 100.0 + 80.0 * at as f32;
        page = page
            .rule(50.0, y, 400.0, y)
            .lines(50.0, y + 16.0, text)
            .lines(220.0, y + 16.0, &RIGHT);
    }
    page = page.rule(50.0, 340.0, 400.0, 340.0);

    let labels: Vec<Label> = page.read().into_iter().map(|(label, _)| label).collect();

    assert_eq!(labels, [Label::Text; 6]);
}

#[test]
fn a_drawn_table_may_have_one_row_or_one_column() {
    let row = Page::new()
        .rule(50.0, 100.0, 350.0, 100.0)
        .rule(50.0, 120.0, 350.0, 120.0)
        .rule(50.0, 100.0, 50.0, 120.0)
        .rule(200.0, 100.0, 200.0, 120.0)
        .rule(350.0, 100.0, 350.0, 120.0)
        .line(60.0, 113.0, BODY, "left")
        .line(210.0, 113.0, BODY, "right");
    let column = Page::new()
        .rule(50.0, 100.0, 150.0, 100.0)
        .rule(50.0, 120.0, 150.0, 120.0)
        .rule(50.0, 140.0, 150.0, 140.0)
        .rule(50.0, 100.0, 50.0, 140.0)
        .rule(150.0, 100.0, 150.0, 140.0)
        .line(60.0, 113.0, BODY, "alone")
        .line(60.0, 133.0, BODY, "below");

    assert_eq!(texts(&row.table()), [["left", "right"]]);
    assert_eq!(texts(&column.table()), [["alone"], ["below"]]);
}
