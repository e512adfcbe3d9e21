//! Pictures on a page, taken out: JPEG streams as they are, everything else as PNG.

use std::io::Cursor;

use base64::{Engine, engine::general_purpose::STANDARD};
use hayro::{
    hayro_interpret::{Image, ImageData, LumaData, Paint},
    kurbo::Affine,
};
use hayro_syntax::{Filter, object::Array};
use image::{
    DynamicImage, ExtendedColorType, ImageEncoder,
    codecs::png::{CompressionType, FilterType, PngEncoder},
};

/// A picture of more pixels is named and not taken out.
const MAX_PIXELS: u64 = 20_000_000;

/// What the pictures of one page may weigh together: an answer has room for 25 MB of base64 (`ocr.md` 2).
const MAX_BYTES: usize = 25 << 20;

/// A picture that covers this much of its page is the page itself, scanned.
pub(super) const FULL_PAGE: f64 = 0.8;

/// A picture taken out.
#[derive(Debug, Clone)]
pub(super) struct Exported {
    /// How its file is called at the end.
    pub extension: &'static str,
    /// The file.
    pub bytes: Vec<u8>,
}

impl Exported {
    /// As a `data:` URL.
    pub(super) fn data_url(&self) -> String {
        let media = self.extension;
        format!("data:image/{media};base64,{}", STANDARD.encode(&self.bytes))
    }

    /// A picture as PNG.
    pub(super) fn png(image: &DynamicImage) -> Option<Self> {
        let (data, kind): (&[u8], _) = match image {
            DynamicImage::ImageLuma8(gray) => (gray.as_raw(), ExtendedColorType::L8),
            DynamicImage::ImageRgb8(colours) => (colours.as_raw(), ExtendedColorType::Rgb8),
            DynamicImage::ImageRgba8(colours) => (colours.as_raw(), ExtendedColorType::Rgba8),
            other => return Self::png(&DynamicImage::ImageRgb8(other.to_rgb8())),
        };
        let mut bytes = Vec::new();
        PngEncoder::new_with_quality(
            Cursor::new(&mut bytes),
            CompressionType::Fast,
            FilterType::Adaptive,
        )
        .write_image(data, image.width(), image.height(), kind)
        .ok()?;
        Some(Self {
            extension: "png",
            bytes,
        })
    }
}

/// Which pictures are taken out while a page is walked through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exports {
    wanted: bool,
    min_size: u32,
    left: usize,
}

impl Exports {
    /// None.
    pub(super) const fn none() -> Self {
        Self {
            wanted: false,
            min_size: 0,
            left: 0,
        }
    }

    /// All whose width and height are not below a number.
    pub(super) const fn at_least(min_size: u32) -> Self {
        Self {
            wanted: true,
            min_size,
            left: MAX_BYTES,
        }
    }

    /// Takes a picture out, if it is wanted. `share` says how much of the page it covers.
    pub(super) fn take(
        &mut self,
        image: &Image<'_, '_>,
        share: f64,
        transform: Affine,
    ) -> Option<Exported> {
        let (width, height) = (image.width(), image.height());
        let pixels = u64::from(width) * u64::from(height);
        if !self.wanted
            || self.left == 0
            || share >= FULL_PAGE
            || width.min(height) < self.min_size
            || pixels > MAX_PIXELS
        {
            return None;
        }
        let exported = match image {
            Image::Raster(raster) => jpeg(image).or_else(|| {
                let mut decoded = None;
                raster.with_rgba(|data, alpha| decoded = painted(data, alpha), None);
                Exported::png(&decoded?)
            }),
            Image::Stencil(stencil) => {
                let mut decoded = None;
                stencil.with_stencil(|data, paint| decoded = stencilled(&data, paint), None);
                decoded.as_ref().and_then(Exported::png)
            }
        }?;
        // A picture that stands on its head in its file is still the file: turning is the viewer's affair.
        let _ = transform;
        self.left = self.left.saturating_sub(exported.bytes.len());
        Some(exported)
    }
}

/// Whether a picture is a JPEG that needs nothing beside it, in colours that every viewer knows.
pub(super) fn is_jpeg(image: &Image<'_, '_>) -> bool {
    let Image::Raster(raster) = image else {
        return false;
    };
    let stream = raster.stream();
    let dict = stream.dict();
    stream.filters().as_slice() == [Filter::DctDecode]
        && !dict.contains_key(b"SMask".as_slice())
        && !dict.contains_key(b"Mask".as_slice())
        && dict.get::<Array<'_>>(b"Decode".as_slice()).is_none()
        && matches!(components(&stream.raw_data()), Some(1 | 3))
}

/// The stream of such a picture.
fn jpeg(image: &Image<'_, '_>) -> Option<Exported> {
    let Image::Raster(raster) = image else {
        return None;
    };
    is_jpeg(image).then(|| Exported {
        extension: "jpeg",
        bytes: raster.stream().raw_data().into_owned(),
    })
}

/// How many colours a JPEG has, by the header of its frame (ITU T.81, B.2.2).
fn components(jpeg: &[u8]) -> Option<u8> {
    let mut at = 2;
    while let Some(&[0xff, marker]) = jpeg.get(at..at + 2) {
        let is_frame = matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc);
        if is_frame {
            return jpeg.get(at + 9).copied();
        }
        let length = u16::from_be_bytes([*jpeg.get(at + 2)?, *jpeg.get(at + 3)?]);
        at += 2 + usize::from(length);
    }
    None
}

fn painted(data: ImageData, alpha: Option<LumaData>) -> Option<DynamicImage> {
    let (width, height) = (data.width(), data.height());
    // A mask of another size would have to be stretched: the picture without it is what was scanned or drawn.
    let alpha = alpha.filter(|alpha| alpha.width == width && alpha.height == height);
    let image = match (data, alpha) {
        (ImageData::Rgb(colours), None) => {
            image::RgbImage::from_raw(width, height, colours.data)?.into()
        }
        (ImageData::Luma(gray), None) => {
            image::GrayImage::from_raw(width, height, gray.data)?.into()
        }
        (ImageData::Rgb(colours), Some(alpha)) => {
            let pixels = colours.data.chunks_exact(3).zip(&alpha.data);
            let data = pixels.flat_map(|(rgb, &a)| [rgb[0], rgb[1], rgb[2], a]);
            image::RgbaImage::from_raw(width, height, data.collect())?.into()
        }
        (ImageData::Luma(gray), Some(alpha)) => {
            let pixels = gray.data.iter().zip(&alpha.data);
            let data = pixels.flat_map(|(&gray, &a)| [gray, gray, gray, a]);
            image::RgbaImage::from_raw(width, height, data.collect())?.into()
        }
    };
    Some(image)
}

/// A stencil in its colour; in black where it is filled with a pattern.
fn stencilled(data: &LumaData, paint: &Paint<'_>) -> Option<DynamicImage> {
    let [red, green, blue, _] = match paint {
        Paint::Color(colour) => colour.to_rgba().to_rgba8(),
        Paint::Pattern(_) => [0, 0, 0, 255],
    };
    let pixels = data.data.iter().flat_map(|&a| [red, green, blue, a]);
    Some(image::RgbaImage::from_raw(data.width, data.height, pixels.collect())?.into())
}
