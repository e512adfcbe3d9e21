//! Texts made comparable: without the marks of markdown, and without what no reader could tell apart.

use std::sync::LazyLock;

use regex::Regex;

static IMAGE: LazyLock<Regex> = LazyLock::new(|| pattern(r"!\[[^\]]*\]\([^)]*\)"));
static LINK: LazyLock<Regex> = LazyLock::new(|| pattern(r"\[([^\]]*)\]\([^)]*\)"));
static TAG: LazyLock<Regex> = LazyLock::new(|| pattern(r"</?[A-Za-z][^<>]*>"));
static ESCAPE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\\([!-/:-@\[-`{-~])"));
/// What a line begins with: a heading's, a quotation's or a list item's mark; never two of them.
static LINE_MARK: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s*(?:#{1,6}\s|>\s?|\\?[-*+\x{2022}]\s|\d{1,3}\\?[.)]\s)"));
/// The line between a table's head and its body, or one across the page.
static SEPARATOR: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s*\|?(?:\s*:?-{3,}:?\s*\|?)+\s*$"));
static HEADING: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*#{1,6}\s+(.*?)\s*#*\s*$"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is written here")
}

/// What markdown says, without its marks.
pub fn plain(markdown: &str) -> String {
    let mut text = String::new();
    for line in lines(markdown) {
        match line {
            Line::Code(line) => text.push_str(line),
            Line::Prose(line) if SEPARATOR.is_match(line) => {}
            Line::Prose(line) => text.push_str(&without_marks(line)),
        }
        text.push('\n');
    }
    fold(&text)
}

/// The headings of a markdown text, without their marks.
pub fn headings(markdown: &str) -> Vec<String> {
    let lines = lines(markdown).filter_map(|line| match line {
        Line::Prose(line) => HEADING.captures(line),
        Line::Code(_) => None,
    });
    lines.map(|found| plain(&found[1])).collect()
}

/// What no reader could tell apart is made the same: spaces, quotes, dashes, ligatures.
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2032}' => folded.push('\''),
            '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{2033}' => folded.push('"'),
            '\u{2010}'..='\u{2015}' | '\u{2212}' => folded.push('-'),
            '\u{fb00}' => folded.push_str("ff"),
            '\u{fb01}' => folded.push_str("fi"),
            '\u{fb02}' => folded.push_str("fl"),
            '\u{fb03}' => folded.push_str("ffi"),
            '\u{fb04}' => folded.push_str("ffl"),
            '\u{2026}' => folded.push_str("..."),
            '\u{ad}' | '\u{200b}' | '\u{feff}' => {}
            _ => folded.push(letter),
        }
    }
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}

enum Line<'a> {
    Prose(&'a str),
    Code(&'a str),
}

/// The lines of a markdown text, without those that fence code.
fn lines(markdown: &str) -> impl Iterator<Item = Line<'_>> {
    let mut fenced = false;
    markdown.lines().filter_map(move |line| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            return None;
        }
        Some(if fenced {
            Line::Code(line)
        } else {
            Line::Prose(line)
        })
    })
}

fn without_marks(line: &str) -> String {
    let line = IMAGE.replace_all(line, " ");
    let line = LINK.replace_all(&line, "$1");
    let line = TAG.replace_all(&line, " ");
    let line = LINE_MARK.replace(&line, "");
    let mut line = line.into_owned();
    if line.trim_start().starts_with('|') {
        line = line.replace("\\|", "\u{1}").replace('|', " ");
        line = line.replace('\u{1}', "|");
    }
    line = without_emphasis(&line);
    let line = ESCAPE.replace_all(&line, "$1");
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ];
    entities
        .iter()
        .fold(line.into_owned(), |line, (entity, letter)| {
            line.replace(entity, letter)
        })
}

/// Removes stars and backticks, and lines below at the edge of a word, unless they are escaped.
fn without_emphasis(line: &str) -> String {
    let letters: Vec<char> = line.chars().collect();
    let within = |place: Option<&char>| place.is_some_and(|letter| letter.is_alphanumeric());
    let mut kept = String::with_capacity(line.len());
    for (index, &letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| letters.get(index));
        let mark = match letter {
            '*' | '`' => true,
            '_' => !(within(before) && within(letters.get(index + 1))),
            _ => false,
        };
        if !mark || before == Some(&'\\') {
            kept.push(letter);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marks_of_markdown_are_no_text() {
        let markdown = "# The **Old** Bridge\n\n- first _item_\n2. second\n3\\. third\n\n![img-0.jpeg](img-0.jpeg)\n\n\
                        see [there](https://x.test) &amp; 2\\*3\n";

        let text = plain(markdown);

        assert_eq!(
            text,
            "The Old Bridge first item second third see there & 2*3"
        );
    }

    #[test]
    fn a_table_is_its_cells() {
        let markdown = "| Berth | Vessel |\n|---|:---:|\n| B-03 | Mari<br>gold |\n";

        assert_eq!(plain(markdown), "Berth Vessel B-03 Mari gold");
        let html = "<table><tr><td>Berth</td><td colspan=\"2\">Vessel</td></tr></table>";
        assert_eq!(plain(html), "Berth Vessel");
    }

    #[test]
    fn code_is_left_alone() {
        let markdown = "```rust\nfn a_b(x: *u8) {\n# no heading\n```\n";

        assert_eq!(plain(markdown), "fn a_b(x: *u8) { # no heading");
        assert_eq!(headings(markdown), Vec::<String>::new());
        assert_eq!(plain("a `snake_case` name_"), "a snake_case name");
    }

    #[test]
    fn headings_are_found_at_every_level() {
        let markdown = "# One\ntext\n### **Two** ##\n#no\n";

        assert_eq!(headings(markdown), ["One", "Two"]);
    }

    #[test]
    fn what_looks_the_same_is_the_same() {
        assert_eq!(
            fold("\u{201c}of\u{fb01}ce\u{201d}\u{a0}\u{2013}\n it\u{2019}s\u{ad}"),
            "\"office\" - it's"
        );
    }
}
