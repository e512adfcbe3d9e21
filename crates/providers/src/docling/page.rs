//! The pages of a document that was converted.

use std::collections::BTreeMap;

use domain::{Bbox, Dimensions, Element, Label, OcrImage, OcrPage, OcrRequest};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    document::{self, Document, Item, Outcome, Size},
    form::{Form, Piece, written},
    markdown,
    request::Options,
    tags,
};
use crate::reading::{Cell, Table, element, members, pixels};

/// A point is a 72nd of an inch.
const POINTS_PER_INCH: f64 = 72.0;
/// No pixel is beyond this.
const FAR: f64 = 1e7;

/// Reads what came of a range of pages.
pub(super) struct Reader<'a> {
    pub(super) options: &'a Options<'a>,
    pub(super) request: &'a OcrRequest,
    /// How many pictures there were before.
    pub(super) pictures: &'a mut usize,
    /// Whether every page is in the form that was asked for.
    pub(super) is_in_form: &'a mut bool,
}

/// The texts of pages, where they are not made of the pages' pieces.
enum Texts {
    /// Markdown, in which pictures have no names yet.
    Markdown(BTreeMap<u32, String>),
    /// As they are.
    Given(BTreeMap<u32, String>),
    /// To be made.
    Made(Form),
}

/// A page in the making.
#[derive(Default)]
struct Draft {
    pieces: Vec<Piece>,
    images: Vec<OcrImage>,
}

impl Reader<'_> {
    /// The pages that were wanted and came.
    pub(super) fn pages(&mut self, outcome: &Outcome) -> Vec<OcrPage> {
        let Some((export, document)) = outcome.document() else {
            return Vec::new();
        };
        let items = document.items();
        let texts = self.texts(export, document, &items);
        let mut drafts: BTreeMap<u32, Draft> = BTreeMap::new();
        let is_wanted = |number: u32| {
            let index = number.checked_sub(1);
            let pages = self.request.pages.as_deref();
            index.is_some_and(|it| pages.is_none_or(|pages| pages.binary_search(&it).is_ok()))
        };
        for number in document.pages.keys().filter(|number| is_wanted(**number)) {
            drafts.insert(*number, Draft::default());
        }
        let mut of_page: BTreeMap<u32, Vec<&Item>> = BTreeMap::new();
        for item in items {
            let number = item.page().filter(|number| drafts.contains_key(number));
            if let Some(number) = number {
                of_page.entry(number).or_default().push(item);
            }
        }
        // Pictures are counted by their pages.
        for (number, items) in of_page {
            let size = document.pages[&number].size;
            let draft = drafts.entry(number).or_default();
            for item in items {
                self.add(draft, item, number, size);
            }
        }
        let pages = drafts.into_iter().filter_map(|(number, draft)| {
            let is_missing = draft.pieces.is_empty() && outcome.has_failed(number);
            let size = document.pages[&number].size;
            (!is_missing).then(|| self.page(number, draft, size, &texts))
        });
        pages.collect()
    }

    /// What the pages' texts are, by the number of the page.
    fn texts(&mut self, export: &document::Export, document: &Document, items: &[&Item]) -> Texts {
        let form = self.options.form;
        let only = document
            .pages
            .keys()
            .next()
            .filter(|_| document.pages.len() == 1);
        match form {
            Form::Text | Form::Html => Texts::Made(form),
            Form::DocTags => {
                let told = export.doctags.as_deref().unwrap_or_default();
                let parts = tags::pages(told);
                let run = match only {
                    Some(only) => vec![*only],
                    None => markdown::run(items.iter().copied()),
                };
                let fits = parts.len() == run.len() && !told.is_empty();
                *self.is_in_form &= fits;
                if fits {
                    Texts::Given(run.into_iter().zip(parts).collect())
                } else {
                    Texts::Made(Form::Markdown)
                }
            }
            Form::Markdown => {
                let told = export.markdown.as_deref().unwrap_or_default();
                let mark = &self.options.page_mark;
                match (markdown::pages(told, mark, items), only) {
                    (Some(pages), _) => Texts::Markdown(owned(pages)),
                    // Of a single page all text is its own.
                    (None, Some(only)) if !told.contains(mark.as_str()) => {
                        Texts::Markdown(owned(vec![(*only, told.trim())]))
                    }
                    _ => Texts::Made(Form::Markdown),
                }
            }
        }
    }

    fn add(&mut self, draft: &mut Draft, item: &Item, number: u32, size: Option<Size>) {
        let Some(label) = label(&item.label) else {
            return;
        };
        let places = item.prov.iter().filter(|place| place.page_no == number);
        let boxes = places.filter_map(|place| Some(self.place(place.bbox.as_ref()?, size)));
        let bbox = boxes.reduce(Bbox::union).unwrap_or_default();
        let (mut element, table) = told(item, label);
        element.bbox = bbox;
        let picture = (label == Label::Picture).then(|| self.picture(item, bbox));
        if let Some(picture) = &picture {
            let named = [("image_id", json!(picture.id))];
            element.data.extend(members(named));
        }
        draft.pieces.push(Piece {
            element,
            table,
            picture: picture.as_ref().map(|picture| picture.id.clone()),
            is_in_body: item.is_in_body(),
        });
        draft.images.extend(picture);
    }

    fn picture(&mut self, item: &Item, bbox: Bbox) -> OcrImage {
        let image = item.image.as_ref();
        let media_type = image.and_then(|image| image.mimetype.as_deref());
        let extension = match media_type {
            Some("image/jpeg" | "image/jpg") => "jpeg",
            _ => "png",
        };
        let id = format!("img-{}.{extension}", self.pictures);
        *self.pictures += 1;
        let data_url = image.and_then(|image| image.uri.clone());
        let size = image.and_then(|image| image.size);
        OcrImage {
            id,
            bbox,
            size: size.map(|size| (pixels(size.width), pixels(size.height))),
            data_url: data_url.filter(|url| self.request.with_images && url.starts_with("data:")),
        }
    }

    /// A place in the pixels of its page, from its upper left corner.
    #[expect(clippy::cast_possible_truncation, reason = "pages are far smaller")]
    fn place(&self, bbox: &document::Bbox, size: Option<Size>) -> Bbox {
        let scale = self.options.scale;
        let height = size.map_or(0.0, |size| size.height);
        let flipped = bbox.coord_origin != "TOPLEFT";
        let down = |y: f64| if flipped { height - y } else { y };
        let (t, b) = (down(bbox.t), down(bbox.b));
        let scaled = |length: f64| (length * scale).clamp(-FAR, FAR) as f32;
        Bbox {
            l: scaled(bbox.l.min(bbox.r)),
            t: scaled(t.min(b)),
            r: scaled(bbox.l.max(bbox.r)),
            b: scaled(t.max(b)),
        }
    }

    fn page(&self, number: u32, draft: Draft, size: Option<Size>, texts: &Texts) -> OcrPage {
        let Draft { mut pieces, images } = draft;
        // What stands above and below the text is told before and after it.
        pieces.sort_by_key(|piece| match piece.element.label {
            Label::PageHeader => 0,
            Label::PageFooter => 2,
            _ => 1,
        });
        let pictures = || pieces.iter().filter(|piece| piece.is_in_body);
        let pictures: Vec<&str> = pictures().filter_map(|it| it.picture.as_deref()).collect();
        let text = match texts {
            Texts::Markdown(pages) => {
                let text = pages.get(&number).map_or("", String::as_str);
                markdown::named(text, &pictures)
            }
            Texts::Given(pages) => Some(pages.get(&number).cloned().unwrap_or_default()),
            Texts::Made(_) => None,
        };
        let form = match texts {
            Texts::Made(form) => *form,
            _ => Form::Markdown,
        };
        let scale = self.options.scale;
        OcrPage {
            index: number - 1,
            markdown: text.unwrap_or_else(|| written(&pieces, form)),
            dimensions: size.map(|size| Dimensions {
                dpi: pixels(POINTS_PER_INCH * scale),
                height: pixels(size.height * scale),
                width: pixels(size.width * scale),
            }),
            images,
            elements: pieces.into_iter().map(|piece| piece.element).collect(),
        }
    }
}

