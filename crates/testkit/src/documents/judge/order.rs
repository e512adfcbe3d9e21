//! Whether the pieces of a page come one after the other as a reader reads them.

use domain::Label;
use serde::{Deserialize, Serialize};

use crate::documents::{Block, PageTruth};

use super::text::fold;

/// How many pairs of blocks stand in the right order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Blocks that were looked for, taken two at a time.
    pub pairs: usize,
    /// Pairs of which the later one comes too early or is not there at all.
    pub wrong: usize,
}

/// So many letters of a block's beginning and end are looked for.
const PROBE: usize = 40;
/// Shorter blocks may stand anywhere by chance.
const SHORTEST: usize = 10;
/// So many letters may one block's end and the next one's beginning overlap: wrong letters blur the edge.
const SLACK: usize = 12;

/// Compares the order of a page's blocks with the order of their texts in an answer, which is folded already.
pub fn order(page: &PageTruth, answer: &str) -> Order {
    let answer: Vec<char> = answer.chars().collect();
    let mut places = Vec::new();
    let mut reached = 0;
    for block in page.blocks.iter().filter(|block| has_order(block)) {
        let text: Vec<char> = fold(&block.text).chars().collect();
        if text.len() < SHORTEST {
            continue;
        }
        let place = place(&text, &answer, reached);
        reached = place.map_or(reached, |(_, end)| end);
        places.push(place);
    }
    let mut order = Order::default();
    for (index, first) in places.iter().enumerate() {
        for second in &places[index + 1..] {
            order.pairs += 1;
            let right = first
                .zip(*second)
                .is_some_and(|((_, end), (start, _))| end <= start + SLACK);
            order.wrong += usize::from(!right);
        }
    }
    order
}

/// Where titles and numbers of pages are put is a matter of taste, and pictures have no text.
fn has_order(block: &Block) -> bool {
    let outside = [Label::PageHeader, Label::PageFooter, Label::Picture];
    !outside.contains(&block.label)
}

/// Where a text begins and ends in another, preferably from `reached` on.
fn place(text: &[char], answer: &[char], reached: usize) -> Option<(usize, usize)> {
    let head = &text[..text.len().min(PROBE)];
    let tail = &text[text.len() - text.len().min(PROBE)..];
    let (start, head_end) = find(head, answer, reached)?;
    let (_, end) = find(tail, answer, head_end.saturating_sub(tail.len()))?;
    Some((start, end))
}

/// The best match of a probe in a text. Of matches equally good, the first that begins after `reached`, less some
/// slack, else the first.
fn find(probe: &[char], text: &[char], reached: usize) -> Option<(usize, usize)> {
    let windows = text.windows(probe.len()).enumerate();
    let exact = windows.filter(|(_, window)| *window == probe);
    let mut matches: Vec<_> = exact
        .map(|(start, _)| (start, start + probe.len()))
        .collect();
    if matches.is_empty() {
        matches = near(probe, text);
    }
    let after = matches
        .iter()
        .find(|(start, _)| start + SLACK >= reached)
        .copied();
    after.or(matches.first().copied())
}

/// The matches with the fewest wrong letters: Sellers' algorithm, the edit distance with a free start and end.
fn near(probe: &[char], text: &[char]) -> Vec<(usize, usize)> {
    // A row per letter of the probe: the edits so far, and where the match began.
    let mut column: Vec<(usize, usize)> = (0..=probe.len()).map(|edits| (edits, 0)).collect();
    let mut best = probe.len() * 2 / 5;
    let mut matches = Vec::new();
    for (index, letter) in text.iter().enumerate() {
        let mut diagonal = column[0];
        column[0] = (0, index + 1);
        for (row, wanted) in probe.iter().enumerate() {
            let replaced = (diagonal.0 + usize::from(wanted != letter), diagonal.1);
            let skipped = (column[row].0 + 1, column[row].1);
            let put_in = (column[row + 1].0 + 1, column[row + 1].1);
            diagonal = column[row + 1];
            column[row + 1] = [replaced, put_in, skipped]
                .into_iter()
                .min_by_key(|&(edits, _)| edits)
                .expect("three ways");
        }
        let (edits, start) = column[probe.len()];
        if edits < best {
            matches.clear();
        }
        if edits <= best {
            best = edits;
            matches.push((start, index + 1));
        }
    }
    matches
}

#[cfg(test)]
mod tests {
    use domain::Bbox;

    use super::*;

    fn page(texts: &[&str]) -> PageTruth {
        let blocks = texts
            .iter()
            .map(|text| Block::new(Label::Text, *text, Bbox::default()));
        PageTruth {
            blocks: blocks.collect(),
            ..PageTruth::default()
        }
    }

    fn found(probe: &str, text: &str, reached: usize) -> Option<(usize, usize)> {
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        find(&letters(probe), &letters(text), reached)
    }

    #[test]
    fn a_probe_is_found_in_spite_of_wrong_letters() {
        assert_eq!(found("bridge", "the old bridge fell", 0), Some((8, 14)));
        assert_eq!(found("bridge", "the old brldge fell", 0), Some((8, 14)));
        assert_eq!(found("bridge", "nothing of it", 0), None);
        let twice = "bridge, and much further on a bridge";
        assert_eq!(found("bridge", twice, 20), Some((30, 36)));
    }

    const ONE: &str = "The harbour was repaired twice.";
    const TWO: &str = "No ledger was ever opened again.";
    const THREE: &str = "Their orchard financed a museum.";

    #[test]
    fn blocks_one_after_the_other_are_in_order() {
        let answer = [ONE, TWO, THREE].join(" ");

        let order = order(&page(&[ONE, TWO, THREE]), &answer);

        assert_eq!(order, Order { pairs: 3, wrong: 0 });
    }

    #[test]
    fn a_block_in_the_wrong_place_spoils_each_pair_with_those_it_passed() {
        let answer = [THREE, ONE, TWO].join(" ");

        let order = order(&page(&[ONE, TWO, THREE]), &answer);

        assert_eq!(order, Order { pairs: 3, wrong: 2 });
    }

    #[test]
    fn columns_read_line_by_line_are_not_in_order() {
        let (left, right) = ("The harbour was repaired", "No ledger was ever opened");
        let (left_end, right_end) = ("twice before the winter.", "again in those long years.");
        let answer = [left, right, left_end, right_end].join(" ");
        let truth = page(&[&[left, left_end].join(" "), &[right, right_end].join(" ")]);

        assert_eq!(order(&truth, &answer), Order { pairs: 1, wrong: 1 });
    }

    #[test]
    fn what_is_missing_is_not_in_order() {
        assert_eq!(order(&page(&[ONE, TWO]), ONE), Order { pairs: 1, wrong: 1 });
    }
}
