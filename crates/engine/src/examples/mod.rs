//! Examples: the entries of a dataset that are nearest to an input (`interface.md` 15.2).
//!
//! By the cosine of their vectors where the server has a model for that, else by the words that they share. Datasets
//! are searched in memory; what is there is brought up to date with what changed or was deleted since.

mod embedder;
mod index;
mod memory;
mod words;

use std::sync::Arc;

use domain::{
    DatasetId, Entry, EntryId, Example, Json, ModelName, ProjectId, ProjectScope, SpanId, TraceId,
    seams::{Clock, Ids, Registry, Store},
};
use moka::{policy::EvictionPolicy, sync::Cache};
use serde::Serialize;

use crate::{calls::Errands, error::Error, options::Options, spans::SpanWriter};

use self::{
    embedder::Embedder,
    index::{MAX_BYTES, MAX_ENTRIES, entry_bytes},
    memory::{Memory, News},
};

/// What all datasets in memory may take.
const REMEMBERED_BYTES: u64 = 128 * 1024 * 1024;
/// How many entries are asked for first. More follow when that was not all, so that long ones are not read for nothing.
const FIRST_LOOK: u64 = 512;

type Memories = Cache<(ProjectId, DatasetId), Arc<Memory>>;

/// Chooses examples.
pub(crate) struct Examples {
    store: Arc<dyn Store>,
    embedder: Option<Arc<Embedder>>,
    memories: Memories,
}

/// What examples are chosen for.
pub(crate) struct Sought {
    /// The project.
    pub(crate) scope: ProjectScope,
    /// The dataset, which must be the function's own (`reliability.md` 2, LLM04).
    pub(crate) dataset: DatasetId,
    /// The dataset's version that must be seen, as its function has it; the newest when absent.
    pub(crate) version: Option<i64>,
    /// What they should be near to.
    pub(crate) input: Json,
    /// How many.
    pub(crate) count: usize,
    /// The span below which the spending is recorded.
    pub(crate) below: Option<(SpanId, TraceId)>,
}

/// The chosen ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// The nearest first.
    pub(crate) entries: Vec<Arc<Entry>>,
    /// What decided.
    pub(crate) by: Nearness,
}

/// How nearness was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Nearness {
    /// By the cosine of vectors.
    Embedding,
    /// By shared words.
    Lexical,
}

impl Chosen {
    /// What each of them demonstrates: its expected output, where it has one, else its output.
    pub(crate) fn examples(&self) -> Vec<Example> {
        let shown = |entry: &Arc<Entry>| Example {
            input: entry.input.clone(),
            output: entry.expected.as_ref().unwrap_or(&entry.output).clone(),
            comment: entry.comment.clone(),
        };
        self.entries.iter().map(shown).collect()
    }

    /// Their ids.
    pub(crate) fn ids(&self) -> Vec<EntryId> {
        self.entries.iter().map(|entry| entry.id).collect()
    }
}

impl Examples {
    /// Over the datasets in `store`; with vectors if the options name a model that makes them.
    pub(crate) fn new(
        store: &Arc<dyn Store>,
        (errands, registry): (&Arc<Errands>, &dyn Registry),
        spans: &SpanWriter,
        (clock, ids): (&Arc<dyn Clock>, &Arc<dyn Ids>),
        options: &Options,
    ) -> Self {
        let memories = Cache::builder()
            .weigher(|_, memory: &Arc<Memory>| memory.weight())
            .max_capacity(REMEMBERED_BYTES)
            .eviction_policy(EvictionPolicy::lru())
            .build();
        let model = options.models.default_embedding.clone();
        // A host without an address is built in, and what it makes of texts says nothing about their meaning.
        let has_meaning = |provider: &str| {
            registry
                .host(provider)
                .is_none_or(|host| host.api_base.is_some())
        };
        let model = model.filter(|model| model.split().is_none_or(|(name, _)| has_meaning(name)));
        let embedder = model.map(|model| {
            let (store, errands) = (store.clone(), errands.clone());
            let seams = (clock.clone(), ids.clone());
            Arc::new(Embedder::new(store, errands, spans.clone(), seams, model))
        });
        Self {
            store: store.clone(),
            embedder,
            memories,
        }
    }

    /// The entries that are nearest to an input, as many as are asked for where there are so many.
    ///
    /// # Errors
    /// `ServiceUnavailable` without storage. Failures of the embedding model are none: words decide then.
    pub(crate) async fn nearest(&self, sought: Sought) -> Result<Chosen, Error> {
        let nothing = Chosen {
            entries: Vec::new(),
            by: Nearness::Lexical,
        };
        // The first entry of a dataset makes its first version.
        if sought.count == 0 || sought.version == Some(0) {
            return Ok(nothing);
        }
        let memory = self.up_to_date(&sought).await?;
        if memory.summary().entries == 0 {
            return Ok(nothing);
        }
        if let Some(entries) = self.by_vector(&sought, &memory).await? {
            let by = Nearness::Embedding;
            return Ok(Chosen { entries, by });
        }
        let Sought { input, count, .. } = sought;
        let entries = memory
            .look(move |index| index.by_words(&input, count))
            .await?;
        let by = Nearness::Lexical;
        Ok(Chosen { entries, by })
    }

