//! Documents made from a seed, with the truth about each, and the judge of what was read from them.
//!
//! Everything is drawn: words, figures, fonts, pages, tables, dirt. Another seed gives other documents of the same kinds.

mod chance;
mod digital;
mod draw;
mod encode;
mod figures;
mod font;
mod hostile;
mod lock;
mod page;
mod pdf;
mod picture;
mod prose;
mod raw;
mod scan;
mod scanned;
mod sheet;
mod table;
mod tabular;
mod truth;
mod widths;
mod words;

pub mod judge;

pub use truth::{Block, Cell, Expected, PageTruth, Set, Truth};

use chance::Chance;
use pdf::Volume;

/// A document, and the truth about it.
#[derive(Debug)]
pub struct Fixture {
    /// The truth.
    pub truth: Truth,
    /// The document.
    pub bytes: Vec<u8>,
}

/// A way to make one fixture.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    /// The set that the fixture belongs to.
    pub set: Set,
    /// What it is called.
    pub name: &'static str,
    make: fn(&mut Chance) -> Made,
}

/// What makes the fixture of a name.
pub(crate) type Row = (&'static str, fn(&mut Chance) -> Made);

/// A document without its name.
pub(crate) struct Made {
    pub(crate) extension: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) page_count: u32,
    pub(crate) pages: Vec<PageTruth>,
    pub(crate) expected: Expected,
    /// The set whose bars hold, where it is not its own.
    pub(crate) judged_as: Option<Set>,
}

impl Recipe {
    /// The recipes of a set, in the order of its table.
    pub fn of(set: Set) -> Vec<Self> {
        let recipes = match set {
            Set::Digital => digital::RECIPES,
            Set::Clean => scanned::CLEAN,
            Set::Hard => scanned::HARD,
            Set::Hostile => hostile::RECIPES,
        };
        let recipes = recipes.iter();
        recipes
            .map(|&(name, make)| Self { set, name, make })
            .collect()
    }

    /// Makes the fixture that this seed gives.
    pub fn make(&self, seed: u64) -> Fixture {
        let made = (self.make)(&mut Chance::new(seed, self.name));
        Fixture {
            truth: Truth {
                name: self.name.to_owned(),
                set: self.set,
                judged_as: made.judged_as.unwrap_or(self.set),
                file: format!("{}.{}", self.name, made.extension),
                seed,
                page_count: made.page_count,
                pages: made.pages,
                expected: made.expected,
            },
            bytes: made.bytes,
        }
    }
}

impl Made {
    fn new(extension: &'static str, bytes: Vec<u8>, pages: Vec<PageTruth>) -> Self {
        Self {
            extension,
            bytes,
            page_count: u32::try_from(pages.len()).expect("a fixture has few pages"),
            pages,
            expected: Expected::Answer,
            judged_as: None,
        }
    }

    /// A volume, and the truth of all of its pages.
    fn volume(volume: &Volume) -> Self {
        let leaves = volume.leaves.iter().enumerate();
        let pages = leaves.map(|(index, leaf)| leaf.sheet.truth(index));
        Self::new("pdf", volume.to_bytes(), pages.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_name_is_given_once() {
        let recipes = Set::ALL.map(Recipe::of).concat();

        let names: BTreeSet<_> = recipes.iter().map(|recipe| recipe.name).collect();
        assert_eq!(names.len(), recipes.len());
    }

    #[test]
    fn a_seed_makes_the_same_bytes_each_time_and_another_seed_others() {
        let recipe = Recipe::of(Set::Digital)[0];

        let (one, same, other) = (recipe.make(7), recipe.make(7), recipe.make(8));
        assert_eq!((&one.bytes, &one.truth), (&same.bytes, &same.truth));
        assert_ne!(one.bytes, other.bytes);
    }
}
