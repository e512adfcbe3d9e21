//! Taking a stream in: as text, as a JSON value, or silently.

use domain::{
    Delta, Deltas, FinishReason, Generation, Json, Remarks, ToolCall, ToolCallDelta, UsageReport,
    seams::{ProviderError, ProviderErrorKind as Kind},
};
use futures_util::StreamExt;
use indexmap::IndexMap;

use crate::error::Error;

use crate::calls::{
    joint::Joint,
    ledger::Attempt,
    lenient::MORE_THAN_ONE,
    output::Complaint,
    pieces::{Begins, Finished, Follows, Reader},
    sink::{Sink, parts},
};

/// How much is read at once, for the pieces of a text take a multiple of it.
const SLICE_BYTES: usize = 4 * 1024;

/// A stream that has begun: its first delta, and what follows.
pub(super) struct Begun {
    /// Gone when it was looked at.
    pub(super) first: Option<Delta>,
    pub(super) rest: Deltas,
}

/// Why a stream was not taken to its end.
pub(super) enum Cut {
    /// Nothing may be passed on.
    Ours(Error),
    /// It broke; with the reader of a value that was under way.
    Upstream(ProviderError, Option<Box<Reader>>),
}

/// A value as it was read, or the fault in it.
pub(super) type Value = Result<Finished, Complaint>;
pub(super) type Taken = Result<(Generation, Option<Value>), Cut>;

/// Puts the deltas together again.
#[derive(Default)]
struct Gathered {
    text: String,
    reasoning: String,
    refusal: String,
    tool_calls: Vec<ToolCall>,
    images: Vec<String>,
    logprobs: Vec<Json>,
    remarks: Remarks,
    end: Option<(FinishReason, Option<UsageReport>)>,
}

impl Gathered {
    fn generation(self) -> Generation {
        let (finish_reason, usage) = self.end.unwrap_or((FinishReason::Stop, None));
        Generation {
            text: self.text,
            reasoning: self.reasoning,
            refusal: (!self.refusal.is_empty()).then_some(self.refusal),
            tool_calls: self.tool_calls,
            images: self.images,
            logprobs: joined(&self.logprobs),
            remarks: self.remarks,
            finish_reason,
            usage,
        }
    }

    /// Takes in what is no text, and gives back what of it can be passed on.
    fn take(&mut self, delta: Delta, attempt: &mut Attempt<'_>) -> Option<Delta> {
        match &delta {
            Delta::Text(_) => {}
            Delta::Reasoning(piece) => {
                attempt.received(piece);
                self.reasoning.push_str(piece);
            }
            Delta::Refusal(piece) => {
                attempt.received(piece);
                self.refusal.push_str(piece);
            }
            Delta::ToolCall(piece) => {
                attempt.received(&piece.arguments);
                self.tool_call(piece);
            }
            Delta::Image(url) => self.images.push(url.clone()),
            Delta::Logprobs(piece) => self.logprobs.push(piece.clone()),
            Delta::Usage(report) => {
                attempt.counted(report);
                return None;
            }
            // The result at the end has them.
            Delta::Remarks(remarks) => {
                self.remarks = remarks.clone();
                return None;
            }
            Delta::End {
                finish_reason,
                usage,
            } => {
                self.end = Some((*finish_reason, usage.clone()));
                return None;
            }
        }
        Some(delta)
    }

    fn tool_call(&mut self, piece: &ToolCallDelta) {
        if let Some((id, name)) = &piece.begins {
            self.tool_calls.push(ToolCall {
                id: id.clone(),
                name: name.clone(),
                arguments: String::new(),
            });
        }
        // A dialect counts the calls in the order in which they begin.
        if let Some(call) = self.tool_calls.get_mut(piece.index) {
            call.arguments.push_str(&piece.arguments);
        }
    }
}

/// The parts of a list that each member of the pieces is, one behind the other.
fn joined(pieces: &[Json]) -> Option<Json> {
    let mut members: IndexMap<String, Vec<Json>> = IndexMap::new();
    for piece in pieces {
        let lists: IndexMap<String, Option<Vec<Json>>> = serde_json::from_str(piece.text()).ok()?;
        for (name, list) in lists {
            members
                .entry(name)
                .or_default()
                .extend(list.unwrap_or_default());
        }
    }
    (!members.is_empty()).then(|| Json::of(&members))
}

