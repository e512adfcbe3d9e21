//! What a page of a PDF draws: glyphs with their meaning and place, rules, shades, pictures.
//!
//! It draws nothing itself, and looks at nothing that stands outside of what is visible.

use std::collections::HashMap;

use domain::Bbox;
use hayro::hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, Paint,
    SoftMask,
    font::{Glyph as PdfGlyph, GlyphIdentifier, GlyphRun},
    hayro_cmap::BfString,
    interpret_page,
};
use hayro::kurbo::{Affine, BezPath, PathEl, Point, Rect, Shape, Vec2};
use hayro_syntax::page::Page;

use super::{
    doubles,
    geometry::Place,
    images::{Exports, is_jpeg},
    ink::{Glyph, Ink, Meaning, PlacedImage},
    pdf::{Opened, Raster},
};

/// A page of the densest print has 20,000; more is an attack or a drawing.
pub(super) const MAX_GLYPHS: usize = 200_000;

/// A large ruled table has some hundred; maps and drawings have millions, which say nothing of the text.
const MAX_RULES: usize = 20_000;

/// Pages that draw an image in strips have some hundred.
const MAX_IMAGES: usize = 2_000;

/// What is thicker than this many points is a shade or a bar, and no rule.
const RULE_POINTS: f32 = 3.0;

/// Of which size, in points, a path may be a bullet, and how far it may be from a square.
const DOT_POINTS: (f32, f32) = (1.0, 10.0);
const DOT_SKEW: f64 = 1.25;

/// A page with more small paths is a drawing.
const MAX_DOTS: usize = 2_000;

/// How bold a glyph is: how thick its strokes are, in thousandths of its size; kept, as it takes its outline to know.
pub(super) type Strokes = HashMap<GlyphIdentifier, f32>;

/// Collects what a page draws, in pixels of `raster`.
pub(super) fn of<'a>(
    opened: &mut Opened<'a>,
    page: &'a Page<'a>,
    raster: &Raster,
    exports: Exports,
) -> Ink {
    let transform = Affine::scale(f64::from(raster.scale))
        * Affine::new(page.initial_transform(true).as_coeffs());
    let frame = Rect::new(0.0, 0.0, f64::from(raster.width), f64::from(raster.height));
    let mut context = Context::new(
        transform,
        frame,
        &opened.cache,
        page.xref(),
        opened.settings.clone(),
    );
    let point = raster.dpi as f32 / 72.0;
    let mut collector = Collector {
        ink: Ink::default(),
        clips: vec![frame],
        frame,
        strokes: &mut opened.strokes,
        exports,
        rule: RULE_POINTS * point,
        dot: (
            f64::from(DOT_POINTS.0 * point),
            f64::from(DOT_POINTS.1 * point),
        ),
    };
    interpret_page(page, &mut context, &mut collector);
    let mut ink = collector.ink;
    ink.glyphs = doubles::without(ink.glyphs, point);
    ink
}

struct Collector<'s> {
    ink: Ink,
    /// What is visible: each within the one before.
    clips: Vec<Rect>,
    frame: Rect,
    strokes: &'s mut Strokes,
    exports: Exports,
    /// The thickest rule, in pixels.
    rule: f32,
    /// The smallest and the largest dot.
    dot: (f64, f64),
}

