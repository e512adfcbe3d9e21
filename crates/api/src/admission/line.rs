//! Places for calls, and those who wait for one: the newest of a project first, the project with the fewest calls first.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::ProjectId;
use engine::Held;
use tokio::sync::oneshot;

/// How many places there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// For all calls.
    pub(super) calls: usize,
    /// For the calls of one project.
    pub(super) project_calls: usize,
    /// To wait for one.
    pub(super) waiting: usize,
    /// How long one may wait.
    pub(super) patience: Duration,
}

/// The places, and the line in front of them.
#[derive(Debug)]
pub(crate) struct Line {
    bounds: Bounds,
    state: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Places {
    running: usize,
    waiting: usize,
    /// Numbers those who wait.
    turn: u64,
    projects: HashMap<ProjectId, Share>,
}

#[derive(Debug, Default)]
struct Share {
    running: usize,
    /// The oldest first.
    waiting: Vec<Waiter>,
    /// When one of them was last let in.
    last_turn: u64,
}

#[derive(Debug)]
struct Waiter {
    turn: u64,
    calls: oneshot::Sender<()>,
}

/// Leave for one call. It is given back when its last clone is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Permit {
    _place: Arc<Place>,
    /// What of a project's limits the call may take.
    _held: Option<Arc<Held>>,
}

#[derive(Debug)]
struct Place {
    line: Arc<Line>,
    project: ProjectId,
}

/// Somebody in the line; whoever leaves it takes nothing along.
struct Waiting {
    line: Arc<Line>,
    project: ProjectId,
    turn: u64,
    is_called: oneshot::Receiver<()>,
}

impl Permit {
    /// Together with what the call holds of its project's limits.
    pub(super) fn with(self, held: Option<Held>) -> Self {
        Self {
            _held: held.map(Arc::new),
            ..self
        }
    }
}

