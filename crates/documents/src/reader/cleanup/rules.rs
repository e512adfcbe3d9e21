//! Lines drawn on paper.

use domain::Bbox;

use super::Gray;

/// How long a line must be, in inches: longer than a stroke of any letter.
const LONG: f32 = 0.3;

/// How thick it may be, in inches: as three points.
const THICK: f32 = 0.045;

/// Gaps of so many inches do not end it: print is uneven. On coarse pages letters are no further from each other.
const GAP: f32 = 0.0067;

/// Beside a line there is paper: at most this part of what runs along it is dark.
const BESIDE: f32 = 0.35;

/// Pages with more dark stretches are pictures.
const MAX_STRETCHES: usize = 200_000;

/// Finds lines that run level or upright on a page of so many dots per inch.
pub(in crate::reader) fn rules(gray: &Gray, dpi: u32) -> Vec<Bbox> {
    // Thin lines are gray when scanned.
    let threshold = gray.threshold().max(140);
    let dark = |x: usize, y: usize| gray.data[y * gray.width + x] < threshold;
    let level = along(gray.width, gray.height, dpi, dark);
    let upright = along(gray.height, gray.width, dpi, |along, across| {
        dark(across, along)
    });
    let upright = upright.into_iter().map(|rule| Bbox {
        l: rule.t,
        t: rule.l,
        r: rule.b,
        b: rule.r,
    });
    level.into_iter().chain(upright).collect()
}

/// A page without its lines: what recognises letters takes them for some.
pub(in crate::reader) fn erased(gray: &Gray, rules: &[Bbox]) -> Gray {
    let mut erased = gray.clone();
    for rule in rules {
        // What is beside a line is gray from it.
        let rim = 2.0;
        let (left, right) = ((rule.l - rim).max(0.0) as usize, (rule.r + rim) as usize);
        let (top, bottom) = ((rule.t - rim).max(0.0) as usize, (rule.b + rim) as usize);
        for y in top..bottom.min(gray.height) {
            let row = y * gray.width;
            let (from, to) = (left.min(gray.width), right.min(gray.width));
            erased.data[row + from..row + to].fill(255);
        }
    }
    erased
}

/// Lines along the first axis of a page.
fn along(
    length: usize,
    breadth: usize,
    dpi: u32,
    dark: impl Fn(usize, usize) -> bool,
) -> Vec<Bbox> {
    let shortest = (LONG * dpi as f32) as usize;
    let thickest = (THICK * dpi as f32).max(4.0);
    let gap = (GAP * dpi as f32) as usize;
    let mut open: Vec<Bbox> = Vec::new();
    let mut found = Vec::new();
    let mut count = 0;
    for across in 0..breadth {
        let mut at = 0;
        while at < length {
            if !dark(at, across) {
                at += 1;
                continue;
            }
            let from = at;
            let mut last = at;
            while at < length && at - last <= gap {
                if dark(at, across) {
                    last = at;
                }
                at += 1;
            }
            if last - from < shortest {
                continue;
            }
            count += 1;
            if count > MAX_STRETCHES {
                return Vec::new();
            }
            let stretch = Bbox {
                l: from as f32,
                t: across as f32,
                r: last as f32 + 1.0,
                b: across as f32 + 1.0,
            };
            let touching = open
                .iter_mut()
                .find(|rule| rule.l < stretch.r + 3.0 && stretch.l < rule.r + 3.0);
            match touching {
                Some(rule) => *rule = rule.union(stretch),
                None => open.push(stretch),
            }
        }
        // A line that got no stretch in three rows has ended.
        let (ended, going): (Vec<Bbox>, Vec<Bbox>) = open
            .into_iter()
            .partition(|rule| across as f32 > rule.b + 2.0);
        found.extend(ended);
        open = going;
    }
    found.extend(open);
    found.retain(|rule| rule.height() <= thickest && rule.width() > 6.0 * rule.height());
    found.retain(|rule| {
        let beside = |across: f32| {
            if across < 0.0 || across >= breadth as f32 {
                return true;
            }
            let run = rule.l as usize..(rule.r as usize).min(length);
            let dark = run.filter(|&at| dark(at, across as usize)).count();
            (dark as f32) < BESIDE * rule.width()
        };
        beside(rule.t - 3.0) && beside(rule.b + 2.0)
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_and_taken_away_and_strokes_are_not() {
        let mut gray = Gray::new(400, 300, vec![255; 120_000]);
        for x in 50..350 {
            for y in 100..102 {
                gray.data[y * 400 + x] = 60;
            }
        }
        for y in 20..280 {
            gray.data[y * 400 + 200] = 90;
        }
        for y in 40..70 {
            for x in 60..64 {
                gray.data[y * 400 + x] = 0;
            }
        }

        let found = rules(&gray, 200);

        let level = Bbox {
            l: 50.0,
            t: 100.0,
            r: 350.0,
            b: 102.0,
        };
        let upright = Bbox {
            l: 200.0,
            t: 20.0,
            r: 201.0,
            b: 280.0,
        };
        assert_eq!(found, [level, upright]);
        let erased = erased(&gray, &found);
        assert_eq!(
            erased.data.iter().filter(|&&pixel| pixel < 255).count(),
            120
        );
    }
}
