//! What the server gives back: <https://docling-project.github.io/docling/reference/docling_document/>.
//!
//! Of what older and newer servers leave out, nothing is missed.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::fault;
use crate::wire::Fault;

/// What came of a task.
#[derive(Deserialize)]
pub(super) struct Outcome {
    document: Option<Export>,
    status: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    errors: Vec<ErrorItem>,
    /// Of a task that failed as a whole.
    failure: Option<Failure>,
}

/// A document in several forms.
#[derive(Deserialize)]
pub(super) struct Export {
    #[serde(rename = "md_content")]
    pub(super) markdown: Option<String>,
    #[serde(rename = "doctags_content")]
    pub(super) doctags: Option<String>,
    #[serde(rename = "json_content")]
    pub(super) pieces: Option<Document>,
}

/// What went wrong with a document or one of its pages.
#[derive(Deserialize)]
pub(super) struct ErrorItem {
    pub(super) component_type: Option<String>,
    pub(super) category: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) error_message: String,
    /// From 1.
    pub(super) page_no: Option<u32>,
}

/// Why a task failed.
#[derive(Deserialize)]
pub(super) struct Failure {
    pub(super) category: Option<String>,
    pub(super) message: Option<String>,
}

/// A document.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Document {
    #[serde(deserialize_with = "nullable")]
    body: Item,
    #[serde(deserialize_with = "nullable")]
    furniture: Item,
    #[serde(deserialize_with = "nullable")]
    groups: Vec<Item>,
    #[serde(deserialize_with = "nullable")]
    texts: Vec<Item>,
    #[serde(deserialize_with = "nullable")]
    tables: Vec<Item>,
    #[serde(deserialize_with = "nullable")]
    pictures: Vec<Item>,
    #[serde(deserialize_with = "nullable")]
    key_value_items: Vec<Item>,
    #[serde(deserialize_with = "nullable")]
    form_items: Vec<Item>,
    /// By their numbers, from 1.
    #[serde(deserialize_with = "nullable")]
    pub(super) pages: BTreeMap<u32, Page>,
}

/// A page.
#[derive(Deserialize)]
pub(super) struct Page {
    pub(super) size: Option<Size>,
}

/// In points.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A piece of a document, or what several hang on.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Item {
    #[serde(deserialize_with = "nullable")]
    pub(super) label: String,
    content_layer: Option<String>,
    #[serde(deserialize_with = "nullable")]
    children: Vec<Reference>,
    #[serde(deserialize_with = "nullable")]
    captions: Vec<Reference>,
    #[serde(deserialize_with = "nullable")]
    pub(super) prov: Vec<Place>,
    #[serde(deserialize_with = "nullable")]
    pub(super) text: String,
    pub(super) level: Option<u32>,
    pub(super) enumerated: Option<bool>,
    pub(super) marker: Option<String>,
    /// Of a table, its cells.
    pub(super) data: Option<Value>,
    /// Of a picture, the picture.
    pub(super) image: Option<Image>,
    /// Of a form, what stands in it.
    pub(super) graph: Option<Value>,
}

/// Where another piece is told: `#/texts/3`.
#[derive(Deserialize)]
struct Reference {
    #[serde(rename = "$ref", alias = "cref")]
    place: String,
}

/// Where a piece is.
#[derive(Deserialize)]
pub(super) struct Place {
    pub(super) page_no: u32,
    pub(super) bbox: Option<Bbox>,
}

/// In points.
#[derive(Clone, Deserialize)]
pub(super) struct Bbox {
    pub(super) l: f64,
    pub(super) t: f64,
    pub(super) r: f64,
    pub(super) b: f64,
    #[serde(default)]
    pub(super) coord_origin: String,
}

/// A picture.
#[derive(Deserialize)]
pub(super) struct Image {
    pub(super) mimetype: Option<String>,
    pub(super) size: Option<Size>,
    pub(super) uri: Option<String>,
}

fn nullable<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl Outcome {
    /// That nothing came of it.
    pub(super) fn fault(&self) -> Option<Fault> {
        if let Some(failure) = &self.failure {
            return Some(fault::of_task(Some(failure), None));
        }
        let is_failed = matches!(self.status.as_deref(), Some("failure" | "skipped"));
        if is_failed {
            return Some(fault::of_document(&self.errors));
        }
        let has_pieces = self.document.as_ref().map(|it| it.pieces.is_some());
        match has_pieces {
            Some(true) => None,
            _ if !self.errors.is_empty() => Some(fault::of_document(&self.errors)),
            _ => Some(Fault::protocol("the provider's answer has no document")),
        }
    }

    /// The document, with what it is in other forms.
    pub(super) fn document(&self) -> Option<(&Export, &Document)> {
        let export = self.document.as_ref()?;
        Some((export, export.pieces.as_ref()?))
    }

    /// Whether something is said to be wrong with a page, counted from 1.
    pub(super) fn has_failed(&self, page: u32) -> bool {
        self.errors.iter().any(|error| error.page_no == Some(page))
    }

    /// What is told of its errors: pages are counted from 0 here.
    pub(super) fn told_errors(&self, told: impl Fn(&str) -> String) -> impl Iterator<Item = Value> {
        self.errors.iter().map(move |error| {
            json!({
                "page": error.page_no.map(|page| page.saturating_sub(1)),
                "message": told(&error.error_message),
            })
        })
    }
}

