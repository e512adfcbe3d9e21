//! Where one model goes on with another's text: nothing may be said twice, and nothing differently.
//!
//! A model that was asked to go on may repeat the end of what was sent, or begin again. A long repetition can be no
//! chance and is left out. A short one may be the text itself, as in a table or a refrain: nobody can tell, so it is
//! refused.

/// A repetition of so much is left out.
const SURE_CHARS: usize = 200;
/// A repetition of less than this is taken for chance, unless it is the whole last word.
const CHANCE_CHARS: usize = 3;
/// What begins with so many letters of the beginning of what was sent begins again.
const RESTART_LETTERS: usize = 12;
/// How far back the end of what was sent is looked at.
const TAIL_BYTES: usize = 8 * 1024;

/// Joins a continuation to what was sent.
pub(super) struct Joint {
    sent: String,
    /// What has come of the continuation and cannot be judged yet.
    held: String,
    is_decided: bool,
}

/// The continuation does not fit what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Contradiction;

impl Joint {
    /// After what was sent.
    pub(super) fn after(sent: &str) -> Self {
        Self {
            sent: sent.to_owned(),
            held: String::new(),
            is_decided: false,
        }
    }

    /// Takes a piece of the continuation, and gives what may be passed on.
    pub(super) fn push(&mut self, piece: &str) -> Result<String, Contradiction> {
        if self.is_decided {
            return Ok(piece.to_owned());
        }
        self.held.push_str(piece);
        if self.may_be_repetition() {
            return Ok(String::new());
        }
        self.decide()
    }

    /// The continuation is over: gives what was still held back.
    pub(super) fn finish(&mut self) -> Result<String, Contradiction> {
        if self.is_decided {
            return Ok(String::new());
        }
        self.decide()
    }

    /// Whether what has come so far may be the beginning of something that was sent before.
    fn may_be_repetition(&self) -> bool {
        let restarts = self.sent.len() > self.held.len() && self.sent.starts_with(&self.held);
        let bare = bare(&self.held);
        let is_open = same_letters(&self.sent, bare) == letters(bare).count();
        restarts
            || (is_open && letters(bare).count() < RESTART_LETTERS)
            || self.tail().contains(bare)
    }

    fn decide(&mut self) -> Result<String, Contradiction> {
        self.is_decided = true;
        let held = std::mem::take(&mut self.held);
        if held.starts_with(&self.sent) && is_sure(&self.sent) {
            return Ok(held[self.sent.len()..].to_owned());
        }
        let overlap = &held[..self.overlap(&held)];
        if is_sure(overlap) {
            return Ok(held[overlap.len()..].to_owned());
        }
        let bare = bare(&held);
        let again = &bare[..self.overlap(bare)];
        let is_chance =
            |part: &str| part.chars().count() < CHANCE_CHARS && !self.ends_in_word(part);
        if !is_chance(overlap) || !is_chance(again) || self.restarts(bare) {
            return Err(Contradiction);
        }
        Ok(held)
    }

    /// Whether it begins as what was sent did, whatever stands around the words.
    fn restarts(&self, held: &str) -> bool {
        let wanted = letters(&self.sent)
            .count()
            .clamp(CHANCE_CHARS, RESTART_LETTERS);
        same_letters(&self.sent, held) >= wanted
    }

    /// Whether what was sent ends in a word, or a part of one, that is `overlap` as a whole.
    fn ends_in_word(&self, overlap: &str) -> bool {
        let Some(before) = self.sent.strip_suffix(overlap) else {
            return false;
        };
        overlap.contains(char::is_alphanumeric) && !before.ends_with(char::is_alphanumeric)
    }

    /// How many bytes at the beginning of `held` are the end of what was sent.
    fn overlap(&self, held: &str) -> usize {
        let tail = self.tail();
        let ends = held.char_indices().map(|(at, char)| at + char.len_utf8());
        let within = ends.take_while(|end| *end <= tail.len());
        within
            .filter(|end| tail.ends_with(&held[..*end]))
            .last()
            .unwrap_or(0)
    }

    fn tail(&self) -> &str {
        let from = self.sent.len().saturating_sub(TAIL_BYTES);
        &self.sent[self.sent.ceil_char_boundary(from)..]
    }
}

/// A text without the white space, quotes and marks that a model may begin with.
fn bare(text: &str) -> &str {
    text.trim_start_matches(|char: char| !char.is_alphanumeric())
}

/// What is left of a text without marks and without the difference of cases.
fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars()
        .filter(|char| char.is_alphanumeric())
        .flat_map(char::to_lowercase)
}

/// How many letters two texts have in common at their beginnings.
fn same_letters(one: &str, other: &str) -> usize {
    let both = letters(one).zip(letters(other));
    both.take_while(|(one, other)| one == other).count()
}

fn is_sure(repetition: &str) -> bool {
    repetition.chars().count() >= SURE_CHARS
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: &str = "The quick brown fox jumps over the lazy ";

    fn joined(sent: &str, continuation: &str) -> Result<String, Contradiction> {
        let mut joint = Joint::after(sent);
        let mut out = sent.to_owned();
        for char in continuation.chars() {
            out += &joint.push(char.encode_utf8(&mut [0; 4]))?;
        }
        out += &joint.finish()?;
        Ok(out)
    }

    #[test]
    fn a_continuation_is_passed_on_as_it_is() {
        for (sent, continuation) in [
            (SENT, "dog."),
            (SENT, ""),
            (SENT, "over the hills"),
            ("Hel", "lo"),
            ("one two", " three two"),
            ("å", "ä"),
            ("x: ", " y"),
        ] {
            let whole = format!("{sent}{continuation}");
            assert_eq!(
                joined(sent, continuation),
                Ok(whole),
                "{sent}|{continuation}"
            );
        }
    }

    #[test]
    fn a_long_repetition_is_left_out() {
        let words: Vec<String> = (0..100).map(|number| format!("word {number}, ")).collect();
        let (sent, whole) = (words[..80].concat(), words.concat());

        for repeated in [0, 10, 50] {
            let continuation = words[repeated..].concat();
            assert_eq!(
                joined(&sent, &continuation),
                Ok(whole.clone()),
                "{repeated}"
            );
        }
        assert_eq!(joined(&sent, &sent), Ok(sent.clone()));
    }

    #[test]
    fn what_could_be_a_repetition_and_could_be_text_is_refused() {
        for (sent, continuation) in [
            ("The qui", "quick brown fox"),
            ("The q", "quick brown fox"),
            ("Hello world.\nI am ", "I am fine."),
            ("def f():\n    x = 1\n", "    x = 1\n    return x"),
            ("Hi", "Hi there"),
            ("Hello", "Hello world"),
            ("ha ", "ha ha"),
            ("<tr><td>0</td></tr>\n", "<tr><td>0</td></tr>\n<tr>"),
            ("| a | b |\n|------", "------|\n| 1 |"),
            (SENT, "jumps over the lazy dog."),
            (SENT, "\nThe quick brown fox jumps over the lazy dog."),
            (
                SENT,
                "```\nThe quick brown fox jumps over the lazy dog.\n```",
            ),
            (SENT, "**The quick brown fox** jumps"),
            (SENT, "the quick brown fox jumps"),
            (SENT, "…the lazy dog."),
            (SENT, "The quick brown fox jumps over the lazy dog."),
            (SENT, "The quick brown cat jumps over the lazy dog."),
        ] {
            assert_eq!(
                joined(sent, continuation),
                Err(Contradiction),
                "{sent}|{continuation}"
            );
        }
    }
}
