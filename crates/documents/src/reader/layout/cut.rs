//! A page cut into columns, in reading order.
//!
//! White that runs from top to bottom parts columns; what crosses it, a heading over all of them or a wide table, parts the
//! page into bands, each with columns of its own.

use domain::Bbox;

use super::{Body, Piece, aligned};
use crate::reader::geometry::{Place, around, weighted_median};

/// White between columns, in parts of the size.
const GUTTER: f32 = 1.0;

/// How far above and below a heading columns are looked for, in parts of the size: some lines, as they end unevenly.
const BESIDE: f32 = 8.0;

/// A label is narrower, in parts of the size: a few words.
const LABEL: f32 = 12.0;

/// What stands below columns after more white than this, in parts of the size, and is no more than labels, belongs to a drawing
/// under them.
const DRAWING: f32 = 3.0;

/// How deep pages are cut: columns in bands in columns.
const MAX_DEPTH: usize = 8;

/// A page with more rows is a drawing, and read from top to bottom.
const MAX_ROWS: usize = 400;

/// What stands in one column, from top to bottom.
pub(super) type Column = Vec<Piece>;

/// Cuts a page.
pub(super) fn columns(pieces: Vec<Piece>, rules: &[Bbox], body: Body) -> Vec<Column> {
    let mut columns = Vec::new();
    let cutter = Cutter { rules, body };
    cutter.cut(pieces, 0, &mut columns);
    columns
}

struct Cutter<'c> {
    rules: &'c [Bbox],
    body: Body,
}

/// Pieces that stand beside each other.
struct Row {
    pieces: Vec<Piece>,
    bbox: Bbox,
}

