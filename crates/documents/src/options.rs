//! The configuration keys of `[ocr]`.

use std::{num::NonZeroUsize, path::PathBuf, thread};

use serde::{Deserialize, Serialize};

/// How documents are read on this machine.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OcrOptions {
    /// How many pages are read at once; as many as there are cores, if nothing is said.
    pub workers: Option<usize>,
    /// How many documents may be read or wait.
    pub queue: usize,
    /// Bytes of a document.
    pub max_document_bytes: usize,
    /// Pages of a document.
    pub max_pages: u32,
    /// For one page.
    pub page_timeout_seconds: f64,
    /// For a document as a whole, whoever reads it.
    pub timeout_seconds: f64,
    /// Address space of one process that reads, in MiB.
    pub worker_memory_mib: u64,
    /// What pages without a text layer are written in: `tesseract -l`.
    pub languages: String,
    /// The program that recognises them: a name that is looked for in `PATH`, or a path.
    pub tesseract: PathBuf,
}

impl OcrOptions {
    pub(crate) fn workers(&self) -> usize {
        let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.workers.unwrap_or_else(cores)
    }
}
