//! Vectors: of inputs while their calls wait, of entries in the background. What they cost is recorded.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{
    Cost, CostStatus, DatasetId, EmbeddingRequest, Entry, Json, ModelChoice, ModelName, ModelSpec,
    ProjectScope, Span, SpanId, SpanKind, SpanWrite, Timestamp, TraceId, Usage,
    seams::{Clock, Ids, Store},
};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    options::Options,
    price::Prices,
    route::{Reachable, Routes},
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

/// Makes vectors with one model.
pub(super) struct Embedder {
    store: Arc<dyn Store>,
    routes: Arc<Routes>,
    spans: SpanWriter,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    prices: Prices,
    spec: ModelSpec,
    places: Arc<Semaphore>,
    running: TaskTracker,
    stopping: CancellationToken,
}

/// The members of a span's `meta`.
#[derive(Serialize)]
struct Meta<'a> {
    purpose: &'static str,
    model: &'a ModelName,
    texts: usize,
    usage: Usage,
    cost: Cost,
    cost_status: CostStatus,
}

impl Embedder {
    pub(super) fn new(
        store: Arc<dyn Store>,
        routes: Arc<Routes>,
        spans: SpanWriter,
        (clock, ids): (Arc<dyn Clock>, Arc<dyn Ids>),
        (model, options): (ModelName, &Options),
    ) -> Self {
        Self {
            store,
            routes,
            spans,
            clock,
            ids,
            prices: Prices::new(&options.prices),
            spec: ModelSpec::One(ModelChoice::plain(model)),
            places: Arc::new(Semaphore::new(AT_A_TIME)),
            running: TaskTracker::new(),
            stopping: CancellationToken::new(),
        }
    }

    /// The name that vectors are kept under.
    pub(super) fn model(&self) -> &str {
        self.spec.choices()[0].name.as_str()
    }

    /// The vector of an input, if it comes in time.
    pub(super) async fn of_input(&self, sought: &Sought) -> Option<Vec<f32>> {
        let texts = vec![text(&sought.input)];
        let embedding = self.embed(sought.scope, texts, sought.below);
        match tokio::time::timeout(PATIENCE, embedding).await {
            Ok(Ok(mut vectors)) => vectors.pop(),
            Ok(Err(reason)) => {
                tracing::debug!(model.name = self.model(), reason, "an input got no vector");
                None
            }
            Err(_) => {
                tracing::debug!(model.name = self.model(), "an input's vector came too late");
                None
            }
        }
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
            match outcome {
                Ok(()) => turn.again_at_once(),
                Err(reason) => {
                    let model = embedder.model();
                    tracing::debug!(model.name = model, reason, "examples got no vectors");
                }
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
            let vectors = self.embed(scope, texts, None).await?;
            let entries = lacking.iter().map(|entry| Entry::clone(entry));
            let vectors: Vec<_> = entries.zip(vectors).collect();
            let kept = self
                .store
                .keep_vectors(scope, dataset, self.model(), vectors.clone());
            kept.await.map_err(|error| error.to_string())?;
            let put = memory.alter(move |index| index.put_vectors(vectors)).await;
            put.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// The vectors of texts, all of one length and none without a direction; why not, otherwise.
    async fn embed(
        &self,
        scope: ProjectScope,
        texts: Vec<String>,
        below: Place,
    ) -> Result<Vec<Vec<f32>>, String> {
        let route = self.routes.resolve_embedding(scope, &self.spec).await;
        let route = route.map_err(|error| error.to_string())?;
        let stop = route.into_iter().next().ok_or("there is no route")?;
        let reachable = stop.leads_to?;
        if reachable.target.api_base.is_none() {
            return Err("the model is built in".to_owned());
        }
        let count = texts.len();
        let (started, request) = (self.clock.now(), EmbeddingRequest { input: texts });
        let answer = reachable.provider.embed(&reachable.target, &request).await;
        let answer = answer.map_err(|failure| failure.reason)?;
        self.record(scope, &reachable, (started, count, answer.usage), below);
        if are_usable(&answer.vectors, count) {
            Ok(answer.vectors)
        } else {
            Err("the vectors cannot be used".to_owned())
        }
    }

    /// Hands on a span of what was spent. Nobody waits for it.
    fn record(
        &self,
        scope: ProjectScope,
        reachable: &Reachable,
        (started, texts, usage): (Timestamp, usize, Usage),
        below: Place,
    ) {
        let bill = self.prices.bill(reachable.price.as_ref(), &usage, false);
        let meta = Meta {
            purpose: NAME,
            model: &reachable.target.name,
            texts,
            usage,
            cost: bill.cost,
            cost_status: bill.status,
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
}

/// What is embedded of a value: a string as it is, anything else as compact JSON; never nothing.
fn text(value: &Json) -> String {
    let string = value.as_string().filter(|text| !text.trim().is_empty());
    let mut text = string.unwrap_or_else(|| value.text().to_owned());
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    text
}

fn are_usable(vectors: &[Vec<f32>], count: usize) -> bool {
    let Some(length) = vectors.first().map(Vec::len) else {
        return false;
    };
    let is_usable = |vector: &Vec<f32>| vector.len() == length && has_direction(vector);
    vectors.len() == count && length <= MAX_LENGTH && vectors.iter().all(is_usable)
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
    fn vectors_must_be_as_many_as_texts_and_of_one_length() {
        assert!(are_usable(&[vec![1.0, 0.0], vec![0.0, 1.0]], 2));
        assert!(!are_usable(&[vec![1.0, 0.0]], 2));
        assert!(!are_usable(&[vec![1.0, 0.0], vec![1.0]], 2));
        assert!(!are_usable(&[vec![f32::NAN]], 1));
        assert!(!are_usable(&[vec![0.0]], 1));
        assert!(!are_usable(&[], 0));
    }
}
