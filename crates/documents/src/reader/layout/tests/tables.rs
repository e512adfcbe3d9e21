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

/// A statement of account: dates and texts are parted by little more than a space, only one of the two amounts is filled,
/// and a text of two lines has the rest of its row in the middle beside it.
fn statement(page: Page) -> Page {
    let right = |page: Page, x: f32, y: f32, text: &str| {
        page.line(x - 5.0 * text.len() as f32, y, BODY, text)
    };
    let mut page = page
        .line(50.0, 150.0, BOLD, "Day")
        .line(100.0, 150.0, BOLD, "What")
        .line(214.0, 150.0, BOLD, "Out")
        .line(236.0, 150.0, BOLD, "In")
        .line(280.0, 150.0, BOLD, "Left");
    let rows = [
        ("01", "BERTH DUES OF THE HERON", 230.0, "7.50", "1,632.55"),
        ("02", "CASH", 230.0, "8.14", "1,624.41"),
        ("03", "TAR AND OAKUM", 262.0, "12.00", "1,636.41"),
        ("04", "PILOT WESTHAVEN", 230.0, "20.00", "1,616.41"),
    ];
    for (at, (day, what, amount, sum, left)) in rows.into_iter().enumerate() {
        let y = 168.0 + 18.0 * at as f32 + 6.0 * [0.0, 1.0, 2.0, 2.0][at];
        page = page.line(50.0, y, BODY, &format!("{day} Jan"));
        page = right(right(page, amount, y, sum), 315.0, y, left);
        page = if at == 1 {
            page.line(86.0, y - 6.0, BODY, what)
                .line(86.0, y + 6.0, BODY, "Foreign fee")
        } else {
            page.line(86.0, y, BODY, what)
        };
    }
    page
}

#[test]
fn narrow_gutters_that_run_through_all_rows_part_columns() {
    let page = Page::new().lines(50.0, 60.0, &LEFT);

    let table = statement(page).table();

    let expected = [
        ["Day", "What", "Out", "In", "Left"],
        ["01 Jan", "BERTH DUES OF THE HERON", "7.50", "", "1,632.55"],
        ["02 Jan", "CASH Foreign fee", "8.14", "", "1,624.41"],
        ["03 Jan", "TAR AND OAKUM", "", "12.00", "1,636.41"],
        ["04 Jan", "PILOT WESTHAVEN", "20.00", "", "1,616.41"],
    ];
    assert_eq!(texts(&table), expected);
}

#[test]
fn rules_of_dashes_part_tables_and_head_them() {
    let receipt = Page::new()
        .line(50.0, 100.0, MONO, "Berth 4        12/03/26 13:07")
        .line(50.0, 112.0, MONO, "-----------------------------")
        .line(50.0, 124.0, MONO, "2 Coils of hemp rope     7.20")
        .line(50.0, 136.0, MONO, "1 Pot of tar            16.50")
        .line(50.0, 148.0, MONO, "1 Caulking iron          5.95")
        .line(50.0, 160.0, MONO, "-----------------------------")
        .line(50.0, 172.0, MONO, "Subtotal                29.65")
        .line(50.0, 184.0, MONO, "Dues                     3.81")
        .line(50.0, 196.0, MONO, "Total                   33.46");
    let headed = Page::new()
        .line(50.0, 100.0, MONO, "Goods                   Price")
        .line(50.0, 112.0, MONO, "-----------------------------")
        .line(50.0, 124.0, MONO, "Coils of hemp rope       7.20")
        .line(50.0, 136.0, MONO, "Pot of tar              16.50");

    let blocks = receipt.blocks();

    let tables: Vec<Vec<Vec<&str>>> = blocks
        .iter()
        .filter_map(|block| match &block.detail {
            Detail::Table(table) => Some(texts(table)),
            _ => None,
        })
        .collect();
    let goods = [
        ["2 Coils of hemp rope", "7.20"],
        ["1 Pot of tar", "16.50"],
        ["1 Caulking iron", "5.95"],
    ];
    let sums = [["Subtotal", "29.65"], ["Dues", "3.81"], ["Total", "33.46"]];
    assert_eq!(tables, [goods, sums]);
    assert_eq!(
        texts(&headed.table()),
        [
            ["Goods", "Price"],
            ["Coils of hemp rope", "7.20"],
            ["Pot of tar", "16.50"]
        ]
    );
}

#[test]
fn lists_side_by_side_are_no_table() {
    let page = Page::new()
        .line(50.0, 100.0, BOLD, "Risks")
        .line(300.0, 100.0, BOLD, "Next steps")
        .lines(
            50.0,
            116.0,
            &["• The crane is worn", "• Prices remain volatile"],
        )
        .lines(300.0, 116.0, &["• Tender for a crane", "• Hedge a third"]);

    let texts: Vec<String> = page.read().into_iter().map(|(_, text)| text).collect();

    let expected = [
        "Risks",
        "The crane is worn",
        "Prices remain volatile",
        "Next steps",
        "Tender for a crane",
        "Hedge a third",
    ];
    assert_eq!(texts, expected);
}

#[test]
fn large_figures_over_their_labels_are_a_table() {
    let figures = ["412", "98 %", "3.1 m"];
    let labels = ["ships handled", "on time", "revenue"];
    let mut page = Page::new();
    for (at, (figure, label)) in figures.into_iter().zip(labels).enumerate() {
        let x = 50.0 + 150.0 * at as f32;
        page = page
            .line(x, 100.0, LARGE, figure)
            .line(x, 116.0, BODY, label);
    }

    let table = page.table();

    assert_eq!(texts(&table), [figures, labels]);
}

#[test]
fn rows_that_are_set_tightly_are_as_many_as_they_are() {
    let mut page = Page::new();
    for row in 0..5u8 {
        let baseline = 100.0 + 8.2 * f32::from(row);
        page = page
            .line(60.0, baseline, BODY, "window")
            .line(200.0, baseline, BODY, "1")
            .line(300.0, baseline, BODY, "0.50");
    }

    assert_eq!(page.table().rows, 5);
}
