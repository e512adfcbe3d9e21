//! Streams of chats: one piece of an answer per line, deltas out.
//!
//! <https://docs.ollama.com/api/streaming>. A stream has ended with the piece that says so.

use domain::Delta;

use super::{Reading, answer};
use crate::{
    adapter::Decoder,
    assembly::Assembly,
    wire::{Event, Fault},
};

/// Reads one stream.
pub(crate) struct LineDecoder {
    reading: Reading,
    assembly: Assembly,
    /// Whether any of the answer has come.
    has_begun: bool,
}

impl LineDecoder {
    /// Reads the answer to a request of that `reading`.
    pub(super) fn new(reading: Reading) -> Self {
        Self {
            assembly: reading.assembly(),
            reading,
            has_begun: false,
        }
    }
}

impl Decoder for LineDecoder {
    fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault> {
        let piece = answer::answer(event.data.as_bytes());
        let read = piece.and_then(|piece| answer::deltas(&mut self.assembly, &piece));
        // A fault before the answer may be about the demand; after it, the host has taken that.
        let told = read.map_err(|fault| {
            if self.has_begun {
                fault
            } else {
                self.reading.fault(fault)
            }
        })?;
        self.has_begun |= !told.is_empty();
        Ok(told)
    }

    fn finish(&mut self) -> Result<Vec<Delta>, Fault> {
        Err(Fault::protocol("the provider's stream broke off"))
    }
}

#[cfg(test)]
mod tests {
    use domain::FinishReason;
    use proptest::prelude::*;

    use super::*;
    use crate::wire::tests::lines;

    const BODY: &str = r#"{"model":"m","created_at":"2026-11-22T12:00:00Z","message":{"role":"assistant","content":"Hel"},"done":false}
{"model":"m","created_at":"2026-11-22T12:00:00Z","message":{"role":"assistant","content":"loå"},"done":false}
{"model":"m","created_at":"2026-11-22T12:00:01Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"prompt_eval_count":5,"eval_count":2}
"#;

    /// What comes of a body that ends there: its text, and whether its end was an orderly one.
    fn read(body: &[u8]) -> (String, Option<(FinishReason, u64)>) {
        let mut decoder = LineDecoder::new(Reading::default());
        let (mut text, mut end) = (String::new(), None);
        for line in lines(body) {
            for delta in decoder.push(&line).unwrap_or_default() {
                match delta {
                    Delta::Text(piece) => text += &piece,
                    Delta::End {
                        finish_reason,
                        usage,
                    } => end = usage.map(|it| (finish_reason, it.usage.output_tokens)),
                    _ => {}
                }
            }
        }
        if end.is_none() {
            assert!(decoder.finish().is_err());
        }
        (text, end)
    }

    #[test]
    fn a_stream_cut_after_any_byte_ends_in_order_only_with_its_last_line() {
        // The last line needs no line feed.
        let end = BODY.len() - 1;

        for cut in 0..=BODY.len() {
            let (text, ended) = read(&BODY.as_bytes()[..cut]);
            assert_eq!(ended.is_some(), cut >= end, "{cut}");
            assert!("Hello\u{e5}".starts_with(&text), "{cut}: {text}");
        }
        let whole = ("Hello\u{e5}".to_owned(), Some((FinishReason::Stop, 2)));
        assert_eq!(read(BODY.as_bytes()), whole);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_no_panic(
            data in "\\PC{0,40}|(\\{|\\}|\\[|\\]|\"message\"|\"done\"|true|:|,|null|0){0,30}",
        ) {
            let mut decoder = LineDecoder::new(Reading::default());
            let event = Event { name: String::new(), data };

            let _ = decoder.push(&event);

            prop_assert!(decoder.finish().is_err());
        }
    }
}
