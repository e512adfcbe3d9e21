//! Blocks told from each other by how they look and where they stand: headings, captions, notes.

use domain::Label;

use super::{Body, Detail, Sheet, blocks::Draft, verse};
use crate::reader::geometry::Place;

/// A heading is larger than the text by this factor, or bold.
const LARGER: f32 = 1.14;

/// Headings are short; what is longer is a preamble set large.
const MAX_HEADING: usize = 200;

/// A bold heading stands on one line, seldom on two.
const MAX_BOLD_HEADING: usize = 120;

/// Words that begin captions, before a number.
const CAPTIONS: [&str; 10] = [
    "figure", "fig.", "fig", "table", "tab.", "chart", "plate", "exhibit", "listing", "scheme",
];

/// Names blocks in reading order.
pub(super) fn name(drafts: &mut [Draft], sheet: &Sheet, body: Body) {
    name_captions(drafts);
    name_notes(drafts, sheet, body);
    name_headings(drafts, sheet, body);
    nest_items(drafts);
    verse::keep_lines(drafts);
}

fn name_captions(drafts: &mut [Draft]) {
    for at in 0..drafts.len() {
        if drafts[at].label != Label::Text || drafts[at].lines.len() > 5 {
            continue;
        }
        let text = drafts[at].text();
        if !is_caption(&text) {
            continue;
        }
        let near = |other: usize| {
            drafts.get(other).is_some_and(|other| {
                matches!(other.label, Label::Picture | Label::Table | Label::Code)
                    && -other.bbox.shared_height(&drafts[at].bbox) < 3.0 * drafts[at].size()
            })
        };
        if near(at + 1) || at > 0 && near(at - 1) {
            drafts[at].label = Label::Caption;
        }
    }
}

/// `Figure 3`, `Table 2.1:` and the like at the beginning.
fn is_caption(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let (Some(first), Some(second)) = (words.next(), words.next()) else {
        return false;
    };
    CAPTIONS.contains(&first.to_lowercase().as_str())
        && second.starts_with(|letter: char| letter.is_ascii_digit() || "IVX".contains(letter))
}

/// Small print with a number or a star before it at the foot of a page.
fn name_notes(drafts: &mut [Draft], sheet: &Sheet, body: Body) {
    for draft in drafts.iter_mut() {
        let small = draft.size() < 0.92 * body.size;
        let low = draft.bbox.t > 0.6 * sheet.height;
        // A raised number says so anywhere else than under a title, where it begins the address of an author.
        let raised = begins_raised(draft) && !sheet.is_first;
        if !small || !(low || raised) || !matches!(draft.label, Label::Text | Label::ListItem) {
            continue;
        }
        let marker = match &draft.detail {
            Detail::Marker { text, .. } => Some(text.clone()),
            _ => None,
        };
        let text = draft.text();
        let first = text.split_whitespace().next().unwrap_or_default();
        let digits = first.bytes().take_while(u8::is_ascii_digit).count();
        let numbered = (1..=2).contains(&digits)
            && first[digits..]
                .chars()
                .all(|letter| letter.is_alphabetic() || ".)".contains(letter));
        let starred = first.starts_with(['*', '†', '‡', '§']);
        if let Some(marker) = marker {
            draft.text = Some(format!("{marker} {text}"));
            draft.detail = Detail::None;
            draft.label = Label::Footnote;
        } else if numbered || starred {
            draft.label = Label::Footnote;
        }
    }
}

/// Whether its first word stands above the line: what was raised keeps its place. That of recognised words is not so exact.
fn begins_raised(draft: &Draft) -> bool {
    let first = draft.lines.first().and_then(|line| line.words.first());
    first.is_some_and(|word| word.bbox.b < word.baseline && word.confidence.is_none())
}

