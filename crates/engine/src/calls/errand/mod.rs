//! Errands: what a model does with texts beside conversations, such as making vectors of them. The path is a call's: a
//! route, attempts that are booked, a durable span.

mod asking;
mod meta;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{
    Cost, Json, JsonObject, ModelName, ProjectScope, Span, SpanId, SpanKind, SpanWrite, Tags,
    Timestamp, TraceId, Usage,
    seams::{Clock, Ids, ProviderError, Store},
};
use futures_util::FutureExt;
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    error::{CallDetail, Code, Error},
    options::Options,
    price::Prices,
    projects::Projects,
    retries::Retries,
    route::{Route, Routes},
    spans::{SpanWriter, kept},
};

use super::{
    FAR, Spent, UnderWay,
    conclude::{CLIENT_GONE, measure},
    failures::{Failures, told, too_late},
    ledger::Ledger,
    open::trace,
};

pub(crate) use self::asking::Asking;
pub(super) use self::meta::groups;

/// What errands stand on.
pub(crate) struct Errands {
    routes: Arc<Routes>,
    projects: Arc<Projects>,
    store: Arc<dyn Store>,
    spans: SpanWriter,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    prices: Prices,
    retries: Arc<Retries>,
    deadline: Duration,
    running: TaskTracker,
    stopping: CancellationToken,
}

/// Something to be done by one model of a route.
#[async_trait]
pub(crate) trait Errand: Send + Sync + 'static {
    /// What the model gives.
    type Got: Send + 'static;

    /// As what it is recorded.
    const KIND: SpanKind;

    /// What went in, for the span.
    fn input(&self) -> Json;

    /// Where its span belongs.
    fn place(&self) -> Place {
        Place::default()
    }

    /// Who can be asked, in order.
    async fn route(&self, routes: &Routes, scope: ProjectScope) -> Result<Route, Error>;

    /// Asks one of them.
    async fn ask(&self, asking: &Asking<'_>) -> Result<Self::Got, ProviderError>;

    /// What the span says of what came.
    fn noted(&self, got: &Self::Got) -> Noted;

    /// How long it may take, if that is not as long as any call, and what is told when it took longer.
    fn within(&self) -> Option<(Duration, &'static str)> {
        None
    }

    /// What the `meta` of the span says beside, whatever became of it.
    fn known(&self) -> JsonObject {
        JsonObject::new()
    }
}

/// Where a span belongs, and what is kept with it.
#[derive(Clone, Default)]
pub(crate) struct Place {
    pub(crate) parent: Option<SpanId>,
    pub(crate) tags: Tags,
}

/// What a span says of an errand that went well.
pub(crate) struct Noted {
    /// Its output.
    pub(crate) output: Json,
    /// Further members of its `meta`.
    pub(crate) meta: JsonObject,
}

/// An errand that went well.
pub(crate) struct Done<T> {
    /// The span that recorded it.
    pub(crate) span_id: SpanId,
    /// The model that did it, by the name that it was asked for under.
    pub(crate) model: ModelName,
    /// What it gave.
    pub(crate) got: T,
    /// The tokens of all attempts.
    pub(crate) usage: Usage,
    /// Their cost.
    pub(crate) cost: Cost,
}

/// An errand's place in the records.
struct Opened {
    scope: ProjectScope,
    place: Place,
    span_id: SpanId,
    trace_id: TraceId,
    started: Timestamp,
    began: std::time::Instant,
}

/// How an errand ended.
enum Ending<T> {
    Done(ModelName, T),
    Failed(Error),
    CallerGone,
}

impl Errands {
    pub(crate) fn new(
        (routes, projects, store): (Arc<Routes>, Arc<Projects>, Arc<dyn Store>),
        spans: SpanWriter,
        retries: Arc<Retries>,
        (clock, ids): (Arc<dyn Clock>, Arc<dyn Ids>),
        options: &Options,
    ) -> Self {
        Self {
            routes,
            projects,
            store,
            spans,
            clock,
            ids,
            prices: Prices::new(&options.prices),
            retries,
            deadline: Duration::try_from_secs_f64(options.calls.timeout_seconds)
                .unwrap_or(Duration::MAX)
                .min(FAR),
            running: TaskTracker::new(),
            stopping: CancellationToken::new(),
        }
    }

    /// Where models are found.
    pub(crate) fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Has an errand done. The span is durable when this returns, whatever became of it. Dropping the future cancels what
    /// is under way upstream; the span is written all the same.
    ///
    /// # Errors
    /// `NotFound` for an unknown parent span; else what became of it instead, with the span that recorded it.
    pub(crate) async fn run<E: Errand>(
        self: &Arc<Self>,
        scope: ProjectScope,
        errand: E,
    ) -> Result<Done<E::Got>, Error> {
        let place = errand.place();
        let opened = Opened {
            scope,
            trace_id: trace((&*self.store, &*self.ids), scope, place.parent).await?,
            place,
            span_id: self.ids.next().into(),
            started: self.clock.now(),
            began: std::time::Instant::now(),
        };
        let caller_gone = CancellationToken::new();
        let _caller_is_here = caller_gone.clone().drop_guard();
        let errands = self.clone();
        // A task of its own, so that a caller who leaves cannot take the span along.
        let running = self.running.spawn(async move {
            let ledger = Ledger::default();
            let ending = errands.attend(&errand, &opened, &ledger, caller_gone).await;
            errands.settle(opened.scope, &ledger).await;
            errands.conclude(&errand, opened, ledger, ending).await
        });
        running.await.map_err(Error::internal)?
    }

