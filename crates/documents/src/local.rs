//! Documents, read on this machine: page by page, in turn with all others.

mod examine;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{
    Document, DocumentFault, DocumentKind, OcrPages, OcrRequest,
    seams::{Documents, PagePicture, ProviderError, ProviderErrorKind as Kind},
};
use tokio::{
    sync::{Semaphore, SemaphorePermit, oneshot},
    task::JoinSet,
};

use crate::{
    options::OcrOptions,
    process::{Failure, Process},
    protocol::Bounds,
    reader::{Limits, ReadPage, Unreadable, Wanted},
    settings, whole,
};

pub use examine::Examined;

/// Seconds of processor time that a look at a page may take, and drawing it: the densest take one.
const OWN_SECONDS: u64 = 6;
/// Seconds of processor time that a page may take beside its recognition: the largest pictures take three to be decoded, and
/// three for each of four turns that may have to be tried.
const CLEANING_SECONDS: u64 = 20;
/// What is left of a document is worth another process when it would take one alone longer than this.
const WORTH_ANOTHER: Duration = Duration::from_millis(300);
/// The long side of a page that is shown to a model: what most of them look at.
const SHOWN_PIXELS: u32 = 1600;

/// Reads documents with what this machine has.
#[derive(Clone)]
pub struct LocalDocuments(Arc<Engine>);

struct Engine {
    limits: Limits,
    bounds: Bounds,
    languages: String,
    page_timeout: Duration,
    /// How many pages are read at once. Whoever has read one waits behind the others before the next: a long document
    /// does not hold up a short one.
    pages: Semaphore,
    /// How many pages are recognised at once. That takes seconds: those who wait for it wait apart, and no page with text waits
    /// behind them.
    recognitions: Semaphore,
    lanes: usize,
    /// How many documents are read or wait.
    documents: Semaphore,
}

/// A request on its way through one or several processes.
struct Job {
    engine: Arc<Engine>,
    request: OcrRequest,
    wanted: Wanted,
    indices: Vec<u32>,
    next: AtomicUsize,
}

impl LocalDocuments {
    /// With nothing started: a process is started for each document.
    pub fn new(options: &OcrOptions) -> Self {
        let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let tesseract = installed(&options.tesseract);
        let page_timeout = seconds(options.page_timeout_seconds);
        let lanes = options.workers();
        Self(Arc::new(Engine {
            limits: Limits {
                pages: options.max_pages,
                ..Limits::default()
            },
            bounds: Bounds {
                memory: options.worker_memory_mib.saturating_mul(1024 * 1024),
                own_seconds: page_timeout.as_secs().clamp(1, OWN_SECONDS),
                cleaning_seconds: page_timeout.as_secs().clamp(1, CLEANING_SECONDS),
                page_seconds: page_timeout.as_secs().max(1),
                tesseract,
            },
            languages: options.languages.clone(),
            page_timeout,
            pages: Semaphore::new(lanes),
            recognitions: Semaphore::new(lanes),
            lanes,
            documents: Semaphore::new(options.queue.max(1)),
        }))
    }

    /// Where the program for pages without a text layer is, if it is installed.
    pub fn tesseract(&self) -> Option<&Path> {
        self.0.bounds.tesseract.as_deref()
    }
}

/// Where a program is.
fn installed(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    let folders = ["/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/bin"];
    let mut places = folders.iter().map(|folder| Path::new(folder).join(program));
    places.find(|place| place.is_file())
}

#[async_trait]
impl Documents for LocalDocuments {
    async fn pages(
        &self,
        document: &Document,
        wanted: Option<&[u32]>,
    ) -> Result<Vec<u32>, ProviderError> {
        let _admitted = self.0.admit()?;
        let _turn = self.0.turn().await;
        let process = self.0.open(document).await;
        let process = process.map_err(|failure| self.0.told(failure, None))?;
        self.0.indices(wanted, process.pages())
    }

    async fn read(&self, request: &OcrRequest) -> Result<OcrPages, ProviderError> {
        let _admitted = self.0.admit()?;
        self.0.clone().read(request.clone()).await
    }

