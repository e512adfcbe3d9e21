//! Pictures on a scanned page: stretches where no paper shows.

use domain::Bbox;

use super::Gray;

/// A page is looked at in squares of this many inches: between letters paper shows in each of them.
const SQUARE: f32 = 0.08;

/// A picture is at least this many inches wide and high; a dark bar or a large letter is not.
const LEAST: f32 = 0.4;

/// What is darker than this part of the paper around is covered.
const COVERED: f32 = 0.86;

/// Print covers less than this part of a tile: the pixel in this place, by brightness, is paper.
const PAPER: f64 = 0.6;

/// Paper is as bright as what its shadow, which falls off evenly, lets expect; less than this part of it is a picture.
const SHADOW: f64 = 0.87;

/// The page is divided into so many tiles each way to see how bright its paper is.
const TILES: usize = 10;

/// More stretches than this on a page are grain.
const MAX_STRETCHES: usize = 500;

/// Where pictures are on a page of so many dots per inch. Grain is smoothed away, which costs exactness.
pub(in crate::reader) fn pictures(gray: &Gray, dpi: u32, noisy: bool) -> Vec<Bbox> {
    if !noisy {
        return covered(gray, dpi);
    }
    let mut small = gray.shrunk(2);
    small.smooth();
    let double = |bbox: Bbox| Bbox {
        l: 2.0 * bbox.l,
        t: 2.0 * bbox.t,
        r: 2.0 * bbox.r,
        b: 2.0 * bbox.b,
    };
    covered(&small, dpi / 2).into_iter().map(double).collect()
}

fn covered(gray: &Gray, dpi: u32) -> Vec<Bbox> {
    let side = ((SQUARE * dpi as f32) as usize).max(4);
    let (columns, rows) = (gray.width / side, gray.height / side);
    if columns < 4 || rows < 4 {
        return Vec::new();
    }
    let paper = Paper::of(gray);
    let mut covered = vec![false; columns * rows];
    for row in 0..rows {
        for column in 0..columns {
            covered[row * columns + column] = is_covered(gray, &paper, (column, row), side);
        }
    }
    let least = LEAST * dpi as f32;
    let whole = (gray.width as f32, gray.height as f32);
    let mut found = Vec::new();
    for stretch in stretches(&mut covered, columns, rows) {
        let (width, height) = (
            stretch.right - stretch.left + 1,
            stretch.bottom - stretch.top + 1,
        );
        let full = stretch.count as f32 / (width * height) as f32;
        let bbox = edges(gray, &paper, &stretch, side);
        let is_page = bbox.width() > 0.95 * whole.0 && bbox.height() > 0.95 * whole.1;
        let large = bbox.width() >= least && bbox.height() >= least;
        if full > 0.6 && large && !is_page && is_solid(gray, &paper, bbox) {
            found.push(bbox);
        }
    }
    found
}

/// How bright the paper is, tile by tile.
struct Paper {
    levels: Vec<f32>,
    width: usize,
    height: usize,
}

impl Paper {
    fn of(gray: &Gray) -> Self {
        let (width, height) = (gray.width.div_ceil(TILES), gray.height.div_ceil(TILES));
        let mut levels = vec![0.0; TILES * TILES];
        for (tile, level) in levels.iter_mut().enumerate() {
            let (left, top) = (tile % TILES * width, tile / TILES * height);
            let mut counts = [0u32; 256];
            for y in (top..(top + height).min(gray.height)).step_by(3) {
                let row = gray.row(y);
                for &pixel in row[left.min(gray.width)..(left + width).min(gray.width)]
                    .iter()
                    .step_by(3)
                {
                    counts[usize::from(pixel)] += 1;
                }
            }
            let wanted = (f64::from(counts.iter().sum::<u32>()) * PAPER) as u32;
            let mut sum = 0;
            let bright = counts.iter().position(|count| {
                sum += count;
                sum >= wanted
            });
            *level = bright.unwrap_or(255) as f32;
        }
        let expected = expected(&levels);
        let levels = levels.iter().zip(expected).map(|(&level, expected)| {
            if f64::from(level) > SHADOW * expected {
                level
            } else {
                expected as f32
            }
        });
        Self {
            levels: levels.collect(),
            width: width.max(1),
            height: height.max(1),
        }
    }

