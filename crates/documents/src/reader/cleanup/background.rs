//! Shadows, yellowed paper, faint print.

use super::Gray;

/// Paper is looked at in squares of this many pixels.
const BLOCK: usize = 8;

/// Print is bridged by looking this many squares around: a letter of 14 points at 300 dots per inch.
const REACH: usize = 3;

/// Paper that is no darker than this, and as even as that, is left alone.
const WHITE: u8 = 240;
const EVEN: u8 = 10;

/// Print that is no lighter than this is black enough.
const BLACK: u8 = 90;

/// Divides by the paper's own gray, then stretches what is left from print to paper.
pub(super) fn even_out(gray: &mut Gray) -> bool {
    let (black, white) = (percentile(gray, 0.01), percentile(gray, 0.6));
    let paper = paper(gray);
    let levels = &paper.2;
    let darkest = levels.iter().copied().min().unwrap_or(255);
    let brightest = levels.iter().copied().max().unwrap_or(255);
    if darkest >= WHITE && brightest - darkest <= EVEN && white >= WHITE && black <= BLACK {
        return false;
    }
    divide_by(gray, &paper);
    stretch(gray);
    true
}

/// Divides by the paper's own gray: shadows and yellow go, and paper is white.
pub(super) fn divide(gray: &mut Gray) {
    let paper = paper(gray);
    divide_by(gray, &paper);
}

fn divide_by(gray: &mut Gray, (columns, rows, paper): &(usize, usize, Vec<u8>)) {
    for y in 0..gray.height {
        for x in 0..gray.width {
            let level = between(paper, (*columns, *rows), x, y).max(1);
            let pixel = &mut gray.data[y * gray.width + x];
            *pixel = (u32::from(*pixel) * 255 / level).min(255) as u8;
        }
    }
}

/// The gray of the paper behind each square.
fn paper(gray: &Gray) -> (usize, usize, Vec<u8>) {
    let (columns, rows) = (gray.width.div_ceil(BLOCK), gray.height.div_ceil(BLOCK));
    let mut levels = vec![0u8; columns * rows];
    for row in 0..rows {
        for column in 0..columns {
            levels[row * columns + column] = brighter_part(gray, column, row);
        }
    }
    let levels = spread(&levels, columns, rows);
    let levels = blurred(&levels, columns, rows);
    (columns, rows, blurred(&levels, columns, rows))
}

/// The mean of what is brighter than the mean: the brightest pixel alone would be grain.
fn brighter_part(gray: &Gray, column: usize, row: usize) -> u8 {
    let xs = column * BLOCK..((column + 1) * BLOCK).min(gray.width);
    let pixels = || {
        (row * BLOCK..((row + 1) * BLOCK).min(gray.height))
            .flat_map(|y| &gray.data[y * gray.width + xs.start..y * gray.width + xs.end])
            .map(|&pixel| u32::from(pixel))
    };
    let count = pixels().count().max(1) as u32;
    let mean = pixels().sum::<u32>() / count;
    let (sum, count) = pixels()
        .filter(|&pixel| pixel >= mean)
        .fold((0, 0), |(sum, count), pixel| (sum + pixel, count + 1));
    (sum / count.max(1)) as u8
}

/// Each square as bright as the brightest around it.
fn spread(levels: &[u8], columns: usize, rows: usize) -> Vec<u8> {
    let mut wide = vec![0u8; levels.len()];
    for row in 0..rows {
        for column in 0..columns {
            let from = column.saturating_sub(REACH);
            let to = (column + REACH + 1).min(columns);
            let around = &levels[row * columns + from..row * columns + to];
            wide[row * columns + column] = around.iter().copied().max().unwrap_or(0);
        }
    }
    let mut high = vec![0u8; levels.len()];
    for row in 0..rows {
        for other in row.saturating_sub(REACH)..(row + REACH + 1).min(rows) {
            for column in 0..columns {
                let level = wide[other * columns + column];
                let here = &mut high[row * columns + column];
                *here = (*here).max(level);
            }
        }
    }
    high
}

