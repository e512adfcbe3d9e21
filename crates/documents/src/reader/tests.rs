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
    file(&objects)
}

/// A PDF of these objects, the first of which is its catalog.
fn file(objects: &[String]) -> Vec<u8> {
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
    read_by(
        &mut Reader::open(kind, content, &Limits::default())?,
        wanted,
    )
}

fn read_by(reader: &mut Reader, wanted: &Wanted) -> Result<ReadPage, Unreadable> {
    match reader.look(0, wanted)? {
        Some(page) => Ok(page),
        None => reader.recognise(0, wanted),
    }
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
fn text_that_runs_another_way_than_its_page_is_read_too() {
    let content = format!(
        "{LETTER} BT /F 11 Tf 0 1 -1 0 300 200 Tm (Berths by the old bridge,) Tj \
         0 1 -1 0 314 200 Tm (and their vessels by day) Tj ET"
    );

    let read = read(DocumentKind::Pdf, pdf(&content, ""), &wanted()).unwrap();

    let turned = "Berths by the old bridge, and their vessels by day";
    assert_eq!(read.page.markdown, format!("{MARKDOWN}\n\n{turned}"));
    let block = &read.page.elements[2].bbox;
    assert!(block.height() > 3.0 * block.width(), "{block:?}");
    // It begins 200 points above the foot of the page.
    assert!((block.b - 592.0 / 72.0 * 200.0).abs() < 2.0, "{block:?}");
}

#[test]
fn text_that_is_drawn_again_is_read_once() {
    let again =
        format!("q 1 Tr 1 0 0 1 0.4 0 cm {LETTER} Q {LETTER} q 1 0 0 1 0.8 -0.8 cm {LETTER} Q");

    let read = read(DocumentKind::Pdf, pdf(&again, ""), &wanted()).unwrap();

    assert_eq!(read.page.markdown, MARKDOWN);
}

#[test]
fn a_watermark_leaves_no_letters_in_the_text() {
    let content =
        format!("{LETTER} q 0.7 0.7 -0.7 0.7 150 640 cm BT /B 60 Tf 0 0 Td (TILIFI) Tj ET Q");

    let read = read(DocumentKind::Pdf, pdf(&content, ""), &wanted()).unwrap();

    assert_eq!(read.page.markdown, MARKDOWN);
}

#[test]
fn drawn_bullets_begin_items() {
    let content = "BT /F 11 Tf 72 700 Td (The first berth) Tj 0 -14 Td (The second one) Tj ET \
         60 701 4 4 re f 60 687 4 4 re f";

    let read = read(DocumentKind::Pdf, pdf(content, ""), &wanted()).unwrap();

    assert_eq!(read.page.markdown, "- The first berth\n- The second one");
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

    let refused = reader.look(1, &wanted()).unwrap_err();

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

/// A page that draws a form, which draws the next one so many times, and so on; the last one says something.
fn nested(levels: usize, times: usize) -> Vec<u8> {
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</XObject<</X 6 0 R>>>>>>".to_owned(),
        "<</Length 5>>stream\n/X Do\nendstream".to_owned(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
    ];
    for level in 0..=levels {
        let content = if level == levels {
            "BT /F 12 Tf 72 700 Td (Ha) Tj ET".to_owned()
        } else {
            "/X Do ".repeat(times)
        };
        let next = 7 + level;
        objects.push(format!(
            "<</Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</XObject<</X {next} 0 R>>/Font<</F 5 0 R>>>>\
             /Length {}>>stream\n{content}\nendstream",
            content.len()
        ));
    }
    file(&objects)
}

#[test]
fn a_page_that_draws_more_than_any_page_has_is_refused_before_it_is_drawn() {
    let is_refused = |read: Result<ReadPage, Unreadable>| {
        matches!(read, Err(Unreadable::Document(DocumentFault::Rejected, _)))
    };
    let line = "BT /F 9 Tf 1 0 0 1 72 700 Tm (aaaaaaaaaaaaaaaa) Tj ET\n";

    let few = read(DocumentKind::Pdf, nested(4, 10), &wanted()).unwrap();
    let laughs = read(DocumentKind::Pdf, nested(14, 10), &wanted());
    let text = read(
        DocumentKind::Pdf,
        pdf(&line.repeat(1_000_000), ""),
        &wanted(),
    );

    assert!(few.page.markdown.starts_with("Ha"));
    assert!(is_refused(laughs));
    assert!(is_refused(text));
}

#[test]
fn a_page_whose_font_is_gone_is_refused_where_its_text_needs_it() {
    let set_in = |font: &str| {
        format!("BT /F 12 Tf 72 700 Td (Good day) Tj /{font} 12 Tf 0 -20 Td (Ladies) Tj ET")
    };
    let gone = "/Resources<</Font<</F 5 0 R/G 77 0 R>>>>";

    let needed = read(DocumentKind::Pdf, pdf(&set_in("G"), gone), &wanted());
    let not_needed = read(DocumentKind::Pdf, pdf(&set_in("F"), gone), &wanted());

    assert!(matches!(
        needed,
        Err(Unreadable::Document(DocumentFault::Invalid, _))
    ));
    assert!(not_needed.unwrap().page.markdown.contains("Ladies"));
}

/// A white picture of this size as PNG.
fn paper(width: u32, height: u32) -> Vec<u8> {
    let paper = image::GrayImage::from_pixel(width, height, image::Luma([255]));
    images::Exported::png(&paper.into()).unwrap().bytes
}

#[test]
fn a_page_without_letters_is_empty_and_nobody_is_asked_to_recognise_it() {
    let wanted = Wanted {
        tesseract: Some(PathBuf::from("/nowhere/tesseract")),
        ..wanted()
    };
    for (width, height) in [(1, 1), (3, 3), (8000, 3), (1700, 2200)] {
        let read = read(DocumentKind::Png, paper(width, height), &wanted).unwrap();

        assert_eq!(read.page.markdown, "");
        assert!(read.page.elements.is_empty());
        assert_eq!(read.notes.confidence, None);
    }
}

#[test]
fn a_picture_of_more_pixels_than_are_looked_at_is_made_smaller() {
    let limits = Limits {
        megapixels: 1,
        image_megapixels: 4,
        ..Limits::default()
    };
    let wanted = Wanted {
        tesseract: Some(PathBuf::from("/nowhere/tesseract")),
        ..wanted()
    };
    let size = |width, height| {
        let mut reader = Reader::open(DocumentKind::Png, paper(width, height), &limits)?;
        let read = read_by(&mut reader, &wanted)?;
        Ok(read.page.dimensions.map(|size| (size.width, size.height)))
    };

    assert_eq!(size(2000, 2000), Ok(Some((1000, 1000))));
    assert!(matches!(
        size(2100, 2000),
        Err(Unreadable::Document(DocumentFault::TooLarge, _))
    ));
}

#[test]
fn a_page_by_its_looks_is_looked_at_first() {
    let wanted = Wanted {
        force_ocr: true,
        tesseract: Some(PathBuf::from("/nowhere/tesseract")),
        ..wanted()
    };
    let mut reader = Reader::open(DocumentKind::Pdf, pdf(LETTER, ""), &Limits::default()).unwrap();

    assert_eq!(reader.recognise(0, &wanted), Err(Unreadable::broken()));
    assert_eq!(reader.look(0, &wanted), Ok(None));
    assert!(matches!(
        reader.recognise(0, &wanted),
        Err(Unreadable::Tesseract(_))
    ));
}

#[test]
fn a_page_that_ends_the_program_for_recognition_is_rejected_and_a_missing_language_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let read = |script: &str, languages: &str| {
        let program = folder.path().join("tesseract");
        std::fs::write(&program, format!("#!/bin/sh\ncat >/dev/null\n{script}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        let wanted = Wanted {
            force_ocr: true,
            tesseract: Some(program),
            languages: languages.to_owned(),
            ..wanted()
        };
        let mut reader =
            Reader::open(DocumentKind::Pdf, pdf(LETTER, ""), &Limits::default()).unwrap();
        read_by(&mut reader, &wanted).unwrap_err()
    };
    let missing = "echo 'Error opening data file /usr/share/tessdata/deu.traineddata' >&2; exit 1";

    assert!(matches!(
        read("kill -9 $$", "eng"),
        Unreadable::Document(DocumentFault::Rejected, _)
    ));
    let Unreadable::Tesseract(words) = read(missing, "eng+deu") else {
        panic!("it is the operator's to mend");
    };
    assert!(words.contains("tesseract-ocr-deu"), "{words}");
}
