//! Datasets: the examples that belong to a function.

use crate::{DatasetId, EntryId, FunctionId, Json, Timestamp};

/// A function's dataset, made with it. It outlives its function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dataset {
    /// Its id.
    pub id: DatasetId,
    /// The function that it was made with.
    pub function_id: FunctionId,
}

/// One example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: EntryId,
    /// The dataset that holds it.
    pub dataset_id: DatasetId,
    /// An input.
    pub input: Json,
    /// What it led to.
    pub output: Json,
    /// What it should have led to, where that is something else.
    pub expected: Option<Json>,
    /// What to note about it.
    pub comment: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What a client changes in an entry: absent members stay as they are, `Some(None)` clears.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryChange {
    /// Another input.
    pub input: Option<Json>,
    /// Another output.
    pub output: Option<Json>,
    /// Another expected output.
    pub expected: Option<Option<Json>>,
    /// Another comment.
    pub comment: Option<Option<String>>,
}

/// What changed in a dataset after one of its versions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EntryChanges {
    /// The dataset's version now; every change of an entry raises it.
    pub version: i64,
    /// New and changed entries, oldest first, each with the vector of its input, where one of the asked model is kept.
    pub entries: Vec<(Entry, Option<Vec<f32>>)>,
    /// The entries that were deleted, oldest deletion first. What has such an id and is among `entries` came after it.
    pub deleted: Vec<EntryId>,
    /// Whether `entries` are all that a copy may keep, so that it is to be made anew: more was deleted or changed than
    /// can be told. Nothing is in `deleted` then.
    pub are_all: bool,
}
