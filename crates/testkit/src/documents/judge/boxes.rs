//! Whether pictures are where they are said to be.

use domain::{Bbox, Label};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::documents::PageTruth;

/// How well the boxes of pictures cover the pictures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Boxes {
    /// The worst overlap of a true picture: intersection over union, 0 for one that is not there.
    pub least: Option<f32>,
    /// Pictures in an answer that are none.
    pub surplus: usize,
}

/// Compares the pictures of a page with those of an answer's page.
pub fn boxes(truth: &PageTruth, answer: &Value) -> Boxes {
    let images = answer["images"].as_array();
    let mut found: Vec<Bbox> = images.into_iter().flatten().map(box_of).collect();
    let mut least = None;
    let pictures = truth.blocks.iter();
    for picture in pictures.filter(|block| block.label == Label::Picture) {
        let wanted = in_pixels(picture.bbox, truth, &answer["dimensions"]);
        let overlaps = found.iter().map(|found| overlap(wanted, *found));
        let best = overlaps
            .enumerate()
            .max_by(|(_, one), (_, other)| one.total_cmp(other));
        let overlap = match best {
            Some((index, overlap)) if overlap > 0.0 => {
                found.remove(index);
                overlap
            }
            _ => 0.0,
        };
        least = Some(overlap.min(least.unwrap_or(1.0)));
    }
    Boxes {
        least,
        surplus: found.len(),
    }
}

/// A box in points as an answer's whole pixels: a box cannot be answered more exactly than that.
fn in_pixels(bbox: Bbox, truth: &PageTruth, dimensions: &Value) -> Bbox {
    let across = number(&dimensions["width"]) / truth.width;
    let down = number(&dimensions["height"]) / truth.height;
    Bbox {
        l: (bbox.l * across).round(),
        t: (bbox.t * down).round(),
        r: (bbox.r * across).round(),
        b: (bbox.b * down).round(),
    }
}

fn box_of(image: &Value) -> Bbox {
    Bbox {
        l: number(&image["top_left_x"]),
        t: number(&image["top_left_y"]),
        r: number(&image["bottom_right_x"]),
        b: number(&image["bottom_right_y"]),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "pixels of a page")]
fn number(value: &Value) -> f32 {
    value.as_f64().unwrap_or_default() as f32
}

/// Intersection over union.
fn overlap(one: Bbox, other: Bbox) -> f32 {
    let width = one.r.min(other.r) - one.l.max(other.l);
    let height = one.b.min(other.b) - one.t.max(other.t);
    let shared = width.max(0.0) * height.max(0.0);
    let all = one.width() * one.height() + other.width() * other.height() - shared;
    if all > 0.0 { shared / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::documents::Block;

    #[test]
    fn half_a_square_is_a_third_of_both() {
        let square = |l: f32| Bbox {
            l,
            t: 0.0,
            r: l + 2.0,
            b: 2.0,
        };

        assert!((overlap(square(0.0), square(1.0)) - 1.0 / 3.0).abs() < 1e-6);
        assert!((overlap(square(0.0), square(0.0)) - 1.0).abs() < 1e-6);
        assert!(overlap(square(0.0), square(5.0)).abs() < 1e-6);
    }

    #[test]
    fn boxes_are_compared_in_pixels_of_the_answer() {
        let bbox = Bbox {
            l: 10.0,
            t: 20.0,
            r: 50.0,
            b: 60.0,
        };
        let truth = PageTruth {
            width: 100.0,
            height: 200.0,
            blocks: vec![Block::new(Label::Picture, "", bbox)],
            ..PageTruth::default()
        };
        let image = |l, t, r, b| json!({"top_left_x": l, "top_left_y": t, "bottom_right_x": r, "bottom_right_y": b});
        let answer = |images: Vec<Value>| json!({"dimensions": {"width": 200, "height": 400}, "images": images});

        let right = boxes(
            &truth,
            &answer(vec![image(20, 40, 100, 120), image(0, 0, 9, 9)]),
        );
        let missing = boxes(&truth, &answer(Vec::new()));

        assert_eq!((right.least, right.surplus), (Some(1.0), 1));
        assert_eq!((missing.least, missing.surplus), (Some(0.0), 0));
    }
}
