//! The course of an answer's body: which bytes, waits and breaks follow each other.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use serde_json::{Value, json};

use super::dialect::{self, Chat, Event, Part};
use crate::{
    Answer,
    answer::{Body, Cut},
    flow::{Flow, Instead, Turn},
};

/// One step of a body.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Send(Bytes),
    Wait(Duration),
    /// One turn in which what was sent is flushed.
    Flush,
    /// The connection breaks.
    Cut,
    /// Nothing more ever comes.
    Silence,
}

/// A body as it will be told.
#[derive(Debug)]
pub(super) struct Course {
    pub(super) steps: VecDeque<Step>,
    /// Its length is told in the head.
    pub(super) measured: bool,
    /// It is a stream of events.
    pub(super) streamed: bool,
}

impl Course {
    /// Returns the course of an answer to a request with this body.
    pub(super) fn of(answer: &Answer, request: &Value) -> Self {
        let model = &request["model"];
        let mut course = match &answer.body {
            Body::Chat {
                message,
                finish_reason,
                usage,
            } => {
                let chat = Chat {
                    model,
                    message,
                    finish_reason,
                    usage: *usage,
                };
                if request["stream"] == true {
                    let wants_usage = request["stream_options"]["include_usage"] == true;
                    Self::streamed(told(chat, &answer.flow, wants_usage), &answer.flow)
                } else {
                    Self::whole(chat.whole().to_string())
                }
            }
            Body::Embeddings(vectors) => {
                Self::whole(dialect::embeddings(model, vectors).to_string())
            }
            Body::Events(events) => Self::streamed(as_they_stand(events), &answer.flow),
            Body::Bytes(bytes) => Self::whole(bytes.clone()),
            Body::Flood(bytes) => Self::flood(*bytes),
        };
        if let Cut::After(bytes) = answer.cut {
            course.cut_after(bytes);
        }
        course
    }

    fn whole(body: impl Into<Bytes>) -> Self {
        Self {
            steps: [Step::Send(body.into())].into(),
            measured: true,
            streamed: false,
        }
    }

    fn flood(bytes: usize) -> Self {
        let opening = Bytes::from_static(b"{\"choices\":[{\"message\":{\"content\":\"");
        let piece = Bytes::from(vec![b'a'; 64 * 1024]);
        let rest = bytes.saturating_sub(opening.len());
        let mut steps = VecDeque::from([Step::Send(opening)]);
        steps.extend(std::iter::repeat_n(
            Step::Send(piece.clone()),
            rest / piece.len(),
        ));
        steps.push_back(Step::Send(piece.slice(..rest % piece.len())));
        Self {
            steps,
            measured: true,
            streamed: false,
        }
    }

    fn streamed(events: Vec<Event>, flow: &Flow) -> Self {
        Self {
            steps: spread(events, flow),
            measured: false,
            streamed: true,
        }
    }

    fn cut_after(&mut self, bytes: usize) {
        let mut left = bytes;
        let mut kept = VecDeque::new();
        for step in self.steps.drain(..) {
            if let Step::Send(piece) = &step {
                if piece.len() >= left {
                    kept.push_back(Step::Send(piece.slice(..left)));
                    break;
                }
                left -= piece.len();
            }
            kept.push_back(step);
        }
        kept.extend([Step::Flush, Step::Cut]);
        self.steps = kept;
        self.measured = false;
    }
}

fn told(chat: Chat<'_>, flow: &Flow, wants_usage: bool) -> Vec<Event> {
    let mut events = chat.chunks(&flow.pieces, wants_usage);
    if flow.done {
        events.push(Event {
            part: Part::Ending,
            bytes: Bytes::from_static(b"data: [DONE]\n\n"),
        });
    }
    events
}

fn as_they_stand(events: &[Bytes]) -> Vec<Event> {
    let pieces = events.iter().map(|bytes| Event {
        part: Part::Piece,
        bytes: bytes.clone(),
    });
    pieces.collect()
}

/// Spreads events over time, up to the turn if there is one.
fn spread(events: Vec<Event>, flow: &Flow) -> VecDeque<Step> {
    let mut steps = VecDeque::new();
    let mut pieces = 0;
    for (number, event) in events.into_iter().enumerate() {
        let turn = flow.turn.as_ref().and_then(|turn| match turn {
            // A stream with fewer pieces turns behind its last one.
            Turn::AfterPieces(after, instead) => match event.part {
                Part::Opening => None,
                Part::Piece => (pieces >= *after).then_some(instead),
                Part::Ending => Some(instead),
            },
            Turn::MidEvent(_) => None,
        });
        if event.part == Part::Piece || turn.is_some() {
            wait(&mut steps, pieces, flow);
        }
        if let Some(instead) = turn {
            take(&mut steps, instead);
            return steps;
        }
        if matches!(flow.turn, Some(Turn::MidEvent(cut)) if cut == number) {
            let half = event.bytes.len() / 2;
            steps.push_back(Step::Send(event.bytes.slice(..half)));
            take(&mut steps, &Instead::Cut);
            return steps;
        }
        steps.push_back(Step::Send(event.bytes));
        pieces += usize::from(event.part == Part::Piece);
    }
    if let Some(Turn::AfterPieces(_, instead)) = &flow.turn {
        wait(&mut steps, pieces, flow);
        take(&mut steps, instead);
    }
    steps
}

/// Waits before the next piece, or before what comes instead of it: so the pieces before it have been read by then.
fn wait(steps: &mut VecDeque<Step>, pieces: usize, flow: &Flow) {
    let pause = if pieces == 0 {
        flow.first_after
    } else {
        flow.pause
    };
    if !pause.is_zero() {
        steps.push_back(Step::Wait(pause));
    }
}

fn take(steps: &mut VecDeque<Step>, instead: &Instead) {
    match instead {
        Instead::Cut => steps.extend([Step::Flush, Step::Cut]),
        Instead::End => {}
        Instead::Silence => steps.push_back(Step::Silence),
        Instead::Error(error) => {
            let event = dialect::data_event(&json!({"error": error}));
            steps.push_back(Step::Send(event));
        }
        Instead::Garbage => {
            let event = Bytes::from_static(b"data: \xff\xfe{\"choices\":[[[\n\n");
            steps.push_back(Step::Send(event));
        }
    }
}
