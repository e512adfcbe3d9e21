//! Values as XML: the answers of examples, and inputs in a tag of their own.

use domain::{Json, JsonObject};

use super::{ITEM, MEMBER, ROOT, is_name};

/// A value as an answer that the model could have given, such as those of examples.
pub(crate) fn rendered(value: &Json) -> String {
    let mut out = String::with_capacity(2 * value.text().len());
    element(&mut out, &Named::own(ROOT), value, 0);
    out
}

/// An input as text in a tag, so that nothing in it can be taken for the end of it. The tag is another one in each
/// call (`reliability.md` 2).
pub(crate) fn wrapped_input(input_text: &str, tag: &str) -> String {
    let mut escaped = String::with_capacity(input_text.len());
    escape(input_text, &mut escaped);
    format!("<{tag}>{escaped}</{tag}>")
}

/// How the element of a member opens and closes.
pub(super) struct Named {
    pub(super) open: String,
    pub(super) close: String,
}

impl Named {
    pub(super) fn own(name: &str) -> Self {
        Self {
            open: format!("<{name}>"),
            close: format!("</{name}>"),
        }
    }

    pub(super) fn member(name: &str) -> Self {
        if is_name(name) {
            return Self::own(name);
        }
        let mut written = String::new();
        escape(name, &mut written);
        let written = written.replace('"', "&quot;");
        Self {
            open: format!("<{MEMBER} name=\"{written}\">"),
            close: format!("</{MEMBER}>"),
        }
    }
}

fn element(out: &mut String, named: &Named, value: &Json, depth: usize) {
    out.push_str(&named.open);
    if let Ok(members) = serde_json::from_str::<JsonObject>(value.text()) {
        void(out, members.is_empty());
        for (name, member) in &members {
            line(out, depth + 1);
            element(out, &Named::member(name), member, depth + 1);
        }
        if !members.is_empty() {
            line(out, depth);
        }
    } else if let Ok(entries) = serde_json::from_str::<Vec<Json>>(value.text()) {
        void(out, entries.is_empty());
        for entry in &entries {
            line(out, depth + 1);
            element(out, &Named::own(ITEM), entry, depth + 1);
        }
        if !entries.is_empty() {
            line(out, depth);
        }
    } else if let Some(string) = value.as_string() {
        text(&string, out);
    } else if !value.is_null() {
        out.push_str(value.text());
    }
    out.push_str(&named.close);
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

/// What is empty is told from null.
fn void(out: &mut String, is_empty: bool) {
    out.push_str(if is_empty { "<![CDATA[]]>" } else { "" });
}

/// A string so that its white space is told from the layout.
fn text(string: &str, out: &mut String) {
    void(out, string.is_empty());
    let rest = string.trim_start();
    let middle = rest.trim_end();
    let (before, after) = (&string[..string.len() - rest.len()], &rest[middle.len()..]);
    spelled(before, out);
    escape(middle, out);
    spelled(after, out);
}

fn spelled(white: &str, out: &mut String) {
    out.extend(white.chars().map(|char| format!("&#{};", u32::from(char))));
}

fn escape(text: &str, out: &mut String) {
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            char => out.push(char),
        }
    }
}
