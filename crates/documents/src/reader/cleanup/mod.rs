//! A scanned page made fit to be recognised: upright, even, clean, straight, large enough.
//!
//! Plain loops over gray pixels; each step says whether it was needed, and none is taken that is not.

mod background;
mod blank;
mod components;
mod ground;
mod noise;
mod orientation;
mod regions;
mod rules;
mod scale;
mod skew;

pub(super) use blank::is_blank;
pub(super) use components::{letter_height, letters_of, small_height};
pub(super) use noise::{is_grain, is_noisy};
pub(super) use orientation::lies_sideways;
pub(super) use regions::pictures;
pub(super) use rules::{erased, rules};
pub(super) use skew::angle;

/// What is darker than this is no paper.
const DARK: u8 = 110;

/// A page in shades of gray, 0 black and 255 white.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gray {
    /// In pixels.
    pub width: usize,
    /// In pixels.
    pub height: usize,
    /// Row by row.
    pub data: Vec<u8>,
}

impl Gray {
    /// Of pixels row by row.
    pub(super) const fn new(width: usize, height: usize, data: Vec<u8>) -> Self {
        Self {
            width,
            height,
            data,
        }
    }

    /// A row of pixels.
    pub(super) fn row(&self, y: usize) -> &[u8] {
        &self.data[y * self.width..(y + 1) * self.width]
    }

    /// It turned clockwise by quarters.
    pub(super) fn turned(&self, quarters: usize) -> Self {
        let (width, height) = (self.width, self.height);
        match quarters % 4 {
            1 => {
                let mut data = vec![0; self.data.len()];
                for y in 0..height {
                    for (x, &pixel) in self.row(y).iter().enumerate() {
                        data[x * height + height - 1 - y] = pixel;
                    }
                }
                Self::new(height, width, data)
            }
            2 => Self::new(width, height, self.data.iter().rev().copied().collect()),
            3 => {
                let mut data = vec![0; self.data.len()];
                for y in 0..height {
                    for (x, &pixel) in self.row(y).iter().enumerate() {
                        data[(width - 1 - x) * height + y] = pixel;
                    }
                }
                Self::new(height, width, data)
            }
            _ => self.clone(),
        }
    }

    /// It at a whole fraction of its size: each pixel the mean of a square.
    pub(super) fn shrunk(&self, times: usize) -> Self {
        if times <= 1 {
            return self.clone();
        }
        let (width, height) = ((self.width / times).max(1), (self.height / times).max(1));
        let mut data = Vec::with_capacity(width * height);
        for y in 0..height {
            for x in 0..width {
                let (mut sum, mut count) = (0u32, 0u32);
                for row in y * times..((y + 1) * times).min(self.height) {
                    let from = row * self.width + x * times;
                    let to = (from + times).min((row + 1) * self.width);
                    sum += self.data[from..to]
                        .iter()
                        .map(|&pixel| u32::from(pixel))
                        .sum::<u32>();
                    count += (to - from) as u32;
                }
                data.push((sum / count.max(1)) as u8);
            }
        }
        Self::new(width, height, data)
    }

    /// Turns white on black into black on white, where it is, and leaves paper that lies on something dark; tells whether there was any.
    pub(super) fn set_black_on_white(&mut self) -> bool {
        // Print covers a fifth of its paper at most: where most is dark, the paper is.
        let dark = self
            .data
            .iter()
            .step_by(7)
            .filter(|&&pixel| pixel < DARK)
            .count();
        if dark * 7 < self.data.len() * 6 / 10 {
            return false;
        }
        ground::lighten(self);
        true
    }

    /// Makes paper evenly white and print black; tells whether that was needed.
    pub(super) fn even_out(&mut self) -> bool {
        background::even_out(self)
    }

    /// Takes specks and grain away.
    pub(super) fn smooth(&mut self) {
        noise::smooth(self);
    }

    /// It turned by degrees clockwise about its middle, on white.
    pub(super) fn rotated(&self, degrees: f32) -> Self {
        skew::rotated(self, degrees)
    }

    /// It at a multiple of its size.
    pub(super) fn enlarged(&self, times: f32) -> Self {
        scale::enlarged(self, times)
    }

    /// The gray that parts print from paper: Otsu's, within what either can be.
    pub(super) fn threshold(&self) -> u8 {
        let mut counts = [0u64; 256];
        for &pixel in self.data.iter().step_by(3) {
            counts[usize::from(pixel)] += 1;
        }
        let total: u64 = counts.iter().sum();
        let sum: f64 = counts
            .iter()
            .zip(0u32..)
            .map(|(&count, level)| count as f64 * f64::from(level))
            .sum();
        let (mut below, mut sum_below) = (0u64, 0f64);
        let (mut best, mut threshold) = (0f64, 128u8);
        for level in 0..=255u8 {
            let count = counts[usize::from(level)];
            below += count;
            sum_below += count as f64 * f64::from(level);
            let above = total - below;
            if below == 0 || above == 0 {
                continue;
            }
            let apart = sum_below / below as f64 - (sum - sum_below) / above as f64;
            let between = below as f64 * above as f64 * apart * apart;
            if between > best {
                (best, threshold) = (between, level);
            }
        }
        threshold.clamp(80, 200)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_quarters_make_a_whole() {
        let gray = Gray::new(3, 2, vec![1, 2, 3, 4, 5, 6]);

        assert_eq!(gray.turned(1), Gray::new(2, 3, vec![4, 1, 5, 2, 6, 3]));
        assert_eq!(gray.turned(2), Gray::new(3, 2, vec![6, 5, 4, 3, 2, 1]));
        assert_eq!(gray.turned(1).turned(3), gray);
    }

    #[test]
    fn white_on_black_is_inverted_and_black_on_white_is_not() {
        let mut dark = Gray::new(10, 10, vec![20; 100]);
        let mut light = Gray::new(10, 10, vec![230; 100]);

        assert!(dark.set_black_on_white());
        assert_eq!(dark.data, vec![235; 100]);
        assert!(!light.set_black_on_white());
    }
}
