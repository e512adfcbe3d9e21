//! The elements of a page of which there is nothing but its Markdown: an element to a paragraph, on the whole of the page.

use domain::{Element, Label};
use serde_json::json;

use super::page::{Known, table};
use crate::reading::{element, members};

const FENCE: &str = "```";
const FORMULA: &str = "$$";

/// What stands in a page's text.
pub(super) fn elements(known: &Known, markdown: &str) -> Vec<Element> {
    let mut has_title = known.index > 0;
    let mut elements = Vec::new();
    for paragraph in paragraphs(markdown) {
        let begun = elements.len();
        elements.extend(of_paragraph(known, &paragraph, &mut has_title));
        for element in &mut elements[begun..] {
            known.rate(element, None);
        }
    }
    elements
}

fn of_paragraph(known: &Known, paragraph: &str, has_title: &mut bool) -> Vec<Element> {
    let picture = pictured(paragraph).and_then(|id| {
        let mut pictures = known.images.values();
        pictures.find(|picture| picture.id == id)
    });
    if let Some(picture) = picture {
        return vec![picture.element("")];
    }
    let lines = || paragraph.lines().map(str::trim);
    let mut found = if paragraph.starts_with('#') {
        vec![heading(paragraph, has_title)]
    } else if paragraph.starts_with(FENCE) {
        vec![element(Label::Code, unfenced(paragraph))]
    } else if paragraph.starts_with(FORMULA) {
        vec![element(Label::Formula, unframed(paragraph, FORMULA))]
    } else if is_table(paragraph) {
        vec![table(paragraph)]
    } else if lines().all(|line| item(line).is_some()) {
        let items = lines().filter_map(item);
        let items = items.map(|(marker, text)| {
            let mut element = element(Label::ListItem, text);
            let enumerated = marker.starts_with(|it: char| it.is_ascii_digit());
            element.data = members([("enumerated", json!(enumerated)), ("marker", json!(marker))]);
            element
        });
        items.collect()
    } else {
        vec![element(Label::Text, paragraph)]
    };
    for element in &mut found {
        element.bbox = known.whole;
    }
    found
}

/// What empty lines part, unless they stand in code, in a formula or in a table.
fn paragraphs(markdown: &str) -> Vec<String> {
    let mut paragraphs = Vec::new();
    let mut lines: Vec<&str> = Vec::new();
    let mut end: Option<&str> = None;
    for line in markdown.lines() {
        let bare = line.trim();
        match end {
            Some(mark) if bare.ends_with(mark) => end = None,
            Some(_) => {}
            None => end = opened(bare),
        }
        // A heading is one line, whatever follows.
        let is_heading = end.is_none() && bare.starts_with('#');
        if is_heading {
            paragraphs.extend((!lines.is_empty()).then(|| lines.join("\n")));
            lines.clear();
            paragraphs.push(bare.to_owned());
        } else if !bare.is_empty() || end.is_some() {
            lines.push(line);
        } else if !lines.is_empty() {
            paragraphs.push(lines.join("\n"));
            lines.clear();
        }
    }
    paragraphs.extend((!lines.is_empty()).then(|| lines.join("\n")));
    let trimmed = paragraphs
        .iter()
        .map(|paragraph| paragraph.trim().to_owned());
    trimmed.filter(|paragraph| !paragraph.is_empty()).collect()
}

/// What closes what a line opens.
fn opened(line: &str) -> Option<&'static str> {
    let frames = [(FENCE, FENCE), (FORMULA, FORMULA), ("<table", "</table>")];
    let (begin, end) = frames
        .into_iter()
        .find(|(begin, _)| line.starts_with(begin))?;
    let is_closed = line.len() > begin.len() && line[begin.len()..].ends_with(end);
    (!is_closed).then_some(end)
}

fn is_table(paragraph: &str) -> bool {
    paragraph.starts_with("<table") || (paragraph.starts_with('|') && paragraph.contains("\n|"))
}

/// The name of the picture that a paragraph is.
fn pictured(paragraph: &str) -> Option<&str> {
    let inside = paragraph.strip_prefix("![")?.strip_suffix(')')?;
    let (_, place) = inside.split_once("](")?;
    (!place.contains(['(', '\n'])).then_some(place)
}

/// A heading with as many marks before it as it has levels. The first of a document is its title.
pub(super) fn heading(text: &str, has_title: &mut bool) -> Element {
    let label = if std::mem::replace(has_title, true) {
        Label::SectionHeader
    } else {
        Label::Title
    };
    let words = text.trim_start_matches('#');
    let level = (text.len() - words.len()).max(1);
    let mut heading = element(label, words.trim());
    if label == Label::SectionHeader {
        heading.data = members([("level", json!(level))]);
    }
    heading
}

/// An item of a list: its mark, and what follows.
pub(super) fn item(line: &str) -> Option<(&str, &str)> {
    let (marker, text) = line.trim().split_once(' ')?;
    let number = marker.strip_suffix(['.', ')']).unwrap_or_default();
    let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
    (is_number || matches!(marker, "-" | "*" | "+" | "•")).then(|| (marker, text.trim()))
}

/// A text without the marks around it.
pub(super) fn unframed<'a>(text: &'a str, mark: &str) -> &'a str {
    let inside = text.strip_prefix(mark).unwrap_or(text);
    inside.strip_suffix(mark).unwrap_or(inside).trim()
}

/// Code without the fence around it, and without its language.
pub(super) fn unfenced(text: &str) -> &str {
    let inside = text
        .strip_prefix(FENCE)
        .and_then(|inside| inside.split_once('\n'));
    let Some((_, code)) = inside else {
        return text;
    };
    code.strip_suffix(FENCE).unwrap_or(code).trim_end()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use domain::Bbox;
    use indexmap::IndexMap;

    use super::*;

    #[test]
    fn a_paragraph_is_an_element() {
        let known = Known {
            whole: Bbox::default(),
            index: 0,
            images: HashMap::new(),
            tables: IndexMap::new(),
            confidence: None,
        };
        let text = "# Report\n\nTwo\nlines\n\n## Part\n- one\n- two\n\n1. first\n\n```py\na = 1\n\nb = 2\n```\n\n$$\nx^2\n\ny\n$$\n\n\
            | a | b |\n|---|---|\n| 1 | 2 |\n\n<table><tr><td>7</td></tr>\n\n</table>\n\n![what](img-9.png)\n";

        let found = elements(&known, text);
        let found: Vec<(Label, &str)> = found
            .iter()
            .map(|element| (element.label, element.text.as_str()))
            .collect();

        assert_eq!(
            found,
            [
                (Label::Title, "Report"),
                (Label::Text, "Two\nlines"),
                (Label::SectionHeader, "Part"),
                (Label::ListItem, "one"),
                (Label::ListItem, "two"),
                (Label::ListItem, "first"),
                (Label::Code, "a = 1\n\nb = 2"),
                (Label::Formula, "x^2\n\ny"),
                (Label::Table, "a b\n1 2"),
                (Label::Table, "7"),
                (Label::Text, "![what](img-9.png)"),
            ]
        );
    }
}
