//! Print that is too small.

use super::Gray;

/// Enlarges by cubic interpolation (Catmull and Rom's), which keeps edges sharp.
pub(super) fn enlarged(gray: &Gray, times: f32) -> Gray {
    let width = (gray.width as f32 * times).round().max(1.0) as usize;
    let height = (gray.height as f32 * times).round().max(1.0) as usize;
    let columns = Taps::of(gray.width, width);
    let rows = Taps::of(gray.height, height);
    let mut wide = vec![0u8; width * gray.height];
    for (line, row) in wide
        .chunks_exact_mut(width)
        .zip(gray.data.chunks_exact(gray.width))
    {
        for ((pixel, at), weights) in line.iter_mut().zip(&columns.places).zip(&columns.weights) {
            let sum: i32 = (0..4)
                .map(|tap| i32::from(row[at[tap]]) * weights[tap])
                .sum();
            *pixel = rounded(sum);
        }
    }
    let mut data = vec![0u8; width * height];
    for ((line, at), weights) in data
        .chunks_exact_mut(width)
        .zip(&rows.places)
        .zip(&rows.weights)
    {
        let source = at.map(|row| &wide[row * width..(row + 1) * width]);
        for (x, pixel) in line.iter_mut().enumerate() {
            let sum: i32 = (0..4)
                .map(|tap| i32::from(source[tap][x]) * weights[tap])
                .sum();
            *pixel = rounded(sum);
        }
    }
    Gray::new(width, height, data)
}

const fn rounded(sum: i32) -> u8 {
    let value = (sum + 2048) >> 12;
    if value < 0 {
        0
    } else if value > 255 {
        255
    } else {
        value as u8
    }
}

/// For each new pixel four old ones and how much each counts, in 4096ths.
struct Taps {
    places: Vec<[usize; 4]>,
    weights: Vec<[i32; 4]>,
}

impl Taps {
    fn of(from: usize, to: usize) -> Self {
        let (mut places, mut weights) = (Vec::with_capacity(to), Vec::with_capacity(to));
        let last = from as i64 - 1;
        for index in 0..to {
            let at = (index as f64 + 0.5) * from as f64 / to as f64 - 0.5;
            let first = at.floor();
            let part = at - first;
            let first = first as i64;
            places.push([-1, 0, 1, 2].map(|tap| (first + tap).clamp(0, last) as usize));
            let (square, cube) = (part * part, part * part * part);
            let parts = [
                -0.5 * cube + square - 0.5 * part,
                1.5 * cube - 2.5 * square + 1.0,
                -1.5 * cube + 2.0 * square + 0.5 * part,
                0.5 * cube - 0.5 * square,
            ];
            weights.push(parts.map(|part| (part * 4096.0).round() as i32));
        }
        Self { places, weights }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_gray_stays_even_and_an_edge_stays_where_it_is() {
        let even = Gray::new(7, 5, vec![90; 35]);
        let edge = Gray::new(8, 1, vec![0, 0, 0, 0, 255, 255, 255, 255]);

        assert!(
            even.enlarged(2.5)
                .data
                .iter()
                .all(|pixel| pixel.abs_diff(90) <= 1)
        );
        let large = edge.enlarged(4.0);
        assert_eq!(
            large.data.iter().filter(|&&pixel| pixel < 128).count(),
            16 * 4
        );
    }
}
