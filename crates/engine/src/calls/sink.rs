//! The way out of a stream: bounded, and opened by the first piece. It waits for its reader; for how long is the door's to
//! say, since only there can be seen whether anything is taken.

use std::time::Duration;

use domain::{Delta, Json, Kept, ModelName, Output, SpanId, Timestamp, ToolCallDelta};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{error::Error, spans::Committed};

use super::pieces::{Begins, Leaf, Piece, Reader};

/// How many events may wait for the reader; with [`MAX_EVENT_BYTES`] that is at most 64 KiB (`reliability.md` 11).
const WAITING: usize = 32;
/// How much text one event carries; longer pieces are split.
const MAX_EVENT_BYTES: usize = 2 * 1024;
/// How long a reader may take nothing before others stop waiting for what it is sent.
const SLOW: Duration = Duration::from_secs(1);
/// How much of what was passed on is remembered: what a span keeps.
const MAX_SENT_BYTES: usize = 8 * 1024 * 1024;
/// How long the last event waits for a reader.
pub(super) const LAST_EVENT: Duration = Duration::from_secs(30);

/// How an answer is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamForm {
    /// Pieces of the JSON text, which concatenate to it.
    Raw,
    /// One leaf, or a piece of one string leaf, at a time.
    Leaves,
    /// Text, and all that comes beside it.
    Turn,
}

/// What a stream brings.
#[derive(Debug, Clone)]
pub enum StreamEvent {
    /// The next piece of the text, or of the JSON text; never empty.
    Text(String),
    /// A leaf: a string's next piece as a JSON string, or a whole number, boolean or null.
    Leaf {
        /// Where it stands: `people[0].role`; `_root` for the value itself.
        path: String,
        /// What stands there.
        value: Json,
    },
    /// What comes beside the text; never [`Delta::Text`], [`Delta::Usage`], [`Delta::Remarks`] or [`Delta::End`], and only in
    /// the form [`StreamForm::Turn`].
    Beside(Delta),
    /// The orderly end: the whole result.
    Done(Box<domain::CallResult>),
    /// The end in failure, after something was sent.
    Failed(Box<Error>),
}

/// A call whose answer flows. Dropping it says that the caller has left.
pub struct CallStream {
    /// The span that records the call.
    pub span_id: SpanId,
    /// Whether the function has an output schema.
    pub is_structured: bool,
    /// When the call began.
    pub started: Timestamp,
    /// Who answers, or began to.
    pub model: ModelName,
    pub(super) events: mpsc::Receiver<StreamEvent>,
    pub(super) stalled: CancellationToken,
    pub(super) _caller_is_here: DropGuard,
}

impl CallStream {
    /// The next event; after [`StreamEvent::Done`] or [`StreamEvent::Failed`] there is none. `None` without either
    /// means that the call was given up: the connection is to be broken, not ended.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        self.events.recv().await
    }

    /// To be cancelled, before the stream is dropped, where the caller is still there and takes nothing: then the span says
    /// that, and not that the caller has left.
    pub fn stalled(&self) -> CancellationToken {
        self.stalled.clone()
    }
}

/// Whether a stream begins, and who answers, told once: before it does, a failure is told like a plain call's.
pub(super) type Head = oneshot::Sender<Result<ModelName, Error>>;

/// Where the pieces of an answer go.
pub(super) struct Sink {
    form: StreamForm,
    events: mpsc::Sender<StreamEvent>,
    head: Option<Head>,
    /// Who answers, from the moment when anything can be passed on.
    model: Option<ModelName>,
    /// The span's beginning, on its way to storage.
    begun: Option<JoinHandle<Committed>>,
    /// Fires when the reader takes its time.
    slow: CancellationToken,
    /// What was passed on: the text, or the JSON text; the beginning alone, if it is longer than a span keeps.
    pub(super) sent: String,
    is_whole: bool,
}

impl Sink {
    /// A sink and the other end of it.
    pub(super) fn new(
        form: StreamForm,
        head: Head,
        begun: JoinHandle<Committed>,
    ) -> (Self, mpsc::Receiver<StreamEvent>) {
        let (events, received) = mpsc::channel(WAITING);
        let sink = Self {
            form,
            events,
            head: Some(head),
            model: None,
            begun: Some(begun),
            slow: CancellationToken::new(),
            sent: String::new(),
            is_whole: true,
        };
        (sink, received)
    }

