//! The server's Markdown, cut into pages.
//!
//! Its mark stands where the text goes on to a later page: a page without text has none. So it is cut as the pieces of the
//! document say, and where the two do not agree it is not used.

use domain::OcrImage;

use super::document::Item;
use crate::reading::replaced;

/// Where a picture stands that was not asked for.
const PLACEHOLDER: &str = "<!-- image -->";

/// The pages that a text goes through, from 1, each but once: the first, and every later one than those before it.
pub(super) fn run<'a>(items: impl Iterator<Item = &'a Item>) -> Vec<u32> {
    let mut run: Vec<u32> = Vec::new();
    for page in items.filter_map(Item::page) {
        if run.last().is_none_or(|last| page > *last) {
            run.push(page);
        }
    }
    run
}

/// The text of each page of a document; `None` if it does not say where they begin.
pub(super) fn pages<'m>(
    markdown: &'m str,
    page_mark: &str,
    items: &[&Item],
) -> Option<Vec<(u32, &'m str)>> {
    let body = || items.iter().copied().filter(|item| item.is_in_body());
    // A piece that stands back on an earlier page would be told on the wrong one.
    if !body().filter_map(Item::page).is_sorted() {
        return None;
    }
    let parts: Vec<&str> = markdown.split(page_mark).map(str::trim).collect();
    let run = run(body());
    (parts.len() == run.len()).then(|| run.into_iter().zip(parts).collect())
}

/// A page's text with our names for its pictures; `None` if there are others than those.
pub(super) fn named(text: &str, pictures: &[&str]) -> Option<String> {
    let mut found = 0;
    let text = text.replace(PLACEHOLDER, "![](data:)");
    let named = replaced(&text, |place| {
        if !place.starts_with("data:") {
            return None;
        }
        let id = pictures.get(found).copied().unwrap_or_default();
        found += 1;
        Some(OcrImage::mark(id))
    });
    (found == pictures.len()).then_some(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_named_in_their_order_or_not_at_all() {
        let text =
            "![Image](data:image/png;base64,AAAA)\n\n<!-- image -->\n\n![x](https://h/x.png)";

        assert_eq!(
            named(text, &["img-0.png", "img-1.png"]).unwrap(),
            "![img-0.png](img-0.png)\n\n![img-1.png](img-1.png)\n\n![x](https://h/x.png)"
        );
        assert_eq!(named(text, &["img-0.png"]), None);
        assert_eq!(named("a", &["img-0.png"]), None);
        assert_eq!(named("a", &[]).unwrap(), "a");
    }
}
