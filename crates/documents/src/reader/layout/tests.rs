mod lists;
mod notes;
mod order;
mod tables;

use super::*;

/// A page of ten-point text in a face whose letters are half as wide as they are large.
#[derive(Default)]
struct Page {
    sheet: Sheet,
}

#[derive(Clone, Copy)]
struct Face {
    size: f32,
    stroke: f32,
    pitch: Option<f32>,
}

const BODY: Face = Face {
    size: 10.0,
    stroke: 80.0,
    pitch: None,
};
const BOLD: Face = Face {
    stroke: 120.0,
    ..BODY
};
const LARGE: Face = Face {
    size: 16.0,
    stroke: 120.0,
    ..BODY
};
const MONO: Face = Face {
    pitch: Some(0.6),
    ..BODY
};

impl Page {
    fn new() -> Self {
        let sheet = Sheet {
            height: 800.0,
            ..Sheet::default()
        };
        Self { sheet }
    }

    /// Sets a line with its left end and its baseline here; words are a third of the size apart.
    fn line(mut self, x: f32, baseline: f32, face: Face, text: &str) -> Self {
        let width = face.pitch.unwrap_or(0.5) * face.size;
        let mut at = x;
        for word in text.split(' ') {
            let right = at + width * word.chars().count() as f32;
            if !word.is_empty() {
                self.sheet.words.push(Word {
                    text: word.to_owned(),
                    bbox: Bbox {
                        l: at,
                        t: baseline - 0.74 * face.size,
                        r: right,
                        b: baseline + 0.22 * face.size,
                    },
                    size: face.size,
                    baseline,
                    stroke: face.stroke,
                    pitch: face.pitch,
                    confidence: None,
                });
            }
            at = right
                + face
                    .pitch
                    .map_or(0.33 * face.size, |pitch| pitch * face.size);
        }
        self
    }

    /// Sets lines of text, twelve points from each other.
    fn lines(mut self, x: f32, baseline: f32, lines: &[&str]) -> Self {
        for (at, line) in lines.iter().enumerate() {
            self = self.line(x, baseline + 12.0 * at as f32, BODY, line);
        }
        self
    }

    fn rule(mut self, l: f32, t: f32, r: f32, b: f32) -> Self {
        let rim = 0.4;
        let bbox = if b - t < 0.1 {
            Bbox {
                l,
                t: t - rim,
                r,
                b: b + rim,
            }
        } else {
            Bbox {
                l: l - rim,
                t,
                r: r + rim,
                b,
            }
        };
        self.sheet.rules.push(bbox);
        self
    }

    fn blocks(self) -> Vec<Block> {
        of(self.sheet)
    }

    fn read(self) -> Vec<(Label, String)> {
        let blocks = self.blocks().into_iter();
        blocks.map(|block| (block.label, block.text)).collect()
    }

    fn texts(self) -> Vec<String> {
        self.read().into_iter().map(|(_, text)| text).collect()
    }

    fn table(self) -> Table {
        let table = self
            .blocks()
            .into_iter()
            .find_map(|block| match block.detail {
                Detail::Table(table) => Some(table),
                _ => None,
            });
        table.expect("there is a table")
    }
}

fn grid(table: &Table) -> Vec<(usize, usize, usize, usize, &str)> {
    let cells = table.cells.iter();
    cells
        .map(|cell| {
            (
                cell.row,
                cell.column,
                cell.row_span,
                cell.column_span,
                cell.text.as_str(),
            )
        })
        .collect()
}

const LEFT: [&str; 5] = [
    "The harbour office keeps a",
    "list of all the vessels that",
    "lie at its berths, and of the",
    "hours at which they came and",
    "at which they will leave us.",
];
const RIGHT: [&str; 5] = [
    "Whoever wants to see it may",
    "ask for it at the door while",
    "the office is open, which it",
    "is on any day of the week in",
    "the morning and after noon.",
];
const THIRD: [&str; 5] = [
    "Nobody has asked for it in a",
    "long time, and the clerk has",
    "begun to wonder whether it",
    "is worth the ink with which",
    "he writes it down each day.",
];

