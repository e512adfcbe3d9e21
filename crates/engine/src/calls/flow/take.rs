//! Taking a stream in: as text, as a JSON value, or silently.

use domain::{
    Delta, Deltas, FinishReason, Generation, Usage,
    seams::{ProviderError, ProviderErrorKind as Kind},
};
use futures_util::StreamExt;

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
    refusal: String,
    end: Option<(FinishReason, Option<Usage>)>,
}

impl Gathered {
    fn generation(self) -> Generation {
        let (finish_reason, usage) = self.end.unwrap_or((FinishReason::Stop, None));
        Generation {
            text: self.text,
            refusal: (!self.refusal.is_empty()).then_some(self.refusal),
            finish_reason,
            usage,
        }
    }
}

impl Begun {
    /// The next piece of text, the refusal and the end put aside; `None` at the orderly end.
    async fn next_text(
        &mut self,
        gathered: &mut Gathered,
        attempt: &mut Attempt<'_>,
    ) -> Result<Option<String>, ProviderError> {
        while gathered.end.is_none() {
            let delta = match self.first.take() {
                Some(first) => first,
                None => self.rest.next().await.unwrap_or_else(|| Err(broke_off()))?,
            };
            match delta {
                Delta::Text(text) => {
                    attempt.received(&text);
                    return Ok(Some(text));
                }
                Delta::Refusal(piece) => gathered.refusal.push_str(&piece),
                Delta::End {
                    finish_reason,
                    usage,
                } => gathered.end = Some((finish_reason, usage)),
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
        let next = begun.next_text(&mut gathered, attempt).await;
        let next = next.map_err(|failure| Cut::Upstream(failure, None))?;
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
        let next = match begun.next_text(&mut gathered, attempt).await {
            Ok(next) => next,
            Err(failure) => return Err(Cut::Upstream(failure, Some(reader))),
        };
        let Some(text) = next else { break };
        if !sink.has_sent() || fault.is_some() {
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
    if sink.has_sent() {
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
pub(super) async fn take_silently(mut begun: Begun, attempt: &mut Attempt<'_>) -> Taken {
    let mut gathered = Gathered::default();
    loop {
        let next = begun.next_text(&mut gathered, attempt).await;
        match next.map_err(|failure| Cut::Upstream(failure, None))? {
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
