//! What stands on a page of a PDF before anybody made sense of it.

use domain::Bbox;

use super::images::Exported;

/// A glyph on a page.
#[derive(Debug, Clone)]
pub(super) struct Glyph {
    /// What it means, if that is known.
    pub text: Meaning,
    /// Where its pen starts.
    pub x: f32,
    /// Where it stands.
    pub y: f32,
    /// Where the pen goes, sideways and down.
    pub advance: (f32, f32),
    /// The size of its font.
    pub size: f32,
    /// How thick its strokes are, in thousandths of its size; 0 where that is not known.
    pub stroke: f32,
    /// Whether it can be read and not seen: text under a scan.
    pub invisible: bool,
}

/// What a glyph means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Nobody knows.
    Unknown,
    /// One character, like nearly all.
    Character(char),
    /// Several: a ligature.
    Several(Box<str>),
}

/// An image on a page.
#[derive(Debug, Clone)]
pub(super) struct PlacedImage {
    /// Where it is.
    pub bbox: Bbox,
    /// Its own width and height in pixels.
    pub size: (u32, u32),
    /// Whether it is a JPEG that can be taken out as it is.
    pub is_jpeg: bool,
    /// The image itself, if it was wanted.
    pub export: Option<Exported>,
}

impl PlacedImage {
    /// How its file is called at the end; pictures that were not taken out would be PNG.
    pub(super) fn extension(&self) -> &'static str {
        self.export
            .as_ref()
            .map_or(if self.is_jpeg { "jpeg" } else { "png" }, |export| {
                export.extension
            })
    }
}

/// What a page draws.
#[derive(Debug, Default)]
pub(super) struct Ink {
    /// In the order in which they are drawn.
    pub glyphs: Vec<Glyph>,
    /// Thin straight lines, level or upright.
    pub rules: Vec<Bbox>,
    /// Small paths as wide as they are high: bullets, where they stand before a line.
    pub dots: Vec<Bbox>,
    /// Coloured rectangles.
    pub shades: Vec<Bbox>,
    /// In the order in which they are drawn.
    pub images: Vec<PlacedImage>,
    /// How many other paths there are.
    pub paths: usize,
}
