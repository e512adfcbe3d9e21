//! Glyphs put together to words.
//!
//! First as they are drawn: a word ends at a space, at a gap, or where the pen jumps. Then as they stand: pieces that touch
//! each other are one word, in whatever order they were drawn.

use domain::Bbox;

use super::{
    geometry::median,
    ink::{Glyph, Meaning},
    layout::{self, Word},
    shapes,
};

/// How far letters reach above and below their line, in parts of the size: near enough for Latin faces.
pub(super) const ASCENT: f32 = 0.74;
pub(super) const DESCENT: f32 = 0.22;

/// A gap of this part of the size is a space: set spaces have 0.2 to 0.35, kerning takes up to 0.1.
const SPACE: f32 = 0.15;

/// A pen that goes back by more than this part of the size begins something else.
const BACK: f32 = 0.4;

/// A pen that goes up or down by more than this part of its way writes no level line; the text under a scan may be as far from
/// level as the scan is, some degrees. It is a part of the way and not of the size: an `I` goes so little that it would pass
/// for level at any slant.
const ASKEW: f32 = 0.13;

/// Pieces whose baselines differ by less than this part of the size stand on one line.
const LEVEL: f32 = 0.12;

/// Which way most of the text on a page runs, in quarter turns clockwise from a reader's view.
pub(super) fn direction(glyphs: &[Glyph]) -> usize {
    let mut counts = [0usize; 4];
    for glyph in glyphs {
        counts[quarter(glyph)] += 1;
    }
    // What runs level wins a tie, and everything that is not clearly turned.
    (1..4).fold(0, |best, turn| {
        if counts[turn] > counts[best] {
            turn
        } else {
            best
        }
    })
}

fn quarter(glyph: &Glyph) -> usize {
    let (x, y) = glyph.advance;
    match (x.abs() >= y.abs(), x >= 0.0, y >= 0.0) {
        (true, true, _) => 0,
        (false, _, true) => 1,
        (true, false, _) => 2,
        (false, _, false) => 3,
    }
}

/// The glyphs that run in a direction, and not askew.
pub(super) fn running(glyphs: &[Glyph], direction: usize) -> Vec<Glyph> {
    let runs = |glyph: &&Glyph| runs(glyph, direction);
    glyphs.iter().filter(runs).cloned().collect()
}

/// Whether it runs in no direction that lines run in.
pub(super) fn is_askew(glyph: &Glyph) -> bool {
    !runs(glyph, quarter(glyph))
}

fn runs(glyph: &Glyph, direction: usize) -> bool {
    let (x, y) = (glyph.advance.0.abs(), glyph.advance.1.abs());
    let (along, across) = if direction % 2 == 1 { (y, x) } else { (x, y) };
    quarter(glyph) == direction && across <= ASKEW * along
}

/// Turns what is on a page of this width and height, so that text which runs in `direction` runs level.
pub(super) fn upright(glyphs: &mut [Glyph], direction: usize, (width, height): (f32, f32)) {
    for glyph in glyphs {
        (glyph.x, glyph.y) = turned((glyph.x, glyph.y), direction, (width, height));
        glyph.advance = turned(glyph.advance, direction, (0.0, 0.0));
    }
}

/// Where a point comes to lie when text that runs in `direction` is turned to run level.
pub(super) const fn turned(
    (x, y): (f32, f32),
    direction: usize,
    (width, height): (f32, f32),
) -> (f32, f32) {
    match direction {
        1 => (y, width - x),
        2 => (width - x, height - y),
        3 => (height - y, x),
        _ => (x, y),
    }
}

/// Where a rectangle comes to lie.
pub(super) const fn turned_box(bbox: Bbox, direction: usize, size: (f32, f32)) -> Bbox {
    let (x0, y0) = turned((bbox.l, bbox.t), direction, size);
    let (x1, y1) = turned((bbox.r, bbox.b), direction, size);
    Bbox {
        l: x0.min(x1),
        t: y0.min(y1),
        r: x0.max(x1),
        b: y0.max(y1),
    }
}

/// The words of a page.
pub(super) fn of(glyphs: &[Glyph]) -> Vec<Word> {
    let mut pieces = Vec::new();
    let mut open: Option<Piece> = None;
    for glyph in glyphs {
        let text = match &glyph.text {
            Meaning::Character(letter) if letter.is_whitespace() => {
                pieces.extend(open.take());
                continue;
            }
            Meaning::Character(letter) => readable(*letter),
            // Words are put together as they stand: what runs left comes last.
            Meaning::Several(letters) if letters.contains(layout::runs_left) => {
                letters.trim().chars().rev().collect()
            }
            Meaning::Several(letters) => letters.trim().to_owned(),
            Meaning::Unknown => "\u{fffd}".to_owned(),
        };
        // What runs askew, a watermark or the label of an axis, would only confuse the lines: `turned` reads what is turned
        // by quarters.
        if text.is_empty() || !runs(glyph, 0) {
            pieces.extend(open.take());
            continue;
        }
        match &mut open {
            Some(piece) if piece.takes(glyph) => piece.add(glyph, &text),
            _ => {
                pieces.extend(open.take());
                open = Some(Piece::of(glyph, &text));
            }
        }
    }
    pieces.extend(open);
    join(letter_spaced(pieces))
        .into_iter()
        .map(Piece::into_word)
        .collect()
}

