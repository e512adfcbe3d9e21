//! Pictures in Markdown: `![what it shows](where it is)`.

/// The text with every picture's mark replaced by what `by` says in its place, told where the picture is; with a `None`
/// the mark stays.
pub(crate) fn replaced(markdown: &str, mut by: impl FnMut(&str) -> Option<String>) -> String {
    let mut text = String::with_capacity(markdown.len().min(1 << 20));
    let mut rest = markdown;
    while let Some(begin) = rest.find("![") {
        text += &rest[..begin];
        rest = &rest[begin..];
        let Some((whole, place)) = mark(rest) else {
            text += "![";
            rest = &rest[2..];
            continue;
        };
        match by(place) {
            Some(other) => text += &other,
            None => text += whole,
        }
        rest = &rest[whole.len()..];
    }
    text + rest
}

/// The mark that a text begins with, and where its picture is.
fn mark(text: &str) -> Option<(&str, &str)> {
    let middle = text.find("](")?;
    // What a picture shows is told in one line; else the brackets are not of one mark.
    if text[2..middle].contains(['\n', '[']) {
        return None;
    }
    let place = &text[middle + 2..];
    let end = place.find([')', '\n'])?;
    let is_closed = place[end..].starts_with(')');
    is_closed.then(|| (&text[..middle + 3 + end], &place[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_whatever_stands_around_them() {
        let by = |place: &str| place.strip_prefix("a-").map(|rest| format!("<{rest}>"));

        for (text, with) in [
            ("![a](a-1)", "<1>"),
            ("x ![](a-1)![b c](a-2) y", "x <1><2> y"),
            ("![kept](b-1) ![a](a-2)", "![kept](b-1) <2>"),
            ("wow![ ![a](a-1)", "wow![ <1>"),
            ("[a](a-1) ![a]", "[a](a-1) ![a]"),
            ("![a\nb](a-1)", "![a\nb](a-1)"),
            ("![a](a-1", "![a](a-1"),
            ("![a](a-1\n)", "![a](a-1\n)"),
            ("![é](a-é) ü", "<é> ü"),
            ("", ""),
        ] {
            assert_eq!(replaced(text, by), with, "{text}");
        }
    }
}
