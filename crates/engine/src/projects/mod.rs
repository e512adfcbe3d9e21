//! What the operator's file says of projects (`[projects.NAME]`): the models that they may use, and how much of them.

mod allowed;
mod bucket;
mod meter;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::{
    Cost, Principal, ProjectId, TokenId, Usage, Usd,
    seams::{Clock, Store, StoreError},
};
use indexmap::IndexMap;
use moka::sync::Cache;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::{
    error::Error,
    options::{Options, ProjectOptions, ProjectSpansOptions},
};

pub(crate) use self::allowed::Allowed;
pub use self::meter::Held;

use self::{bucket::Bucket, meter::Meter};

const MOST_PROJECTS: u64 = 10_000;
const MOST_TOKENS: u64 = 100_000;
/// A bucket that nobody took from for so long is full.
const FULL_AFTER: Duration = Duration::from_mins(2);

/// What holds for projects and for tokens.
pub struct Projects {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    by_name: HashMap<String, Arc<Ruled>>,
    /// What holds for a project. Neither its name nor the file changes while the server runs.
    known: Cache<ProjectId, Option<Arc<Ruled>>>,
    tokens: Cache<TokenId, Arc<Mutex<Bucket>>>,
    saving: TaskTracker,
}

/// What holds for one project.
struct Ruled {
    models: Option<Arc<Allowed>>,
    meter: Option<Arc<Meter>>,
    spans: ProjectSpansOptions,
}

impl Projects {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        options: &IndexMap<String, ProjectOptions>,
    ) -> Self {
        let now = Instant::now();
        let ruled = |(name, options): (&String, &ProjectOptions)| {
            let models = options.models.as_deref();
            let ruled = Ruled {
                models: models.map(|models| Arc::new(Allowed::of(name, models))),
                meter: Meter::of(name, options, now).map(Arc::new),
                spans: options.spans,
            };
            (name.clone(), Arc::new(ruled))
        };
        Self {
            store,
            clock,
            by_name: options.iter().map(ruled).collect(),
            known: Cache::new(MOST_PROJECTS),
            tokens: Cache::builder()
                .max_capacity(MOST_TOKENS)
                .time_to_idle(FULL_AFTER)
                .build(),
            saving: TaskTracker::new(),
        }
    }

    /// The configured models that a project may use; `None` if it may use all.
    pub(crate) async fn allowed_to(
        &self,
        project: ProjectId,
    ) -> Result<Option<Arc<Allowed>>, StoreError> {
        let ruled = self.ruled(project).await?;
        Ok(ruled.and_then(|ruled| ruled.models.clone()))
    }

    /// What the operator says of keeping a project's spans.
    pub(crate) async fn spans_of(
        &self,
        project: ProjectId,
    ) -> Result<ProjectSpansOptions, StoreError> {
        let ruled = self.ruled(project).await?;
        Ok(ruled.map(|ruled| ruled.spans).unwrap_or_default())
    }

    /// The same of all projects of which something is said.
    pub(crate) fn spans_of_all(&self) -> impl Iterator<Item = ProjectSpansOptions> {
        self.by_name.values().map(|ruled| ruled.spans)
    }

    /// Lets a call in by what its token and its project may do. What it may take is held until the value is dropped.
    ///
    /// # Errors
    /// `RateLimit` above a limit; `ServiceUnavailable` where what was spent is not to be had.
    pub async fn admit(&self, caller: &Principal) -> Result<Option<Held>, Error> {
        let now = Instant::now();
        let own = caller
            .calls_per_minute()
            .map(|most| (most, self.bucket(caller.token(), most, now)));
        if let Some((most, bucket)) = &own {
            let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(wait) = bucket.lacks(1.0, now) {
                let why = format!("this token may make {most} calls a minute");
                return Err(meter::refused(why, wait));
            }
            bucket.take(1.0);
        }
        let held = self.hold(caller.scope().project(), now).await;
        if let (Some((_, bucket)), Err(_)) = (own, &held) {
            let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
            bucket.take(-1.0);
        }
        held
    }

    async fn hold(&self, project: ProjectId, now: Instant) -> Result<Option<Held>, Error> {
        let Some(meter) = self.meter(project).await? else {
            return Ok(None);
        };
        let today = self.clock.now();
        if let Some(day) = meter.unknown_day(today) {
            save(&*self.store, project, &meter).await?;
            let kept = self.store.spend(project, day, Usd::default()).await?;
            meter.is_kept(day, kept, Usd::default());
        }
        meter.admit(now, today).map(Some)
    }

    /// Books what a call took.
    pub(crate) async fn book(&self, project: ProjectId, usage: &Usage, cost: Cost) {
        // Who cannot be told what holds was not let in either.
        let Ok(Some(meter)) = self.meter(project).await else {
            return;
        };
        if meter.book(usage, cost) {
            let store = self.store.clone();
            self.saving.spawn(async move {
                if let Err(fault) = save(&*store, project, &meter).await {
                    tracing::warn!(%fault, "what a project has spent today is not kept yet");
                }
            });
        }
    }

    /// Returns when what was spent is kept.
    pub(crate) async fn stop(&self) {
        self.saving.close();
        self.saving.wait().await;
    }

    async fn meter(&self, project: ProjectId) -> Result<Option<Arc<Meter>>, StoreError> {
        let ruled = self.ruled(project).await?;
        Ok(ruled.and_then(|ruled| ruled.meter.clone()))
    }

    async fn ruled(&self, project: ProjectId) -> Result<Option<Arc<Ruled>>, StoreError> {
        if self.by_name.is_empty() {
            return Ok(None);
        }
        if let Some(known) = self.known.get(&project) {
            return Ok(known);
        }
        let projects = self.store.projects().await?;
        let found = projects.iter().find(|found| found.id == project);
        let ruled = found.and_then(|found| self.by_name.get(found.name.as_str()).cloned());
        self.known.insert(project, ruled.clone());
        Ok(ruled)
    }

    fn bucket(&self, token: &TokenId, per_minute: u32, now: Instant) -> Arc<Mutex<Bucket>> {
        let full = || Arc::new(Mutex::new(Bucket::new(per_minute, now)));
        self.tokens.get_with_by_ref(token, full)
    }
}

/// Keeps what was booked and is not kept yet.
async fn save(store: &dyn Store, project: ProjectId, meter: &Meter) -> Result<(), StoreError> {
    // One at a time: what another one is keeping would be kept twice.
    let _turn = meter.turn().await;
    if let Some((day, amount)) = meter.unsaved() {
        let kept = store.spend(project, day, amount).await?;
        meter.is_kept(day, kept, amount);
    }
    Ok(())
}

/// Says what of the operator's lists does not do what it seems to: one of a project that there is not, and one that
/// leaves out the judge.
pub(crate) async fn warn(store: &dyn Store, options: &Options) -> Result<(), StoreError> {
    if options.projects.is_empty() {
        return Ok(());
    }
    let known = store.projects().await?;
    for (name, project) in &options.projects {
        if !known.iter().any(|known| known.name.as_str() == name) {
            tracing::warn!(
                project.name = name,
                "`projects.{name}` names no project that there is: it holds once a project of that name is created"
            );
        }
        allowed::warn_of_judge(name, project, &options.observer);
    }
    Ok(())
}
