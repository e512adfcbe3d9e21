//! A PDF opened: its pages, their sizes, and a thread that keeps what was learnt of its fonts.
//!
//! What the parser caches borrows from the document; both live on the stack of one thread, and questions are sent to it.
//! A page that makes the parser panic costs that thread; the next question starts another one.

use std::{
    collections::HashMap,
    sync::mpsc::{self, Receiver, SyncSender},
    thread,
};

use domain::DocumentFault;
use hayro::hayro_interpret::{InterpreterCache, InterpreterSettings};
use hayro_syntax::{
    DecryptionError, Filter, LoadPdfError, Pdf, PdfData,
    content::UntypedIter,
    object::{Array, Dict, MaybeRef, Number, Object, Stream},
    page::Page,
};

use super::{Limits, MAX_COUNTED, Unreadable, glyphs::Strokes};

/// Forms may be nested as deep as the parser allows, each level some kilobytes of stack.
const STACK_BYTES: usize = 32 << 20;

/// How many pages a thread reads before it forgets its fonts and images: memory must not grow with the document.
const PAGES_PER_CACHE: u32 = 64;

/// The largest unit that a page may ask for (`UserUnit`); PDF 1.7 names no limit, viewers do.
const MAX_USER_UNIT: f32 = 1000.0;

/// A PDF.
pub(super) struct PdfFile {
    data: PdfData,
    page_count: u32,
    desk: Option<Desk>,
}

/// The thread that holds the document.
struct Desk {
    jobs: SyncSender<Job>,
}

type Job = Box<dyn for<'a> FnOnce(&mut Opened<'a>) + Send>;

/// The document as its thread sees it.
pub(super) struct Opened<'a> {
    pdf: &'a Pdf,
    /// Fonts and colour spaces met so far.
    pub cache: InterpreterCache<'a>,
    /// How bold the glyphs met so far are.
    pub strokes: Strokes,
    /// How annotations and fonts are treated.
    pub settings: InterpreterSettings,
    pages_read: u32,
}

impl<'a> Opened<'a> {
    fn new(pdf: &'a Pdf) -> Self {
        Self {
            pdf,
            cache: InterpreterCache::new(),
            strokes: HashMap::new(),
            settings: InterpreterSettings::default(),
            pages_read: 0,
        }
    }

    /// A page by its place.
    pub(super) fn page(&mut self, index: u32) -> Option<&'a Page<'a>> {
        self.pages_read += 1;
        if self.pages_read.is_multiple_of(PAGES_PER_CACHE) {
            self.cache = InterpreterCache::new();
            self.strokes.clear();
        }
        self.pdf.pages().get(usize::try_from(index).ok()?)
    }
}

impl PdfFile {
    /// Opens a document and counts its pages.
    pub(super) fn open(content: Vec<u8>, limits: &Limits) -> Result<Self, Unreadable> {
        let data = PdfData::from(content);
        let (desk, page_count) = Desk::open(&data, limits.pages as usize)?;
        if page_count == 0 {
            let words = "the document has no page".to_owned();
            return Err(Unreadable::Document(DocumentFault::Invalid, words));
        }
        Ok(Self {
            data,
            page_count,
            desk: Some(desk),
        })
    }

    /// How many pages it has.
    pub(super) const fn page_count(&self) -> u32 {
        self.page_count
    }

    /// Asks the document something.
    pub(super) fn ask<T: Send + 'static>(
        &mut self,
        question: impl for<'a> FnOnce(&mut Opened<'a>) -> T + Send + 'static,
    ) -> Result<T, Unreadable> {
        let desk = match self.desk.take() {
            Some(desk) => desk,
            None => Desk::open(&self.data, 0)?.0,
        };
        let (answer, answered) = mpsc::sync_channel(1);
        let job: Job = Box::new(move |opened| {
            // The asker waits for it; if he has gone, so has the document.
            let _ = answer.send(question(opened));
        });
        if desk.jobs.send(job).is_ok()
            && let Ok(value) = answered.recv()
        {
            self.desk = Some(desk);
            return Ok(value);
        }
        Err(Unreadable::broken())
    }
}

