use super::*;

/// Sets a line with its right end here.
fn flush_right(page: Page, right: f32, baseline: f32, text: &str) -> Page {
    let letters = text.chars().filter(|letter| *letter != ' ').count();
    let spaces = text.chars().count() - letters;
    let width = 5.0 * letters as f32 + 3.3 * spaces as f32;
    page.line(right - width, baseline, BODY, text)
}

#[test]
fn the_last_line_of_an_address_stays_with_it() {
    let mut page = Page::new();
    for (at, line) in [
        "Harbour Office",
        "3 Mill Road",
        "Tel. 0461 555",
        "harbour-office@nordhaven.example",
    ]
    .iter()
    .enumerate()
    {
        page = flush_right(page, 550.0, 100.0 + 12.0 * at as f32, line);
    }
    let page = page.lines(
        50.0,
        160.0,
        &["Jane Roe", "14 Orchard Lane", "Bristol BS1 4ND"],
    );
    let page = flush_right(page, 550.0, 210.0, "Nordhaven, 14 March");
    let page = page.line(50.0, 240.0, BODY, &LEFT.join(" "));

    let expected = [
        "Harbour Office 3 Mill Road Tel. 0461 555 harbour-office@nordhaven.example",
        "Jane Roe 14 Orchard Lane Bristol BS1 4ND",
        "Nordhaven, 14 March",
        &LEFT.join(" "),
    ];
    let texts = page.texts().into_iter();
    let texts: Vec<String> = texts.map(|text| text.replace('\n', " ")).collect();
    assert_eq!(texts, expected);
}

#[test]
fn a_heading_under_two_blocks_is_of_what_comes_below_them() {
    let page = Page::new()
        .lines(50.0, 100.0, &LEFT)
        .lines(400.0, 100.0, &RIGHT)
        .line(50.0, 190.0, LARGE, "All Berths")
        .line(
            50.0,
            220.0,
            BODY,
            &[LEFT.join(" "), RIGHT.join(" ")].join(" "),
        );

    let texts = page.texts();

    assert_eq!(
        texts[..3],
        [LEFT.join(" "), RIGHT.join(" "), "All Berths".to_owned()]
    );
}

#[test]
fn labels_of_a_drawing_under_columns_are_read_after_them() {
    let page = Page::new()
        .lines(50.0, 100.0, &LEFT)
        .lines(220.0, 100.0, &RIGHT)
        .line(70.0, 240.0, BODY, "source")
        .line(130.0, 240.0, BODY, "detector")
        .line(
            50.0,
            300.0,
            BODY,
            "Figure 1: What stands between the source and its detector",
        );

    let texts = page.texts();

    assert_eq!(texts[..2], [LEFT.join(" "), RIGHT.join(" ")]);
    assert!(texts[2].starts_with("source"), "{texts:?}");
}

#[test]
fn an_initial_begins_its_first_line() {
    let initial = Face { size: 30.0, ..BODY };
    let page = Page::new()
        .line(50.0, 122.0, initial, "O")
        .lines(66.0, 108.0, &["nce upon a time", "there was a small"])
        .lines(50.0, 132.0, &["bridge by the old harbour"]);

    let expected = "Once upon a time there was a small bridge by the old harbour";
    assert_eq!(page.texts(), [expected]);
}

#[test]
fn a_large_letter_before_one_line_is_none_of_its_words() {
    let initial = Face { size: 30.0, ..BODY };
    let page =
        Page::new()
            .line(50.0, 122.0, initial, "B")
            .line(66.0, 108.0, BODY, "erths of the harbour");

    let texts = page.texts();

    assert!(
        !texts.iter().any(|text| text.contains("Berths")),
        "{texts:?}"
    );
}
