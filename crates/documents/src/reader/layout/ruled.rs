//! Tables whose cells are drawn: rules that cross.

use domain::Bbox;

use super::{Cell, Table, Word};
use crate::reader::geometry::{Place, median};

/// More rules than this on a page, once those in one line are joined, are a drawing.
const MAX_RULES: usize = 2_000;

/// More cells than this are graph paper.
const MAX_CELLS: usize = 10_000;

/// Less than this part of the cells filled is a drawing, or a form to be filled in.
const MIN_FILLED: f32 = 0.2;

/// The cells of a table with one row or one column are no higher than this, in parts of the size.
const MAX_STRIP: f32 = 4.0;

/// Takes the words that stand in drawn tables out, and returns the tables and the other words.
pub(super) fn tables(rules: &[Bbox], mut words: Vec<Word>) -> (Vec<Table>, Vec<Word>) {
    if rules.len() < 4 || words.is_empty() {
        return (Vec::new(), words);
    }
    let size = median(words.iter().map(|word| word.size));
    let reach = reach(size);
    let level = straightened(rules, reach, false);
    let upright = straightened(rules, reach, true);
    if level.len() + upright.len() > MAX_RULES {
        return (Vec::new(), words);
    }
    let mut tables = Vec::new();
    for group in crossing(&level, &upright, reach) {
        if let Some(grid) = Grid::of(&group, reach)
            && (grid.has_rows_and_columns() || grid.is_strip(&words, size))
            && let Some(table) = grid.fill(&mut words)
        {
            tables.push(table);
        }
    }
    (tables, words)
}

/// The cells of drawn tables, merged ones in one piece; rules that come as near as `reach` meet. Tables with cells of more than
/// `tallest` are left out, as they frame a text.
pub(in crate::reader) fn cells(rules: &[Bbox], reach: f32, tallest: f32) -> Vec<Bbox> {
    let level = straightened(rules, reach, false);
    let upright = straightened(rules, reach, true);
    if rules.len() < 4 || level.len() + upright.len() > MAX_RULES {
        return Vec::new();
    }
    let mut cells = Vec::new();
    for group in crossing(&level, &upright, reach) {
        let Some(grid) = Grid::of(&group, reach).filter(Grid::has_rows_and_columns) else {
            continue;
        };
        let (merged, owner) = grid.merged();
        let boxes: Vec<Bbox> = merged.iter().map(|cell| grid.bbox(cell)).collect();
        let area: usize = merged
            .iter()
            .map(|cell| cell.row_span * cell.column_span)
            .sum();
        // A cell around a corner has no box of its own.
        if area == owner.len() && boxes.iter().all(|cell| cell.height() <= tallest) {
            cells.extend(boxes);
        }
    }
    cells
}

/// A level or upright rule: its place across, and from where to where it runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub at: f32,
    pub from: f32,
    pub to: f32,
}

/// The level rules beside words of this size, those in one line joined, from top to bottom; none of a drawing.
pub(super) fn level(rules: &[Bbox], size: f32) -> Vec<Rule> {
    let level = straightened(rules, reach(size), false);
    if level.len() > MAX_RULES {
        return Vec::new();
    }
    level
}

/// Rules meet when they come as near as a fifth of a letter's size.
const fn reach(size: f32) -> f32 {
    (0.25 * size).max(1.0)
}

/// Rules of one direction, with those in one line joined.
fn straightened(rules: &[Bbox], reach: f32, upright: bool) -> Vec<Rule> {
    let mut straight: Vec<Rule> = rules
        .iter()
        .filter(|rule| (rule.height() > rule.width()) == upright)
        .map(|rule| {
            if upright {
                Rule {
                    at: rule.middle_x(),
                    from: rule.t,
                    to: rule.b,
                }
            } else {
                Rule {
                    at: rule.middle_y(),
                    from: rule.l,
                    to: rule.r,
                }
            }
        })
        .collect();
    straight.sort_by(|a, b| a.at.total_cmp(&b.at));
    let mut lines: Vec<Vec<Rule>> = Vec::new();
    for rule in straight {
        match lines.last_mut() {
            Some(line) if rule.at - line[0].at < reach => line.push(rule),
            _ => lines.push(vec![rule]),
        }
    }
    let mut joined = Vec::new();
    for mut line in lines {
        let at = line.iter().map(|rule| rule.at).sum::<f32>() / line.len() as f32;
        line.sort_by(|a, b| a.from.total_cmp(&b.from));
        let mut open: Option<Rule> = None;
        for rule in line {
            match &mut open {
                Some(open) if rule.from - open.to < reach => open.to = open.to.max(rule.to),
                _ => {
                    joined.extend(open.replace(Rule { at, ..rule }));
                }
            }
        }
        joined.extend(open);
    }
    joined
}

