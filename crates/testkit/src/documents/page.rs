//! Pages of running text, as several kinds of fixtures need them.

use domain::Label;

use super::{
    chance::Chance,
    font::{Cut, Family, Font},
    prose::{Letters, Prose},
    sheet::{Frame, Mark, Sheet, Style},
};

/// How a document is set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) paper: (f32, f32),
    pub(crate) margin: f32,
    pub(crate) body: Style,
    pub(crate) heading: Style,
    pub(crate) title: Style,
    /// Between blocks.
    pub(crate) gap: f32,
}

impl Look {
    /// Draws one whose letters are at least `smallest` points and at most two more.
    pub(crate) fn new(chance: &mut Chance, smallest: f32) -> Self {
        let family = chance.choose(&[Family::Helvetica, Family::Times]);
        // Half points, as people choose them.
        let size = smallest + chance.choose(&[0.0, 0.5, 1.0, 1.5, 2.0]);
        let leading = chance.between(1.18, 1.4);
        let bold = |size| Style::new(Font::new(family, Cut::Bold, size), 1.2);
        let mut body = Style::new(Font::new(family, Cut::Regular, size), leading);
        body.justified = chance.percent(50);
        body.indent = chance.between(18.0, 28.0);
        Self {
            paper: chance.choose(&[Sheet::A4, Sheet::A4, Sheet::LETTER]),
            margin: chance.between(54.0, 80.0),
            body,
            heading: bold(size + chance.between(2.0, 3.5)),
            title: bold(size + chance.between(7.0, 11.0)),
            gap: size * chance.between(0.6, 0.95),
        }
    }

    pub(crate) fn sheet(&self) -> (Sheet, Frame) {
        let sheet = Sheet::new(self.paper);
        let frame = sheet.frame(self.margin);
        (sheet, frame)
    }
}

/// Sets a title and the room below it.
pub(crate) fn title(sheet: &mut Sheet, frame: &mut Frame, look: &Look, text: &str) {
    let rest = sheet.set(frame, &look.title, Label::Title, text);
    debug_assert_eq!(rest, None, "a title finds room");
    frame.skip(look.gap * 1.4);
}

/// Sets a heading and the room around it.
pub(crate) fn heading(sheet: &mut Sheet, frame: &mut Frame, look: &Look, text: &str) {
    frame.skip(look.gap * 0.6);
    let rest = sheet.set(frame, &look.heading, Label::SectionHeader, text);
    debug_assert_eq!(rest, None, "a heading finds room");
    frame.skip(look.gap * 0.6);
}

/// Sets paragraphs until the frame is full; the last of them goes on in the next frame.
pub(crate) fn fill(
    sheet: &mut Sheet,
    frame: &mut Frame,
    look: &Look,
    prose: &mut Prose<'_>,
    carried: Option<String>,
) -> Option<String> {
    let mut carried = carried;
    loop {
        let text = carried.take().unwrap_or_else(|| {
            let sentences = prose.chance.number(3, 6);
            prose.paragraph(sentences)
        });
        let rest = sheet.set(frame, &look.body, Label::Text, &text);
        if rest.is_some() {
            return rest;
        }
        frame.skip(look.gap);
    }
}

/// Sets paragraphs as long as they find room whole.
pub(crate) fn paragraphs(
    sheet: &mut Sheet,
    frame: &mut Frame,
    look: &Look,
    prose: &mut Prose<'_>,
    number: u32,
) {
    for _ in 0..number {
        let sentences = prose.chance.number(2, 4);
        let text = prose.paragraph(sentences);
        let lines = look.body.font.wrap(&text, frame.width).len();
        if frame.room() < look.body.leading * super::sheet::count(lines) {
            return;
        }
        sheet.set(frame, &look.body, Label::Text, &text);
        frame.skip(look.gap);
    }
}

/// A page with a title and as much text as it holds.
pub(crate) fn prose_sheet(chance: &mut Chance, look: &Look, letters: Letters) -> Sheet {
    let (mut sheet, mut frame) = look.sheet();
    let mut prose = Prose::new(chance, letters);
    let heading = prose.heading();
    title(&mut sheet, &mut frame, look, &heading);
    // What finds no room is left out: the page is whole without it.
    let number = 40;
    paragraphs(&mut sheet, &mut frame, look, &mut prose, number);
    sheet
}

/// A page of columns below a title; with `across`, a heading over all of them parts it in two.
pub(crate) fn column_sheet(
    chance: &mut Chance,
    look: &Look,
    letters: Letters,
    columns: u8,
    across: bool,
) -> Sheet {
    let (mut sheet, mut frame) = look.sheet();
    let gutter = chance.between(18.0, 26.0);
    let mut prose = Prose::new(chance, letters);
    let text = prose.heading();
    title(&mut sheet, &mut frame, look, &text);
    let bands = if across { 2 } else { 1 };
    for band in 0..bands {
        if band > 0 {
            let text = prose.heading();
            heading(&mut sheet, &mut frame, look, &text);
        }
        let bottom = match bands - band {
            1 => frame.bottom,
            _ => frame.y + frame.room() * prose.chance.between(0.4, 0.55),
        };
        columns_in(
            &mut sheet,
            Frame { bottom, ..frame },
            look,
            &mut prose,
            (columns, gutter),
        );
        frame.y = bottom + look.gap;
    }
    sheet
}

fn columns_in(
    sheet: &mut Sheet,
    frame: Frame,
    look: &Look,
    prose: &mut Prose<'_>,
    (columns, gutter): (u8, f32),
) {
    let number = f32::from(columns);
    let width = (frame.width - gutter * (number - 1.0)) / number;
    let mut carried = None;
    // A gap of whole lines keeps the columns' baselines on one grid, as newspapers do.
    let grid = Look {
        gap: look.body.leading,
        ..*look
    };
    for column in 0..columns {
        let mut part = Frame {
            x: frame.x + f32::from(column) * (width + gutter),
            width,
            ..frame
        };
        carried = fill(sheet, &mut part, &grid, prose, carried);
    }
}

/// Draws the lines from top to bottom, whatever column they are in.
pub(crate) fn interleave(sheet: &mut Sheet) {
    let key = |mark: &Mark| match mark {
        Mark::Text(line) => (line.baseline, line.x),
        _ => (0.0, 0.0),
    };
    sheet.marks.sort_by(|one, other| {
        key(one)
            .partial_cmp(&key(other))
            .expect("places are numbers")
    });
}
