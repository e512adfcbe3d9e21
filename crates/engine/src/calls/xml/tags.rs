//! The tags of an answer, and which of them belong together.
//!
//! Tags are matched name by name, without regard to case, so that a tag that a text merely mentions breaks nothing but
//! the element it stands in.

use std::collections::HashMap;

use super::{
    ROOT,
    scan::{self, Piece, Pieces, TagKind},
};

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
        let mut pieces = Pieces::of(text);
        for (from, piece) in pieces.by_ref() {
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
        if pieces.has_open_literal() {
            return Err("a CDATA section is not closed".to_owned());
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

    /// The outermost element that is the answer.
    ///
    /// That is the one named `answer`, or else the only one. Whatever is opened outermost must be closed: an answer
    /// that was cut is a fault, never the part of it that is whole.
    pub(super) fn root(&self) -> Result<Element, String> {
        let roots = self.roots()?;
        let is_answer = |root: &&Element| self.name(**root).eq_ignore_ascii_case(ROOT);
        let answers: Vec<&Element> = roots.iter().filter(is_answer).collect();
        match (&answers[..], &roots[..]) {
            ([answer], _) => Ok(**answer),
            ([], []) => Err("the answer holds no closed XML element".to_owned()),
            ([], [root]) if is_thought(self.name(*root)) => {
                let name = self.name(*root);
                Err(format!("the answer holds nothing but the element `{name}`"))
            }
            ([], [root]) => Ok(*root),
            ([], _) => Err(format!(
                "the answer holds more than one outermost element, and none is named `{ROOT}`"
            )),
            _ => Err(format!("the answer holds more than one `{ROOT}` element")),
        }
    }

    /// The outermost elements, in order.
    fn roots(&self) -> Result<Vec<Element>, String> {
        let mut roots = Vec::new();
        let mut at = 0;
        let mut read_to = 0;
        while let Some(tag) = self.tags.get(at) {
            let name = cut(tag.tag.name);
            let close = match tag.tag.kind {
                TagKind::Empty => at,
                TagKind::Open if tag.balanced != NONE => tag.balanced,
                TagKind::Open => return Err(format!("the element `{name}` is not closed")),
                TagKind::Close => return Err(format!("the tag `</{name}>` closes nothing")),
            };
            roots.push(Element::between(at, close));
            read_to = self.tags[close].to;
            at = close + 1;
        }
        let is_torn = self.text[read_to..]
            .rsplit_once('<')
            .is_some_and(|(_, end)| begins_tag(end.trim_end()));
        if is_torn && !roots.is_empty() {
            return Err("the answer ends within a tag".to_owned());
        }
        Ok(roots)
    }

    /// Whether an outermost element stands amid text that is no fence and no declaration, under a name of its own.
    pub(super) fn is_amid_text(&self, root: Element) -> bool {
        let is_frame = |around: &str| {
            Pieces::of(around).all(|(_, piece)| match piece {
                Piece::Text(text) => text.lines().map(str::trim).all(|line| {
                    line.is_empty() || line.starts_with("```") || line.starts_with("<!DOCTYPE")
                }),
                _ => true,
            })
        };
        let before = &self.text[..self.tags[root.open].from];
        let after = &self.text[self.tags[root.close].to..];
        let is_framed = is_frame(before) && is_frame(after);
        !is_framed && !self.name(root).eq_ignore_ascii_case(ROOT)
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

/// Whether an element is what some models think aloud, which is no answer.
fn is_thought(name: &str) -> bool {
    let names = ["think", "thinking"];
    names
        .iter()
        .any(|thought| name.eq_ignore_ascii_case(thought))
}

/// Whether what stands behind a last `<` is the beginning of a tag, and not of prose.
fn begins_tag(end: &str) -> bool {
    let is_first = |char: char| char.is_alphabetic() || matches!(char, '_' | '/');
    let is_prose = end.contains(char::is_whitespace) && !end.contains('=');
    !end.contains('>') && (end.is_empty() || end.starts_with(is_first)) && !is_prose
}