impl Line {
    pub(super) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self {
            bounds,
            state: Mutex::default(),
        })
    }

    /// How many calls are under way.
    pub(crate) fn running(&self) -> usize {
        self.places().running
    }

    /// A place; `None` if there was none in time.
    pub(super) async fn enter(self: &Arc<Self>, project: ProjectId) -> Option<Permit> {
        let mut waiting = {
            let mut places = self.places();
            if places.has_room(project, &self.bounds) {
                places.take(project);
                return Some(self.permit(project));
            }
            let (turn, is_called) = places.line_up(project, &self.bounds);
            Waiting {
                line: self.clone(),
                project,
                turn,
                is_called,
            }
        };
        let called = tokio::time::timeout(self.bounds.patience, &mut waiting.is_called).await;
        matches!(called, Ok(Ok(()))).then(|| self.permit(project))
    }

    /// For a place that was taken.
    fn permit(self: &Arc<Self>, project: ProjectId) -> Permit {
        let place = Place {
            line: self.clone(),
            project,
        };
        Permit {
            _place: Arc::new(place),
            _held: None,
        }
    }

    /// Gives a place back, and to whoever is next.
    fn leave(&self, project: ProjectId) {
        let mut places = self.places();
        places.running -= 1;
        if let Some(share) = places.projects.get_mut(&project) {
            share.running -= 1;
        }
        places.call_next(&self.bounds);
        places.forget(project);
    }

    /// No panic happens while it is locked, so what is behind a poisoned lock is whole.
    fn places(&self) -> MutexGuard<'_, Places> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Places {
    /// Whoever waits while there is room waits for a place of a project's own: nobody is passed.
    fn has_room(&self, project: ProjectId, bounds: &Bounds) -> bool {
        let own = self.projects.get(&project);
        self.running < bounds.calls && own.is_none_or(|own| own.running < bounds.project_calls)
    }

    fn take(&mut self, project: ProjectId) {
        self.running += 1;
        self.projects.entry(project).or_default().running += 1;
    }

    /// Where the line is too long, the oldest of the project with the most in it has waited in vain.
    fn line_up(&mut self, project: ProjectId, bounds: &Bounds) -> (u64, oneshot::Receiver<()>) {
        let (calls, is_called) = oneshot::channel();
        self.turn += 1;
        let turn = self.turn;
        let share = self.projects.entry(project).or_default();
        share.waiting.push(Waiter { turn, calls });
        self.waiting += 1;
        if self.waiting > bounds.waiting {
            let shares = self.projects.values_mut();
            if let Some(longest) = shares.max_by_key(|share| share.waiting.len()) {
                longest.waiting.remove(0);
                self.waiting -= 1;
            }
        }
        (turn, is_called)
    }

    fn call_next(&mut self, bounds: &Bounds) {
        while self.waiting > 0 && self.running < bounds.calls {
            let may_go = |share: &&mut Share| {
                !share.waiting.is_empty() && share.running < bounds.project_calls
            };
            let shares = self.projects.values_mut().filter(may_go);
            let Some(next) = shares.min_by_key(|share| (share.running, share.last_turn)) else {
                return;
            };
            let Some(waiter) = next.waiting.pop() else {
                return;
            };
            self.waiting -= 1;
            self.turn += 1;
            next.last_turn = self.turn;
            // One that is not there any more has taken nothing.
            if waiter.calls.send(()).is_ok() {
                next.running += 1;
                self.running += 1;
            }
        }
    }

    /// Takes one that waits no more out of the line.
    fn step_out(&mut self, project: ProjectId, turn: u64) {
        if let Some(share) = self.projects.get_mut(&project) {
            let before = share.waiting.len();
            share.waiting.retain(|waiter| waiter.turn != turn);
            self.waiting -= before - share.waiting.len();
        }
        self.forget(project);
    }

    /// Projects without calls take no memory.
    fn forget(&mut self, project: ProjectId) {
        let idle = |share: &Share| share.running == 0 && share.waiting.is_empty();
        if self.projects.get(&project).is_some_and(idle) {
            self.projects.remove(&project);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.line.leave(self.project);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.line.places().step_out(self.project, self.turn);
        // Called, and gone before it heard of it.
        if self.is_called.try_recv().is_ok() {
            self.line.leave(self.project);
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::seams::{CountingIds, Ids};
    use tokio::task::JoinHandle;

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(250);

    fn line(calls: usize, project_calls: usize, waiting: usize) -> Arc<Line> {
        Line::new(Bounds {
            calls,
            project_calls,
            waiting,
            patience: PATIENCE,
        })
    }

    fn projects<const N: usize>() -> [ProjectId; N] {
        let ids = CountingIds::default();
        [(); N].map(|()| ids.next().into())
    }

    /// Somebody who waits, when it returns.
    async fn waits(line: &Arc<Line>, project: ProjectId) -> JoinHandle<Option<Permit>> {
        let line = line.clone();
        let waits = tokio::spawn(async move { line.enter(project).await });
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(!waits.is_finished());
        waits
    }

    fn is_empty(line: &Line) -> bool {
        let places = line.places();
        places.running == 0 && places.waiting == 0 && places.projects.is_empty()
    }

    #[tokio::test(start_paused = true)]
    async fn the_project_with_the_fewest_calls_is_next_and_its_newest_first() {
        let line = line(3, 3, 9);
        let [a, b] = projects();
        let [first, second] = [line.enter(a).await.unwrap(), line.enter(a).await.unwrap()];
        let third = line.enter(b).await.unwrap();
        let of_a = waits(&line, a).await;
        let (old, new) = (waits(&line, b).await, waits(&line, b).await);

        // Two of `a` are under way, and none of `b`.
        drop(third);
        let new = new.await.unwrap().unwrap();
        assert!(!old.is_finished() && !of_a.is_finished());
        // One of each: `b` had the last turn.
        drop(first);
        let of_a = of_a.await.unwrap().unwrap();
        assert!(!old.is_finished());
        drop((second, new, of_a));

        drop(old.await.unwrap().unwrap());
        assert!(is_empty(&line));
    }

    #[tokio::test(start_paused = true)]
    async fn a_project_has_a_bound_of_its_own() {
        let line = line(4, 2, 9);
        let [a, b] = projects();
        let held = [line.enter(a).await.unwrap(), line.enter(a).await.unwrap()];

        let began = tokio::time::Instant::now();
        assert!(line.enter(a).await.is_none());
        assert_eq!(began.elapsed(), PATIENCE);
        assert!(line.enter(b).await.is_some());
        let next = waits(&line, a).await;
        drop(held);

        assert!(next.await.unwrap().is_some());
        assert!(is_empty(&line));
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_of_the_longest_line_goes_where_it_is_too_long() {
        let line = line(1, 1, 3);
        let [a, b, c] = projects();
        let held = line.enter(c).await.unwrap();
        let (oldest, old) = (waits(&line, a).await, waits(&line, a).await);
        let of_b = waits(&line, b).await;

        let of_c = waits(&line, c).await;

        assert!(oldest.await.unwrap().is_none());
        assert!(!old.is_finished() && !of_b.is_finished() && !of_c.is_finished());
        drop(held);
        let entered = [old, of_b, of_c]
            .map(|waits| tokio::spawn(async move { waits.await.unwrap().is_some() }));
        for entered in entered {
            assert!(entered.await.unwrap());
        }
        assert!(is_empty(&line));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_leaves_takes_no_place_along() {
        let line = line(2, 2, 20);
        let all: [ProjectId; 5] = projects();
        let mut callers = Vec::new();
        for turn in 0..2000u64 {
            let (line, project) = (line.clone(), all[usize::try_from(turn * 7 % 5).unwrap()]);
            let (patience, work) = (turn * 13 % 300, turn * 31 % 40);
            callers.push(tokio::spawn(async move {
                let enter = line.enter(project);
                let patience = Duration::from_millis(patience);
                let Ok(Some(permit)) = tokio::time::timeout(patience, enter).await else {
                    return false;
                };
                assert!(line.running() <= 2);
                tokio::time::sleep(Duration::from_millis(work)).await;
                drop(permit);
                true
            }));
            if turn % 3 == 0 {
                tokio::time::sleep(Duration::from_millis(turn % 23)).await;
            }
        }

        let mut answered = 0;
        for caller in callers {
            answered += usize::from(caller.await.unwrap());
        }

        assert!((100..1900).contains(&answered), "{answered}");
        assert!(is_empty(&line));
    }
}
