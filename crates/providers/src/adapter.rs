//! A dialect as pure translation, and what makes a provider of it.
//!
//! An [`Adapter`] does no I/O: values in, bytes out, and back. So it is tested with bytes alone.

use std::{borrow::Cow, collections::VecDeque, sync::Arc};

use async_trait::async_trait;
use domain::{
    ChatRequest, Delta, Deltas, EmbeddingRequest, Embeddings, Generation, ImageRequest, Images,
    Message, OcrPages, OcrRequest, Part, Remarks, RerankRequest, Reranking, Role, Rung,
    ToolCallDelta, UsageReport,
    seams::{BESIDE_TOOLS, Provider, ProviderError, ProviderErrorKind, Taken, Target, Wanted},
};
use futures_util::stream;

use crate::{
    brought, compatible, count, reading, vocabulary,
    wire::{
        Client, Event, EventStream, Fault, Framing, Grant, Head, Opened, Turns, WireAnswer,
        WireRequest, left_out_headers,
    },
};

/// How many tokens of texts are embedded at once where no less is known, which is what OpenAI takes:
/// <https://platform.openai.com/docs/api-reference/embeddings/create>
pub(crate) const EMBEDDING_TOKENS: usize = 300_000;

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
    type Reading: Default + Demanding + Send + Sync;
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

    /// How a stream is cut into events.
    fn framing(&self) -> Framing {
        Framing::events()
    }

    /// The rungs on which the target can be asked for a JSON value.
    fn rungs(&self, target: &Target) -> &'static [Rung];

    /// As [`Provider::obstacle`].
    fn obstacle(&self, target: &Target, request: &ChatRequest, rung: Rung) -> Option<&'static str> {
        (rung == Rung::ForcedTool && brought::has_tools(target, request)).then_some(BESIDE_TOOLS)
    }

    /// What an answer took that came with a good status and is of no use: it is billed all the same.
    fn taken(&self, _body: &[u8]) -> Taken {
        Taken::Nothing
    }

    /// As [`Provider::warnings`].
    fn warnings(&self, _target: &Target, _wanted: Wanted<'_>) -> Vec<String> {
        Vec::new()
    }

    /// As [`Provider::check`].
    fn check(&self, _target: &Target) -> Result<(), ProviderError> {
        Ok(())
    }

    /// As [`Provider::reads_as_given`].
    fn reads_as_given(&self, _target: &Target) -> bool {
        false
    }

    /// Whether the dialect has no place for the address of a part: then it is fetched, and given as a `data:` URL.
    fn needs_bytes(&self, _target: &Target, _part: &Part) -> bool {
        false
    }

    /// The target where its address or settings follow from its key and from each other; called before a token is
    /// asked for.
    fn settled<'t>(&self, target: &'t Target) -> Result<Cow<'t, Target>, ProviderError> {
        Ok(Cow::Borrowed(target))
    }

    /// What a token has to be asked for with before the host is, if it wants one; it comes as the target's key then.
    fn grant(&self, _target: &Target) -> Result<Option<Grant>, ProviderError> {
        Ok(None)
    }

    /// Words texts to embed.
    fn embed(
        &self,
        target: &Target,
        _request: &EmbeddingRequest,
    ) -> Result<WireRequest, ProviderError> {
        Err(target.lacks("embeddings"))
    }

    /// As [`Provider::embedding_batch`].
    fn embedding_batch(&self, _target: &Target) -> usize {
        2048
    }

    /// As [`Provider::embedding_tokens`].
    fn embedding_tokens(&self, _target: &Target) -> usize {
        EMBEDDING_TOKENS
    }

    /// Reads the vectors for `request`.
    fn embeddings(
        &self,
        _target: &Target,
        _request: &EmbeddingRequest,
        _body: &[u8],
    ) -> Result<Embeddings, Fault> {
        Err(Fault::protocol("the dialect has no embeddings"))
    }

    /// Words an image to be made.
    fn image_request(
        &self,
        target: &Target,
        _request: &ImageRequest,
    ) -> Result<WireRequest, ProviderError> {
        Err(target.lacks("images"))
    }

    /// Whether images can be made of such a part, too; its bytes are given then.
    fn draws_from(&self, _target: &Target, _part: &Part) -> bool {
        false
    }

    /// Reads the images for `request`.
    fn images(
        &self,
        _target: &Target,
        _request: &ImageRequest,
        _body: &[u8],
    ) -> Result<Images, Fault> {
        Err(Fault::protocol("the dialect has no images"))
    }

    /// Words texts to put in order.
    fn rerank(
        &self,
        target: &Target,
        _request: &RerankRequest,
    ) -> Result<WireRequest, ProviderError> {
        Err(target.lacks("reranking"))
    }

    /// As [`Provider::rerank_batch`].
    fn rerank_batch(&self, _target: &Target) -> usize {
        usize::MAX
    }

    /// Reads the order for `request`.
    fn reranking(
        &self,
        _target: &Target,
        _request: &RerankRequest,
        _body: &[u8],
    ) -> Result<Reranking, Fault> {
        Err(Fault::protocol("the dialect has no reranking"))
    }

    /// Words a document to read.
    fn ocr(&self, target: &Target, _request: &OcrRequest) -> Result<WireRequest, ProviderError> {
        Err(target.lacks("reading documents"))
    }

    /// Reads the pages for `request`.
    fn ocr_pages(
        &self,
        _target: &Target,
        _request: &OcrRequest,
        _body: &[u8],
    ) -> Result<OcrPages, Fault> {
        Err(Fault::protocol("the dialect does not read documents"))
    }

    /// What to ask for instead of a document's pages that were refused, if less may do.
    fn ocr_instead(&self, _request: &OcrRequest, _refusal: &ProviderError) -> Option<OcrRequest> {
        None
    }

    /// Reads the body of an answer whose status is not a good one.
    fn fault(&self, status: u16, body: &[u8]) -> Fault;

    /// The same, with the type of the error where the answer's head names it.
    fn typed_fault(&self, (status, _): (u16, Option<&str>), body: &[u8]) -> Fault {
        self.fault(status, body)
    }
}