fn owned(pages: Vec<(u32, &str)>) -> BTreeMap<u32, String> {
    let pages = pages.into_iter();
    pages.map(|(page, text)| (page, text.to_owned())).collect()
}

/// What a piece is with us; `None` for what only holds others together.
fn label(name: &str) -> Option<Label> {
    // Groups have labels of their own.
    let groups = [
        "",
        "unspecified",
        "list",
        "ordered_list",
        "chapter",
        "section",
        "sheet",
        "slide",
        "form_area",
        "key_value_area",
        "comment_section",
        "inline",
        "picture_area",
    ];
    if groups.contains(&name) {
        return None;
    }
    Some(match name {
        "chart" => Label::Picture,
        "document_index" => Label::Table,
        "field_region" => Label::KeyValueRegion,
        "field_heading" => Label::SectionHeader,
        name => Label::deserialize(Value::from(name)).unwrap_or(Label::Text),
    })
}

/// What a piece says.
fn told(item: &Item, label: Label) -> (Element, Option<Table>) {
    let table = item
        .data
        .as_ref()
        .filter(|_| label == Label::Table)
        .map(cells);
    let text = match (&table, &item.graph) {
        (Some(table), _) => table.text(),
        (None, Some(graph)) if item.text.is_empty() => of_graph(graph),
        _ => item.text.clone(),
    };
    let mut element = element(label, text);
    element.data = match (&table, label) {
        (Some(table), _) => table.data(),
        (None, Label::SectionHeader) => members([("level", json!(item.level.unwrap_or(1)))]),
        (None, Label::ListItem) => members([
            ("enumerated", json!(item.enumerated.unwrap_or(false))),
            ("marker", json!(item.marker.as_deref().unwrap_or_default())),
        ]),
        _ => element.data,
    };
    (element, table)
}