impl Cutter<'_> {
    fn cut(&self, pieces: Vec<Piece>, depth: usize, columns: &mut Vec<Column>) {
        let mut pieces = self.with_tables(pieces);
        if pieces.len() < 2 || depth >= MAX_DEPTH {
            sort(&mut pieces);
            columns.push(pieces);
            return;
        }
        let size = size(&pieces, self.body);
        let all: Vec<&Piece> = pieces.iter().collect();
        let gutters = gutters(&all, size);
        if !gutters.is_empty() && !self.has_separator(&pieces, &gutters, size) {
            for side in split(pieces, &gutters) {
                self.cut(side, depth + 1, columns);
            }
            return;
        }
        let rows = rows(pieces, size);
        match self.band(&rows, size) {
            None => {
                let mut pieces: Vec<Piece> = rows.into_iter().flat_map(|row| row.pieces).collect();
                sort(&mut pieces);
                columns.push(pieces);
            }
            Some((from, to)) => {
                let (mut above, mut band, mut below) = (Vec::new(), Vec::new(), Vec::new());
                for (at, row) in rows.into_iter().enumerate() {
                    let part = match at {
                        at if at < from => &mut above,
                        at if at < to => &mut band,
                        _ => &mut below,
                    };
                    part.extend(row.pieces);
                }
                if !above.is_empty() {
                    self.cut(above, depth + 1, columns);
                }
                self.cut_band(band, depth, columns);
                if !below.is_empty() {
                    self.cut(below, depth + 1, columns);
                }
            }
        }
    }

    fn cut_band(&self, band: Vec<Piece>, depth: usize, columns: &mut Vec<Column>) {
        let band = self.with_tables(band);
        let size = size(&band, self.body);
        let all: Vec<&Piece> = band.iter().collect();
        let gutters = gutters(&all, size);
        for side in split(band, &gutters) {
            self.cut(side, depth + 1, columns);
        }
    }

    /// Replaces lines that make a table by it.
    fn with_tables(&self, pieces: Vec<Piece>) -> Vec<Piece> {
        let lines: Vec<_> = pieces.iter().filter_map(Piece::line).collect();
        if lines.len() < 4 {
            return pieces;
        }
        let found = aligned::find(&lines, self.rules);
        if found.is_empty() {
            return pieces;
        }
        let taken: std::collections::HashSet<usize> = found
            .iter()
            .flat_map(|(_, taken)| taken.iter().copied())
            .collect();
        let mut line = 0;
        let mut kept: Vec<Piece> = pieces
            .into_iter()
            .filter(|piece| {
                let Piece::Line(_) = piece else { return true };
                line += 1;
                !taken.contains(&(line - 1))
            })
            .collect();
        kept.extend(found.into_iter().map(|(table, _)| Piece::Table(table)));
        kept
    }

    /// Whether a heading over all columns stands in their midst, though it is no wider than one.
    fn has_separator(&self, pieces: &[Piece], gutters: &[f32], size: f32) -> bool {
        let rows = rows(pieces.to_vec(), size);
        (1..rows.len().saturating_sub(1)).any(|at| self.is_separator(&rows, 0, at, gutters))
    }

    /// Whether a row from `start` on is a heading alone, with white above and below over all columns, and columns beyond.
    fn is_separator(&self, rows: &[Row], start: usize, at: usize, gutters: &[f32]) -> bool {
        let row = &rows[at];
        let [Piece::Line(line)] = row.pieces.as_slice() else {
            return false;
        };
        let is_heading = line.size > 1.1 * self.body.size || self.body.is_bold(line.stroke);
        if !is_heading || at <= start || at + 1 >= rows.len() {
            return false;
        }
        // More white than a space between paragraphs leaves beside a heading in the next column.
        let above = row.bbox.t - rows[at - 1].bbox.b;
        let below = rows[at + 1].bbox.t - row.bbox.b;
        if above < 0.7 * self.body.size || below < 0.2 * self.body.size {
            return false;
        }
        let reach = BESIDE * self.body.size;
        let before = rows[start..at].iter().rev();
        let before = before.take_while(|other| row.bbox.t - other.bbox.b < reach);
        let after = rows[at + 1..].iter();
        let after = after.take_while(|other| other.bbox.t - row.bbox.b < reach);
        sides(before, gutters) >= 2 && sides(after, gutters) >= 2
    }

    /// The highest band of rows that has columns.
    fn band(&self, rows: &[Row], size: f32) -> Option<(usize, usize)> {
        if rows.len() > MAX_ROWS {
            return None;
        }
        let mut best: Option<(f32, usize, usize)> = None;
        for from in 0..rows.len() {
            let mut covered = Coverage::default();
            let mut to = from;
            while to < rows.len() {
                let mut wider = covered.clone();
                wider.add(&rows[to], size);
                if !wider.has_gutter() && to > from && covered.has_gutter() {
                    break;
                }
                if covered.has_gutter() && self.is_separator(rows, from, to, &covered.gutters()) {
                    break;
                }
                covered = wider;
                to += 1;
                // Rows that cover everything from the first on will not part again.
                if !covered.has_gutter() && to - from >= 2 {
                    break;
                }
            }
            let (start, end) = trimmed(rows, from, to, size);
            if end <= start {
                continue;
            }
            let parted = |end: usize| {
                let pieces = rows[start..end].iter().flat_map(|row| &row.pieces);
                gutters(&pieces.collect::<Vec<&Piece>>(), size).len()
            };
            let whole = parted(end);
            let shorter = self.trimmed_end(rows, start, end, size);
            let left = if shorter < end {
                parted(shorter)
            } else {
                whole
            };
            // What held columns together is no label under them.
            let (end, left) = if left > whole {
                (end, whole)
            } else {
                (shorter, left)
            };
            if left == 0 {
                continue;
            }
            let height = rows[end - 1].bbox.b - rows[start].bbox.t;
            if best.is_none_or(|(known, ..)| height > known) {
                best = Some((height, start, end));
            }
        }
        let (_, from, to) = best?;
        // A band that is all there is was cut already, or has a heading in its midst.
        (from > 0 || to < rows.len()).then_some((from, to))
    }

    /// Leaves to what is below the columns what belongs there though it is too short to cross a gutter: a heading, which never
    /// ends a column, and the labels of a drawing.
    fn trimmed_end(&self, rows: &[Row], start: usize, end: usize, size: f32) -> usize {
        if end >= rows.len() || end < start + 2 {
            return end;
        }
        let white = |at: usize| rows[at].bbox.t - rows[at - 1].bbox.b;
        if let [Piece::Line(line)] = rows[end - 1].pieces.as_slice()
            && (line.size > 1.1 * self.body.size || self.body.is_bold(line.stroke))
            // Letters of one width are thicker than others: what ends with them is a program.
            && line.pitch().is_none()
            && white(end - 1) > 0.7 * self.body.size
        {
            return end - 1;
        }
        let is_label =
            |piece: &Piece| piece.line().is_some() && piece.bbox().width() < LABEL * size;
        let mut at = end - 1;
        while at > start && rows[at].pieces.iter().all(is_label) {
            if white(at) > DRAWING * size {
                return at;
            }
            at -= 1;
        }
        end
    }
}