/// Rules that hang together.
struct Group {
    level: Vec<Rule>,
    upright: Vec<Rule>,
}

fn crossing(level: &[Rule], upright: &[Rule], reach: f32) -> Vec<Group> {
    let count = level.len();
    let mut parents: Vec<usize> = (0..count + upright.len()).collect();
    for (row, across) in level.iter().enumerate() {
        for (column, down) in upright.iter().enumerate() {
            let meet = down.at > across.from - reach
                && down.at < across.to + reach
                && across.at > down.from - reach
                && across.at < down.to + reach;
            if meet {
                let (a, b) = (root(&mut parents, row), root(&mut parents, count + column));
                parents[a] = b;
            }
        }
    }
    let mut groups: Vec<(usize, Group)> = Vec::new();
    for index in 0..parents.len() {
        let root = root(&mut parents, index);
        let at = groups.iter().position(|(known, _)| *known == root);
        let at = at.unwrap_or_else(|| {
            let group = Group {
                level: Vec::new(),
                upright: Vec::new(),
            };
            groups.push((root, group));
            groups.len() - 1
        });
        if index < count {
            groups[at].1.level.push(level[index]);
        } else {
            groups[at].1.upright.push(upright[index - count]);
        }
    }
    groups
        .into_iter()
        .map(|(_, group)| group)
        .filter(|group| group.level.len() >= 2 && !group.upright.is_empty())
        .collect()
}

fn root(parents: &mut [usize], mut index: usize) -> usize {
    while parents[index] != index {
        parents[index] = parents[parents[index]];
        index = parents[index];
    }
    index
}

/// Where a table's rows and columns begin, and which of the lines between them are drawn.
struct Grid<'g> {
    xs: Vec<f32>,
    ys: Vec<f32>,
    group: &'g Group,
    reach: f32,
}

impl<'g> Grid<'g> {
    fn of(group: &'g Group, reach: f32) -> Option<Self> {
        // A table may be open at its sides: then its rules end where its sides would be.
        let ends = |rules: &[Rule]| {
            let from = rules.iter().map(|rule| rule.from).fold(f32::MAX, f32::min);
            let to = rules.iter().map(|rule| rule.to).fold(f32::MIN, f32::max);
            [from, to]
        };
        let xs = group.upright.iter().map(|rule| rule.at);
        let ys = group.level.iter().map(|rule| rule.at);
        let xs = distinct(xs.chain(ends(&group.level)), reach);
        let ys = distinct(ys.chain(ends(&group.upright)), reach);
        let (columns, rows) = (xs.len() - 1, ys.len() - 1);
        let is_table = columns * rows >= 2 && columns * rows <= MAX_CELLS;
        is_table.then_some(Self {
            xs,
            ys,
            group,
            reach,
        })
    }

    const fn has_rows_and_columns(&self) -> bool {
        self.xs.len() > 2 && self.ys.len() > 2
    }

    /// Whether it is one row or one column of closed cells, each low and with something in: else it frames texts, or is the
    /// frame of a drawing.
    fn is_strip(&self, words: &[Word], size: f32) -> bool {
        let (rows, columns) = (self.ys.len() - 1, self.xs.len() - 1);
        (0..rows * columns).all(|at| {
            let (row, column) = (at / columns, at % columns);
            let cell = Bbox {
                l: self.xs[column],
                t: self.ys[row],
                r: self.xs[column + 1],
                b: self.ys[row + 1],
            };
            let closed = self.is_upright_drawn(row, column)
                && self.is_upright_drawn(row, column + 1)
                && self.is_level_drawn(row, column)
                && self.is_level_drawn(row + 1, column);
            closed
                && cell.height() < MAX_STRIP * size
                && words
                    .iter()
                    .any(|word| cell.holds(word.bbox.middle_x(), word.bbox.middle_y()))
        })
    }

