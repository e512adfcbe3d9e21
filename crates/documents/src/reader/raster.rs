//! Pages of a PDF drawn.

use domain::{Dimensions, DocumentFault};
use hayro::{
    RenderCache, RenderSettings, render,
    vello_cpu::{Pixmap, color::palette::css::WHITE},
    {PixmapSettings, hayro_interpret::InterpreterSettings},
};
use hayro_syntax::page::Page;
use image::{DynamicImage, RgbImage};

use super::{
    Limits, Unreadable, Wanted,
    cleanup::Gray,
    images::Exported,
    ink::PlacedImage,
    pdf::{Opened, PageSize, PdfFile, Raster},
    scan::Picture,
};

/// Draws a page to be recognised. `known` are the pictures on it, in pixels of `raster`.
pub(super) fn scan<'a>(
    page: &'a Page<'a>,
    raster: &Raster,
    wanted: &Wanted,
    known: Vec<PlacedImage>,
    limits: &Limits,
) -> Result<Picture, Unreadable> {
    let pixmap = drawn(page, raster, limits)?;
    let (width, height) = (usize::from(pixmap.width()), usize::from(pixmap.height()));
    let pixels = pixmap.data_as_u8_slice();
    let gray = pixels
        .chunks_exact(4)
        .map(|rgba| luma([rgba[0], rgba[1], rgba[2]]));
    let gray = Gray::new(width, height, gray.collect());
    // Colours are kept for the pictures alone that are cut out of a scan.
    let colours = wanted.with_images.then(|| colours(&pixmap)).flatten();
    Ok(Picture {
        gray,
        colours,
        dpi: raster.dpi,
        known,
    })
}

/// A page as a PNG, its long side at most `long_side` pixels.
pub(super) fn picture(
    file: &mut PdfFile,
    index: u32,
    long_side: u32,
    limits: &Limits,
) -> Result<(Vec<u8>, Dimensions), Unreadable> {
    let limits = limits.clone();
    file.ask(move |opened| shown(opened, index, long_side, &limits))?
}

fn shown(
    opened: &mut Opened<'_>,
    index: u32,
    long_side: u32,
    limits: &Limits,
) -> Result<(Vec<u8>, Dimensions), Unreadable> {
    let page = opened.page(index).ok_or_else(Unreadable::broken)?;
    let size = PageSize::of(page);
    let inches = size.width.max(size.height) / 72.0;
    let mut raster = size.raster(u32::MAX, limits)?;
    // Fewer pixels per inch than a page is read at are enough to show it.
    let dpi = (long_side as f32 / inches).min(raster.dpi as f32);
    raster.dpi = dpi.round().max(1.0) as u32;
    raster.scale = size.unit * dpi / 72.0;
    raster.width = (size.width / 72.0 * dpi).max(1.0) as u32;
    raster.height = (size.height / 72.0 * dpi).max(1.0) as u32;
    let pixmap = drawn(page, &raster, limits)?;
    let colours = colours(&pixmap).ok_or_else(Unreadable::broken)?;
    let dimensions = Dimensions {
        dpi: raster.dpi,
        width: colours.width(),
        height: colours.height(),
    };
    let png = Exported::png(&DynamicImage::ImageRgb8(colours)).ok_or_else(Unreadable::broken)?;
    Ok((png.bytes, dimensions))
}

/// Draws a page on white paper.
fn drawn<'a>(page: &'a Page<'a>, raster: &Raster, limits: &Limits) -> Result<Pixmap, Unreadable> {
    let longest = raster.width.max(raster.height);
    if longest > limits.side.min(u32::from(u16::MAX)) {
        let words = format!(
            "a page would take {} x {} pixels",
            raster.width, raster.height
        );
        return Err(Unreadable::Document(DocumentFault::TooLarge, words));
    }
    let cache = RenderCache::new();
    Ok(render(
        page,
        &cache,
        &InterpreterSettings::default(),
        &RenderSettings::default(),
        &PixmapSettings {
            x_scale: raster.scale,
            y_scale: raster.scale,
            bg_color: WHITE,
        },
    ))
}

fn colours(pixmap: &Pixmap) -> Option<RgbImage> {
    let pixels = pixmap.data_as_u8_slice().chunks_exact(4);
    let data: Vec<u8> = pixels
        .flat_map(|rgba| [rgba[0], rgba[1], rgba[2]])
        .collect();
    RgbImage::from_raw(u32::from(pixmap.width()), u32::from(pixmap.height()), data)
}

/// How bright a colour is.
pub(super) const fn luma([red, green, blue]: [u8; 3]) -> u8 {
    ((77 * red as u32 + 150 * green as u32 + 29 * blue as u32) >> 8) as u8
}
