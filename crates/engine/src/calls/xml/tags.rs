//! The tags of an answer, and which of them belong together.
//!
//! Tags are matched name by name, without regard to case, so that a tag that a text merely mentions breaks nothing but
//! the element it stands in.

use std::collections::HashMap;

use super::scan::{self, Piece, Pieces, TagKind};

const MAX_TAGS: usize = 200_000;
const NONE: usize = usize::MAX;

/// An answer's tags.
pub(super) struct Tags<'a> {
    text: &'a str,
    tags: Vec<Placed<'a>>,
}

/// A tag in its place.
struct Placed<'a> {
    tag: scan::Tag<'a>,
    from: usize,
    to: usize,
    /// The closing tag that is left for this one when those after it have found theirs.
    balanced: usize,
    /// The next closing tag of that name.
    next_close: usize,
}

/// An element: where its tags stand. An empty element's are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Element {
    open: usize,
    close: usize,
    /// Whether its attribute `name` is the name of the member that it stands for.
    pub(super) is_named: bool,
}

impl Element {
    const fn between(open: usize, close: usize) -> Self {
        Self {
            open,
            close,
            is_named: false,
        }
    }

    /// Whether it is `<name/>`.
    pub(super) const fn is_one_tag(self) -> bool {
        self.open == self.close
    }
}

/// What stands in an element.
pub(super) struct Inside {
    pub(super) elements: Vec<Element>,
    /// Whether there is more than white space between them.
    pub(super) has_text: bool,
    /// How many bytes were looked through.
    pub(super) bytes: usize,
}

impl<'a> Tags<'a> {
    pub(super) fn read(text: &'a str) -> Result<Self, String> {
        let mut tags = Vec::new();
        for (from, piece) in Pieces::of(text) {
            let Piece::Tag(tag) = piece else { continue };
            if tags.len() == MAX_TAGS {
                return Err(format!("the answer holds more than {MAX_TAGS} tags"));
            }
            let to = from + tag.source.len();
            tags.push(Placed {
                tag,
                from,
                to,
                balanced: NONE,
                next_close: NONE,
            });
        }
        let mut tags = Self { text, tags };
        tags.match_up();
        Ok(tags)
    }

    fn match_up(&mut self) {
        let mut open: HashMap<String, Vec<usize>> = HashMap::new();
        // The opening tags of a name since its last closing one, which is where `next_close` ends for all of them.
        let mut since: HashMap<String, Vec<usize>> = HashMap::new();
        for at in 0..self.tags.len() {
            let tag = self.tags[at].tag;
            let name = tag.name.to_lowercase();
            match tag.kind {
                TagKind::Empty => {}
                TagKind::Open => {
                    open.entry(name.clone()).or_default().push(at);
                    since.entry(name).or_default().push(at);
                }
                TagKind::Close => {
                    if let Some(opener) = open.get_mut(&name).and_then(Vec::pop) {
                        self.tags[opener].balanced = at;
                    }
                    for opener in since.remove(&name).unwrap_or_default() {
                        self.tags[opener].next_close = at;
                    }
                }
            }
        }
    }

    /// The outermost elements, in order.
    pub(super) fn roots(&self) -> Vec<Element> {
        let mut roots = Vec::new();
        let mut at = 0;
        while let Some(tag) = self.tags.get(at) {
            let close = match tag.tag.kind {
                TagKind::Empty => at,
                TagKind::Open if tag.balanced != NONE => tag.balanced,
                // What the answer begins with is no mere mention.
                TagKind::Open if at == 0 && tag.next_close != NONE && self.begins(tag.from) => {
                    tag.next_close
                }
                TagKind::Open | TagKind::Close => {
                    at += 1;
                    continue;
                }
            };
            roots.push(Element::between(at, close));
            at = close + 1;
        }
        roots
    }

    /// Whether nothing but white space, a fence or a declaration stands before a place.
    fn begins(&self, at: usize) -> bool {
        let before = self.text[..at].trim();
        before.is_empty()
            || (before.starts_with("```") && before.len() < 16)
            || (before.ends_with("?>") && before.len() < 128)
    }

    /// The elements that stand right in one. An element that is not closed, or a closing tag too many, is a fault.
    pub(super) fn inside(&self, element: Element) -> Result<Inside, String> {
        let mut inside = Inside {
            elements: Vec::new(),
            has_text: false,
            bytes: 0,
        };
        let look = |inside: &mut Inside, between: &str| {
            inside.bytes += between.len();
            inside.has_text = inside.has_text || !scan::is_blank(between);
        };
        let mut at = element.open + 1;
        let mut read_to = self.tags[element.open].to;
        while at < element.close {
            let tag = &self.tags[at];
            look(&mut inside, &self.text[read_to..tag.from]);
            let close = match tag.tag.kind {
                TagKind::Empty => at,
                TagKind::Open => [tag.balanced, tag.next_close]
                    .into_iter()
                    .find(|close| *close < element.close)
                    .ok_or_else(|| format!("the element `{}` is not closed", cut(tag.tag.name)))?,
                TagKind::Close => {
                    let name = cut(tag.tag.name);
                    return Err(format!("the tag `</{name}>` closes nothing"));
                }
            };
            inside.elements.push(Element::between(at, close));
            read_to = self.tags[close].to;
            at = close + 1;
        }
        if !element.is_one_tag() {
            let rest = &self.text[read_to..self.tags[element.close].from];
            look(&mut inside, rest);
        }
        Ok(inside)
    }

    pub(super) fn name(&self, element: Element) -> &'a str {
        self.tags[element.open].tag.name
    }

    pub(super) fn attributes(&self, element: Element) -> Vec<(&'a str, &'a str)> {
        self.tags[element.open].tag.attributes()
    }

    /// What stands between the tags, as it was written.
    pub(super) fn source(&self, element: Element) -> &'a str {
        if element.is_one_tag() {
            return "";
        }
        &self.text[self.tags[element.open].to..self.tags[element.close].from]
    }
}

/// The beginning of a name, for an error.
pub(super) fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(64)]
}
