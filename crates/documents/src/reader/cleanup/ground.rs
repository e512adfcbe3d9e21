//! Light paper that lies on something dark: a card on the glass, a receipt on a table, a white box on a dark slide.
//!
//! Where most of a page is dark, all of it may be print in white on black, or only what is around the paper.

use super::{DARK, Gray};

/// The side of the squares in which paper is looked for: letters are lost in them, sheets are not.
const CELL: usize = 8;

/// Paper takes at least this part of a page; what is smaller is a letter of a title.
const LEAST: f32 = 0.02;

/// Paper fills at least this part of the upright rectangle around it: a sheet that lies askew by half a quarter fills half.
const FILLED: f32 = 0.45;

/// A ground of which less than this part is light has nothing written on it.
const WRITTEN: f32 = 0.0003;

/// What is lighter on a dark ground is print.
const LIGHT: u8 = 170;

/// Which part of a page a square belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// What is dark, and what stands on it.
    Ground,
    /// The paper's edge, which is neither.
    Edge,
    /// Paper, with its print.
    Paper,
}

/// Turns the ground of a page into paper, and leaves the papers on it as they are; where there are none, it is all ground.
pub(super) fn lighten(gray: &mut Gray) {
    let small = gray.shrunk(CELL);
    let parts = parts(&small);
    let part = |x: usize, y: usize| {
        let (x, y) = (
            (x / CELL).min(small.width - 1),
            (y / CELL).min(small.height - 1),
        );
        parts[y * small.width + x]
    };
    let (mut ground, mut light) = (0usize, 0usize);
    for y in (0..gray.height).step_by(3) {
        for (x, &pixel) in gray.row(y).iter().enumerate() {
            if part(x, y) == Part::Ground {
                ground += 1;
                light += usize::from(pixel > LIGHT);
            }
        }
    }
    let has_paper = parts.contains(&Part::Paper);
    let is_bare = has_paper && (light as f32) < WRITTEN * ground as f32;
    for y in 0..gray.height {
        for x in 0..gray.width {
            let pixel = &mut gray.data[y * gray.width + x];
            *pixel = match part(x, y) {
                Part::Paper => *pixel,
                Part::Ground if !is_bare => 255 - *pixel,
                Part::Ground | Part::Edge => 255,
            };
        }
    }
}

/// To what each pixel of a page made small belongs.
fn parts(small: &Gray) -> Vec<Part> {
    let (width, height) = (small.width, small.height);
    let mut is_paper = vec![false; small.data.len()];
    let mut seen: Vec<bool> = small.data.iter().map(|&pixel| pixel < DARK).collect();
    for start in 0..seen.len() {
        if seen[start] {
            continue;
        }
        let members = flood(&mut seen, (width, height), [start]);
        if is_sheet(&members, (width, height)) {
            for at in members {
                is_paper[at] = true;
            }
        }
    }
    // What cannot be reached from the page's edge but over paper is print on it.
    let mut reached = is_paper;
    let rim = (0..width * height).filter(|at| {
        let (x, y) = (at % width, at / width);
        x == 0 || y == 0 || x + 1 == width || y + 1 == height
    });
    let rim: Vec<usize> = rim.filter(|&at| !reached[at]).collect();
    let mut is_ground = vec![false; small.data.len()];
    for at in flood(&mut reached, (width, height), rim) {
        is_ground[at] = true;
    }
    let part = |at: usize| {
        let (x, y) = (at % width, at / width);
        let rows = y.saturating_sub(1)..(y + 2).min(height);
        let columns = x.saturating_sub(1)..(x + 2).min(width);
        let mut around = rows.flat_map(|y| columns.clone().map(move |x| y * width + x));
        if around.any(|other| is_ground[other] != is_ground[at]) {
            Part::Edge
        } else if is_ground[at] {
            Part::Ground
        } else {
            Part::Paper
        }
    };
    (0..small.data.len()).map(part).collect()
}

/// What hangs together with these and was not seen before.
fn flood(
    seen: &mut [bool],
    (width, height): (usize, usize),
    from: impl IntoIterator<Item = usize>,
) -> Vec<usize> {
    let mut found: Vec<usize> = from.into_iter().collect();
    for &at in &found {
        seen[at] = true;
    }
    let mut next = 0;
    while let Some(&at) = found.get(next) {
        next += 1;
        let (x, y) = (at % width, at / width);
        let beside = [
            (x > 0).then(|| at - 1),
            (x + 1 < width).then_some(at + 1),
            (y > 0).then(|| at - width),
            (y + 1 < height).then_some(at + width),
        ];
        for other in beside.into_iter().flatten() {
            if !seen[other] {
                seen[other] = true;
                found.push(other);
            }
        }
    }
    found
}

/// Whether so many squares are as large and as full as a sheet.
fn is_sheet(members: &[usize], (width, height): (usize, usize)) -> bool {
    let area = members.len() as f32;
    if area < LEAST * (width * height) as f32 {
        return false;
    }
    let span = |place: fn(usize, usize) -> usize| {
        let places = members.iter().map(|&at| place(at, width));
        let (least, most) = places.fold((usize::MAX, 0), |(least, most), at| {
            (least.min(at), most.max(at))
        });
        (most - least + 1) as f32
    };
    area > FILLED * span(|at, width| at % width) * span(|at, width| at / width)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of one level with rectangles of others.
    fn page(level: u8, boxes: &[(usize, usize, usize, usize, u8)]) -> Gray {
        let (width, height) = (400, 600);
        let mut gray = Gray::new(width, height, vec![level; width * height]);
        for &(left, top, right, bottom, level) in boxes {
            for y in top..bottom {
                gray.data[y * width + left..y * width + right].fill(level);
            }
        }
        gray
    }

    #[test]
    fn paper_on_a_dark_ground_stays_and_the_ground_goes() {
        let mut gray = page(40, &[(80, 80, 240, 320, 230), (120, 120, 200, 140, 30)]);

        lighten(&mut gray);

        let at = |x: usize, y: usize| gray.data[y * gray.width + x];
        assert_eq!((at(10, 10), at(390, 590)), (255, 255));
        assert_eq!((at(100, 200), at(160, 130)), (230, 30));
    }

    #[test]
    fn print_beside_the_paper_is_turned_with_its_ground() {
        let letters: Vec<_> = (0..20)
            .map(|at| (20 + at * 12, 500, 24 + at * 12, 512, 240))
            .chain([(80, 80, 240, 320, 230)])
            .collect();
        let mut gray = page(40, &letters);

        lighten(&mut gray);

        let at = |x: usize, y: usize| gray.data[y * gray.width + x];
        assert_eq!((at(21, 505), at(10, 10), at(100, 200)), (15, 215, 230));
    }

    #[test]
    fn without_paper_all_is_ground() {
        let mut gray = page(20, &[(100, 100, 104, 130, 240)]);

        lighten(&mut gray);

        let at = |x: usize, y: usize| gray.data[y * gray.width + x];
        assert_eq!((at(0, 0), at(102, 110)), (235, 15));
    }
}
