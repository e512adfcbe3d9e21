//! Texts that match a regular expression.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Longer texts are not made.
const MAX_CHARS: usize = 16 * 1024;

/// Texts that may match, from short to long; none for a pattern that is not understood.
///
/// Look-arounds are not obeyed, so what comes out has to be checked. Another `variant` gives other texts.
pub(super) fn examples(pattern: &str, variant: usize, length: usize) -> Vec<String> {
    let Ok(hir) = regex_syntax::parse(pattern) else {
        return Vec::new();
    };
    let repeats = [0, 1, 2, 3, 5, 8, length / 2, length];
    let texts = repeats.into_iter().filter_map(|repeats| {
        let mut writer = Writer {
            text: String::new(),
            chars: 0,
            variant,
            repeats,
        };
        writer.write(&hir)?;
        Some(writer.text)
    });
    texts.collect()
}

struct Writer {
    text: String,
    chars: usize,
    variant: usize,
    /// How much more than it must a part is repeated, if it may.
    repeats: usize,
}

impl Writer {
    fn write(&mut self, hir: &Hir) -> Option<()> {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).ok()?;
                text.chars().try_for_each(|char| self.push(char))?;
            }
            HirKind::Class(class) => {
                let char = chosen(class, self.variant)?;
                self.push(char)?;
            }
            HirKind::Repetition(repetition) => {
                let least = usize::try_from(repetition.min).ok()?;
                let most = repetition.max.map_or(usize::MAX, |max| max as usize);
                let times = (least + self.repeats).min(most);
                for _ in 0..times {
                    let before = self.chars;
                    self.write(&repetition.sub)?;
                    if self.chars == before {
                        // Nothing comes of repeating nothing.
                        break;
                    }
                }
            }
            HirKind::Capture(capture) => self.write(&capture.sub)?,
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.write(part))?,
            HirKind::Alternation(branches) => {
                let branch = branches.get(self.variant % branches.len())?;
                self.write(branch)?;
            }
        }
        Some(())
    }

    fn push(&mut self, char: char) -> Option<()> {
        self.chars += 1;
        self.text.push(char);
        (self.chars <= MAX_CHARS).then_some(())
    }
}

/// A character of the class: a plain letter or digit if there is one.
fn chosen(class: &Class, variant: usize) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class
            .iter()
            .map(|range| (range.start(), range.end()))
            .collect(),
        Class::Bytes(class) => {
            let ranges = class.iter();
            ranges
                .map(|range| (range.start().into(), range.end().into()))
                .collect()
        }
    };
    let holds = |char: &char| ranges.iter().any(|(from, to)| (from..=to).contains(&char));
    let plain: Vec<char> = ('a'..='z')
        .chain('0'..='9')
        .chain('A'..='Z')
        .filter(holds)
        .collect();
    if plain.is_empty() {
        let printable = (' '..='~').find(|char| holds(char));
        return printable.or_else(|| ranges.first().map(|(from, _)| *from));
    }
    plain.get(variant % plain.len()).copied()
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    #[test]
    fn texts_match_their_pattern() {
        let patterns = [
            "^[A-Z]{3}-[0-9]{4}$",
            r"^\d{3}-\d{2}-\d{4}$",
            "^(foo|bar)+$",
            "^[^a-zA-Z0-9]$",
            r"^\+?[1-9]\d{1,14}$",
            "x",
            "^(?:a?)*$",
            r"^[\w.\-]+@[\w\-]+\.\w{2,}$",
            "^日本+$",
        ];

        for pattern in patterns {
            for variant in 0..3 {
                let regex = Regex::new(pattern).unwrap();
                let texts = examples(pattern, variant, 20);
                assert!(
                    texts.iter().any(|text| regex.is_match(text)),
                    "{pattern}: {texts:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_not_understood_or_too_long_gives_nothing() {
        assert_eq!(examples("(", 0, 0), Vec::<String>::new());
        assert_eq!(examples("^(?=a)a$", 0, 0), Vec::<String>::new());
        assert_eq!(examples("x(a{0}){4000000000}", 0, 0)[0], "x");
        assert_eq!(
            examples("^((a{1000}){1000}){1000}$", 0, 0),
            Vec::<String>::new()
        );
    }
}
