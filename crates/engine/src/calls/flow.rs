//! The same walk when the answer flows: until the first piece is out everything is as in a plain call, afterwards only
//! another model can help, and only where the settings allow it.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    ChatRequest, Delta, Deltas, FinishReason, Generation, Message, Output, Role, Usage,
    seams::{ProviderError, ProviderErrorKind as Kind},
};
use futures_util::StreamExt;

use crate::{
    error::Error,
    route::{Reachable, Stop},
};

use super::{
    Answer,
    asking::{Asked, Asking, Way},
    attempt::{Missed, Walk, never_fitted, refuse_a_refusal},
    failures::{Failures, told},
    joint::Joint,
    ledger::Attempt,
    lenient::MORE_THAN_ONE,
    output::{Complaint, Wanted, satisfying},
    pieces::{Begins, Follows, Reader},
    sink::{Sink, parts},
};

const GO_ON: &str = "Your answer was cut off there. Go on with it exactly where it stopped: begin with the next \
                     character, white space included, and repeat nothing. If nothing is missing, answer with nothing.";
const COMPLETE: &str = "Your answer was cut off there. Give the whole JSON value once more from its beginning, with \
                        exactly what it says so far, and complete it.";

/// How much is read at once, for the pieces of a text take a multiple of it.
const SLICE_BYTES: usize = 4 * 1024;

/// A stream that has begun: its first delta, and what follows.
struct Begun {
    /// Gone when it was looked at.
    first: Option<Delta>,
    rest: Deltas,
}

/// Asking for an answer that flows.
struct Flowing;

#[async_trait]
impl Way for Flowing {
    type Got = Begun;

    async fn ask(reachable: &Reachable, chat: &ChatRequest) -> Result<Begun, ProviderError> {
        let streaming = reachable.provider.chat_stream(&reachable.target, chat);
        let mut rest = streaming.await?;
        let first = rest.next().await.unwrap_or_else(|| Err(broke_off()))?;
        Ok(Begun {
            first: Some(first),
            rest,
        })
    }
}

impl Asking {
    /// Asks along the stops and passes the answer on as it comes.
    pub(super) async fn flow(
        &self,
        walk: &Walk<'_>,
        stops: &[Stop],
        mut chat: Arc<ChatRequest>,
        sink: &mut Sink,
    ) -> Result<Answer, Error> {
        let mut failures = Failures::default();
        for (index, stop) in stops.iter().enumerate() {
            let Some(reachable) = stop.reachable(walk.ledger) else {
                continue;
            };
            let has_fallback = index + 1 < stops.len();
            let missed = match self
                .flow_target(walk, reachable, (&mut chat, has_fallback), sink, None)
                .await
            {
                Ok(answer) => return Ok(answer),
                Err(missed) => missed,
            };
            match missed {
                Missed::ForGood(error) => return Err(error),
                Missed::Unavailable(failure) => failures.add(failure),
                Missed::Broken(failure, unfinished) => {
                    if !walk.call.definition().configuration.failover() {
                        return Err(told(&failure, walk.ledger));
                    }
                    let others = if has_fallback {
                        &stops[index + 1..]
                    } else {
                        &stops[index..]
                    };
                    return match unfinished {
                        None => self.go_on(walk, others, &chat, (failure, sink)).await,
                        Some(unfinished) => {
                            let walk = Walk {
                                unfinished: Some(&unfinished),
                                ..*walk
                            };
                            let chat = continued(&chat, unfinished.text(), COMPLETE);
                            let mut answer = self.walk(&walk, others, chat).await?;
                            for piece in std::mem::take(&mut answer.rest) {
                                sink.piece(piece).await?;
                            }
                            Ok(answer)
                        }
                    };
                }
            }
        }
        Err(failures.told(walk.ledger))
    }

    /// Has other models go on with a text that broke off.
    async fn go_on(
        &self,
        walk: &Walk<'_>,
        stops: &[Stop],
        chat: &Arc<ChatRequest>,
        (mut failure, sink): (ProviderError, &mut Sink),
    ) -> Result<Answer, Error> {
        for (index, stop) in stops.iter().enumerate() {
            let Some(reachable) = stop.reachable(walk.ledger) else {
                continue;
            };
            let has_fallback = index + 1 < stops.len();
            let mut chat = continued(chat, &sink.sent, GO_ON);
            let joint = Joint::after(&sink.sent);
            match self
                .flow_target(
                    walk,
                    reachable,
                    (&mut chat, has_fallback),
                    sink,
                    Some(joint),
                )
                .await
            {
                Ok(answer) => {
                    return Ok(Answer {
                        failover: true,
                        ..answer
                    });
                }
                Err(Missed::ForGood(error)) => return Err(error),
                Err(Missed::Unavailable(next) | Missed::Broken(next, _)) => failure = next,
            }
        }
        Err(told(&failure, walk.ledger))
    }

