//! OCR: what stands on a document's pages, and where.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{Json, JsonObject, UsageReport};

/// Where a document is to be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentSource {
    /// At an `http(s):` or `data:` address.
    Url(String),
    /// In the request itself.
    Bytes {
        /// The document.
        content: Bytes,
        /// What its owner calls it.
        name: Option<String>,
    },
}

/// A document in hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// What it is, by its bytes.
    pub kind: DocumentKind,
    /// All of it.
    pub content: Bytes,
    /// What its owner calls it, if that is known.
    pub name: Option<String>,
    /// The address that it came from, unless it came in the request itself.
    pub url: Option<String>,
}

/// What a document can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentKind {
    /// Pages of any make.
    Pdf,
    /// One picture.
    Png,
    /// One picture.
    Jpeg,
    /// One or several pictures.
    Tiff,
    /// One picture.
    Webp,
    /// One or several pictures, of which the first counts.
    Gif,
    /// One picture.
    Bmp,
}

/// How far into a file the mark of a PDF may stand (PDF 1.7, implementation note 13).
const PDF_MARK_WITHIN: usize = 1024;

/// What stands behind the colon of a `data:` URL, if it is one; a scheme has no case (RFC 3986, 3.1).
pub fn data_of(url: &str) -> Option<&str> {
    let (scheme, data) = url.split_once(':')?;
    scheme.eq_ignore_ascii_case("data").then_some(data)
}

impl DocumentKind {
    /// What these bytes are, whatever they are called; `None` for anything that is not read here.
    pub fn of(content: &[u8]) -> Option<Self> {
        let riff =
            |content: &[u8]| content.starts_with(b"RIFF") && content.get(8..12) == Some(b"WEBP");
        Some(match content {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Self::Png,
            [0xff, 0xd8, 0xff, ..] => Self::Jpeg,
            // In both byte orders, with addresses of 32 and of 64 bits.
            [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => Self::Tiff,
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Self::Gif,
            // Four bytes of size, four that are zero, and where the pixels begin.
            [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => Self::Bmp,
            content if riff(content) => Self::Webp,
            content => {
                let head = &content[..content.len().min(PDF_MARK_WITHIN)];
                head.windows(5).position(|mark| mark == b"%PDF-")?;
                Self::Pdf
            }
        })
    }

    /// Its media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Pdf => "application/pdf",
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Tiff => "image/tiff",
            Self::Webp => "image/webp",
            Self::Gif => "image/gif",
            Self::Bmp => "image/bmp",
        }
    }

    /// How the names of such files end, without a dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Tiff => "tiff",
            Self::Webp => "webp",
            Self::Gif => "gif",
            Self::Bmp => "bmp",
        }
    }
}

/// Why a document cannot be read: its owner's affair, whoever was to read it (`ocr.md` 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentFault {
    /// Neither a PDF nor a picture that is read here.
    Unsupported,
    /// A password is needed to read it.
    Encrypted,
    /// Empty, without a page, or broken.
    Invalid,
    /// A page was asked for that it does not have.
    Pages,
    /// It has more bytes than are taken.
    TooManyBytes,
    /// Its pages or pictures have more pixels than are taken.
    TooLarge,
    /// Reading it took more memory than it may, or broke the reader.
    Rejected,
    /// Reading it took longer than it may.
    TimedOut,
    /// What its address led to was no document.
    FetchFailed,
    /// Its address may not be dialled.
    NotAllowed,
}

impl DocumentFault {
    /// The slug of the fault.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Unsupported => "unsupported_document",
            Self::Encrypted => "document_encrypted",
            Self::Invalid => "invalid_document",
            Self::Pages => "invalid_pages",
            Self::TooManyBytes | Self::TooLarge => "document_too_large",
            Self::Rejected => "document_rejected",
            Self::TimedOut => "ocr_timeout",
            Self::FetchFailed => "document_fetch_failed",
            Self::NotAllowed => "url_not_allowed",
        }
    }
}