/// What is known of a request that may have demanded a JSON value.
pub(crate) trait Demanding {
    /// Whether it has members that only the demand put there: then its host may have refused those alone.
    fn is_demanding(&self) -> bool;
}

/// The fault of an answer to a request that may have demanded a JSON value.
fn blamed(fault: Fault, is_demanding: bool) -> Fault {
    if is_demanding {
        fault.of_demanding()
    } else {
        fault
    }
}

/// An answer with its host's own count, if it has one.
trait Answer {
    /// The count.
    fn usage(&mut self) -> &mut Option<UsageReport>;
}

impl Answer for Generation {
    fn usage(&mut self) -> &mut Option<UsageReport> {
        &mut self.usage
    }
}

impl Answer for Embeddings {
    fn usage(&mut self) -> &mut Option<UsageReport> {
        &mut self.usage
    }
}

impl Answer for Images {
    fn usage(&mut self) -> &mut Option<UsageReport> {
        &mut self.usage
    }
}

impl Answer for Reranking {
    fn usage(&mut self) -> &mut Option<UsageReport> {
        &mut self.usage
    }
}

impl Answer for OcrPages {
    fn usage(&mut self) -> &mut Option<UsageReport> {
        &mut self.usage
    }
}

/// That no image can be made of a part by the target.
fn undrawable(target: &Target, part: &Part) -> ProviderError {
    let (what, url) = match part {
        Part::Text(_) => ("a text", ""),
        Part::Image(url) => ("an image", url.as_str()),
        Part::Audio(url) => ("sound", url.as_str()),
        Part::File(url) => ("a file", url.as_str()),
    };
    // Of a `data:` URL, its kind.
    let url: String = url
        .split(',')
        .next()
        .unwrap_or(url)
        .chars()
        .take(100)
        .collect();
    let reason = format!(
        "{what} (`{url}`) cannot be sent to the model `{}`: it makes images, and takes nothing of that kind beside the text",
        target.name
    );
    ProviderError::new(ProviderErrorKind::Invalid, reason)
}

/// Refuses a target at the host's own address that has no key for it.
pub(crate) fn needs_key(
    target: &Target,
    api_base: &str,
    variable: &str,
) -> Result<(), ProviderError> {
    let is_at_host = target.api_base.as_deref() == Some(api_base);
    if !is_at_host || target.key.is_some() || !target.keys.is_empty() {
        return Ok(());
    }
    let reason = format!(
        "the provider `{}` wants a key: set `{variable}` for the server, or give the model a key of its own",
        target.provider
    );
    Err(ProviderError::new(ProviderErrorKind::Misconfigured, reason))
}

