//! How a streamed answer is spread over time: its pieces, its pauses, and where it goes wrong.

use std::time::Duration;

use serde_json::Value;

use crate::Answer;

/// What most models' tokens come to.
const PIECE_BYTES: usize = 4;

/// The course of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) pieces: Pieces,
    pub(crate) first_after: Duration,
    pub(crate) pause: Duration,
    pub(crate) turn: Option<Turn>,
    pub(crate) done: bool,
}

/// How a text falls into pieces.
#[derive(Clone, Debug)]
pub(crate) enum Pieces {
    /// At most so many bytes each, but never less than a character.
    Bytes(usize),
    These(Vec<String>),
}

/// Where a stream leaves its course.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    AfterPieces(usize, Instead),
    /// Within the event of this number, counted from 0.
    MidEvent(usize),
}

/// What comes instead of the rest.
#[derive(Clone, Debug)]
pub(crate) enum Instead {
    Cut,
    End,
    Silence,
    Error(Value),
    Garbage,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            pieces: Pieces::Bytes(PIECE_BYTES),
            first_after: Duration::ZERO,
            pause: Duration::ZERO,
            turn: None,
            done: true,
        }
    }
}

impl Pieces {
    /// Returns the pieces of a text: their concatenation is the text, unless a test has named other ones.
    pub(crate) fn of(&self, text: &str) -> Vec<String> {
        let limit_bytes = match self {
            Self::Bytes(limit_bytes) => *limit_bytes,
            Self::These(pieces) => return pieces.clone(),
        };
        let mut pieces: Vec<String> = Vec::new();
        for character in text.chars() {
            match pieces.last_mut() {
                Some(last) if last.len() + character.len_utf8() <= limit_bytes => {
                    last.push(character);
                }
                _ => pieces.push(character.into()),
            }
        }
        pieces
    }
}

/// The course of the answer where it is streamed; an answer in one body knows none of this.
impl Answer {
    /// Tells the text, or the arguments of a tool call, in these pieces.
    #[must_use]
    pub fn pieces(mut self, pieces: &[&str]) -> Self {
        self.flow.pieces = Pieces::These(pieces.iter().map(ToString::to_string).collect());
        self
    }

    /// Tells the text in pieces of at most so many bytes, but never splits a character. Without it: 4.
    #[must_use]
    pub fn piece_bytes(mut self, limit_bytes: usize) -> Self {
        self.flow.pieces = Pieces::Bytes(limit_bytes);
        self
    }

    /// Waits between two pieces.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.flow.pause = pause;
        self
    }

    /// Waits before the first piece; the head and the chunk that names the role go out at once.
    #[must_use]
    pub fn first_after(mut self, delay: Duration) -> Self {
        self.flow.first_after = delay;
        self
    }

    /// Breaks the connection after so many pieces, in the middle of the chunked coding.
    #[must_use]
    pub fn cut_after_pieces(self, pieces: usize) -> Self {
        self.turning(Turn::AfterPieces(pieces, Instead::Cut))
    }

    /// Breaks the connection half-way through the event of this number, counted from 0; the role's chunk is one too.
    #[must_use]
    pub fn cut_mid_event(self, event: usize) -> Self {
        self.turning(Turn::MidEvent(event))
    }

    /// Ends the body in good order after so many pieces, with no finish reason and no `[DONE]`.
    #[must_use]
    pub fn end_after_pieces(self, pieces: usize) -> Self {
        self.turning(Turn::AfterPieces(pieces, Instead::End))
    }

    /// Says nothing more after so many pieces and keeps the connection open.
    #[must_use]
    pub fn stall_after_pieces(self, pieces: usize) -> Self {
        self.turning(Turn::AfterPieces(pieces, Instead::Silence))
    }

    /// Sends `data: {"error": error}` after so many pieces and ends the body.
    #[must_use]
    pub fn error_after_pieces(self, pieces: usize, error: Value) -> Self {
        self.turning(Turn::AfterPieces(pieces, Instead::Error(error)))
    }

    /// Sends an event that is neither JSON nor UTF-8 after so many pieces and ends the body.
    #[must_use]
    pub fn garbage_after_pieces(self, pieces: usize) -> Self {
        self.turning(Turn::AfterPieces(pieces, Instead::Garbage))
    }

    /// Leaves `data: [DONE]` out.
    #[must_use]
    pub fn without_done(mut self) -> Self {
        self.flow.done = false;
        self
    }

    fn turning(mut self, turn: Turn) -> Self {
        self.flow.turn = Some(turn);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_keep_characters_whole_and_lose_nothing() {
        let text = "Hällo, wörld ☂☂ 🦀";

        for limit_bytes in 0..8 {
            let pieces = Pieces::Bytes(limit_bytes).of(text);

            assert_eq!(pieces.concat(), text);
            assert!(
                pieces
                    .iter()
                    .all(|piece| piece.len() <= limit_bytes || piece.chars().count() == 1)
            );
        }
        assert_eq!(Pieces::Bytes(4).of(""), Vec::<String>::new());
    }
}
