//! Pages with pictures.

use std::sync::Arc;

use domain::Label;

use super::{
    chance::Chance,
    font::{Cut, Font},
    page::{Look, heading, paragraphs, title},
    picture::{Picture, drawing, scene},
    prose::{Letters, Prose},
    sheet::Sheet,
};

/// A picture of each coding, with a line below that says what it shows.
pub(crate) fn figure_sheets(chance: &mut Chance, look: &Look) -> Vec<Sheet> {
    let photo = Picture::jpeg_rgb(&scene(chance, 420, 300));
    let plain = Picture::flate_rgb(&scene(chance, 300, 240));
    let bits = Picture::flate_bits(&drawing(chance, 400, 260));
    let faded = Picture::masked(&scene(chance, 280, 280));
    let gray = Picture::jpeg_gray(&drawing(chance, 320, 200), 85);
    let tiny = Picture::flate_rgb(&scene(chance, 8, 8));
    // Width in points of each; the height follows from the pixels.
    let groups = [
        vec![(photo, 210.0), (plain, 150.0), (bits, 190.0)],
        vec![(faded, 140.0), (tiny, 14.0), (gray, 170.0)],
    ];
    let mut number = 0;
    let mut sheets = Vec::new();
    for group in groups {
        let (mut sheet, mut frame) = look.sheet();
        let mut prose = Prose::new(chance, Letters::Rich);
        let text = prose.heading();
        heading(&mut sheet, &mut frame, look, &text);
        for (picture, width) in group {
            number += 1;
            paragraphs(&mut sheet, &mut frame, look, &mut prose, 1);
            #[expect(clippy::cast_precision_loss, reason = "pixels of a picture")]
            let height = width * picture.height as f32 / picture.width as f32;
            let room = frame.width - width;
            let left = frame.x + room * prose.chance.between(0.0, 1.0);
            sheet.picture((left, frame.y), (width, height), &Arc::new(picture));
            frame.skip(height + look.gap * 0.6);
            let caption = format!("Figure {number}: {}", prose.phrase());
            let mut style = look.body;
            style.font = Font::new(style.font.face.family, Cut::Italic, 8.5);
            sheet.set(&mut frame, &style, Label::Caption, &caption);
            frame.skip(look.gap * 1.5);
        }
        sheets.push(sheet);
    }
    sheets
}

/// Text around a picture that does not stand in the middle.
pub(crate) fn illustrated_sheet(chance: &mut Chance, look: &Look) -> Sheet {
    let (mut sheet, mut frame) = look.sheet();
    let picture = Arc::new(Picture::jpeg_rgb(&scene(chance, 300, 200)));
    let mut prose = Prose::new(chance, Letters::Rich);
    let text = prose.heading();
    title(&mut sheet, &mut frame, look, &text);
    let above = prose.chance.number(1, 4);
    paragraphs(&mut sheet, &mut frame, look, &mut prose, above);
    let left = frame.x + prose.chance.between(0.0, frame.width - 180.0);
    sheet.picture((left, frame.y), (180.0, 120.0), &picture);
    frame.skip(120.0 + look.gap);
    paragraphs(&mut sheet, &mut frame, look, &mut prose, 20);
    sheet
}