/// The cells of a table.
fn cells(data: &Value) -> Table {
    let told = data["table_cells"].as_array().into_iter().flatten();
    let cells = told.map(|cell| {
        let number = |name: &str| cell[name].as_u64().map(Table::within);
        let side = |begin, end| {
            let begin = number(begin).unwrap_or(0);
            let end = number(end).unwrap_or(begin + 1);
            (begin, end.saturating_sub(begin).max(1))
        };
        let (row, row_span) = side("start_row_offset_idx", "end_row_offset_idx");
        let (column, column_span) = side("start_col_offset_idx", "end_col_offset_idx");
        Cell {
            text: cell["text"].as_str().unwrap_or_default().to_owned(),
            row,
            column,
            row_span,
            column_span,
            is_column_header: cell["column_header"] == true,
            is_row_header: cell["row_header"] == true,
        }
    });
    Table::of(cells.collect())
}

/// What stands in a form.
fn of_graph(graph: &Value) -> String {
    let cells = graph["cells"].as_array().into_iter().flatten();
    let texts: Vec<&str> = cells.filter_map(|cell| cell["text"].as_str()).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use domain::{DocumentKind, JsonObject, OcrExtras};
    use proptest::prelude::*;

    use super::*;
    use crate::wire::tests::target;

    fn read(told: Value) -> Vec<OcrPage> {
        let request = OcrRequest {
            document: domain::Document {
                kind: DocumentKind::Pdf,
                content: "%PDF-".into(),
                name: None,
                url: None,
            },
            pages: None,
            with_images: true,
            image_limit: None,
            image_min_size: None,
            extras: OcrExtras::default(),
            progress: std::sync::Arc::default(),
        };
        let target = target("http://localhost");
        let form = Form::of(&JsonObject::new()).unwrap();
        let options = Options::new(&target, &request, form);
        let mut reader = Reader {
            options: &options,
            request: &request,
            pictures: &mut 0,
            is_in_form: &mut true,
        };
        let outcome: Outcome = serde_json::from_value(told).unwrap();
        reader.pages(&outcome)
    }

    #[test]
    fn a_picture_of_which_the_text_says_nothing_has_the_text_made_anew() {
        let picture = json!({"label": "picture", "prov": [{"page_no": 1, "bbox": {"l": 1, "t": 9, "r": 5, "b": 3}}]});

        let pages = read(
            json!({"document": {"md_content": "Nothing", "json_content": {
                "body": {"children": [{"$ref": "#/pictures/0"}]},
                "pictures": [picture],
                "pages": {"1": {"size": {"width": 10, "height": 10}}},
            }}}),
        );

        assert_eq!(pages[0].markdown, "![img-0.png](img-0.png)");
        let bbox = Bbox {
            l: 2.0,
            t: 2.0,
            r: 10.0,
            b: 14.0,
        };
        assert_eq!(
            (pages[0].images[0].bbox, pages[0].elements[0].bbox),
            (bbox, bbox)
        );
    }

    proptest! {
        #[test]
        fn numbers_without_sense_are_no_panic(
            numbers in prop::collection::vec(
                prop::sample::select(vec![json!(0), json!(-1.5), json!(1e300), json!(3), json!(null), json!("x"), json!(u64::MAX)]),
                8,
            ),
            page in 0..4_u32,
        ) {
            let cell = |row: &Value, column: &Value| json!({
                "text": "a", "start_row_offset_idx": row, "end_row_offset_idx": column, "start_col_offset_idx": column,
                "end_col_offset_idx": row,
            });
            let side = |value: &Value| json!(value.as_f64().unwrap_or(7.0));
            let told = json!({"document": {"md_content": "a", "json_content": {
                "body": {"children": [{"$ref": "#/tables/0"}]},
                "tables": [{
                    "label": "table",
                    "prov": [{"page_no": page, "bbox": {
                        "l": side(&numbers[0]), "t": side(&numbers[1]), "r": side(&numbers[2]), "b": side(&numbers[3]),
                    }}],
                    "data": {"table_cells": [cell(&numbers[4], &numbers[5]), cell(&numbers[6], &numbers[7])]},
                }],
                "pages": {"1": {"size": {"width": side(&numbers[7]), "height": side(&numbers[6])}}, "2": {}, "0": {}},
            }}});
            let pages = read(told);
            let elements = pages.iter().flat_map(|page| &page.elements);
            for bbox in elements.map(|element| element.bbox) {
                prop_assert!([bbox.l, bbox.t, bbox.r, bbox.b].iter().all(|side| side.is_finite()));
            }
        }
    }
}
