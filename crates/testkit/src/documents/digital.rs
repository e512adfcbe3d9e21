//! Documents that a program wrote: their text is in the file, more or less.

use std::sync::Arc;

use domain::{Bbox, Label};

use super::{
    Made, Row,
    chance::Chance,
    figures::{figure_sheets, illustrated_sheet},
    font::{Cut, Font},
    lock::Lock,
    page::{Look, column_sheet, fill, heading, interleave, paragraphs, prose_sheet, title},
    pdf::{Hand, Unicode, Volume},
    picture::Picture,
    prose::{Letters, Prose},
    scan::{Wear, raster, scan},
    sheet::{Mark, Sheet},
    tabular::{borderless_sheet, merged_sheet, ruled_sheet},
    truth::Set,
};

pub(crate) const RECIPES: &[Row] = &[
    ("letter", letter),
    ("headings-lists-code", headings_lists_code),
    ("two-columns", two_columns),
    ("three-columns", three_columns),
    ("table-ruled", table_ruled),
    ("table-borderless", table_borderless),
    ("table-merged", table_merged),
    ("running-titles", running_titles),
    ("pictures", pictures),
    ("turned-pages", turned_pages),
    ("cropped-pages", cropped_pages),
    ("user-unit", user_unit),
    ("long-prose", long_prose),
    ("lying-private", lying_private),
    ("lying-scrambled", lying_scrambled),
    ("hidden-text", hidden_text),
    ("hybrid", hybrid),
    ("owner-password", owner_password),
];

/// Two pages: the everyday case.
fn letter(chance: &mut Chance) -> Made {
    let look = Look::new(chance, 9.0);
    let sheets = [0, 1].map(|_| prose_sheet(chance, &look, Letters::Rich));
    Made::volume(&Volume::new(chance, sheets))
}

fn headings_lists_code(chance: &mut Chance) -> Made {
    let look = Look::new(chance, 9.0);
    let mut sheets = Vec::new();
    for page in 0..2 {
        let (mut sheet, mut frame) = look.sheet();
        let numbered = chance.percent(50);
        let bullet = chance.pick(&["\u{2022}", "\u{2022}", "-"]);
        let mut prose = Prose::new(chance, Letters::Rich);
        if page == 0 {
            let text = prose.heading();
            title(&mut sheet, &mut frame, &look, &text);
        }
        for section in 1..=3 {
            let mut text = prose.heading();
            if numbered {
                text = format!("{}.{section} {text}", page + 1);
            }
            heading(&mut sheet, &mut frame, &look, &text);
            paragraphs(&mut sheet, &mut frame, &look, &mut prose, 1);
            for index in 1..=prose.chance.number(3, 5) {
                let marker = match section {
                    2 => format!("{index}."),
                    _ => bullet.to_owned(),
                };
                let text = format!("{} {}", prose.phrase(), prose.noun());
                sheet.item(&mut frame, &look.body, &marker, &text);
                frame.skip(look.gap * 0.3);
            }
            frame.skip(look.gap);
            if section == 3 {
                let lines = prose.code();
                sheet.code(&mut frame, look.body.font.size - 0.5, &lines);
                frame.skip(look.gap);
            }
        }
        paragraphs(&mut sheet, &mut frame, &look, &mut prose, 2);
        sheets.push(sheet);
    }
    Made::volume(&Volume::new(chance, sheets))
}

fn two_columns(chance: &mut Chance) -> Made {
    let look = Look::new(chance, 9.0);
    let mut sheets = [0, 1].map(|_| column_sheet(chance, &look, Letters::Rich, 2, false));
    sheets.iter_mut().for_each(interleave);
    Made::volume(&Volume::new(chance, sheets))
}

fn three_columns(chance: &mut Chance) -> Made {
    let look = Look::new(chance, 8.0);
    let mut sheet = column_sheet(chance, &look, Letters::Rich, 3, true);
    if chance.percent(50) {
        interleave(&mut sheet);
    }
    Made::volume(&Volume::new(chance, [sheet]))
}

fn table_ruled(chance: &mut Chance) -> Made {
    let sheet = ruled_sheet(chance, Letters::Rich, 9.0);
    Made::volume(&Volume::new(chance, [sheet]))
}

fn table_borderless(chance: &mut Chance) -> Made {
    let sheet = borderless_sheet(chance, Letters::Rich, 9.0);
    Made::volume(&Volume::new(chance, [sheet]))
}

fn table_merged(chance: &mut Chance) -> Made {
    let sheet = merged_sheet(chance);
    Made::volume(&Volume::new(chance, [sheet]))
}

/// Pages with the same words above and a number below.
fn running_titles(chance: &mut Chance) -> Made {
    let look = Look::new(chance, 9.0);
    let small = Font::new(look.body.font.face.family, Cut::Italic, 8.5);
    let above = Prose::new(chance, Letters::Rich).heading();
    let below = chance.pick(&["", "Page ", "\u{2013} "]);
    let first = chance.number(3, 180);
    let mut sheets = Vec::new();
    let mut carried = None;
    for page in 0..5 {
        let (mut sheet, mut frame) = look.sheet();
        sheet.place(small, look.margin, 36.0, Label::PageHeader, &above);
        let mut prose = Prose::new(chance, Letters::Rich);
        carried = fill(&mut sheet, &mut frame, &look, &mut prose, carried);
        let mut number = format!("{below}{}", first + page);
        if below.starts_with('\u{2013}') {
            number.push_str(" \u{2013}");
        }
        let middle = (sheet.width - small.measure(&number)) / 2.0;
        let foot = sheet.height - 34.0;
        sheet.place(small, middle, foot, Label::PageFooter, &number);
        sheets.push(sheet);
    }
    Made::volume(&Volume::new(chance, sheets))
}

