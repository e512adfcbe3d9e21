//! Where a value is read from, and what it says as a scalar.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::{
    scan::{self, Piece, Pieces},
    tags::{Element, Tags},
};

/// Where a value stands.
pub(super) enum Source<'a> {
    /// In an element.
    Element(Element),
    /// In elements of one name, an entry each.
    Repeated(Vec<Element>),
    /// In an attribute, as it was written.
    Attribute(&'a str),
}

impl Source<'_> {
    /// What it says as text; nothing, if it stands in several places.
    pub(super) fn text(&self, tags: &Tags<'_>) -> Option<String> {
        match self {
            Self::Element(element) => Some(text(tags.source(*element))),
            Self::Repeated(_) => None,
            Self::Attribute(value) => {
                let mut text = String::with_capacity(value.len());
                scan::resolve(value, &mut text);
                Some(text)
            }
        }
    }

    /// Whether it says nothing, which is how null is said.
    pub(super) fn is_void(&self, tags: &Tags<'_>) -> bool {
        match self {
            Self::Element(element) => scan::is_void(tags.source(*element)),
            Self::Repeated(_) => false,
            Self::Attribute(value) => value.trim().is_empty(),
        }
    }

    /// How much there is to read.
    pub(super) fn len(&self, tags: &Tags<'_>) -> usize {
        match self {
            Self::Element(element) => tags.source(*element).len(),
            Self::Repeated(elements) => elements.len(),
            Self::Attribute(value) => value.len(),
        }
    }
}

/// Whether a text says the scalar.
pub(super) fn says(text: &str, is_void: bool, scalar: &Value) -> bool {
    let trimmed = text.trim();
    match scalar {
        Value::Null => is_void || trimmed == "null",
        Value::Bool(bool) => boolean(trimmed) == Some(*bool),
        Value::Number(number) => self::number(trimmed)
            .is_some_and(|said| said == *number || said.as_f64() == number.as_f64()),
        Value::String(string) => text == string || trimmed == string,
        Value::Array(_) | Value::Object(_) => false,
    }
}

pub(super) fn boolean(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("true") {
        Some(true)
    } else if text.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}

/// The number, if the text is one as JSON writes it.
pub(super) fn number(text: &str) -> Option<Number> {
    let is_one = text.ends_with(|char: char| char.is_ascii_digit());
    serde_json::from_str(text).ok().filter(|_| is_one)
}

pub(super) fn is_whole(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// The text in an element, without its layout.
///
/// A line break after the opening tag, one before the closing tag with the indent of that tag, and the indent that
/// the lines of such a block have in common are layout. All else is the text's own: white space that was written as a
/// reference or in a CDATA section, and every blank of a text that begins right behind its tag.
fn text(inside: &str) -> String {
    let is_literal = inside.contains("<![CDATA[")
        && Pieces::of(inside).all(|(_, piece)| match piece {
            Piece::Text(text) => text.trim().is_empty(),
            Piece::Literal(_) | Piece::Comment => true,
            Piece::Instruction(_) | Piece::Tag(_) => false,
        });
    if is_literal {
        let literals = Pieces::of(inside).filter_map(|(_, piece)| match piece {
            Piece::Literal(literal) => Some(literal),
            _ => None,
        });
        return literals.collect();
    }
    scan::plain(&without_layout(inside))
}

fn without_layout(inside: &str) -> Cow<'_, str> {
    if inside.trim().is_empty() && inside.contains('\n') {
        return Cow::Borrowed("");
    }
    let (is_block, rest) = match inside.split_once('\n') {
        Some((first, rest)) if first.trim().is_empty() => (true, rest),
        _ => (false, inside),
    };
    let body = match rest.rsplit_once('\n') {
        Some((body, last)) if last.trim().is_empty() => body.strip_suffix('\r').unwrap_or(body),
        _ => rest,
    };
    // In a section every blank counts.
    if !is_block || body.contains("<![CDATA[") {
        return Cow::Borrowed(body);
    }
    let indents = body
        .split('\n')
        .filter(|line| !line.trim().is_empty())
        .map(indent);
    let common = indents.reduce(shared).unwrap_or_default();
    let lines = body
        .split('\n')
        .map(|line| line.strip_prefix(common).unwrap_or(line.trim_start()));
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn shared<'a>(one: &'a str, other: &str) -> &'a str {
    let equal = one
        .bytes()
        .zip(other.bytes())
        .take_while(|(one, other)| one == other);
    &one[..equal.count()]
}