#[test]
fn columns_that_share_baselines_are_read_one_after_the_other() {
    let page = Page::new()
        .lines(50.0, 100.0, &LEFT)
        .lines(220.0, 100.0, &RIGHT)
        .lines(390.0, 100.0, &THIRD);

    assert_eq!(
        page.texts(),
        [LEFT.join(" "), RIGHT.join(" "), THIRD.join(" ")]
    );
}

#[test]
fn labels_are_read_with_what_they_label_and_addresses_apart() {
    let read = |left: [&str; 2], right: [&str; 2]| {
        let page = Page::new()
            .line(60.0, 100.0, BODY, left[0])
            .line(60.0, 116.0, BODY, left[1])
            .line(200.0, 100.0, BODY, right[0])
            .line(200.0, 116.0, BODY, right[1]);
        page.texts().join(" ").replace('\n', " ")
    };

    let pairs = read(["Date", "Due"], ["2026-11-02", "2026-12-02"]);
    let addresses = read(["Jane Roe", "14 Orchard Lane"], ["John Doe", "3 Mill Road"]);

    assert_eq!(pairs, "Date 2026-11-02 Due 2026-12-02");
    assert_eq!(addresses, "Jane Roe 14 Orchard Lane John Doe 3 Mill Road");
}

#[test]
fn a_heading_in_the_midst_of_columns_parts_them() {
    let page = Page::new()
        .lines(50.0, 100.0, &LEFT)
        .lines(220.0, 100.0, &RIGHT)
        .line(50.0, 190.0, LARGE, "At Night")
        .lines(50.0, 220.0, &THIRD)
        .lines(220.0, 220.0, &LEFT);

    let read = page.read();

    let expected = [
        (Label::Text, LEFT.join(" ")),
        (Label::Text, RIGHT.join(" ")),
        (Label::SectionHeader, "At Night".to_owned()),
        (Label::Text, THIRD.join(" ")),
        (Label::Text, LEFT.join(" ")),
    ];
    assert_eq!(read, expected);
}

#[test]
fn columns_of_justified_text_are_no_table() {
    // Every other line has so few words that each of them stands alone.
    let mut page = Page::new();
    for (column, lines) in [(50.0, LEFT), (240.0, RIGHT), (430.0, THIRD)] {
        for (row, line) in lines.iter().enumerate() {
            let few = if row % 2 == 1 { 5 } else { 9 };
            let words: Vec<&str> = line.split(' ').take(few).collect();
            let letters: usize = words.iter().map(|word| word.len()).sum();
            let gap = (160.0 - 5.0 * letters as f32) / (words.len() - 1) as f32;
            let mut x = column;
            for word in words {
                page = page.line(x, 100.0 + 12.0 * row as f32, BODY, word);
                x += 5.0 * word.len() as f32 + gap;
            }
        }
    }

    let read = page.read();

    let labels: Vec<Label> = read.iter().map(|(label, _)| *label).collect();
    assert_eq!(labels, [Label::Text; 3], "{read:?}");
}

#[test]
fn columns_above_a_heading_may_end_unevenly() {
    let page = Page::new()
        .lines(50.0, 100.0, &LEFT)
        .lines(220.0, 100.0, &RIGHT[..4])
        .lines(390.0, 100.0, &THIRD)
        .line(390.0, 160.0, BODY, "And so it is.")
        .line(50.0, 190.0, LARGE, "At Night and by Day")
        .lines(50.0, 220.0, &THIRD)
        .lines(220.0, 220.0, &LEFT)
        .lines(390.0, 220.0, &RIGHT);

    let texts = page.texts();

    assert_eq!(texts.len(), 7);
    assert_eq!(texts[3], "At Night and by Day");
    assert_eq!(texts[4], THIRD.join(" "));
}

