//! A page as Mistral tells it, as one of ours.

use std::collections::HashMap;

use domain::{Bbox, Dimensions, Element, Label, OcrImage, OcrPage};
use indexmap::IndexMap;
use serde_json::{Value, json};

use super::{
    answer::{self, Corners, of_text},
    block, markdown,
};
use crate::reading::{Table, element, members, pixels, replaced};

/// What is known of a page beside its text and its blocks.
pub(super) struct Known {
    /// The page as a rectangle: where that stands which nobody says of where it stands. No place is made up for it.
    pub(super) whole: Bbox,
    pub(super) index: u32,
    /// By the names that they have in the answer.
    pub(super) images: HashMap<String, Picture>,
    /// Their markup, by the names that they have in the answer.
    pub(super) tables: IndexMap<String, String>,
    /// How sure the model is of the page.
    pub(super) confidence: Option<f64>,
}

/// A picture of a page.
pub(super) struct Picture {
    /// Its name in ours.
    pub(super) id: String,
    pub(super) bbox: Bbox,
    /// What was told of it by a schema.
    annotation: Option<Value>,
}

/// Reads a page, with so many pictures before its own.
pub(super) fn read(page: answer::Page, count: &mut usize) -> OcrPage {
    let dimensions = page.dimensions.map(|it| Dimensions {
        dpi: pixels(it.dpi),
        height: pixels(it.height),
        width: pixels(it.width),
    });
    #[expect(clippy::cast_precision_loss, reason = "pages are far smaller")]
    let whole = dimensions.map_or_else(Bbox::default, |it| Bbox {
        r: it.width as f32,
        b: it.height as f32,
        ..Bbox::default()
    });
    let mut known = Known {
        whole,
        index: page.index,
        images: HashMap::new(),
        tables: page
            .tables
            .into_iter()
            .map(|table| (table.id, table.content))
            .collect(),
        confidence: page.confidence_scores.average_page_confidence_score,
    };
    let mut images = Vec::new();
    for image in page.images {
        let data_url = image.data.filter(|data| !data.is_empty());
        let data_url = data_url.map(data_url_of);
        let id = format!("img-{count}.{}", extension(&image.id, data_url.as_deref()));
        *count += 1;
        let bbox = known.place(image.corners);
        images.push(OcrImage {
            id: id.clone(),
            bbox,
            size: None,
            data_url,
        });
        let picture = Picture {
            id,
            bbox,
            annotation: image.annotation.and_then(of_text),
        };
        known.images.insert(image.id, picture);
    }
    let markdown = known.text(&page.markdown);
    let mut elements = match page.blocks {
        Some(blocks) if !blocks.is_empty() => block::elements(&known, blocks),
        _ => markdown::elements(&known, &markdown),
    };
    // A picture in the midst of a text, or one that no block tells of, has an element all the same.
    for image in &images {
        let is_its = |element: &Element| {
            let id = element.data.get("image_id");
            id.is_some_and(|id| id.to_value() == image.id.as_str())
        };
        let mut pictures = known.images.values();
        if !elements.iter().any(is_its)
            && let Some(picture) = pictures.find(|picture| picture.id == image.id)
        {
            elements.push(picture.element(""));
        }
    }
    known.add_furniture(&mut elements, page.header, page.footer);
    OcrPage {
        index: page.index,
        markdown,
        dimensions,
        images,
        elements,
    }
}

/// A `data:` URL. Mistral gives one; some who host its models give the bytes alone.
fn data_url_of(data: String) -> String {
    if data.starts_with("data:") {
        return data;
    }
    format!("data:image/jpeg;base64,{data}")
}

/// How the name of a picture ends.
fn extension<'a>(id: &'a str, data_url: Option<&str>) -> &'a str {
    let is_png = |it: &str| it.starts_with("data:image/png");
    match (data_url, id.rsplit_once('.')) {
        (Some(url), _) if is_png(url) => "png",
        (Some(_), _) | (None, None) => "jpeg",
        (None, Some((_, extension))) => extension,
    }
}

impl Picture {
    /// The element of a picture.
    pub(super) fn element(&self, text: &str) -> Element {
        let mut element = element(Label::Picture, text);
        element.bbox = self.bbox;
        element.data = members([("image_id", json!(self.id))]);
        if let Some(annotation) = &self.annotation {
            let annotation = members([("annotation", annotation.clone())]);
            element.data.extend(annotation);
        }
        element
    }
}

/// The element of a table.
pub(super) fn table(markup: &str) -> Element {
    let Some(table) = Table::read(markup) else {
        return element(Label::Table, markup.trim());
    };
    let mut element = element(Label::Table, table.text());
    element.data = table.data();
    element
}

impl Known {
    /// A place on the page; all of it where the corners are not told.
    pub(super) fn place(&self, corners: Corners) -> Bbox {
        let Corners {
            top_left_x: Some(l),
            top_left_y: Some(t),
            bottom_right_x: Some(r),
            bottom_right_y: Some(b),
        } = corners
        else {
            return self.whole;
        };
        Bbox { l, t, r, b }
    }

    /// The page's text with the tables in the place of the links to them, and with our names for its pictures.
    fn text(&self, markdown: &str) -> String {
        let mut text = markdown.to_owned();
        for (id, content) in &self.tables {
            text = text.replace(&format!("[{id}]({id})"), content);
        }
        replaced(&text, |place| {
            let id = &self.images.get(place)?.id;
            Some(OcrImage::mark(id))
        })
    }

    /// Says how sure the model is of what it recognised.
    pub(super) fn rate(&self, element: &mut Element, confidence: Option<f64>) {
        let confidence = confidence.or(self.confidence);
        if let Some(confidence) = confidence.filter(|_| element.label != Label::Picture) {
            let rated = [("confidence", json!(confidence)), ("source", json!("ocr"))];
            element.data.extend(members(rated));
        }
    }

    /// Adds what stands above and below the page's text and was taken out of it, unless the blocks have it.
    fn add_furniture(
        &self,
        elements: &mut Vec<Element>,
        header: Option<String>,
        footer: Option<String>,
    ) {
        for (label, text) in [(Label::PageHeader, header), (Label::PageFooter, footer)] {
            let has_it = elements.iter().any(|element| element.label == label);
            let text = text.filter(|text| !has_it && !text.trim().is_empty());
            let Some(text) = text else {
                continue;
            };
            let mut furniture = element(label, text.trim());
            furniture.bbox = self.whole;
            self.rate(&mut furniture, None);
            let place = match label {
                Label::PageHeader => 0,
                _ => elements.len(),
            };
            elements.insert(place, furniture);
        }
    }
}
