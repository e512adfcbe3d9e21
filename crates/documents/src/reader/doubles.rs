//! Text that is drawn more than once in one place: filled and outlined, printed again beside itself to feign a bold face, or
//! with a shadow.
//!
//! Of all prints of a letter one is kept. They are known by where they stand, not by when they were drawn: some programs repeat
//! a letter, others a line or a page.

use super::ink::{Glyph, Meaning};

/// How far from each other, in parts of the size, the prints of a letter are at most.
const OFF: f32 = 0.2;

/// And in parts of its advance: the second `l` of `all` stands a whole advance further, however narrow that is.
const OF_ADVANCE: f32 = 0.5;

/// Accents have no advance, and still may be drawn twice.
const LEAST: f32 = 0.04;

/// And in points: the shadow of the largest title.
const FAR_POINTS: f32 = 4.0;

/// How many neighbours of one letter are looked at: words have two or three alike, a page made to keep us busy has thousands.
const MAX_NEIGHBOURS: usize = 16;

/// A letter and where it stands, in the order in which prints of one letter follow each other.
type Placed = (char, i32, f32, usize);

/// Leaves out what is drawn again; `point` is how many pixels one has.
pub(super) fn without(glyphs: Vec<Glyph>, point: f32) -> Vec<Glyph> {
    let far = FAR_POINTS * point;
    let mut again = vec![false; glyphs.len()];
    // Prints that are no further from each other than half a strip is high share one, in one of two divisions of the page.
    for shift in [0.0, 0.5] {
        let mut order = in_strips(&glyphs, 2.0 * far, shift);
        order.sort_unstable_by(|a, b| {
            (a.0, a.1)
                .cmp(&(b.0, b.1))
                .then(a.2.total_cmp(&b.2))
                .then(a.3.cmp(&b.3))
        });
        for (at, &(letter, strip, x, one)) in order.iter().enumerate() {
            let near = order[at + 1..].iter().take(MAX_NEIGHBOURS);
            let near = near.take_while(|it| (it.0, it.1) == (letter, strip) && it.2 - x < far);
            for &(.., other) in near {
                if is_again(&glyphs[one], &glyphs[other]) {
                    again[worse(&glyphs, one, other)] = true;
                }
            }
        }
    }
    let mut again = again.into_iter();
    let mut kept = glyphs;
    kept.retain(|_| !again.next().unwrap_or(false));
    kept
}

/// All that can be seen, by letter and by strip of the page.
fn in_strips(glyphs: &[Glyph], height: f32, shift: f32) -> Vec<Placed> {
    let letter = |glyph: &Glyph| match &glyph.text {
        Meaning::Character(letter) => Some(*letter),
        Meaning::Several(letters) => letters.chars().next(),
        Meaning::Unknown => Some(char::REPLACEMENT_CHARACTER),
    };
    let placed = glyphs.iter().enumerate().filter_map(|(index, glyph)| {
        let letter = letter(glyph).filter(|letter| !letter.is_whitespace())?;
        let strip = (glyph.y / height + shift).floor() as i32;
        Some((letter, strip, glyph.x, index))
    });
    placed.collect()
}

/// Whether both are prints of one letter.
fn is_again(one: &Glyph, other: &Glyph) -> bool {
    let size = one.size.min(other.size);
    let turned = (one.advance.0 - other.advance.0).hypot(one.advance.1 - other.advance.1);
    if one.text != other.text || one.size.max(other.size) > 1.1 * size || turned > 0.1 * size {
        return false;
    }
    let (x, y) = (other.x - one.x, other.y - one.y);
    let advance = one.advance.0.hypot(one.advance.1);
    let (right, down) = if advance > 0.0 {
        (one.advance.0 / advance, one.advance.1 / advance)
    } else {
        (1.0, 0.0)
    };
    let along = (x * right + y * down).abs();
    let across = (x * down - y * right).abs();
    let reach = (OFF * size).min(OF_ADVANCE * advance).max(LEAST * size);
    along < reach && across < OFF * size
}

/// Which of two prints goes: the one that cannot be seen, else the later one.
fn worse(glyphs: &[Glyph], one: usize, other: usize) -> usize {
    let rank = |index: usize| (glyphs[index].invisible, index);
    if rank(one) > rank(other) { one } else { other }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten-point letters, half as wide as they are large, and narrow ones.
    fn set(text: &str, x: f32, y: f32) -> Vec<Glyph> {
        let mut at = x;
        let letters = text.chars().map(|letter| {
            let advance = if "il.'".contains(letter) { 2.2 } else { 5.0 };
            let glyph = Glyph {
                text: Meaning::Character(letter),
                x: at,
                y,
                advance: (advance, 0.0),
                size: 10.0,
                stroke: 80.0,
                invisible: false,
            };
            at += advance;
            glyph
        });
        letters.collect()
    }

    fn read(glyphs: &[Glyph]) -> String {
        let letters = glyphs.iter().map(|glyph| match glyph.text {
            Meaning::Character(letter) => letter,
            _ => '?',
        });
        letters.collect()
    }

    #[test]
    fn what_is_drawn_again_beside_itself_is_read_once() {
        for (x, y) in [(0.0, 0.0), (0.3, 0.0), (0.6, 0.6), (0.0, -0.3), (-1.0, 1.0)] {
            let mut glyphs = set("All bills", 50.0, 100.0);
            glyphs.extend(set("All bills", 50.0 + x, 100.0 + y));
            glyphs.extend(set("All bills", 50.0 + 0.5 * x, 100.0 + 0.5 * y));

            assert_eq!(read(&without(glyphs, 1.0)), "All bills  ", "{x} {y}");
        }
    }

    #[test]
    fn double_letters_are_two() {
        let text = "Illinois 1.100.000 ... it''ll iii";

        assert_eq!(read(&without(set(text, 50.0, 100.0), 1.0)), text);
    }

    #[test]
    fn of_two_prints_the_one_that_is_seen_is_kept() {
        let mut glyphs = set("berth", 50.0, 100.0);
        for glyph in &mut glyphs {
            glyph.invisible = true;
        }
        glyphs.extend(set("berth", 50.2, 100.0));

        let kept = without(glyphs, 1.0);

        assert_eq!(read(&kept), "berth");
        assert!(kept.iter().all(|glyph| !glyph.invisible));
    }

    #[test]
    fn letters_that_run_down_are_compared_along_their_own_line() {
        let mut glyphs = set("all", 0.0, 0.0);
        for (at, glyph) in glyphs.iter_mut().enumerate() {
            (glyph.x, glyph.y) = (100.0, 50.0 + 2.2 * at as f32);
            glyph.advance = (0.0, glyph.advance.0);
        }
        let mut twice = glyphs.clone();
        twice.extend(glyphs.iter().map(|glyph| Glyph {
            x: glyph.x + 0.5,
            ..glyph.clone()
        }));

        assert_eq!(read(&without(twice, 1.0)), "all");
    }
}