    fn at(&self, x: usize, y: usize) -> f32 {
        let column = (x / self.width).min(TILES - 1);
        let row = (y / self.height).min(TILES - 1);
        self.levels[row * TILES + column]
    }
}

/// How bright the paper of each tile should be: a plane laid through the tiles, those that are clearly below it left out in
/// the next round.
fn expected(levels: &[f32]) -> Vec<f64> {
    let place = |tile: usize| ((tile % TILES) as f64 - 4.5, (tile / TILES) as f64 - 4.5);
    let mut counted = vec![true; levels.len()];
    let mut plane = vec![255.0; levels.len()];
    for _ in 0..6 {
        // The tiles are even around the middle, but those left out are not: the full equations.
        let mut sums = [[0.0f64; 4]; 3];
        for (tile, &level) in levels.iter().enumerate().filter(|(tile, _)| counted[*tile]) {
            let (x, y) = place(tile);
            let row = [1.0, x, y, f64::from(level)];
            for (line, factor) in sums.iter_mut().zip([1.0, x, y]) {
                for (sum, value) in line.iter_mut().zip(row) {
                    *sum += factor * value;
                }
            }
        }
        let Some([level, across, down]) = solved(sums) else {
            break;
        };
        for (tile, expected) in plane.iter_mut().enumerate() {
            let (x, y) = place(tile);
            *expected = (level + across * x + down * y).clamp(1.0, 255.0);
            counted[tile] = f64::from(levels[tile]) > SHADOW * *expected;
        }
        if counted.iter().filter(|counted| **counted).count() < TILES {
            break;
        }
    }
    plane
}

/// Three equations with three unknowns, by elimination.
fn solved(mut rows: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for pivot in 0..3 {
        let best =
            (pivot..3).max_by(|&a, &b| rows[a][pivot].abs().total_cmp(&rows[b][pivot].abs()))?;
        rows.swap(pivot, best);
        if rows[pivot][pivot].abs() < 1e-9 {
            return None;
        }
        for row in 0..3 {
            if row != pivot {
                let times = rows[row][pivot] / rows[pivot][pivot];
                let taken = rows[pivot];
                for (value, taken) in rows[row].iter_mut().zip(taken) {
                    *value -= times * taken;
                }
            }
        }
    }
    Some([0, 1, 2].map(|row| rows[row][3] / rows[row][row]))
}

fn is_covered(gray: &Gray, paper: &Paper, (column, row): (usize, usize), side: usize) -> bool {
    let (left, top) = (column * side, row * side);
    let level = COVERED * paper.at(left, top);
    let mut dark = 0;
    for y in top..top + side {
        let pixels = &gray.row(y)[left..left + side];
        dark += pixels
            .iter()
            .filter(|&&pixel| f32::from(pixel) < level)
            .count();
    }
    dark * 10 > side * side * 8
}

/// Squares that hang together.
struct Stretch {
    left: usize,
    top: usize,
    right: usize,
    bottom: usize,
    count: usize,
}

