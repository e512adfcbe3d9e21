use super::*;

fn item(text: &str) -> (Label, String) {
    (Label::ListItem, text.to_owned())
}

fn text(text: &str) -> (Label, String) {
    (Label::Text, text.to_owned())
}

#[test]
fn a_numbered_heading_keeps_its_number() {
    let page = Page::new()
        .line(50.0, 100.0, LARGE, "1. At Night")
        .lines(50.0, 130.0, &LEFT)
        .line(50.0, 210.0, LARGE, "2. By Day")
        .lines(50.0, 240.0, &RIGHT);

    let read = page.read();

    let heading = |text: &str| (Label::SectionHeader, text.to_owned());
    assert_eq!(read[0], heading("1. At Night"));
    assert_eq!(read[2], heading("2. By Day"));
}

#[test]
fn the_last_item_of_a_list_is_one() {
    for markers in [
        ["–", "–", "–"],
        ["i.", "ii.", "iii."],
        ["a.", "b.", "c."],
        ["8.", "9.", "10."],
    ] {
        let mut page = Page::new();
        for (at, marker) in markers.iter().enumerate() {
            let left = 60.0 - 5.0 * marker.len() as f32;
            page = page.line(
                left,
                100.0 + 12.0 * at as f32,
                BODY,
                &format!("{marker} So it is"),
            );
        }

        assert_eq!(
            page.read(),
            [(); 3].map(|()| item("So it is")),
            "{markers:?}"
        );
    }
}

#[test]
fn a_list_goes_on_after_one_within_it() {
    let page = Page::new()
        .line(50.0, 100.0, BODY, "1. one")
        .line(70.0, 112.0, BODY, "a. sub a")
        .line(70.0, 124.0, BODY, "b. sub b")
        .line(50.0, 136.0, BODY, "2. two");

    let blocks = page.blocks();

    let depths: Vec<(&str, Option<u8>)> = blocks
        .iter()
        .map(|block| match &block.detail {
            Detail::Marker { depth, .. } => (block.text.as_str(), Some(*depth)),
            _ => (block.text.as_str(), None),
        })
        .collect();
    let expected = [
        ("one", Some(0)),
        ("sub a", Some(1)),
        ("sub b", Some(1)),
        ("two", Some(0)),
    ];
    assert_eq!(depths, expected);
}

#[test]
fn an_initial_or_a_dash_alone_begins_no_item() {
    let authors = Page::new()
        .line(50.0, 100.0, BODY, "A. Writer and B. Scholar")
        .line(63.3, 112.0, BODY, "University of Nord");
    let speech = Page::new()
        .line(50.0, 100.0, BODY, "— Who goes there?")
        .line(50.0, 124.0, BODY, "— A friend.");

    assert_eq!(
        authors.read(),
        [text("A. Writer and B. Scholar University of Nord")]
    );
    assert_eq!(
        speech.read(),
        [text("— Who goes there?"), text("— A friend.")]
    );
}

#[test]
fn lines_that_end_far_before_their_column_does_stay_lines() {
    let page = Page::new()
        .line(50.0, 80.0, BODY, &LEFT[..4].join(" "))
        .lines(
            50.0,
            100.0,
            &["Roses are red,", "violets are blue,", "sugar is sweet."],
        )
        .lines(50.0, 160.0, &LEFT);

    let texts = page.texts();

    assert_eq!(
        texts[1],
        "Roses are red,\nviolets are blue,\nsugar is sweet."
    );
    // Broken by the edge of something narrower than the column.
    assert_eq!(texts[2], LEFT.join(" "));
}

#[test]
fn an_address_and_a_list_of_contents_keep_their_lines() {
    let address = ["Jane Roe", "14 Orchard Lane", "Bristol BS1 4ND"];
    let contents = ["Introduction ........ 1", "Methods ............. 12"];
    let menu = ["Tea ................. 2.10", "Coffee .......... 2,60 EUR"];

    assert_eq!(
        Page::new().lines(50.0, 100.0, &address).texts(),
        [address.join("\n")]
    );
    assert_eq!(
        Page::new().lines(50.0, 100.0, &contents).texts(),
        [contents.join("\n")]
    );
    assert_eq!(
        Page::new().lines(50.0, 100.0, &menu).texts(),
        [menu.join("\n")]
    );
}

#[test]
fn a_list_goes_on_after_a_program() {
    let page = Page::new()
        .line(50.0, 100.0, BODY, "3. Write the name down")
        .line(62.0, 124.0, MONO, "fn berth(name: &str) {")
        .line(86.0, 136.0, MONO, "write(name);")
        .line(62.0, 148.0, MONO, "}")
        .line(50.0, 172.0, BODY, "4. Close the book");

    let labels: Vec<Label> = page.read().into_iter().map(|(label, _)| label).collect();

    assert_eq!(labels, [Label::ListItem, Label::Code, Label::ListItem]);
}

#[test]
fn the_number_of_a_section_does_not_outweigh_its_heading() {
    let label = |text: &str| {
        let page = Page::new()
            .line(50.0, 100.0, LARGE, text)
            .lines(50.0, 130.0, &LEFT);
        page.read()[0].0
    };

    assert_eq!(label("1.10 Sub 10"), Label::SectionHeader);
    assert_eq!(label("12.1.3 Tax"), Label::SectionHeader);
    assert_eq!(label("1.250.00 Eur"), Label::Text);
    assert_eq!(label("1.250,00 t"), Label::Text);
    assert_eq!(label("4 Function reference .... 8"), Label::Text);
}

#[test]
fn what_stands_under_a_paragraph_is_no_title() {
    let mut page = Page::new()
        .lines(50.0, 100.0, &LEFT)
        .lines(50.0, 160.0, &RIGHT)
        .line(50.0, 240.0, LARGE, "At Night")
        .lines(50.0, 270.0, &THIRD);
    page.sheet.is_first = true;

    let heading = (Label::SectionHeader, "At Night".to_owned());
    assert!(page.read().contains(&heading));
}