/// A document to read.
#[derive(Debug, Clone)]
pub struct OcrRequest {
    /// The document.
    pub document: Document,
    /// Which of its pages, from 0, ascending, none twice; all, if nothing is said.
    pub pages: Option<Vec<u32>>,
    /// Whether the pictures on its pages are wanted, and not only their places.
    pub with_images: bool,
    /// How many pictures of a page are wanted: the first ones in reading order.
    pub image_limit: Option<u32>,
    /// How wide and high a picture must be in its own pixels.
    pub image_min_size: Option<u32>,
    /// Settings in the providers' own words.
    pub extras: OcrExtras,
    /// How far it is.
    pub progress: Arc<Progress>,
}

/// Settings in the words of the providers that have them; each reads its own, and the engine of this machine both.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OcrExtras {
    /// In Mistral's words.
    pub mistral: JsonObject,
    /// In Docling's words.
    pub docling: JsonObject,
}

/// How many pages of a document have been read; whoever reads says so, anybody may look.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU32,
    total: AtomicU32,
}

impl Progress {
    /// Says how many pages will be read.
    pub fn expect(&self, total: u32) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// Says how many pages have been read.
    pub fn reach(&self, done: u32) {
        self.done.fetch_max(done, Ordering::Relaxed);
    }

    /// Says that one more page has been read.
    pub fn advance(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// How many pages have been read.
    pub fn done(&self) -> u32 {
        self.done.load(Ordering::Relaxed)
    }

    /// How many pages will be read, once that is known.
    pub fn total(&self) -> Option<u32> {
        Some(self.total.load(Ordering::Relaxed)).filter(|&total| total > 0)
    }
}

/// A document that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct OcrPages {
    /// Its pages, ascending.
    pub pages: Vec<OcrPage>,
    /// What was used of the settings, and what was chosen where nothing was said.
    pub applied_settings: JsonObject,
    /// The provider's own count, where it gave one.
    pub usage: Option<UsageReport>,
}

/// A page that was read. All places on it are in the pixels of `dimensions`, from its upper left corner as a reader sees it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OcrPage {
    /// Its place in the document, from 0.
    pub index: u32,
    /// What stands on it.
    pub markdown: String,
    /// Its size.
    pub dimensions: Option<Dimensions>,
    /// The pictures on it, in reading order.
    pub images: Vec<OcrImage>,
    /// What stands on it piece by piece, in reading order.
    pub elements: Vec<Element>,
}

/// A page's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dimensions {
    /// Pixels per inch.
    pub dpi: u32,
    /// In pixels.
    pub height: u32,
    /// In pixels.
    pub width: u32,
}

/// A picture on a page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OcrImage {
    /// What the page's markdown calls it: `img-0.jpeg`, counted over the document.
    pub id: String,
    /// Where it is.
    pub bbox: Bbox,
    /// Its own width and height in pixels, where that is known.
    pub size: Option<(u32, u32)>,
    /// The picture itself as a `data:` URL, where it was wanted.
    pub data_url: Option<String>,
}

impl OcrImage {
    /// How a page's Markdown shows the picture of this name.
    pub fn mark(id: &str) -> String {
        format!("![{id}]({id})")
    }

    /// How a page shows it that is told as HTML.
    pub fn html_mark(id: &str) -> String {
        format!("<figure><img src=\"{id}\" alt=\"\"></figure>")
    }
}

/// A piece of a page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Element {
    /// What it is, coarsely.
    pub kind: ElementKind,
    /// What it is, finely.
    pub label: Label,
    /// What it says.
    pub text: String,
    /// Where it is.
    pub bbox: Bbox,
    /// What is known beside: the members of `ocr.md` 1.
    pub data: JsonObject,
}

/// A cell of a table, as its element's `data` tells it. The spans are at least 1.
#[derive(Debug, Clone, Copy)]
pub struct TableCell<'a> {
    /// What it says.
    pub text: &'a str,
    /// Its first row.
    pub row: usize,
    /// Its first column.
    pub column: usize,
    /// How many rows it takes.
    pub row_span: usize,
    /// How many columns it takes.
    pub column_span: usize,
    /// Whether it tells what stands below it.
    pub is_column_header: bool,
    /// Whether it tells what stands beside it.
    pub is_row_header: bool,
}

