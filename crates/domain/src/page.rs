//! Slices of lists.

/// Which part of a list is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// How many items to pass over.
    pub offset: u32,
    /// How many items to give at most.
    pub limit: u32,
}

/// A part of a list, and how long the whole of it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paged<T> {
    /// The items of the asked page.
    pub items: Vec<T>,
    /// How many items match in all.
    pub total: u64,
}

impl<T> Paged<T> {
    /// Converts every item.
    pub fn map<U>(self, convert: impl FnMut(T) -> U) -> Paged<U> {
        Paged {
            items: self.items.into_iter().map(convert).collect(),
            total: self.total,
        }
    }
}
