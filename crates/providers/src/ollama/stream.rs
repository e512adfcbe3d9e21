//! Streams of chats: one piece of an answer per line, deltas out.
//!
//! <https://docs.ollama.com/api/streaming>. A stream has ended with the piece that says so.

use domain::{Delta, UsageReport};
use serde_json::Value;

use super::{Reading, answer};
use crate::{
    adapter::Decoder,
    assembly::Assembly,
    wire::{Event, Fault},
};

/// Reads one stream.
pub(crate) struct LineDecoder {
    assembly: Assembly,
}

impl LineDecoder {
    /// Reads the answer to a request of that `reading`.
    pub(super) fn new(reading: &Reading) -> Self {
        Self {
            assembly: reading.assembly(),
        }
    }
}

impl Decoder for LineDecoder {
    fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault> {
        let piece = answer::answer(event.data.as_bytes());
        piece.and_then(|piece| answer::deltas(&mut self.assembly, &piece))
    }

    fn counted(&mut self, event: Option<&Event>) -> Option<UsageReport> {
        let piece: Value = serde_json::from_str(&event?.data).ok()?;
        answer::usage(&piece)
    }
}

#[cfg(test)]
mod tests {
    use domain::{FinishReason, Usage};
    use proptest::prelude::*;

    use super::*;
    use crate::{adapter, wire::tests::lines};

    const BODY: &str = r#"{"model":"m","created_at":"2026-11-22T12:00:00Z","message":{"role":"assistant","content":"Hel"},"done":false}
{"model":"m","created_at":"2026-11-22T12:00:00Z","message":{"role":"assistant","content":"loå"},"done":false}
{"model":"m","created_at":"2026-11-22T12:00:01Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"prompt_eval_count":5,"eval_count":2}
"#;

    /// What comes of a body that ends there: its text, and whether its end was an orderly one.
    fn read(body: &[u8]) -> (String, Option<(FinishReason, Option<Usage>)>) {
        adapter::tests::read(LineDecoder::new(&Reading::default()), &lines(body))
    }

    #[test]
    fn a_stream_cut_after_any_byte_ends_in_order_only_with_its_last_line() {
        // The last line needs no line feed.
        let usage = Usage {
            input_tokens: 5,
            output_tokens: 2,
            ..Usage::default()
        };
        let whole = ("Hello\u{e5}", usage);
        adapter::tests::assert_ends_after(BODY.len() - 1, BODY.as_bytes(), whole, read);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_no_panic(
            data in "\\PC{0,40}|(\\{|\\}|\\[|\\]|\"message\"|\"done\"|true|:|,|null|0){0,30}",
        ) {
            let mut decoder = LineDecoder::new(&Reading::default());
            let event = Event { name: String::new(), data };

            let _ = decoder.push(&event);

            prop_assert!(decoder.finish().is_err());
        }
    }
}