/// In how many of the columns between gutters rows have something.
fn sides<'r>(rows: impl Iterator<Item = &'r Row>, gutters: &[f32]) -> usize {
    let side = |piece: &Piece| {
        let middle = piece.bbox().middle_x();
        gutters.iter().filter(|gutter| middle > **gutter).count()
    };
    let mut sides: Vec<usize> = rows.flat_map(|row| &row.pieces).map(side).collect();
    sides.sort_unstable();
    sides.dedup();
    sides.len()
}

/// Leaves the end of a paragraph or of an address above to it: a short last line crosses no gutter.
fn trimmed(rows: &[Row], from: usize, to: usize, size: f32) -> (usize, usize) {
    let mut start = from;
    while start > 0 && start < to {
        let [Piece::Line(line)] = rows[start].pieces.as_slice() else {
            break;
        };
        let above = &rows[start - 1];
        let goes_on = above.pieces.iter().any(|piece| {
            piece.line().is_some_and(|last| {
                let shorter = last.bbox.width() > 1.3 * line.bbox.width();
                let alone = above.pieces.len() == 1;
                (last.size / line.size - 1.0).abs() < 0.1
                    && line.baseline - last.baseline < 1.5 * size
                    && (shorter || alone && are_flush(last.bbox, line.bbox, 0.3 * size))
            })
        });
        if !goes_on {
            break;
        }
        start += 1;
    }
    (start, to)
}

/// Whether two lines begin, end or are centred below each other.
fn are_flush(one: Bbox, other: Bbox, off: f32) -> bool {
    let near = |a: f32, b: f32| (a - b).abs() < off;
    near(one.l, other.l) || near(one.r, other.r) || near(one.middle_x(), other.middle_x())
}

/// Which stretches from left to right are covered.
#[derive(Debug, Clone, Default)]
struct Coverage {
    /// Ascending, apart from each other.
    stretches: Vec<(f32, f32)>,
}

