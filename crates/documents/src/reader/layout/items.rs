//! Which lines begin items of lists.

use super::{
    blocks::{ends_sentence, had_room},
    lines::Line,
    markers::{self, Marked},
};
use crate::reader::geometry::Place;

/// How many lines of an item are passed to find the next one.
const MAX_LINES: usize = 60;

/// Items set tightly have their baselines no further from each other than this, in parts of the size.
const TIGHT: f32 = 1.75;

/// An item of a list.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub marked: Marked,
    /// Where its marker begins.
    left: f32,
    /// Where its text begins.
    text_left: f32,
    /// Where its first line stands.
    baseline: f32,
    size: f32,
}

impl Item {
    /// What begins like an item.
    fn like(line: &Line) -> Option<Self> {
        Some(Self {
            marked: markers::split(&line.text())?,
            left: line.bbox.l,
            text_left: line.words.get(1)?.bbox.l,
            baseline: line.baseline,
            size: line.size,
        })
    }

    /// Of a line that may begin one: `below` are those after it, `midst` is the line above where both would be one paragraph,
    /// and `list` has the items before it.
    ///
    /// `A. Smith` and `12. March` begin lines of prose, and so may a dash. A marker is believed when it keeps a distance, when
    /// the line below hangs under its text, or when the item before or after it has the marker before or after it; at the
    /// beginning of a block bullets and the figure one are believed at once.
    pub(super) fn of(
        line: &Line,
        below: &[Line],
        midst: Option<&Line>,
        list: &[Self],
    ) -> Option<Self> {
        let item = Self::like(line)?;
        let marker = &item.marked.marker;
        let hangs = below
            .first()
            .is_some_and(|next| item.has_hanging(line, next));
        let follows = item.sibling_among(below);
        let precedes = list
            .iter()
            .rev()
            .find(|known| known.is_beside(&item))
            .is_some_and(|known| known.is_before(&item));
        let wide = item.text_left - line.words[0].bbox.r > 0.5 * line.size;
        let dash = markers::is_dash(marker);
        let begins = match item.marked.number {
            None => !dash,
            Some(number) => number == 1 && !markers::is_letter(marker),
        };
        let shown = wide || hangs || follows || precedes;
        let believed = match midst {
            // A marker that goes on from an item above it is no chance.
            Some(_) if precedes => true,
            Some(above) => {
                let flush = (above.bbox.l - line.bbox.l).abs() < 0.4 * line.size;
                (shown || !dash && item.marked.number.is_none() && !flush)
                    && (!flush || ends_sentence(&above.text()) || wide && hangs)
            }
            None => shown || begins,
        };
        believed.then_some(item)
    }

    /// Whether the line below its first one begins under its text. Centred lines do so by chance.
    fn has_hanging(&self, line: &Line, next: &Line) -> bool {
        let centred = (line.bbox.middle_x() - next.bbox.middle_x()).abs() < 0.5 * line.size;
        (next.bbox.l - self.text_left).abs() < 0.4 * next.size && !centred
    }

    /// Whether the next item of its list is below, after all that hangs under its text.
    fn sibling_among(&self, below: &[Line]) -> bool {
        let mut rest = below.iter().take(MAX_LINES);
        let next = rest.find(|line| line.bbox.l < self.text_left - 0.6 * self.size);
        next.and_then(Self::like)
            .is_some_and(|next| self.is_beside(&next) && self.is_before(&next))
    }

    /// Whether both stand under each other: numbers may be set flush at their right.
    fn is_beside(&self, other: &Self) -> bool {
        let near = |a: f32, b: f32| (a - b).abs() < 0.6 * self.size;
        near(self.left, other.left) || near(self.text_left, other.text_left)
    }

    /// Whether another item goes on where it ends. Paragraphs that stand apart and begin with a dash are what people say, so
    /// only tight ones are a list.
    fn is_before(&self, other: &Self) -> bool {
        let tight = (other.baseline - self.baseline) < TIGHT * self.size;
        markers::is_next(&self.marked.marker, &other.marked.marker)
            && (tight || self.marked.marker != "—")
    }

    /// Whether a line goes on with it.
    pub(super) fn takes(&self, last: &Line, line: &Line, right: f32) -> bool {
        let hangs = line.bbox.l > self.text_left - 0.6 * line.size;
        let flush = (line.bbox.l - self.left).abs() < 0.6 * line.size;
        hangs || flush && !had_room(last, line, right)
    }
}
