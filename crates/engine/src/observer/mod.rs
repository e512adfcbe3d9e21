//! The observer: how good a call was (`interface.md` 15.8). By rule at once; by a judge in the background, where the
//! operator names a model for that.
//!
//! What a judge costs is not on the call's bill: it is recorded in a span of its own below the call's.

mod judge;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::{
    Json, Observation, ProjectScope, SpanId, TraceId,
    seams::{Clock, Ids, Store},
};
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    options::Options, price::Prices, projects::Projects, route::Routes, spans::SpanWriter,
};

use self::judge::Judge;

const PER_FURTHER_ATTEMPT: i64 = 15;
const FOR_A_CUT: i64 = 20;
/// How many calls are judged at the same time.
const AT_A_TIME: usize = 4;
/// More calls than this wait nowhere: each takes some ten kilobytes.
const MAX_QUEUE: usize = 64 * 1024;
/// How long a stop waits for the judgements under way.
const PATIENCE: Duration = Duration::from_secs(5);

/// Has calls judged.
pub(crate) struct Observer {
    is_enabled: bool,
    queue: Option<mpsc::Sender<Judged>>,
    stopping: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// A call that went well, to be judged.
#[derive(Debug)]
pub(crate) struct Judged {
    /// Its project.
    pub(crate) scope: ProjectScope,
    /// Its span, which is written already.
    pub(crate) span_id: SpanId,
    /// The span's trace.
    pub(crate) trace_id: TraceId,
    /// The function's instructions.
    pub(crate) instructions: String,
    /// What went in.
    pub(crate) input: Json,
    /// What came out.
    pub(crate) output: Json,
}

/// The rule: 100, less 15 for each attempt after the first and 20 for an answer that was cut; nothing for an empty one.
pub(crate) fn rule_score(attempts: u32, cut_at_length: bool, is_empty: bool) -> Observation {
    let further = i64::from(attempts.saturating_sub(1));
    let mut observations = Vec::new();
    let mut score = 100 - PER_FURTHER_ATTEMPT * further;
    if further > 0 {
        observations.push(format!("the answer took {attempts} attempts"));
    }
    if cut_at_length {
        score -= FOR_A_CUT;
        observations.push("the answer was cut at the length limit".to_owned());
    }
    if is_empty {
        score = 0;
        observations.push("the answer is empty".to_owned());
    }
    if observations.is_empty() {
        observations.push("nothing stands out".to_owned());
    }
    Observation {
        score: score.max(0),
        observations: observations.join("; "),
    }
}

impl Observer {
    /// Starts the judge, if the options name one.
    pub(crate) fn start(
        store: &Arc<dyn Store>,
        (routes, projects): (Arc<Routes>, Arc<Projects>),
        spans: &SpanWriter,
        (clock, ids): (&Arc<dyn Clock>, &Arc<dyn Ids>),
        options: &Options,
    ) -> Self {
        let is_enabled = options.observer.enabled;
        let stopping = CancellationToken::new();
        let model = options.observer.judge.clone().filter(|_| is_enabled);
        let Some(model) = model else {
            return Self {
                is_enabled,
                queue: None,
                stopping,
                task: Mutex::new(None),
            };
        };
        let judge = Arc::new(Judge::new(
            (store.clone(), routes, projects),
            spans.clone(),
            (clock.clone(), ids.clone()),
            Prices::new(&options.prices),
            model,
        ));
        let (queue, waiting) = mpsc::channel(options.observer.queue.clamp(1, MAX_QUEUE));
        let task = tokio::spawn(judge_all(judge, waiting, stopping.clone()));
        Self {
            is_enabled,
            queue: Some(queue),
            stopping,
            task: Mutex::new(Some(task)),
        }
    }

    /// Whether anybody looks at what is offered.
    pub(crate) fn has_judge(&self) -> bool {
        self.queue.is_some()
    }

    /// Whether calls are evaluated at all.
    pub(crate) fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// Hands a call to the judge, if there is one. Nobody waits: a call that finds the queue full keeps the rule's
    /// evaluation.
    pub(crate) fn offer(&self, judged: Judged) {
        let Some(queue) = &self.queue else {
            return;
        };
        match queue.try_reserve() {
            Ok(place) => place.send(judged.shortened()),
            Err(_) => skipped(1),
        }
    }

    /// Judges no further call, and returns when those under way are judged or were given some seconds for it.
    pub(crate) async fn stop(&self) {
        self.stopping.cancel();
        let task = self
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(task) = task {
            // A panic in the task was reported by the panic hook; there is nothing left to wait for.
            let _ = task.await;
        }
    }
}

async fn judge_all(
    judge: Arc<Judge>,
    mut waiting: mpsc::Receiver<Judged>,
    stopping: CancellationToken,
) {
    let places = Arc::new(tokio::sync::Semaphore::new(AT_A_TIME));
    let (running, too_late) = (TaskTracker::new(), CancellationToken::new());
    loop {
        let next = async {
            let place = places.clone().acquire_owned().await.ok()?;
            Some((place, waiting.recv().await?))
        };
        let next = tokio::select! {
            biased;
            () = stopping.cancelled() => None,
            next = next => next,
        };
        let Some((place, judged)) = next else {
            break;
        };
        let (judge, too_late) = (judge.clone(), too_late.clone());
        running.spawn(async move {
            let _place = place;
            tokio::select! {
                () = judge.judge(judged) => {}
                () = too_late.cancelled() => skipped(1),
            }
        });
    }
    waiting.close();
    skipped(waiting.len() as u64);
    running.close();
    if timeout(PATIENCE, running.wait()).await.is_err() {
        too_late.cancel();
        running.wait().await;
    }
}

fn skipped(calls: u64) {
    metrics::counter!("gatewright_observer_skipped_total").increment(calls);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_answer_has_the_full_score() {
        let expected = Observation {
            score: 100,
            observations: "nothing stands out".to_owned(),
        };

        assert_eq!(rule_score(1, false, false), expected);
        assert_eq!(rule_score(0, false, false), expected);
    }

    #[test]
    fn attempts_and_a_cut_cost_points_and_an_empty_answer_has_none() {
        let scores = [
            rule_score(2, false, false),
            rule_score(3, true, false),
            rule_score(20, true, false),
            rule_score(1, true, true),
        ];

        assert_eq!(
            scores.clone().map(|observation| observation.score),
            [85, 50, 0, 0]
        );
        assert_eq!(
            scores[1].observations,
            "the answer took 3 attempts; the answer was cut at the length limit"
        );
    }
}
