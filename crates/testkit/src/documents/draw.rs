//! What a sheet looks like in the operators of PDF, wherever and however its page is stored.

use domain::Bbox;
use pdf_writer::{Content, Name, Str, types::TextRenderingMode};

use super::{
    font::{Face, encode},
    pdf::{Hand, Leaf},
    picture::Picture,
    sheet::{Line, Mark},
};

/// The operators that draw a page, and the pictures that they call `I1`, `I2` and so on.
pub(crate) fn draw(leaf: &Leaf, hand: Hand) -> (Vec<u8>, Vec<&Picture>) {
    let mut drawn = Content::new();
    let mut pictures: Vec<&Picture> = Vec::new();
    drawn.transform(placement(leaf));
    for mark in &leaf.sheet.marks {
        match mark {
            Mark::Text(line) => write_line(&mut drawn, line, leaf, hand),
            Mark::Rule { from, to, width } => {
                let up = |y: f32| leaf.sheet.height - y;
                drawn.set_line_width(*width);
                drawn.move_to(from.0, up(from.1)).line_to(to.0, up(to.1));
                drawn.stroke();
            }
            Mark::Fill { bbox, gray } => {
                drawn.save_state().set_fill_gray(*gray);
                let bottom = leaf.sheet.height - bbox.b;
                drawn.rect(bbox.l, bottom, bbox.width(), bbox.height());
                drawn.fill_nonzero().restore_state();
            }
            Mark::Image { bbox, picture } => {
                pictures.push(picture);
                let name = format!("I{}", pictures.len());
                drawn.save_state().transform(box_matrix(*bbox, leaf));
                drawn.x_object(Name(name.as_bytes())).restore_state();
            }
        }
    }
    (drawn.finish().into_vec(), pictures)
}

pub(crate) fn font_name(face: Face) -> String {
    face.name().replace('-', "")
}

/// The visible part's size as it is stored, before it is turned and in the page's own unit.
pub(crate) fn stored_size(leaf: &Leaf) -> (f32, f32) {
    let (width, height) = (leaf.sheet.width / leaf.unit, leaf.sheet.height / leaf.unit);
    match leaf.turn {
        90 | 270 => (height, width),
        _ => (width, height),
    }
}

/// From the sheet as a reader sees it, origin at the lower left, to the stored page.
fn placement(leaf: &Leaf) -> [f32; 6] {
    let scale = 1.0 / leaf.unit;
    let (width, height) = (leaf.sheet.width * scale, leaf.sheet.height * scale);
    let mut matrix = match leaf.turn {
        90 => [0.0, scale, -scale, 0.0, height, 0.0],
        180 => [-scale, 0.0, 0.0, -scale, width, height],
        270 => [0.0, -scale, scale, 0.0, 0.0, width],
        _ => [scale, 0.0, 0.0, scale, 0.0, 0.0],
    };
    let (right, up) = leaf.crop.unwrap_or_default();
    matrix[4] += right;
    matrix[5] += up;
    matrix
}

fn box_matrix(bbox: Bbox, leaf: &Leaf) -> [f32; 6] {
    let bottom = leaf.sheet.height - bbox.b;
    [bbox.width(), 0.0, 0.0, bbox.height(), bbox.l, bottom]
}

fn write_line(drawn: &mut Content, line: &Line, leaf: &Leaf, hand: Hand) {
    let up = leaf.sheet.height - line.baseline;
    let name = font_name(line.font.face);
    drawn.begin_text();
    drawn.set_font(Name(name.as_bytes()), line.font.size);
    if !line.visible {
        drawn.set_text_rendering_mode(TextRenderingMode::Invisible);
    }
    drawn.set_text_matrix([1.0, 0.0, 0.0, 1.0, line.x, up]);
    let words: Vec<&str> = line.text.split(' ').collect();
    let gap = line.font.measure(" ") + line.stretch;
    match hand {
        Hand::Lines => {
            drawn.set_word_spacing(line.stretch);
            drawn.show(Str(&encode(&line.text)));
        }
        Hand::Words => {
            let mut x = line.x;
            for word in words {
                if !word.is_empty() {
                    drawn.set_text_matrix([1.0, 0.0, 0.0, 1.0, x, up]);
                    drawn.show(Str(&encode(word)));
                }
                x += line.font.measure(word) + gap;
            }
        }
        Hand::Gaps => {
            let mut shown = drawn.show_positioned();
            let mut items = shown.items();
            for (index, word) in words.iter().enumerate() {
                if index > 0 {
                    items.adjust(-gap * 1000.0 / line.font.size);
                }
                items.show(Str(&encode(word)));
            }
        }
    }
    drawn.end_text();
    if !line.visible {
        drawn.set_text_rendering_mode(TextRenderingMode::Fill);
    }
}
