//! Lines that end where somebody ended them: of poems, addresses and contents.

use domain::Label;

use super::{
    blocks::{Draft, flowing},
    lines::Line,
};

/// Lines that leave this part of a column free were not broken for want of room.
const FREE: f32 = 0.4;

/// In a column narrower than this, in parts of the size, lines are short anyway.
const WIDE: f32 = 30.0;

/// A block with more lines that all fill its own width is a narrow paragraph.
const MAX_EVEN: usize = 3;

/// Lines of an address have no more words than this.
const MAX_WORDS: usize = 5;

/// Writes out the line breaks of texts that have some of their own.
pub(super) fn keep_lines(drafts: &mut [Draft]) {
    for draft in drafts {
        if draft.label != Label::Text || draft.text.is_some() || draft.lines.len() < 2 {
            continue;
        }
        let short = is_short(draft) || is_listing(&draft.lines);
        let lines = &draft.lines;
        let led = lines.iter().filter(|line| is_led(&line.text())).count();
        if !short && led < 2 {
            continue;
        }
        let mut parts: Vec<String> = Vec::new();
        let mut open: Vec<Line> = Vec::new();
        for line in lines {
            open.push(line.clone());
            if short || is_led(&line.text()) {
                parts.push(flowing(&std::mem::take(&mut open)));
            }
        }
        if !open.is_empty() {
            parts.push(flowing(&open));
        }
        draft.text = Some(parts.join("\n"));
    }
}

/// Whether all lines end far before the edge of their column.
fn is_short(draft: &Draft) -> bool {
    let (lines, size) = (&draft.lines, draft.size());
    let room = draft.column.width();
    let free = |line: &Line| line.bbox.width() < (1.0 - FREE) * room;
    if room < WIDE * size || !lines.iter().all(free) || has_broken_word(lines) {
        return false;
    }
    // A paragraph that is narrower than its column fills its own width: the next word never had room.
    let widest = draft.bbox.width();
    let fits = |pair: &[Line]| widest - pair[0].bbox.width() > pair[1].words[0].bbox.width() + size;
    lines.len() <= MAX_EVEN || lines.windows(2).any(fits)
}

/// Whether it is a list of names: an address in a column of its own. Lines of prose seldom all begin with a capital.
fn is_listing(lines: &[Line]) -> bool {
    let begins = |line: &Line| {
        let first = line.words[0].text.chars().next();
        first.is_some_and(|letter| letter.is_uppercase() || letter.is_ascii_digit())
    };
    lines.len() >= 3
        && !has_broken_word(lines)
        && lines
            .iter()
            .all(|line| line.words.len() <= MAX_WORDS && begins(line))
}

fn has_broken_word(lines: &[Line]) -> bool {
    let before = &lines[..lines.len() - 1];
    before.iter().any(|line| line.text().ends_with('-'))
}

/// The longest number that dots lead to: a page, or a price with its currency.
const MAX_LED: usize = 12;

/// Whether dots lead to a number at its end.
pub(super) fn is_led(text: &str) -> bool {
    let letters: Vec<char> = text.chars().collect();
    let is_dot = |letter: char| matches!(letter, '.' | '…' | '·' | '_');
    let mut end = letters.len();
    // A number may have a dot of its own: the leader is where there are several.
    for _ in 0..MAX_LED {
        let before = &letters[..end];
        let dots = before.iter().rev();
        let dots = dots.take_while(|letter| is_dot(**letter) || **letter == ' ');
        let dots = dots.filter(|letter| **letter != ' ');
        let dots: usize = dots.map(|dot| if *dot == '…' { 3 } else { 1 }).sum();
        if dots >= 3 {
            return is_number(&letters[end..]);
        }
        if end == 0 {
            return false;
        }
        end -= 1;
    }
    false
}

/// Whether it is the number of a page, in figures or small roman ones, or a price.
fn is_number(letters: &[char]) -> bool {
    let is_roman = |letter: &char| "ivxlc".contains(*letter);
    let words = letters.iter().filter(|letter| letter.is_alphabetic());
    let has_figure = letters.iter().any(char::is_ascii_digit);
    !letters.is_empty() && (letters.iter().all(is_roman) || has_figure && words.count() <= 3)
}
