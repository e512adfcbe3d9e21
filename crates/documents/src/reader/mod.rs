//! A document's bytes in, what stands on its pages out.
//!
//! Pure and synchronous: it reads no file and opens no connection. Its one process is `tesseract`, for pages without a text
//! layer. Documents come from strangers: every loop is bounded by [`Limits`] or a constant that says why; that a parser may
//! panic or swallow memory all the same is the worker process's affair.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "places are pixels: far below 2^24, never negative where they become an index"
)]

mod amount;
mod answer;
mod bullets;
mod cleanup;
mod doubles;
mod fonts;
mod frame;
mod geometry;
mod glyphs;
mod images;
mod ink;
mod layout;
mod markdown;
mod page;
mod pdf;
mod pictures;
mod quality;
mod raster;
mod recognised;
mod resolution;
mod scan;
mod shapes;
mod tesseract;
#[cfg(test)]
mod tests;
mod tiff;
mod turned;
mod words;

use std::path::PathBuf;

use domain::{Dimensions, DocumentFault, DocumentKind, OcrPage};
use serde::{Deserialize, Serialize};

use page::Step;
use pdf::PdfFile;
use pictures::PictureFile;

/// An opened document.
pub(crate) struct Reader {
    source: Source,
    limits: Limits,
    /// The page that was looked at and has to be recognised.
    looked: Option<(u32, page::Plan)>,
}

enum Source {
    Pdf(PdfFile),
    Pictures(PictureFile),
}

/// What is beyond this many pages is not counted: no document has more.
const MAX_COUNTED: usize = 100_000;

/// How much of a document is taken on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// How many pages are read at once.
    pub pages: u32,
    /// How many million pixels a page may be rastered to.
    pub megapixels: u32,
    /// How many pixels a rastered page may be wide or high.
    pub side: u32,
    /// How many million pixels a picture may claim to have.
    pub image_megapixels: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            pages: 1000,
            megapixels: 50,
            side: 20_000,
            image_megapixels: 100,
        }
    }
}

/// How a page is to be read.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the options of `ocr.md` 1, one by one"
)]
pub(crate) struct Wanted {
    /// From its looks, even where it has text.
    pub force_ocr: bool,
    /// How tables stand in the markdown.
    pub table_format: TableFormat,
    /// Whether running heads leave the markdown.
    pub extract_header: bool,
    /// Whether running feet leave the markdown.
    pub extract_footer: bool,
    /// Whether pictures are wanted, and not only their places.
    pub with_images: bool,
    /// How many pictures of a page are wanted: the first ones in reading order.
    pub image_limit: Option<u32>,
    /// How wide and high a picture must be in its own pixels.
    pub image_min_size: Option<u32>,
    /// What `tesseract -l` is told.
    pub languages: String,
    /// Where `tesseract` is; `None` where it is not installed.
    pub tesseract: Option<PathBuf>,
}

/// How tables stand in the markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TableFormat {
    /// With pipes.
    #[default]
    Markdown,
    /// As `<table>`, which can merge cells.
    Html,
}

/// A page that was read, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReadPage {
    /// What stands on it.
    pub page: OcrPage,
    /// How it was read.
    pub notes: PageNotes,
}

/// How a page was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PageNotes {
    /// Where its words are from.
    pub source: PageSource,
    /// Whether its content breaks off, so that there may be more on it.
    pub is_cut_short: bool,
    /// At how many dots per inch it was seen.
    pub dpi: u32,
    /// By how many degrees it was turned, clockwise.
    pub rotation: i32,
    /// By how many degrees it was straightened, clockwise.
    pub deskew: f32,
    /// What was done to it before it was recognised.
    pub preprocessing: Vec<String>,
    /// How sure the recognition is of its words, from 0 to 1.
    pub confidence: Option<f32>,
}

/// Where a page's words are from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PageSource {
    /// From the document itself.
    TextLayer,
    /// From its looks.
    Ocr,
}

/// Why a page cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Unreadable {
    /// It is the document's fault, in a sentence.
    Document(DocumentFault, String),
    /// It takes `tesseract`, which is not installed.
    NoTesseract,
    /// `tesseract` failed.
    Tesseract(String),
}

impl Unreadable {
    /// A page that the parser cannot make sense of.
    fn broken() -> Self {
        Self::Document(DocumentFault::Invalid, "the page is broken".to_owned())
    }
}

impl Reader {
    /// Opens a document: cheap; parses no more than it must.
    pub(crate) fn open(
        kind: DocumentKind,
        content: Vec<u8>,
        limits: &Limits,
    ) -> Result<Self, Unreadable> {
        let source = match kind {
            DocumentKind::Pdf => Source::Pdf(PdfFile::open(content, limits)?),
            kind => Source::Pictures(PictureFile::open(kind, content, limits)?),
        };
        Ok(Self {
            source,
            limits: limits.clone(),
            looked: None,
        })
    }

    /// How many pages it has.
    pub(crate) const fn page_count(&self) -> u32 {
        match &self.source {
            Source::Pdf(file) => file.page_count(),
            Source::Pictures(file) => file.page_count(),
        }
    }

    /// What stands on a page; `None` where it has to be recognised, which takes seconds.
    pub(crate) fn look(
        &mut self,
        index: u32,
        wanted: &Wanted,
    ) -> Result<Option<ReadPage>, Unreadable> {
        self.check(index)?;
        self.looked = None;
        let Source::Pdf(file) = &mut self.source else {
            return Ok(None);
        };
        match page::look(file, index, wanted, &self.limits)? {
            Step::Done(page) => Ok(Some(*page)),
            Step::Recognise(plan) => {
                self.looked = Some((index, plan));
                Ok(None)
            }
        }
    }

    /// What stands on a page by its looks: one that [`Self::look`] has left, or a picture.
    pub(crate) fn recognise(
        &mut self,
        index: u32,
        wanted: &Wanted,
    ) -> Result<ReadPage, Unreadable> {
        self.check(index)?;
        let plan = self.looked.take().filter(|(looked, _)| *looked == index);
        match (&mut self.source, plan) {
            (Source::Pdf(file), Some((_, plan))) => {
                page::recognise(file, index, plan, wanted, &self.limits)
            }
            (Source::Pdf(_), None) => Err(Unreadable::broken()),
            (Source::Pictures(file), _) => {
                let picture = file.page(index, wanted.with_images, &self.limits)?;
                scan::read(&picture, index, wanted)
            }
        }
    }

    /// A page as a PNG, its long side at most `long_side` pixels.
    pub(crate) fn picture(
        &mut self,
        index: u32,
        long_side: u32,
    ) -> Result<(Vec<u8>, Dimensions), Unreadable> {
        self.check(index)?;
        match &mut self.source {
            Source::Pdf(file) => raster::picture(file, index, long_side, &self.limits),
            Source::Pictures(file) => file.picture(index, long_side, &self.limits),
        }
    }

    fn check(&self, index: u32) -> Result<(), Unreadable> {
        if index < self.page_count() {
            return Ok(());
        }
        let words = format!(
            "the document has {} pages; page {index} is none of them",
            self.page_count()
        );
        Err(Unreadable::Document(DocumentFault::Pages, words))
    }
}