fn stretches(covered: &mut [bool], columns: usize, rows: usize) -> Vec<Stretch> {
    let mut found = Vec::new();
    let mut stack = Vec::new();
    for start in 0..covered.len() {
        if !covered[start] || found.len() >= MAX_STRETCHES {
            continue;
        }
        covered[start] = false;
        stack.push(start);
        let mut stretch = Stretch {
            left: columns,
            top: rows,
            right: 0,
            bottom: 0,
            count: 0,
        };
        while let Some(at) = stack.pop() {
            let (column, row) = (at % columns, at / columns);
            stretch.left = stretch.left.min(column);
            stretch.right = stretch.right.max(column);
            stretch.top = stretch.top.min(row);
            stretch.bottom = stretch.bottom.max(row);
            stretch.count += 1;
            // One light square in between is a part of the picture.
            for y in row.saturating_sub(2)..(row + 3).min(rows) {
                for x in column.saturating_sub(2)..(column + 3).min(columns) {
                    let next = y * columns + x;
                    if covered[next] {
                        covered[next] = false;
                        stack.push(next);
                    }
                }
            }
        }
        if stretch.count >= 4 {
            found.push(stretch);
        }
    }
    found
}

/// Whether hardly a row of a stretch is paper: between lines of print there are such rows.
fn is_solid(gray: &Gray, paper: &Paper, bbox: Bbox) -> bool {
    let (left, right) = (bbox.l as usize, (bbox.r as usize).min(gray.width));
    let (top, bottom) = (bbox.t as usize, (bbox.b as usize).min(gray.height));
    let level = COVERED * paper.at(left.midpoint(right), top.midpoint(bottom));
    let is_covered = |y: &usize| {
        let row = &gray.row(*y)[left..right];
        let dark = row
            .iter()
            .filter(|&&pixel| f32::from(pixel) < level)
            .count();
        dark * 2 > row.len()
    };
    let covered = (top..bottom).filter(is_covered).count();
    covered * 10 > (bottom - top) * 8
}

/// A stretch to the pixel: from each side inwards to where most of a row or column is covered.
fn edges(gray: &Gray, paper: &Paper, stretch: &Stretch, side: usize) -> Bbox {
    let (left, top) = (stretch.left * side, stretch.top * side);
    let (right, bottom) = ((stretch.right + 1) * side, (stretch.bottom + 1) * side);
    let level = COVERED * paper.at(left.midpoint(right), top.midpoint(bottom));
    let rim = 2 * side;
    let covers = |cells: &mut dyn Iterator<Item = u8>| {
        let (mut dark, mut count) = (0, 0);
        for pixel in cells {
            count += 1;
            dark += usize::from(f32::from(pixel) < level);
        }
        dark * 2 > count
    };
    let column = |x: usize| covers(&mut (top..bottom).map(|y| gray.data[y * gray.width + x]));
    let row = |y: usize| covers(&mut gray.row(y)[left..right].iter().copied());
    let first_x = (left.saturating_sub(rim)..right)
        .find(|&x| column(x))
        .unwrap_or(left);
    let last_x = (left..(right + rim).min(gray.width))
        .rev()
        .find(|&x| column(x));
    let first_y = (top.saturating_sub(rim)..bottom)
        .find(|&y| row(y))
        .unwrap_or(top);
    let last_y = (top..(bottom + rim).min(gray.height))
        .rev()
        .find(|&y| row(y));
    Bbox {
        l: first_x as f32,
        t: first_y as f32,
        r: last_x.map_or(right, |x| x + 1) as f32,
        b: last_y.map_or(bottom, |y| y + 1) as f32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_found_to_the_pixel_and_print_is_none() {
        let (width, height) = (1000, 1400);
        let mut gray = Gray::new(width, height, vec![240; width * height]);
        for y in 100..600 {
            for x in 100..900 {
                if y % 30 < 14 && (x / 4 + y / 30) % 3 == 0 {
                    gray.data[y * width + x] = 20;
                }
            }
        }
        for y in 703..1101 {
            for x in 211..777 {
                gray.data[y * width + x] = 60 + ((x + y) % 120) as u8;
            }
        }

        let found = pictures(&gray, 200, false);

        let picture = Bbox {
            l: 211.0,
            t: 703.0,
            r: 777.0,
            b: 1101.0,
        };
        assert_eq!(found, [picture]);
    }
}