impl Begun {
    /// The next piece of text; what comes beside it is gathered, and passed on to those who have a place for it. `None` at
    /// the orderly end.
    async fn next_text(
        &mut self,
        gathered: &mut Gathered,
        sink: &mut Sink,
        attempt: &mut Attempt<'_>,
    ) -> Result<Option<String>, Cut> {
        while gathered.end.is_none() {
            let delta = match self.first.take() {
                Some(first) => Ok(first),
                None => self.rest.next().await.unwrap_or_else(|| Err(broke_off())),
            };
            let delta = delta.map_err(|failure| Cut::Upstream(failure, None))?;
            if let Delta::Text(text) = delta {
                attempt.received(&text);
                return Ok(Some(text));
            }
            if let Some(delta) = gathered.take(delta, attempt) {
                sink.beside(delta).await.map_err(Cut::Ours)?;
            }
        }
        Ok(None)
    }
}

/// Passes text on as it comes. What is passed on stands in the sink; the generation's text is what this model said.
pub(super) async fn take_text(
    mut begun: Begun,
    sink: &mut Sink,
    attempt: &mut Attempt<'_>,
    mut joint: Option<&mut Joint>,
) -> Taken {
    let mut gathered = Gathered::default();
    loop {
        let next = begun.next_text(&mut gathered, sink, attempt).await?;
        let is_over = next.is_none();
        let text = next.unwrap_or_default();
        let text = match joint.as_mut() {
            None => Ok(text),
            Some(joint) if is_over => joint.finish(),
            Some(joint) => joint.push(&text),
        };
        let text = text.map_err(|_| Cut::Upstream(contradicts(), None))?;
        if !text.is_empty() {
            gathered
                .text
                .push_str(if joint.is_some() { &text } else { "" });
            sink.text(&text).await.map_err(Cut::Ours)?;
        }
        if is_over {
            if joint.is_none() {
                gathered.text.clone_from(&sink.sent);
            }
            return Ok((gathered.generation(), None));
        }
    }
}

/// Passes a JSON value on as it comes, without what stands around it.
pub(super) async fn take_value(
    mut begun: Begun,
    begins: Begins,
    sink: &mut Sink,
    attempt: &mut Attempt<'_>,
) -> Taken {
    let mut gathered = Gathered::default();
    let mut reader = Box::new(Reader::new(begins));
    let mut fault = None;
    let mut pieces = Vec::new();
    loop {
        let next = match begun.next_text(&mut gathered, sink, attempt).await {
            Ok(next) => next,
            Err(Cut::Upstream(failure, _)) => return Err(Cut::Upstream(failure, Some(reader))),
            Err(ours) => return Err(ours),
        };
        let Some(text) = next else { break };
        if sink.sent.is_empty() || fault.is_some() {
            gathered.text.push_str(&text);
        }
        for slice in parts(&text, SLICE_BYTES) {
            if fault.is_none() {
                fault = reader.push(slice, &mut pieces).err();
            }
            for piece in pieces.drain(..) {
                sink.piece(piece).await.map_err(Cut::Ours)?;
            }
        }
        // After a part of it was passed on, a faulty value cannot be saved: nothing more has to be waited for.
        if fault.is_some() && sink.has_sent() {
            break;
        }
    }
    let finished = if let Some(fault) = fault {
        Err(fault)
    } else {
        let ended_by_itself = !matches!(
            gathered.end,
            Some((FinishReason::Length | FinishReason::ContentFilter, _))
        );
        reader.finish(ended_by_itself, &mut pieces)
    };
    if finished.is_ok() {
        for piece in pieces.drain(..) {
            sink.piece(piece).await.map_err(Cut::Ours)?;
        }
    }
    if !sink.sent.is_empty() {
        gathered.text.clone_from(&sink.sent);
    }
    let fault = match &finished {
        _ if gathered.text.trim().is_empty() => "the answer is empty",
        Ok(finished) if finished.follows == Follows::Value => MORE_THAN_ONE,
        Ok(_) => return Ok((gathered.generation(), finished.ok().map(Ok))),
        Err(fault) => fault.line(),
    };
    let complaint = Complaint::unreadable(fault);
    Ok((gathered.generation(), Some(Err(complaint))))
}

/// Takes an answer in that can only be passed on as a whole.
pub(super) async fn take_silently(
    mut begun: Begun,
    sink: &mut Sink,
    attempt: &mut Attempt<'_>,
) -> Taken {
    let mut gathered = Gathered::default();
    loop {
        match begun.next_text(&mut gathered, sink, attempt).await? {
            Some(text) => gathered.text.push_str(&text),
            None => return Ok((gathered.generation(), None)),
        }
    }
}

pub(super) fn broke_off() -> ProviderError {
    ProviderError::new(Kind::Connection, "the provider's stream broke off")
}

fn contradicts() -> ProviderError {
    let reason = "the model that was to go on said something else";
    ProviderError::new(Kind::Protocol, reason)
}
