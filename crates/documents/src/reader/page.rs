//! A page of a PDF: by its text where that can be believed, else by its looks.

use domain::{Dimensions, DocumentFault};

use super::{
    Limits, PageNotes, PageSource, ReadPage, Unreadable, Wanted, amount, answer, bullets, fonts,
    geometry::{Place, median},
    glyphs,
    images::{Exports, FULL_PAGE},
    ink::{Ink, PlacedImage},
    layout::{self, Sheet},
    pdf::{self, Opened, PageSize, PdfFile, Raster},
    quality::{self, Verdict},
    raster, scan, turned, words,
};

/// How many pixels per inch the places on a page with text are given in: as many as those on an office scan, so that pictures
/// cut out by them are worth looking at. Nothing is rastered for it.
const TEXT_DPI: u32 = 200;

/// At how many pixels per inch a drawn page is rastered to be recognised, and one that is set smaller than 8 points.
const DRAWN_DPI: u32 = 200;
const SMALL_DPI: u32 = 300;
const SMALL_POINTS: f32 = 8.0;

/// A scan is rastered as it was made, within what recognition can use.
const SCAN_DPI: (f32, f32) = (50.0, 600.0);

/// An image that covers this part of a page is what is to be read.
const SCAN_SHARE: f32 = 0.4;

/// What became of a look at a page.
pub(super) enum Step {
    /// It was read.
    Done(Box<ReadPage>),
    /// It has to be recognised.
    Recognise(Plan),
}

/// How a page is to be drawn to be recognised.
pub(super) struct Plan {
    raster: Raster,
    known: Vec<PlacedImage>,
    is_cut_short: bool,
}

/// Looks at a page, and reads it if its text can be believed.
pub(super) fn look(
    file: &mut PdfFile,
    index: u32,
    wanted: &Wanted,
    limits: &Limits,
) -> Result<Step, Unreadable> {
    let (wanted, limits) = (wanted.clone(), limits.clone());
    file.ask(move |opened| look_at(opened, index, &wanted, &limits))?
}

/// Draws a page and recognises it.
pub(super) fn recognise(
    file: &mut PdfFile,
    index: u32,
    plan: Plan,
    wanted: &Wanted,
    limits: &Limits,
) -> Result<ReadPage, Unreadable> {
    let is_cut_short = plan.is_cut_short;
    let (asked, limits) = (wanted.clone(), limits.clone());
    let picture = file.ask(move |opened| {
        let page = opened.page(index).ok_or_else(Unreadable::broken)?;
        raster::scan(page, &plan.raster, &asked, plan.known, &limits)
    })??;
    let mut read = scan::read(&picture, index, wanted)?;
    read.notes.is_cut_short = is_cut_short;
    Ok(read)
}

fn look_at(
    opened: &mut Opened<'_>,
    index: u32,
    wanted: &Wanted,
    limits: &Limits,
) -> Result<Step, Unreadable> {
    let page = opened.page(index).ok_or_else(Unreadable::broken)?;
    if pdf::is_bomb(page) {
        let words = "a page unpacks to more than is read".to_owned();
        return Err(Unreadable::Document(DocumentFault::Rejected, words));
    }
    if amount::is_too_much(page) {
        let words = "a page draws more than is read".to_owned();
        return Err(Unreadable::Document(DocumentFault::Rejected, words));
    }
    let size = PageSize::of(page);
    let raster = size.raster(TEXT_DPI, limits)?;
    let exports = if wanted.with_images {
        Exports::at_least(wanted.image_min_size.unwrap_or(1))
    } else {
        Exports::none()
    };
    let ink = glyphs::of(opened, page, &raster, exports);
    let is_cut_short = pdf::is_cut_short(page);
    let (width, height) = (raster.width as f32, raster.height as f32);
    // The text under a scan is not needed to read it.
    let is_scan = |image: &PlacedImage| image.bbox.area() > SCAN_SHARE * width * height;
    if !ink.images.iter().any(is_scan) && fonts::is_lost(page) {
        let words = "the file is cut off or broken: a font is missing that its text is set in";
        return Err(Unreadable::Document(
            DocumentFault::Invalid,
            words.to_owned(),
        ));
    }
    match quality::of(&ink, width, height) {
        Verdict::Blank if is_cut_short => return Err(Unreadable::broken()),
        Verdict::Blank => {}
        Verdict::Believed if !wanted.force_ocr => {}
        Verdict::Believed | Verdict::Doubted => {
            if wanted.tesseract.is_none() {
                return Err(Unreadable::NoTesseract);
            }
            check_images(&ink, limits)?;
            let seen = size.raster(scan_dpi(&ink, width * height, raster.dpi), limits)?;
            let times = seen.width as f32 / width;
            let known = ink.images.into_iter().filter(|image| {
                f64::from(image.bbox.area() / (width * height))
                    < FULL_PAGE.min(f64::from(SCAN_SHARE))
            });
            let known = known.map(|image| scaled(image, times)).collect();
            return Ok(Step::Recognise(Plan {
                raster: seen,
                known,
                is_cut_short,
            }));
        }
    }
    let mut page = text_page(ink, index, &raster, wanted);
    page.notes.is_cut_short = is_cut_short;
    Ok(Step::Done(Box::new(page)))
}

