//! What stands before the items of a list.

/// Marks that begin an item without counting it.
const BULLETS: &str = "•‣◦▪▫■□●○–—-*·∙⁃➢►▸✓\u{f0b7}";

/// A marker and what follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marked {
    pub marker: String,
    pub rest: String,
    /// What it counts to, if it counts.
    pub number: Option<u32>,
}

/// Whether a word alone would be a marker.
pub(super) fn is_marker(word: &str) -> bool {
    is_bullet(word) || number(word).is_some()
}

/// Whether a marker is as well a mark of punctuation.
pub(super) fn is_dash(marker: &str) -> bool {
    matches!(marker, "-" | "–" | "—" | "*" | "·" | "∙")
}

/// Whether a mark before an item may follow another in one list: the same bullet, or the number after it in the same dress.
pub(super) fn is_next(before: &str, after: &str) -> bool {
    if is_bullet(before) || is_bullet(after) {
        return before == after;
    }
    let dress = |marker: &str| {
        let ends = (marker.chars().next(), marker.chars().next_back());
        (ends.0 == Some('('), ends.1)
    };
    // `i.` is one after `h.` and the first of `ii.`: it is asked in which of its readings it goes on.
    let readings = readings(after);
    dress(before) == dress(after)
        && self::readings(before)
            .into_iter()
            .any(|(style, number)| readings.contains(&(style, number + 1)))
}

/// How a marker counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Digits,
    Roman,
    Letters,
}

/// All that a marker may count to.
fn readings(marker: &str) -> Vec<(Style, u32)> {
    let inner = marker.trim_matches(['(', ')', '.']);
    if let Ok(number) = inner.parse() {
        return vec![(Style::Digits, number)];
    }
    let small = inner.to_ascii_lowercase();
    let letter = match small.as_bytes() {
        [letter @ b'a'..=b'z'] => Some((Style::Letters, u32::from(letter - b'a') + 1)),
        _ => None,
    };
    let roman = roman(&small).map(|number| (Style::Roman, number));
    roman.into_iter().chain(letter).collect()
}

/// Whether a marker is a letter, which as well is an initial: `A. Smith`.
pub(super) fn is_letter(marker: &str) -> bool {
    marker.contains(char::is_alphabetic)
}

/// Splits a line that begins with a marker.
pub(super) fn split(text: &str) -> Option<Marked> {
    let (marker, rest) = text.split_once(' ')?;
    if rest.trim().is_empty() {
        return None;
    }
    let number = number(marker);
    (number.is_some() || is_bullet(marker)).then(|| Marked {
        marker: marker.to_owned(),
        rest: rest.trim_start().to_owned(),
        number,
    })
}

fn is_bullet(word: &str) -> bool {
    let mut letters = word.chars();
    matches!((letters.next(), letters.next()), (Some(mark), None) if BULLETS.contains(mark))
}

/// `1.`, `12)`, `(3)`, `a)`, `iv.` as what they count to; letters need a bracket or a dot as well, and years are none.
fn number(word: &str) -> Option<u32> {
    let inner = word
        .strip_prefix('(')
        .and_then(|word| word.strip_suffix(')'))
        .or_else(|| word.strip_suffix([')', '.']))?;
    if inner.is_empty() || inner.len() > 4 {
        return None;
    }
    if inner.bytes().all(|byte| byte.is_ascii_digit()) {
        return inner.parse().ok().filter(|&number| number < 1000);
    }
    roman(inner).or_else(|| {
        let mut letters = inner.chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None) if letter.is_ascii_alphabetic() => {
                Some(u32::from(letter.to_ascii_lowercase()) - u32::from('a') + 1)
            }
            _ => None,
        }
    })
}

/// Small roman numbers below forty, which is as far as lists go; a single `c`, `d`, `l` or `m` is a letter.
fn roman(word: &str) -> Option<u32> {
    const ONES: [&str; 10] = ["", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"];
    (0..4u32).find_map(|tens| {
        let ones = word.strip_prefix(&"xxx"[..tens as usize])?;
        let ones = ONES.iter().position(|known| *known == ones)?;
        Some(10 * tens + ones as u32).filter(|&number| number > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_told_from_a_word() {
        for (word, counted) in [
            ("1.", Some(1)),
            ("12)", Some(12)),
            ("(3)", Some(3)),
            ("b)", Some(2)),
            ("iv.", Some(4)),
            ("xiv)", Some(14)),
            ("•", None),
            ("-", None),
        ] {
            assert!(is_marker(word), "{word}");
            assert_eq!(number(word), counted, "{word}");
        }
        for word in ["1", "2024.", "etc.", "Mr.", "", ".", "()", "A"] {
            assert!(!is_marker(word), "{word}");
        }
    }

    #[test]
    fn markers_follow_each_other_in_one_dress() {
        for (before, after) in [
            ("1.", "2."),
            ("9)", "10)"),
            ("(i)", "(ii)"),
            ("h.", "i."),
            ("iv.", "v."),
            ("A.", "B."),
            ("•", "•"),
        ] {
            assert!(is_next(before, after), "{before} {after}");
        }
        for (before, after) in [
            ("1.", "2)"),
            ("a.", "2."),
            ("•", "-"),
            ("J.", "I."),
            ("1.", "•"),
        ] {
            assert!(!is_next(before, after), "{before} {after}");
        }
    }

    #[test]
    fn an_item_is_split_from_its_marker() {
        let marked = split("2. Close the gate").unwrap();

        assert_eq!(
            (marked.marker.as_str(), marked.rest.as_str()),
            ("2.", "Close the gate")
        );
        assert_eq!(split("2."), None);
        assert_eq!(split("Close the gate"), None);
    }
}
