//! Places on a page that was turned or straightened.

use domain::Bbox;

use super::geometry::around;

/// Where a rectangle comes to lie when its page, of this width and height, is turned clockwise by quarters.
pub(super) fn turned_clockwise(bbox: Bbox, quarters: usize, (width, height): (f32, f32)) -> Bbox {
    let corner = |x: f32, y: f32| match quarters {
        1 => (height - y, x),
        2 => (width - x, height - y),
        3 => (y, width - x),
        _ => (x, y),
    };
    let (x0, y0) = corner(bbox.l, bbox.t);
    let (x1, y1) = corner(bbox.r, bbox.b);
    Bbox {
        l: x0.min(x1),
        t: y0.min(y1),
        r: x0.max(x1),
        b: y0.max(y1),
    }
}

/// From the straightened page back to the one that was seen.
pub(super) struct Back {
    sine: f32,
    cosine: f32,
    middle: (f32, f32),
    most: (f32, f32),
}

impl Back {
    /// Of a page of this width and height that was straightened by these degrees clockwise.
    pub(super) fn of(deskew: f32, width: f32, height: f32) -> Self {
        let (sine, cosine) = deskew.to_radians().sin_cos();
        Self {
            sine,
            cosine,
            middle: (width / 2.0, height / 2.0),
            most: (width, height),
        }
    }

    /// Where the corners come to lie, and what is around them.
    pub(super) fn place(&self, bbox: Bbox) -> Bbox {
        if self.sine == 0.0 {
            return bbox;
        }
        let corner = |x: f32, y: f32| {
            let (across, down) = (x - self.middle.0, y - self.middle.1);
            let x = self.middle.0 + across * self.cosine + down * self.sine;
            let y = self.middle.1 - across * self.sine + down * self.cosine;
            let (x, y) = (x.clamp(0.0, self.most.0), y.clamp(0.0, self.most.1));
            Bbox {
                l: x,
                t: y,
                r: x,
                b: y,
            }
        };
        around([
            corner(bbox.l, bbox.t),
            corner(bbox.r, bbox.t),
            corner(bbox.l, bbox.b),
            corner(bbox.r, bbox.b),
        ])
    }
}
