//! How many calls may begin while the machine cannot keep up.
//!
//! A call waits for its model most of its life, and costs nothing then: how many are under way says little of the load. How
//! late a task runs that was due says all. While tasks run late, fewer calls may begin per second, and the projects share
//! those: one that asks for less than an equal part gets all that it asks for.
#![expect(
    clippy::cast_precision_loss,
    reason = "what is counted are calls: far below 2^52"
)]

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use domain::ProjectId;
use tokio::time::Instant;

/// How often the rate is looked at.
const WINDOW: Duration = Duration::from_millis(100);
/// How often it is measured how late tasks run.
const PROBE: Duration = Duration::from_millis(10);
/// Where no task of a window ran less late than this, more is begun than done.
const STANDING: Duration = Duration::from_millis(5);
/// With fewer calls under way nothing is refused, whatever else keeps the machine busy.
const FLOOR: usize = 64;
/// What becomes of the rate when tasks run late, and when they do not.
const DOWN: std::ops::RangeInclusive<f64> = 0.5..=0.9;
const UP: f64 = 1.05;
/// So many windows in a row in which less was asked for than may begin, and the bound is gone.
const CALM: u32 = 10;
/// For so long a project may save what it did not use.
const SAVED: f64 = 0.02;

/// Whether one more call may begin.
#[derive(Debug, Default)]
pub(super) struct Pace {
    is_bound: AtomicBool,
    /// What began in this window.
    begun: AtomicU64,
    bound: Mutex<Bound>,
}

#[derive(Debug, Default)]
struct Bound {
    /// Calls per second.
    rate: f64,
    calm: u32,
    projects: HashMap<ProjectId, Own>,
}

#[derive(Debug)]
struct Own {
    /// What was asked for in this window.
    asked: u64,
    /// Calls per second.
    share: f64,
    /// Calls that may begin at once.
    saved: f64,
    at: Instant,
}

impl Pace {
    /// Whether a call of the project may begin, with so many under way.
    pub(super) fn admits(&self, project: ProjectId, running: usize) -> bool {
        let admits = !self.is_bound.load(Ordering::Relaxed)
            || self.bound().admits(project, Instant::now())
            || running < FLOOR;
        if admits {
            self.begun.fetch_add(1, Ordering::Relaxed);
        }
        admits
    }

    /// Measures how late tasks run, and adapts.
    pub(super) async fn watch(&self, running: impl Fn() -> usize) {
        loop {
            let began = Instant::now();
            let mut least = Duration::MAX;
            if running() < FLOOR && !self.is_bound.load(Ordering::Relaxed) {
                tokio::time::sleep(WINDOW).await;
                self.begun.store(0, Ordering::Relaxed);
                continue;
            }
            while began.elapsed() < WINDOW {
                let due = Instant::now() + PROBE;
                tokio::time::sleep_until(due).await;
                tokio::task::yield_now().await;
                least = least.min(due.elapsed());
            }
            let began = self.begun.swap(0, Ordering::Relaxed);
            self.adapt(began as f64 / WINDOW.as_secs_f64(), least);
        }
    }

    /// Looks at a window in which so many calls per second began, and no task ran less late than that.
    fn adapt(&self, begun: f64, late: Duration) {
        let is_late = late > STANDING;
        let mut bound = self.bound();
        if !self.is_bound.load(Ordering::Relaxed) {
            if !is_late {
                return;
            }
            *bound = Bound {
                rate: begun,
                ..Bound::default()
            };
            self.is_bound.store(true, Ordering::Relaxed);
        }
        if is_late {
            let down = STANDING.as_secs_f64() / late.as_secs_f64();
            let down = down.clamp(*DOWN.start(), *DOWN.end());
            bound.rate = (bound.rate.min(begun) * down).max(1.0);
            bound.calm = 0;
        } else {
            bound.calm = if begun < bound.rate * *DOWN.end() {
                bound.calm + 1
            } else {
                0
            };
            bound.rate = (bound.rate * UP).max(bound.rate + 1.0);
        }
        if bound.calm > CALM {
            self.is_bound.store(false, Ordering::Relaxed);
            bound.projects.clear();
        } else {
            bound.share();
        }
    }