    /// Fires when the reader takes its time, so that nobody else should wait for what it is sent.
    pub(super) fn slow(&self) -> CancellationToken {
        self.slow.clone()
    }

    /// Whether all that was passed on is remembered.
    pub(super) const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether anything was passed on.
    pub(super) fn has_sent(&self) -> bool {
        !self.sent.is_empty() || self.head.is_none()
    }

    /// Who answers. It has to be said before anything is passed on.
    pub(super) fn is_answered_by(&mut self, model: &ModelName) {
        self.model = Some(model.clone());
    }

    /// Passes on what comes beside the text, if the form has a place for it.
    ///
    /// # Errors
    /// As [`Sink::text`].
    pub(super) async fn beside(&mut self, delta: Delta) -> Result<(), Error> {
        if self.form != StreamForm::Turn {
            return Ok(());
        }
        for delta in split(delta) {
            self.send(StreamEvent::Beside(delta)).await?;
        }
        Ok(())
    }

    /// Passes a kept answer on: a text in one piece, a value leaf by leaf.
    ///
    /// # Errors
    /// As [`Sink::text`].
    pub(super) async fn kept(&mut self, kept: &Kept) -> Result<(), Error> {
        self.is_answered_by(&kept.model);
        let beside = &kept.beside;
        if let Some(logprobs) = &beside.logprobs {
            self.beside(Delta::Logprobs(logprobs.clone())).await?;
        }
        if !beside.reasoning.is_empty() {
            self.beside(Delta::Reasoning(beside.reasoning.clone()))
                .await?;
        }
        match &kept.output {
            Output::Message(text) => self.text(text).await?,
            Output::Payload(value) => self.value(value).await?,
            // They stand in the closing event.
            Output::Images(_) => {}
        }
        if let Some(refusal) = &beside.refusal {
            self.beside(Delta::Refusal(refusal.clone())).await?;
        }
        for (index, call) in beside.tool_calls.iter().enumerate() {
            let whole = ToolCallDelta {
                index,
                begins: Some((call.id.clone(), call.name.clone())),
                arguments: call.arguments.clone(),
            };
            self.beside(Delta::ToolCall(whole)).await?;
        }
        for url in &beside.images {
            self.beside(Delta::Image(url.clone())).await?;
        }
        Ok(())
    }

    /// Passes text on.
    ///
    /// # Errors
    /// The span's beginning could not be kept, so that nothing may be passed on.
    pub(super) async fn text(&mut self, text: &str) -> Result<(), Error> {
        self.remember(text);
        for part in parts(text, MAX_EVENT_BYTES) {
            self.send(StreamEvent::Text(part.to_owned())).await?;
        }
        Ok(())
    }

    /// Passes a piece of a JSON text on, in the form that was asked for.
    ///
    /// # Errors
    /// As [`Sink::text`].
    pub(super) async fn piece(&mut self, piece: Piece) -> Result<(), Error> {
        match (self.form, piece.leaf) {
            (StreamForm::Raw | StreamForm::Turn, _) => self.text(&piece.raw).await,
            (StreamForm::Leaves, None) => {
                self.remember(&piece.raw);
                Ok(())
            }
            (StreamForm::Leaves, Some(leaf)) => {
                self.remember(&piece.raw);
                self.leaf(leaf).await
            }
        }
    }

    /// Passes a value on that is there as a whole: in one piece, or leaf by leaf.
    ///
    /// # Errors
    /// As [`Sink::text`].
    pub(super) async fn value(&mut self, value: &Json) -> Result<(), Error> {
        if self.form != StreamForm::Leaves {
            return self.text(value.text()).await;
        }
        self.remember(value.text());
        for leaf in leaves(value) {
            self.leaf(leaf).await?;
        }
        Ok(())
    }

    fn remember(&mut self, text: &str) {
        let room = MAX_SENT_BYTES - self.sent.len();
        let kept = &text[..text.floor_char_boundary(room)];
        self.is_whole &= kept.len() == text.len();
        self.sent.push_str(kept);
    }

