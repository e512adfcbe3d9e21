//! What a client's schema must hold to before it is compiled: size, references that stay inside, and a bounded cost.
//!
//! Knows the schema alone; whether it is a valid one is the compiler's to say.

use domain::Invalid;
use jsonschema::Draft;
use serde_json::Value;

use super::{
    cost,
    places::{not_taken, too_long},
    reader,
};

const MAX_DEPTH: usize = 64;

/// What a schema that was let in can cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weight {
    /// How many patterns it compiles.
    pub(super) patterns: usize,
    /// How many states these have, their repetitions written out, and how many the largest one.
    pub(super) states: u64,
    pub(super) longest_pattern: u64,
    /// How many evaluations one place of a value takes, at most.
    pub(super) evaluations: u64,
    /// How many faults one place of a value can have, at most.
    pub(super) faults: u64,
    /// Whether items are compared with each other.
    pub(super) compares_items: bool,
    /// Whether it holds alternatives, whose faults are gathered even when one is asked for.
    pub(super) has_alternatives: bool,
}

/// Checks a schema before it is compiled (`reliability.md` 6).
///
/// # Errors
/// `too_long` beyond a limit; `json_schema` for references that leave the document, change their meaning or run in a
/// circle, and for a cost without a sensible bound.
pub(super) fn audit(schema: &Value) -> Result<Weight, Invalid> {
    if depth(schema) > MAX_DEPTH {
        return Err(too_long(format!(
            "a schema nests at most {MAX_DEPTH} levels"
        )));
    }
    let draft = Draft::default().detect(schema);
    if draft == Draft::Unknown {
        return Err(not_taken(
            "unknown `$schema`; leave it out for draft 2020-12",
        ));
    }
    let places = reader::read(schema, draft)?;
    let cost = cost::of(&places)?;
    Ok(Weight {
        patterns: places.patterns,
        states: places.states,
        longest_pattern: places.longest_pattern,
        evaluations: cost.evaluations,
        faults: cost.faults,
        compares_items: places.compares_items,
        has_alternatives: places.has_alternatives,
    })
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
