//! Sheets on paper: rastered, and worn as paper and scanners wear them.

use std::sync::Arc;

use hayro::{
    PixmapSettings, RenderCache, RenderSettings, hayro_interpret::InterpreterSettings,
    hayro_syntax::Pdf, render, vello_cpu::color::palette::css::WHITE,
};
use image::{GrayImage, Luma, imageops};

use super::{
    chance::Chance,
    pdf::{Hand, Leaf, Unicode, Volume},
    picture::level,
    sheet::Sheet,
};

/// What happens to a page between the printer and the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wear {
    /// Degrees clockwise.
    pub(crate) skew: f32,
    /// The deviation of each pixel's brightness.
    pub(crate) noise: f32,
    /// How many of a thousand pixels are black or white dirt.
    pub(crate) specks: f32,
    /// How much of the light is missing in the darkest corner.
    pub(crate) shade: f32,
    /// Of the distance between ink and paper, what is left.
    pub(crate) contrast: f32,
    pub(crate) negative: bool,
    /// How the sheet lay, in degrees clockwise: 0, 90, 180 or 270.
    pub(crate) turn: u16,
}

impl Wear {
    /// As printed.
    pub(crate) const NONE: Self = Self {
        skew: 0.0,
        noise: 0.0,
        specks: 0.0,
        shade: 0.0,
        contrast: 1.0,
        negative: false,
        turn: 0,
    };
}

/// Draws a sheet on paper and wears it.
pub(crate) fn scan(chance: &mut Chance, sheet: &Sheet, dpi: u32, wear: &Wear) -> GrayImage {
    let mut image = raster(sheet, dpi);
    if wear.skew != 0.0 {
        image = skewed(&image, wear.skew);
    }
    fade(chance, &mut image, wear);
    dirty(chance, &mut image, wear);
    if wear.negative {
        imageops::invert(&mut image);
    }
    match wear.turn {
        90 => imageops::rotate90(&image),
        180 => imageops::rotate180(&image),
        270 => imageops::rotate270(&image),
        _ => image,
    }
}

/// Draws a sheet on paper.
pub(crate) fn raster(sheet: &Sheet, dpi: u32) -> GrayImage {
    let volume = Volume {
        leaves: vec![Leaf::new(sheet.clone())],
        hand: Hand::Lines,
        unicode: Unicode::Absent,
        packed: false,
        modern: false,
        lock: None,
    };
    let pdf = Pdf::new(Arc::new(volume.to_bytes())).expect("our own PDF can be read");
    #[expect(clippy::cast_precision_loss, reason = "a scanner's resolution")]
    let scale = dpi as f32 / 72.0;
    let pixmap = render(
        &pdf.pages()[0],
        &RenderCache::new(),
        &InterpreterSettings::default(),
        &RenderSettings::default(),
        &PixmapSettings {
            x_scale: scale,
            y_scale: scale,
            bg_color: WHITE,
        },
    );
    let pixels = pixmap.data().iter().map(|pixel| {
        let sum = u16::from(pixel.r) + 2 * u16::from(pixel.g) + u16::from(pixel.b);
        u8::try_from(sum / 4).unwrap_or(u8::MAX)
    });
    let (width, height) = (u32::from(pixmap.width()), u32::from(pixmap.height()));
    GrayImage::from_raw(width, height, pixels.collect()).expect("a byte for each pixel")
}

/// Turns a picture about its middle, with white where nothing was.
fn skewed(image: &GrayImage, degrees: f32) -> GrayImage {
    let (sine, cosine) = degrees.to_radians().sin_cos();
    let (width, height) = image.dimensions();
    let (middle_x, middle_y) = (real(width) / 2.0, real(height) / 2.0);
    GrayImage::from_fn(width, height, |x, y| {
        let (dx, dy) = (real(x) - middle_x, real(y) - middle_y);
        let from_x = middle_x + dx * cosine + dy * sine;
        let from_y = middle_y - dx * sine + dy * cosine;
        Luma([sample(image, from_x, from_y)])
    })
}

/// The brightness between four pixels.
fn sample(image: &GrayImage, x: f32, y: f32) -> u8 {
    let (width, height) = image.dimensions();
    if x < 0.0 || y < 0.0 || x >= real(width - 1) || y >= real(height - 1) {
        return 255;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "inside of the picture"
    )]
    let (left, top) = (x as u32, y as u32);
    let (right, low) = (x - real(left), y - real(top));
    let at = |x, y| f32::from(image.get_pixel(x, y).0[0]);
    let upper = at(left, top) * (1.0 - right) + at(left + 1, top) * right;
    let lower = at(left, top + 1) * (1.0 - right) + at(left + 1, top + 1) * right;
    level(upper * (1.0 - low) + lower * low + 0.5)
}

/// Takes light and contrast away.
fn fade(chance: &mut Chance, image: &mut GrayImage, wear: &Wear) {
    if wear.contrast >= 1.0 && wear.shade <= 0.0 {
        return;
    }
    let paper = if wear.contrast < 1.0 { 215.0 } else { 255.0 };
    let (width, height) = image.dimensions();
    let corner = (chance.percent(50), chance.percent(50));
    for (x, y, pixel) in image.enumerate_pixels_mut() {
        let (mut right, mut down) = (real(x) / real(width), real(y) / real(height));
        if corner.0 {
            right = 1.0 - right;
        }
        if corner.1 {
            down = 1.0 - down;
        }
        let light = 1.0 - wear.shade * (right + down) / 2.0;
        let ink = 255.0 - f32::from(pixel.0[0]);
        pixel.0[0] = level((paper - ink * wear.contrast) * light);
    }
}

/// Adds noise and dirt.
fn dirty(chance: &mut Chance, image: &mut GrayImage, wear: &Wear) {
    if wear.noise > 0.0 {
        for pixel in image.pixels_mut() {
            pixel.0[0] = level(f32::from(pixel.0[0]) + chance.bell() * wear.noise);
        }
    }
    let (width, height) = image.dimensions();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of the pixels"
    )]
    let specks = (real(width) * real(height) * wear.specks / 1000.0) as u32;
    for _ in 0..specks {
        let (x, y) = (chance.number(0, width - 1), chance.number(0, height - 1));
        let value = if chance.percent(60) { 0 } else { 255 };
        image.put_pixel(x, y, Luma([value]));
    }
}

#[expect(clippy::cast_precision_loss, reason = "pixels of a page")]
const fn real(pixels: u32) -> f32 {
    pixels as f32
}
