//! The same walk when the answer flows: until the first piece is out everything is as in a plain call, afterwards only
//! another model can help, and only where the settings allow it.

mod take;

use std::sync::Arc;

use async_trait::async_trait;
use domain::{ChatRequest, Generation, Message, Output, Role, seams::ProviderError};
use futures_util::StreamExt;

use crate::{
    error::Error,
    route::{Reachable, Stop},
};

use self::take::{Begun, Cut, Value, broke_off, take_silently, take_text, take_value};

use super::{
    Answer,
    asking::{Asked, Asking, Way},
    attempt::{Missed, Walk, refuse_a_refusal},
    failures::{Failures, told},
    joint::Joint,
    output::{Complaint, Read, Wanted, satisfying},
    sink::Sink,
};

const GO_ON: &str = "Your answer was cut off there. Go on with it exactly where it stopped: begin with the next \
                     character, white space included, and repeat nothing. If nothing is missing, answer with nothing.";
const COMPLETE: &str = "Your answer was cut off there. Give the whole JSON value once more from its beginning, with \
                        exactly what it says so far, and complete it.";

/// Asking for an answer that flows.
struct Flowing;

#[async_trait]
impl Way for Flowing {
    type Got = Begun;

    async fn ask(reachable: &Reachable, chat: &ChatRequest) -> Result<Begun, ProviderError> {
        let mut rest = reachable.chat_stream(chat).await?;
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
                    let goes_on = walk.call.settings().failover();
                    if !goes_on || !failure.kind.may_fall_back() || !sink.is_whole() {
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
            sink.is_answered_by(&reachable.target.name);
            let taken = match walk.call.wanted() {
                // What a model of images makes has no place in the pieces of a text.
                _ if reachable.makes_images() => take_silently(begun, sink, &mut attempt).await,
                Wanted::Json { begins, .. } if walk.call.awaits_value_alone() => {
                    take_value(begun, *begins, sink, &mut attempt).await
                }
                Wanted::Text | Wanted::Json { .. } => {
                    take_text(begun, sink, &mut attempt, joint.as_mut()).await
                }
                Wanted::Xml { .. } => take_silently(begun, sink, &mut attempt).await,
            };
            let (mut generation, value) = match taken {
                Ok(taken) => taken,
                Err(Cut::Ours(error)) => return Err(Missed::ForGood(error)),
                Err(Cut::Upstream(failure, reader)) => {
                    attempt.broke(&failure);
                    pass.failed(&failure);
                    return Err(if sink.has_sent() {
                        Missed::Broken(failure, reader.map(|reader| reader.unfinished()))
                    } else {
                        Missed::by(failure, walk.ledger)
                    });
                }
            };
            pass.succeeded();
            attempt.answered(&mut generation);
            refuse_a_refusal(walk, &generation, &mut attempt)?;
            if reachable.makes_images() {
                walk.spend_answer();
                return Ok(reachable.drawn(generation));
            }
            let complaint = match self.settle(walk, &generation, value, sink).await {
                Ok(read) => return Ok(self.accept(walk, reachable, (generation, rung), read)),
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
                return Err(Missed::ForGood(walk.never_fitted(&generation.text, faults)));
            }
            drop(attempt);
            Arc::make_mut(chat)
                .messages
                .extend(complaint.turns(&generation.text, walk.call.wanted()));
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
    ) -> Result<Read, Unsettled> {
        let wanted = walk.call.wanted_of(generation);
        let checks = self.checks_of(walk.call);
        match (wanted, value) {
            (Wanted::Json { schema, .. }, Some(value)) => {
                let value = value?;
                let json = domain::Json::parse(&value.text)
                    .map_err(|invalid| Complaint::unreadable(invalid.message))?;
                satisfying(schema, &json, checks).await?;
                Ok(Read {
                    output: Output::Payload(json),
                    mended: value.mended,
                    rest: Vec::new(),
                })
            }
            (Wanted::Text, _) => Ok(Read {
                output: Output::Message(sink.sent.clone()),
                mended: Vec::new(),
                rest: Vec::new(),
            }),
            (Wanted::Xml { .. } | Wanted::Json { .. }, _) => {
                let read = wanted.read(generation, None, checks).await?;
                if let Output::Payload(value) = &read.output
                    && !sink.has_sent()
                {
                    sink.value(value).await.map_err(Unsettled::Ours)?;
                }
                Ok(read)
            }
        }
    }
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

/// The conversation with what was said so far, and the request to go on.
fn continued(chat: &ChatRequest, sent: &str, request: &str) -> Arc<ChatRequest> {
    let mut chat = chat.clone();
    chat.messages.extend([
        Message::text(Role::Assistant, sent),
        Message::text(Role::User, request),
    ]);
    Arc::new(chat)
}
