//! XML mode (`interface.md` 15.4): asking for XML instead of JSON, and reading it as the JSON value that it stands for.
//!
//! A value is written so: an object as one element per member, an array as one `item` element per entry, a string,
//! number or boolean as text, `null` as an empty element; what is empty and might be taken for null has an empty CDATA
//! section in it. A member whose name is no XML name is
//! `<member name="…">`. An answer has one element around all of it, `answer` by our suggestion. Text is taken as it
//! was written, but for the line breaks of a block.
//!
//! Nothing is checked against the schema here beyond what tells one reading from another: what was read faithfully is
//! validated afterwards. Document types, entities other than XML's five, and name spaces are not processed.

mod conditional;
mod demand;
mod pattern;
mod read;
mod reference;
mod render;
mod scan;
mod shape;
mod source;
mod tags;

#[cfg(test)]
mod tests;

use domain::Json;

pub(crate) use demand::demand;
pub(crate) use render::{rendered, wrapped_input};

/// The name that we suggest for the element around an answer.
const ROOT: &str = "answer";
/// An entry of an array.
const ITEM: &str = "item";
/// A member of an object whose name is no XML name.
const MEMBER: &str = "member";

/// What a repair asks for.
pub(crate) const REPAIR: &str = "Answer again in XML only: one complete `answer` element of the form that was asked for, with every element closed.";

/// The value that an answer in XML stands for, by the types of the schema, and whether layout was taken off a text.
///
/// # Errors
/// A sentence about the first place that cannot be read.
pub(crate) fn read(answer: &str, schema: &Json) -> Result<(Json, bool), String> {
    let schema = schema.to_value();
    read::value(answer, &schema)
}

/// Whether a name can be an element's.
fn is_name(name: &str) -> bool {
    let is_first = |char: char| char.is_alphabetic() || char == '_';
    let is_later = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-' | '.');
    name.starts_with(is_first) && name.chars().all(is_later)
}
