//! Compiled JSON Schemas; a mismatch names its place.
//!
//! A schema comes from a client and is hostile until it was compiled here: nothing outside of the document is ever
//! fetched, patterns run in linear time, and what a check can cost is bounded by `audit` (`reliability.md` 6). How
//! long a check may take, and on which thread, is the caller's matter.

mod audit;
mod cost;
mod pattern;
mod places;
mod reader;
mod spread;
#[cfg(test)]
mod tests;
mod unique;
mod words;

use domain::{Invalid, Json};
use jsonschema::{Draft, PatternOptions, ValidationError, Validator, paths::LocationSegment};
use serde_json::Value;

use self::audit::{Weight, audit};
pub(crate) use self::words::decoded;
use crate::error::{Fault, Step};

/// The most values that a JSON text may hold to be checked against a schema at all.
pub(crate) const MAX_VALUES: usize = 1_000_000;

/// The most evaluations that one check may take: about a second.
const MAX_EVALUATIONS: u64 = 25_000_000;
/// A text this long takes about as long to look through as a small value takes to check.
const TEXT_BYTES_PER_VALUE: usize = 16;
const MAX_BYTES: usize = 256 * 1024;
const MAX_FAULTS: usize = 20;
const MAX_MESSAGE_BYTES: usize = 500;
/// How many faults may be gathered to show the first of them; each takes some hundred bytes.
const MAX_GATHERED: u64 = 100_000;
/// How often a value may be checked for the check to count as light.
const LIGHT_EVALUATIONS: u64 = 64;
/// How many steps matching patterns may take in one check, a byte of text at one state each: about two seconds.
const MAX_STEPS: u64 = 150_000_000;
/// How many it may take to count as light: about a millisecond.
const LIGHT_STEPS: u64 = 75_000;
const LIGHT_BYTES: u64 = 16 * 1024;
const MAX_PATTERN_BYTES: usize = 1024 * 1024;
/// What a compiled pattern takes together with the tables that grow while it is used, and what each of its states adds.
const BYTES_PER_PATTERN: usize = 256 * 1024;
const BYTES_PER_STATE: u64 = 256;

/// A schema, ready to check values.
#[derive(Debug)]
pub(crate) struct Schema {
    validator: Validator,
    weight: Weight,
    text_bytes: usize,
}

/// One way in which a value misses its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// Where in the value.
    pub(crate) place: Vec<Step>,
    /// What is wrong there, in at most 500 bytes; the value itself is not repeated.
    pub(crate) message: String,
}

impl Schema {
    /// Compiles a schema: draft 2020-12 unless `$schema` says otherwise.
    ///
    /// # Errors
    /// `object_type` if it is no object, `too_long` beyond a limit, `json_schema` if it is no valid schema, refers to
    /// anything that it does not hold itself, or could keep a check busy without bound.
    pub(crate) fn compile(schema: &Json) -> Result<Self, Invalid> {
        if !schema.is_object() {
            return Err(Invalid::new("object_type", "a schema is an object"));
        }
        let text_bytes = schema.text().len();
        if text_bytes > MAX_BYTES {
            return Err(Invalid::new("too_long", "a schema has at most 256 KiB"));
        }
        let mut schema = schema.to_value();
        let weight = audit(&schema)?;
        let draft = Draft::default().detect(&schema);
        forget_identity(&mut schema, draft);
        let patterns = PatternOptions::regex()
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(BYTES_PER_PATTERN);
        jsonschema::options()
            .with_draft(draft)
            .with_pattern_options(patterns)
            .should_validate_formats(false)
            .with_keyword("uniqueItems", unique::keyword)
            .build(&schema)
            .map(|validator| Self {
                validator,
                weight,
                text_bytes,
            })
            .map_err(|error| {
                let fault = cut(format!("not a valid JSON Schema: {error}"));
                Invalid::new("json_schema", fault)
            })
    }

    /// How a value misses the schema: nothing if it does not, at most 20 faults if it does.
    ///
    /// A value so large that the check could take longer than a second misses it too, without having been checked. Of
    /// one whose faults could fill the memory only the first is shown, or none but the root. Needs 2 MiB of stack.
    pub(crate) fn mismatches(&self, value: &Value) -> Vec<Mismatch> {
        let checkable = MAX_EVALUATIONS / self.weight.evaluations.max(1);
        let is_matchable = self.weight.patterns == 0 || self.steps(text_bytes(value)) <= MAX_STEPS;
        if !is_matchable || !is_within(value, checkable, TEXT_BYTES_PER_VALUE) {
            return vec![Mismatch::of_all(
                "value is too large to be checked against so complex a schema",
            )];
        }
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let affordable = MAX_GATHERED / self.weight.faults.max(1);
        if is_within(value, affordable, usize::MAX) {
            let errors = self.validator.iter_errors(value).take(MAX_FAULTS);
            return errors.map(|error| Mismatch::of(&error)).collect();
        }
        // Even a single fault would hold all those of each alternative.
        let first = (!self.weight.has_alternatives)
            .then(|| self.validator.validate(value).err())
            .flatten();
        vec![first.map_or_else(
            || Mismatch::of_all("value does not satisfy its schema, and is too large to say where"),
            |error| Mismatch::of(&error),
        )]
    }

