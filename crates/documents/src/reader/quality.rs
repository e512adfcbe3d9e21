//! Whether the text layer of a page is to be believed.

use domain::Bbox;

use super::{
    geometry::Place,
    images::FULL_PAGE,
    ink::{Glyph, Ink, Meaning},
    words,
};

/// More glyphs without a meaning than this part make a text that nobody can read (`ocr.md` 2).
const MAX_UNKNOWN: f32 = 0.05;

/// Fewer letters say nothing of their language.
const MIN_LETTERS: usize = 120;

/// How many bits each letter from `a` on takes, by how frequent it is in the languages of Latin script on average.
const BITS: [f32; 26] = [
    3.5, 6.1, 5.0, 4.6, 3.1, 6.3, 5.5, 5.1, 3.7, 7.7, 5.7, 4.4, 5.1, 3.7, 4.0, 5.3, 8.4, 3.9, 3.9,
    3.8, 4.7, 6.0, 6.7, 8.4, 6.4, 6.4,
];

/// Texts take from 4.2 (French, English, Finnish) to 4.5 bits a letter (Polish); shifted by any number of letters 5.0 and more,
/// and of letters exchanged at random 99 of 100 texts take more than 4.75.
const MAX_BITS: f32 = 4.8;

/// Marks that are rare in any text; letters exchanged for others by a shifted encoding become such.
const RARE: &str = "!\"#$&*+;<=>?@[\\]^`{|}~";

/// More of these than this part is neither prose nor numbers nor a program.
const MAX_RARE: f32 = 0.35;

/// Where fewer letters than this part stand on lines along the page's sides, the page was set askew; letters askew beside
/// lines are a watermark's.
const MIN_STRAIGHT: f32 = 0.1;

/// Less text than this over a scan is a stamp or a page number, and not what the scan says.
const STAMP: usize = 200;

/// Where the words of a page are to be taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// From its text.
    Believed,
    /// There is nothing on it.
    Blank,
    /// From its looks.
    Doubted,
}

/// Judges a page of this size.
pub(super) fn of(ink: &Ink, width: f32, height: f32) -> Verdict {
    let letters = || ink.glyphs.iter().filter(|glyph| !is_space(glyph));
    let askew = letters().filter(|glyph| words::is_askew(glyph)).count();
    let letters = letters().count();
    if letters == 0 {
        let nothing = ink.images.is_empty() && ink.paths == 0;
        return if nothing {
            Verdict::Blank
        } else {
            Verdict::Doubted
        };
    }
    let unknown = ink.glyphs.iter().filter(|glyph| is_unknown(glyph)).count();
    let straight = letters - askew;
    if unknown as f32 > MAX_UNKNOWN * letters as f32
        || (straight as f32) < MIN_STRAIGHT * letters as f32
        || is_garbled(&ink.glyphs)
    {
        return Verdict::Doubted;
    }
    let page = Bbox {
        l: 0.0,
        t: 0.0,
        r: width,
        b: height,
    };
    let scanned = ink
        .images
        .iter()
        .any(|image| f64::from(image.bbox.shared(&page) / page.area()) > FULL_PAGE);
    let seen = ink.glyphs.iter().filter(|glyph| !glyph.invisible).count();
    let hidden = ink.glyphs.len() - seen;
    if scanned && hidden == 0 && letters < STAMP {
        return Verdict::Doubted;
    }
    Verdict::Believed
}

fn is_space(glyph: &Glyph) -> bool {
    matches!(&glyph.text, Meaning::Character(letter) if letter.is_whitespace())
}

/// Without a meaning, or with one that only its own font knows.
fn is_unknown(glyph: &Glyph) -> bool {
    let unknown = |letter: char| {
        matches!(letter, '\u{fffd}' | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..)
            || (letter.is_control() && !letter.is_whitespace())
    };
    match &glyph.text {
        Meaning::Unknown => true,
        Meaning::Character(letter) => unknown(*letter),
        Meaning::Several(letters) => letters.chars().any(unknown),
    }
}

/// Whether the letters are none of any language: a map from glyphs to letters that lies.
///
/// Latin letters alone are judged, and only where there are enough of them.
fn is_garbled(glyphs: &[Glyph]) -> bool {
    let (mut small, mut rare, mut all) = (0usize, 0usize, 0usize);
    let mut bits = 0.0;
    for glyph in glyphs {
        let Meaning::Character(letter) = glyph.text else {
            continue;
        };
        if letter.is_whitespace() {
            continue;
        }
        all += 1;
        if letter.is_ascii_lowercase() {
            small += 1;
            bits += BITS[letter as usize - 'a' as usize];
        } else if RARE.contains(letter) {
            rare += 1;
        }
    }
    if all < MIN_LETTERS {
        return false;
    }
    let odd_letters = small >= MIN_LETTERS && small * 2 > all && bits > MAX_BITS * small as f32;
    odd_letters || rare as f32 > MAX_RARE * all as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ink(text: &str) -> Ink {
        let glyph = |letter| Glyph {
            text: Meaning::Character(letter),
            x: 0.0,
            y: 0.0,
            advance: (5.0, 0.0),
            size: 10.0,
            stroke: 0.0,
            invisible: false,
        };
        Ink {
            glyphs: text.chars().map(glyph).collect(),
            ..Ink::default()
        }
    }

    const PROSE: &str = "The harbour office keeps a list of all vessels that lie at its berths, and of the hours at \
        which they came and will leave; whoever wants to see it may ask for it at the door on any weekday until noon.";

    fn shifted(by: u8) -> String {
        let letter = |letter: char| match letter {
            'a'..='z' => char::from((letter as u8 - b'a' + by) % 26 + b'a'),
            other => other,
        };
        PROSE.chars().map(letter).collect()
    }

    #[test]
    fn prose_is_believed_and_exchanged_letters_are_not() {
        assert_eq!(of(&ink(PROSE), 600.0, 800.0), Verdict::Believed);
        for by in 1..26 {
            assert_eq!(
                of(&ink(&shifted(by)), 600.0, 800.0),
                Verdict::Doubted,
                "{by}"
            );
        }
    }

    #[test]
    fn a_list_of_numbers_is_believed() {
        let numbers = "B-03 1,204.50 17% (2024-11-02) +3.5 ".repeat(20);

        assert_eq!(of(&ink(&numbers), 600.0, 800.0), Verdict::Believed);
    }

    #[test]
    fn glyphs_that_only_their_font_knows_are_not_believed() {
        let mut text = PROSE.to_owned();
        text.extend(std::iter::repeat_n('\u{e012}', 30));

        assert_eq!(of(&ink(&text), 600.0, 800.0), Verdict::Doubted);
    }

    #[test]
    fn a_page_that_was_set_askew_is_read_by_its_looks_and_one_under_a_watermark_is_not() {
        let slanted = |letter: &Glyph| Glyph {
            advance: (4.7, -1.7),
            ..letter.clone()
        };
        let mut page = ink(PROSE);
        page.glyphs = page.glyphs.iter().map(slanted).collect();
        assert_eq!(of(&page, 600.0, 800.0), Verdict::Doubted);

        page.glyphs.extend(ink(PROSE).glyphs);
        assert_eq!(of(&page, 600.0, 800.0), Verdict::Believed);
    }

    #[test]
    fn an_empty_page_is_blank() {
        assert_eq!(of(&Ink::default(), 600.0, 800.0), Verdict::Blank);
        let drawn = Ink {
            paths: 3,
            ..Ink::default()
        };
        assert_eq!(of(&drawn, 600.0, 800.0), Verdict::Doubted);
    }
}
