//! The places of a document at which a schema stands, and which of them lead to which.
//!
//! Only the shape: `reader` finds them, `cost` judges them.

use domain::Invalid;

/// A place's number; the root's is 0.
pub(super) type Id = usize;

/// Why checking one schema checks another against the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// `allOf`, `anyOf`, `oneOf`, `if`: asked again when the unevaluated members are sought.
    Branch,
    /// References, `then`, `else` and dependent schemas.
    Reference,
    /// `not`, which evaluates no member.
    Negation,
}

/// The schemas for the members of an object, or for the items of an array.
#[derive(Debug, Default)]
pub(super) struct Children {
    /// For one member each: its name's number, or its index.
    pub(super) exact: Vec<(usize, Id)>,
    /// Each asked for every member: patterns and `contains`.
    pub(super) each: Vec<Id>,
    /// For the members without a schema of their own.
    pub(super) rest: Option<Id>,
    /// For the members that nothing else evaluated.
    pub(super) unevaluated: Option<Id>,
}

/// What stands at one place.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// The schemas that the same value is checked against.
    pub(super) links: Vec<(Link, Id)>,
    pub(super) members: Children,
    pub(super) items: Children,
    /// The schema of `propertyNames`.
    pub(super) names: Option<Id>,
    /// How many evaluations it counts for by itself.
    pub(super) price: u64,
    /// How many faults of its own it can find in one value.
    pub(super) faults: u64,
}

/// The places of a document: all of them, reached or not.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) all: Vec<Place>,
    /// How many patterns stand in it.
    pub(super) patterns: usize,
    /// How many states all patterns have, their repetitions written out, and how many the largest one.
    pub(super) states: u64,
    pub(super) longest_pattern: u64,
    /// Whether `uniqueItems` stands anywhere.
    pub(super) compares_items: bool,
    /// Whether `anyOf` or `oneOf` stands anywhere.
    pub(super) has_alternatives: bool,
}

pub(super) fn not_taken(message: impl Into<String>) -> Invalid {
    Invalid::new("json_schema", message)
}

pub(super) fn too_long(message: impl Into<String>) -> Invalid {
    Invalid::new("too_long", message)
}
