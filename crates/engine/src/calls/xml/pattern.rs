//! Patterns of a schema, decided for short plain texts, where all dialects agree.

use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// A longer pattern, or text, is not decided.
const MAX_PATTERN: usize = 1024;
const MAX_TEXT: usize = 256;
/// So many steps are taken for one text.
const MAX_STEPS: usize = 2048;

/// A pattern that can be decided.
pub(super) struct Pattern(Hir);

impl Pattern {
    /// The pattern, if it is one that is understood.
    pub(super) fn of(pattern: &str) -> Option<Self> {
        if pattern.len() > MAX_PATTERN {
            return None;
        }
        regex_syntax::parse(pattern).ok().map(Self)
    }

    /// Whether some part of a text fits, if that can be told, and how much work it was to find out.
    pub(super) fn is_in(&self, text: &str) -> (Option<bool>, usize) {
        // The dialects differ in what is a letter, a digit or a line break beyond these.
        if text.len() > MAX_TEXT || !text.is_ascii() || text.contains('\r') {
            return (None, 1);
        }
        let mut run = Run {
            text: text.as_bytes(),
            steps_left: MAX_STEPS,
        };
        let ends = run.ends(&self.0, &vec![true; text.len() + 1]);
        let is_in = ends.map(|ends| ends.contains(&true));
        (is_in, (MAX_STEPS - run.steps_left) * (1 + text.len() / 16))
    }
}

struct Run<'t> {
    text: &'t [u8],
    steps_left: usize,
}

impl Run<'_> {
    /// Where a part of the pattern can end that begins in one of these places.
    fn ends(&mut self, part: &Hir, from: &[bool]) -> Option<Vec<bool>> {
        self.steps_left = self.steps_left.checked_sub(1)?;
        let last = self.text.len();
        Some(match part.kind() {
            HirKind::Empty => from.to_vec(),
            HirKind::Look(Look::Start) => places(last, |at| at == 0 && from[0]),
            HirKind::Look(Look::End) => places(last, |at| at == last && from[last]),
            HirKind::Look(_) => return None,
            HirKind::Literal(literal) => {
                let length = literal.0.len();
                let text = self.text;
                places(last, |at| {
                    at >= length && from[at - length] && text[at - length..at] == literal.0[..]
                })
            }
            HirKind::Class(class) => {
                let text = self.text;
                places(last, |at| {
                    at > 0 && from[at - 1] && holds(class, text[at - 1])
                })
            }
            HirKind::Capture(capture) => self.ends(&capture.sub, from)?,
            HirKind::Concat(parts) => {
                let mut at = from.to_vec();
                for part in parts {
                    at = self.ends(part, &at)?;
                }
                at
            }
            HirKind::Alternation(parts) => {
                let mut all = vec![false; last + 1];
                for part in parts {
                    add(&mut all, &self.ends(part, from)?);
                }
                all
            }
            HirKind::Repetition(repetition) => {
                let mut at = from.to_vec();
                for _ in 0..repetition.min {
                    at = self.ends(&repetition.sub, &at)?;
                }
                let mut all = at.clone();
                let mut round = repetition.min;
                while repetition.max.is_none_or(|max| round < max) {
                    at = self.ends(&repetition.sub, &at)?;
                    if !add(&mut all, &at) {
                        break;
                    }
                    round += 1;
                }
                all
            }
        })
    }
}

fn places(last: usize, is_one: impl Fn(usize) -> bool) -> Vec<bool> {
    (0..=last).map(is_one).collect()
}

/// Adds places to others; whether any of them is new.
fn add(all: &mut [bool], more: &[bool]) -> bool {
    let mut is_new = false;
    for (known, is_one) in all.iter_mut().zip(more) {
        is_new |= *is_one && !*known;
        *known |= is_one;
    }
    is_new
}

fn holds(class: &Class, byte: u8) -> bool {
    match class {
        Class::Unicode(class) => {
            let char = char::from(byte);
            let mut below = class.iter().take_while(|range| range.start() <= char);
            below.any(|range| range.end() >= char)
        }
        Class::Bytes(class) => {
            let mut ranges = class.iter();
            ranges.any(|range| range.start() <= byte && byte <= range.end())
        }
    }
}