fn name_headings(drafts: &mut [Draft], sheet: &Sheet, body: Body) {
    let mut headings: Vec<(usize, f32)> = Vec::new();
    for at in 0..drafts.len() {
        let below = drafts.get(at + 1);
        if is_heading(&drafts[at], below, body) {
            headings.push((at, drafts[at].size() / body.size));
        }
    }
    let largest = headings.iter().map(|(_, ratio)| *ratio).fold(0.0, f32::max);
    for (place, &(at, ratio)) in headings.iter().enumerate() {
        // What stands under a paragraph is no title of it.
        let is_prose = |draft: &Draft| {
            draft.label == Label::Text && draft.text().chars().count() > MAX_HEADING
        };
        let is_title = sheet.is_first
            && place == 0
            && ratio >= 1.4
            && ratio > 0.97 * largest
            && !drafts[..at].iter().any(is_prose);
        drafts[at].label = if is_title {
            Label::Title
        } else {
            Label::SectionHeader
        };
        // The number of a heading belongs to its words: only that of an item is written by the list.
        if let Detail::Marker { text, .. } = &drafts[at].detail {
            drafts[at].text = Some(format!("{text} {}", drafts[at].text()));
        }
        drafts[at].detail = Detail::Level(if is_title { 1 } else { level(ratio) });
    }
}

fn is_heading(draft: &Draft, below: Option<&Draft>, body: Body) -> bool {
    if draft.label != Label::Text {
        return numbered_heading(draft, below, body);
    }
    looks_like_heading(draft, &draft.text(), below, body)
}

/// `1. Introduction` looks like an item of a list until one sees how it is set.
fn numbered_heading(draft: &Draft, below: Option<&Draft>, body: Body) -> bool {
    matches!(
        draft.detail,
        Detail::Marker {
            enumerated: true,
            ..
        }
    ) && draft.lines.len() == 1
        && draft.size() > LARGER * body.size
        && looks_like_heading(draft, &draft.text(), below, body)
}

fn looks_like_heading(draft: &Draft, text: &str, below: Option<&Draft>, body: Body) -> bool {
    // In a list of contents the headings are named, and none is one.
    if verse::is_led(text) {
        return false;
    }
    let text = unnumbered(text);
    let letters = text.chars().filter(|letter| letter.is_alphabetic()).count();
    let length = text.chars().count();
    // Prices and numbers set large are none.
    if letters < 2 || letters * 3 < length || length > MAX_HEADING {
        return false;
    }
    if draft.size() > LARGER * body.size {
        return draft.lines.len() <= 3 && !text.ends_with([',', ';']);
    }
    let followed = below
        .is_some_and(|below| !body.is_bold(below.stroke()) || below.size() > LARGER * body.size);
    body.is_bold(draft.stroke())
        && draft.size() > 0.93 * body.size
        && draft.lines.len() <= 2
        && length <= MAX_BOLD_HEADING
        && followed
        && !text.ends_with(['.', ',', ';', ':'])
}

/// A heading without the number of its section, which would weigh more than a short heading has letters: `1.10 Sub 10`. No
/// part of such a number begins with 0 or has three digits, and words follow it: `24.00 EUR` and `1.250 t` have none.
fn unnumbered(text: &str) -> &str {
    let Some((number, rest)) = text.split_once(' ') else {
        return text;
    };
    let is_part = |part: &str| {
        (1..=2).contains(&part.len())
            && !part.starts_with('0')
            && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let parts = number.strip_suffix('.').unwrap_or(number);
    let mut letters = rest.chars();
    let is_word = letters.next().is_some_and(char::is_uppercase)
        && letters.next().is_some_and(char::is_lowercase);
    if parts.split('.').all(is_part) && is_word {
        rest
    } else {
        text
    }
}

/// How deep a heading is, by how much larger than the text it is. One page knows nothing of the others: what is set alike
/// must come out alike on all of them.
fn level(ratio: f32) -> u8 {
    match ratio {
        ratio if ratio >= 1.75 => 1,
        ratio if ratio >= 1.35 => 2,
        ratio if ratio > LARGER => 3,
        _ => 4,
    }
}

/// How deep items stand in each other, by where their markers are.
fn nest_items(drafts: &mut [Draft]) {
    let mut lefts: Vec<f32> = Vec::new();
    for draft in drafts.iter_mut() {
        let (left, size) = (draft.bbox.l, draft.size());
        let Detail::Marker { depth, .. } = &mut draft.detail else {
            lefts.clear();
            continue;
        };
        while lefts.last().is_some_and(|outer| left < outer - 0.6 * size) {
            lefts.pop();
        }
        // A column further right begins anew and is no deeper.
        let deeper = lefts.last().is_none_or(|outer| left > outer + 0.6 * size);
        if deeper {
            if lefts.last().is_some_and(|outer| left > outer + 8.0 * size) {
                lefts.clear();
            }
            lefts.push(left);
        }
        *depth = (lefts.len() - 1).min(5) as u8;
    }
}
