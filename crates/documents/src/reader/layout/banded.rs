//! Tables with level rules alone: rules of one width above each other say where their rows end.
//!
//! Such as have rules at their head and foot alone are left to `aligned`: there a band between rules has many rows.

use domain::Bbox;

use super::{
    Cell, Table, Word, cells,
    ruled::{self, Rule},
};
use crate::reader::geometry::{Place, median};

/// Fewer rules of one width are the head and the foot of a table, or underline something.
const MIN_RULES: usize = 3;

/// No page has more rows of a table.
const MAX_RULES: usize = 200;

/// How far the text of a row is from the rules around it at most, and its lines from each other, in parts of the size.
const PADDING: f32 = 2.0;

/// White from top to bottom between columns, in parts of the size: more than a space between words, which a cell may have in
/// the same place in all of its rows.
const GUTTER: f32 = 0.5;

/// How far above the first rule the words that head its columns begin, in parts of the size, and how far their lines are
/// from each other.
const HEAD: f32 = 2.2;
const LEADING: f32 = 1.3;

/// Words whose baselines differ by less than this part of the size are on one line.
const LEVEL: f32 = 0.3;

/// The baselines of a band with more lines are looked at as those of a text.
const MAX_LINES: usize = 12;

/// So many lines of a band that fill the same columns are rows, or text in columns, and no cells of several lines.
const MAX_REPEATED: usize = 3;

/// Takes the words that stand in banded tables out, and returns the tables and the other words.
pub(super) fn tables(rules: &[Bbox], mut words: Vec<Word>) -> (Vec<Table>, Vec<Word>) {
    let size = median(words.iter().map(|word| word.size));
    let mut tables = Vec::new();
    for rules in stacks(ruled::level(rules, size), size) {
        let stack = Stack::of(&rules, size);
        let mut from = 0;
        while from + MIN_RULES <= rules.len() {
            let end = stack.run(&words, from);
            if end + 1 - from >= MIN_RULES {
                tables.push(stack.take(from..end, &mut words));
            }
            from = end.max(from + 1);
        }
    }
    (tables, words)
}

/// Rules that begin and end under each other, each stack from top to bottom.
fn stacks(rules: Vec<Rule>, size: f32) -> Vec<Vec<Rule>> {
    let mut stacks: Vec<Vec<Rule>> = Vec::new();
    for rule in rules {
        let near = |a: f32, b: f32| (a - b).abs() < 0.5 * size;
        let known = stacks
            .iter_mut()
            .find(|stack| near(stack[0].from, rule.from) && near(stack[0].to, rule.to));
        match known {
            Some(stack) => stack.push(rule),
            None => stacks.push(vec![rule]),
        }
    }
    // Graph paper has more, and long tables have fewer.
    stacks.retain(|stack| (MIN_RULES..MAX_RULES).contains(&stack.len()));
    stacks
}

/// Level rules above each other.
struct Stack<'s> {
    rules: &'s [Rule],
    left: f32,
    right: f32,
    size: f32,
}

/// Words of one row, by their place in the list of all.
type Band = Vec<usize>;

impl<'s> Stack<'s> {
    fn of(rules: &'s [Rule], size: f32) -> Self {
        Self {
            rules,
            left: rules[0].from - 0.5 * size,
            right: rules[0].to + 0.5 * size,
            size,
        }
    }

    /// The words between a rule and the next.
    fn band(&self, words: &[Word], at: usize) -> Band {
        self.between(words, self.rules[at].at, self.rules[at + 1].at)
    }

    /// Up to which rule the bands from `from` on are one table: what stands between two tables of one width, or below the
    /// last one, keeps a distance from rules or spoils the columns.
    fn run(&self, words: &[Word], from: usize) -> usize {
        let mut rows: Vec<Band> = Vec::new();
        for at in from..self.rules.len() - 1 {
            let band = self.band(words, at);
            if !self.is_filled(words, &band, at) {
                break;
            }
            rows.push(band);
            if !self.is_table(words, &rows) {
                rows.pop();
                break;
            }
        }
        from + self.sure(words, &rows)
    }