impl Collector<'_> {
    fn clip(&self) -> Rect {
        self.clips.last().copied().unwrap_or(self.frame)
    }

    fn stroke(&mut self, glyph: &PdfGlyph<'_>, text: &Meaning) -> f32 {
        let PdfGlyph::Outline(outline) = glyph else {
            return 0.0;
        };
        if !matches!(text, Meaning::Character(letter) if letter.is_alphanumeric()) {
            return 0.0;
        }
        *self
            .strokes
            .entry(outline.identifier())
            .or_insert_with(|| thickness(&outline.outline()))
    }

    fn add_dot(&mut self, rect: Rect) {
        let (short, long) = (
            rect.width().min(rect.height()),
            rect.width().max(rect.height()),
        );
        if short >= self.dot.0
            && long <= self.dot.1
            && long <= DOT_SKEW * short
            && self.clip().contains(rect.center())
            && self.ink.dots.len() < MAX_DOTS
        {
            self.ink.dots.push(place(rect));
        }
    }

    fn add_rule(&mut self, rect: Rect) {
        let rect = rect.intersect(self.clip());
        if rect.width() <= 0.0 && rect.height() <= 0.0 {
            return;
        }
        if self.ink.rules.len() < MAX_RULES {
            self.ink.rules.push(place(rect));
        }
    }

    fn add_rect(&mut self, rect: Rect) {
        let (short, long) = (
            rect.width().min(rect.height()),
            rect.width().max(rect.height()),
        );
        if short <= f64::from(self.rule) && long > 2.0 * short {
            self.add_rule(rect);
        } else if self.ink.shades.len() < MAX_RULES {
            self.ink.shades.push(place(rect.intersect(self.clip())));
        }
    }

    /// Each straight part of a line that is level or upright.
    fn add_lines(&mut self, path: &BezPath, transform: Affine, width: f32) {
        let half = f64::from(width) * transform.determinant().abs().sqrt() / 2.0;
        let half = half.clamp(0.25, f64::from(self.rule) / 2.0);
        let (mut first, mut last) = (Point::ZERO, Point::ZERO);
        for part in path.elements() {
            let to = match part {
                PathEl::MoveTo(to) => {
                    first = transform * *to;
                    last = first;
                    continue;
                }
                PathEl::LineTo(to) => transform * *to,
                PathEl::ClosePath => first,
                PathEl::QuadTo(_, to) | PathEl::CurveTo(_, _, to) => {
                    last = transform * *to;
                    continue;
                }
            };
            let line = Rect::from_points(last, to);
            if line.width() < 1.0 && line.height() > 2.0 {
                self.add_rule(line.inflate(half, 0.0));
            } else if line.height() < 1.0 && line.width() > 2.0 {
                self.add_rule(line.inflate(0.0, half));
            }
            last = to;
        }
    }
}

impl<'a> Device<'a> for Collector<'_> {
    fn draw_path(&mut self, path: &BezPath, props: DrawProps<'a>, draw_mode: &DrawMode) {
        if is_white(&props.paint) {
            return;
        }
        self.ink.paths += 1;
        if self.ink.rules.len() >= MAX_RULES {
            return;
        }
        let bounds = props.transform.transform_rect_bbox(path.bounding_box());
        if !matches!(draw_mode, DrawMode::Invisible) {
            self.add_dot(bounds);
        }
        match draw_mode {
            DrawMode::Stroke(stroke) => self.add_lines(path, props.transform, stroke.line_width),
            DrawMode::FillAndStroke(_, stroke) => {
                self.add_lines(path, props.transform, stroke.line_width);
            }
            DrawMode::Fill(_) => {
                // A line is often drawn as a thin rectangle.
                if bounds.width().min(bounds.height()) <= f64::from(self.rule) {
                    self.add_rect(bounds);
                }
            }
            DrawMode::Invisible => {}
        }
    }

    fn draw_rect(&mut self, rect: &Rect, props: DrawProps<'a>, draw_mode: &DrawMode) {
        if is_white(&props.paint) {
            return;
        }
        self.ink.paths += 1;
        let bounds = props.transform.transform_rect_bbox(*rect);
        match draw_mode {
            DrawMode::Fill(_) => {
                self.add_dot(bounds);
                self.add_rect(bounds);
            }
            DrawMode::Stroke(stroke) | DrawMode::FillAndStroke(_, stroke) => {
                self.add_lines(&rect.to_path(0.1), props.transform, stroke.line_width);
            }
            DrawMode::Invisible => {}
        }
    }

    fn push_clip_path(&mut self, clip_path: &ClipPath) {
        let clip = self.clip().intersect(clip_path.path.bounding_box());
        self.clips.push(clip);
    }

    fn push_clip_rect(&mut self, rect: &Rect) {
        let clip = self.clip().intersect(*rect);
        self.clips.push(clip);
    }

    fn pop_clip(&mut self) {
        self.clips.pop();
    }

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}

    fn pop_transparency_group(&mut self) {}

    fn draw_glyph_run(
        &mut self,
        glyph_run: &GlyphRun<'_, 'a>,
        props: DrawProps<'a>,
        draw_mode: &DrawMode,
    ) {
        let clip = self.clip();
        let invisible = matches!(draw_mode, DrawMode::Invisible);
        for positioned in glyph_run.glyphs() {
            if self.ink.glyphs.len() >= MAX_GLYPHS {
                return;
            }
            let transform = props.transform * positioned.transform();
            let Some(glyph) = placed(positioned, transform, invisible) else {
                continue;
            };
            let (middle_x, middle_y) = (
                f64::from(glyph.x + glyph.advance.0 / 2.0),
                f64::from(glyph.y + glyph.advance.1 / 2.0),
            );
            let reach = f64::from(glyph.size) / 2.0;
            if !clip.inflate(reach, reach).contains((middle_x, middle_y)) {
                continue;
            }
            let stroke = self.stroke(positioned, &glyph.text);
            self.ink.glyphs.push(Glyph { stroke, ..glyph });
        }
    }

    fn draw_image(&mut self, image: Image<'a, '_>, props: ImageDrawProps<'a>) {
        let size = (image.width(), image.height());
        let whole = Rect::new(0.0, 0.0, f64::from(size.0), f64::from(size.1));
        let seen = props.transform.transform_rect_bbox(whole);
        let bbox = place(seen.intersect(self.clip()));
        if bbox.area() < 1.0 || self.ink.images.len() >= MAX_IMAGES {
            return;
        }
        let page = self.frame.width() * self.frame.height();
        let export = self
            .exports
            .take(&image, f64::from(bbox.area()) / page, props.transform);
        self.ink.images.push(PlacedImage {
            bbox,
            size,
            is_jpeg: is_jpeg(&image),
            export,
        });
    }
}