    /// Takes the words in its cells; `None`, and none taken, where they do not make a table.
    fn fill(&self, words: &mut Vec<Word>) -> Option<Table> {
        let bbox = Bbox {
            l: self.xs[0],
            t: self.ys[0],
            r: self.xs[self.xs.len() - 1],
            b: self.ys[self.ys.len() - 1],
        };
        let (rows, columns) = (self.ys.len() - 1, self.xs.len() - 1);
        let (mut cells, owner) = self.merged();
        let (inside, outside): (Vec<Word>, Vec<Word>) = std::mem::take(words)
            .into_iter()
            .partition(|word| bbox.holds(word.bbox.middle_x(), word.bbox.middle_y()));
        for word in inside {
            let row = place(&self.ys, word.bbox.middle_y());
            let column = place(&self.xs, word.bbox.middle_x());
            cells[owner[row * columns + column]].words.push(word);
        }
        let filled = cells.iter().filter(|cell| !cell.words.is_empty()).count();
        let enough = filled as f32 >= MIN_FILLED * cells.len() as f32 && filled >= 2;
        *words = outside;
        if !enough || self.has_rows_and_columns() && cells.len() < 3 {
            words.extend(cells.into_iter().flat_map(|cell| cell.words));
            return None;
        }
        let mut table = Table {
            rows,
            columns,
            cells,
            bbox,
        };
        table.finish();
        Some(table)
    }

    /// Where a cell is.
    fn bbox(&self, cell: &Cell) -> Bbox {
        Bbox {
            l: self.xs[cell.column],
            t: self.ys[cell.row],
            r: self.xs[cell.column + cell.column_span],
            b: self.ys[cell.row + cell.row_span],
        }
    }

    /// Its cells, merged where no line is drawn between them, and to which of them each place of the grid belongs.
    fn merged(&self) -> (Vec<Cell>, Vec<usize>) {
        let (rows, columns) = (self.ys.len() - 1, self.xs.len() - 1);
        let mut parents: Vec<usize> = (0..rows * columns).collect();
        for row in 0..rows {
            for column in 0..columns {
                let here = row * columns + column;
                if column + 1 < columns && !self.is_upright_drawn(row, column + 1) {
                    let (a, b) = (root(&mut parents, here), root(&mut parents, here + 1));
                    parents[a.max(b)] = a.min(b);
                }
                if row + 1 < rows && !self.is_level_drawn(row + 1, column) {
                    let (a, b) = (root(&mut parents, here), root(&mut parents, here + columns));
                    parents[a.max(b)] = a.min(b);
                }
            }
        }
        let mut cells: Vec<Cell> = Vec::new();
        let mut owner = vec![usize::MAX; rows * columns];
        for here in 0..rows * columns {
            let first = root(&mut parents, here);
            let (row, column) = (here / columns, here % columns);
            if owner[first] == usize::MAX {
                owner[first] = cells.len();
                cells.push(Cell {
                    row,
                    column,
                    row_span: 1,
                    column_span: 1,
                    ..Cell::default()
                });
            }
            owner[here] = owner[first];
            let cell = &mut cells[owner[here]];
            cell.row_span = cell.row_span.max(row - cell.row + 1);
            cell.column_span = cell
                .column_span
                .max((column + 1).saturating_sub(cell.column));
        }
        (cells, owner)
    }

    /// Whether the line left of a column is drawn beside a row.
    fn is_upright_drawn(&self, row: usize, column: usize) -> bool {
        let middle = f32::midpoint(self.ys[row], self.ys[row + 1]);
        self.group.upright.iter().any(|rule| {
            (rule.at - self.xs[column]).abs() < self.reach && rule.from < middle && middle < rule.to
        })
    }

    /// Whether the line above a row is drawn over a column.
    fn is_level_drawn(&self, row: usize, column: usize) -> bool {
        let middle = f32::midpoint(self.xs[column], self.xs[column + 1]);
        self.group.level.iter().any(|rule| {
            (rule.at - self.ys[row]).abs() < self.reach && rule.from < middle && middle < rule.to
        })
    }
}

/// Values that are further from each other than `reach`, ascending.
fn distinct(values: impl Iterator<Item = f32>, reach: f32) -> Vec<f32> {
    let mut values: Vec<f32> = values.collect();
    values.sort_by(f32::total_cmp);
    let mut distinct: Vec<f32> = Vec::new();
    for value in values {
        match distinct.last() {
            Some(last) if value - last < 2.0 * reach => {}
            _ => distinct.push(value),
        }
    }
    distinct
}

/// Between which two of the edges a place is.
fn place(edges: &[f32], at: f32) -> usize {
    let after = edges.partition_point(|edge| *edge <= at);
    after.saturating_sub(1).min(edges.len() - 2)
}
