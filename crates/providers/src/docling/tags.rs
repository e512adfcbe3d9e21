//! The server's own markup, cut into pages: <https://github.com/docling-project/docling/discussions/354>.

use std::collections::HashMap;

const ROOT: &str = "doctag";
const BREAK: &str = "<page_break>";
/// What stands around a break within a list.
const AROUND_BREAK: &str = "<list_item></list_item>";

/// What has a beginning and an end.
struct Pair<'a> {
    name: &'a str,
    begin: usize,
    end: usize,
}

/// The text of each page. What goes on over a break is closed before it and opened again behind it.
pub(super) fn pages(text: &str) -> Vec<String> {
    let text = text.trim();
    let inside = text
        .strip_prefix("<doctag>")
        .and_then(|text| text.strip_suffix("</doctag>"));
    let text = inside.unwrap_or(text);
    let pairs = pairs(text);
    let mut pages = Vec::new();
    let (mut from, mut open) = (0, Vec::new());
    let breaks = text.match_indices(BREAK).map(|(at, _)| at);
    for at in breaks.chain([text.len()]) {
        let around: Vec<&str> = pairs
            .iter()
            .filter(|pair| pair.begin < at && at < pair.end)
            .map(|pair| pair.name)
            .collect();
        let begins = tags("<", open.iter());
        let ends = tags("</", around.iter().rev());
        let page = format!("{begins}{}{ends}", &text[from..at]);
        let page = page.replace(AROUND_BREAK, "");
        pages.push(format!("<{ROOT}>{}</{ROOT}>", page.trim()));
        (from, open) = ((at + BREAK.len()).min(text.len()), around);
    }
    pages
}

fn tags<'a>(begin: &str, names: impl Iterator<Item = &'a &'a str>) -> String {
    let tags: Vec<String> = names.map(|name| format!("{begin}{name}>")).collect();
    tags.concat()
}

/// Everything that has a beginning and an end, by where it begins.
fn pairs(text: &str) -> Vec<Pair<'_>> {
    let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut pairs = Vec::new();
    for (at, _) in text.match_indices('<') {
        let tag = &text[at + 1..];
        let is_end = tag.starts_with('/');
        let tag = tag.strip_prefix('/').unwrap_or(tag);
        let is_name = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
        let end = tag.find(|it| !is_name(it)).unwrap_or(tag.len());
        if end == 0 || !tag[end..].starts_with('>') {
            continue;
        }
        let name = &tag[..end];
        if !is_end {
            open.entry(name).or_default().push(at);
        } else if let Some(begin) = open.get_mut(name).and_then(Vec::pop) {
            pairs.push(Pair {
                name,
                begin,
                end: at,
            });
        }
    }
    pairs.sort_by_key(|pair| pair.begin);
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_over_a_break_is_closed_and_opened_again() {
        let text = "<doctag><title><loc_5><loc_8>A < b</title>\n<ordered_list><list_item>one</list_item>\n\
            <list_item><page_break></list_item>\n<list_item>two</list_item>\n</ordered_list>\n<page_break>\n<text>3</text>\n</doctag>";

        assert_eq!(
            pages(text),
            [
                "<doctag><title><loc_5><loc_8>A < b</title>\n<ordered_list><list_item>one</list_item>\n</ordered_list></doctag>",
                "<doctag><ordered_list>\n<list_item>two</list_item>\n</ordered_list></doctag>",
                "<doctag><text>3</text></doctag>",
            ]
        );
        assert_eq!(pages(""), ["<doctag></doctag>"]);
        assert_eq!(pages("</a><é>"), ["<doctag></a><é></doctag>"]);
    }
}