    async fn picture(&self, document: &Document, page: u32) -> Result<PagePicture, ProviderError> {
        let engine = &self.0;
        let _admitted = engine.admit()?;
        let _turn = engine.turn().await;
        let told = |failure| engine.told(failure, Some(page));
        let mut process = engine.open(document).await.map_err(told)?;
        let shown = process.show(page, SHOWN_PIXELS, engine.page_timeout).await;
        let (png, dimensions) = shown.map_err(told)?;
        Ok(PagePicture {
            data_url: format!("data:image/png;base64,{}", STANDARD.encode(png)),
            dimensions,
        })
    }
}

impl Engine {
    /// A place among those who wait, if there is one.
    fn admit(&self) -> Result<SemaphorePermit<'_>, ProviderError> {
        let place = self.documents.try_acquire();
        place.map_err(|_| ProviderError::new(Kind::Busy, "overloaded"))
    }

    /// One's turn, after all who waited before.
    async fn turn(&self) -> SemaphorePermit<'_> {
        let turn = self.pages.acquire().await;
        turn.expect("the semaphore is never closed")
    }

    /// One's turn to have a page recognised.
    async fn recognition(&self) -> SemaphorePermit<'_> {
        let turn = self.recognitions.acquire().await;
        turn.expect("the semaphore is never closed")
    }

    async fn open(&self, document: &Document) -> Result<Process, Failure> {
        Process::open(document, &self.limits, &self.bounds).await
    }

    async fn read(self: Arc<Self>, request: OcrRequest) -> Result<OcrPages, ProviderError> {
        let turn = self.turn().await;
        let first = self.open(&request.document).await;
        let first = first.map_err(|failure| self.told(failure, None))?;
        drop(turn);
        let indices = self.indices(request.pages.as_deref(), first.pages())?;
        request
            .progress
            .expect(u32::try_from(indices.len()).unwrap_or(u32::MAX));
        let wanted = settings::wanted(&request, &self.languages, self.bounds.tesseract.clone());
        let job = Arc::new(Job {
            engine: self.clone(),
            request,
            wanted,
            indices,
            next: AtomicUsize::new(0),
        });
        let mut lanes = JoinSet::new();
        let (more, mut worth_it) = oneshot::channel();
        lanes.spawn(job.clone().lane(Some(first), Some(more)));
        let mut pages = Vec::with_capacity(job.indices.len());
        let mut is_alone = true;
        loop {
            tokio::select! {
                more = &mut worth_it, if is_alone => {
                    is_alone = false;
                    if more.is_err() {
                        // The one lane has come to the end.
                        continue;
                    }
                    for _ in 1..self.lanes.min(job.indices.len()) {
                        lanes.spawn(job.clone().lane(None, None));
                    }
                }
                lane = lanes.join_next() => match lane {
                    // The others end with the set.
                    Some(Ok(read)) => pages.extend(read?),
                    Some(Err(panicked)) => std::panic::resume_unwind(panicked.into_panic()),
                    None => break,
                },
            }
        }
        pages.sort_by_key(|page: &ReadPage| page.page.index);
        Ok(whole::of(&job.wanted, pages))
    }

    /// The pages that are wanted, all if none are named.
    fn indices(&self, wanted: Option<&[u32]>, count: u32) -> Result<Vec<u32>, ProviderError> {
        let indices = match wanted {
            Some(pages) => pages.to_vec(),
            None => (0..count).collect(),
        };
        if let Some(beyond) = indices.iter().find(|index| **index >= count) {
            return Err(of_document(DocumentFault::Pages, missing(*beyond, count)));
        }
        if indices.len() > self.limits.pages as usize {
            let words = format!(
                "the document has {count} pages; at most {} are read at once: name those that you need in `pages`",
                self.limits.pages
            );
            return Err(of_document(DocumentFault::Pages, words));
        }
        Ok(indices)
    }

    /// A failure as the caller is told it.
    fn told(&self, failure: Failure, page: Option<u32>) -> ProviderError {
        let of_page = |words: String| match page {
            Some(page) => format!("page {page}: {words}"),
            None => words,
        };
        match failure {
            Failure::Unreadable(Unreadable::Document(fault, words)) => {
                of_document(fault, of_page(words))
            }
            Failure::Broken(fault, words) => of_document(fault, of_page(words)),
            Failure::Unreadable(Unreadable::NoTesseract) => {
                let words = of_page(
                    "it has no text of its own, and reading its picture takes the program `tesseract`, which is not \
                     installed: on Debian and Ubuntu `apt-get install tesseract-ocr` brings it"
                        .to_owned(),
                );
                ProviderError::new(Kind::Misconfigured, words)
            }
            Failure::Unreadable(Unreadable::Tesseract(words)) => {
                let languages = &self.languages;
                let words = of_page(format!("`tesseract -l {languages}` failed: {words}"));
                ProviderError::new(Kind::Misconfigured, words)
            }
            Failure::Unstarted(error) => {
                tracing::error!(%error, "a process to read a document cannot be started");
                ProviderError::new(Kind::Busy, "overloaded")
            }
        }
    }
}

