use super::*;

const SIGN: Face = Face { size: 5.0, ..BODY };
const SMALL: Face = Face { size: 8.0, ..BODY };

#[test]
fn a_raised_number_belongs_to_the_word_after_it() {
    let page = Page::new()
        .line(50.0, 96.5, SIGN, "1")
        .line(52.6, 100.0, BODY, "Harbour Office,")
        .line(129.5, 96.5, SIGN, "2")
        .line(132.1, 100.0, BODY, "University of the North");

    assert_eq!(page.texts(), ["1Harbour Office, 2University of the North"]);
}

#[test]
fn a_note_has_its_raised_number_wherever_it_stands() {
    let page = Page::new()
        .lines(50.0, 100.0, &LEFT)
        .line(50.0, 187.0, SIGN, "3")
        .line(55.0, 190.0, SMALL, "The clerk said so.")
        .lines(50.0, 220.0, &RIGHT);

    let read = page.read();

    let note = (Label::Footnote, "3 The clerk said so.".to_owned());
    assert_eq!(read[1], note);
}

#[test]
fn a_number_that_is_not_raised_stays_where_it_is() {
    // The number of a line at the edge of a page, on a line of its own.
    let page = Page::new()
        .line(20.0, 90.0, SIGN, "12")
        .line(50.0, 100.0, BODY, "Harbour Office");

    assert_eq!(page.texts().len(), 2);
}