/// Ligatures and odd spaces as one would type them; nothing for what cannot be seen.
fn readable(letter: char) -> String {
    match letter {
        '\u{fb00}' => "ff".to_owned(),
        '\u{fb01}' => "fi".to_owned(),
        '\u{fb02}' => "fl".to_owned(),
        '\u{fb03}' => "ffi".to_owned(),
        '\u{fb04}' => "ffl".to_owned(),
        '\u{fb05}' | '\u{fb06}' => "st".to_owned(),
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => String::new(),
        // A soft hyphen that is drawn is a hyphen.
        '\u{ad}' => "-".to_owned(),
        letter if letter.is_control() => String::new(),
        letter => shapes::letters(letter).unwrap_or_else(|| letter.to_string()),
    }
}

/// A word, or a part of one.
#[derive(Debug, Clone)]
struct Piece {
    text: String,
    left: f32,
    right: f32,
    baseline: f32,
    size: f32,
    strokes: Vec<f32>,
    /// The advance of all its glyphs, in parts of the size, while it is the same.
    pitch: Option<f32>,
    letters: usize,
}

impl Piece {
    fn of(glyph: &Glyph, text: &str) -> Self {
        let mut piece = Self {
            text: String::new(),
            left: glyph.x,
            right: glyph.x,
            baseline: glyph.y,
            size: glyph.size,
            strokes: Vec::new(),
            pitch: Some(glyph.advance.0 / glyph.size),
            letters: 0,
        };
        piece.add(glyph, text);
        piece
    }

    fn takes(&self, glyph: &Glyph) -> bool {
        let gap = glyph.x - self.right;
        let size = self.size.max(glyph.size);
        gap < SPACE * size
            && gap > -BACK * size
            && (glyph.y - self.baseline).abs() < LEVEL * size
            && glyph.size / self.size < 1.4
            && self.size / glyph.size < 1.4
    }

    fn add(&mut self, glyph: &Glyph, text: &str) {
        self.text.push_str(text);
        self.right = self.right.max(glyph.x + glyph.advance.0);
        self.letters += 1;
        if glyph.stroke > 0.0 {
            self.strokes.push(glyph.stroke);
        }
        let pitch = glyph.advance.0 / glyph.size;
        self.pitch = self.pitch.filter(|known| (known - pitch).abs() < 0.005);
    }

    fn append(&mut self, next: Self) {
        self.text.push_str(&next.text);
        self.right = self.right.max(next.right);
        self.letters += next.letters;
        self.strokes.extend(next.strokes);
        self.pitch = self
            .pitch
            .zip(next.pitch)
            .filter(|(a, b)| (a - b).abs() < 0.005)
            .map(|(pitch, _)| pitch);
    }

    fn into_word(self) -> Word {
        Word {
            bbox: Bbox {
                l: self.left,
                t: self.baseline - ASCENT * self.size,
                r: self.right,
                b: self.baseline + DESCENT * self.size,
            },
            text: self.text,
            size: self.size,
            baseline: self.baseline,
            stroke: median(self.strokes),
            pitch: self.pitch,
            confidence: None,
        }
    }
}

/// Joins words that are set with space between their letters: a line of single letters whose gaps are alike.
fn letter_spaced(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
    let mut rest = pieces.into_iter().peekable();
    while let Some(first) = rest.next() {
        let mut run = vec![first];
        while let Some(next) = rest.peek()
            && let Some(last) = run.last()
            && is_spaced(last, next)
        {
            run.extend(rest.next());
        }
        // Fewer than five letters are as well an enumeration, or the marks of an axis.
        if run.len() < 5 {
            joined.extend(run);
            continue;
        }
        let gap = median(run.windows(2).map(|pair| pair[1].left - pair[0].right));
        let mut run = run.into_iter();
        let Some(mut word) = run.next() else { continue };
        for next in run {
            if next.left - word.right < gap + SPACE * next.size {
                word.append(next);
            } else {
                joined.push(std::mem::replace(&mut word, next));
            }
        }
        joined.push(word);
    }
    joined
}

