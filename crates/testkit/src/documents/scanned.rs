//! Documents that went over paper.

use domain::DocumentKind;
use image::GrayImage;

use super::{
    Made, Row,
    chance::Chance,
    digital::whole_page,
    encode::file,
    page::{Look, column_sheet, prose_sheet},
    pdf::{Leaf, Volume},
    picture::Picture,
    prose::Letters,
    scan::{Wear, scan},
    sheet::Sheet,
    tabular::{borderless_sheet, ruled_sheet},
};

/// As offices scan.
pub(crate) const CLEAN: &[Row] = &[
    ("scan-300-jpeg", |chance| {
        pages(chance, 2, 300, &Wear::NONE, Paper::Jpeg)
    }),
    ("scan-300-fax", |chance| {
        pages(chance, 1, 300, &Wear::NONE, Paper::Fax)
    }),
    ("scan-200-noise-skew", |chance| {
        let wear = light(chance);
        pages(chance, 2, 200, &wear, Paper::Jpeg)
    }),
    ("scan-100-flate", |chance| {
        pages(chance, 1, 100, &Wear::NONE, Paper::Flate)
    }),
    ("scan-200-bits", |chance| {
        pages(chance, 1, 200, &Wear::NONE, Paper::Bits)
    }),
    ("scan-two-columns", scan_two_columns),
    ("image-png", |chance| image(chance, DocumentKind::Png, 200)),
    ("image-jpeg", |chance| {
        image(chance, DocumentKind::Jpeg, 200)
    }),
    ("image-tiff", |chance| {
        image(chance, DocumentKind::Tiff, 200)
    }),
    ("image-webp", |chance| {
        image(chance, DocumentKind::Webp, 150)
    }),
    ("image-gif", |chance| image(chance, DocumentKind::Gif, 150)),
    ("image-bmp", |chance| image(chance, DocumentKind::Bmp, 150)),
];

/// As nobody should scan.
pub(crate) const HARD: &[Row] = &[
    ("skew-4", |chance| {
        let skew = chance.choose(&[-4.0, 4.0]);
        pages(chance, 1, 200, &Wear { skew, ..Wear::NONE }, Paper::Jpeg)
    }),
    ("turned-90", |chance| turned(chance, 90)),
    ("turned-180", |chance| turned(chance, 180)),
    ("turned-270", |chance| turned(chance, 270)),
    ("noise-specks-shade-150", |chance| {
        pages(chance, 1, 150, &HEAVY, Paper::Flate)
    }),
    ("coarse-75", |chance| {
        pages(chance, 1, 75, &Wear::NONE, Paper::Flate)
    }),
    ("pale-150", |chance| {
        pages(chance, 1, 150, &PALE, Paper::Flate)
    }),
    ("negative-200", |chance| {
        pages(chance, 1, 200, &NEGATIVE, Paper::Flate)
    }),
    ("scan-table-ruled", |chance| {
        let sheet = ruled_sheet(chance, Letters::Plain, 10.0);
        let wear = slight(chance);
        scanned(chance, &[sheet], 200, &wear, Paper::Jpeg)
    }),
    ("scan-table-borderless", |chance| {
        let sheet = borderless_sheet(chance, Letters::Plain, 10.0);
        let wear = slight(chance);
        scanned(chance, &[sheet], 200, &wear, Paper::Jpeg)
    }),
];

const HEAVY: Wear = Wear {
    noise: 26.0,
    specks: 8.0,
    shade: 0.5,
    ..Wear::NONE
};

const PALE: Wear = Wear {
    contrast: 0.3,
    shade: 0.35,
    noise: 1.5,
    ..Wear::NONE
};

const NEGATIVE: Wear = Wear {
    negative: true,
    noise: 2.0,
    ..Wear::NONE
};

/// How a PDF holds a scan.
#[derive(Debug, Clone, Copy)]
enum Paper {
    Jpeg,
    Flate,
    Bits,
    Fax,
}

/// A little noise, and a sheet that was not laid in quite straight.
fn light(chance: &mut Chance) -> Wear {
    Wear {
        skew: chance.choose(&[-0.6, 0.6]),
        ..slight(chance)
    }
}

fn slight(chance: &mut Chance) -> Wear {
    Wear {
        noise: chance.between(3.0, 7.0),
        ..Wear::NONE
    }
}

fn pages(chance: &mut Chance, number: u32, dpi: u32, wear: &Wear, paper: Paper) -> Made {
    let look = look_for(chance, dpi);
    let sheets = (0..number).map(|_| prose_sheet(chance, &look, Letters::Plain));
    let sheets: Vec<_> = sheets.collect();
    scanned(chance, &sheets, dpi, wear, paper)
}

fn turned(chance: &mut Chance, turn: u16) -> Made {
    let wear = Wear {
        turn,
        ..slight(chance)
    };
    pages(chance, 1, 200, &wear, Paper::Jpeg)
}

fn scan_two_columns(chance: &mut Chance) -> Made {
    let look = look_for(chance, 200);
    let sheet = column_sheet(chance, &look, Letters::Plain, 2, false);
    let wear = slight(chance);
    scanned(chance, &[sheet], 200, &wear, Paper::Jpeg)
}

/// Few pixels want large letters: nobody reads 9 points at 75 dpi.
fn look_for(chance: &mut Chance, dpi: u32) -> Look {
    let smallest = match dpi {
        ..100 => 11.0,
        100..200 => 10.0,
        _ => 9.5,
    };
    Look::new(chance, smallest)
}

/// Pages that hold nothing but a picture of a sheet.
fn scanned(chance: &mut Chance, sheets: &[Sheet], dpi: u32, wear: &Wear, paper: Paper) -> Made {
    let mut leaves = Vec::new();
    for sheet in sheets {
        let image = scan(chance, sheet, dpi, wear);
        let picture = match paper {
            Paper::Jpeg => Picture::jpeg_gray(&image, 80),
            Paper::Flate => Picture::flate_gray(&image),
            Paper::Bits => Picture::flate_bits(&image),
            Paper::Fax => Picture::fax(&image),
        };
        // A sheet that lay on its side makes a page that lies on its side.
        let size = match wear.turn {
            90 | 270 => (sheet.height, sheet.width),
            _ => (sheet.width, sheet.height),
        };
        let mut page = Sheet::new(size);
        page.marks.push(whole_page(&page, picture));
        leaves.push(Leaf::new(page));
    }
    let mut volume = Volume::new(chance, []);
    volume.leaves = leaves;
    Made::new("pdf", volume.to_bytes(), truths(sheets))
}

/// A scan as a picture file; a TIFF holds three pages.
fn image(chance: &mut Chance, kind: DocumentKind, dpi: u32) -> Made {
    let look = look_for(chance, dpi);
    let number = if kind == DocumentKind::Tiff { 3 } else { 1 };
    let sheets: Vec<_> = (0..number)
        .map(|_| prose_sheet(chance, &look, Letters::Plain))
        .collect();
    let wear = slight(chance);
    let images: Vec<GrayImage> = sheets
        .iter()
        .map(|sheet| scan(chance, sheet, dpi, &wear))
        .collect();
    Made::new(kind.extension(), file(kind, &images, dpi), truths(&sheets))
}

fn truths(sheets: &[Sheet]) -> Vec<super::PageTruth> {
    let sheets = sheets.iter().enumerate();
    sheets.map(|(index, sheet)| sheet.truth(index)).collect()
}
