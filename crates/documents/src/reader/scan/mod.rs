//! A page by its looks: cleaned, recognised, put in order.

mod attempt;
mod left_over;
mod size;
mod turns;
mod unfolded;

use domain::{Bbox, Dimensions};
use image::{DynamicImage, RgbImage, imageops};

use super::{
    PageNotes, PageSource, ReadPage, Unreadable, Wanted, answer,
    cleanup::{self, Gray},
    frame::{Back, turned_clockwise},
    geometry::Place,
    images::Exported,
    ink::PlacedImage,
    layout::{self, Sheet, Word},
    recognised,
    tesseract::Tesseract,
};
use crate::sandbox;
use attempt::{Attempt, MIN_SKEW, SURE};

/// A page to be recognised.
pub(super) struct Picture {
    /// Its pixels.
    pub gray: Gray,
    /// Its pixels in colour, where pictures are to be cut out of them.
    pub colours: Option<RgbImage>,
    /// How many dots per inch it has.
    pub dpi: u32,
    /// Pictures that are known to be on it.
    pub known: Vec<PlacedImage>,
}

/// Reads a page.
pub(super) fn read(picture: &Picture, index: u32, wanted: &Wanted) -> Result<ReadPage, Unreadable> {
    let Some(program) = &wanted.tesseract else {
        return Err(Unreadable::NoTesseract);
    };
    let tesseract = Tesseract {
        program,
        languages: &wanted.languages,
    };
    sandbox::allow_cleaning(picture.gray.data.len());
    if cleanup::is_blank(&picture.gray) || cleanup::is_grain(&picture.gray) {
        return Ok(Attempt::clean(picture, 0).page(picture, index, wanted));
    }
    let before = sandbox::spent_by_children();
    let first = upright_guess(picture, tesseract)?;
    let mut attempt = Attempt::of(picture, first, tesseract)?;
    // What takes so long is no print, whichever way it lies.
    let spent = sandbox::spent_by_children().saturating_sub(before);
    if sandbox::is_much(spent, attempt.recognised_pixels()) {
        return Ok(attempt.page(picture, index, wanted));
    }
    let mut tried = vec![first];
    // A page that stands on its head reads badly; only then it is worth asking, and turning it over if nobody knows.
    if attempt.confidence() < SURE {
        let turn = tesseract.orientation(&attempt.clean, picture.dpi)?;
        let turn = (first + turn.filter(|turn| *turn != 0).unwrap_or(2)) % 4;
        tried.push(turn);
        attempt = attempt.or_better(Attempt::of(picture, turn, tesseract)?);
    }
    // Which way a page of few letters lies is often told wrongly, and recognition reads lines that stand upright word by word.
    for turn in attempt.other_turns() {
        if !tried.contains(&turn) {
            tried.push(turn);
            attempt = attempt.or_better(Attempt::of(picture, turn, tesseract)?);
        }
    }
    if attempt.confidence() < SURE {
        attempt.look_again(tesseract)?;
    }
    Ok(attempt.page(picture, index, wanted))
}

/// By how many quarters to turn a page, as far as its lines tell.
fn upright_guess(picture: &Picture, tesseract: Tesseract<'_>) -> Result<usize, Unreadable> {
    let (gray, dpi) = (&picture.gray, picture.dpi);
    match cleanup::lies_sideways(gray) {
        Some(false) => Ok(0),
        Some(true) => {
            let turn = tesseract.orientation(gray, dpi)?;
            Ok(turn.filter(|turn| turn % 2 == 1).unwrap_or(1))
        }
        None => Ok(tesseract.orientation(gray, dpi)?.unwrap_or(0)),
    }
}

impl Attempt {
    fn page(self, picture: &Picture, index: u32, wanted: &Wanted) -> ReadPage {
        let (width, height) = (self.clean.width as f32, self.clean.height as f32);
        let confidence = self.confidence() / 100.0;
        let images = self.images(picture, wanted);
        let words: Vec<Word> = recognised::words(&self.words, &self.clean)
            .into_iter()
            .filter(|word| {
                let (x, y) = (word.bbox.middle_x(), word.bbox.middle_y());
                !self.pictures.iter().any(|picture| picture.holds(x, y))
            })
            .collect();
        let sheet = Sheet {
            height,
            rules: self.rules.clone(),
            pictures: images.iter().map(|image| image.bbox).collect(),
            words,
            is_first: index == 0,
        };
        let mut blocks = layout::of(sheet);
        let back = Back::of(self.deskew, width, height);
        for block in &mut blocks {
            block.bbox = back.place(block.bbox);
        }
        let images = images
            .into_iter()
            .map(|image| PlacedImage {
                bbox: back.place(image.bbox),
                ..image
            })
            .collect();
        let dimensions = Dimensions {
            dpi: self.dpi,
            width: self.clean.width as u32,
            height: self.clean.height as u32,
        };
        let notes = PageNotes {
            source: PageSource::Ocr,
            is_cut_short: false,
            dpi: self.dpi,
            rotation: self.quarters as i32 * 90,
            deskew: self.deskew,
            preprocessing: self.steps,
            confidence: (!self.words.is_empty()).then_some(confidence),
        };
        ReadPage {
            page: answer::page(index, dimensions, blocks, images, wanted, PageSource::Ocr),
            notes,
        }
    }

    /// The pictures on the page: those that are known, and those that were seen.
    fn images(&self, picture: &Picture, wanted: &Wanted) -> Vec<PlacedImage> {
        let (width, height) = (picture.gray.width as f32, picture.gray.height as f32);
        let ahead = Back::of(
            -self.deskew,
            self.clean.width as f32,
            self.clean.height as f32,
        );
        let mut images: Vec<PlacedImage> = picture
            .known
            .iter()
            .map(|image| PlacedImage {
                bbox: ahead.place(turned_clockwise(image.bbox, self.quarters, (width, height))),
                ..image.clone()
            })
            .collect();
        let mut colours = None;
        for bbox in &self.pictures {
            let known = images
                .iter()
                .any(|image| image.bbox.shared(bbox) > 0.5 * image.bbox.area().min(bbox.area()));
            if known {
                continue;
            }
            let size = (bbox.width() as u32, bbox.height() as u32);
            let export = wanted
                .with_images
                .then(|| {
                    let page = colours.get_or_insert_with(|| self.straightened(picture));
                    cut(page, *bbox)
                })
                .flatten();
            images.push(PlacedImage {
                bbox: *bbox,
                size,
                is_jpeg: false,
                export,
            });
        }
        images
    }

    /// The page to cut pictures out of, as straight as the places on it.
    fn straightened(&self, picture: &Picture) -> DynamicImage {
        let Some(colours) = picture
            .colours
            .as_ref()
            .filter(|_| self.deskew.abs() < MIN_SKEW)
        else {
            let (width, height) = (self.seen.width as u32, self.seen.height as u32);
            let gray = image::GrayImage::from_raw(width, height, self.seen.data.clone());
            return gray.unwrap_or_default().into();
        };
        let turned = match self.quarters {
            1 => imageops::rotate90(colours),
            2 => imageops::rotate180(colours),
            3 => imageops::rotate270(colours),
            _ => colours.clone(),
        };
        turned.into()
    }
}

fn cut(page: &DynamicImage, bbox: Bbox) -> Option<Exported> {
    let cut = page.crop_imm(
        bbox.l as u32,
        bbox.t as u32,
        bbox.width() as u32,
        bbox.height() as u32,
    );
    Exported::png(&cut)
}
