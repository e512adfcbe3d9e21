//! Rectangles, and the middle of many numbers.

use domain::Bbox;

/// What is asked of rectangles here.
pub(super) trait Place {
    /// Its middle from left to right.
    fn middle_x(&self) -> f32;
    /// Its middle from top to bottom.
    fn middle_y(&self) -> f32;
    /// Its area.
    fn area(&self) -> f32;
    /// What both cover, as an area.
    fn shared(&self, other: &Bbox) -> f32;
    /// How wide a stretch both cover; negative for the gap between them.
    fn shared_width(&self, other: &Bbox) -> f32;
    /// How high a stretch both cover; negative for the gap between them.
    fn shared_height(&self, other: &Bbox) -> f32;
    /// Whether a point is in it.
    fn holds(&self, x: f32, y: f32) -> bool;
    /// It with a rim.
    fn grown(&self, rim: f32) -> Bbox;
}

impl Place for Bbox {
    fn middle_x(&self) -> f32 {
        f32::midpoint(self.l, self.r)
    }

    fn middle_y(&self) -> f32 {
        f32::midpoint(self.t, self.b)
    }

    fn area(&self) -> f32 {
        self.width().max(0.0) * self.height().max(0.0)
    }

    fn shared(&self, other: &Bbox) -> f32 {
        self.shared_width(other).max(0.0) * self.shared_height(other).max(0.0)
    }

    fn shared_width(&self, other: &Bbox) -> f32 {
        self.r.min(other.r) - self.l.max(other.l)
    }

    fn shared_height(&self, other: &Bbox) -> f32 {
        self.b.min(other.b) - self.t.max(other.t)
    }

    fn holds(&self, x: f32, y: f32) -> bool {
        self.l <= x && x <= self.r && self.t <= y && y <= self.b
    }

    fn grown(&self, rim: f32) -> Bbox {
        Bbox {
            l: self.l - rim,
            t: self.t - rim,
            r: self.r + rim,
            b: self.b + rim,
        }
    }
}

/// The smallest rectangle around all of them.
pub(super) fn around(boxes: impl IntoIterator<Item = Bbox>) -> Bbox {
    boxes.into_iter().reduce(Bbox::union).unwrap_or_default()
}

/// The middle value; 0 of none.
pub(super) fn median(values: impl IntoIterator<Item = f32>) -> f32 {
    let mut values: Vec<f32> = values.into_iter().collect();
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f32::total_cmp).1
}

/// The value at which half of the weight is reached; 0 of none.
pub(super) fn weighted_median(values: impl IntoIterator<Item = (f32, f32)>) -> f32 {
    let mut values: Vec<(f32, f32)> = values.into_iter().collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = values.iter().map(|value| value.1).sum::<f32>() / 2.0;
    let mut sum = 0.0;
    for (value, weight) in values {
        sum += weight;
        if sum >= half {
            return value;
        }
    }
    0.0
}