    /// Has an errand of our own done, without a span, and says what that took also when it came to nothing.
    pub(crate) async fn run_within<E: Errand>(
        &self,
        scope: ProjectScope,
        errand: &E,
        within: Duration,
    ) -> (Result<(ModelName, E::Got), Error>, Spent) {
        let ledger = Ledger::default();
        let deadline = Instant::now() + within.min(self.deadline);
        let walk = self.walk(errand, scope, &ledger, deadline);
        let outcome = tokio::time::timeout_at(deadline, walk).await;
        let outcome = outcome.unwrap_or_else(|_| Err(too_late(within, None, &ledger)));
        self.settle(scope, &ledger).await;
        (outcome, Spent::of(&ledger))
    }

    async fn settle(&self, scope: ProjectScope, ledger: &Ledger) {
        let project = scope.project();
        ledger.settle(&self.prices, &self.projects, project).await;
    }

    /// Ends every errand that is under way, and returns when their spans are written.
    pub(crate) async fn stop(&self) {
        self.stopping.cancel();
        self.running.close();
        self.running.wait().await;
    }

    async fn attend<E: Errand>(
        &self,
        errand: &E,
        opened: &Opened,
        ledger: &Ledger,
        caller_gone: CancellationToken,
    ) -> Ending<E::Got> {
        let _under_way = UnderWay::begin();
        let (within, word) = match errand.within() {
            Some((within, word)) => (within.min(FAR), Some(word)),
            None => (self.deadline, None),
        };
        let deadline = Instant::now() + within;
        let walk = Box::pin(self.walk(errand, opened.scope, ledger, deadline));
        let walk = AssertUnwindSafe(walk).catch_unwind();
        tokio::select! {
            biased;
            outcome = walk => match outcome {
                Ok(Ok((model, got))) => Ending::Done(model, got),
                Ok(Err(error)) => Ending::Failed(error),
                Err(_panic) => Ending::Failed(Error::text(Code::Internal, "")),
            },
            () = caller_gone.cancelled() => Ending::CallerGone,
            () = self.stopping.cancelled() => Ending::Failed(Error::unavailable("draining")),
            () = tokio::time::sleep_until(deadline) => Ending::Failed(too_late(within, word, ledger)),
        }
    }

    /// Asks along the route until one does it.
    async fn walk<E: Errand>(
        &self,
        errand: &E,
        scope: ProjectScope,
        ledger: &Ledger,
        deadline: Instant,
    ) -> Result<(ModelName, E::Got), Error> {
        let route = errand.route(&self.routes, scope).await?;
        let mut failures = Failures::default();
        for (index, stop) in route.iter().enumerate() {
            let Some(reachable) = stop.reachable(ledger) else {
                continue;
            };
            let asking = Asking {
                errands: self,
                ledger,
                reachable,
                scope,
                has_fallback: index + 1 < route.len(),
                deadline,
            };
            match errand.ask(&asking).await {
                Ok(got) => return Ok((stop.name.clone(), got)),
                Err(failure) if failure.kind.may_fall_back() => failures.add(failure),
                Err(failure) => return Err(told(&failure, ledger)),
            }
        }
        Err(failures.told(ledger))
    }

    /// Writes the span and says what the caller is told. Without a durable span nothing is answered as a success.
    async fn conclude<E: Errand>(
        &self,
        errand: &E,
        opened: Opened,
        ledger: Ledger,
        ending: Ending<E::Got>,
    ) -> Result<Done<E::Got>, Error> {
        measure(ending.outcome(), opened.began);
        let span_id = opened.span_id;
        let span = self.span(errand, &opened, &ledger, &ending);
        if let Err(cause) = self.spans.commit(SpanWrite::New(span)).await {
            let mut error = Error::unavailable("storage");
            error.cause = Some(cause);
            return Err(error.of_span(span_id));
        }
        match ending {
            Ending::Done(model, got) => Ok(Done {
                span_id,
                model,
                got,
                usage: ledger.usage(),
                cost: ledger.bill().cost,
            }),
            Ending::Failed(error) => Err(error.of_span(span_id)),
            Ending::CallerGone => {
                let detail = CallDetail::because(CLIENT_GONE);
                Err(Error::call(Code::Upstream, detail).of_span(span_id))
            }
        }
    }

    fn span<E: Errand>(
        &self,
        errand: &E,
        opened: &Opened,
        ledger: &Ledger,
        ending: &Ending<E::Got>,
    ) -> Span {
        let noted = match ending {
            Ending::Done(_, got) => Some(errand.noted(got)),
            Ending::Failed(_) | Ending::CallerGone => None,
        };
        let (output, noted) = noted.map(|noted| (noted.output, noted.meta)).unzip();
        let mut members = errand.known();
        members.extend(noted.unwrap_or_default());
        let (input, output, truncated) = kept(Some(errand.input()), output);
        let noted = (&opened.place.tags, members);
        let meta = meta::meta(ending, ledger, (noted, opened.began), truncated);
        Span {
            id: opened.span_id,
            project: opened.scope.project(),
            name: E::KIND.as_str().to_owned(),
            kind: Some(E::KIND),
            trace_id: opened.trace_id,
            parent_id: opened.place.parent,
            start_time: Some(opened.started),
            end_time: Some(self.clock.now().max(opened.started)),
            input,
            output,
            error: match ending {
                Ending::Done(..) => None,
                Ending::Failed(error) => Some(error.to_string()),
                Ending::CallerGone => Some(CLIENT_GONE.to_owned()),
            },
            meta,
            score: None,
            feedback: None,
        }
    }
}

impl<T> Ending<T> {
    fn outcome(&self) -> &'static str {
        match self {
            Self::Done(..) => "answered",
            Self::Failed(error) => error.code.name(),
            Self::CallerGone => "client_disconnected",
        }
    }
}