    /// Whether a band has text from its upper rule to its lower one.
    fn is_filled(&self, words: &[Word], band: &Band, at: usize) -> bool {
        let mut order: Vec<Bbox> = band.iter().map(|&index| words[index].bbox).collect();
        order.sort_by(|a, b| a.t.total_cmp(&b.t));
        let mut level = self.rules[at].at;
        for bbox in &order {
            if bbox.t - level > PADDING * self.size {
                return false;
            }
            level = level.max(bbox.b);
        }
        !band.is_empty() && self.rules[at + 1].at - level <= PADDING * self.size
    }

    /// Takes the words of bands, and of the head above them, as a table.
    fn take(&self, bands: std::ops::Range<usize>, words: &mut Vec<Word>) -> Table {
        let top = self.rules[bands.start].at;
        let mut rows: Vec<Band> = bands.map(|at| self.band(words, at)).collect();
        let columns = self.columns(words, &rows);
        let columns = match self.head(words, top, &rows, columns.len()) {
            Some((head, columns)) => {
                rows.insert(0, head);
                columns
            }
            None => columns,
        };
        table(words, &rows, &columns)
    }

    fn between(&self, words: &[Word], top: f32, bottom: f32) -> Band {
        let inside = |word: &Word| {
            let middle = word.bbox.middle_y();
            word.bbox.l > self.left && word.bbox.r < self.right && top < middle && middle < bottom
        };
        (0..words.len())
            .filter(|&index| inside(&words[index]))
            .collect()
    }

    /// From where to where columns reach: what no word of any row covers is white.
    fn columns(&self, words: &[Word], rows: &[Band]) -> Vec<(f32, f32)> {
        let indices = rows.iter().flatten();
        let mut stretches: Vec<(f32, f32)> = indices
            .map(|&index| (words[index].bbox.l, words[index].bbox.r))
            .collect();
        stretches.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut columns: Vec<(f32, f32)> = Vec::new();
        for (from, to) in stretches {
            match columns.last_mut() {
                Some(last) if from - last.1 < GUTTER * self.size => last.1 = last.1.max(to),
                _ => columns.push((from, to)),
            }
        }
        columns
    }

    /// Whether bands may be rows: most have something in two columns, and none is a text in columns.
    fn is_table(&self, words: &[Word], rows: &[Band]) -> bool {
        let filled = self.filled_by(words, rows);
        let wide = filled.iter().filter(|lines| width(lines) > 1).count();
        let is_text =
            |lines: &Vec<Vec<usize>>| lines.len() > MAX_LINES || repeated(lines) >= MAX_REPEATED;
        !filled.iter().any(is_text) && 2 * wide > rows.len()
    }

    /// How many of the bands are rows for sure: all, where few have several lines that fill the same columns, as cells may
    /// all be of several lines; else those above the first such band, as there the rules part groups of rows.
    fn sure(&self, words: &[Word], rows: &[Band]) -> usize {
        let filled = self.filled_by(words, rows);
        let doubted = |lines: &Vec<Vec<usize>>| repeated(lines) > 0;
        let doubts = filled.iter().filter(|lines| doubted(lines)).count();
        if 4 * doubts <= rows.len() {
            return rows.len();
        }
        let first = filled.iter().position(doubted);
        first.unwrap_or(rows.len())
    }

    /// Which columns each line of each row fills.
    fn filled_by(&self, words: &[Word], rows: &[Band]) -> Vec<Vec<Vec<usize>>> {
        let columns = self.columns(words, rows);
        rows.iter()
            .map(|row| self.filled(words, row, &columns))
            .collect()
    }

