//! From where to where the columns of rows reach.

use super::Row;
use crate::reader::layout::lines::Line;

/// White from top to bottom between columns, in parts of the size.
const GUTTER: f32 = 0.7;

/// From where to where each column reaches: what at most `crossing` rows cover is white, where it is wide or one of `gutters`.
pub(super) fn of(
    lines: &[&Line],
    rows: &[Row],
    (size, gutters): (f32, &[f32]),
    crossing: usize,
) -> Vec<(f32, f32)> {
    let boxes = rows.iter().flatten().map(|&index| lines[index].bbox);
    let mut columns: Vec<(f32, f32)> = Vec::new();
    for (from, to) in covered(boxes.map(|bbox| (bbox.l, bbox.r)), crossing) {
        let is_gutter = |left: f32| {
            from - left >= GUTTER * size
                || gutters
                    .iter()
                    .any(|gutter| left <= *gutter && *gutter <= from)
        };
        match columns.last_mut() {
            Some(last) if !is_gutter(last.1) => last.1 = to,
            _ => columns.push((from, to)),
        }
    }
    columns
}

/// What more than `crossing` of the stretches cover, from left to right.
pub(super) fn covered(
    stretches: impl Iterator<Item = (f32, f32)>,
    crossing: usize,
) -> Vec<(f32, f32)> {
    let mut edges: Vec<(f32, i32)> = stretches
        .flat_map(|(from, to)| [(from, 1), (to, -1)])
        .collect();
    edges.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let crossing = crossing as i32;
    let mut covered: Vec<(f32, f32)> = Vec::new();
    let (mut depth, mut open) = (0, None);
    for (at, step) in edges {
        depth += step;
        match open {
            None if depth > crossing => open = Some(at),
            Some(start) if depth <= crossing => {
                covered.push((start, at));
                open = None;
            }
            _ => {}
        }
    }
    covered
}
