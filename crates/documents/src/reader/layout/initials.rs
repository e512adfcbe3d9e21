//! Large capitals that begin a paragraph and stand beside several of its lines.

use super::Word;
use crate::reader::geometry::{Place, weighted_median};

/// An initial is larger than the lines beside it by this factor: it is two lines high.
const LARGER: f32 = 1.8;

/// How far before its lines it stands, in parts of their size: it may reach into the room of the first letter.
const BEFORE: (f32, f32) = (-0.3, 0.8);

/// A page has a few; more large letters are a puzzle or a drawing.
const MAX_INITIALS: usize = 50;

/// Puts initials before the words that they begin. Whether an `A` or an `I` is a word of its own cannot be seen, as the gap
/// after an initial says nothing; most are not.
pub(super) fn join(words: &mut Vec<Word>) {
    let typical = weighted_median(words.iter().map(|word| (word.size, word.text.len() as f32)));
    let large: Vec<usize> = (0..words.len())
        .filter(|&at| words[at].size > LARGER * typical && is_one(&words[at].text))
        .collect();
    if large.is_empty() || large.len() > MAX_INITIALS {
        return;
    }
    let mut gone = Vec::new();
    for at in large {
        if let Some(first) = begun(words, at) {
            let initial = words[at].clone();
            words[first].text.insert_str(0, &initial.text);
            words[first].bbox.l = initial.bbox.l;
            gone.push(at);
        }
    }
    for at in gone.into_iter().rev() {
        words.remove(at);
    }
}

/// A capital, perhaps after a quotation mark; `A.` is the sign of an item.
fn is_one(text: &str) -> bool {
    let mut letters = text
        .trim_start_matches(['"', '\'', '“', '‘', '„', '«'])
        .chars();
    letters.next().is_some_and(char::is_uppercase) && letters.next().is_none()
}

/// The word that an initial begins: the first one of the upper of the lines that stand beside it. The lower of them has its
/// own beginning there, which tells an initial from a large letter before a line.
fn begun(words: &[Word], at: usize) -> Option<usize> {
    let initial = &words[at];
    let mut beside: Vec<usize> = (0..words.len())
        .filter(|&other| {
            let word = &words[other];
            let gap = (word.bbox.l - initial.bbox.r) / word.size;
            let middle = word.baseline - 0.3 * word.size;
            initial.size > LARGER * word.size
                && BEFORE.0 < gap
                && gap < BEFORE.1
                && initial.bbox.t < middle
                && middle < initial.baseline
        })
        .collect();
    beside.sort_by(|&a, &b| words[a].baseline.total_cmp(&words[b].baseline));
    let &first = beside.first()?;
    let lines = beside
        .iter()
        .filter(|&&other| words[other].baseline - words[first].baseline > 0.8 * words[other].size)
        .count();
    // It hangs from the top of its first line, or nearly so.
    let hangs = words[first].bbox.middle_y() - initial.bbox.t < 1.5 * words[first].size;
    (lines > 0 && hangs).then_some(first)
}
