//! Tables without rules: rows of short texts that stand under each other.
//!
//! Columns of prose look alike when their lines share baselines. What tells them apart: their pieces are long, nearly as wide
//! as the column, and begin in the middle of a sentence.

mod columns;
mod figures;
mod gutters;

use domain::Bbox;

use super::{Cell, Table, cells, lines::Line, markers};
use crate::reader::geometry::{Place, median};

/// Rows of a table are no further from each other than this, in parts of the size.
const REACH: f32 = 3.2;

/// The lines of one cell follow each other as lines of prose do.
const LEADING: f32 = 1.5;

/// Lines whose baselines are nearer to each other than this, in parts of the size, overlap: those of two rows seldom do, those of
/// one row do where a cell of one line stands in the middle beside a cell of two.
const OVERLAP: f32 = 0.85;

/// More lines than this in one stretch are looked at as if they ended there.
const MAX_ROWS: usize = 400;

/// Lines side by side.
type Row = Vec<usize>;

/// Finds tables among stretches of lines. Returns each with the indices of the lines that it takes.
pub(super) fn find(lines: &[&Line], rules: &[Bbox]) -> Vec<(Table, Vec<usize>)> {
    let rows = rows(lines);
    let mut found = Vec::new();
    let mut start = 0;
    while start < rows.len() {
        if let Some(table) = figures::table(lines, &rows, start) {
            let taken = rows[start..start + 2].iter().flatten();
            found.push((table, taken.copied().collect()));
            start += 2;
            continue;
        }
        let run = run(lines, &rows, start);
        if run.len() < 2 {
            start += 1;
            continue;
        }
        start += run.len();
        if let Some(table) = table(lines, run, rules) {
            found.push((table, run.iter().flatten().copied().collect()));
        }
    }
    found
}

/// A stretch of rows as a table, if it is one.
fn table(lines: &[&Line], run: &[Row], rules: &[Bbox]) -> Option<Table> {
    let is_table = |plan: &Plan<'_>| !plan.is_prose() && !plan.is_lists();
    let (drawn, run): (Vec<Row>, Vec<Row>) =
        run.iter().cloned().partition(|row| is_drawn(lines, row));
    let drawn = drawn.iter().map(|row| lines[row[0]].bbox);
    let rules: Vec<Bbox> = rules.iter().copied().chain(drawn).collect();
    let plan = Plan::of(lines, &run, &[]).filter(is_table)?;
    // Once it is a table, narrower white tells more of its columns; it alone would tell too little.
    let narrower = gutters::part(lines, &run).and_then(|parted| {
        let lines: Vec<&Line> = parted.lines.iter().collect();
        let plan = Plan::of(&lines, &parted.rows, &parted.gutters).filter(is_table)?;
        Some(plan.table(&rules))
    });
    Some(narrower.unwrap_or_else(|| plan.table(&rules)))
}

/// Lines by baseline, each row from left to right.
fn rows(lines: &[&Line]) -> Vec<Row> {
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by(|&a, &b| lines[a].baseline.total_cmp(&lines[b].baseline));
    let mut rows: Vec<Row> = Vec::new();
    for index in order {
        match rows.last_mut() {
            Some(row) if lines[row[0]].is_level_with(lines[index]) => row.push(index),
            _ => rows.push(vec![index]),
        }
    }
    for row in &mut rows {
        row.sort_by(|&a, &b| lines[a].bbox.l.total_cmp(&lines[b].bbox.l));
    }
    rows
}

/// Whether a row is a rule that is drawn with characters, `-----`: it parts rows as a rule does, and stands in no column.
fn is_drawn(lines: &[&Line], row: &Row) -> bool {
    let [line] = row.as_slice() else {
        return false;
    };
    let [word] = lines[*line].words.as_slice() else {
        return false;
    };
    let mut letters = word.text.chars();
    let first = letters.next().filter(|letter| "-=_*~─━═".contains(*letter));
    word.text.chars().count() >= 5 && letters.all(|letter| Some(letter) == first)
}

/// Whether a line is an item of a list that does not count.
fn begins_with_bullet(line: &Line) -> bool {
    let marked = markers::split(&line.text());
    marked.is_some_and(|marked| marked.number.is_none())
}

/// Whether the cells of a row stand exactly over those of another.
fn heads(lines: &[&Line], row: &Row, other: &Row) -> bool {
    row.len() == other.len()
        && row.iter().zip(other).all(|(&above, &below)| {
            let near = |a: f32, b: f32| (a - b).abs() < 0.6 * lines[below].size;
            let (above, below) = (lines[above].bbox, lines[below].bbox);
            near(above.l, below.l)
                || near(above.r, below.r)
                || near(above.middle_x(), below.middle_x())
        })
}

