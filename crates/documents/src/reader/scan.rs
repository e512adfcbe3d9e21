//! A page by its looks: cleaned, recognised, put in order.

use domain::{Bbox, Dimensions};
use image::{DynamicImage, RgbImage, imageops};

use super::{
    PageNotes, PageSource, ReadPage, Unreadable, Wanted, answer,
    cleanup::{self, Gray},
    frame::{Back, turned_clockwise},
    geometry::{Place, median},
    images::Exported,
    ink::PlacedImage,
    layout::{self, Sheet, Word},
    recognised,
    tesseract::{Recognised, Search, Tesseract, Thresholding},
};

/// Straightening costs sharpness: pages that are askew by less are left (`ocr.md` 2).
const MIN_SKEW: f32 = 0.3;

/// Letters of this height are read without a fault; smaller ones are enlarged.
const GOOD_HEIGHT: f32 = 20.0;
const SMALL_HEIGHT: f32 = 13.0;
const MAX_TIMES: f32 = 4.0;

/// Pages of fewer dots per inch lose their letters with their grain.
const MIN_SMOOTH_DPI: u32 = 120;

/// A page whose words are surer than this in the mean needs no second look (`ocr.md` 2).
const SURE: f32 = 60.0;

/// Words that are less sure than this are specks and edges of pictures (`ocr.md` 2).
const MIN_CONFIDENCE: f32 = 20.0;

/// What was left over and is read at the second look must be surer than that: specks are left over as well.
const MIN_LEFT_OVER: f32 = 70.0;

/// Fewer letters than this left over are specks.
const LEFT_OVER: usize = 4;

/// More than this are grain or a drawing, which takes minutes to look at and has no words.
const MAX_LEFT_OVER: usize = 600;

/// Words of the second look are on lines of their own.
const LEFT_OVER_BLOCK: u32 = 1 << 20;

