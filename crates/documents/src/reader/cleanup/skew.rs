//! Pages that were not laid down straight.

use super::Gray;

/// How far a page is looked for to be askew, in degrees.
const MOST: f32 = 6.5;

/// A page is looked at about this wide.
const WIDTH: usize = 800;

/// More points than this add nothing.
const MAX_POINTS: usize = 150_000;

/// By how many degrees clockwise the lines of a page have to be turned to run level.
///
/// At the right angle the print of a line falls into the same rows: their sums are as uneven as they get.
pub(in crate::reader) fn angle(gray: &Gray) -> f32 {
    let small = gray.shrunk(gray.width.max(gray.height) / WIDTH);
    let points = points(&small);
    if points.len() < 200 {
        return 0.0;
    }
    let best = |angles: &mut dyn Iterator<Item = f32>| {
        angles
            .map(|angle| (angle, evenness(&points, angle, &small)))
            .fold(
                (0.0, -1.0),
                |best, next| if next.1 > best.1 { next } else { best },
            )
    };
    let steps = |from: f32, to: f32, step: f32| {
        let count = ((to - from) / step).round() as i32;
        (0..=count).map(move |index| from + step * index as f32)
    };
    let (rough, _) = best(&mut steps(-MOST, MOST, 0.5));
    let (near, _) = best(&mut steps(rough - 0.5, rough + 0.5, 0.1));
    let (fine, score) = best(&mut steps(near - 0.08, near + 0.08, 0.02));
    // A page without lines is as even at any angle.
    if score > 1.02 * evenness(&points, 0.0, &small) {
        fine
    } else {
        0.0
    }
}

/// Where print begins from above: the upper edges of strokes, of which pictures have few.
fn points(gray: &Gray) -> Vec<(f32, f32)> {
    let threshold = gray.threshold();
    let mut points = Vec::new();
    for y in 1..gray.height {
        let (above, row) = (gray.row(y - 1), gray.row(y));
        for (x, (&here, &before)) in row.iter().zip(above).enumerate() {
            if here < threshold && before >= threshold {
                points.push((x as f32, y as f32));
            }
        }
    }
    let step = points.len() / MAX_POINTS + 1;
    points.into_iter().step_by(step).collect()
}

fn evenness(points: &[(f32, f32)], degrees: f32, gray: &Gray) -> f64 {
    let slope = degrees.to_radians().tan();
    let shift = gray.width as f32 * slope.abs() + 1.0;
    let mut counts = vec![0u32; gray.height + 2 * shift as usize + 4];
    for &(x, y) in points {
        // Half pixels would be told apart by nobody; a row is a pixel.
        let row = (y + x * slope + shift) as usize;
        counts[row.min(gray.height + 2 * shift as usize + 3)] += 1;
    }
    counts
        .iter()
        .map(|&count| f64::from(count) * f64::from(count))
        .sum()
}

/// Turns a page clockwise about its middle; what comes in from outside is white.
pub(super) fn rotated(gray: &Gray, degrees: f32) -> Gray {
    let (sine, cosine) = f64::from(degrees).to_radians().sin_cos();
    let (middle_x, middle_y) = (
        (gray.width as f64 - 1.0) / 2.0,
        (gray.height as f64 - 1.0) / 2.0,
    );
    let mut data = Vec::with_capacity(gray.data.len());
    // In 65536ths of a pixel.
    let (step_x, step_y) = ((cosine * 65536.0) as i64, (-sine * 65536.0) as i64);
    for y in 0..gray.height {
        let down = y as f64 - middle_y;
        let start_x = -middle_x * cosine + down * sine + middle_x;
        let start_y = middle_x * sine + down * cosine + middle_y;
        let (mut at_x, mut at_y) = ((start_x * 65536.0) as i64, (start_y * 65536.0) as i64);
        for _ in 0..gray.width {
            data.push(sample(gray, at_x, at_y));
            at_x += step_x;
            at_y += step_y;
        }
    }
    Gray::new(gray.width, gray.height, data)
}

/// The gray between four pixels.
fn sample(gray: &Gray, x: i64, y: i64) -> u8 {
    let (left, top) = (x >> 16, y >> 16);
    let (across, down) = ((x & 0xffff) as u32 >> 8, (y & 0xffff) as u32 >> 8);
    let inside =
        left >= 0 && top >= 0 && left + 1 < gray.width as i64 && top + 1 < gray.height as i64;
    if !inside {
        return 255;
    }
    let at = top as usize * gray.width + left as usize;
    let pixel = |offset: usize| u32::from(gray.data[at + offset]);
    let upper = pixel(0) * (256 - across) + pixel(1) * across;
    let lower = pixel(gray.width) * (256 - across) + pixel(gray.width + 1) * across;
    ((upper * (256 - down) + lower * down + 32768) >> 16) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Gray {
        let mut data = vec![255; 1600 * 2000];
        for y in 100..1900 {
            for x in 150..1450 {
                if y % 40 < 14 && (x / 6 + y / 40 * 5) % 5 < 3 {
                    data[y * 1600 + x] = 0;
                }
            }
        }
        Gray::new(1600, 2000, data)
    }

    #[test]
    fn the_angle_of_a_page_is_found_to_a_twentieth_of_a_degree() {
        for degrees in [-4.0, -0.6, 0.0, 0.6, 2.3, 5.5] {
            let askew = lines().rotated(degrees);
            let found = angle(&askew);
            assert!((found + degrees).abs() < 0.06, "{degrees}: {found}");
        }
    }
}
