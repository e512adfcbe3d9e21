//! What is remembered of one dataset: its index, whose turn it is to bring it up to date, and whether vectors are
//! being made for it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::{Duration, Instant},
};

use domain::ModelName;
use tokio::sync::OwnedMutexGuard;

use crate::error::Error;

use super::index::{Index, Read};

/// How soon vectors are asked for again after that failed.
const PATIENCE: Duration = Duration::from_mins(1);

/// One dataset in memory.
#[derive(Default)]
pub(super) struct Memory {
    index: RwLock<Index>,
    summary: Mutex<Summary>,
    /// Whose the vectors are.
    model: Mutex<Option<ModelName>>,
    turn: Arc<tokio::sync::Mutex<()>>,
    filling: Mutex<Filling>,
}

/// What is asked of an index most often, so that nobody waits for it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Summary {
    /// The dataset's version that the index shows.
    pub(super) version: i64,
    /// How many entries it has.
    pub(super) entries: usize,
    /// How many of them lack a vector.
    pub(super) lacking: usize,
    /// Whether so much was deleted that everything should be read anew.
    pub(super) is_worn: bool,
    bytes: usize,
}

#[derive(Default)]
struct Filling {
    under_way: bool,
    not_before: Option<Instant>,
}

/// The right to make the vectors of a dataset, given back when it is dropped.
pub(super) struct FillingTurn(Arc<Memory>);

/// What is to be put into an index.
pub(super) struct News {
    /// The dataset's version.
    pub(super) version: i64,
    /// New and changed entries.
    pub(super) entries: Vec<(domain::Entry, Option<Vec<f32>>)>,
    /// What was deleted, before the entries came.
    pub(super) deleted: Vec<domain::EntryId>,
    /// Whether nothing else is to be kept.
    pub(super) are_all: bool,
    /// Whether there are older ones that were not read, since these fill the index.
    pub(super) are_cut: bool,
}

impl Memory {
    pub(super) fn summary(&self) -> Summary {
        *locked(&self.summary)
    }

    /// What it takes, for a cache that is bounded by it.
    pub(super) fn weight(&self) -> u32 {
        u32::try_from(self.summary().bytes).unwrap_or(u32::MAX)
    }

    /// Whether its vectors are a model's.
    pub(super) fn is_of(&self, model: &ModelName) -> bool {
        locked(&self.model).as_ref() == Some(model)
    }

    /// Whose its vectors are.
    pub(super) fn model(&self) -> Option<ModelName> {
        locked(&self.model).clone()
    }

    /// Its vectors are a model's from now on.
    pub(super) fn put_model(&self, model: Option<ModelName>) {
        *locked(&self.model) = model;
    }

    /// Everything is to be read anew.
    pub(super) async fn forget(self: &Arc<Self>) -> Result<(), Error> {
        self.alter(|index| index.version = 0).await
    }

    /// Waits until nobody else brings the index up to date.
    pub(super) async fn turn(&self) -> OwnedMutexGuard<()> {
        self.turn.clone().lock_owned().await
    }

    /// Puts in what is new. The turn ends with that, also when nobody waits for it any more.
    pub(super) async fn take(
        self: &Arc<Self>,
        turn: OwnedMutexGuard<()>,
        news: News,
    ) -> Result<(), Error> {
        let memory = self.clone();
        beside(move || {
            let _turn = turn;
            let read = news
                .entries
                .into_iter()
                .map(|(entry, vector)| Read::new(entry, vector));
            let read: Vec<Read> = read.collect();
            if news.are_all {
                let mut index = Index::default();
                if news.are_cut {
                    index.leave_out();
                }
                index.put(news.version, read);
                memory.change(|kept| *kept = index);
            } else {
                memory.change(|kept| {
                    kept.drop_deleted(&news.deleted);
                    kept.put(news.version, read);
                });
            }
        })
        .await
    }

