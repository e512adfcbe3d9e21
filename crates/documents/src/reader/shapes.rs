//! The shapes of Arabic letters, as the letters that they are.
//!
//! A font has a letter once for each place in a word, and files name the shape. Unicode lists
//! [them](https://www.unicode.org/charts/PDF/UFE70.pdf) in the order of the letters: alone, last, first, midst.

/// The letters from U+FE80 on, and how many shapes each has.
const LETTERS: [(char, u32); 36] = [
    ('\u{621}', 1),
    ('\u{622}', 2),
    ('\u{623}', 2),
    ('\u{624}', 2),
    ('\u{625}', 2),
    ('\u{626}', 4),
    ('\u{627}', 2),
    ('\u{628}', 4),
    ('\u{629}', 2),
    ('\u{62a}', 4),
    ('\u{62b}', 4),
    ('\u{62c}', 4),
    ('\u{62d}', 4),
    ('\u{62e}', 4),
    ('\u{62f}', 2),
    ('\u{630}', 2),
    ('\u{631}', 2),
    ('\u{632}', 2),
    ('\u{633}', 4),
    ('\u{634}', 4),
    ('\u{635}', 4),
    ('\u{636}', 4),
    ('\u{637}', 4),
    ('\u{638}', 4),
    ('\u{639}', 4),
    ('\u{63a}', 4),
    ('\u{641}', 4),
    ('\u{642}', 4),
    ('\u{643}', 4),
    ('\u{644}', 4),
    ('\u{645}', 4),
    ('\u{646}', 4),
    ('\u{647}', 4),
    ('\u{648}', 2),
    ('\u{649}', 2),
    ('\u{64a}', 4),
];

/// Where the shapes of two letters in one begin: lam before each of these, two shapes each.
const PAIRS: u32 = 0xfef5;
const PAIRED: [char; 4] = ['\u{622}', '\u{623}', '\u{625}', '\u{627}'];

/// Letters of Persian and Urdu, where their shapes begin, and how many there are.
const FURTHER: [(u32, u32, char); 8] = [
    (0xfb56, 4, '\u{67e}'),
    (0xfb66, 4, '\u{679}'),
    (0xfb7a, 4, '\u{686}'),
    (0xfb88, 2, '\u{688}'),
    (0xfb8a, 2, '\u{698}'),
    (0xfb8e, 4, '\u{6a9}'),
    (0xfb92, 4, '\u{6af}'),
    (0xfbfc, 4, '\u{6cc}'),
];

/// The letters of a shape, from left to right as they stand; `None` for what is no shape.
pub(super) fn letters(shape: char) -> Option<String> {
    let code = u32::from(shape);
    if !(0xfb50..0xfefd).contains(&code) {
        return None;
    }
    if let Some(at) = code.checked_sub(PAIRS) {
        let second = PAIRED.get(at as usize / 2)?;
        return Some(format!("{second}\u{644}"));
    }
    let mut first = 0xfe80;
    for (letter, shapes) in LETTERS {
        if (first..first + shapes).contains(&code) {
            return Some(letter.to_string());
        }
        first += shapes;
    }
    let further = FURTHER
        .iter()
        .find(|(first, shapes, _)| (*first..first + shapes).contains(&code));
    further.map(|(.., letter)| letter.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_its_letter() {
        for (shape, read) in [
            ('\u{fe80}', Some("\u{621}")),
            ('\u{fe8e}', Some("\u{627}")),
            ('\u{fedf}', Some("\u{644}")),
            ('\u{fef4}', Some("\u{64a}")),
            ('\u{fefc}', Some("\u{627}\u{644}")),
            ('\u{fb93}', Some("\u{6af}")),
            ('\u{627}', None),
            ('a', None),
        ] {
            assert_eq!(letters(shape).as_deref(), read, "{shape}");
        }
    }
}
