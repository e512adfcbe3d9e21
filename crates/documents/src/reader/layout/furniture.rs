//! Running heads and feet: small lines at the edge of a page, away from everything else.
//!
//! They are taken out before columns are looked for, as they stand over or under all of them.

use domain::Bbox;

use super::{Body, Piece};
use crate::reader::geometry::Place;

/// How much of a page's height its upper and its lower edge take.
const EDGE: f32 = 0.085;

/// How much white parts them from the text, in parts of its size: more than between paragraphs.
const WHITE: f32 = 1.2;

/// A running head is short.
const MAX_LETTERS: usize = 160;

/// The pieces of a page by where they belong.
pub(super) struct Parted {
    pub head: Vec<Piece>,
    pub middle: Vec<Piece>,
    pub foot: Vec<Piece>,
}

/// Parts the head and the foot of a page of this height from the rest.
pub(super) fn part(mut pieces: Vec<Piece>, height: f32, body: Body) -> Parted {
    pieces.sort_by(|a, b| a.middle().total_cmp(&b.middle()));
    let head = edge(pieces.iter(), body, |bbox| bbox.middle_y() < EDGE * height);
    let foot = edge(pieces.iter().rev(), body, |bbox| {
        bbox.middle_y() > (1.0 - EDGE) * height
    });
    if head + foot >= pieces.len() {
        return Parted {
            head: Vec::new(),
            middle: pieces,
            foot: Vec::new(),
        };
    }
    let foot = pieces.split_off(pieces.len() - foot);
    let middle = pieces.split_off(head);
    Parted {
        head: pieces,
        middle,
        foot,
    }
}

/// How many pieces, from the edge on, are a running head or foot.
fn edge<'p>(
    pieces: impl Iterator<Item = &'p Piece>,
    body: Body,
    is_near: impl Fn(Bbox) -> bool,
) -> usize {
    let (mut count, mut letters) = (0, 0);
    let mut taken: Option<Bbox> = None;
    for piece in pieces {
        let bbox = piece.bbox();
        let near = is_near(bbox)
            && piece.line().is_some_and(|line| {
                line.size < 1.15 * body.size
                    // A bold line at the top of a page is a heading, unless it is small.
                    && (!body.is_bold(line.stroke) || line.size < 0.95 * body.size)
            });
        if !near {
            // What comes next must keep its distance.
            let apart = taken.is_none_or(|taken| -taken.shared_height(&bbox) > WHITE * body.size);
            return if apart { count } else { 0 };
        }
        // Two lines close to each other belong together; a second one further off is text.
        if let Some(known) = taken
            && -known.shared_height(&bbox) > WHITE * body.size
        {
            return count;
        }
        letters += piece.line().map_or(0, |line| line.text().chars().count());
        if letters > MAX_LETTERS {
            return 0;
        }
        taken = Some(taken.map_or(bbox, |taken| taken.union(bbox)));
        count += 1;
    }
    count
}