    fn bound(&self) -> MutexGuard<'_, Bound> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bound {
    fn admits(&mut self, project: ProjectId, now: Instant) -> bool {
        let equal = self.rate / (self.projects.len() + 1) as f64;
        let own = self.projects.entry(project).or_insert_with(|| Own {
            asked: 0,
            share: equal,
            saved: 1.0,
            at: now,
        });
        own.asked += 1;
        let earned = own.share * now.duration_since(own.at).as_secs_f64();
        own.saved = (own.saved + earned).min((own.share * SAVED).max(1.0));
        own.at = now;
        let admits = own.saved >= 1.0;
        if admits {
            own.saved -= 1.0;
        }
        admits
    }

    /// Shares the rate out: who asked for least first, and to each at most an equal part of what is left.
    fn share(&mut self) {
        self.projects.retain(|_, own| own.asked > 0);
        let mut owns: Vec<&mut Own> = self.projects.values_mut().collect();
        owns.sort_unstable_by_key(|own| own.asked);
        let (mut left, mut heads) = (self.rate, owns.len() as f64);
        for own in owns {
            let asked = own.asked as f64 / WINDOW.as_secs_f64();
            let equal = left / heads;
            // Room to ask for more than before.
            own.share = equal.min(asked * 2.0);
            left -= own.share.min(asked);
            heads -= 1.0;
            own.asked = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::seams::{CountingIds, Ids};

    use super::*;

    const LATE: Duration = Duration::from_millis(50);

    fn projects() -> [ProjectId; 2] {
        let ids = CountingIds::default();
        [(); 2].map(|()| ids.next().into())
    }

    /// How many of each began in a second of windows, asked for at an even pace while every task runs so late.
    async fn second(pace: &Pace, asked: &[(ProjectId, u32)], late: Duration) -> Vec<u32> {
        let mut begun = vec![0; asked.len()];
        for _ in 0..10 {
            for tick in 0..100 {
                tokio::time::advance(Duration::from_millis(1)).await;
                for ((project, per_second), begun) in asked.iter().zip(&mut begun) {
                    let so_far = |tick: u32| tick * per_second / 1000;
                    for _ in so_far(tick)..so_far(tick + 1) {
                        *begun += u32::from(pace.admits(*project, 1000));
                    }
                }
            }
            let rate = pace.begun.swap(0, Ordering::Relaxed) as f64 * 10.0;
            pace.adapt(rate, late);
        }
        begun
    }

    #[tokio::test(start_paused = true)]
    async fn everything_begins_while_tasks_run_in_time() {
        let (pace, [a, b]) = (Pace::default(), projects());

        let begun = second(&pace, &[(a, 9000), (b, 10)], Duration::ZERO).await;

        assert_eq!(begun, [9000, 10]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_for_little_gets_it_and_the_rest_is_the_others() {
        let [a, b] = projects();
        let own = |asked| Own {
            asked,
            share: 0.0,
            saved: 0.0,
            at: Instant::now(),
        };
        let mut bound = Bound {
            rate: 1000.0,
            calm: 0,
            projects: HashMap::from([(a, own(800)), (b, own(20))]),
        };

        bound.share();

        // Of 8000 and 200 per second; whoever asks for little may ask for twice as much.
        let share = |project: &ProjectId| format!("{:.0}", bound.projects[project].share);
        assert_eq!([share(&a), share(&b)], ["800", "400"]);
    }

    #[tokio::test(start_paused = true)]
    async fn less_begins_the_later_tasks_run_and_the_bound_goes_when_it_is_calm() {
        let (pace, [a, _]) = (Pace::default(), projects());
        let burdened = second(&pace, &[(a, 8000)], LATE).await;
        assert!(burdened[0] < 3000, "{burdened:?}");
        assert!(pace.admits(a, FLOOR - 1), "few calls are never refused");

        for _ in 0..10 {
            second(&pace, &[(a, 500)], Duration::ZERO).await;
        }

        assert!(!pace.is_bound.load(Ordering::Relaxed));
        assert_eq!(second(&pace, &[(a, 8000)], Duration::ZERO).await, [8000]);
    }
}
