//! Bullets that are drawn and not written: small dots and squares before a line.

use domain::Bbox;

use super::{geometry::Place, layout::Word};

/// How wide a bullet is, in parts of the size of its line: a third in most programs.
const SIDE: (f32, f32) = (0.12, 0.6);

/// How high the middle of a bullet stands above the line, in parts of the size: in the middle of small letters.
const HEIGHT: (f32, f32) = (0.1, 0.6);

/// How far before its line a bullet stands, in parts of the size.
const BEFORE: (f32, f32) = (0.1, 2.5);

/// What stands nearer before a dot than this, in parts of the size, makes it a part of a line.
const ALONE: f32 = 1.0;

/// Adds the bullets among dots to the words of a page.
pub(super) fn with(mut words: Vec<Word>, dots: &[Bbox]) -> Vec<Word> {
    words.sort_by(|a, b| a.baseline.total_cmp(&b.baseline));
    let largest = words.iter().map(|word| word.size).fold(0.0, f32::max);
    let mut bullets: Vec<Word> = dots
        .iter()
        .filter_map(|dot| bullet(&words, largest, *dot))
        .collect();
    // A dot may be both filled and outlined. Several dots before each other on one line are a drawing.
    let level = |a: &Word, b: &Word| (a.baseline - b.baseline).abs() < 0.1 * a.size;
    bullets.dedup_by(|a, b| level(a, b) && (a.bbox.l - b.bbox.l).abs() < 0.2 * a.size);
    let lone = |bullet: &Word| {
        let beside = bullets.iter().filter(|other| {
            level(other, bullet) && (other.bbox.l - bullet.bbox.l).abs() < BEFORE.1 * bullet.size
        });
        beside.count() == 1
    };
    let lone: Vec<Word> = bullets.iter().filter(|word| lone(word)).cloned().collect();
    words.extend(lone);
    words
}

/// A dot as the bullet of the line that it stands before, if there is one. `words` are sorted by baseline.
fn bullet(words: &[Word], largest: f32, dot: Bbox) -> Option<Word> {
    let middle = dot.middle_y();
    let start = words.partition_point(|word| word.baseline < middle);
    let near: Vec<&Word> = words[start..]
        .iter()
        .take_while(|word| word.baseline < middle + largest)
        .filter(|word| {
            let height = (word.baseline - middle) / word.size;
            HEIGHT.0 < height && height < HEIGHT.1
        })
        .collect();
    let gap = |word: &Word| (word.bbox.l - dot.r) / word.size;
    let first = near
        .iter()
        .filter(|word| gap(word) > 0.0)
        .min_by(|a, b| a.bbox.l.total_cmp(&b.bbox.l))?;
    let side = dot.width().max(dot.height()) / first.size;
    let distance = gap(first);
    let alone = near
        .iter()
        .all(|word| gap(word) > 0.0 || dot.l - word.bbox.r > ALONE * first.size);
    let fits = SIDE.0 < side && side < SIDE.1 && BEFORE.0 < distance && distance < BEFORE.1;
    (fits && alone).then(|| Word {
        text: "•".to_owned(),
        bbox: Bbox {
            l: dot.l,
            t: first.bbox.t,
            r: dot.r,
            b: first.bbox.b,
        },
        size: first.size,
        baseline: first.baseline,
        stroke: 0.0,
        pitch: None,
        confidence: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str, left: f32) -> Word {
        Word {
            text: text.to_owned(),
            bbox: Bbox {
                l: left,
                t: 92.6,
                r: left + 30.0,
                b: 102.2,
            },
            size: 10.0,
            baseline: 100.0,
            stroke: 80.0,
            pitch: None,
            confidence: None,
        }
    }

    const fn dot(left: f32, top: f32) -> Bbox {
        Bbox {
            l: left,
            t: top,
            r: left + 3.5,
            b: top + 3.5,
        }
    }

    fn texts(dots: &[Bbox]) -> Vec<String> {
        let words = vec![word("first", 50.0), word("berth", 83.0)];
        with(words, dots)
            .into_iter()
            .map(|word| word.text)
            .collect()
    }

    #[test]
    fn a_dot_before_a_line_is_its_bullet() {
        assert_eq!(texts(&[dot(40.0, 95.0)]), ["first", "berth", "•"]);
    }

    #[test]
    fn dots_elsewhere_are_none() {
        // Within a line, below it, far before it, before each other.
        for dots in [
            vec![dot(80.5, 95.0)],
            vec![dot(40.0, 103.0)],
            vec![dot(10.0, 95.0)],
            vec![dot(35.0, 95.0), dot(41.0, 95.0)],
        ] {
            assert_eq!(texts(&dots), ["first", "berth"], "{dots:?}");
        }
    }
}