/// What is to be drawn is decoded: its images must not claim to be larger than any scan.
fn check_images(ink: &Ink, limits: &Limits) -> Result<(), Unreadable> {
    let most = u64::from(limits.image_megapixels) * 1_000_000;
    let pixels = |image: &PlacedImage| u64::from(image.size.0) * u64::from(image.size.1);
    let Some(image) = ink.images.iter().find(|image| pixels(image) > most) else {
        return Ok(());
    };
    let words = format!(
        "an image claims to have {} x {} pixels",
        image.size.0, image.size.1
    );
    Err(Unreadable::Document(DocumentFault::TooLarge, words))
}

/// At how many pixels per inch a page was scanned, or should be drawn.
fn scan_dpi(ink: &Ink, page: f32, dpi: u32) -> u32 {
    let largest = ink
        .images
        .iter()
        .max_by(|a, b| a.bbox.area().total_cmp(&b.bbox.area()));
    if let Some(image) = largest
        && image.bbox.area() > SCAN_SHARE * page
    {
        let across = image.size.0 as f32 / image.bbox.width();
        let down = image.size.1 as f32 / image.bbox.height();
        // An image that was put in turned has its width along the page's height.
        let turned = image.size.0 as f32 / image.bbox.height();
        let finest = if (across / down - 1.0).abs() < 0.1 {
            across
        } else {
            turned.max(down)
        };
        return (finest * dpi as f32).clamp(SCAN_DPI.0, SCAN_DPI.1).round() as u32;
    }
    let points = median(ink.glyphs.iter().map(|glyph| glyph.size)) * 72.0 / dpi as f32;
    if points > 0.0 && points < SMALL_POINTS {
        SMALL_DPI
    } else {
        DRAWN_DPI
    }
}

fn scaled(image: PlacedImage, times: f32) -> PlacedImage {
    let bbox = image.bbox;
    PlacedImage {
        bbox: domain::Bbox {
            l: bbox.l * times,
            t: bbox.t * times,
            r: bbox.r * times,
            b: bbox.b * times,
        },
        ..image
    }
}

fn text_page(mut ink: Ink, index: u32, raster: &super::pdf::Raster, wanted: &Wanted) -> ReadPage {
    let seen = (raster.width as f32, raster.height as f32);
    let direction = words::direction(&ink.glyphs);
    let mut dimensions = Dimensions {
        dpi: raster.dpi,
        width: raster.width,
        height: raster.height,
    };
    if direction != 0 {
        words::upright(&mut ink.glyphs, direction, seen);
        for bbox in &mut ink.rules {
            *bbox = words::turned_box(*bbox, direction, seen);
        }
        for bbox in &mut ink.dots {
            *bbox = words::turned_box(*bbox, direction, seen);
        }
        for image in &mut ink.images {
            image.bbox = words::turned_box(image.bbox, direction, seen);
        }
        if direction % 2 == 1 {
            std::mem::swap(&mut dimensions.width, &mut dimensions.height);
        }
    }
    let (width, height) = (dimensions.width as f32, dimensions.height as f32);
    let images = pictures(std::mem::take(&mut ink.images), f64::from(width * height));
    let sheet = Sheet {
        height,
        words: bullets::with(words::of(&ink.glyphs), &ink.dots),
        rules: ink.rules.clone(),
        pictures: images.iter().map(|image| image.bbox).collect(),
        is_first: index == 0,
    };
    let mut blocks = layout::of(sheet);
    turned::add(&mut blocks, &ink, (width, height));
    let notes = PageNotes {
        source: PageSource::TextLayer,
        is_cut_short: false,
        dpi: dimensions.dpi,
        // Text that runs down is turned back by a quarter, counter-clockwise.
        rotation: [0, 270, 180, 90][direction],
        deskew: 0.0,
        preprocessing: Vec::new(),
        confidence: None,
    };
    ReadPage {
        page: answer::page(
            index,
            dimensions,
            blocks,
            images,
            wanted,
            PageSource::TextLayer,
        ),
        notes,
    }
}

/// The pictures of a page: no scan of it, and each place once.
fn pictures(images: Vec<PlacedImage>, page: f64) -> Vec<PlacedImage> {
    let mut kept: Vec<PlacedImage> = Vec::new();
    for image in images {
        let share = f64::from(image.bbox.area()) / page;
        let drawn = kept
            .iter()
            .any(|other| other.bbox == image.bbox && other.size == image.size);
        if share < FULL_PAGE && !drawn {
            kept.push(image);
        }
    }
    kept
}