#[test]
fn words_broken_at_the_end_of_a_line_are_whole_again_and_compounds_stay() {
    let page = Page::new().lines(
        50.0,
        100.0,
        &[
            "A list of the ves-",
            "sels that lie at a well-kept deep-",
            "Water berth.",
        ],
    );

    assert_eq!(
        page.texts(),
        ["A list of the vessels that lie at a well-kept deep-Water berth."]
    );
}

#[test]
fn a_space_an_indent_and_a_short_line_begin_paragraphs() {
    let spaced = Page::new()
        .lines(50.0, 100.0, &LEFT)
        .lines(50.0, 168.0, &RIGHT);
    let indented = Page::new()
        .lines(50.0, 100.0, &LEFT)
        .line(60.0, 160.0, BODY, RIGHT[0])
        .lines(50.0, 172.0, &RIGHT[1..]);
    let short = Page::new()
        .lines(50.0, 100.0, &LEFT)
        .line(50.0, 160.0, BODY, "So it is.")
        .lines(50.0, 172.0, &RIGHT);

    assert_eq!(spaced.texts(), [LEFT.join(" "), RIGHT.join(" ")]);
    assert_eq!(indented.texts(), [LEFT.join(" "), RIGHT.join(" ")]);
    assert_eq!(
        short.texts(),
        [format!("{} So it is.", LEFT.join(" ")), RIGHT.join(" ")]
    );
}

#[test]
fn headings_are_larger_or_bold_and_the_first_of_all_is_the_title() {
    let mut page = Page::new()
        .line(50.0, 100.0, LARGE, "All Berths")
        .lines(50.0, 130.0, &LEFT)
        .line(50.0, 200.0, BOLD, "At night")
        .lines(50.0, 216.0, &RIGHT);
    page.sheet.is_first = true;

    let read = page.read();

    let expected = [
        (Label::Title, "All Berths".to_owned()),
        (Label::Text, LEFT.join(" ")),
        (Label::SectionHeader, "At night".to_owned()),
        (Label::Text, RIGHT.join(" ")),
    ];
    assert_eq!(read, expected);
}

#[test]
fn items_keep_their_lines_and_a_dash_in_prose_is_none() {
    let page = Page::new()
        .line(50.0, 100.0, BODY, "•  The first berth, which is")
        .line(61.6, 112.0, BODY, "kept for the pilot")
        .line(50.0, 124.0, BODY, "•  The second one")
        .lines(
            50.0,
            160.0,
            &[
                "The office keeps a list",
                "– nobody knows why – of",
                "all its berths",
            ],
        );

    let expected = [
        (
            Label::ListItem,
            "The first berth, which is kept for the pilot".to_owned(),
        ),
        (Label::ListItem, "The second one".to_owned()),
        (
            Label::Text,
            "The office keeps a list – nobody knows why – of all its berths".to_owned(),
        ),
    ];
    assert_eq!(page.read(), expected);
}

#[test]
fn a_program_keeps_its_indents() {
    let page = Page::new()
        .lines(50.0, 100.0, &LEFT)
        .line(50.0, 190.0, MONO, "fn berth(name: &str) {")
        .line(74.0, 202.0, MONO, "write(name);")
        .line(50.0, 214.0, MONO, "}")
        .line(50.0, 226.0, MONO, "}");

    let blocks = page.read();

    assert_eq!(
        blocks[1],
        (
            Label::Code,
            "fn berth(name: &str) {\n    write(name);\n}\n}".to_owned()
        )
    );
}

