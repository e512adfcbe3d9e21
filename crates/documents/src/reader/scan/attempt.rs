//! A page cleaned and recognised, turned in one way.

use domain::Bbox;

use super::{
    Picture, left_over,
    size::{enlargement, reduction},
    unfolded::Column,
};
use crate::reader::{
    Unreadable,
    cleanup::{self, Gray},
    layout,
    tesseract::{Recognised, Search, Tesseract, Thresholding},
};

/// Straightening costs sharpness: pages that are askew by less are left (`ocr.md` 2).
pub(super) const MIN_SKEW: f32 = 0.3;

/// What is less wide or high has no neighbourhoods to tell print from paper in.
const MIN_SIDE: usize = 16;

/// Pages of fewer dots per inch lose their letters with their grain.
const MIN_SMOOTH_DPI: u32 = 120;

/// A page whose words are surer than this in the mean is read well (`ocr.md` 2).
pub(super) const SURE: f32 = 60.0;

/// Words that are less sure than this are specks and edges of pictures (`ocr.md` 2).
const MIN_CONFIDENCE: f32 = 20.0;

/// Rules that come as near as so many inches meet, a quarter of a line's height.
const MEET: f32 = 0.035;

/// What is higher than so many inches is no cell but a frame.
const TALLEST_CELL: f32 = 1.5;

/// A page as it was cleaned and recognised.
pub(super) struct Attempt {
    pub(super) quarters: usize,
    /// The page upright, as it was seen.
    pub(super) seen: Gray,
    /// The page upright, clean and straight: all places are in its pixels.
    pub(super) clean: Gray,
    /// By how many degrees clockwise it was straightened.
    pub(super) deskew: f32,
    /// How many times larger than `clean` what was recognised is; below 1 it is smaller.
    pub(super) times: f32,
    pub(super) dpi: u32,
    pub(super) rules: Vec<Bbox>,
    pub(super) pictures: Vec<Bbox>,
    pub(super) words: Vec<Recognised>,
    pub(super) steps: Vec<String>,
}

impl Attempt {
    /// Cleans a page that is turned by so many quarters, and recognises it.
    pub(super) fn of(
        picture: &Picture,
        quarters: usize,
        tesseract: Tesseract<'_>,
    ) -> Result<Self, Unreadable> {
        let mut attempt = Self::clean(picture, quarters);
        attempt.recognise(tesseract, Thresholding::Whole)?;
        Ok(attempt)
    }

    /// Cleans a page that is turned by so many quarters.
    pub(super) fn clean(picture: &Picture, quarters: usize) -> Self {
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
        Self {
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
        }
    }

    /// How many pixels the program that recognised it was given.
    pub(super) fn recognised_pixels(&self) -> usize {
        (self.clean.data.len() as f32 * self.times * self.times) as usize
    }

    fn recognise(
        &mut self,
        tesseract: Tesseract<'_>,
        thresholding: Thresholding,
    ) -> Result<(), Unreadable> {
        let boxes = [self.rules.as_slice(), &self.pictures].concat();
        let mut page = cleanup::erased(&self.clean, &boxes);
        self.times = enlargement(&page);
        let smaller = if self.times > 1.0 {
            1
        } else {
            reduction(&page)
        };
        let step = if self.times > 1.0 {
            page = page.enlarged(self.times);
            format!("enlarged x{}", self.times)
        } else if smaller > 1 {
            page = page.shrunk(smaller);
            self.times = 1.0 / smaller as f32;
            format!("reduced x{smaller}")
        } else {
            String::new()
        };
        if !step.is_empty() && !self.steps.contains(&step) {
            self.steps.push(step);
        }
        let dpi = (self.dpi as f32 * self.times).round() as u32;
        let times = self.times;
        let mut words = match Column::of(&page, &self.cells()) {
            Some((column, rest)) => {
                let read = tesseract.words(&column.picture, dpi, thresholding, Search::Lines)?;
                let mut words: Vec<Recognised> = read
                    .into_iter()
                    .filter_map(|word| column.back(word))
                    .collect();
                words.extend(tesseract.words(&rest, dpi, thresholding, Search::Blocks)?);
                words
            }
            None => tesseract.words(&page, dpi, thresholding, Search::Blocks)?,
        };
        words.retain(|word| word.confidence >= MIN_CONFIDENCE);
        if let Some(rest) = left_over::of(&page, &words) {
            let mut missed = tesseract.words(&rest, dpi, thresholding, Search::Sparse)?;
            missed.retain(|word| {
                word.confidence >= left_over::SURE && word.text.contains(char::is_alphanumeric)
            });
            for word in &mut missed {
                word.line.0 += left_over::BLOCK;
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

    /// The cells of drawn tables, in the pixels of what is recognised.
    fn cells(&self) -> Vec<Bbox> {
        let dpi = self.dpi as f32;
        let cells = layout::drawn_cells(&self.rules, MEET * dpi, TALLEST_CELL * dpi);
        let larger = |cell: Bbox| Bbox {
            l: cell.l * self.times,
            t: cell.t * self.times,
            r: cell.r * self.times,
            b: cell.b * self.times,
        };
        cells.into_iter().map(larger).collect()
    }

    /// Recognises again with another way of telling print from paper, and keeps what is surer.
    pub(super) fn look_again(&mut self, tesseract: Tesseract<'_>) -> Result<(), Unreadable> {
        let side = self.clean.width.min(self.clean.height);
        if (side as f32 * self.times) < MIN_SIDE as f32 {
            return Ok(());
        }
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

    /// How sure its words are in the mean, from 0 to 100.
    pub(super) fn confidence(&self) -> f32 {
        mean(&self.words)
    }
}

/// How many letters a word has.
pub(super) fn letters(word: &Recognised) -> usize {
    word.text.chars().count()
}

/// How sure words are in the mean, by their length; 0 of none.
fn mean(words: &[Recognised]) -> f32 {
    let length = |word: &Recognised| letters(word) as f32;
    let letters: f32 = words.iter().map(length).sum();
    let sum: f32 = words
        .iter()
        .map(|word| word.confidence * length(word))
        .sum();
    if letters > 0.0 { sum / letters } else { 0.0 }
}
