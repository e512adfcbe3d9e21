//! Lines of scripts that run from right to left, from the order in which they stand to the order in which they are read.
//!
//! The [bidirectional algorithm](https://www.unicode.org/reports/tr9/) goes the other way, and is its own inverse for what
//! lines of prose have: words, numbers in them, and words of the other direction. Embeddings are not told from each other.

/// How a character takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    /// It runs to the right.
    Right,
    /// It runs to the left.
    Left,
    /// A digit: it runs to the right within anything.
    Digit,
    /// It follows what is around it.
    Neutral,
}

/// Whether a character runs to the left.
pub(in crate::reader) const fn runs_left(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
        && !is_digit(letter)
}

const fn is_digit(letter: char) -> bool {
    matches!(letter, '0'..='9' | '\u{660}'..='\u{669}' | '\u{6f0}'..='\u{6f9}')
}

/// What a line says whose characters are given from left to right.
pub(super) fn logical(seen: String) -> String {
    if !seen.contains(runs_left) {
        return seen;
    }
    let letters: Vec<char> = seen.chars().collect();
    let mut runs: Vec<Run> = letters.iter().map(|letter| run(*letter)).collect();
    let count = |wanted: Run| runs.iter().filter(|run| **run == wanted).count();
    let base = if count(Run::Left) >= count(Run::Right) {
        Run::Left
    } else {
        Run::Right
    };
    settle(&letters, &mut runs, base);
    let mut order: Vec<usize> = (0..letters.len()).collect();
    // All that runs left is reversed, with the numbers and words in it; and these are reversed once more.
    reverse(&mut order, |at| base == Run::Left || runs[at] != Run::Right);
    reverse(&mut order, |at| match base {
        Run::Left => runs[at] != Run::Left,
        _ => runs[at] == Run::Digit,
    });
    order
        .into_iter()
        .map(|at| match runs[at] {
            Run::Left => mirrored(letters[at]),
            _ => letters[at],
        })
        .collect()
}

fn run(letter: char) -> Run {
    match letter {
        letter if is_digit(letter) => Run::Digit,
        letter if runs_left(letter) => Run::Left,
        letter if letter.is_alphabetic() => Run::Right,
        _ => Run::Neutral,
    }
}

/// Gives what follows its surroundings a direction.
fn settle(letters: &[char], runs: &mut [Run], base: Run) {
    let mut at = 0;
    while at < runs.len() {
        if runs[at] != Run::Neutral {
            at += 1;
            continue;
        }
        let end = (at..runs.len()).find(|&end| runs[end] != Run::Neutral);
        let before = at.checked_sub(1).map(|before| runs[before]);
        let after = end.map(|end| runs[end]);
        let end = end.unwrap_or(runs.len());
        let settled = match (before, after) {
            // A mark within a number, and nothing more, is part of it.
            (Some(Run::Digit), Some(Run::Digit))
                if end == at + 1 && ".,:/-\u{66b}\u{66c}".contains(letters[at]) =>
            {
                Run::Digit
            }
            (Some(Run::Right), Some(Run::Right | Run::Digit))
            | (Some(Run::Digit), Some(Run::Right)) => Run::Right,
            (Some(Run::Left | Run::Digit), Some(Run::Left | Run::Digit)) => Run::Left,
            _ => base,
        };
        runs[at..end].fill(settled);
        at = end;
    }
    // Digits beside words that run right belong to them.
    for at in 1..runs.len() {
        if runs[at] == Run::Digit && runs[at - 1] == Run::Right {
            runs[at] = Run::Right;
        }
    }
    for at in (1..runs.len()).rev() {
        if runs[at - 1] == Run::Digit && runs[at] == Run::Right {
            runs[at - 1] = Run::Right;
        }
    }
}

/// Reverses each stretch of those that are taken.
fn reverse(order: &mut [usize], takes: impl Fn(usize) -> bool) {
    let mut at = 0;
    while at < order.len() {
        let taken = order[at..].iter().take_while(|&&index| takes(index));
        let length = taken.count();
        order[at..at + length].reverse();
        at += length.max(1);
    }
}

/// Brackets stand as their mirror images in what runs left.
const fn mirrored(letter: char) -> char {
    match letter {
        '(' => ')',
        ')' => '(',
        '[' => ']',
        ']' => '[',
        '{' => '}',
        '}' => '{',
        '<' => '>',
        '>' => '<',
        '«' => '»',
        '»' => '«',
        letter => letter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_in_the_order_of_its_script() {
        for (seen, read) in [
            ("The old bridge (1204)", "The old bridge (1204)"),
            (".םילימ 123 רפסמ םע טפשמ", "משפט עם מספר 123 מילים."),
            ("(ב) א", "א (ב)"),
            ("word םולש and more", "word שלום and more"),
            (
                "ביביבי 1,204.5 גלגל word two אםאם",
                "םאםא word two לגלג 1,204.5 יביביב",
            ),
            ("ةملك ٤٥ مقر", "رقم ٤٥ كلمة"),
        ] {
            assert_eq!(logical(seen.to_owned()), read);
            assert_eq!(logical(read.to_owned()), seen);
        }
    }
}
