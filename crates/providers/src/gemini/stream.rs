//! Streams of answers: pieces in, deltas out. A whole answer is read as its only piece.
//!
//! A stream has ended when a candidate named its reason and the body's end followed. Each piece counts all tokens so
//! far, so the last count holds.

use domain::{Delta, FinishReason, Generation, ToolCallDelta, UsageReport};

use super::{
    answer::{self, Answer, Candidate, FunctionCall, Part},
    call,
    demand::Reading,
};
use crate::{
    adapter::Decoder,
    assembly,
    openai::joining::Joining,
    wire::{Event, Fault},
};

/// No end of Google's; some proxies have it behind all streams.
const DONE: &str = "[DONE]";

/// Reads one stream.
pub(crate) struct ChunkDecoder {
    reading: Reading,
    joining: Joining,
    /// How many calls have come.
    calls: usize,
    /// Whether any candidate has come.
    is_answered: bool,
    finish_reason: Option<FinishReason>,
    usage: Option<UsageReport>,
    response_id: Option<String>,
}

impl ChunkDecoder {
    /// Reads the answer to a request of that `reading`.
    pub(super) fn new(reading: Reading) -> Self {
        Self {
            joining: reading.joining(),
            reading,
            calls: 0,
            is_answered: false,
            finish_reason: None,
            usage: None,
            response_id: None,
        }
    }

    fn piece(&mut self, mut answer: Answer) -> Result<Vec<Delta>, Fault> {
        self.usage = answer.usage().or_else(|| self.usage.take());
        self.response_id = answer
            .response_id
            .take()
            .or_else(|| self.response_id.take());
        let Some(mut candidate) = answer.candidate()? else {
            return Ok(Vec::new());
        };
        self.is_answered = true;
        let deltas = self.deltas(&mut candidate)?;
        if let Some(reason) = candidate.finish_reason()? {
            self.finish_reason = Some(reason);
        }
        Ok(deltas)
    }

    fn deltas(&mut self, candidate: &mut Candidate) -> Result<Vec<Delta>, Fault> {
        let mut deltas = Vec::new();
        deltas.extend(candidate.logprobs().map(Delta::Logprobs));
        for part in candidate.parts() {
            let delta = match part {
                Part {
                    function_call: Some(call),
                    thought_signature,
                    ..
                } => self.call(call, thought_signature.as_deref())?,
                Part {
                    inline_data: Some(data),
                    ..
                } => data.mime_type.starts_with("image/").then(|| {
                    let url = format!("data:{};base64,{}", data.mime_type, data.data);
                    Delta::Image(url)
                }),
                Part {
                    text: Some(text),
                    thought: Some(true),
                    ..
                } => filled(text).map(Delta::Reasoning),
                Part {
                    text: Some(text), ..
                } if self.reading.has_tools() => filled(text).map(Delta::Text),
                Part {
                    text: Some(text), ..
                } => filled(self.joining.content(&text)).map(Delta::Text),
                _ => None,
            };
            deltas.extend(delta);
        }
        Ok(deltas)
    }

    /// A call, which always comes whole.
    fn call(
        &mut self,
        called: FunctionCall,
        signature: Option<&str>,
    ) -> Result<Option<Delta>, Fault> {
        let index = self.calls;
        self.calls += 1;
        let arguments = called.args.as_ref().map_or("{}", |args| args.text());
        if !self.reading.has_tools() {
            let text = self.joining.call(index as u64, arguments)?;
            return Ok(filled(text).map(Delta::Text));
        }
        let id = call::id(called.id, self.response_id.as_deref(), index, signature);
        Ok(Some(Delta::ToolCall(ToolCallDelta {
            index,
            begins: Some((id, called.name)),
            arguments: arguments.to_owned(),
        })))
    }

    fn end(&mut self, finish_reason: FinishReason) -> Vec<Delta> {
        let has_called = self.reading.has_tools() && self.calls > 0;
        let finish_reason = match finish_reason {
            FinishReason::Stop if has_called => FinishReason::ToolCalls,
            reason => reason,
        };
        let end = Delta::End {
            finish_reason,
            usage: self.usage.take(),
        };
        let rest = filled(self.joining.finish()).map(Delta::Text);
        rest.into_iter().chain([end]).collect()
    }
}

impl Decoder for ChunkDecoder {
    fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault> {
        match event.data.trim() {
            "" => Ok(Vec::new()),
            DONE => self.finish(),
            data => {
                let mut deltas = Vec::new();
                for answer in answer::answers(data.as_bytes())? {
                    deltas.extend(self.piece(answer)?);
                }
                Ok(deltas)
            }
        }
    }

    fn finish(&mut self) -> Result<Vec<Delta>, Fault> {
        let finish_reason = self.finish_reason.ok_or_else(Fault::broken_off)?;
        Ok(self.end(finish_reason))
    }

    fn counted(&mut self, _event: Option<&Event>) -> Option<UsageReport> {
        self.usage.take()
    }
}

fn filled(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// Reads a whole answer.
pub(super) fn generation(reading: &Reading, body: &[u8]) -> Result<Generation, Fault> {
    let mut decoder = ChunkDecoder::new(reading.clone());
    let mut deltas = Vec::new();
    for answer in answer::answers(body)? {
        deltas.extend(decoder.piece(answer)?);
    }
    if !decoder.is_answered {
        return Err(Fault::protocol("the provider's answer has no candidates"));
    }
    let finish_reason = decoder.finish_reason.unwrap_or_default();
    deltas.extend(decoder.end(finish_reason));
    Ok(assembly::whole(deltas))
}

#[cfg(test)]
mod tests {
    use domain::Usage;
    use proptest::prelude::*;

    use super::*;
    use crate::{adapter, wire::tests::events};

    /// What comes of a body that ends there: its text, and whether its end was an orderly one.
    fn read(body: &[u8]) -> (String, Option<(FinishReason, Option<Usage>)>) {
        adapter::tests::read(ChunkDecoder::new(Reading::default()), &events(body))
    }

    const LAST: &str = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\" you\"}]},\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":9,\"candidatesTokenCount\":3,\"totalTokenCount\":12}}\r\n\r\n";

    fn recorded() -> String {
        let piece = |text: &str| {
            let answer = serde_json::json!({
                "candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}],
                "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9},
                "unknown": [{}],
            });
            format!("data: {answer}\r\n\r\n")
        };
        let begun = ["Hel", "lo\u{e5}"].map(piece).concat();
        format!("{begun}{LAST}")
    }

    #[test]
    fn a_stream_cut_after_any_byte_ends_in_order_only_with_its_last_piece() {
        let body = recorded();
        // The line feed after the last carriage return is not needed.
        let usage = Usage {
            input_tokens: 9,
            output_tokens: 3,
            ..Usage::default()
        };
        let whole = ("Hello\u{e5} you", usage);
        adapter::tests::assert_ends_after(body.len() - 1, body.as_bytes(), whole, read);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_no_panic(data in "\\PC{0,40}|(\\{|\\}|\\[|\\]|\"candidates\"|\"content\"|\"parts\"|:|,|null|0){0,30}") {
            let mut decoder = ChunkDecoder::new(Reading::default());
            let event = Event { name: String::new(), data };

            let pushed = decoder.push(&event);

            let has_ended = |deltas: Vec<Delta>| deltas.iter().any(|it| matches!(it, Delta::End { .. }));
            prop_assert!(!pushed.is_ok_and(has_ended));
        }
    }
}
