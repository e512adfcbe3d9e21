//! Pictures as documents: PNG, JPEG, TIFF with all its pages, WebP, the first image of a GIF, BMP.

use std::io::Cursor;

use domain::{Dimensions, DocumentFault, DocumentKind};
use image::{
    DynamicImage, GrayImage, ImageDecoder, ImageError, ImageFormat, ImageReader, RgbImage,
    imageops::{self, FilterType},
    metadata::Orientation,
};

use super::{
    Limits, MAX_COUNTED, Unreadable, cleanup::Gray, images::Exported, raster::luma, resolution,
    scan::Picture, tiff,
};

/// What decoding one picture may take in memory: its pixels in the widest format, and as much again.
const BYTES_PER_PIXEL: u64 = 8;

/// A picture or several.
pub(super) struct PictureFile {
    kind: DocumentKind,
    content: Vec<u8>,
    /// Where a TIFF's pages begin.
    places: Vec<u64>,
}

impl PictureFile {
    /// Opens a file and counts its pages.
    pub(super) fn open(
        kind: DocumentKind,
        content: Vec<u8>,
        limits: &Limits,
    ) -> Result<Self, Unreadable> {
        let places = match kind {
            DocumentKind::Tiff => tiff::places(&content, MAX_COUNTED),
            _ => vec![0],
        };
        if places.is_empty() {
            return Err(broken());
        }
        let mut file = Self {
            kind,
            content,
            places,
        };
        // Its header is read at once: a file that is none is refused before anybody waits for it.
        file.decoded(0, limits, |_| Ok(()))?;
        Ok(file)
    }

    /// How many pages it has.
    pub(super) const fn page_count(&self) -> u32 {
        self.places.len() as u32
    }

    /// A page to be recognised; in colours as well, where pictures are to be cut out of it.
    pub(super) fn page(
        &mut self,
        index: u32,
        in_colours: bool,
        limits: &Limits,
    ) -> Result<Picture, Unreadable> {
        let (image, stated) = self.image(index, in_colours, limits)?;
        let (width, height) = (image.width(), image.height());
        let inches = |dpi: u32| width.max(height) as f32 / dpi as f32;
        // Cameras and drawing programs write 72 or 96 into anything; a sheet of half a metre is none.
        let dpi = stated
            .filter(|&dpi| (4.0..20.0).contains(&inches(dpi)))
            .unwrap_or_else(|| guessed(width, height));
        let (gray, colours) = match image {
            DynamicImage::ImageLuma8(gray) => (gray.into_raw(), None),
            image => {
                let colours = image.into_rgb8();
                let gray = colours.pixels().map(|pixel| luma(pixel.0));
                (gray.collect(), Some(colours))
            }
        };
        Ok(Picture {
            gray: Gray::new(width as usize, height as usize, gray),
            colours,
            dpi,
            known: Vec::new(),
        })
    }

    /// A page as a PNG.
    pub(super) fn picture(
        &mut self,
        index: u32,
        long_side: u32,
        limits: &Limits,
    ) -> Result<(Vec<u8>, Dimensions), Unreadable> {
        let (image, stated) = self.image(index, true, limits)?;
        let dpi = stated.unwrap_or_else(|| guessed(image.width(), image.height()));
        let longest = image.width().max(image.height());
        let (image, dpi) = if longest > long_side {
            let fewer = dpi as f32 * long_side as f32 / longest as f32;
            let image = image.resize(long_side, long_side, FilterType::Triangle);
            (image, (fewer.round() as u32).max(1))
        } else {
            (image, dpi)
        };
        let dimensions = Dimensions {
            dpi,
            width: image.width(),
            height: image.height(),
        };
        let png = Exported::png(&image).ok_or_else(broken)?;
        Ok((png.bytes, dimensions))
    }

    /// A page's pixels as a reader sees them, on white, with the dots per inch that it states; gray ones, where colours are not
    /// wanted.
    fn image(
        &mut self,
        index: u32,
        in_colours: bool,
        limits: &Limits,
    ) -> Result<(DynamicImage, Option<u32>), Unreadable> {
        let kind = self.kind;
        let stated = match kind {
            DocumentKind::Tiff => tiff::resolution(&self.content, self.places[index as usize]),
            DocumentKind::Png => resolution::png(&self.content),
            DocumentKind::Jpeg => resolution::jpeg(&self.content),
            _ => None,
        };
        let (image, orientation) = self.decoded(index, limits, |mut decoder| {
            let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
            let image = DynamicImage::from_decoder(decoder).map_err(|error| fault(&error))?;
            Ok((image, orientation))
        })?;
        let image = if in_colours {
            DynamicImage::ImageRgb8(on_white(image))
        } else {
            DynamicImage::ImageLuma8(gray(image))
        };
        let (mut image, times) = within(image, limits);
        image.apply_orientation(orientation);
        let stated = stated.map(|dpi| (f64::from(dpi) * times) as u32);
        Ok((image, stated))
    }