    /// Looks into the index beside the workers.
    pub(super) async fn look<T: Send + 'static>(
        self: &Arc<Self>,
        look: impl FnOnce(&Index) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let memory = self.clone();
        beside(move || look(&memory.index.read().unwrap_or_else(PoisonError::into_inner))).await
    }

    /// Changes the index beside the workers.
    pub(super) async fn alter(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Index) + Send + 'static,
    ) -> Result<(), Error> {
        let memory = self.clone();
        beside(move || memory.change(change)).await
    }

    /// The right to make vectors, unless somebody has it or failed a moment ago.
    pub(super) fn begin_filling(self: &Arc<Self>, now: Instant) -> Option<FillingTurn> {
        let mut filling = locked(&self.filling);
        if filling.under_way || filling.not_before.is_some_and(|then| then > now) {
            return None;
        }
        *filling = Filling {
            under_way: true,
            not_before: Some(now + PATIENCE),
        };
        Some(FillingTurn(self.clone()))
    }

    fn change(&self, change: impl FnOnce(&mut Index)) {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut index);
        *locked(&self.summary) = Summary {
            version: index.version,
            entries: index.len(),
            lacking: index.lacking(),
            is_worn: index.is_worn(),
            bytes: index.bytes(),
        };
    }
}

impl FillingTurn {
    /// It went well, or was not tried: the next one need not wait.
    pub(super) fn again_at_once(&self) {
        locked(&self.0.filling).not_before = None;
    }
}

impl Drop for FillingTurn {
    fn drop(&mut self) {
        locked(&self.0.filling).under_way = false;
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_made_by_one_at_a_time_and_after_a_failure_once_a_minute() {
        let (memory, now) = (Arc::new(Memory::default()), Instant::now());

        let turn = memory.begin_filling(now).unwrap();
        assert!(memory.begin_filling(now + PATIENCE).is_none());

        drop(turn);
        assert!(memory.begin_filling(now).is_none());

        let turn = memory.begin_filling(now + PATIENCE).unwrap();
        turn.again_at_once();
        drop(turn);
        assert!(memory.begin_filling(now + PATIENCE).is_some());
    }

    fn id(count: u8) -> domain::EntryId {
        domain::EntryId::parse(&format!("00000000-0000-7000-8000-{count:012}")).unwrap()
    }

    fn news<const N: usize>(version: i64, counts: [u8; N], are_all: bool) -> News {
        let entry = |count: u8| domain::Entry {
            id: id(count),
            dataset_id: id(0).uuid().into(),
            input: domain::Json::of(&"x"),
            output: domain::Json::of(&count),
            expected: None,
            comment: None,
            created_at: domain::Timestamp::from_micros(count.into()),
        };
        News {
            version,
            entries: counts.map(|count| (entry(count), None)).to_vec(),
            deleted: Vec::new(),
            are_all,
            are_cut: false,
        }
    }

    async fn chosen(memory: &Arc<Memory>) -> Vec<Arc<domain::Entry>> {
        let input = domain::Json::of(&"x");
        memory
            .look(move |index| index.by_words(&input, 9))
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn what_is_new_is_added_unless_it_is_all_that_there_is() {
        let memory = Arc::new(Memory::default());

        for (news, entries) in [
            (news(1, [1], true), 1),
            (news(2, [2], false), 2),
            (news(4, [3], true), 1),
        ] {
            let version = news.version;
            memory.take(memory.turn().await, news).await.unwrap();
            let summary = memory.summary();
            assert_eq!((summary.version, summary.entries), (version, entries));
        }
    }

    #[tokio::test]
    async fn what_was_deleted_goes_and_everything_else_stays_where_it_is() {
        let memory = Arc::new(Memory::default());
        let all = news(4, [1, 2, 3, 4], true);
        memory.take(memory.turn().await, all).await.unwrap();
        let before = chosen(&memory).await;

        let mut news = news(7, [2], false);
        news.deleted = vec![id(4), id(2), id(9)];
        memory.take(memory.turn().await, news).await.unwrap();

        let after = chosen(&memory).await;
        let ids: Vec<_> = after.iter().map(|entry| entry.id).collect();
        assert_eq!(ids, [id(3), id(2), id(1)], "the second came back");
        assert!(Arc::ptr_eq(&before[1], &after[0]) && Arc::ptr_eq(&before[3], &after[2]));
        assert_eq!(memory.summary().version, 7);
    }
}