fn pictures(chance: &mut Chance) -> Made {
    let look = Look::new(chance, 9.0);
    let sheets = figure_sheets(chance, &look);
    Made::volume(&Volume::new(chance, sheets))
}

/// Stored lying on a side or on the head, and set upright by `/Rotate`.
fn turned_pages(chance: &mut Chance) -> Made {
    let look = Look::new(chance, 9.0);
    let sheets = [90, 180, 270].map(|_| illustrated_sheet(chance, &look));
    let mut volume = Volume::new(chance, sheets);
    for (leaf, turn) in volume.leaves.iter_mut().zip([90, 180, 270]) {
        leaf.turn = turn;
    }
    Made::volume(&volume)
}

/// Of each page only the middle is to be seen, and what stands outside is not part of it.
fn cropped_pages(chance: &mut Chance) -> Made {
    let look = Look::new(chance, 9.0);
    let sheets = [0, 1].map(|_| prose_sheet(chance, &look, Letters::Rich));
    let mut volume = Volume::new(chance, sheets);
    for (leaf, turn) in volume.leaves.iter_mut().zip([0, 90]) {
        leaf.turn = turn;
        leaf.crop = Some((chance.between(20.0, 70.0), chance.between(20.0, 70.0)));
        let proof = format!("Proof {}", chance.number(2, 99));
        leaf.sheet.line(look.body.font, look.margin, -6.0, &proof);
    }
    Made::volume(&volume)
}

/// One unit of the page is more than a point.
fn user_unit(chance: &mut Chance) -> Made {
    let look = Look::new(chance, 9.0);
    let sheet = prose_sheet(chance, &look, Letters::Rich);
    let mut volume = Volume::new(chance, [sheet]);
    volume.leaves[0].unit = chance.choose(&[2.0, 1.5, 4.0]);
    Made::volume(&volume)
}

fn long_prose(chance: &mut Chance) -> Made {
    let look = Look::new(chance, 9.0);
    let mut carried = None;
    let mut sheets = Vec::new();
    for page in 0..200 {
        let (mut sheet, mut frame) = look.sheet();
        let mut prose = Prose::new(chance, Letters::Rich);
        if page % 20 == 0 {
            let text = prose.heading();
            heading(&mut sheet, &mut frame, &look, &text);
        }
        carried = fill(&mut sheet, &mut frame, &look, &mut prose, carried);
        sheets.push(sheet);
    }
    Made::volume(&Volume::new(chance, sheets))
}

/// The fonts say that their letters have no meaning of their own.
fn lying_private(chance: &mut Chance) -> Made {
    let letters = (0..224).map(|code| 0xe000 + code).collect();
    lying(chance, letters)
}

/// The fonts say that their letters are others.
fn lying_scrambled(chance: &mut Chance) -> Made {
    let mut small: Vec<u16> = (97..123).collect();
    chance.shuffle(&mut small);
    let letters = (32..256).map(|code: u16| match code {
        65..91 => small[usize::from(code - 65)] - 32,
        97..123 => small[usize::from(code - 97)],
        _ => code,
    });
    lying(chance, letters.collect())
}

fn lying(chance: &mut Chance, letters: Vec<u16>) -> Made {
    let look = Look::new(chance, 10.0);
    let sheet = prose_sheet(chance, &look, Letters::Plain);
    let mut volume = Volume::new(chance, [sheet]);
    volume.unicode = Unicode::Lies(letters);
    // Where spaces are letters, too: without them there would be nothing to lie about between words.
    volume.hand = Hand::Lines;
    read_from_pixels(&volume)
}

/// A volume whose text is not in the file, or not all of it.
fn read_from_pixels(volume: &Volume) -> Made {
    Made {
        judged_as: Some(Set::Clean),
        ..Made::volume(volume)
    }
}

/// A scan that somebody has already read: the text lies over it and is not drawn.
fn hidden_text(chance: &mut Chance) -> Made {
    let look = Look::new(chance, 10.0);
    let mut sheet = prose_sheet(chance, &look, Letters::Plain);
    let image = scan(chance, &sheet, 150, &Wear::NONE);
    for mark in &mut sheet.marks {
        if let Mark::Text(line) = mark {
            line.visible = false;
        }
    }
    sheet
        .marks
        .insert(0, whole_page(&sheet, Picture::jpeg_gray(&image, 75)));
    Made::volume(&Volume::new(chance, [sheet]))
}

/// A page from a program, and a page from a scanner.
fn hybrid(chance: &mut Chance) -> Made {
    let look = Look::new(chance, 10.0);
    let first = prose_sheet(chance, &look, Letters::Plain);
    let mut second = prose_sheet(chance, &look, Letters::Plain);
    let image = raster(&second, 200);
    second.marks = vec![whole_page(&second, Picture::jpeg_gray(&image, 80))];
    read_from_pixels(&Volume::new(chance, [first, second]))
}

/// Everybody may read it, nobody may change it.
fn owner_password(chance: &mut Chance) -> Made {
    let look = Look::new(chance, 9.0);
    let sheet = prose_sheet(chance, &look, Letters::Rich);
    let mut volume = Volume::new(chance, [sheet]);
    let id = chance.bytes(16).try_into().expect("sixteen bytes");
    volume.lock = Some(Lock::new(id, "", "only the owner"));
    Made::volume(&volume)
}

/// A picture that covers a page.
pub(crate) fn whole_page(sheet: &Sheet, picture: Picture) -> Mark {
    Mark::Image {
        bbox: Bbox {
            l: 0.0,
            t: 0.0,
            r: sheet.width,
            b: sheet.height,
        },
        picture: Arc::new(picture),
    }
}