/// The `data` of a table's element (`ocr.md` 1).
pub fn table_data<'a>(
    rows: usize,
    columns: usize,
    cells: impl Iterator<Item = TableCell<'a>>,
) -> JsonObject {
    let cells = cells.map(|cell| {
        json!({
            "text": cell.text,
            "row_span": cell.row_span,
            "col_span": cell.column_span,
            "start_row_offset_idx": cell.row,
            "end_row_offset_idx": cell.row + cell.row_span,
            "start_col_offset_idx": cell.column,
            "end_col_offset_idx": cell.column + cell.column_span,
            "column_header": cell.is_column_header,
            "row_header": cell.is_row_header,
        })
    });
    JsonObject::from_iter([
        ("num_rows".to_owned(), Json::of(&rows)),
        ("num_cols".to_owned(), Json::of(&columns)),
        (
            "table_cells".to_owned(),
            Json::of(&cells.collect::<Vec<_>>()),
        ),
    ])
}

/// A rectangle on a page: left, top, right and bottom in the page's pixels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Bbox {
    /// The left edge.
    pub l: f32,
    /// The upper edge.
    pub t: f32,
    /// The right edge.
    pub r: f32,
    /// The lower edge.
    pub b: f32,
}

impl Bbox {
    /// The smallest rectangle around both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self {
            l: self.l.min(other.l),
            t: self.t.min(other.t),
            r: self.r.max(other.r),
            b: self.b.max(other.b),
        }
    }

    /// Its width.
    pub const fn width(self) -> f32 {
        self.r - self.l
    }

    /// Its height.
    pub const fn height(self) -> f32 {
        self.b - self.t
    }
}

/// What a piece of a page is, coarsely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElementKind {
    /// Words.
    Text,
    /// Cells.
    Table,
    /// No words.
    Picture,
    /// Mathematics.
    Formula,
    /// A program's text.
    Code,
}

/// What a piece of a page is: the labels of document toolkits, Docling's among them
/// (<https://docling-project.github.io/docling/reference/docling_document/>).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words are the field's own")]
pub enum Label {
    Title,
    SectionHeader,
    Text,
    ListItem,
    Table,
    Picture,
    Caption,
    Formula,
    Code,
    Footnote,
    PageHeader,
    PageFooter,
    Reference,
    Form,
    KeyValueRegion,
    HandwrittenText,
    CheckboxSelected,
    CheckboxUnselected,
}

impl Label {
    /// What it is coarsely.
    pub const fn kind(self) -> ElementKind {
        match self {
            Self::Table => ElementKind::Table,
            Self::Picture => ElementKind::Picture,
            Self::Formula => ElementKind::Formula,
            Self::Code => ElementKind::Code,
            _ => ElementKind::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_what_its_bytes_are() {
        let known: [(&[u8], DocumentKind); 8] = [
            (b"%PDF-1.7\n", DocumentKind::Pdf),
            (b"\r\n\r\n%PDF-1.4", DocumentKind::Pdf),
            (b"\x89PNG\r\n\x1a\n....", DocumentKind::Png),
            (b"\xff\xd8\xff\xe0", DocumentKind::Jpeg),
            (b"II*\0....", DocumentKind::Tiff),
            (b"RIFF\0\0\0\0WEBPVP8 ", DocumentKind::Webp),
            (b"GIF89a", DocumentKind::Gif),
            (b"BM\x10\0\0\0\0\0\0\0\x36", DocumentKind::Bmp),
        ];
        for (content, kind) in known {
            assert_eq!(DocumentKind::of(content), Some(kind), "{kind:?}");
        }
        let far = [vec![b' '; 2000], b"%PDF-1.7".to_vec()].concat();
        for content in [b"<html>".as_slice(), b"", b"RIFF\0\0\0\0WAVE", b"BMW", &far] {
            assert_eq!(DocumentKind::of(content), None);
        }
    }
}