/// The longest stretch of rows from `start` that may be one table.
fn run<'r>(lines: &[&Line], rows: &'r [Row], start: usize) -> &'r [Row] {
    if rows[start].len() < 2 {
        return &[];
    }
    let mut end = start + 1;
    let mut last_tabular = start;
    while end < rows.len() && end - start < MAX_ROWS {
        let (above, row) = (lines[rows[end - 1][0]], lines[rows[end][0]]);
        let size = above.size.max(row.size);
        let distance = row.baseline - above.baseline;
        let alike = above.size / row.size < 1.3 && row.size / above.size < 1.3;
        if distance > REACH * size || !alike {
            break;
        }
        if is_drawn(lines, &rows[end]) {
            // It parts the head of a table from its rows, or one table from the next.
            let below = rows.get(end + 1);
            if end > start + 1 || below.is_none_or(|row| !heads(lines, &rows[start], row)) {
                break;
            }
        } else if rows[end].len() >= 2 {
            last_tabular = end;
        } else {
            // One text alone: the second line of a cell, or what follows the table.
            let below = lines[rows[end][0]];
            let in_a_column = rows[last_tabular].iter().any(|&cell| {
                let cell = lines[cell];
                (cell.bbox.l - below.bbox.l).abs() < 0.6 * size
                    || (cell.bbox.r - below.bbox.r).abs() < 0.6 * size
                    || gutters::begins_at(cell, below.bbox.l)
            });
            // Two addresses side by side overlap as well, where their lines are not as far from each other.
            let beside = distance < OVERLAP * size
                && rows[start..=last_tabular].iter().any(|row| row.len() >= 3);
            if !in_a_column && !beside || end - last_tabular > 2 {
                break;
            }
        }
        end += 1;
    }
    // The second line of a last cell stays; anything further off does not.
    while end > last_tabular + 1 {
        let (above, row) = (lines[rows[end - 2][0]], lines[rows[end - 1][0]]);
        let near = row.baseline - above.baseline < LEADING * row.size;
        let first_column =
            (row.bbox.l - lines[rows[last_tabular][0]].bbox.l).abs() < 0.6 * row.size;
        if near && !first_column {
            break;
        }
        end -= 1;
    }
    &rows[start..end]
}

/// What a column has of a row.
struct Piece<'l> {
    /// From left to right; there is always one.
    words: Vec<&'l str>,
    /// How much of the column's width it takes.
    fill: f32,
}

/// Rows with columns.
struct Plan<'l> {
    lines: &'l [&'l Line],
    rows: &'l [Row],
    /// From where to where each column reaches.
    columns: Vec<(f32, f32)>,
    size: f32,
}

