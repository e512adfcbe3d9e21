//! Text as pieces of almost-XML, in one pass and without a fault: what begins no tag is text.

/// A piece of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Text as it was written, references and all.
    Text(&'a str),
    /// What stands in a CDATA section.
    Literal(&'a str),
    /// A comment.
    Comment,
    /// `<? … ?>`, whole.
    Instruction(&'a str),
    /// A tag.
    Tag(Tag<'a>),
}

/// A tag, from `<` to `>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    pub(super) kind: TagKind,
    pub(super) name: &'a str,
    pub(super) source: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagKind {
    Open,
    Close,
    /// `<name/>`
    Empty,
}

/// The pieces of a text, each with its place.
///
/// Invariant: the time is linear. A tag ends at the next `<` at the latest, and a terminator that was not found once
/// is not looked for again.
pub(super) struct Pieces<'a> {
    text: &'a str,
    at: usize,
    missing: [bool; SECTIONS.len()],
}

/// What has an end of its own: begin and end.
const SECTIONS: [(&str, &str); 3] = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];

impl<'a> Pieces<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            missing: [false; SECTIONS.len()],
        }
    }

    /// Whether a CDATA section was begun and never ended.
    pub(super) const fn has_open_literal(&self) -> bool {
        self.missing[1]
    }

    fn section(&mut self, rest: &'a str) -> Option<(Piece<'a>, usize)> {
        let section = SECTIONS
            .iter()
            .position(|(begin, _)| rest.starts_with(begin))?;
        let (begin, end) = SECTIONS[section];
        if self.missing[section] {
            return None;
        }
        let Some(inside) = rest[begin.len()..].find(end) else {
            self.missing[section] = true;
            return None;
        };
        let to = begin.len() + inside + end.len();
        let piece = match section {
            0 => Piece::Comment,
            1 => Piece::Literal(&rest[begin.len()..begin.len() + inside]),
            _ => Piece::Instruction(&rest[..to]),
        };
        Some((piece, to))
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = (usize, Piece<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (from, rest) = (self.at, &self.text[self.at..]);
        let first = rest.chars().next()?;
        let markup = if first == '<' {
            self.section(rest)
                .or_else(|| tag(rest).map(|tag| (Piece::Tag(tag), tag.source.len())))
        } else {
            None
        };
        let (piece, length) = markup.unwrap_or_else(|| {
            let after = first.len_utf8();
            let length = rest[after..].find('<').map_or(rest.len(), |at| after + at);
            (Piece::Text(&rest[..length]), length)
        });
        self.at += length;
        Some((from, piece))
    }
}

/// The tag that a text begins with.
fn tag(text: &str) -> Option<Tag<'_>> {
    let inside = text.strip_prefix('<')?;
    let (is_close, inside) = match inside.strip_prefix('/') {
        Some(inside) => (true, inside),
        None => (false, inside),
    };
    let is_later = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-' | '.' | ':');
    let name = &inside[..inside.find(|char| !is_later(char)).unwrap_or(inside.len())];
    if !name.starts_with(|char: char| char.is_alphabetic() || char == '_') {
        return None;
    }
    let rest = &inside[name.len()..];
    let ends_name = |rest: &str| {
        rest.starts_with([' ', '\t', '\n', '\r', '>']) || (!is_close && rest.starts_with("/>"))
    };
    if !ends_name(rest) {
        return None;
    }
    let end = end_of_tag(rest)?;
    let kind = if is_close {
        TagKind::Close
    } else if rest[..end].ends_with('/') {
        TagKind::Empty
    } else {
        TagKind::Open
    };
    let length = text.len() - rest.len() + end + 1;
    Some(Tag {
        kind,
        name,
        source: &text[..length],
    })
}

/// Where the `>` stands that is in no quotes. A `<` stands in no tag.
fn end_of_tag(rest: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in rest.bytes().enumerate() {
        match (byte, quote) {
            (b'<', _) => return None,
            (b'>', None) => return Some(at),
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if byte == open => quote = None,
            _ => {}
        }
    }
    None
}

impl<'a> Tag<'a> {
    /// The attributes as far as they are well written, their values as they were written.
    pub(super) fn attributes(&self) -> Vec<(&'a str, &'a str)> {
        let mut attributes = Vec::new();
        let mut rest = self.source[1 + self.name.len()..].trim_start();
        while let Some((name, after)) = rest.split_once('=') {
            let value = after.trim_start();
            let quote = value
                .chars()
                .next()
                .filter(|char| matches!(char, '"' | '\''));
            let Some((value, after)) = quote.and_then(|quote| value[1..].split_once(quote)) else {
                break;
            };
            attributes.push((name.trim(), value));
            rest = after.trim_start();
        }
        attributes
    }
}

/// What a stretch of an element's inside says: a text with its references resolved, or markup exactly as it was written.
pub(super) fn plain(inside: &str) -> String {
    let mut text = String::with_capacity(inside.len());
    for (_, piece) in Pieces::of(inside) {
        match piece {
            Piece::Text(piece) => resolve(piece, &mut text),
            Piece::Literal(piece) => text.push_str(piece),
            // Half read as a text and half as markup, it would be neither.
            Piece::Tag(_) | Piece::Instruction(_) | Piece::Comment => return inside.to_owned(),
        }
    }
    text
}

/// Whether there is no text, but for an empty one in a section.
pub(super) fn is_blank(inside: &str) -> bool {
    Pieces::of(inside).all(|(_, piece)| matches!(piece, Piece::Literal("")) || is_layout(piece))
}

/// Whether nothing is said, not even that a text is empty.
pub(super) fn is_void(inside: &str) -> bool {
    Pieces::of(inside).all(|(_, piece)| is_layout(piece))
}

fn is_layout(piece: Piece<'_>) -> bool {
    match piece {
        Piece::Text(text) => text.trim().is_empty(),
        Piece::Comment => true,
        Piece::Literal(_) | Piece::Instruction(_) | Piece::Tag(_) => false,
    }
}

/// Adds a text with its references resolved. An `&` that begins none stands for itself.
pub(super) fn resolve(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match reference(rest) {
            Some((char, length)) => {
                out.push(char);
                rest = &rest[length..];
            }
            None => out.push('&'),
        }
    }
    out.push_str(rest);
}

/// The character that a reference stands for, and how long it is with its `;`.
fn reference(rest: &str) -> Option<(char, usize)> {
    const LONGEST: usize = 10;
    let end = rest.bytes().take(LONGEST).position(|byte| byte == b';')?;
    let char = match &rest[..end] {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        name => {
            let digits = name.strip_prefix('#')?;
            let number = match digits.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => digits.parse(),
            };
            char::from_u32(number.ok()?)?
        }
    };
    Some((char, end + 1))
}