    /// Which columns each line of a row fills.
    fn filled(&self, words: &[Word], row: &Band, columns: &[(f32, f32)]) -> Vec<Vec<usize>> {
        let mut order = row.clone();
        order.sort_by(|&a, &b| words[a].baseline.total_cmp(&words[b].baseline));
        let mut lines: Vec<(f32, Vec<usize>)> = Vec::new();
        for index in order {
            let (baseline, column) = (words[index].baseline, place(columns, &words[index]));
            match lines.last_mut() {
                Some((level, line)) if baseline - *level < LEVEL * self.size => line.push(column),
                _ => lines.push((baseline, vec![column])),
            }
        }
        let mut filled: Vec<Vec<usize>> = lines.into_iter().map(|(_, line)| line).collect();
        for line in &mut filled {
            line.sort_unstable();
            line.dedup();
        }
        filled
    }

    /// The words above the first rule, if they head the columns below it: they stand over several and across no gutter.
    fn head(
        &self,
        words: &[Word],
        top: f32,
        rows: &[Band],
        count: usize,
    ) -> Option<(Band, Vec<(f32, f32)>)> {
        let mut above = self.between(words, top - 6.0 * self.size, top);
        above.sort_by(|&a, &b| words[b].baseline.total_cmp(&words[a].baseline));
        let mut level = top - (HEAD - LEADING) * self.size;
        let mut head: Band = Vec::new();
        for index in above {
            let baseline = words[index].baseline;
            if level - baseline > LEADING * self.size {
                break;
            }
            level = level.min(baseline);
            head.push(index);
        }
        let with_head: Vec<Band> = rows.iter().cloned().chain([head.clone()]).collect();
        let columns = self.columns(words, &with_head);
        let mut over: Vec<usize> = head
            .iter()
            .map(|&index| place(&columns, &words[index]))
            .collect();
        over.sort_unstable();
        over.dedup();
        (over.len() > 1 && columns.len() == count).then_some((head, columns))
    }
}

/// Takes the words of rows as a table.
fn table(words: &mut Vec<Word>, rows: &[Band], columns: &[(f32, f32)]) -> Table {
    let mut table = Table {
        rows: rows.len(),
        columns: columns.len(),
        ..Table::default()
    };
    for at in 0..rows.len() * columns.len() {
        table.cells.push(Cell {
            row: at / columns.len(),
            column: at % columns.len(),
            row_span: 1,
            column_span: 1,
            ..Cell::default()
        });
    }
    let mut owner = vec![None; words.len()];
    for (row, band) in rows.iter().enumerate() {
        for &index in band {
            owner[index] = Some(row * columns.len() + place(columns, &words[index]));
        }
    }
    let mut others = Vec::new();
    for (word, owner) in std::mem::take(words).into_iter().zip(owner) {
        match owner {
            Some(cell) => table.cells[cell].words.push(word),
            None => others.push(word),
        }
    }
    *words = others;
    table.finish();
    table.bbox = cells::extent(&table);
    table
}

/// How many columns the lines of a row fill.
fn width(lines: &[Vec<usize>]) -> usize {
    let mut columns: Vec<usize> = lines.iter().flatten().copied().collect();
    columns.sort_unstable();
    columns.dedup();
    columns.len()
}

/// How many lines of a band fill the same columns as one before, most of those that the band has: they may be rows of their
/// own.
fn repeated(lines: &[Vec<usize>]) -> usize {
    let most = width(lines);
    let full = lines.iter().filter(|line| 2 * line.len() > most);
    let mut full: Vec<&Vec<usize>> = full.filter(|line| line.len() > 1).collect();
    let count = full.len();
    full.sort();
    full.dedup();
    count - full.len()
}

/// In which column a word stands.
fn place(columns: &[(f32, f32)], word: &Word) -> usize {
    let middle = word.bbox.middle_x();
    let after = columns.partition_point(|column| column.0 <= middle);
    after.saturating_sub(1)
}