impl<'l> Plan<'l> {
    /// Of rows, where known `gutters` part columns though they are narrow.
    fn of(lines: &'l [&'l Line], rows: &'l [Row], gutters: &[f32]) -> Option<Self> {
        let size = median(rows.iter().flatten().map(|&index| lines[index].size));
        // A merged cell covers the white between its columns: a fifth of the rows may.
        let strict = columns::of(lines, rows, (size, gutters), 0);
        let lenient = columns::of(lines, rows, (size, gutters), rows.len() / 5);
        let widest = rows.iter().map(Vec::len).max().unwrap_or(0);
        let columns = if strict.len() >= widest {
            strict
        } else {
            lenient
        };
        let full = rows.iter().filter(|row| row.len() >= 2).count();
        // Two lines of justified text may have their wide spaces in the same places by chance; three seldom do.
        let narrowest = columns
            .windows(2)
            .map(|pair| pair[1].0 - pair[0].1)
            .fold(f32::MAX, f32::min);
        let least = if columns.len() > 2 { 0.9 } else { 1.2 };
        // Narrow gutters are known of what is a table without them.
        let enough = !gutters.is_empty()
            || (columns.len() >= 2 && full >= 3 && (full > 3 || narrowest > least * size))
            || (columns.len() >= 3 && full >= 2 && narrowest > 2.2 * size);
        // Each of the columns but one must be filled now and then: a stray word makes none.
        let plan = Self {
            lines,
            rows,
            columns,
            size,
        };
        (enough && plan.is_filled()).then_some(plan)
    }

    fn is_filled(&self) -> bool {
        let mut filled = vec![0usize; self.columns.len()];
        for &index in self.rows.iter().flatten() {
            filled[self.span(index).0] += 1;
        }
        filled.iter().filter(|&&count| count < 2).count() <= usize::from(self.columns.len() > 2)
    }

    /// The first and the last column that a line touches.
    fn span(&self, index: usize) -> (usize, usize) {
        let bbox = self.lines[index].bbox;
        let touches = |&(from, to): &(f32, f32)| {
            let shared = bbox.r.min(to) - bbox.l.max(from);
            shared > 0.5 * self.size || shared > 0.5 * bbox.width().min(to - from)
        };
        let first = self.columns.iter().position(touches);
        let last = self.columns.iter().rposition(touches);
        if let (Some(first), Some(last)) = (first, last) {
            return (first, last);
        }
        let distance = |(from, to): (f32, f32)| (f32::midpoint(from, to) - bbox.l).abs();
        let nearest = (0..self.columns.len())
            .min_by(|&a, &b| distance(self.columns[a]).total_cmp(&distance(self.columns[b])))
            .unwrap_or(0);
        (nearest, nearest)
    }

    /// Whether it is running text in columns.
    fn is_prose(&self) -> bool {
        let pieces = self.pieces();
        let words = median(pieces.iter().map(|piece| piece.words.len() as f32));
        let share = |test: &dyn Fn(&Piece<'_>) -> bool| {
            pieces.iter().filter(|piece| test(piece)).count() as f32 / pieces.len().max(1) as f32
        };
        let begun = share(&|piece| piece.words[0].starts_with(char::is_lowercase));
        let broken = share(&|piece| {
            piece.words.len() > 1 && piece.words[piece.words.len() - 1].ends_with('-')
        });
        let is_digit = |letter: char| letter.is_ascii_digit();
        let numbers = share(&|piece| piece.words[0].contains(is_digit));
        let fill = median(pieces.iter().map(|piece| piece.fill));
        let rows = self.rows.len();
        self.is_justified()
            || words > 4.0 && rows > 3
            || broken > 0.1 && words > 2.0
            || begun > 0.6 && words >= 2.0
            || rows > 12 && fill > 0.75 && words > 2.0 && numbers < 0.2
    }

    /// Whether its columns are lists beside each other: most of what stands in each of them begins with a mark that does not
    /// count. A column that has no such marks names what the others list.
    fn is_lists(&self) -> bool {
        let mut marked = vec![(0usize, 0usize); self.columns.len()];
        for &index in self.rows.iter().flatten() {
            let column = &mut marked[self.span(index).0];
            column.0 += 1;
            column.1 += usize::from(begins_with_bullet(self.lines[index]));
        }
        marked
            .iter()
            .all(|&(all, marked)| marked > 1 && 2 * marked >= all)
    }

    /// Whether what looks like gutters are the wide spaces of justified text: in a line they are all alike.
    fn is_justified(&self) -> bool {
        let (mut alike, mut pairs) = (0usize, 0usize);
        for row in self.rows {
            let words = row.iter().flat_map(|&index| &self.lines[index].words);
            let places: Vec<(f32, f32)> = words.map(|word| (word.bbox.l, word.bbox.r)).collect();
            let gaps = places.windows(2).map(|pair| pair[1].0 - pair[0].1);
            // Spaces in cells are no wider than elsewhere, and no gutters; letters of one width have wide ones, all alike.
            let pitch = row.iter().find_map(|&index| self.lines[index].pitch());
            let space = pitch.map_or(0.45, |pitch| 1.5 * pitch) * self.size;
            let gaps: Vec<f32> = gaps.filter(|gap| *gap > space).collect();
            pairs += gaps.len().saturating_sub(1);
            alike += gaps
                .windows(2)
                .filter(|pair| (pair[0] - pair[1]).abs() < 0.06 * self.size)
                .count();
        }
        pairs >= 4 && alike * 10 > pairs * 4
    }

    /// What each column has of each row: in justified text, lines come in several stretches.
    fn pieces(&self) -> Vec<Piece<'_>> {
        let mut pieces = Vec::new();
        for row in self.rows {
            let mut open: Option<(usize, Bbox, Piece<'_>)> = None;
            for &index in row {
                let line = self.lines[index];
                let (first, last) = self.span(index);
                let words = line.words.iter().map(|word| word.text.as_str());
                if let Some((column, bbox, piece)) = &mut open
                    && *column == first
                {
                    *bbox = bbox.union(line.bbox);
                    piece.words.extend(words);
                    let width = self.columns[last].1 - self.columns[first].0;
                    piece.fill = bbox.width() / width.max(1.0);
                    continue;
                }
                let width = self.columns[last].1 - self.columns[first].0;
                let piece = Piece {
                    words: words.collect(),
                    fill: line.bbox.width() / width.max(1.0),
                };
                pieces.extend(
                    open.replace((first, line.bbox, piece))
                        .map(|(.., piece)| piece),
                );
            }
            pieces.extend(open.map(|(.., piece)| piece));
        }
        pieces
    }

    fn table(&self, rules: &[Bbox]) -> Table {
        let starts = self.row_starts(rules);
        let mut table = Table {
            rows: starts.iter().filter(|start| **start).count(),
            columns: self.columns.len(),
            ..Table::default()
        };
        let mut row = 0;
        for (at, indices) in self.rows.iter().enumerate() {
            row += usize::from(starts[at] && at > 0);
            for &index in indices {
                let (first, last) = self.span(index);
                let words = self.lines[index].words.iter().cloned();
                let known = table
                    .cells
                    .iter_mut()
                    .rev()
                    .take(2 * self.columns.len())
                    .find(|cell| cell.row == row && cell.column == first);
                if let Some(cell) = known {
                    cell.words.extend(words);
                } else {
                    table.cells.push(Cell {
                        row,
                        column: first,
                        row_span: 1,
                        column_span: last - first + 1,
                        words: words.collect(),
                        ..Cell::default()
                    });
                }
            }
        }
        fill_gaps(&mut table);
        table.finish();
        table.bbox = cells::extent(&table);
        table
    }

    /// Which lines begin a row of the table, and which go on with the one above.
    fn row_starts(&self, rules: &[Bbox]) -> Vec<bool> {
        let levels: Vec<f32> = self
            .rows
            .iter()
            .map(|row| self.lines[row[0]].baseline)
            .collect();
        let (left, right) = (self.columns[0].0, self.columns[self.columns.len() - 1].1);
        let ruled: Vec<bool> = (1..levels.len())
            .map(|at| {
                rules.iter().any(|rule| {
                    rule.width() > 0.6 * (right - left)
                        && rule.t > levels[at - 1]
                        && rule.b < levels[at]
                        && rule.r.min(right) - rule.l.max(left) > 0.6 * (right - left)
                })
            })
            .collect();
        let mut starts = vec![true];
        // Rules below most rows show where they end; one below the head shows nothing, nor do two around rows that fill all
        // columns each.
        let drawn = ruled.iter().filter(|drawn| **drawn).count();
        let full = (1..levels.len())
            .filter(|&at| !ruled[at - 1] && self.rows[at].len() == self.columns.len());
        if drawn >= 2.max(levels.len() / 3) && full.count() <= drawn {
            starts.extend(ruled);
            return starts;
        }
        let whole = |at: usize| self.rows[at].iter().any(|&index| self.span(index).0 == 0);
        let distances: Vec<f32> = (1..levels.len())
            .filter(|&at| whole(at) && whole(at - 1))
            .map(|at| levels[at] - levels[at - 1])
            .collect();
        let typical = median(distances);
        for at in 1..levels.len() {
            let distance = levels[at] - levels[at - 1];
            let is_near = distance < LEADING * self.size && distance < 0.85 * typical;
            let below = !whole(at)
                && (is_near || distance < LEADING * self.size && typical == 0.0)
                && self.rows[at].len() < self.columns.len();
            // A row may have its one-line cells in the middle beside a cell of several lines: then it begins above them.
            let amid = whole(at)
                && !whole(at - 1)
                && starts[at - 1]
                && is_near
                && self.rows[at - 1].len() < self.columns.len();
            let overlaps = distance < OVERLAP * self.size && self.are_beside(at - 1, at);
            starts.push(!(below || amid || overlaps));
        }
        starts
    }

    /// Whether the lines of two rows stand beside each other and none above another: rows that are set tightly are two.
    fn are_beside(&self, one: usize, other: usize) -> bool {
        let boxes = |row: usize| self.rows[row].iter().map(|&index| self.lines[index].bbox);
        boxes(one).all(|above| {
            boxes(other).all(|below| above.r.min(below.r) - above.l.max(below.l) < 0.1 * self.size)
        })
    }
}

/// Puts empty cells where nothing stands.
fn fill_gaps(table: &mut Table) {
    let mut taken = vec![false; table.rows * table.columns];
    for cell in &table.cells {
        for column in cell.column..cell.column + cell.column_span {
            taken[cell.row * table.columns + column] = true;
        }
    }
    for (at, _) in taken.iter().enumerate().filter(|(_, taken)| !**taken) {
        table.cells.push(Cell {
            row: at / table.columns,
            column: at % table.columns,
            row_span: 1,
            column_span: 1,
            ..Cell::default()
        });
    }
}
