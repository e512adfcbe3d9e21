//! Vectors: of inputs while their calls wait, of entries in the background. What they cost is recorded.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{
    DatasetId, Entry, Json, ModelChoice, ModelName, ModelSpec, ProjectScope, Span, SpanId,
    SpanKind, SpanWrite, Timestamp, TraceId,
    seams::{Clock, Ids, Store},
};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    calls::{Errands, Spent},
    embeddings::Embedding,
    route::{Purpose, Stop},
    spans::SpanWriter,
};

use super::{
    Sought,
    index::{MAX_ENTRIES, has_direction},
    memory::Memory,
};

/// How long a call waits for its input's vector.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many entries go into one request.
const BATCH: usize = 64;
/// How many datasets get vectors at the same time.
const AT_A_TIME: usize = 4;
/// How much of a text is embedded: safely below the models' 8191 tokens.
const MAX_TEXT_BYTES: usize = 16 * 1024;
/// No model makes longer vectors.
const MAX_LENGTH: usize = 16 * 1024;
const NAME: &str = "few_shot";

type Place = Option<(SpanId, TraceId)>;

/// Makes vectors with one model: of a name that stands for several, the first that can be asked.
pub(super) struct Embedder {
    store: Arc<dyn Store>,
    errands: Arc<Errands>,
    spans: SpanWriter,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    spec: ModelSpec,
    places: Arc<Semaphore>,
    running: TaskTracker,
    stopping: CancellationToken,
}

/// The members of a span's `meta`.
#[derive(Serialize)]
struct Meta<'a> {
    purpose: &'static str,
    model: Option<&'a ModelName>,
    texts: usize,
    #[serde(flatten)]
    spent: &'a Spent,
}

impl Embedder {
    pub(super) fn new(
        store: Arc<dyn Store>,
        errands: Arc<Errands>,
        spans: SpanWriter,
        (clock, ids): (Arc<dyn Clock>, Arc<dyn Ids>),
        model: ModelName,
    ) -> Self {
        Self {
            store,
            errands,
            spans,
            clock,
            ids,
            spec: ModelSpec::One(ModelChoice::plain(model)),
            places: Arc::new(Semaphore::new(AT_A_TIME)),
            running: TaskTracker::new(),
            stopping: CancellationToken::new(),
        }
    }

    /// The name that vectors are kept under: the model's that makes them now for this project, if one can be asked.
    pub(super) async fn model(&self, scope: ProjectScope) -> Option<ModelName> {
        let routes = self.errands.routes();
        let route = routes
            .resolve(Purpose::Embedding, scope, &self.spec)
            .await
            .ok()?;
        let stop = route.into_iter().find(Stop::has_meaning)?;
        Some(stop.name)
    }

    /// The vector of an input and whose it is, if it comes in time.
    pub(super) async fn of_input(&self, sought: &Sought) -> Option<(ModelName, Vec<f32>)> {
        let texts = vec![text(&sought.input)];
        let embedding = self.embed(sought.scope, texts, (sought.below, PATIENCE));
        let Ok((model, mut vectors)) = embedding.await else {
            // Why not is a host's own words: they are for the span.
            let model = self.name();
            tracing::debug!(model.name = model, "an input got no vector");
            return None;
        };
        Some((model, vectors.pop()?))
    }