#[test]
fn a_ruled_table_has_merged_empty_and_two_line_cells() {
    let mut page = Page::new().lines(50.0, 60.0, &LEFT);
    for y in [150.0, 170.0, 190.0, 220.0] {
        // The line below the merged head is drawn on the right alone; the left head runs over two rows.
        let from = if (160.0..180.0).contains(&y) {
            150.0
        } else {
            50.0
        };
        page = page.rule(from, y, 350.0, y);
    }
    page = page
        .rule(50.0, 150.0, 50.0, 220.0)
        .rule(150.0, 150.0, 150.0, 220.0)
        .rule(250.0, 170.0, 250.0, 220.0)
        .rule(350.0, 150.0, 350.0, 220.0)
        .line(60.0, 172.0, BOLD, "Berth")
        .line(160.0, 162.0, BOLD, "Vessels")
        .line(160.0, 182.0, BOLD, "Day")
        .line(260.0, 182.0, BOLD, "Night")
        .lines(60.0, 202.0, &["Old", "Bridge"])
        .line(260.0, 202.0, BODY, "17");

    let table = page.table();

    let expected = [
        (0, 0, 2, 1, "Berth"),
        (0, 1, 1, 2, "Vessels"),
        (1, 1, 1, 1, "Day"),
        (1, 2, 1, 1, "Night"),
        (2, 0, 1, 1, "Old Bridge"),
        (2, 1, 1, 1, ""),
        (2, 2, 1, 1, "17"),
    ];
    assert_eq!(grid(&table), expected);
    assert!(
        table
            .cells
            .iter()
            .all(|cell| cell.is_header == (cell.row < 2))
    );
}

#[test]
fn a_table_without_rules_is_found_by_its_columns() {
    let page = Page::new()
        .lines(50.0, 60.0, &LEFT)
        .line(50.0, 150.0, BOLD, "Berth")
        .line(150.0, 150.0, BOLD, "Vessel")
        .line(260.0, 150.0, BOLD, "Tons")
        .line(50.0, 170.0, BODY, "B-03")
        .lines(150.0, 170.0, &["Marigold of", "Westhaven"])
        .line(260.0, 170.0, BODY, "1,204")
        .line(50.0, 202.0, BODY, "B-04")
        .line(260.0, 202.0, BODY, "77")
        .line(50.0, 222.0, BODY, "B-05")
        .line(150.0, 222.0, BODY, "Heron")
        .line(260.0, 222.0, BODY, "310");

    let table = page.table();

    let texts: Vec<&str> = table.cells.iter().map(|cell| cell.text.as_str()).collect();
    let expected = [
        "Berth",
        "Vessel",
        "Tons",
        "B-03",
        "Marigold of Westhaven",
        "1,204",
        "B-04",
        "",
        "77",
        "B-05",
        "Heron",
        "310",
    ];
    assert_eq!((table.rows, table.columns), (4, 3));
    assert_eq!(texts, expected);
}

#[test]
fn a_caption_stands_beside_what_it_names() {
    let mut page = Page::new()
        .lines(50.0, 100.0, &LEFT)
        .line(50.0, 330.0, BODY, "Figure 2: The old bridge")
        .lines(
            50.0,
            370.0,
            &[
                "Figure 2 shows the bridge as it",
                "was before the flood came.",
            ],
        );
    page.sheet.pictures.push(Bbox {
        l: 50.0,
        t: 180.0,
        r: 250.0,
        b: 310.0,
    });

    let labels: Vec<Label> = page.read().into_iter().map(|(label, _)| label).collect();

    assert_eq!(
        labels,
        [Label::Text, Label::Picture, Label::Caption, Label::Text]
    );
}

#[test]
fn running_titles_and_page_numbers_stand_apart() {
    let page = Page::new()
        .line(50.0, 40.0, BODY, "Harbour Office")
        .line(500.0, 40.0, BODY, "Yearly Report")
        .lines(50.0, 100.0, &LEFT)
        .lines(50.0, 172.0, &RIGHT)
        .line(300.0, 780.0, BODY, "17");

    let read = page.read();

    assert_eq!(
        read[0],
        (Label::PageHeader, "Harbour Office Yearly Report".to_owned())
    );
    assert_eq!(read[3], (Label::PageFooter, "17".to_owned()));
}

#[test]
fn small_print_with_a_number_at_the_foot_is_a_note() {
    let small = Face { size: 8.0, ..BODY };
    let page = Page::new()
        .lines(50.0, 100.0, &LEFT)
        .lines(50.0, 600.0, &RIGHT)
        .line(
            50.0,
            690.0,
            small,
            "1 The clerk of the harbour office said so himself.",
        );

    assert_eq!(page.read()[2].0, Label::Footnote);
}
