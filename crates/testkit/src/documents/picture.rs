//! Pictures that stand on pages: drawn here, and coded in the ways that PDF knows.

use std::{f32::consts::TAU, io::Write};

use fax::{Color, VecWriter, encoder::Encoder};
use flate2::{Compression, write::ZlibEncoder};
use image::{GrayImage, Luma, Rgb, RgbImage, codecs::jpeg::JpegEncoder};

use super::chance::Chance;

/// A picture as PDF holds it.
#[derive(Debug)]
pub(crate) struct Picture {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) coding: Coding,
}

/// How a picture's bytes are to be read.
#[derive(Debug)]
pub(crate) enum Coding {
    JpegRgb(Vec<u8>),
    JpegGray(Vec<u8>),
    FlateRgb(Vec<u8>),
    FlateGray(Vec<u8>),
    /// One bit a pixel, 0 is black.
    FlateBits(Vec<u8>),
    /// CCITT group 4, black as it comes.
    Fax(Vec<u8>),
    /// RGB and, apart, how opaque each pixel is.
    Masked {
        rgb: Vec<u8>,
        mask: Vec<u8>,
    },
}

/// Something like a photograph: soft light, and a few shapes with hard edges.
pub(crate) fn scene(chance: &mut Chance, width: u32, height: u32) -> RgbImage {
    let base = [0, 1, 2].map(|_| chance.between(40.0, 200.0));
    let slope = [0, 1, 2].map(|_| chance.between(-90.0, 90.0));
    let mut image = RgbImage::from_fn(width, height, |x, y| {
        let along = f32::midpoint(part(x, width), part(y, height));
        Rgb([0, 1, 2].map(|channel| level(base[channel] + slope[channel] * along)))
    });
    for _ in 0..chance.number(4, 9) {
        let colour = Rgb([0, 1, 2].map(|_| level(chance.between(0.0, 255.0))));
        let (x, y) = (chance.number(0, width - 1), chance.number(0, height - 1));
        let radius = chance.between(0.05, 0.25) * part(width, 1);
        let round = chance.percent(60);
        for (column, row, pixel) in image.enumerate_pixels_mut() {
            let (dx, dy) = (part(column, 1) - part(x, 1), part(row, 1) - part(y, 1));
            let inside = if round {
                dx.hypot(dy) < radius
            } else {
                dx.abs() < radius && dy.abs() < radius * 0.6
            };
            if inside {
                *pixel = colour;
            }
        }
    }
    image
}

/// A drawing in black on white: a curve over axes.
pub(crate) fn drawing(chance: &mut Chance, width: u32, height: u32) -> GrayImage {
    let (waves, phase) = (chance.between(1.0, 4.0), chance.between(0.0, 6.0));
    GrayImage::from_fn(width, height, |x, y| {
        let curve = 0.5 + 0.35 * (part(x, width) * waves * TAU + phase).sin();
        let on_curve = (part(y, height) - curve).abs() < 0.03;
        let on_axis = x < 4 || y + 4 >= height;
        Luma([if on_curve || on_axis { 0 } else { 255 }])
    })
}

impl Picture {
    fn new((width, height): (u32, u32), coding: Coding) -> Self {
        Self {
            width,
            height,
            coding,
        }
    }

    pub(crate) fn jpeg_rgb(image: &RgbImage) -> Self {
        let mut bytes = Vec::new();
        JpegEncoder::new_with_quality(&mut bytes, 88)
            .encode_image(image)
            .expect("memory takes every picture");
        Self::new(image.dimensions(), Coding::JpegRgb(bytes))
    }

    pub(crate) fn jpeg_gray(image: &GrayImage, quality: u8) -> Self {
        let mut bytes = Vec::new();
        JpegEncoder::new_with_quality(&mut bytes, quality)
            .encode_image(image)
            .expect("memory takes every picture");
        Self::new(image.dimensions(), Coding::JpegGray(bytes))
    }

    pub(crate) fn flate_rgb(image: &RgbImage) -> Self {
        Self::new(
            image.dimensions(),
            Coding::FlateRgb(deflate(image.as_raw())),
        )
    }

    pub(crate) fn flate_gray(image: &GrayImage) -> Self {
        Self::new(
            image.dimensions(),
            Coding::FlateGray(deflate(image.as_raw())),
        )
    }

    /// What is darker than middle gray becomes black.
    pub(crate) fn flate_bits(image: &GrayImage) -> Self {
        let bits = pack(image, |dark| !dark);
        Self::new(image.dimensions(), Coding::FlateBits(deflate(&bits)))
    }

    /// What is darker than middle gray becomes black.
    pub(crate) fn fax(image: &GrayImage) -> Self {
        Self::new(image.dimensions(), Coding::Fax(fax(image)))
    }

    /// A picture that fades out towards its edges.
    pub(crate) fn masked(image: &RgbImage) -> Self {
        let (width, height) = image.dimensions();
        let mask = GrayImage::from_fn(width, height, |x, y| {
            let (dx, dy) = (part(x, width) - 0.5, part(y, height) - 0.5);
            Luma([level(255.0 * (1.4 - 2.0 * dx.hypot(dy)))])
        });
        let coding = Coding::Masked {
            rgb: deflate(image.as_raw()),
            mask: deflate(mask.as_raw()),
        };
        Self::new((width, height), coding)
    }
}

/// Compresses as PDF's `FlateDecode` reads it.
pub(crate) fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes every byte");
    encoder.finish().expect("memory takes every byte")
}

/// Codes in group 4.
pub(crate) fn fax(image: &GrayImage) -> Vec<u8> {
    let width = u16::try_from(image.width()).expect("a fax is not that wide");
    let mut encoder = Encoder::new(VecWriter::new());
    for row in image.rows() {
        let pixels = row.map(|pixel| match pixel.0[0] {
            ..128 => Color::Black,
            _ => Color::White,
        });
        encoder
            .encode_line(pixels, width)
            .expect("memory takes every line");
    }
    let mut writer = encoder.finish().expect("memory takes every line");
    writer.pad();
    writer.finish()
}

/// Eight pixels a byte, each row from a byte of its own.
pub(crate) fn pack(image: &GrayImage, bit: impl Fn(bool) -> bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for row in image.rows() {
        let row: Vec<bool> = row.map(|pixel| bit(pixel.0[0] < 128)).collect();
        for eight in row.chunks(8) {
            let byte = eight.iter().enumerate();
            bytes.push(byte.fold(0_u8, |byte, (index, &set)| {
                byte | u8::from(set) << (7 - index)
            }));
        }
    }
    bytes
}

#[expect(clippy::cast_precision_loss, reason = "pixels of a picture")]
fn part(of: u32, whole: u32) -> f32 {
    of as f32 / whole as f32
}

/// A brightness in the range of a byte.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the range of a byte"
)]
pub(crate) fn level(value: f32) -> u8 {
    value.clamp(0.0, 255.0) as u8
}