    /// Makes the vectors that a dataset lacks, in the background, and then calls `then`. Does nothing while somebody
    /// does so already, when that failed a moment ago, or when too many datasets are at it.
    pub(super) fn fill(
        self: &Arc<Self>,
        (scope, dataset): (ProjectScope, DatasetId),
        memory: &Arc<Memory>,
        then: impl FnOnce() + Send + 'static,
    ) {
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            return;
        };
        let Some(turn) = memory.begin_filling(Instant::now()) else {
            return;
        };
        let (embedder, memory) = (self.clone(), memory.clone());
        self.running.spawn(async move {
            let _place = place;
            let outcome = tokio::select! {
                outcome = embedder.fill_all(scope, dataset, &memory) => outcome,
                () = embedder.stopping.cancelled() => return,
            };
            if outcome.is_ok() {
                turn.again_at_once();
            } else {
                let model = embedder.name();
                tracing::debug!(model.name = model, "examples got no vectors");
            }
            then();
        });
    }

    /// Ends what is under way, and returns when its spans are handed on.
    pub(super) async fn stop(&self) {
        self.stopping.cancel();
        self.running.close();
        self.running.wait().await;
    }

    async fn fill_all(
        &self,
        scope: ProjectScope,
        dataset: DatasetId,
        memory: &Arc<Memory>,
    ) -> Result<(), String> {
        // Bounded, although each round makes some: entries may change as fast as they get vectors.
        for _ in 0..=MAX_ENTRIES / BATCH {
            let lacking = memory.look(|index| index.without_vector(BATCH)).await;
            let lacking = lacking.map_err(|error| error.to_string())?;
            if lacking.is_empty() {
                return Ok(());
            }
            let texts = lacking.iter().map(|entry| text(&entry.input)).collect();
            let (model, vectors) = self.embed(scope, texts, (None, Duration::MAX)).await?;
            if !memory.is_of(&model) {
                memory.forget().await.map_err(|error| error.to_string())?;
                return Err("another model makes the vectors now".to_owned());
            }
            let entries = lacking.iter().map(|entry| Entry::clone(entry));
            let vectors: Vec<_> = entries.zip(vectors).collect();
            let kept = self
                .store
                .keep_vectors(scope, dataset, model.as_str(), vectors.clone());
            kept.await.map_err(|error| error.to_string())?;
            let put = memory.alter(move |index| index.put_vectors(vectors)).await;
            put.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// The vectors of texts and whose they are, all of one length and none without a direction; why not, otherwise.
    async fn embed(
        &self,
        scope: ProjectScope,
        texts: Vec<String>,
        (below, within): (Place, Duration),
    ) -> Result<(ModelName, Vec<Vec<f32>>), String> {
        let (started, count) = (self.clock.now(), texts.len());
        let errand = Embedding::to_compare(self.spec.clone(), texts);
        let (outcome, spent) = self.errands.run_within(scope, &errand, within).await;
        if !spent.is_nothing() {
            let model = outcome.as_ref().ok().map(|(model, _)| model);
            self.record((scope, below), started, (model, count), &spent);
        }
        let (model, vectors) = outcome.map_err(|error| error.reason())?;
        if are_usable(&vectors) {
            Ok((model, vectors))
        } else {
            Err("the vectors cannot be used".to_owned())
        }
    }

    /// Hands on a span of what was spent. Nobody waits for it.
    fn record(
        &self,
        (scope, below): (ProjectScope, Place),
        started: Timestamp,
        (model, texts): (Option<&ModelName>, usize),
        spent: &Spent,
    ) {
        let meta = Meta {
            purpose: NAME,
            model,
            texts,
            spent,
        };
        let span = Span {
            id: self.ids.next().into(),
            project: scope.project(),
            name: NAME.to_owned(),
            kind: Some(SpanKind::EMBEDDING),
            trace_id: below.map_or_else(|| self.ids.next().into(), |(_, trace)| trace),
            parent_id: below.map(|(span, _)| span),
            start_time: Some(started),
            end_time: Some(self.clock.now().max(started)),
            input: None,
            output: None,
            error: None,
            meta: Json::of(&meta),
            score: None,
            feedback: None,
        };
        let spans = self.spans.clone();
        self.running.spawn(async move {
            if let Err(error) = spans.commit(SpanWrite::New(span)).await {
                tracing::warn!(%error, "what an embedding cost could not be recorded");
            }
        });
    }

    /// What it was given as, for the log.
    fn name(&self) -> &str {
        self.spec.choices()[0].name.as_str()
    }
}

/// What is embedded of a value: a string as it is, anything else as compact JSON; never nothing.
fn text(value: &Json) -> String {
    let string = value.as_string().filter(|text| !text.trim().is_empty());
    let mut text = string.unwrap_or_else(|| value.text().to_owned());
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    text
}

/// That they are as many as texts, and all of one length, is known.
fn are_usable(vectors: &[Vec<f32>]) -> bool {
    let is_usable = |vector: &Vec<f32>| vector.len() <= MAX_LENGTH && has_direction(vector);
    vectors.iter().all(is_usable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_to_embed_is_never_empty_nor_too_long() {
        assert_eq!(text(&Json::of(&"a\nb")), "a\nb");
        assert_eq!(text(&Json::of(&" ")), "\" \"");
        assert_eq!(text(&Json::parse("{ \"a\": 1 }").unwrap()), "{\"a\":1}");
        assert_eq!(
            text(&Json::of(&"é".repeat(MAX_TEXT_BYTES))).len(),
            MAX_TEXT_BYTES
        );
    }

    #[test]
    fn vectors_must_have_a_direction() {
        assert!(are_usable(&[vec![1.0, 0.0], vec![0.0, 1.0]]));
        assert!(!are_usable(&[vec![1.0], vec![0.0]]));
        assert!(!are_usable(&[vec![1.0; MAX_LENGTH + 1]]));
    }
}