    /// Roughly how many bytes the compiled form takes, for a cache that is bounded by them.
    pub(crate) fn weight(&self) -> u32 {
        let text = self.text_bytes.saturating_mul(16);
        let patterns = self.weight.patterns.saturating_mul(BYTES_PER_PATTERN);
        let states = self.weight.states.saturating_mul(BYTES_PER_STATE);
        let states = usize::try_from(states).unwrap_or(usize::MAX);
        u32::try_from(text.saturating_add(patterns).saturating_add(states)).unwrap_or(u32::MAX)
    }

    /// Whether a value of so many bytes can be checked within about a millisecond, on the thread of the caller: it is
    /// short, each place is looked at a few times only (at most 64), no items are compared, and no pattern is long.
    pub(crate) fn is_light(&self, value_bytes: usize) -> bool {
        let bytes = value_bytes as u64;
        bytes <= LIGHT_BYTES
            && self.weight.evaluations <= LIGHT_EVALUATIONS
            && !self.weight.compares_items
            && (self.weight.patterns == 0 || self.steps(bytes) <= LIGHT_STEPS)
    }

    /// How many steps matching patterns in so much text takes at most.
    fn steps(&self, text_bytes: u64) -> u64 {
        text_bytes
            .saturating_mul(self.weight.longest_pattern)
            .saturating_mul(self.weight.evaluations)
    }
}

/// The bytes of all texts in a value, names of members included.
fn text_bytes(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| name.len() as u64 + text_bytes(member))
            .sum(),
        _ => 0,
    }
}

/// Whether a JSON text may hold more than [`MAX_VALUES`] values: an estimate from above, which takes punctuation in
/// strings for the text's own.
pub(crate) fn too_many_values(text: &str) -> bool {
    let marks = text
        .bytes()
        .filter(|byte| matches!(byte, b',' | b'[' | b'{'));
    marks.count() >= MAX_VALUES
}

impl Mismatch {
    fn of(error: &ValidationError<'_>) -> Self {
        Self {
            place: error.instance_path().iter().map(step).collect(),
            message: cut(error.masked().to_string()),
        }
    }

    pub(crate) fn of_all(message: &str) -> Self {
        Self {
            place: Vec::new(),
            message: message.to_owned(),
        }
    }

    /// The fault of a request whose member `input` misses its schema.
    pub(crate) fn into_input_fault(self) -> Fault {
        let root = ["body", "input"].map(|name| Step::Name(name.to_owned()));
        Fault {
            loc: root.into_iter().chain(self.place).collect(),
            msg: self.message,
            slug: "schema_mismatch".to_owned(),
        }
    }

    /// The mismatch in a line, the place as a JSON Pointer.
    pub(crate) fn line(&self) -> String {
        let pointer: String = self
            .place
            .iter()
            .map(|step| match step {
                Step::Name(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
                Step::Index(index) => format!("/{index}"),
            })
            .collect();
        let place = if pointer.is_empty() {
            "the value"
        } else {
            &pointer
        };
        format!("{place}: {}", self.message)
    }
}

fn step(segment: LocationSegment<'_>) -> Step {
    match segment {
        LocationSegment::Property(name) => Step::Name(name.into_owned()),
        LocationSegment::Index(index) => Step::Index(index),
    }
}

/// Whether a value holds at most `limit` values, itself included, where a text counts once more for every
/// `bytes_per_value` of it.
fn is_within(value: &Value, limit: u64, bytes_per_value: usize) -> bool {
    fn spend(value: &Value, left: &mut u64, bytes_per_value: usize) -> bool {
        let pay = |text_bytes: usize, left: &mut u64| {
            let price = 1 + (text_bytes / bytes_per_value) as u64;
            let rest = left.checked_sub(price);
            *left = rest.unwrap_or(0);
            rest.is_some()
        };
        let text_bytes = value.as_str().map_or(0, str::len);
        pay(text_bytes, left)
            && match value {
                Value::Array(items) => items.iter().all(|item| spend(item, left, bytes_per_value)),
                Value::Object(members) => members.iter().all(|(name, member)| {
                    (name.len() < bytes_per_value || pay(name.len(), left))
                        && spend(member, left, bytes_per_value)
                }),
                _ => true,
            }
    }
    spend(value, &mut { limit }, bytes_per_value)
}

/// Every reference starts with `#`, so the whole schema's own name is never needed; it could only be taken for that
/// of a document that the validator brings along.
fn forget_identity(schema: &mut Value, draft: Draft) {
    let word = draft.id_keyword();
    let Some(words) = schema.as_object_mut() else {
        return;
    };
    if words
        .get(word)
        .and_then(Value::as_str)
        .is_some_and(|name| !name.starts_with('#'))
    {
        words.shift_remove(word);
    }
}

/// Cuts a message to its bound, between characters.
fn cut(mut message: String) -> String {
    const MARK: char = '…';
    if message.len() > MAX_MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES - MARK.len_utf8()));
        message.push(MARK);
    }
    message
}
