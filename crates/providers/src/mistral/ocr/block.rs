//! The blocks of a page, which come in reading order.

use domain::{Element, Label};
use serde_json::json;

use super::{
    answer::Block,
    markdown,
    page::{Known, table},
};
use crate::reading::{element, members};

/// What the blocks of a page are with us.
pub(super) fn elements(known: &Known, blocks: Vec<Block>) -> Vec<Element> {
    let mut has_title = known.index > 0;
    let mut elements = Vec::new();
    for block in blocks {
        let mut element = of_block(known, &block, &mut has_title);
        element.bbox = known.place(block.corners);
        let confidence = block.confidence_scores.average_content_confidence_score;
        known.rate(&mut element, confidence);
        elements.push(element);
    }
    elements
}

fn of_block(known: &Known, block: &Block, has_title: &mut bool) -> Element {
    let text = block.content.trim();
    let label = match block.kind.as_str() {
        "title" => {
            return markdown::heading(text, has_title);
        }
        "list" => return list(text),
        "table" => {
            let markup = block.table_id.as_ref().and_then(|id| known.tables.get(id));
            return table(markup.map_or(text, String::as_str));
        }
        "image" => {
            let picture = block.image_id.as_ref().and_then(|id| known.images.get(id));
            // Of a picture without words, the content is the mark that the page has for it.
            let text = if text.starts_with("![") { "" } else { text };
            return match picture {
                Some(picture) => picture.element(text),
                None => element(Label::Picture, text),
            };
        }
        "signature" => Label::Picture,
        "equation" => return element(Label::Formula, markdown::unframed(text, "$$")),
        "code" => return element(Label::Code, markdown::unfenced(text)),
        "caption" => Label::Caption,
        "header" => Label::PageHeader,
        "footer" => Label::PageFooter,
        "references" => Label::Reference,
        _ => Label::Text,
    };
    element(label, text)
}

/// A list is one block, whose items have no places of their own.
fn list(text: &str) -> Element {
    let mut items = text.lines();
    let first = items.next().unwrap_or_default();
    let (marker, item) = markdown::item(first).unwrap_or(("", first));
    let text = if items.next().is_none() { item } else { text };
    let mut list = element(Label::ListItem, text);
    let enumerated = marker.starts_with(|it: char| it.is_ascii_digit());
    list.data = members([("enumerated", json!(enumerated)), ("marker", json!(marker))]);
    list
}
