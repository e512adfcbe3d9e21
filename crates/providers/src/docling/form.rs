//! What a page's text is told in, and the text made of the page's pieces.

use std::fmt::Write as _;

use domain::{
    Element, JsonObject, Label, OcrImage,
    seams::{ProviderError, ProviderErrorKind as Kind},
};

use crate::reading::{Table, escaped};

/// The setting that says so.
const SETTING: &str = "output_format";

/// A form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The server's Markdown.
    Markdown,
    /// Words alone.
    Text,
    /// Without styles.
    Html,
    /// The server's own markup.
    DocTags,
}

/// The names of the forms. What there is as JSON is a page's elements.
static NAMES: [(&str, Form); 5] = [
    ("md", Form::Markdown),
    ("text", Form::Text),
    ("html", Form::Html),
    ("doctags", Form::DocTags),
    ("json", Form::Markdown),
];

/// A piece of a page.
pub(super) struct Piece {
    pub(super) element: Element,
    pub(super) table: Option<Table>,
    /// Of a picture, its name.
    pub(super) picture: Option<String>,
    /// Whether it is a part of the text.
    pub(super) is_in_body: bool,
}

impl Form {
    /// The form that the caller wants.
    pub(super) fn of(settings: &JsonObject) -> Result<Self, ProviderError> {
        let Some(name) = settings.get(SETTING) else {
            return Ok(Self::Markdown);
        };
        let name = name.as_string().unwrap_or_default();
        let known = NAMES.iter().find(|(known, _)| *known == name);
        known.map(|(_, form)| *form).ok_or_else(|| {
            let names = NAMES.map(|(name, _)| format!("`{name}`")).join(", ");
            let reason = format!("`{SETTING}` is `{name}`; there are {names}");
            ProviderError::new(Kind::Invalid, reason)
        })
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        let row = NAMES.iter().find(|(_, form)| *form == self);
        row.map_or("md", |(name, _)| name)
    }
}

/// The text of a page in a form that can be made here; of any other, its Markdown.
pub(super) fn written(pieces: &[Piece], form: Form) -> String {
    let told = pieces.iter().filter(|piece| piece.is_in_body);
    match form {
        Form::Html => html(told),
        Form::Text => parted(told.map(|piece| (piece, text(piece)))),
        Form::Markdown | Form::DocTags => parted(told.map(|piece| (piece, markdown(piece)))),
    }
}

/// Empty lines between all pieces but the items of a list.
fn parted<'a>(pieces: impl Iterator<Item = (&'a Piece, String)>) -> String {
    let mut whole = String::new();
    let mut is_after_item = false;
    for (piece, text) in pieces.filter(|(_, text)| !text.is_empty()) {
        let is_item = piece.element.label == Label::ListItem;
        if !whole.is_empty() {
            whole += if is_item && is_after_item {
                "\n"
            } else {
                "\n\n"
            };
        }
        whole += &text;
        is_after_item = is_item;
    }
    whole
}

fn text(piece: &Piece) -> String {
    let element = &piece.element;
    match element.label {
        Label::ListItem => format!("{} {}", marker(element), element.text),
        _ => element.text.clone(),
    }
}

fn markdown(piece: &Piece) -> String {
    let element = &piece.element;
    let text = element.text.trim();
    match element.label {
        Label::Picture => piece
            .picture
            .as_ref()
            .map_or_else(String::new, |id| OcrImage::mark(id)),
        Label::Table => piece
            .table
            .as_ref()
            .map_or_else(String::new, Table::to_markdown),
        _ if text.is_empty() => String::new(),
        Label::Title => format!("# {text}"),
        Label::SectionHeader => format!("{} {text}", "#".repeat(level(element) + 1)),
        Label::ListItem => format!("{} {text}", marker(element)),
        Label::Code => format!("```\n{text}\n```"),
        Label::Formula => format!("$${text}$$"),
        Label::CheckboxSelected => format!("- [x] {text}"),
        Label::CheckboxUnselected => format!("- [ ] {text}"),
        _ => text.to_owned(),
    }
}

/// From 1 to 5.
fn level(element: &Element) -> usize {
    let level = element
        .data
        .get("level")
        .and_then(|it| it.text().parse().ok());
    level.unwrap_or(1).clamp(1, 5)
}

fn marker(element: &Element) -> String {
    let marker = element.data.get("marker").and_then(domain::Json::as_string);
    marker
        .filter(|it| !it.is_empty())
        .unwrap_or_else(|| "-".to_owned())
}

