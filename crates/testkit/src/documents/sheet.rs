//! A page in the making: what is drawn on it, and what a reader should find there.

use std::sync::Arc;

use domain::{Bbox, Label};

use super::{
    font::{Cut, Family, Font},
    picture::Picture,
    truth::{Block, PageTruth},
};

/// How far letters reach above and below their line, in parts of the size; near enough for all the standard fonts.
const ASCENT: f32 = 0.74;
const DESCENT: f32 = 0.22;

/// A page, in points from the upper left as a reader sees it.
#[derive(Debug, Clone)]
pub(crate) struct Sheet {
    pub(crate) width: f32,
    pub(crate) height: f32,
    /// In the order in which they are drawn.
    pub(crate) marks: Vec<Mark>,
    /// In the order in which they are read.
    pub(crate) blocks: Vec<Block>,
}

/// Something drawn.
#[derive(Debug, Clone)]
pub(crate) enum Mark {
    Text(Line),
    Rule {
        from: (f32, f32),
        to: (f32, f32),
        width: f32,
    },
    Fill {
        bbox: Bbox,
        gray: f32,
    },
    Image {
        bbox: Bbox,
        picture: Arc<Picture>,
    },
}

/// A line of text.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) x: f32,
    pub(crate) baseline: f32,
    pub(crate) font: Font,
    pub(crate) text: String,
    /// What is added to each space, in points.
    pub(crate) stretch: f32,
    pub(crate) visible: bool,
}

/// How a block is set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    pub(crate) font: Font,
    /// From baseline to baseline.
    pub(crate) leading: f32,
    pub(crate) justified: bool,
    /// How far what follows the marker of a list item stands in.
    pub(crate) indent: f32,
}

/// Room that is filled from above.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) width: f32,
    pub(crate) bottom: f32,
}

impl Style {
    pub(crate) const fn new(font: Font, leading: f32) -> Self {
        Self {
            font,
            leading: font.size * leading,
            justified: false,
            indent: 0.0,
        }
    }
}

impl Frame {
    pub(crate) fn skip(&mut self, points: f32) {
        self.y += points;
    }

    pub(crate) fn room(&self) -> f32 {
        self.bottom - self.y
    }
}

impl Sheet {
    pub(crate) const A4: (f32, f32) = (595.0, 842.0);
    pub(crate) const LETTER: (f32, f32) = (612.0, 792.0);

    pub(crate) const fn new((width, height): (f32, f32)) -> Self {
        Self {
            width,
            height,
            marks: Vec::new(),
            blocks: Vec::new(),
        }
    }

    /// All of the page but its margins.
    pub(crate) fn frame(&self, margin: f32) -> Frame {
        Frame {
            x: margin,
            y: margin,
            width: self.width - 2.0 * margin,
            bottom: self.height - margin,
        }
    }

    /// Sets a block of text, and returns what found no room.
    pub(crate) fn set(
        &mut self,
        frame: &mut Frame,
        style: &Style,
        label: Label,
        text: &str,
    ) -> Option<String> {
        let lines = style.font.wrap(text, frame.width);
        let fitting = lines_in(frame.room(), style);
        // No line alone at the end of a column.
        if fitting < lines.len().min(2) {
            return Some(text.to_owned());
        }
        let (now, later) = lines.split_at(lines.len().min(fitting));
        let bbox = self.draw_lines(*frame, style, now, later.is_empty());
        self.blocks.push(Block::new(label, now.join(" "), bbox));
        frame.y += style.leading * count(now.len());
        (!later.is_empty()).then(|| later.join(" "))
    }

    /// Sets an item of a list behind its marker; `false` when there is no room.
    pub(crate) fn item(
        &mut self,
        frame: &mut Frame,
        style: &Style,
        marker: &str,
        text: &str,
    ) -> bool {
        let inner = Frame {
            x: frame.x + style.indent,
            width: frame.width - style.indent,
            ..*frame
        };
        let lines = style.font.wrap(text, inner.width);
        if lines_in(frame.room(), style) < lines.len() {
            return false;
        }
        let baseline = frame.y + ASCENT * style.font.size;
        let start = frame.x + style.indent / 3.0;
        self.line(style.font, start, baseline, marker);
        let mut bbox = self.draw_lines(inner, style, &lines, true);
        bbox.l = start;
        let mut block = Block::new(Label::ListItem, text, bbox);
        block.marker = Some(marker.to_owned());
        self.blocks.push(block);
        frame.y += style.leading * count(lines.len());
        true
    }