fn blurred(levels: &[u8], columns: usize, rows: usize) -> Vec<u8> {
    let mut blurred = vec![0u8; levels.len()];
    for row in 0..rows {
        for column in 0..columns {
            let (mut sum, mut count) = (0u32, 0u32);
            for y in row.saturating_sub(REACH)..(row + REACH + 1).min(rows) {
                let from = y * columns + column.saturating_sub(REACH);
                let to = y * columns + (column + REACH + 1).min(columns);
                sum += levels[from..to]
                    .iter()
                    .map(|&level| u32::from(level))
                    .sum::<u32>();
                count += (to - from) as u32;
            }
            blurred[row * columns + column] = (sum / count.max(1)) as u8;
        }
    }
    blurred
}

/// The paper's gray at a pixel, between the middles of the squares around it.
fn between(paper: &[u8], (columns, rows): (usize, usize), x: usize, y: usize) -> u32 {
    // In sixteenths of a square; the middle of the first one is at eight.
    let at = |pixel: usize, count: usize| {
        let place = (pixel * 16 / BLOCK).saturating_sub(8);
        let first = (place / 16).min(count - 1);
        (first, (first + 1).min(count - 1), (place % 16) as u32)
    };
    let (left, right, across) = at(x, columns);
    let (upper, lower, down) = at(y, rows);
    let level = |row: usize, column: usize| u32::from(paper[row * columns + column]);
    let top = level(upper, left) * (16 - across) + level(upper, right) * across;
    let bottom = level(lower, left) * (16 - across) + level(lower, right) * across;
    (top * (16 - down) + bottom * down) / 256
}

/// Print covers a twentieth of a page and paper most of it: the first and the sixtieth percent are print and paper.
fn stretch(gray: &mut Gray) {
    let (black, white) = (percentile(gray, 0.01), percentile(gray, 0.6));
    if white <= black.saturating_add(10) {
        return;
    }
    let span = u32::from(white - black);
    let mut table = [0u8; 256];
    for (level, entry) in table.iter_mut().enumerate() {
        let above = (level as u32).saturating_sub(u32::from(black));
        *entry = (above * 255 / span).min(255) as u8;
    }
    for pixel in &mut gray.data {
        *pixel = table[usize::from(*pixel)];
    }
}

/// The gray that this part of the pixels is not brighter than.
pub(super) fn percentile(gray: &Gray, part: f64) -> u8 {
    let mut counts = [0u64; 256];
    for &pixel in gray.data.iter().step_by(5) {
        counts[usize::from(pixel)] += 1;
    }
    let wanted = (counts.iter().sum::<u64>() as f64 * part) as u64;
    let mut sum = 0;
    for (level, count) in counts.iter().enumerate() {
        sum += count;
        if sum > wanted {
            return level as u8;
        }
    }
    255
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of print on paper that darkens from left to right.
    fn shaded(black: u8, bright: usize, dark: usize) -> Gray {
        let (width, height) = (400, 300);
        let mut data = Vec::new();
        for y in 0..height {
            for x in 0..width {
                let paper = bright - (bright - dark) * x / width;
                let print = y % 20 < 6 && x % 9 < 3;
                data.push(if print {
                    paper * usize::from(black) / 255
                } else {
                    paper
                } as u8);
            }
        }
        Gray::new(width, height, data)
    }

    #[test]
    fn a_shadow_and_faint_print_are_evened_out() {
        let mut gray = shaded(150, 240, 140);

        assert!(gray.even_out());

        for x in [10, 200, 390] {
            let paper = gray.data[15 * gray.width + x];
            let print = gray.data[22 * gray.width + x / 9 * 9 + 1];
            assert!(paper > 225 && print < 60, "{x}: {paper} {print}");
        }
    }

    #[test]
    fn a_clean_page_is_left_alone() {
        let mut gray = shaded(10, 255, 255);
        let before = gray.clone();

        assert!(!gray.even_out());
        assert_eq!(gray, before);
    }
}
