//! The words of a value, by which examples are compared where no vectors are: keys and values alike.

use domain::Json;
use indexmap::IndexSet;

/// How much of a value is read; media do not count.
const MAX_BYTES: usize = 32 * 1024;
/// How many different words of a value count.
const MAX_WORDS: usize = 4 * 1024;
/// How much of a word counts.
const MAX_WORD_BYTES: usize = 48;

/// The different words of a value in lower case, in the order in which they first occur.
pub(super) fn words(value: &Json) -> IndexSet<Box<str>> {
    let mut reader = Reader::new(value.text());
    let (mut found, mut word) = (IndexSet::new(), String::new());
    while found.len() < MAX_WORDS {
        let Some(char) = reader.next() else {
            break;
        };
        if char.is_alphanumeric() && !stands_alone(char) {
            if word.len() >= MAX_WORD_BYTES {
                continue;
            }
            if char.is_ascii() {
                word.push(char.to_ascii_lowercase());
            } else {
                word.extend(char.to_lowercase());
            }
            continue;
        }
        take(&mut word, &mut found);
        if stands_alone(char) {
            word.push(char);
            take(&mut word, &mut found);
        }
    }
    take(&mut word, &mut found);
    found
}

fn take(word: &mut String, found: &mut IndexSet<Box<str>>) {
    if !word.is_empty() && !found.contains(word.as_str()) {
        found.insert(word.as_str().into());
    }
    word.clear();
}

/// Scripts without spaces between words: each character counts as one.
fn stands_alone(char: char) -> bool {
    matches!(char, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

/// The characters of a JSON text, escapes resolved, without a tree being built for it.
struct Reader<'a> {
    rest: &'a str,
    bytes_left: usize,
    in_string: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            bytes_left: MAX_BYTES,
            in_string: false,
        }
    }

    fn next(&mut self) -> Option<char> {
        let char = self.rest.chars().next()?;
        self.bytes_left = self.bytes_left.checked_sub(char.len_utf8())?;
        self.rest = &self.rest[char.len_utf8()..];
        match char {
            '"' => {
                self.in_string = !self.in_string;
                if self.in_string {
                    self.skip_media();
                }
                Some(' ')
            }
            '\\' => Some(self.escaped()),
            char => Some(char),
        }
    }

    /// The bytes of a `data:` URL are no words.
    fn skip_media(&mut self) {
        if !self.rest.starts_with("data:") {
            return;
        }
        let head = self.rest.split(['"', ',']).next().unwrap_or_default();
        let is_media =
            self.rest[head.len()..].starts_with(',') && !head.contains(char::is_whitespace);
        if is_media {
            let end = self.rest.find('"').unwrap_or(self.rest.len());
            self.rest = &self.rest[end..];
        }
    }

    fn escaped(&mut self) -> char {
        let Some(kind) = self.rest.chars().next() else {
            return ' ';
        };
        self.rest = &self.rest[kind.len_utf8()..];
        if kind != 'u' {
            return ' ';
        }
        let unit = self.unit();
        let low = self.rest.strip_prefix("\\u");
        let Some(after) = low.filter(|_| (0xd800..0xdc00).contains(&unit)) else {
            return char::from_u32(unit).unwrap_or(' ');
        };
        self.rest = after;
        let low = self.unit();
        let joined = 0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff));
        char::from_u32(joined).unwrap_or(' ')
    }

    fn unit(&mut self) -> u32 {
        let Some((digits, rest)) = self.rest.split_at_checked(4) else {
            return u32::from(' ');
        };
        self.rest = rest;
        u32::from_str_radix(digits, 16).unwrap_or(u32::from(' '))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let found = words(&Json::parse(text).unwrap());
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn keys_and_values_are_words_in_lower_case() {
        let text =
            r#"{"Question":"What is the Weather, the weather?","n":[1.5,true],"city":"Zürich"}"#;

        let expected = [
            "question", "what", "is", "the", "weather", "n", "1", "5", "true", "city", "zürich",
        ];
        assert_eq!(of(text), expected);
    }

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(
            of(r#""a\nb \u00c9t\u00e9 \"c\" \ud801\udc00""#),
            ["a", "b", "été", "c", "𐐨"]
        );
    }

    #[test]
    fn characters_of_scripts_without_spaces_are_words() {
        assert_eq!(of(r#""天気はabc""#), ["天", "気", "は", "abc"]);
    }

    #[test]
    fn media_are_passed_over() {
        let bytes = "QUJD/".repeat(40_000);
        let text = format!(
            r#"{{"_image_media_input":"data:image/png;base64,{bytes}","q":"what is it?","r":"data: three, four"}}"#
        );

        let expected = [
            "image", "media", "input", "q", "what", "is", "it", "r", "data", "three", "four",
        ];
        assert_eq!(of(&text), expected);
    }

    #[test]
    fn a_long_value_is_read_in_part() {
        let many: Vec<String> = (0..200_000).map(|count| format!("w{count}")).collect();

        let found = of(&format!(
            "\"{} {}\"",
            "x".repeat(MAX_WORD_BYTES + 9),
            many.join(" ")
        ));

        assert_eq!(found[0].len(), MAX_WORD_BYTES);
        assert!(found.len() <= MAX_WORDS, "{}", found.len());
    }
}