fn placed(glyph: &PdfGlyph<'_>, transform: Affine, invisible: bool) -> Option<Glyph> {
    let origin = transform * Point::ZERO;
    let up = transform * Point::new(0.0, 1000.0) - origin;
    let size = up.hypot();
    let advance = match glyph {
        PdfGlyph::Outline(outline) => outline.advance_width(),
        PdfGlyph::Type3(drawn) => drawn.advance_width(),
    };
    // An accent has no advance, and still a direction.
    let advance = f64::from(advance.unwrap_or(500.0)).max(1.0);
    let pen: Vec2 = transform * Point::new(advance, 0.0) - origin;
    if !(size > 0.1 && size.is_finite() && origin.is_finite() && pen.is_finite()) {
        return None;
    }
    let text = match glyph.as_unicode() {
        None => Meaning::Unknown,
        Some(BfString::Char(letter)) => Meaning::Character(letter),
        Some(BfString::String(letters)) => {
            let mut each = letters.chars();
            match (each.next(), each.next()) {
                (Some(letter), None) => Meaning::Character(letter),
                _ => Meaning::Several(letters.into_boxed_str()),
            }
        }
    };
    Some(Glyph {
        text,
        x: origin.x as f32,
        y: origin.y as f32,
        advance: (pen.x as f32, pen.y as f32),
        size: size as f32,
        stroke: 0.0,
        invisible,
    })
}

/// How thick the strokes of an outline are: a stroke's area is its length times its thickness, its rim twice its length.
fn thickness(outline: &BezPath) -> f32 {
    let rim = outline.perimeter(1.0);
    if rim < 1.0 {
        return 0.0;
    }
    (2.0 * outline.area().abs() / rim) as f32
}

fn place(rect: Rect) -> Bbox {
    Bbox {
        l: rect.x0 as f32,
        t: rect.y0 as f32,
        r: rect.x1 as f32,
        b: rect.y1 as f32,
    }
}

/// White on a page is paper: what it covers is not looked into.
fn is_white(paint: &Paint<'_>) -> bool {
    match paint {
        Paint::Color(color) => {
            let [red, green, blue, alpha] = color.to_rgba().to_rgba8();
            alpha < 8 || (red > 250 && green > 250 && blue > 250)
        }
        Paint::Pattern(_) => false,
    }
}