    /// Ends what is under way, and returns when its spans are handed on.
    pub(crate) async fn stop(&self) {
        if let Some(embedder) = &self.embedder {
            embedder.stop().await;
        }
    }

    async fn by_vector(
        &self,
        sought: &Sought,
        memory: &Arc<Memory>,
    ) -> Result<Option<Vec<Arc<Entry>>>, Error> {
        let Some(embedder) = &self.embedder else {
            return Ok(None);
        };
        if memory.summary().lacking > 0 {
            self.fill(embedder, sought, memory);
            return Ok(None);
        }
        let Some((model, vector)) = embedder.of_input(sought).await else {
            return Ok(None);
        };
        if !memory.is_of(&model) {
            memory.forget().await?;
            return Ok(None);
        }
        let (count, length) = (sought.count, vector.len());
        let found = memory
            .look(move |index| index.by_vector(vector, count))
            .await?;
        if found.is_none() {
            memory
                .alter(move |index| index.forget_vectors_unlike(length))
                .await?;
            self.fill(embedder, sought, memory);
        }
        Ok(found)
    }

    fn fill(&self, embedder: &Arc<Embedder>, sought: &Sought, memory: &Arc<Memory>) {
        let key = (sought.scope.project(), sought.dataset);
        let (memories, filled) = (self.memories.clone(), memory.clone());
        // Put in again, it is weighed again.
        let then = move || memories.insert(key, filled);
        embedder.fill((sought.scope, sought.dataset), memory, then);
    }

    /// The dataset in memory, at the version that must be seen or a newer one. Who comes while somebody brings it up
    /// to date waits for that.
    async fn up_to_date(&self, sought: &Sought) -> Result<Arc<Memory>, Error> {
        let key = (sought.scope.project(), sought.dataset);
        let memory = self.memories.get_with(key, Arc::default);
        let is_new_enough = || {
            let version = memory.summary().version;
            sought.version.is_some_and(|wanted| version >= wanted)
        };
        if is_new_enough() {
            return Ok(memory);
        }
        let turn = memory.turn().await;
        if is_new_enough() {
            return Ok(memory);
        }
        let model = match &self.embedder {
            Some(embedder) => embedder.model(sought.scope).await,
            None => None,
        };
        let known = memory.summary();
        let is_worn = known.is_worn || memory.model() != model;
        let since = if is_worn { 0 } else { known.version };
        let news = self.news(sought, since, model.as_ref()).await?;
        memory.take(turn, news).await?;
        memory.put_model(model);
        self.memories.insert(key, memory.clone());
        Ok(memory)
    }

    async fn news(
        &self,
        sought: &Sought,
        since: i64,
        model: Option<&ModelName>,
    ) -> Result<News, Error> {
        let (scope, dataset) = (sought.scope, sought.dataset);
        let model = model.map(ModelName::as_str);
        let mut limit = FIRST_LOOK;
        loop {
            let changes = self
                .store
                .entry_changes(scope, dataset, since, limit, model);
            let changes = changes.await?;
            let bytes: usize = changes
                .entries
                .iter()
                .map(|(entry, _)| entry_bytes(entry))
                .sum();
            let has_every_change = (changes.entries.len() as u64) < limit;
            if has_every_change || limit >= MAX_ENTRIES as u64 || bytes >= MAX_BYTES {
                // The store tells no more of very long ones, so that their number alone does not show it.
                let are_cut = !has_every_change || bytes >= MAX_BYTES;
                return Ok(News {
                    version: changes.version,
                    entries: changes.entries,
                    deleted: changes.deleted,
                    // The newest alone fill the memory: of what it held before nothing can stay.
                    are_all: changes.are_all || since == 0 || !has_every_change,
                    are_cut,
                });
            }
            limit = (limit * 4).min(MAX_ENTRIES as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;

    use super::*;

    #[test]
    fn what_is_expected_goes_before_what_came_out() {
        let id = "00000000-0000-7000-8000-000000000001";
        let entry = |expected: Option<&str>| {
            Arc::new(Entry {
                id: EntryId::parse(id).unwrap(),
                dataset_id: DatasetId::parse(id).unwrap(),
                input: Json::of(&1),
                output: Json::of(&"came out"),
                expected: expected.map(|text| Json::of(&text)),
                comment: Some("note".to_owned()),
                created_at: Timestamp::from_micros(1),
            })
        };
        let chosen = Chosen {
            entries: vec![entry(None), entry(Some("expected"))],
            by: Nearness::Lexical,
        };

        let shown = |output: &str| Example {
            input: Json::of(&1),
            output: Json::of(&output),
            comment: Some("note".to_owned()),
        };
        assert_eq!(chosen.examples(), [shown("came out"), shown("expected")]);
        assert_eq!(chosen.ids().len(), 2);
    }
}