impl Desk {
    /// Opens a document; beyond `most` pages, those that the parser does not tell apart are counted as well.
    fn open(data: &PdfData, most: usize) -> Result<(Self, u32), Unreadable> {
        let (jobs, inbox) = mpsc::sync_channel::<Job>(1);
        let (opened, opening) = mpsc::sync_channel(1);
        let data = data.clone();
        let thread = thread::Builder::new()
            .name("pdf".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || serve(data, most, &opened, &inbox));
        if let Err(error) = thread {
            let words = format!("no thread could be started: {error}");
            return Err(Unreadable::Document(DocumentFault::Rejected, words));
        }
        match opening.recv() {
            Ok(Ok(page_count)) => Ok((Self { jobs }, page_count)),
            Ok(Err(error)) => Err(refused(error)),
            // It panicked over these bytes.
            Err(_) => Err(refused(LoadPdfError::Invalid)),
        }
    }
}

/// How many pages a document names. The parser counts a page once that is named again and again, a reader sees each.
fn named_pages(pdf: &Pdf) -> usize {
    let root = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id());
    let Some(pages) = root.and_then(|root| root.get::<Dict<'_>>(b"Pages".as_slice())) else {
        return 0;
    };
    let (mut count, mut nodes) = (0, 0);
    let mut open = vec![pages];
    while let Some(node) = open.pop() {
        nodes += 1;
        let Some(kids) = node.get::<Array<'_>>(b"Kids".as_slice()) else {
            continue;
        };
        let mut last = None;
        for kid in kids.raw_iter() {
            // What was named just before need not be looked up again.
            if let MaybeRef::Ref(id) = kid
                && last == Some(id)
            {
                count += 1;
            } else {
                last = match kid {
                    MaybeRef::Ref(id) => Some(id),
                    MaybeRef::NotRef(_) => None,
                };
                let kid = match kid {
                    MaybeRef::Ref(id) => pdf.xref().get::<Dict<'_>>(id.into()),
                    MaybeRef::NotRef(Object::Dict(kid)) => Some(kid),
                    MaybeRef::NotRef(_) => None,
                };
                match kid {
                    Some(kid) if kid.contains_key(b"Kids".as_slice()) => {
                        last = None;
                        open.push(kid);
                    }
                    Some(_) => count += 1,
                    None => {}
                }
            }
            // A tree that leads back into itself ends with the one or the other.
            if count >= MAX_COUNTED || nodes + open.len() > MAX_COUNTED {
                return count;
            }
        }
    }
    count
}

/// Whether what draws a page breaks off: the parser stops at what it cannot make sense of, and says nothing of the rest.
pub(super) fn is_cut_short(page: &Page<'_>) -> bool {
    const LAST: &[u8] = b"EndOfPage";
    let Some(content) = page.page_stream() else {
        return false;
    };
    let content = [content, b"\n", LAST].concat();
    let mut instructions = UntypedIter::new(&content);
    let mut is_last = false;
    while let Some(instruction) = instructions.next() {
        is_last = &**instruction.operator == LAST;
    }
    !is_last
}

/// Whether the content of a page is packed into something that only an attack is packed into: deflated twice, a few kilobytes
/// become gigabytes, and nothing stops the parser from unpacking them.
pub(super) fn is_bomb(page: &Page<'_>) -> bool {
    const CONTENTS: &[u8] = b"Contents";
    const RATIO: usize = 1032;
    let is_bomb = |stream: &Stream<'_>| {
        let filters = stream.filters();
        let packed = filters.iter().filter(|filter| {
            matches!(
                filter,
                Filter::FlateDecode | Filter::LzwDecode | Filter::RunLengthDecode
            )
        });
        let length = stream
            .dict()
            .get::<usize>(b"Length".as_slice())
            .unwrap_or(0);
        let most = (0..packed.count()).fold(length, |length, _| length.saturating_mul(RATIO));
        filters.len() > 1 && most > MAX_UNPACKED && most / RATIO > length
    };
    if let Some(stream) = page.raw().get::<Stream<'_>>(CONTENTS) {
        return is_bomb(&stream);
    }
    let parts = page.raw().get::<Array<'_>>(CONTENTS);
    parts.is_some_and(|parts| {
        parts
            .iter::<Stream<'_>>()
            .take(1000)
            .any(|part| is_bomb(&part))
    })
}

