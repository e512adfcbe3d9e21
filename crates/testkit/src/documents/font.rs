//! The standard fonts that every reader of PDF has.

use super::widths::{HELVETICA, HELVETICA_BOLD, TIMES, TIMES_BOLD, TIMES_ITALIC};

/// A family of the standard fonts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Family {
    Helvetica,
    Times,
    Courier,
}

/// How a letter of a family looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cut {
    Regular,
    Bold,
    Italic,
}

/// One of the standard fonts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Face {
    pub(crate) family: Family,
    pub(crate) cut: Cut,
}

/// A face in a size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Font {
    pub(crate) face: Face,
    /// In points.
    pub(crate) size: f32,
}

impl Face {
    pub(crate) const fn new(family: Family, cut: Cut) -> Self {
        Self { family, cut }
    }

    /// Its name in PDF.
    pub(crate) const fn name(self) -> &'static str {
        match (self.family, self.cut) {
            (Family::Helvetica, Cut::Regular) => "Helvetica",
            (Family::Helvetica, Cut::Bold) => "Helvetica-Bold",
            (Family::Helvetica, Cut::Italic) => "Helvetica-Oblique",
            (Family::Times, Cut::Regular) => "Times-Roman",
            (Family::Times, Cut::Bold) => "Times-Bold",
            (Family::Times, Cut::Italic) => "Times-Italic",
            (Family::Courier, Cut::Regular) => "Courier",
            (Family::Courier, Cut::Bold) => "Courier-Bold",
            (Family::Courier, Cut::Italic) => "Courier-Oblique",
        }
    }

    /// Thousandths of the size.
    fn width(self, code: u8) -> u16 {
        let widths = match (self.family, self.cut) {
            (Family::Courier, _) => return 600,
            (Family::Helvetica, Cut::Bold) => HELVETICA_BOLD,
            (Family::Helvetica, _) => HELVETICA,
            (Family::Times, Cut::Regular) => TIMES,
            (Family::Times, Cut::Bold) => TIMES_BOLD,
            (Family::Times, Cut::Italic) => TIMES_ITALIC,
        };
        widths[usize::from(code.max(32) - 32)]
    }
}

impl Font {
    pub(crate) const fn new(family: Family, cut: Cut, size: f32) -> Self {
        Self {
            face: Face::new(family, cut),
            size,
        }
    }

    /// How wide a text is, in points.
    pub(crate) fn measure(self, text: &str) -> f32 {
        let thousandths: u32 = encode(text)
            .iter()
            .map(|&code| u32::from(self.face.width(code)))
            .sum();
        #[expect(clippy::cast_precision_loss, reason = "a line is not that long")]
        let thousandths = thousandths as f32;
        thousandths * self.size / 1000.0
    }

    /// Breaks a text at its spaces into lines that are at most so wide.
    pub(crate) fn wrap(self, text: &str, width: f32) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            if let Some(line) = lines.last_mut() {
                let longer = format!("{line} {word}");
                if self.measure(&longer) <= width {
                    *line = longer;
                    continue;
                }
            }
            lines.push(word.to_owned());
        }
        lines
    }
}

/// A text in `WinAnsiEncoding`; what that lacks becomes a question mark.
pub(crate) fn encode(text: &str) -> Vec<u8> {
    text.chars().map(code_of).collect()
}

fn code_of(letter: char) -> u8 {
    match letter {
        '\u{2018}' => 0x91,
        '\u{2019}' => 0x92,
        '\u{201c}' => 0x93,
        '\u{201d}' => 0x94,
        '\u{2022}' => 0x95,
        '\u{2013}' => 0x96,
        '\u{2014}' => 0x97,
        '\u{20ac}' => 0x80,
        ' '..='~' | '\u{a1}'..='\u{ff}' => u8::try_from(u32::from(letter)).unwrap_or(b'?'),
        _ => b'?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_as_wide_as_its_letters() {
        let font = Font::new(Family::Helvetica, Cut::Regular, 10.0);

        // A 667, space 278, i 222.
        assert!((font.measure("A i") - 11.67).abs() < 1e-3);
        assert!((Font::new(Family::Courier, Cut::Bold, 10.0).measure("iW") - 12.0).abs() < 1e-3);
    }

    #[test]
    fn lines_are_broken_at_spaces() {
        let font = Font::new(Family::Courier, Cut::Regular, 10.0);

        assert_eq!(font.wrap("one two three", 45.0), ["one two", "three"]);
    }
}
