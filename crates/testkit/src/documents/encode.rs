//! Pictures as files of their own.

use std::io::Cursor;

use domain::DocumentKind;
use image::{
    DynamicImage, GrayImage, ImageEncoder,
    codecs::{
        gif::GifEncoder,
        jpeg::{JpegEncoder, PixelDensity},
    },
};
use tiff::{
    encoder::{Compression, Rational, TiffEncoder, colortype::Gray8},
    tags::ResolutionUnit,
};

/// The file of a scan. Only JPEG and TIFF say their resolution: readers have to do without it elsewhere.
pub(crate) fn file(kind: DocumentKind, images: &[GrayImage], dpi: u32) -> Vec<u8> {
    let image = images[0].clone();
    let mut bytes = Vec::new();
    match kind {
        DocumentKind::Tiff => return tiff(images, dpi),
        DocumentKind::Jpeg => {
            let mut encoder = JpegEncoder::new_with_quality(&mut bytes, 85);
            let density = u16::try_from(dpi).expect("a scanner's resolution");
            encoder.set_pixel_density(PixelDensity::dpi(density));
            encoder.encode_image(&image).expect(TAKES);
        }
        DocumentKind::Gif => {
            // No colours are to be chosen: there are at most 256 grays.
            let image = DynamicImage::from(image).into_rgba8();
            let mut encoder = GifEncoder::new_with_speed(&mut bytes, 30);
            let (width, height) = image.dimensions();
            encoder
                .encode(&image, width, height, image::ExtendedColorType::Rgba8)
                .expect(TAKES);
        }
        DocumentKind::Webp => {
            let image = DynamicImage::from(image).into_rgb8();
            let encoder = image::codecs::webp::WebPEncoder::new_lossless(&mut bytes);
            let (width, height) = image.dimensions();
            encoder
                .write_image(&image, width, height, image::ExtendedColorType::Rgb8)
                .expect(TAKES);
        }
        DocumentKind::Bmp => write(&image, image::ImageFormat::Bmp, &mut bytes),
        DocumentKind::Png | DocumentKind::Pdf => {
            write(&image, image::ImageFormat::Png, &mut bytes);
        }
    }
    bytes
}

const TAKES: &str = "memory takes every picture";

fn write(image: &GrayImage, format: image::ImageFormat, bytes: &mut Vec<u8>) {
    image
        .write_to(&mut Cursor::new(bytes), format)
        .expect(TAKES);
}

fn tiff(images: &[GrayImage], dpi: u32) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let encoder = TiffEncoder::new(&mut bytes).expect(TAKES);
    let mut encoder = encoder.with_compression(Compression::Lzw);
    for image in images {
        let mut page = encoder
            .new_image::<Gray8>(image.width(), image.height())
            .expect(TAKES);
        page.resolution(ResolutionUnit::Inch, Rational { n: dpi, d: 1 });
        page.write_data(image.as_raw()).expect(TAKES);
    }
    bytes.into_inner()
}