/// What recognition is asked to look at has no more pixels than this; it takes four bytes for each.
const MAX_PIXELS: f32 = 60e6;

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
    let first = upright_guess(picture, tesseract)?;
    let mut attempt = Attempt::of(picture, first, tesseract)?;
    // A page that stands on its head reads badly; only then it is worth asking, and turning it over if nobody knows.
    if attempt.confidence() < SURE {
        let turn = tesseract.orientation(&attempt.clean, picture.dpi)?;
        let turn = (first + turn.filter(|turn| *turn != 0).unwrap_or(2)) % 4;
        let other = Attempt::of(picture, turn, tesseract)?;
        if other.confidence() > attempt.confidence() {
            attempt = other;
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

/// A page as it was cleaned and recognised.
struct Attempt {
    quarters: usize,
    /// The page upright, as it was seen.
    seen: Gray,
    /// The page upright, clean and straight: all places are in its pixels.
    clean: Gray,
    /// By how many degrees clockwise it was straightened.
    deskew: f32,
    /// How many times larger than `clean` what was recognised is.
    times: f32,
    dpi: u32,
    rules: Vec<Bbox>,
    pictures: Vec<Bbox>,
    words: Vec<Recognised>,
    steps: Vec<String>,
}

impl Attempt {
    fn of(
        picture: &Picture,
        quarters: usize,
        tesseract: Tesseract<'_>,
    ) -> Result<Self, Unreadable> {
        let mut seen = picture.gray.turned(quarters);
        let mut steps = Vec::new();
        if seen.set_black_on_white() {
            steps.push("inverted".to_owned());
        }
        let mut clean = seen.clone();
        let noisy = cleanup::is_noisy(&clean);
        // Before the background: stretching would cut the grain off at white, and what is left of it would be darker.
        if noisy && picture.dpi >= MIN_SMOOTH_DPI {
            clean.smooth();
            steps.push("denoised".to_owned());
        }
        if clean.even_out() {
            steps.push("background".to_owned());
        }
        let mut deskew = cleanup::angle(&clean);
        if deskew.abs() > MIN_SKEW {
            clean = clean.rotated(deskew);
            seen = seen.rotated(deskew);
            steps.push("deskewed".to_owned());
        } else {
            deskew = 0.0;
        }
        let rules = cleanup::rules(&clean, picture.dpi);
        let pictures = cleanup::pictures(&seen, picture.dpi, noisy);
        let mut attempt = Self {
            quarters,
            seen,
            clean,
            deskew,
            times: 1.0,
            dpi: picture.dpi,
            rules,
            pictures,
            words: Vec::new(),
            steps,
        };
        attempt.recognise(tesseract, Thresholding::Whole)?;
        Ok(attempt)
    }

    fn recognise(
        &mut self,
        tesseract: Tesseract<'_>,
        thresholding: Thresholding,
    ) -> Result<(), Unreadable> {
        let mut page = cleanup::erased(&self.clean, &self.rules);
        page = cleanup::erased(&page, &self.pictures);
        self.times = enlargement(&page);
        if self.times > 1.0 {
            page = page.enlarged(self.times);
            let step = format!("enlarged x{}", self.times);
            if !self.steps.contains(&step) {
                self.steps.push(step);
            }
        }
        let dpi = (self.dpi as f32 * self.times).round() as u32;
        let times = self.times;
        let mut words = tesseract.words(&page, dpi, thresholding, Search::Blocks)?;
        words.retain(|word| word.confidence >= MIN_CONFIDENCE);
        if let Some(rest) = left_over(&page, &words) {
            let mut missed = tesseract.words(&rest, dpi, thresholding, Search::Sparse)?;
            missed.retain(|word| {
                word.confidence >= MIN_LEFT_OVER && word.text.contains(char::is_alphanumeric)
            });
            for word in &mut missed {
                word.line.0 += LEFT_OVER_BLOCK;
            }
            words.extend(missed);
        }
        for word in &mut words {
            let bbox = &mut word.bbox;
            *bbox = Bbox {
                l: bbox.l / times,
                t: bbox.t / times,
                r: bbox.r / times,
                b: bbox.b / times,
            };
        }
        self.words = words;
        Ok(())
    }

    /// Recognises again with another way of telling print from paper, and keeps what is surer.
    fn look_again(&mut self, tesseract: Tesseract<'_>) -> Result<(), Unreadable> {
        let known = std::mem::take(&mut self.words);
        let before = mean(&known);
        self.recognise(tesseract, Thresholding::Local)?;
        if self.confidence() > before {
            self.steps.push("local threshold".to_owned());
        } else {
            self.words = known;
        }
        Ok(())
    }

    fn confidence(&self) -> f32 {
        mean(&self.words)
    }

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

/// How sure words are in the mean, by their length; 0 of none.
fn mean(words: &[Recognised]) -> f32 {
    let length = |word: &Recognised| word.text.chars().count() as f32;
    let letters: f32 = words.iter().map(length).sum();
    let sum: f32 = words
        .iter()
        .map(|word| word.confidence * length(word))
        .sum();
    if letters > 0.0 { sum / letters } else { 0.0 }
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

/// The letters on a page that no word was read from, alone on white, if there are some: parts of tables and ends of lines are
/// passed over at times.
fn left_over(page: &Gray, words: &[Recognised]) -> Option<Gray> {
    let height = median(words.iter().map(|word| word.bbox.height()));
    let boxes: Vec<Bbox> = words
        .iter()
        .map(|word| word.bbox.grown(0.15 * height))
        .collect();
    let rest = cleanup::erased(page, &boxes);
    // A word is as high as its ascenders; most letters have none.
    let letters = cleanup::letters_of(&rest, 0.7 * height, MAX_LEFT_OVER)?;
    if letters.len() < LEFT_OVER {
        return None;
    }
    let mut alone = Gray::new(page.width, page.height, vec![255; page.data.len()]);
    for letter in letters {
        // With the dots and commas beside it.
        let around = letter.grown(0.5 * height);
        let (left, right) = (
            around.l.max(0.0) as usize,
            (around.r as usize).min(page.width),
        );
        let (top, bottom) = (
            around.t.max(0.0) as usize,
            (around.b as usize).min(page.height),
        );
        for y in top..bottom {
            let row = y * page.width;
            alone.data[row + left..row + right]
                .copy_from_slice(&rest.data[row + left..row + right]);
        }
    }
    Some(alone)
}

/// How many times a page has to be enlarged for its letters to be read well.
fn enlargement(page: &Gray) -> f32 {
    let Some(height) = cleanup::letter_height(page) else {
        return 1.0;
    };
    if height >= SMALL_HEIGHT {
        return 1.0;
    }
    let wanted = (GOOD_HEIGHT / height).ceil().min(MAX_TIMES);
    let most = (MAX_PIXELS / page.data.len() as f32)
        .sqrt()
        .floor()
        .max(1.0);
    wanted.min(most)
}