    /// Sets the lines of a program on a gray ground.
    pub(crate) fn code(&mut self, frame: &mut Frame, size: f32, lines: &[String]) {
        let font = Font::new(Family::Courier, Cut::Regular, size);
        let height = size * 1.2 * count(lines.len());
        let ground = Bbox {
            l: frame.x,
            t: frame.y - 4.0,
            r: frame.x + frame.width,
            b: frame.y + height + 4.0,
        };
        self.marks.push(Mark::Fill {
            bbox: ground,
            gray: 0.93,
        });
        let style = Style::new(font, 1.2);
        let bbox = self.draw_lines(*frame, &style, lines, true);
        self.blocks
            .push(Block::new(Label::Code, lines.join("\n"), bbox));
        frame.y += height + 8.0;
    }

    /// Sets a picture of this width and height.
    pub(crate) fn picture(&mut self, at: (f32, f32), size: (f32, f32), picture: &Arc<Picture>) {
        let bbox = Bbox {
            l: at.0,
            t: at.1,
            r: at.0 + size.0,
            b: at.1 + size.1,
        };
        self.blocks.push(Block::new(Label::Picture, "", bbox));
        self.marks.push(Mark::Image {
            bbox,
            picture: Arc::clone(picture),
        });
    }

    /// Sets one line where a running title stands, and the like.
    pub(crate) fn place(&mut self, font: Font, x: f32, baseline: f32, label: Label, text: &str) {
        self.line(font, x, baseline, text);
        let bbox = Bbox {
            l: x,
            t: baseline - ASCENT * font.size,
            r: x + font.measure(text),
            b: baseline + DESCENT * font.size,
        };
        self.blocks.push(Block::new(label, text, bbox));
    }

    /// Draws a line of text without a word about it in the truth.
    pub(crate) fn line(&mut self, font: Font, x: f32, baseline: f32, text: &str) {
        self.marks.push(Mark::Text(Line {
            x,
            baseline,
            font,
            text: text.to_owned(),
            stretch: 0.0,
            visible: true,
        }));
    }

    /// What stands on the page of this index.
    pub(crate) fn truth(&self, index: usize) -> PageTruth {
        PageTruth {
            index: u32::try_from(index).expect("a fixture has few pages"),
            width: self.width,
            height: self.height,
            blocks: self.blocks.clone(),
        }
    }

    /// Draws lines from the top of a frame; `whole` says that the last of them ends the paragraph.
    fn draw_lines(&mut self, frame: Frame, style: &Style, lines: &[String], whole: bool) -> Bbox {
        let font = style.font;
        let mut right = frame.x;
        for (index, text) in lines.iter().enumerate() {
            let width = font.measure(text);
            let spaces = text.matches(' ').count();
            let last = whole && index + 1 == lines.len();
            let stretched = style.justified && !last && spaces > 0;
            let stretch = if stretched {
                (frame.width - width) / count(spaces)
            } else {
                0.0
            };
            right = right.max(frame.x + width + stretch * count(spaces));
            self.marks.push(Mark::Text(Line {
                x: frame.x,
                baseline: frame.y + ASCENT * font.size + style.leading * count(index),
                font,
                text: text.clone(),
                stretch,
                visible: true,
            }));
        }
        let last = style.leading * count(lines.len().saturating_sub(1));
        Bbox {
            l: frame.x,
            t: frame.y,
            r: right,
            b: frame.y + last + (ASCENT + DESCENT) * font.size,
        }
    }
}

fn lines_in(room: f32, style: &Style) -> usize {
    let first = (ASCENT + DESCENT) * style.font.size;
    if room < first {
        return 0;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a page's lines"
    )]
    let others = ((room - first) / style.leading) as usize;
    others + 1
}

#[expect(
    clippy::cast_precision_loss,
    reason = "lines, words and columns of a page"
)]
pub(crate) const fn count(number: usize) -> f32 {
    number as f32
}
