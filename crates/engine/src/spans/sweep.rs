//! Forgetting old spans, in the background and in steps so small that calls do not feel them.

use std::{sync::Arc, time::Duration};

use domain::{
    ProjectId, SpanBounds,
    seams::{Clock, Store, StoreError},
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::keeping::Keeping;

/// From the end of one sweep to the next.
const PAUSE: Duration = Duration::from_mins(1);
/// How many spans a step forgets at most.
const STEP: u64 = 64;
/// So many times as long as a step took, waiting for the writer included, nothing is forgotten after it.
const REST: u32 = 4;

/// Forgets what lies beyond the bounds of each project.
pub(crate) struct Sweep {
    store: Arc<dyn Store>,
    keeping: Arc<Keeping>,
    clock: Arc<dyn Clock>,
}

/// The task behind a [`Sweep`].
pub(crate) struct SweepTask {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Sweep {
    pub(crate) fn new(
        store: &Arc<dyn Store>,
        keeping: &Arc<Keeping>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        Self {
            store: store.clone(),
            keeping: keeping.clone(),
            clock: clock.clone(),
        }
    }

    /// Sweeps at once, and then again and again; never where there is no bound.
    pub(crate) fn start(self) -> SweepTask {
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        let task = tokio::spawn(async move {
            if self.keeping.is_bounded() {
                tokio::select! {
                    () = stopped => {}
                    () = self.again_and_again() => {}
                }
            }
        });
        SweepTask { stop, task }
    }

    async fn again_and_again(&self) {
        loop {
            if let Err(error) = self.once().await {
                tracing::warn!(%error, "old spans were not forgotten; the next try is in a minute");
            }
            sleep(PAUSE).await;
        }
    }

    async fn once(&self) -> Result<(), StoreError> {
        for project in self.store.projects().await? {
            let rule = self.keeping.rule(project.id).await?;
            if let Some(bounds) = rule.bounds(self.clock.now()) {
                self.project(project.id, bounds).await?;
            }
        }
        Ok(())
    }

    async fn project(&self, project: ProjectId, bounds: SpanBounds) -> Result<(), StoreError> {
        loop {
            let begun = Instant::now();
            let forgotten = self.store.forget_spans(project, bounds, STEP).await?;
            if forgotten == 0 {
                return Ok(());
            }
            metrics::counter!("gatewright_spans_forgotten_total").increment(forgotten);
            sleep(begun.elapsed() * REST).await;
        }
    }
}

impl SweepTask {
    /// Forgets nothing more. A step that storage has begun is finished there.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        // A panic in the task was reported by the panic hook; there is nothing left to wait for.
        let _ = self.task.await;
    }
}

#[cfg(test)]
mod tests {
    use domain::{
        Json, Principal, Project, ProjectName, ProjectScope, Span, SpanId, SpanWrite, Timestamp,
        Token, TokenId,
        seams::{CountingIds, FixedClock, Ids},
    };
    use indexmap::IndexMap;
    use tokio::time::timeout;

    use super::*;
    use crate::{
        options::{Content, ProjectOptions, ProjectSpansOptions, SpansOptions},
        projects::Projects,
    };

    /// A swept store, and what moves its time.
    struct House {
        sweep: Sweep,
        clock: Arc<FixedClock>,
        ids: CountingIds,
    }

    async fn house(usual: SpansOptions, short: ProjectSpansOptions) -> House {
        let store = store::open_in_memory().await.unwrap().store;
        let clock = Arc::new(FixedClock::at(Timestamp::from_micros(
            1_700_000_000_000_000,
        )));
        let own = ProjectOptions {
            spans: short,
            ..ProjectOptions::default()
        };
        let projects = IndexMap::from([("short".to_owned(), own)]);
        let projects = Projects::new(store.clone(), clock.clone(), &projects);
        House {
            sweep: Sweep {
                store: store.clone(),
                keeping: Arc::new(Keeping::new(Arc::new(projects), usual)),
                clock: clock.clone(),
            },
            clock,
            ids: CountingIds::default(),
        }
    }

    impl House {
        async fn project(&self, name: &str) -> ProjectScope {
            let project = Project {
                id: self.ids.next().into(),
                name: ProjectName::parse(name).unwrap(),
                created_at: self.clock.now(),
            };
            self.sweep.store.insert_project(&project).await.unwrap();
            let token = Token {
                id: TokenId::new(name),
                hash: [0; 32],
                project: project.id,
                label: None,
                created_at: self.clock.now(),
                expires_at: None,
                revoked_at: None,
                calls_per_minute: None,
            };
            Principal::of(&token).scope()
        }

        /// Writes as many spans now.
        async fn spans(&self, scope: ProjectScope, count: usize) -> SpanId {
            let span = |id: SpanId| Span {
                id,
                project: scope.project(),
                name: "step".to_owned(),
                kind: None,
                trace_id: self.ids.next().into(),
                parent_id: None,
                start_time: Some(self.clock.now()),
                end_time: None,
                input: None,
                output: None,
                error: None,
                meta: Json::of(&serde_json::json!({})),
                score: None,
                feedback: None,
            };
            let ids: Vec<SpanId> = (0..count).map(|_| self.ids.next().into()).collect();
            let writes = ids.iter().map(|id| SpanWrite::New(span(*id))).collect();
            self.sweep.store.commit_spans(writes).await.unwrap();
            ids[0]
        }

        async fn is_there(&self, scope: ProjectScope, id: SpanId) -> bool {
            let found = self.sweep.store.span(scope, id).await.unwrap();
            found.is_some()
        }
    }

    fn for_days(keep_days: u32) -> SpansOptions {
        SpansOptions {
            keep_days,
            max_gib: 0.0,
            content: Content::Full,
        }
    }

    #[tokio::test]
    async fn spans_are_forgotten_when_their_time_is_over_project_by_project() {
        let short = ProjectSpansOptions {
            keep_days: Some(1),
            ..ProjectSpansOptions::default()
        };
        let house = house(for_days(3), short).await;
        let (usual, short) = (house.project("usual").await, house.project("short").await);
        let (long_kept, soon_gone) = (
            house.spans(usual, 1).await,
            house.spans(short, 3 * usize::try_from(STEP).unwrap()).await,
        );
        let there = async || {
            house.sweep.once().await.unwrap();
            (
                house.is_there(usual, long_kept).await,
                house.is_there(short, soon_gone).await,
            )
        };

        assert_eq!(there().await, (true, true));
        house.clock.advance(Duration::from_hours(24));
        assert_eq!(there().await, (true, true));
        house.clock.advance(Duration::from_micros(1));
        let young = house.spans(short, 1).await;
        assert_eq!(there().await, (true, false));
        let left = house.sweep.store.span_bytes(short.project()).await.unwrap();
        assert!(house.is_there(short, young).await && left < 1000, "{left}");
        house.clock.advance(Duration::from_hours(48));
        assert_eq!(there().await, (false, false));
    }

    #[tokio::test]
    async fn a_sweep_begins_with_the_start_and_ends_with_the_stop() {
        let house = house(for_days(1), ProjectSpansOptions::default()).await;
        let scope = house.project("usual").await;
        let old = house.spans(scope, 1).await;
        house.clock.advance(Duration::from_hours(25));
        let store = house.sweep.store.clone();

        let task = house.sweep.start();
        let gone = async {
            while store.span(scope, old).await.unwrap().is_some() {
                sleep(Duration::from_millis(5)).await;
            }
        };

        timeout(Duration::from_secs(20), gone).await.unwrap();
        timeout(Duration::from_secs(1), task.stop()).await.unwrap();
    }
}