fn html<'a>(pieces: impl Iterator<Item = &'a Piece>) -> String {
    let mut html = String::new();
    // The list that is open.
    let mut list: Option<&str> = None;
    for piece in pieces {
        let element = &piece.element;
        let enumerated = element
            .data
            .get("enumerated")
            .is_some_and(|it| it.text() == "true");
        let wanted =
            (element.label == Label::ListItem).then_some(if enumerated { "ol" } else { "ul" });
        if list != wanted {
            let end = list.map(|name| format!("</{name}>\n"));
            html += &end.unwrap_or_default();
            let begin = wanted.map(|name| format!("<{name}>\n"));
            html += &begin.unwrap_or_default();
            list = wanted;
        }
        html += &of_piece(piece);
    }
    let end = list.map(|name| format!("</{name}>"));
    html += &end.unwrap_or_default();
    html.truncate(html.trim_end().len());
    html
}

fn of_piece(piece: &Piece) -> String {
    let element = &piece.element;
    let text = escaped(element.text.trim());
    let mut html = String::new();
    let written = match element.label {
        Label::Picture => match &piece.picture {
            Some(id) => writeln!(html, "{}", OcrImage::html_mark(id)),
            None => Ok(()),
        },
        Label::Table => match &piece.table {
            Some(table) => writeln!(html, "{}", table.to_html()),
            None => Ok(()),
        },
        _ if text.is_empty() => Ok(()),
        Label::Title => writeln!(html, "<h1>{text}</h1>"),
        Label::SectionHeader => {
            let level = level(element) + 1;
            writeln!(html, "<h{level}>{text}</h{level}>")
        }
        Label::ListItem => writeln!(html, "<li>{text}</li>"),
        Label::Code => writeln!(html, "<pre><code>{text}</code></pre>"),
        Label::Formula => writeln!(html, "<p>$${text}$$</p>"),
        _ => writeln!(html, "<p>{text}</p>"),
    };
    written.expect("a text can be written to");
    html
}

#[cfg(test)]
mod tests {
    use domain::Json;
    use serde_json::json;

    use super::*;
    use crate::reading::{element, members};

    fn piece(label: Label, text: &str) -> Piece {
        Piece {
            element: element(label, text),
            table: None,
            picture: None,
            is_in_body: true,
        }
    }

    #[test]
    fn pieces_make_a_page_in_every_form() {
        let mut heading = piece(Label::SectionHeader, "Part");
        heading.element.data = members([("level", json!(2))]);
        let mut first = piece(Label::ListItem, "one");
        first.element.data = members([("enumerated", json!(true)), ("marker", json!("1."))]);
        let mut header = piece(Label::PageHeader, "left out");
        header.is_in_body = false;
        let mut picture = piece(Label::Picture, "");
        picture.picture = Some("img-0.png".to_owned());
        let mut table = piece(Label::Table, "a b");
        table.table = Table::read("|a|b|\n|-|-|");
        let pieces = [
            header,
            piece(Label::Title, "A & B"),
            heading,
            first,
            piece(Label::ListItem, "two"),
            piece(Label::Code, "x < y"),
            piece(Label::Formula, "x^2"),
            table,
            picture,
            piece(Label::Text, ""),
        ];

        assert_eq!(
            written(&pieces, Form::Markdown),
            "# A & B\n\n### Part\n\n1. one\n- two\n\n```\nx < y\n```\n\n$$x^2$$\n\n| a | b |\n| --- | --- |\n\n![img-0.png](img-0.png)"
        );
        assert_eq!(
            written(&pieces, Form::Text),
            "A & B\n\nPart\n\n1. one\n- two\n\nx < y\n\nx^2\n\na b"
        );
        assert_eq!(
            written(&pieces, Form::Html),
            "<h1>A &amp; B</h1>\n<h3>Part</h3>\n<ol>\n<li>one</li>\n</ol>\n<ul>\n<li>two</li>\n</ul>\n\
             <pre><code>x &lt; y</code></pre>\n<p>$$x^2$$</p>\n<table><tr><th>a</th><th>b</th></tr></table>\n\
             <figure><img src=\"img-0.png\" alt=\"\"></figure>"
        );
    }

    #[test]
    fn a_form_is_one_of_the_known() {
        let given = |text: &str| {
            let value = Json::parse(text).unwrap();
            Form::of(&JsonObject::from([(SETTING.to_owned(), value)]))
        };

        assert_eq!(Form::of(&JsonObject::new()).unwrap(), Form::Markdown);
        assert_eq!(given("\"html\"").unwrap(), Form::Html);
        assert_eq!(given("\"json\"").unwrap(), Form::Markdown);
        let refusal = given("\"pdf\"").unwrap_err();
        assert_eq!(
            refusal.reason,
            "`output_format` is `pdf`; there are `md`, `text`, `html`, `doctags`, `json`"
        );
    }
}
