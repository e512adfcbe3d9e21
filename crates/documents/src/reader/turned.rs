//! Text that runs another way than most of its page: the labels of axes, stamps at the margin, tables set sideways.
//!
//! It is turned to run level, read like a page of its own, and put back where it stands.

use domain::{Bbox, Label};

use super::{
    bullets,
    geometry::Place,
    ink::Ink,
    layout::{self, Block, Sheet},
    words,
};

/// What is shorter is a letter of a seal or a mark, and says nothing by itself.
const MIN_LETTERS: usize = 4;

/// Adds the text of all other directions to the blocks of a page of this width and height, whose ink runs level.
pub(super) fn add(blocks: &mut Vec<Block>, ink: &Ink, size: (f32, f32)) {
    let mut found: Vec<(usize, Block)> = Vec::new();
    for direction in 1..4 {
        for block in read(ink, direction, size) {
            found.push((behind(blocks, block.bbox), block));
        }
    }
    // From the last on, so that places stay what they were; what has one place stays in order.
    found.sort_by_key(|(place, _)| *place);
    for (place, block) in found.into_iter().rev() {
        blocks.insert(place, block);
    }
}

/// The blocks of the text that runs in a direction.
fn read(ink: &Ink, direction: usize, (width, height): (f32, f32)) -> Vec<Block> {
    let mut glyphs = words::running(&ink.glyphs, direction);
    if glyphs.len() < MIN_LETTERS {
        return Vec::new();
    }
    words::upright(&mut glyphs, direction, (width, height));
    let turned = |boxes: &[Bbox]| -> Vec<Bbox> {
        let boxes = boxes.iter();
        boxes
            .map(|bbox| words::turned_box(*bbox, direction, (width, height)))
            .collect()
    };
    let seen = if direction % 2 == 1 {
        (height, width)
    } else {
        (width, height)
    };
    let sheet = Sheet {
        height: seen.1,
        words: bullets::with(words::of(&glyphs), &turned(&ink.dots)),
        rules: turned(&ink.rules),
        pictures: Vec::new(),
        is_first: false,
    };
    let mut blocks = layout::of(sheet);
    blocks.retain(|block| {
        let letters = block.text.chars().filter(|letter| letter.is_alphanumeric());
        letters.count() >= MIN_LETTERS
    });
    for block in &mut blocks {
        block.bbox = words::turned_box(block.bbox, (4 - direction) % 4, seen);
        // The upper edge of turned text is no upper edge of the page.
        if matches!(block.label, Label::PageHeader | Label::PageFooter) {
            block.label = Label::Text;
        }
    }
    blocks
}

/// Behind which block something comes: the last one that ends above it or left of it, else the last of all but the foot.
fn behind(blocks: &[Block], bbox: Bbox) -> usize {
    let is_before = |block: &Block| {
        let above = block.bbox.b <= bbox.t && block.bbox.shared_width(&bbox) > 0.0;
        let left = block.bbox.r <= bbox.l && block.bbox.shared_height(&bbox) > 0.0;
        (above || left) && block.label != Label::PageFooter
    };
    let before = blocks.iter().rposition(is_before).map(|at| at + 1);
    before.unwrap_or_else(|| {
        let foot = |block: &Block| block.label == Label::PageFooter;
        blocks.iter().position(foot).unwrap_or(blocks.len())
    })
}