impl Job {
    /// Reads pages until none is left. The first lane says over `more` when there is enough left for others.
    async fn lane(
        self: Arc<Self>,
        process: Option<Process>,
        mut more: Option<oneshot::Sender<()>>,
    ) -> Result<Vec<ReadPage>, ProviderError> {
        let engine = &*self.engine;
        let mut read = Vec::new();
        let mut process = process;
        // Nobody has to look at a picture to know that it has no text.
        let is_picture = self.request.document.kind != DocumentKind::Pdf;
        loop {
            let turn = if is_picture {
                engine.recognition().await
            } else {
                engine.turn().await
            };
            let taken = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&index) = self.indices.get(taken) else {
                return Ok(read);
            };
            let told = |failure| engine.told(failure, Some(index));
            let open = match &mut process {
                Some(open) => open,
                None => process.insert(engine.open(&self.request.document).await.map_err(told)?),
            };
            let (wanted, within) = (&self.wanted, engine.page_timeout);
            let began = Instant::now();
            let seen = if is_picture {
                None
            } else {
                let seen = open.read(index, wanted, within).await;
                seen.map_err(told)?
            };
            let mut worked = began.elapsed();
            let (page, _turn) = match (seen, is_picture) {
                (Some(page), _) => (page, turn),
                (None, is_picture) => {
                    let turn = if is_picture {
                        turn
                    } else {
                        drop(turn);
                        engine.recognition().await
                    };
                    let began = Instant::now();
                    let within = within.saturating_sub(worked);
                    let page = open.recognise(index, wanted, within).await;
                    worked += began.elapsed();
                    (page.map_err(told)?, turn)
                }
            };
            read.push(page);
            self.request.progress.advance();
            let left = self.indices.len().saturating_sub(taken + 1);
            let left = u32::try_from(left).unwrap_or(u32::MAX);
            let is_worth_it = worked.saturating_mul(left) > WORTH_ANOTHER;
            if let Some(more) = more.take_if(|_| is_worth_it) {
                // With nobody to hear it, the document is done with.
                let _ = more.send(());
            }
        }
    }
}

fn missing(page: u32, count: u32) -> String {
    // A larger number than there can be was made this one.
    if page == u32::MAX {
        return format!("a page beyond all numbers was asked for; the document has {count}");
    }
    match count {
        1 => format!("page {page} was asked for; the document has one page, whose index is 0"),
        count => format!(
            "page {page} was asked for; the document has {count} pages, whose indices are 0 to {}",
            count.saturating_sub(1)
        ),
    }
}

fn of_document(fault: DocumentFault, words: impl Into<String>) -> ProviderError {
    ProviderError::new(Kind::Document(fault), words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_not_there_is_named_with_those_that_are() {
        assert_eq!(
            missing(7, 3),
            "page 7 was asked for; the document has 3 pages, whose indices are 0 to 2"
        );
        assert_eq!(
            missing(1, 1),
            "page 1 was asked for; the document has one page, whose index is 0"
        );
    }
}
