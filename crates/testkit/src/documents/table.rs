//! Tables on a sheet.

use domain::{Bbox, Label};

use super::{
    font::{Cut, Face, Font},
    sheet::{Frame, Mark, Sheet, count},
    truth::{Block, Cell},
};

/// A table to set.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    /// A cell that is covered by a larger one is not in the list.
    pub(crate) cells: Vec<Cell>,
    pub(crate) font: Font,
    pub(crate) rules: Rules,
    /// Texts stand in the middle of their cells' height, and not at the top.
    pub(crate) centred: bool,
    /// The columns whose texts stand at their right edge.
    pub(crate) right: Vec<u32>,
    /// How wide a column may be before its texts are broken.
    pub(crate) column_limit: f32,
}

/// Which lines are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Around every cell, as strokes.
    Strokes,
    /// Around every cell, as narrow filled boxes: so do word processors.
    Boxes,
    /// None at all.
    Absent,
}

/// Between a text and the edge of its cell.
const PAD: (f32, f32) = (6.0, 4.0);
/// Between columns that no line parts.
const GUTTER: f32 = 26.0;

/// A table's lines of text, and where its columns and rows begin.
struct Plan {
    texts: Vec<Vec<String>>,
    lefts: Vec<f32>,
    tops: Vec<f32>,
}

impl Table {
    /// Sets the table at the top of a frame and moves the frame below it.
    pub(crate) fn set(&self, sheet: &mut Sheet, frame: &mut Frame) {
        let plan = self.plan(*frame);
        if self.rules != Rules::Absent {
            self.rule(sheet, &plan);
        }
        for (cell, lines) in self.cells.iter().zip(&plan.texts) {
            self.write(sheet, &plan, cell, lines);
        }
        let last = |edges: &[f32]| edges.last().copied().unwrap_or_default();
        let bbox = Bbox {
            l: frame.x,
            t: frame.y,
            r: last(&plan.lefts) - self.gutter(),
            b: last(&plan.tops),
        };
        let texts: Vec<_> = self.cells.iter().map(|cell| cell.text.as_str()).collect();
        let mut block = Block::new(Label::Table, texts.join(" "), bbox);
        block.text = block.text.split_whitespace().collect::<Vec<_>>().join(" ");
        block.cells.clone_from(&self.cells);
        sheet.blocks.push(block);
        frame.y = bbox.b;
    }

    fn plan(&self, frame: Frame) -> Plan {
        let mut widths = vec![24.0_f32; self.columns as usize];
        for cell in self.cells.iter().filter(|cell| cell.col_span == 1) {
            let width = self
                .font_of(cell)
                .measure(&cell.text)
                .min(self.column_limit);
            let column = &mut widths[cell.col as usize];
            *column = column.max(width);
        }
        let gaps = 2.0 * PAD.0 + self.gutter();
        let lefts = edges(frame.x, widths.iter().map(|width| width + gaps));
        let texts: Vec<_> = self
            .cells
            .iter()
            .map(|cell| {
                let (left, right) = (lefts[cell.col as usize], lefts[end(cell)]);
                let width = right - left - gaps + 0.1;
                self.font_of(cell).wrap(&cell.text, width)
            })
            .collect();
        let mut heights = vec![1_usize; self.rows as usize];
        for (cell, lines) in self.cells.iter().zip(&texts) {
            if cell.row_span == 1 {
                let height = &mut heights[cell.row as usize];
                *height = lines.len().max(*height);
            }
        }
        let heights = heights.iter().map(|&lines| count(lines) * self.leading());
        let tops = edges(frame.y, heights.map(|height| height + 2.0 * PAD.1));
        Plan { texts, lefts, tops }
    }

    /// Draws a line wherever two cells meet.
    fn rule(&self, sheet: &mut Sheet, plan: &Plan) {
        let mut drawn: Vec<[(f32, f32); 2]> = Vec::new();
        for cell in &self.cells {
            let (left, right) = (plan.lefts[cell.col as usize], plan.lefts[end(cell)]);
            let top = plan.tops[cell.row as usize];
            let bottom = plan.tops[(cell.row + cell.row_span) as usize];
            let edges = [
                [(left, top), (right, top)],
                [(left, bottom), (right, bottom)],
                [(left, top), (left, bottom)],
                [(right, top), (right, bottom)],
            ];
            for edge in edges {
                if !drawn.contains(&edge) {
                    drawn.push(edge);
                }
            }
        }
        for [from, to] in drawn {
            let width = 0.8;
            if self.rules == Rules::Strokes {
                sheet.marks.push(Mark::Rule { from, to, width });
                continue;
            }
            let bbox = Bbox {
                l: from.0 - width / 2.0,
                t: from.1 - width / 2.0,
                r: to.0 + width / 2.0,
                b: to.1 + width / 2.0,
            };
            sheet.marks.push(Mark::Fill { bbox, gray: 0.0 });
        }
    }

    fn write(&self, sheet: &mut Sheet, plan: &Plan, cell: &Cell, lines: &[String]) {
        let font = self.font_of(cell);
        let (left, right) = (plan.lefts[cell.col as usize], plan.lefts[end(cell)]);
        let mut top = plan.tops[cell.row as usize] + PAD.1;
        if self.centred {
            let bottom = plan.tops[(cell.row + cell.row_span) as usize] - PAD.1;
            top += (bottom - top - self.leading() * count(lines.len())) / 2.0;
        }
        for (index, text) in lines.iter().enumerate() {
            let baseline = top + font.size * 0.78 + self.leading() * count(index);
            let x = if self.right.contains(&cell.col) && cell.col_span == 1 {
                right - self.gutter() - PAD.0 - font.measure(text)
            } else {
                left + PAD.0
            };
            sheet.line(font, x, baseline, text);
        }
    }

    fn leading(&self) -> f32 {
        self.font.size * 1.2
    }

    const fn gutter(&self) -> f32 {
        match self.rules {
            Rules::Strokes | Rules::Boxes => 0.0,
            Rules::Absent => GUTTER,
        }
    }

    const fn font_of(&self, cell: &Cell) -> Font {
        let cut = if cell.header { Cut::Bold } else { Cut::Regular };
        Font {
            face: Face::new(self.font.face.family, cut),
            size: self.font.size,
        }
    }
}

const fn end(cell: &Cell) -> usize {
    (cell.col + cell.col_span) as usize
}

/// A cell of one row and one column.
pub(crate) fn single(row: u32, col: u32, text: impl Into<String>) -> Cell {
    Cell {
        row,
        col,
        row_span: 1,
        col_span: 1,
        header: row == 0,
        text: text.into(),
    }
}

fn edges(start: f32, lengths: impl Iterator<Item = f32>) -> Vec<f32> {
    let mut edges = vec![start];
    for length in lengths {
        edges.push(edges[edges.len() - 1] + length);
    }
    edges
}
