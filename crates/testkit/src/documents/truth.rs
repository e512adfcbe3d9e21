//! What stands on a fixture's pages, and what answer it deserves.

use domain::{Bbox, Label};
use serde::{Deserialize, Serialize};

/// A kind of fixtures, which share a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Set {
    /// Made by a program: the text is in the file.
    Digital,
    /// Scanned as an office does it.
    Clean,
    /// Scanned badly.
    Hard,
    /// Meant to break what reads it.
    Hostile,
}

/// What is known of a fixture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// What it is called; also the file's name up to the dot.
    pub name: String,
    /// The set that it belongs to.
    pub set: Set,
    /// The set whose bars hold for it: text that is read from pixels is not judged like text that is in the file.
    pub judged_as: Set,
    /// The file's name.
    pub file: String,
    /// What it was drawn from.
    pub seed: u64,
    /// How many pages the document has.
    pub page_count: u32,
    /// What stands on the pages; of a broken document, on those that can be read for certain.
    pub pages: Vec<PageTruth>,
    /// What is to be answered.
    pub expected: Expected,
}

/// What is to be answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Expected {
    /// 200, with what the pages say.
    Answer,
    /// This status, with one of these slugs.
    Refusal {
        /// The status.
        status: u16,
        /// The slugs that describe the fault truly.
        slugs: Vec<String>,
    },
    /// Any 4xx, or 200 with what the pages say.
    Either,
}

/// What stands on a page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PageTruth {
    /// Its place in the document, from 0.
    pub index: u32,
    /// In points, as the reader sees the page.
    pub width: f32,
    /// In points, as the reader sees the page.
    pub height: f32,
    /// In reading order.
    pub blocks: Vec<Block>,
}

/// A piece of a page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// What it is.
    pub label: Label,
    /// What it says: of a list item without its marker, of a table cell after cell, of a picture nothing.
    pub text: String,
    /// Where it is, in points from the upper left as the reader sees it.
    pub bbox: Bbox,
    /// A list item's marker as it is printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
    /// A table's cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<Cell>,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Its first row, from 0.
    pub row: u32,
    /// Its first column, from 0.
    pub col: u32,
    /// How many rows it takes.
    pub row_span: u32,
    /// How many columns it takes.
    pub col_span: u32,
    /// Whether it heads a column.
    pub header: bool,
    /// What it says.
    pub text: String,
}

impl Block {
    /// A block without marker and cells.
    pub(crate) fn new(label: Label, text: impl Into<String>, bbox: Bbox) -> Self {
        Self {
            label,
            text: text.into(),
            bbox,
            marker: None,
            cells: Vec::new(),
        }
    }
}

impl Set {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Digital, Self::Clean, Self::Hard, Self::Hostile];

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Digital => "digital",
            Self::Clean => "clean",
            Self::Hard => "hard",
            Self::Hostile => "hostile",
        }
    }
}
