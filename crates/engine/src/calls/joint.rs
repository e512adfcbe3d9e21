//! Where one model goes on with another's text: nothing may be said twice, and nothing differently.
//!
//! A model that was asked to go on may begin again with what was sent, whole or in part. Whatever is surely a
//! repetition is left out; whatever could be one and could be not is refused.

/// A repetition shorter than this is taken for chance.
const SURE_CHARS: usize = 16;
/// How far back the end of what was sent is looked at.
const TAIL_BYTES: usize = 2 * 1024;
/// A short text that comes back whole, too short to be sure: between these it is refused.
const DOUBTFUL_CHARS: usize = 4;

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

    /// Whether what has come so far is the beginning of something that was sent before.
    fn may_be_repetition(&self) -> bool {
        let restarts = self.sent.len() > self.held.len() && self.sent.starts_with(&self.held);
        restarts || self.tail().contains(self.held.as_str())
    }

    fn decide(&mut self) -> Result<String, Contradiction> {
        self.is_decided = true;
        let held = std::mem::take(&mut self.held);
        if let Some(rest) = held.strip_prefix(self.sent.as_str()) {
            return match self.sent.chars().count() {
                chars if chars >= SURE_CHARS => Ok(rest.to_owned()),
                chars if chars >= DOUBTFUL_CHARS => Err(Contradiction),
                _ => Ok(held),
            };
        }
        if let Some(overlap) = self.overlap(&held) {
            return Ok(held[overlap..].to_owned());
        }
        // It began again, and then said something else.
        let same = self.sent.chars().zip(held.chars());
        if same.take_while(|(sent, held)| sent == held).count() >= SURE_CHARS {
            return Err(Contradiction);
        }
        Ok(held)
    }

    /// How many bytes at the beginning of `held` are the end of what was sent, if that is surely no chance.
    fn overlap(&self, held: &str) -> Option<usize> {
        let tail = self.tail();
        let ends = held.char_indices().map(|(at, char)| at + char.len_utf8());
        let sure = ends
            .skip(SURE_CHARS - 1)
            .take_while(|end| *end <= tail.len());
        sure.filter(|end| tail.ends_with(&held[..*end])).last()
    }

    fn tail(&self) -> &str {
        let from = self.sent.len().saturating_sub(TAIL_BYTES);
        &self.sent[self.sent.ceil_char_boundary(from)..]
    }
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
            ("ha ", "ha ha"),
            ("a", "a"),
            ("å", "ä"),
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
    fn what_was_sent_is_not_said_twice() {
        let whole = format!("{SENT}dog.");

        for continuation in [
            whole.as_str(),
            "jumps over the lazy dog.",
            "fox jumps over the lazy dog.",
        ] {
            assert_eq!(
                joined(SENT, continuation),
                Ok(whole.clone()),
                "{continuation}"
            );
        }
        assert_eq!(joined(SENT, SENT), Ok(SENT.to_owned()));
    }

    #[test]
    fn another_beginning_is_a_contradiction() {
        assert_eq!(
            joined(SENT, "The quick brown cat jumps over the lazy dog."),
            Err(Contradiction)
        );
        assert_eq!(joined("Hello", "Hello world"), Err(Contradiction));
    }
}
