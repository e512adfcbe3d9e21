use std::{fmt::Write, path::Path};

use domain::{Bbox, ElementKind, Label};

use super::*;

/// A page of Helvetica: a content stream, and what the page's dictionary has beside the usual.
fn pdf(content: &str, page: &str) -> Vec<u8> {
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
        format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R\
             /Resources<</Font<</F 5 0 R/B 6 0 R>>>>{page}>>"
        ),
        format!("<</Length {}>>stream\n{content}\nendstream", content.len()),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold/Encoding/WinAnsiEncoding>>".to_owned(),
    ];
    let mut file = "%PDF-1.7\n".to_owned();
    let mut places = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        places.push(file.len());
        let _ = write!(file, "{} 0 obj\n{object}\nendobj\n", number + 1);
    }
    let start = file.len();
    let _ = write!(file, "xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for place in places {
        let _ = writeln!(file, "{place:010} 00000 n ");
    }
    let _ = write!(
        file,
        "trailer<</Size {}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF",
        objects.len() + 1
    );
    file.into_bytes()
}

const LETTER: &str = "BT /B 20 Tf 72 700 Td (The Old Bridge) Tj /F 11 Tf 0 -40 Td \
    (The harbour office keeps a list of all the vessels that lie at its berths,) Tj 0 -14 Td \
    (and of the hours at which they came and at which they will leave again.) Tj ET";

fn wanted() -> Wanted {
    Wanted {
        force_ocr: false,
        table_format: TableFormat::Markdown,
        extract_header: false,
        extract_footer: false,
        with_images: false,
        image_limit: None,
        image_min_size: None,
        languages: "eng".to_owned(),
        tesseract: None,
    }
}

fn tesseract() -> Option<PathBuf> {
    let program = Path::new("/usr/bin/tesseract");
    program.exists().then(|| program.to_owned())
}

fn read(kind: DocumentKind, content: Vec<u8>, wanted: &Wanted) -> Result<ReadPage, Unreadable> {
    Reader::open(kind, content, &Limits::default())?.read(0, wanted)
}

const MARKDOWN: &str = "# The Old Bridge\n\nThe harbour office keeps a list of all the vessels that lie at its berths, \
    and of the hours at which they came and at which they will leave again.";

#[test]
fn a_page_is_read_by_its_text() {
    let read = read(DocumentKind::Pdf, pdf(LETTER, ""), &wanted()).unwrap();

    assert_eq!(read.page.markdown, MARKDOWN);
    assert_eq!(read.notes.source, PageSource::TextLayer);
    let dimensions = Dimensions {
        dpi: 200,
        width: 1700,
        height: 2200,
    };
    assert_eq!(read.page.dimensions, Some(dimensions));
    let title = &read.page.elements[0];
    assert_eq!((title.kind, title.label), (ElementKind::Text, Label::Title));
    let expected = Bbox {
        l: 200.0,
        t: 214.4,
        r: 587.3,
        b: 267.8,
    };
    let off = (title.bbox.l - expected.l)
        .abs()
        .max((title.bbox.t - expected.t).abs());
    assert!(
        off < 2.0 && (title.bbox.b - expected.b).abs() < 2.0,
        "{:?}",
        title.bbox
    );
}

#[test]
fn a_turned_page_is_read_as_its_reader_sees_it() {
    for turn in [90, 180, 270] {
        let page = format!("/Rotate {turn}");

        let read = read(DocumentKind::Pdf, pdf(LETTER, &page), &wanted()).unwrap();

        // Its text runs another way than its reader expects: it is turned back.
        assert_eq!(read.page.markdown, MARKDOWN, "{turn}");
        assert_eq!(read.notes.rotation, 360 - turn, "{turn}");
        assert_eq!(
            read.page.dimensions.map(|size| size.width),
            Some(1700),
            "{turn}"
        );
    }
}

#[test]
fn what_is_cropped_away_is_not_read() {
    let content = format!("{LETTER} BT /F 11 Tf 72 40 Td (Printed in secret) Tj ET");

    let read = read(
        DocumentKind::Pdf,
        pdf(&content, "/CropBox[50 100 562 742]"),
        &wanted(),
    )
    .unwrap();

    assert_eq!(read.page.markdown, MARKDOWN);
}

#[test]
fn a_page_beyond_the_last_is_named() {
    let mut reader = Reader::open(DocumentKind::Pdf, pdf(LETTER, ""), &Limits::default()).unwrap();

    let refused = reader.read(1, &wanted()).unwrap_err();

    assert_eq!(reader.page_count(), 1);
    assert!(matches!(
        refused,
        Unreadable::Document(DocumentFault::Pages, _)
    ));
}

#[test]
fn a_page_that_breaks_off_is_told() {
    let deep = format!("{} TJ", "[".repeat(200_000));

    let text = read(
        DocumentKind::Pdf,
        pdf(&format!("{LETTER} {deep}"), ""),
        &wanted(),
    );
    let nothing = read(DocumentKind::Pdf, pdf(&deep, ""), &wanted());
    let whole = read(DocumentKind::Pdf, pdf(LETTER, ""), &wanted());

    let text = text.unwrap();
    assert_eq!(text.page.markdown, MARKDOWN);
    assert!(text.notes.is_cut_short);
    assert!(!whole.unwrap().notes.is_cut_short);
    assert_eq!(nothing.unwrap_err(), Unreadable::broken());
}

#[test]
fn a_page_too_large_to_be_drawn_is_refused() {
    let page = "/MediaBox[0 0 200000 200000]";

    let refused = read(DocumentKind::Pdf, pdf(LETTER, page), &wanted()).unwrap_err();

    assert!(matches!(
        refused,
        Unreadable::Document(DocumentFault::TooLarge, _)
    ));
}

#[test]
fn a_scan_needs_tesseract() {
    let wanted = Wanted {
        force_ocr: true,
        ..wanted()
    };

    let refused = read(DocumentKind::Pdf, pdf(LETTER, ""), &wanted).unwrap_err();

    assert_eq!(refused, Unreadable::NoTesseract);
}

#[test]
fn a_picture_of_a_page_says_what_the_page_says() {
    let Some(program) = tesseract() else {
        return;
    };
    let mut reader = Reader::open(DocumentKind::Pdf, pdf(LETTER, ""), &Limits::default()).unwrap();
    let (png, dimensions) = reader.picture(0, 2200).unwrap();
    let wanted = Wanted {
        tesseract: Some(program),
        ..wanted()
    };

    let seen = read(DocumentKind::Png, png, &wanted).unwrap();

    assert_eq!(dimensions.height, 2200);
    assert_eq!(seen.page.markdown, MARKDOWN);
    assert_eq!(seen.notes.source, PageSource::Ocr);
    assert!(seen.notes.confidence.is_some_and(|sure| sure > 0.8));
}

#[test]
fn broken_files_are_refused() {
    let limits = Limits::default();
    let kinds = [
        (DocumentKind::Pdf, b"%PDF-1.7\n".to_vec()),
        (DocumentKind::Png, b"\x89PNG\r\n\x1a\n".to_vec()),
        (DocumentKind::Tiff, b"II*\0\x08\0\0\0".to_vec()),
        (DocumentKind::Jpeg, b"\xff\xd8\xff".to_vec()),
    ];
    for (kind, content) in kinds {
        let refused = Reader::open(kind, content, &limits).err();
        assert!(
            matches!(
                refused,
                Some(Unreadable::Document(DocumentFault::Invalid, _))
            ),
            "{kind:?}: {refused:?}"
        );
    }
}
