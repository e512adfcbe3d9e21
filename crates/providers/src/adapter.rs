//! A dialect as pure translation, and what makes a provider of it.
//!
//! An [`Adapter`] does no I/O: values in, bytes out, and back. So it is tested with bytes alone.

use std::{collections::VecDeque, sync::Arc};

use async_trait::async_trait;
use domain::{
    ChatRequest, Delta, Deltas, EmbeddingRequest, Embeddings, Generation, Rung,
    seams::{Provider, ProviderError, Target},
};
use futures_util::stream;

use crate::wire::{Client, Event, EventStream, Fault, Head, Opened, WireRequest};

/// How an answer is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// At once.
    Whole,
    /// Piece by piece.
    Streamed,
}

/// A dialect.
pub(crate) trait Adapter: Send + Sync + 'static {
    /// What must be known of a request to read its answer; the default for requests that ask for nothing special.
    type Reading: Default + Send + Sync;
    /// Reads streams.
    type Decoder: Decoder;

    /// Words a conversation.
    fn chat(
        &self,
        target: &Target,
        request: &ChatRequest,
        manner: Manner,
    ) -> Result<(WireRequest, Self::Reading), ProviderError>;

    /// Reads the answer to a conversation, whatever manner was asked for.
    fn generation(&self, reading: &Self::Reading, body: &[u8]) -> Result<Generation, Fault>;

    /// Reads a stream from its beginning.
    fn decoder(&self, reading: Self::Reading) -> Self::Decoder;

    /// The rungs on which the target can be asked for a JSON value.
    fn rungs(&self, target: &Target) -> &'static [Rung];

    /// Words texts to embed.
    fn embed(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<WireRequest, ProviderError>;

    /// Reads the vectors for `request`.
    fn embeddings(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
        body: &[u8],
    ) -> Result<Embeddings, Fault>;

    /// Reads the body of an answer whose status is not a good one.
    fn fault(&self, reading: &Self::Reading, status: u16, body: &[u8]) -> Fault;
}

/// Reads the events of one stream, in their order. Nothing may be asked of it after an end or a fault.
pub(crate) trait Decoder: Send + 'static {
    /// What an event adds; [`Delta::End`] is the last of all.
    fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault>;

    /// What is left when the body has come to its end without an event that said so: at least [`Delta::End`], or the
    /// fault that it was no end.
    fn finish(&mut self) -> Result<Vec<Delta>, Fault>;
}

/// A dialect spoken over HTTP.
pub(crate) struct HttpProvider<A> {
    adapter: A,
    client: Arc<Client>,
}

impl<A: Adapter> HttpProvider<A> {
    /// Speaks `adapter`'s dialect through `client`.
    pub(crate) const fn new(adapter: A, client: Arc<Client>) -> Self {
        Self { adapter, client }
    }

    /// Reads a whole answer: its value by `read` if its status is a good one, else its fault.
    fn read<T>(
        &self,
        target: &Target,
        reading: &A::Reading,
        (head, body): (Head, &[u8]),
        read: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, ProviderError> {
        let read = if head.is_success() {
            read(body)
        } else {
            Err(self.adapter.fault(reading, head.status, body))
        };
        read.map_err(|fault| head.failure(target, fault))
    }
}

#[async_trait]
impl<A: Adapter> Provider for HttpProvider<A> {
    async fn chat(
        &self,
        target: &Target,
        request: &ChatRequest,
    ) -> Result<Generation, ProviderError> {
        let (wire, reading) = self.adapter.chat(target, request, Manner::Whole)?;
        self.client.check_media(target, &request.messages).await?;
        let answer = self.client.send(target, wire).await?;
        let read = |body: &[u8]| self.adapter.generation(&reading, body);
        self.read(target, &reading, (answer.head, &answer.body), read)
    }

    /// Returns with the first delta: a fault before it is the request's, and not the stream's.
    async fn chat_stream(
        &self,
        target: &Target,
        request: &ChatRequest,
    ) -> Result<Deltas, ProviderError> {
        let (wire, reading) = self.adapter.chat(target, request, Manner::Streamed)?;
        self.client.check_media(target, &request.messages).await?;
        match self.client.stream(target, wire).await? {
            Opened::Whole(answer) => {
                let read = |body: &[u8]| self.adapter.generation(&reading, body);
                let read = self.read(target, &reading, (answer.head, &answer.body), read)?;
                Ok(Box::pin(stream::iter(deltas(read).into_iter().map(Ok))))
            }
            Opened::Events(events) => {
                let mut reader = Reader {
                    target: target.clone(),
                    events: Some(events),
                    decoder: self.adapter.decoder(reading),
                    ready: VecDeque::new(),
                };
                reader.fill().await?;
                Ok(Box::pin(stream::unfold(reader, |mut reader| async {
                    let next = reader.next().await?;
                    Some((next, reader))
                })))
            }
        }
    }

    fn rungs(&self, target: &Target) -> &'static [Rung] {
        self.adapter.rungs(target)
    }

    async fn embed(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<Embeddings, ProviderError> {
        let wire = self.adapter.embed(target, request)?;
        let answer = self.client.send(target, wire).await?;
        let read = |body: &[u8]| self.adapter.embeddings(target, request, body);
        let reading = A::Reading::default();
        self.read(target, &reading, (answer.head, &answer.body), read)
    }
}

/// A whole generation as the pieces of a stream.
pub(crate) fn deltas(generation: Generation) -> Vec<Delta> {
    let text = Some(generation.text).filter(|text| !text.is_empty());
    let end = Delta::End {
        finish_reason: generation.finish_reason,
        usage: generation.usage,
    };
    let pieces = [
        text.map(Delta::Text),
        generation.refusal.map(Delta::Refusal),
        Some(end),
    ];
    pieces.into_iter().flatten().collect()
}

/// Reads a stream's events, as far as they are asked for.
struct Reader<D> {
    /// Whose secrets no word of a failure may hold.
    target: Target,
    /// `None` after the end: then the connection is given up or free again.
    events: Option<Box<EventStream>>,
    decoder: D,
    ready: VecDeque<Delta>,
}

impl<D: Decoder> Reader<D> {
    async fn next(&mut self) -> Option<Result<Delta, ProviderError>> {
        if let Err(error) = self.fill().await {
            return Some(Err(error));
        }
        self.ready.pop_front().map(Ok)
    }

    /// Reads on until a delta is ready, unless the stream is over.
    async fn fill(&mut self) -> Result<(), ProviderError> {
        while self.ready.is_empty()
            && let Some(events) = &mut self.events
        {
            let head = events.head();
            let event = events.next().await;
            let read = event.and_then(|event| {
                let read = match &event {
                    Some(event) => self.decoder.push(event),
                    None => self.decoder.finish(),
                };
                read.map_err(|fault| head.failure(&self.target, fault))
            });
            let is_over = match &read {
                Ok(deltas) => deltas
                    .iter()
                    .any(|delta| matches!(delta, Delta::End { .. })),
                Err(_) => true,
            };
            if is_over {
                self.events = None;
            }
            self.ready.extend(read?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
