//! How a page is read: PDF and pictures in; words, structure and pictures out (`ocr.md` 2).
//!
//! Documents come from strangers. The server parses none of them: each is handed to a process of its own, this program once
//! more with [`work`] as its whole business, which may take so much memory and time and can reach neither the network nor
//! what lies on the disk.

mod local;
mod options;
mod process;
mod protocol;
mod reader;
mod sandbox;
mod settings;
mod whole;
mod worker;

pub use local::{Examined, LocalDocuments};
pub use options::OcrOptions;
pub use protocol::Walls;
pub use worker::work;