    /// Asks one target. Until something was passed on, an answer that does not do is repaired while attempts are left.
    async fn flow_target(
        &self,
        walk: &Walk<'_>,
        reachable: &Reachable,
        (chat, has_fallback): (&mut Arc<ChatRequest>, bool),
        sink: &mut Sink,
        mut joint: Option<Joint>,
    ) -> Result<Answer, Missed> {
        loop {
            let asked = self
                .ask::<Flowing>(walk, reachable, chat, has_fallback)
                .await
                .map_err(|failure| Missed::by(failure, walk.ledger))?;
            let Asked {
                mut attempt,
                pass,
                got: begun,
                rung,
            } = asked;
            let taken = match &walk.call.callee.wanted {
                Wanted::Json { begins, .. } => take_value(begun, *begins, sink, &mut attempt).await,
                Wanted::Text => take_text(begun, sink, &mut attempt, joint.as_mut()).await,
                Wanted::Xml { .. } => take_silently(begun, &mut attempt).await,
            };
            let (generation, value) = match taken {
                Ok(taken) => taken,
                Err(Cut::Ours(error)) => return Err(Missed::ForGood(error)),
                Err(Cut::Upstream(failure, reader)) => {
                    attempt.broke(&failure);
                    pass.failed(failure.kind, failure.retry_after);
                    return Err(if sink.has_sent() {
                        Missed::Broken(failure, reader.map(|reader| reader.unfinished()))
                    } else {
                        Missed::by(failure, walk.ledger)
                    });
                }
            };
            pass.succeeded();
            attempt.answered(&generation.text, generation.usage);
            refuse_a_refusal(walk, &generation, &mut attempt)?;
            let complaint = match self.settle(walk, &generation, value, sink).await {
                Ok(Settled { output, mended }) => {
                    walk.spend_answer();
                    if let Some(rung) = &rung {
                        self.ladder
                            .kept(&reachable.line(walk.call.scope), rung.rung);
                    }
                    return Ok(Answer {
                        output,
                        model: reachable.target.name.clone(),
                        finish_reason: generation.finish_reason,
                        rung,
                        mended,
                        rest: Vec::new(),
                        failover: false,
                    });
                }
                Err(Unsettled::Ours(error)) => return Err(Missed::ForGood(error)),
                Err(Unsettled::Complaint(complaint)) => complaint,
            };
            self.complain(
                walk,
                reachable,
                &complaint,
                (&generation, rung.as_ref()),
                &mut attempt,
            )?;
            if sink.has_sent() {
                // What is out cannot be taken back.
                let faults = complaint.faults;
                return Err(Missed::ForGood(never_fitted(
                    walk.call,
                    &generation.text,
                    faults,
                )));
            }
            drop(attempt);
            Arc::make_mut(chat)
                .messages
                .extend(complaint.turns(&generation.text, &walk.call.callee.wanted));
            joint = None;
        }
    }

    /// Makes an output of a generation that has come to its end.
    async fn settle(
        &self,
        walk: &Walk<'_>,
        generation: &Generation,
        value: Option<Value>,
        sink: &mut Sink,
    ) -> Result<Settled, Unsettled> {
        let wanted = &walk.call.callee.wanted;
        let checks = self.checks_of(walk.call);
        match (wanted, value) {
            (Wanted::Json { schema, .. }, Some(value)) => {
                let value = value?;
                let json = domain::Json::parse(&value.text)
                    .map_err(|invalid| Complaint::unreadable(invalid.message))?;
                satisfying(schema, &json, checks).await?;
                Ok(Settled {
                    output: Output::Payload(json),
                    mended: value.mended,
                })
            }
            (Wanted::Text, _) => Ok(Settled {
                output: Output::Message(sink.sent.clone()),
                mended: Vec::new(),
            }),
            (Wanted::Xml { .. } | Wanted::Json { .. }, _) => {
                let read = wanted.read(generation, None, checks).await?;
                if let Output::Payload(value) = &read.output {
                    sink.value(value).await.map_err(Unsettled::Ours)?;
                }
                Ok(Settled {
                    output: read.output,
                    mended: read.mended,
                })
            }
        }
    }
}

/// What came of a generation that came to its end.
struct Settled {
    output: Output,
    mended: Vec<super::pieces::Mending>,
}

enum Unsettled {
    Ours(Error),
    Complaint(Complaint),
}

impl From<Complaint> for Unsettled {
    fn from(complaint: Complaint) -> Self {
        Self::Complaint(complaint)
    }
}

/// Why a stream was not taken to its end.
enum Cut {
    /// Nothing may be passed on.
    Ours(Error),
    /// It broke; with the reader of a value that was under way.
    Upstream(ProviderError, Option<Box<Reader>>),
}

/// A value as it was read, or the fault in it.
type Value = Result<super::pieces::Finished, Complaint>;
type Taken = Result<(Generation, Option<Value>), Cut>;

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
async fn take_text(
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
async fn take_value(
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
async fn take_silently(mut begun: Begun, attempt: &mut Attempt<'_>) -> Taken {
    let mut gathered = Gathered::default();
    loop {
        let next = begun.next_text(&mut gathered, attempt).await;
        match next.map_err(|failure| Cut::Upstream(failure, None))? {
            Some(text) => gathered.text.push_str(&text),
            None => return Ok((gathered.generation(), None)),
        }
    }
}

/// The conversation with what was said so far, and the request to go on.
fn continued(chat: &ChatRequest, sent: &str, request: &str) -> Arc<ChatRequest> {
    let mut chat = chat.clone();
    chat.messages.extend([
        Message::text(Role::Assistant, sent),
        Message::text(Role::User, request),
    ]);
    Arc::new(chat)
}

fn broke_off() -> ProviderError {
    ProviderError::new(Kind::Connection, "the provider's stream broke off")
}

fn contradicts() -> ProviderError {
    let reason = "the model that was to go on said something else";
    ProviderError::new(Kind::Protocol, reason)
}
