//! Where a value is read from, and what it says as a scalar.

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

/// What a place says as text.
pub(super) struct Said {
    /// As it was written.
    exact: String,
    /// Without the layout of a block, if it is laid out as one.
    bare: Option<String>,
}

impl Source<'_> {
    /// What it says as text; nothing, if it stands in several places.
    pub(super) fn said(&self, tags: &Tags<'_>) -> Option<Said> {
        match self {
            Self::Element(element) => Some(Said::in_element(tags.source(*element))),
            Self::Repeated(_) => None,
            Self::Attribute(value) => {
                let mut exact = String::with_capacity(value.len());
                scan::resolve(value, &mut exact);
                Some(Said { exact, bare: None })
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

/// Whether a text says the scalar, as it stands.
pub(super) fn says(text: &str, is_void: bool, scalar: &Value) -> bool {
    match scalar {
        Value::Null => is_void || text == "null",
        Value::Bool(bool) => boolean(text) == Some(*bool),
        Value::Number(number) => self::number(text)
            .is_some_and(|said| said == *number || said.as_f64() == number.as_f64()),
        Value::String(string) => text == string,
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
    // A number as such has no white space around it.
    let is_one = text.ends_with(|char: char| char.is_ascii_digit())
        && text.starts_with(|char: char| char == '-' || char.is_ascii_digit());
    serde_json::from_str(text).ok().filter(|_| is_one)
}

pub(super) fn is_whole(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

impl Said {
    /// What an element's inside says.
    fn in_element(inside: &str) -> Self {
        Self {
            exact: scan::plain(inside),
            bare: without_layout(inside).map(scan::plain),
        }
    }

    /// The text without its layout.
    pub(super) fn text(&self) -> &str {
        self.bare.as_deref().unwrap_or(&self.exact)
    }

    /// Whether there was a layout to take off.
    pub(super) const fn is_laid_out(&self) -> bool {
        self.bare.is_some()
    }

    /// The ways to take it when it is compared with a value, the most literal first.
    pub(super) fn ways(&self) -> [&str; 3] {
        [&self.exact, self.text(), self.exact.trim()]
    }
}

/// The inside of an element that is laid out as a block, without the layout.
///
/// A block begins with a line break, and its last line holds nothing but white space: that line break and that line
/// are layout, with the white space around sections where nothing else is there. All else is the text's own, its
/// indent too.
fn without_layout(inside: &str) -> Option<&str> {
    const WHITE: [char; 3] = [' ', '\t', '\r'];
    let rest = inside
        .strip_prefix("\r\n")
        .or_else(|| inside.strip_prefix('\n'))?;
    let (body, last) = rest.rsplit_once('\n').unwrap_or(("", rest));
    if !last.trim_matches(WHITE).is_empty() {
        return None;
    }
    let body = body.strip_suffix('\r').unwrap_or(body);
    let is_literal = body.contains("<![CDATA[")
        && Pieces::of(body).all(|(_, piece)| match piece {
            Piece::Text(text) => text.trim().is_empty(),
            Piece::Literal(_) | Piece::Comment => true,
            Piece::Instruction(_) | Piece::Tag(_) => false,
        });
    Some(if is_literal { body.trim() } else { body })
}