/// What no page's content unpacks to.
const MAX_UNPACKED: usize = 1 << 30;

fn serve(
    data: PdfData,
    most: usize,
    opened: &SyncSender<Result<u32, LoadPdfError>>,
    inbox: &Receiver<Job>,
) {
    let pdf = match Pdf::new(data) {
        Ok(pdf) => pdf,
        Err(error) => {
            let _ = opened.send(Err(error));
            return;
        }
    };
    let mut count = pdf.pages().len();
    let named = named_pages(&pdf);
    if named > most {
        count = count.max(named);
    }
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    if opened.send(Ok(count)).is_err() {
        return;
    }
    let mut desk = Opened::new(&pdf);
    for job in inbox {
        job(&mut desk);
    }
}

fn refused(error: LoadPdfError) -> Unreadable {
    let (fault, words) = match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => (
            DocumentFault::Encrypted,
            "the document can be read with its password only",
        ),
        LoadPdfError::Decryption(_) => (
            DocumentFault::Encrypted,
            "the document is encrypted in a way that is not known",
        ),
        LoadPdfError::Invalid => (DocumentFault::Invalid, "the PDF is broken"),
    };
    Unreadable::Document(fault, words.to_owned())
}

/// How large a page is, as a reader sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PageSize {
    /// In points.
    pub width: f32,
    /// In points.
    pub height: f32,
    /// Points per unit of the page.
    pub unit: f32,
}

impl PageSize {
    /// Of a page: its crop box, turned by `/Rotate`, in `UserUnit`s.
    pub(super) fn of(page: &Page<'_>) -> Self {
        let unit = page
            .raw()
            .get::<Number>(b"UserUnit".as_slice())
            .map_or(1.0, |unit| unit.as_f32());
        let unit = if unit.is_finite() && unit > 0.0 {
            unit.clamp(1.0 / MAX_USER_UNIT, MAX_USER_UNIT)
        } else {
            1.0
        };
        let (width, height) = page.render_dimensions();
        Self {
            width: width * unit,
            height: height * unit,
            unit,
        }
    }

    /// Width and height in pixels, with the dots per inch: those that are wanted, or as many fewer as the limits demand.
    pub(super) fn raster(&self, wanted: u32, limits: &Limits) -> Result<Raster, Unreadable> {
        let inches = (self.width / 72.0, self.height / 72.0);
        let by_side = limits.side as f32 / inches.0.max(inches.1);
        let by_area = (limits.megapixels as f32 * 1e6 / (inches.0 * inches.1)).sqrt();
        let dpi = (wanted as f32).min(by_side).min(by_area).floor();
        if dpi.is_nan() || dpi < MIN_DPI {
            let words = format!(
                "a page measures {:.0} x {:.0} points, which is more than can be read",
                self.width, self.height
            );
            return Err(Unreadable::Document(DocumentFault::TooLarge, words));
        }
        Ok(Raster {
            dpi: dpi as u32,
            width: (inches.0 * dpi).round().max(1.0) as u32,
            height: (inches.1 * dpi).round().max(1.0) as u32,
            scale: self.unit * dpi / 72.0,
        })
    }
}

/// Letters of ten points are five pixels high at this: less cannot be read by anybody.
const MIN_DPI: f32 = 36.0;

/// A page in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Raster {
    /// Pixels per inch.
    pub dpi: u32,
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// Pixels per unit of the page.
    pub scale: f32,
}