    async fn leaf(&mut self, Leaf { path, value }: Leaf) -> Result<(), Error> {
        let path = path.to_string();
        let long = (value.text().len() > MAX_EVENT_BYTES)
            .then(|| value.as_string())
            .flatten();
        let Some(text) = long else {
            return self.send(StreamEvent::Leaf { path, value }).await;
        };
        for part in parts(&text, MAX_EVENT_BYTES) {
            let event = StreamEvent::Leaf {
                path: path.clone(),
                value: Json::of(&part),
            };
            self.send(event).await?;
        }
        Ok(())
    }

    /// Passes the last event on, if anybody takes it in time.
    pub(super) async fn close(
        mut self,
        ending: Result<domain::CallResult, Error>,
        within: Duration,
    ) {
        let event = match ending {
            Ok(result) => {
                self.is_answered_by(&result.model);
                StreamEvent::Done(Box::new(result))
            }
            Err(error) => match self.head.take() {
                // Nothing was sent: the failure is told like a plain call's.
                Some(head) => return drop(head.send(Err(error))),
                None => StreamEvent::Failed(Box::new(error)),
            },
        };
        self.begin();
        let _ = tokio::time::timeout(within, self.events.send(event)).await;
    }

    /// Whether the span's beginning is kept; waits until that is known.
    pub(super) async fn settle(&mut self) -> Committed {
        match self.begun.take() {
            None => Ok(()),
            Some(begun) => begun.await.unwrap_or_else(|_| Err(crate::spans::stopped())),
        }
    }

    fn begin(&mut self) {
        if let (Some(head), Some(model)) = (self.head.take(), self.model.clone()) {
            // Who has left needs no word.
            let _ = head.send(Ok(model));
        }
    }

    async fn send(&mut self, event: StreamEvent) -> Result<(), Error> {
        if self.head.is_some() {
            if let Err(cause) = self.settle().await {
                let mut error = Error::unavailable("storage");
                error.cause = Some(cause);
                return Err(error);
            }
            self.begin();
        }
        let sending = self.events.send(event);
        tokio::pin!(sending);
        // A reader who has left is noticed elsewhere; others may be waiting for the same answer.
        if tokio::time::timeout(SLOW, &mut sending).await.is_ok() {
            return Ok(());
        }
        self.slow.cancel();
        let _ = sending.await;
        Ok(())
    }
}

/// The leaves of a value, each as a whole.
fn leaves(value: &Json) -> Vec<Leaf> {
    let mut pieces = Vec::new();
    let mut reader = Reader::new(Begins::Anything);
    // What was parsed before is read without a fault.
    let _ = reader.push(value.text(), &mut pieces);
    let _ = reader.finish(true, &mut pieces);
    let mut leaves: Vec<Leaf> = Vec::new();
    for leaf in pieces.into_iter().filter_map(|piece| piece.leaf) {
        match leaves.last_mut() {
            Some(before) if before.path == leaf.path => {
                let text =
                    [&before.value, &leaf.value].map(|part| part.as_string().unwrap_or_default());
                before.value = Json::of(&text.concat());
            }
            _ => leaves.push(leaf),
        }
    }
    leaves
}

/// What comes beside a text, in pieces of a measure; images and the like are one.
fn split(delta: Delta) -> Vec<Delta> {
    let cut = |text: &str, piece: fn(String) -> Delta| {
        let parts = parts(text, MAX_EVENT_BYTES);
        parts.map(|part| piece(part.to_owned())).collect()
    };
    match delta {
        Delta::Reasoning(text) => cut(&text, Delta::Reasoning),
        Delta::Refusal(text) => cut(&text, Delta::Refusal),
        Delta::ToolCall(call) if call.arguments.len() > MAX_EVENT_BYTES => {
            let mut begins = call.begins;
            let parts = parts(&call.arguments, MAX_EVENT_BYTES);
            let pieces = parts.map(|part| {
                Delta::ToolCall(ToolCallDelta {
                    index: call.index,
                    begins: begins.take(),
                    arguments: part.to_owned(),
                })
            });
            pieces.collect()
        }
        other => vec![other],
    }
}

/// A text in parts of at most so many bytes, cut between characters.
pub(super) fn parts(text: &str, bytes: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (part, left) = rest.split_at(rest.floor_char_boundary(bytes));
        rest = left;
        Some(part)
    })
}