/// Reads the events of one stream, in their order. Nothing may be asked of it after an end or a fault.
pub(crate) trait Decoder: Send + 'static {
    /// What an event adds; [`Delta::End`] is the last of all.
    fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault>;

    /// What is left when the body has come to its end without an event that said so: at least [`Delta::End`], or the
    /// fault that it was no end.
    fn finish(&mut self) -> Result<Vec<Delta>, Fault> {
        Err(Fault::broken_off())
    }

    /// What the host has counted of an answer that came to nothing; asked after a fault in that event, or at the end.
    fn counted(&mut self, _event: Option<&Event>) -> Option<UsageReport> {
        None
    }
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

    /// Whether the target can be asked, as far as that is known without asking. Whatever the dialect, no option leads to
    /// another model than the one that was chosen.
    fn check_adapter(&self, target: &Target) -> Result<(), ProviderError> {
        compatible::check_model(target)?;
        self.adapter.check(target)
    }

    /// The same of the tools of a request.
    fn check_tools(target: &Target, request: &ChatRequest) -> Result<(), ProviderError> {
        let mut tools = request.tools.iter().map(|tool| tool.as_given.to_value());
        tools.try_for_each(|tool| compatible::check_tool(target, &tool))
    }

    /// Reads a whole answer: its value by `read` if its status is a good one, else its fault.
    fn read<T>(
        &self,
        target: &Target,
        reading: &A::Reading,
        answer: &WireAnswer,
        read: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, ProviderError> {
        let WireAnswer { head, body, .. } = answer;
        let read = if head.is_success() {
            read(body)
        } else {
            let named = (head.status, answer.error_type.as_deref());
            Err(self.adapter.typed_fault(named, body))
        };
        read.map_err(|fault| head.failure(target, blamed(fault, reading.is_demanding())))
    }

    /// The target, settled, with the token that its host wants instead of a key, if it does.
    async fn granted<'t>(&self, target: &'t Target) -> Result<Cow<'t, Target>, ProviderError> {
        let mut target = self.adapter.settled(target)?;
        if let Some(grant) = self.adapter.grant(&target)? {
            let token = self.client.token(&target, &grant).await?;
            target.to_mut().key = Some(token);
        }
        Ok(target)
    }

    /// The request with the bytes of every part whose address the dialect cannot carry.
    async fn with_media<'r>(
        &self,
        target: &Target,
        request: &'r ChatRequest,
    ) -> Result<Cow<'r, ChatRequest>, ProviderError> {
        // A turn that goes out as it was given keeps its addresses.
        let is_as_given = self.adapter.reads_as_given(target);
        let needs_bytes = |message: &Message, part: &Part| {
            !(is_as_given && message.as_given.is_some()) && self.adapter.needs_bytes(target, part)
        };
        self.client.with_media(target, request, needs_bytes).await
    }

    /// The request with the bytes of what images are to be made of; refused where they cannot be.
    async fn with_drawn<'r>(
        &self,
        target: &Target,
        request: &'r ImageRequest,
    ) -> Result<Cow<'r, ImageRequest>, ProviderError> {
        let mut media = request.media.iter();
        if let Some(part) = media.find(|part| !self.adapter.draws_from(target, part)) {
            return Err(undrawable(target, part));
        }
        if request.media.is_empty() {
            return Ok(Cow::Borrowed(request));
        }
        let turn = Message::new(Role::User, request.media.clone());
        let chat = ChatRequest {
            messages: vec![turn],
            ..ChatRequest::default()
        };
        let chat = self.client.with_media(target, &chat, |_, _| true).await?;
        let turns = chat.into_owned().messages.into_iter();
        Ok(Cow::Owned(ImageRequest {
            prompt: request.prompt.clone(),
            media: turns.flat_map(|turn| turn.parts).collect(),
        }))
    }

    async fn chat_once(
        &self,
        target: &Target,
        request: &ChatRequest,
    ) -> Result<Generation, ProviderError> {
        let target = self.granted(target).await?;
        let (wire, reading) = self.adapter.chat(&target, request, Manner::Whole)?;
        let answer = self.client.send(&target, wire).await?;
        self.generation(&target, &reading, &answer)
    }

    fn generation(
        &self,
        target: &Target,
        reading: &A::Reading,
        answer: &WireAnswer,
    ) -> Result<Generation, ProviderError> {
        let read = |body: &[u8]| self.adapter.generation(reading, body);
        let read = self.read(target, reading, answer, read);
        self.billed(answer, read)
    }

    /// What was read of an answer, with the cost that its head tells; of one that is of no use, what it took.
    fn billed<T: Answer>(
        &self,
        answer: &WireAnswer,
        mut read: Result<T, ProviderError>,
    ) -> Result<T, ProviderError> {
        let head = answer.head;
        match &mut read {
            Ok(read) => *read.usage() = head.billed(read.usage().take()),
            Err(failure) if head.is_success() => {
                failure.taken = match self.adapter.taken(&answer.body) {
                    Taken::Counted(report) => head.billed(Some(*report)).into(),
                    taken => taken,
                };
            }
            Err(_) => {}
        }
        read
    }

    async fn stream_once(
        &self,
        target: &Target,
        request: &ChatRequest,
    ) -> Result<Deltas, ProviderError> {
        let target = self.granted(target).await?;
        let (wire, reading) = self.adapter.chat(&target, request, Manner::Streamed)?;
        let framing = self.adapter.framing();
        match self.client.stream(&target, wire, framing).await? {
            Opened::Whole(answer) => {
                let read = self.generation(&target, &reading, &answer)?;
                Ok(Box::pin(stream::iter(deltas(read).into_iter().map(Ok))))
            }
            Opened::Events(events) => {
                let mut reader = Reader {
                    target: target.into_owned(),
                    is_demanding: reading.is_demanding(),
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

    async fn ocr_once(
        &self,
        target: &Target,
        request: &OcrRequest,
    ) -> Result<OcrPages, ProviderError> {
        let word = |target: &Target| self.adapter.ocr(target, request);
        let read = |target: &Target, body: &[u8]| self.adapter.ocr_pages(target, request, body);
        let answer = self.exchange(target, word, read).await;
        answer.map_err(reading::brief)
    }

    /// Sends what `word` words, and has `read` read the answer; with another key where one is refused.
    async fn exchange<T: Answer + Send>(
        &self,
        target: &Target,
        word: impl Fn(&Target) -> Result<WireRequest, ProviderError> + Send + Sync,
        read: impl Fn(&Target, &[u8]) -> Result<T, Fault> + Send + Sync,
    ) -> Result<T, ProviderError> {
        let mut turns = Turns::of(&self.client, target);
        loop {
            let answer = async {
                let target = self.granted(turns.target()).await?;
                let answer = self.client.send(&target, word(&target)?).await?;
                let reading = A::Reading::default();
                let read = self.read(&target, &reading, &answer, |body| read(&target, body));
                self.billed(&answer, read)
            };
            let answer = answer.await;
            if !turns.go_on(&answer) {
                return answer;
            }
        }
    }
}

#[async_trait]
impl<A: Adapter> Provider for HttpProvider<A> {
    async fn chat(
        &self,
        target: &Target,
        request: &ChatRequest,
    ) -> Result<Generation, ProviderError> {
        self.check_adapter(target)?;
        Self::check_tools(target, request)?;
        let request = self.with_media(target, request).await?;
        let mut turns = Turns::of(&self.client, target);
        loop {
            let answer = self.chat_once(turns.target(), &request).await;
            if !turns.go_on(&answer) {
                return answer;
            }
        }
    }

    /// Returns with the first delta: a fault before it is the request's, and not the stream's.
    async fn chat_stream(
        &self,
        target: &Target,
        request: &ChatRequest,
    ) -> Result<Deltas, ProviderError> {
        self.check_adapter(target)?;
        Self::check_tools(target, request)?;
        let request = self.with_media(target, request).await?;
        let mut turns = Turns::of(&self.client, target);
        loop {
            let answer = self.stream_once(turns.target(), &request).await;
            if !turns.go_on(&answer) {
                return answer;
            }
        }
    }

    fn rungs(&self, target: &Target) -> &'static [Rung] {
        self.adapter.rungs(target)
    }

    fn obstacle(&self, target: &Target, request: &ChatRequest, rung: Rung) -> Option<&'static str> {
        self.adapter.obstacle(target, request, rung)
    }

    fn brings_functions(&self, target: &Target) -> Option<&'static str> {
        brought::functions(target)
    }

    fn runs_tools(&self, target: &Target, request: &ChatRequest) -> bool {
        brought::are_run_by_host(target, request)
    }

    fn warnings(&self, target: &Target, wanted: Wanted<'_>) -> Vec<String> {
        let mut warnings = self.adapter.warnings(target, wanted);
        warnings.extend(vocabulary::ours(target));
        warnings.extend(left_out_headers(target));
        warnings
    }

    fn reads_as_given(&self, target: &Target, _: &ChatRequest) -> bool {
        self.adapter.reads_as_given(target)
    }

    fn check(&self, target: &Target) -> Result<(), ProviderError> {
        self.check_adapter(target)?;
        self.client.check(&*self.adapter.settled(target)?)
    }

    async fn embed(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<Embeddings, ProviderError> {
        self.check_adapter(target)?;
        let word = |target: &Target| self.adapter.embed(target, request);
        let read = |target: &Target, body: &[u8]| self.adapter.embeddings(target, request, body);
        self.exchange(target, word, read).await
    }

    fn embedding_batch(&self, target: &Target) -> usize {
        self.adapter.embedding_batch(target)
    }

    fn embedding_tokens(&self, target: &Target) -> usize {
        self.adapter.embedding_tokens(target)
    }

    async fn generate_images(
        &self,
        target: &Target,
        request: &ImageRequest,
    ) -> Result<Images, ProviderError> {
        self.check_adapter(target)?;
        let request = &*self.with_drawn(target, request).await?;
        let word = |target: &Target| self.adapter.image_request(target, request);
        let read = |target: &Target, body: &[u8]| self.adapter.images(target, request, body);
        self.exchange(target, word, read).await
    }

    async fn rerank(
        &self,
        target: &Target,
        request: &RerankRequest,
    ) -> Result<Reranking, ProviderError> {
        self.check_adapter(target)?;
        let word = |target: &Target| self.adapter.rerank(target, request);
        let read = |target: &Target, body: &[u8]| self.adapter.reranking(target, request, body);
        self.exchange(target, word, read).await
    }

    fn rerank_batch(&self, target: &Target) -> usize {
        self.adapter.rerank_batch(target)
    }

    async fn recognize(
        &self,
        target: &Target,
        request: &OcrRequest,
    ) -> Result<OcrPages, ProviderError> {
        self.check_adapter(target)?;
        let refusal = match self.ocr_once(target, request).await {
            Ok(pages) => return Ok(pages),
            Err(refusal) => refusal,
        };
        match self.adapter.ocr_instead(request, &refusal) {
            Some(request) => self.ocr_once(target, &request).await,
            None => Err(refusal),
        }
    }
}

/// A whole generation as the pieces of a stream.
pub(crate) fn deltas(generation: Generation) -> Vec<Delta> {
    let piece = |text: String| Some(text).filter(|text| !text.is_empty());
    let mut deltas = Vec::new();
    deltas.extend(piece(generation.reasoning).map(Delta::Reasoning));
    deltas.extend(generation.logprobs.map(Delta::Logprobs));
    deltas.extend(piece(generation.text).map(Delta::Text));
    deltas.extend(generation.images.into_iter().map(Delta::Image));
    let calls = generation.tool_calls.into_iter().enumerate();
    deltas.extend(calls.map(|(index, call)| {
        Delta::ToolCall(ToolCallDelta {
            index,
            begins: Some((call.id, call.name)),
            arguments: call.arguments,
        })
    }));
    deltas.extend(generation.refusal.map(Delta::Refusal));
    if generation.remarks != Remarks::default() {
        deltas.push(Delta::Remarks(generation.remarks));
    }
    deltas.push(Delta::End {
        finish_reason: generation.finish_reason,
        usage: generation.usage,
    });
    deltas
}

/// Reads a stream's events, as far as they are asked for.
struct Reader<D> {
    /// Whose secrets no word of a failure may hold.
    target: Target,
    /// Whether a fault may be about the demand: after the first of the answer, the host has taken that.
    is_demanding: bool,
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

    /// Reads an event, or the end.
    fn read(&mut self, head: Head, event: Option<&Event>) -> Result<Vec<Delta>, ProviderError> {
        let read = match event {
            Some(event) => self.decoder.push(event),
            None => self.decoder.finish(),
        };
        read.map_err(|fault| {
            let mut failure = head.failure(&self.target, blamed(fault, self.is_demanding));
            let counted = self.decoder.counted(event);
            if let Some(report) = head.billed(counted.filter(count::is_something)) {
                failure.taken = Taken::Counted(Box::new(report));
            }
            failure
        })
    }

    /// Reads on until a delta is ready, unless the stream is over.
    async fn fill(&mut self) -> Result<(), ProviderError> {
        while self.ready.is_empty()
            && let Some(events) = &mut self.events
        {
            let head = events.head();
            let event = events.next().await;
            let read = event.and_then(|event| self.read(head, event.as_ref()));
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
            self.is_demanding &= self.ready.is_empty();
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests;