fn is_spaced(last: &Piece, next: &Piece) -> bool {
    let gap = next.left - last.right;
    last.letters == 1
        && next.letters == 1
        && (last.baseline - next.baseline).abs() < LEVEL * next.size
        && (last.size - next.size).abs() < 0.05 * next.size
        && gap > 0.0
        && gap < 1.2 * next.size
}

/// Joins pieces that touch.
fn join(mut pieces: Vec<Piece>) -> Vec<Piece> {
    // By line, then from left to right: baselines within a tenth of the size are told apart by nobody.
    pieces.sort_by(|a, b| a.baseline.total_cmp(&b.baseline));
    let mut lines: Vec<Vec<Piece>> = Vec::new();
    for piece in pieces {
        match lines.last_mut() {
            Some(line)
                if line
                    .last()
                    .is_some_and(|last| piece.baseline - last.baseline < 0.03 * piece.size) =>
            {
                line.push(piece);
            }
            _ => lines.push(vec![piece]),
        }
    }
    let mut joined: Vec<Piece> = Vec::new();
    for mut line in lines {
        line.sort_by(|a, b| a.left.total_cmp(&b.left));
        for piece in line {
            match joined.last_mut() {
                Some(last) if touches(last, &piece) => last.append(piece),
                _ => joined.push(piece),
            }
        }
    }
    joined
}

fn touches(last: &Piece, next: &Piece) -> bool {
    let gap = next.left - last.right;
    let size = last.size.max(next.size);
    (last.baseline - next.baseline).abs() < LEVEL * size
        && gap < 0.08 * size
        && gap > -0.15 * size
        && last.size / next.size < 1.25
        && next.size / last.size < 1.25
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters half as wide as they are large; `_` is a gap of a third of the size that no glyph fills.
    fn set(text: &str, x: f32, y: f32, spacing: f32) -> Vec<Glyph> {
        let mut at = x;
        let mut glyphs = Vec::new();
        for letter in text.chars() {
            if letter == '_' {
                at += 3.3;
                continue;
            }
            glyphs.push(Glyph {
                text: Meaning::Character(letter),
                x: at,
                y,
                advance: (5.0, 0.0),
                size: 10.0,
                stroke: 80.0,
                invisible: false,
            });
            at += 5.0 + spacing;
        }
        glyphs
    }

    fn texts(glyphs: &[Glyph]) -> Vec<String> {
        of(glyphs).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_end_at_spaces_and_at_gaps() {
        assert_eq!(
            texts(&set("the old_bridge", 0.0, 0.0, 0.0)),
            ["the", "old", "bridge"]
        );
    }

    #[test]
    fn letters_set_apart_are_words() {
        assert_eq!(
            texts(&set("REPORT__2024", 0.0, 0.0, 3.0)),
            ["REPORT", "2024"]
        );
    }

    #[test]
    fn ligatures_are_letters() {
        assert_eq!(
            texts(&set("o\u{fb03}ce \u{fb01}re", 0.0, 0.0, 0.0)),
            ["office", "fire"]
        );
    }

    #[test]
    fn pieces_that_touch_are_one_word_in_whatever_order_they_are_drawn() {
        let mut glyphs = set("ridge", 5.0, 0.0, 0.0);
        glyphs.extend(set("below", 0.0, 14.0, 0.0));
        glyphs.extend(set("b", 0.0, 0.0, 0.0));

        assert_eq!(texts(&glyphs), ["bridge", "below"]);
    }

    #[test]
    fn letters_of_a_watermark_are_no_words_however_narrow_they_are() {
        let mut glyphs = set("the old", 0.0, 0.0, 0.0);
        for (letter, advance, slant) in [('C', 7.0, 1.0), ('I', 2.7, 0.18), ('\u{301}', 0.01, 1.0)]
        {
            glyphs.push(Glyph {
                text: Meaning::Character(letter),
                x: 100.0,
                y: 0.0,
                advance: (advance, -slant * advance),
                size: 10.0,
                stroke: 80.0,
                invisible: false,
            });
        }

        assert_eq!(texts(&glyphs), ["the", "old"]);
        assert!((1..4).all(|direction| running(&glyphs, direction).is_empty()));
    }

    #[test]
    fn a_page_whose_text_runs_down_is_turned_back() {
        let mut glyphs = set("turned", 0.0, 0.0, 0.0);
        for (at, glyph) in glyphs.iter_mut().enumerate() {
            (glyph.x, glyph.y) = (90.0, 10.0 + 5.0 * at as f32);
            glyph.advance = (0.0, 5.0);
        }

        assert_eq!(direction(&glyphs), 1);
        upright(&mut glyphs, 1, (100.0, 200.0));

        assert_eq!(texts(&glyphs), ["turned"]);
        assert_eq!((glyphs[0].x, glyphs[0].y), (10.0, 10.0));
    }
}