impl Document {
    /// All that stands in it, in reading order.
    pub(super) fn items(&self) -> Vec<&Item> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        for root in [&self.body, &self.furniture] {
            let mut rest: Vec<&Reference> = root.children.iter().rev().collect();
            while let Some(reference) = rest.pop() {
                // Whatever leads back to itself is told once.
                let item = self.item(&reference.place);
                let Some(item) = item.filter(|_| seen.insert(reference.place.as_str())) else {
                    continue;
                };
                found.push(item);
                rest.extend(item.below().iter().rev());
            }
        }
        found
    }

    fn item(&self, place: &str) -> Option<&Item> {
        let (list, index) = place.strip_prefix("#/")?.split_once('/')?;
        let list = match list {
            "groups" => &self.groups,
            "texts" => &self.texts,
            "tables" => &self.tables,
            "pictures" => &self.pictures,
            "key_value_items" => &self.key_value_items,
            "form_items" => &self.form_items,
            _ => return None,
        };
        list.get(index.parse::<usize>().ok()?)
    }
}

impl Item {
    /// What is told after it: of a picture or a table, which are told whole, what is written under them.
    fn below(&self) -> &[Reference] {
        match self.label.as_str() {
            "picture" | "chart" | "table" | "document_index" => &self.captions,
            _ => &self.children,
        }
    }

    /// The page that it begins on, from 1.
    pub(super) fn page(&self) -> Option<u32> {
        self.prov.first().map(|place| place.page_no)
    }

    /// Whether it is a part of the text, not of what stands above and below that on every page.
    pub(super) fn is_in_body(&self) -> bool {
        matches!(self.content_layer.as_deref(), None | Some("body"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(document: Value) -> Vec<String> {
        let document: Document = serde_json::from_value(document).unwrap();
        let items = document.items();
        items.iter().map(|item| item.label.clone()).collect()
    }

    #[test]
    fn pieces_are_told_once_in_reading_order_whatever_leads_to_them() {
        let to = |place: &str| json!({ "$ref": place });

        let found = labels(json!({
            "body": {"children": [to("#/groups/0"), to("#/texts/0"), to("#/tables/9"), to("#/nothing/0"), to("texts")]},
            "furniture": {"children": [to("#/texts/3"), to("#/groups/0")]},
            "groups": [{"label": "list", "children": [to("#/texts/1"), to("#/groups/0"), to("#/pictures/0")]}],
            "texts": [
                {"label": "text", "children": null},
                {"label": "list_item", "children": [to("#/groups/0"), to("#/texts/0")]},
                {"label": "caption"},
                {"label": "page_header"},
                {"label": "footnote"},
            ],
            // What is written under it follows; what stands in it is a part of it.
            "pictures": [{"label": "picture", "captions": [to("#/texts/2")], "children": [to("#/texts/2"), to("#/texts/4")]}],
            "pages": null,
        }));

        assert_eq!(
            found,
            [
                "list",
                "list_item",
                "text",
                "picture",
                "caption",
                "page_header"
            ]
        );
        assert_eq!(labels(json!({})), [""; 0]);
    }

    #[test]
    fn what_an_answer_says_of_its_failure_is_found() {
        let fault = |told: Value| {
            let outcome: Outcome = serde_json::from_value(told).unwrap();
            outcome.fault().and_then(|fault| fault.words)
        };
        let error = json!([{"error_message": "broken", "component_type": "pipeline"}]);

        let whole = json!({"document": {"json_content": {}}, "status": "success"});
        assert_eq!(fault(whole), None);
        let partly =
            json!({"document": {"json_content": {}}, "status": "partial_success", "errors": error});
        assert_eq!(fault(partly), None);
        let failed =
            json!({"document": {"json_content": {}}, "status": "failure", "errors": error});
        assert_eq!(fault(failed).unwrap(), "broken");
        let empty = json!({"document": {"md_content": "a"}, "status": "success", "errors": null});
        assert_eq!(
            fault(empty).unwrap(),
            "the provider's answer has no document"
        );
        let task = json!({"kind": "TaskFailureResult", "failure": {"message": "no"}});
        assert_eq!(fault(task).unwrap(), "no");
    }
}
