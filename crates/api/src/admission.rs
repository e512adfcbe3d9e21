//! Who may come in now: permits, bytes, draining. What is refused here has cost next to nothing (`reliability.md` 4).

mod line;
mod pace;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    extract::{FromRequestParts, Request, State},
    http::{Method, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::{Principal, ProjectId};
use engine::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::{doors::Doors, extract, options::LimitsOptions, problem::Problem};

pub(crate) use self::line::Permit;
use self::{
    line::{Bounds, Line},
    pace::Pace,
};

/// Bytes are reserved in blocks of this size, since a semaphore counts no further than 2^29 on small machines.
const BLOCK_BYTES: usize = 1024;

/// Clients are sent away for so many seconds at most, each for another while, so that they do not come back together.
const LONGEST_WAIT: u64 = 5;

/// Hands out permits.
pub(crate) struct Admission {
    calls: Arc<Line>,
    pace: Pace,
    blocks: Arc<Semaphore>,
    draining: AtomicBool,
    refused: AtomicU64,
}

impl Admission {
    pub(crate) fn new(limits: &LimitsOptions) -> Self {
        let bounds = Bounds {
            calls: limits.calls,
            project_calls: limits.project_calls,
            waiting: limits.waiting_calls,
            patience: Duration::try_from_secs_f64(limits.waiting_seconds).unwrap_or(Duration::MAX),
        };
        Self {
            calls: Line::new(bounds),
            pace: Pace::default(),
            blocks: Arc::new(Semaphore::new(limits.buffered_bytes.div_ceil(BLOCK_BYTES))),
            draining: AtomicBool::new(false),
            refused: AtomicU64::new(0),
        }
    }

    /// Leave for one call of a project; where all places are taken, after a short wait.
    ///
    /// # Errors
    /// `ServiceUnavailable`: `draining` or `overloaded`.
    pub(crate) async fn call(&self, project: ProjectId) -> Result<Permit, Error> {
        if self.is_draining() {
            return Err(Error::unavailable("draining"));
        }
        if !self.pace.admits(project, self.calls.running()) {
            return Err(self.overloaded());
        }
        let permit = self.calls.enter(project).await;
        permit.ok_or_else(|| self.overloaded())
    }

    /// Leave to hold so many bytes of a body.
    pub(crate) fn bytes(&self, count: usize) -> Result<OwnedSemaphorePermit, Error> {
        let blocks = u32::try_from(count.div_ceil(BLOCK_BYTES)).unwrap_or(u32::MAX);
        let room = self.blocks.clone().try_acquire_many_owned(blocks);
        room.map_err(|_| self.overloaded())
    }

    /// Watches how busy the machine is, until `ended`.
    pub(crate) async fn watch(&self, ended: &CancellationToken) {
        tokio::select! {
            () = self.pace.watch(|| self.calls.running()) => {}
            () = ended.cancelled() => {}
        }
    }

    /// From now on no call is let in.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    fn overloaded(&self) -> Error {
        let mut error = Error::unavailable("overloaded");
        let turn = self.refused.fetch_add(1, Ordering::Relaxed);
        error.retry_after = Some(Duration::from_secs(1 + turn % LONGEST_WAIT));
        error
    }
}

/// In front of every route that asks a model: nothing of the body is read before there is leave.
pub(crate) async fn admit(
    State(doors): State<Doors>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(caller) = request.extensions().get::<Principal>() else {
        return Problem::from(engine::unauthorized()).into_response();
    };
    if !doors.gateway.takes_more() {
        return no_room(request).await;
    }
    match enter(&doors, caller).await {
        // A stream takes a share of it along.
        Ok(permit) => {
            request.extensions_mut().insert(permit.clone());
            let answer = next.run(request).await;
            drop(permit);
            answer
        }
        Err(error) => {
            extract::drain(request).await;
            Problem::from(error).into_response()
        }
    }
}

/// First what the caller may do, then whether there is room.
async fn enter(doors: &Doors, caller: &Principal) -> Result<Permit, Error> {
    let held = doors.gateway.projects.admit(caller).await?;
    let permit = doors.admission.call(caller.scope().project()).await?;
    Ok(permit.with(held))
}

/// In front of every other route: what adds to the rows is refused while there is no room for them. What deletes some may
/// make it, and what reads goes on.
pub(crate) async fn admit_rows(
    State(doors): State<Doors>,
    request: Request,
    next: Next,
) -> Response {
    let adds = matches!(*request.method(), Method::POST | Method::PATCH);
    if adds && !doors.gateway.takes_more() {
        return no_room(request).await;
    }
    next.run(request).await
}

async fn no_room(request: Request) -> Response {
    extract::drain(request).await;
    Problem::from(Error::unavailable("storage")).into_response()
}

impl<S: Sync> FromRequestParts<S> for Permit {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let permit = parts.extensions.remove::<Self>();
        permit.ok_or_else(|| Error::unavailable("overloaded").into())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{
        pin::pin,
        task::{Context, Poll, Waker},
    };

    use domain::seams::{CountingIds, Ids};

    use super::*;

    pub(crate) use super::line::Line;

    /// Places for calls.
    pub(crate) fn places() -> Arc<Line> {
        Line::new(Bounds {
            calls: 1,
            project_calls: 1,
            waiting: 0,
            patience: Duration::ZERO,
        })
    }

    /// Takes one of them.
    pub(crate) fn taken(places: &Arc<Line>) -> Permit {
        let project = CountingIds::default().next().into();
        let mut context = Context::from_waker(Waker::noop());
        match pin!(places.enter(project)).poll(&mut context) {
            Poll::Ready(permit) => permit.unwrap(),
            Poll::Pending => panic!("there is no room"),
        }
    }
}