impl Coverage {
    fn add(&mut self, row: &Row, size: f32) {
        for piece in &row.pieces {
            let bbox = piece.bbox();
            self.stretches.push((bbox.l, bbox.r));
        }
        self.stretches.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut joined: Vec<(f32, f32)> = Vec::with_capacity(self.stretches.len());
        for &(from, to) in &self.stretches {
            match joined.last_mut() {
                Some(last) if from - last.1 < GUTTER * size => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        self.stretches = joined;
    }

    const fn has_gutter(&self) -> bool {
        self.stretches.len() > 1
    }

    fn gutters(&self) -> Vec<f32> {
        let between = |pair: &[(f32, f32)]| f32::midpoint(pair[0].1, pair[1].0);
        self.stretches.windows(2).map(between).collect()
    }
}

/// Where columns are parted: the middles of what is white from top to bottom, with columns worth the name on both sides.
fn gutters(pieces: &[&Piece], size: f32) -> Vec<f32> {
    let mut pieces = pieces.to_vec();
    pieces.sort_by(|a, b| a.bbox().l.total_cmp(&b.bbox().l));
    let mut columns: Vec<(Bbox, Vec<&Piece>)> = Vec::new();
    for piece in pieces {
        let bbox = piece.bbox();
        match columns.last_mut() {
            Some((column, members)) if bbox.l - column.r < GUTTER * size => {
                *column = column.union(bbox);
                members.push(piece);
            }
            _ => columns.push((bbox, vec![piece])),
        }
    }
    // Lines side by side are one line. Something must be several lines high to be a column: two lines of justified text may
    // have their wide spaces in the same place by chance, unless what is between them is wider than any space.
    let widest = columns
        .windows(2)
        .map(|pair| pair[1].0.l - pair[0].0.r)
        .fold(0.0, f32::max);
    let least = if widest > 3.0 * size { 2 } else { 3 };
    let is_column = |(column, members): &(Bbox, Vec<&Piece>)| {
        let tall = members.iter().any(|it| it.bbox().height() > 4.0 * size);
        tall || column.height() > 2.2 * size && levels(members) >= least
    };
    if columns.iter().filter(|column| is_column(column)).count() < 2 {
        return Vec::new();
    }
    columns
        .windows(2)
        .filter(|pair| {
            let (left, right) = (&pair[0].0, &pair[1].0);
            let shared = left.shared_height(right);
            // What stands lower and further right is no column beside it.
            shared > 0.3 * left.height().min(right.height())
                && (is_column(&pair[0]) || is_column(&pair[1]))
                && !are_pairs(&pair[0].1, &pair[1].1, size)
        })
        .map(|pair| f32::midpoint(pair[0].0.r, pair[1].0.l))
        .collect()
}

/// Whether two columns are labels and what they label, a pair to a line, as on an invoice: these are read line by line. The
/// lines of two addresses stand beside each other as well, so labels have no digits, and what they label mostly has.
fn are_pairs(left: &[&Piece], right: &[&Piece], size: f32) -> bool {
    let lines = |side: &[&Piece]| -> Option<Vec<(f32, String)>> {
        let lines = side.iter().map(|piece| piece.line());
        let told = lines.map(|line| line.map(|line| (line.baseline, line.text())));
        told.collect()
    };
    let (Some(labels), Some(values)) = (lines(left), lines(right)) else {
        return false;
    };
    let has_digit = |text: &str| text.contains(char::is_numeric);
    let has_one_value = |baseline: f32| {
        let here = values
            .iter()
            .filter(|(other, _)| (other - baseline).abs() < 0.3 * size);
        here.count() == 1
    };
    let numbers = values.iter().filter(|(_, text)| has_digit(text)).count();
    labels.len() == values.len()
        && left.iter().all(|piece| piece.bbox().width() < LABEL * size)
        && labels
            .iter()
            .all(|(at, text)| has_one_value(*at) && !has_digit(text))
        && (2 * numbers > values.len() || labels.iter().all(|(_, text)| text.ends_with(':')))
}

/// How many lines below each other there are.
fn levels(members: &[&Piece]) -> usize {
    let boxes = members.iter().map(|piece| piece.bbox());
    let mut middles: Vec<(f32, f32)> = boxes.map(|it| (it.middle_y(), it.height())).collect();
    middles.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut count = 0;
    let mut last = f32::MIN;
    for (middle, height) in middles {
        if middle - last > 0.5 * height {
            count += 1;
            last = middle;
        }
    }
    count
}

/// Pieces by the gutter that they stand left of.
fn split(pieces: Vec<Piece>, gutters: &[f32]) -> Vec<Vec<Piece>> {
    let mut sides: Vec<Vec<Piece>> = (0..=gutters.len()).map(|_| Vec::new()).collect();
    for piece in pieces {
        let middle = piece.bbox().middle_x();
        let side = gutters.iter().filter(|gutter| middle > **gutter).count();
        sides[side].push(piece);
    }
    sides.retain(|side| !side.is_empty());
    sides
}

/// Pieces in rows with white between them from left to right, from top to bottom.
fn rows(mut pieces: Vec<Piece>, size: f32) -> Vec<Row> {
    pieces.sort_by(|a, b| a.bbox().t.total_cmp(&b.bbox().t));
    let mut rows: Vec<Row> = Vec::new();
    for piece in pieces {
        let bbox = piece.bbox();
        match rows.last_mut() {
            // Lines that are set tightly overlap a little.
            Some(row) if bbox.t < row.bbox.b - 0.2 * size => {
                row.bbox = row.bbox.union(bbox);
                row.pieces.push(piece);
            }
            _ => rows.push(Row {
                bbox,
                pieces: vec![piece],
            }),
        }
    }
    rows
}

fn sort(pieces: &mut [Piece]) {
    pieces.sort_by(|a, b| a.middle().total_cmp(&b.middle()));
}

fn size(pieces: &[Piece], body: Body) -> f32 {
    let lines = pieces.iter().filter_map(Piece::line);
    let size = weighted_median(lines.map(|line| (line.size, line.bbox.width())));
    if size > 0.0 { size } else { body.size }
}

/// Where a column is.
pub(super) fn extent(column: &[Piece]) -> Bbox {
    around(column.iter().map(Piece::bbox))
}