    /// Opens the decoder of a page, its claims checked before anything is decoded.
    fn decoded<T>(
        &mut self,
        index: u32,
        limits: &Limits,
        take: impl FnOnce(Box<dyn ImageDecoder + '_>) -> Result<T, Unreadable>,
    ) -> Result<T, Unreadable> {
        if self.kind == DocumentKind::Tiff {
            tiff::start_at(&mut self.content, self.places[index as usize]);
        }
        let most = u64::from(limits.image_megapixels) * 1_000_000;
        let mut bounds = image::Limits::default();
        bounds.max_alloc = Some(most * BYTES_PER_PIXEL);
        let mut reader = ImageReader::with_format(Cursor::new(&self.content), format(self.kind));
        reader.limits(bounds);
        let decoder = reader.into_decoder().map_err(|error| fault(&error))?;
        let (width, height) = decoder.dimensions();
        if u64::from(width) * u64::from(height) > most {
            let words = format!("the picture claims to have {width} x {height} pixels");
            return Err(Unreadable::Document(DocumentFault::TooLarge, words));
        }
        take(Box::new(decoder))
    }
}

const fn format(kind: DocumentKind) -> ImageFormat {
    match kind {
        DocumentKind::Png | DocumentKind::Pdf => ImageFormat::Png,
        DocumentKind::Jpeg => ImageFormat::Jpeg,
        DocumentKind::Tiff => ImageFormat::Tiff,
        DocumentKind::Webp => ImageFormat::WebP,
        DocumentKind::Gif => ImageFormat::Gif,
        DocumentKind::Bmp => ImageFormat::Bmp,
    }
}

fn fault(error: &ImageError) -> Unreadable {
    match error {
        ImageError::Unsupported(_) => Unreadable::Document(
            DocumentFault::Unsupported,
            "pictures with such samples or such a coding are not read here".to_owned(),
        ),
        _ => broken(),
    }
}

fn broken() -> Unreadable {
    Unreadable::Document(DocumentFault::Invalid, "the picture is broken".to_owned())
}

/// How many dots per inch there are, if the picture is a sheet of A4 or letter.
fn guessed(width: u32, height: u32) -> u32 {
    let (short, long) = (width.min(height) as f32, width.max(height) as f32);
    let dpi = (long / 11.35).max(short / 8.5);
    dpi.round().clamp(50.0, 1200.0) as u32
}

/// A picture within the limits, and how many times smaller it is for that.
///
/// By boxes of whole pixels: finer ways take sixteen bytes for each.
fn within(image: DynamicImage, limits: &Limits) -> (DynamicImage, f64) {
    let pixels = u64::from(image.width()) * u64::from(image.height());
    let most = u64::from(limits.megapixels) * 1_000_000;
    let longest = image.width().max(image.height());
    if pixels <= most && longest <= limits.side {
        return (image, 1.0);
    }
    let by_area = (most as f64 / pixels as f64).sqrt();
    let times = by_area.min(f64::from(limits.side) / f64::from(longest));
    let width = (f64::from(image.width()) * times).max(1.0) as u32;
    let height = (f64::from(image.height()) * times).max(1.0) as u32;
    let smaller = match image {
        DynamicImage::ImageLuma8(gray) => imageops::thumbnail(&gray, width, height).into(),
        image => imageops::thumbnail(&image.into_rgb8(), width, height).into(),
    };
    (smaller, times)
}

/// How much of a colour shows on paper.
fn mixed(value: u8, alpha: u8) -> u8 {
    let sum = u32::from(value) * u32::from(alpha) + 255 * (255 - u32::from(alpha));
    (sum / 255) as u8
}

/// The colours of a picture; what is transparent shows paper.
fn on_white(image: DynamicImage) -> RgbImage {
    if !image.color().has_alpha() {
        return image.into_rgb8();
    }
    let pixels = image.into_rgba8();
    let (width, height) = pixels.dimensions();
    let mut colours = RgbImage::new(width, height);
    for (to, from) in colours.pixels_mut().zip(pixels.pixels()) {
        let [red, green, blue, alpha] = from.0;
        to.0 = [red, green, blue].map(|value| mixed(value, alpha));
    }
    colours
}

/// How bright a picture is; what is transparent shows paper.
fn gray(image: DynamicImage) -> GrayImage {
    let (width, height) = (image.width(), image.height());
    let data: Vec<u8> = match image {
        DynamicImage::ImageLuma8(gray) => return gray,
        DynamicImage::ImageRgb8(colours) => colours.pixels().map(|pixel| luma(pixel.0)).collect(),
        DynamicImage::ImageRgba8(colours) => {
            let on_white = colours.pixels().map(|pixel| {
                let [red, green, blue, alpha] = pixel.0;
                mixed(luma([red, green, blue]), alpha)
            });
            on_white.collect()
        }
        other if other.color().has_alpha() => return gray(other.into_rgba8().into()),
        other => return other.into_luma8(),
    };
    GrayImage::from_raw(width, height, data).unwrap_or_default()
}
