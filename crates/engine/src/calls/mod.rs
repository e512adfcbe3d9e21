//! Calls: the path of one execution of a function, or of one conversation, from look-up to durable span.

mod asking;
mod attempt;
mod cached;
mod checks;
mod conclude;
mod errand;
mod failures;
mod flow;
mod input;
mod joint;
mod ledger;
mod lenient;
mod open;
mod output;
mod pieces;
mod prompt;
mod rest;
mod sink;
mod spent;
mod task;
mod xml;

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    },
    time::Duration,
};

use domain::{
    Beside, CallRequest, CallResult, FinishReason, Json, Kept, ModelName, Output, Principal,
    RevisionRef, SpanWrite,
    seams::{Cache, Clock, Ids, Store},
};
use futures_util::FutureExt;
use tokio::{sync::oneshot, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    error::{Code, Error},
    examples::{Examples, Sought},
    ladder::Ladder,
    observer::Observer,
    options::Options,
    price::Prices,
    projects::Projects,
    retries::Retries,
    route::{Purpose, Routes},
    spans::SpanWriter,
};

use self::{
    asking::{Asking, Chosen},
    attempt::Walk,
    cached::{Cached, Company, Turn},
    checks::Checks,
    conclude::{Closing, Ending},
    failures::too_late,
    open::{Call, Opening},
    pieces::{Mending, Piece},
    sink::{LAST_EVENT, Sink},
    task::Task,
};

/// Longer than any call, and short enough to be added to any instant.
const FAR: Duration = Duration::from_hours(24 * 365);
/// How long a server that stops waits for a reader to take the last event.
const LAST_WORD: Duration = Duration::from_secs(1);

pub(crate) use self::errand::{Asking as AskingOne, Done, Errand, Errands, Noted, Place};
pub(crate) use self::{
    conclude::{CLIENT_GONE, CLIENT_STALLED},
    ledger::Ledger,
    open::spec,
    spent::Spent,
};
pub use self::{
    sink::{CallStream, StreamEvent, StreamForm},
    task::ChatCall,
};

/// The service of calls.
pub struct Calls {
    opening: Opening,
    routes: Arc<Routes>,
    projects: Arc<Projects>,
    examples: Arc<Examples>,
    cached: Cached,
    asking: Asking,
    closing: Closing,
    deadline: Duration,
    running: TaskTracker,
    stopping: CancellationToken,
}

/// What the service of calls stands on.
pub(crate) struct Parts {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) cache: Arc<dyn Cache>,
    pub(crate) routes: Arc<Routes>,
    pub(crate) projects: Arc<Projects>,
    pub(crate) examples: Arc<Examples>,
    pub(crate) observer: Arc<Observer>,
    pub(crate) spans: SpanWriter,
    pub(crate) retries: Arc<Retries>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
}

/// Who waits for a call, as far as it matters to it.
#[derive(Default)]
struct Caller {
    /// Fires when nobody waits any more.
    gone: CancellationToken,
    /// Fired before that where the caller is there and takes nothing.
    stalled: CancellationToken,
}

impl Caller {
    /// The ending of a call that nobody waits for.
    fn ending(&self) -> Ending {
        if self.stalled.is_cancelled() {
            Ending::CallerStalled
        } else {
            Ending::CallerGone
        }
    }
}

/// What came of the attempts: an output, and who gave it.
pub(crate) struct Answer {
    pub(crate) output: Output,
    /// What came beside it.
    pub(crate) beside: Beside,
    pub(crate) model: ModelName,
    pub(crate) finish_reason: FinishReason,
    /// The rung that it was given on, where JSON was demanded.
    rung: Option<Chosen>,
    /// What had to be mended in it.
    mended: Vec<Mending>,
    /// What of it is still to be sent, where it completes one that broke off.
    rest: Vec<Piece>,
    /// Whether it was given by more than one model.
    failover: bool,
}

impl Calls {
    pub(crate) fn new(parts: Parts, options: &Options) -> Self {
        let Parts {
            store,
            cache,
            routes,
            projects,
            examples,
            observer,
            spans,
            retries,
            clock,
            ids,
        } = parts;
        Self {
            opening: Opening::new(store, clock.clone(), ids.clone()),
            routes,
            projects,
            examples,
            cached: Cached::new(cache, &*clock),
            asking: Asking {
                prices: Prices::new(&options.prices),
                checks: Arc::new(Checks::default()),
                ladder: Ladder::new(),
                retries,
                ids,
            },
            closing: Closing::new(spans, observer, clock),
            deadline: Duration::try_from_secs_f64(options.calls.timeout_seconds)
                .unwrap_or(Duration::MAX)
                .min(FAR),
            running: TaskTracker::new(),
            stopping: CancellationToken::new(),
        }
    }

    /// The model that is asked when nobody is named.
    pub fn default_model(&self) -> &ModelName {
        self.routes.default_model()
    }

    /// Executes a function. The span is durable when this returns, whatever became of the call.
    ///
    /// Dropping the future cancels what is under way upstream; the span is written all the same.
    ///
    /// # Errors
    /// Every class of `interface.md` 3.4. From the input check on, the error names the call's span.
    pub async fn call(
        self: &Arc<Self>,
        caller: &Principal,
        which: RevisionRef,
        request: CallRequest,
    ) -> Result<CallResult, Error> {
        let call = self.opening.open(caller, which, request).await?;
        self.execute(call).await
    }

    /// Has a model continue a conversation; otherwise as [`Calls::call`].
    ///
    /// # Errors
    /// As [`Calls::call`]; `RequestValidation` also for a demanded schema that is none.
    pub async fn chat(
        self: &Arc<Self>,
        caller: &Principal,
        chat: ChatCall,
    ) -> Result<CallResult, Error> {
        let default = self.routes.default_spec();
        let call = self.opening.open_chat(caller, chat, default).await?;
        self.execute(call).await
    }

    async fn execute(self: &Arc<Self>, call: Call) -> Result<CallResult, Error> {
        let caller = Caller::default();
        let _caller_is_here = caller.gone.clone().drop_guard();
        let calls = self.clone();
        // A task of its own, so that a caller who leaves cannot take the span along.
        let running = self.running.spawn(async move {
            let ledger = Ledger::default();
            let ending = calls.run(&call, &ledger, caller, None).await;
            calls.settle(&call, &ledger).await;
            let write = SpanWrite::New(calls.closing.span(&call, &ledger, &ending, None));
            calls.closing.conclude(call, ledger, ending, write).await
        });
        running.await.map_err(Error::internal)?
    }

    /// Executes a function and passes its answer on as it comes. Returns when the first piece is there, or the orderly
    /// end; a failure before that is an error as of [`Calls::call`].
    ///
    /// The span has begun, durably, before the first piece leaves, and is closed before the last event does. Dropping
    /// future or stream cancels what is under way upstream, unless others wait for the same answer.
    ///
    /// # Errors
    /// As [`Calls::call`].
    pub async fn stream(
        self: &Arc<Self>,
        caller: &Principal,
        which: RevisionRef,
        request: CallRequest,
        form: StreamForm,
    ) -> Result<CallStream, Error> {
        let call = self.opening.open(caller, which, request).await?;
        self.execute_streamed(call, form).await
    }

    /// Has a model continue a conversation and passes its answer on as it comes; otherwise as [`Calls::stream`].
    ///
    /// # Errors
    /// As [`Calls::chat`].
    pub async fn chat_stream(
        self: &Arc<Self>,
        caller: &Principal,
        chat: ChatCall,
    ) -> Result<CallStream, Error> {
        let default = self.routes.default_spec();
        let call = self.opening.open_chat(caller, chat, default).await?;
        self.execute_streamed(call, StreamForm::Turn).await
    }

    async fn execute_streamed(
        self: &Arc<Self>,
        call: Call,
        form: StreamForm,
    ) -> Result<CallStream, Error> {
        let (span_id, started) = (call.span_id, call.started);
        let is_structured = call.wanted().schema().is_some();
        let caller = Caller::default();
        let caller_is_here = caller.gone.clone().drop_guard();
        let stalled = caller.stalled.clone();
        let begun = self.running.spawn(self.closing.begin(&call));
        let (head, begins) = oneshot::channel();
        let (sink, events) = Sink::new(form, head, begun);
        let calls = self.clone();
        self.running
            .spawn(async move { calls.run_stream(call, caller, sink).await });
        let model = begins.await.map_err(Error::internal)??;
        Ok(CallStream {
            span_id,
            is_structured,
            started,
            model,
            events,
            stalled,
            _caller_is_here: caller_is_here,
        })
    }

    /// Ends every call that is under way, and returns when their spans are written.
    pub(crate) async fn stop(&self) {
        self.stopping.cancel();
        self.running.close();
        self.running.wait().await;
    }

    async fn run_stream(&self, call: Call, caller: Caller, mut sink: Sink) {
        let ledger = Ledger::default();
        let ending = self.run(&call, &ledger, caller, Some(&mut sink)).await;
        self.settle(&call, &ledger).await;
        let span = self.closing.span(&call, &ledger, &ending, Some(&sink.sent));
        let write = match sink.settle().await {
            Ok(()) => SpanWrite::Close(span),
            Err(_) => SpanWrite::New(span),
        };
        let result = self.closing.conclude(call, ledger, ending, write).await;
        let is_stopping = self.stopping.is_cancelled();
        let within = if is_stopping { LAST_WORD } else { LAST_EVENT };
        sink.close(result, within).await;
    }

    async fn settle(&self, call: &Call, ledger: &Ledger) {
        let project = call.scope.project();
        let prices = &self.asking.prices;
        ledger.settle(prices, &self.projects, project).await;
    }

    async fn run(
        &self,
        call: &Call,
        ledger: &Ledger,
        caller: Caller,
        sink: Option<&mut Sink>,
    ) -> Ending {
        let _under_way = UnderWay::begin();
        let company = Company::default();
        let deadline = Instant::now() + self.deadline;
        let answer = Box::pin(self.answer(call, ledger, (&company, deadline), sink));
        let answer = AssertUnwindSafe(answer).catch_unwind();
        let nobody_waits = async {
            caller.gone.cancelled().await;
            company.gone().await;
        };
        tokio::select! {
            biased;
            answer = answer => match answer {
                Ok(Ok(ending)) => ending,
                Ok(Err(error)) => Ending::Failed(error),
                Err(_panic) => Ending::Failed(Error::text(Code::Internal, "")),
            },
            () = nobody_waits => caller.ending(),
            () = self.stopping.cancelled() => Ending::Failed(Error::unavailable("draining")),
            () = tokio::time::sleep_until(deadline) => Ending::Failed(too_late(self.deadline, None, ledger)),
        }
    }

    async fn answer(
        &self,
        call: &Call,
        ledger: &Ledger,
        (company, deadline): (&Company, Instant),
        mut sink: Option<&mut Sink>,
    ) -> Result<Ending, Error> {
        input::check(&self.asking.checks, call).await?;
        let purpose = match &call.task {
            Task::Function(_) => Purpose::Call,
            Task::Chat(_) => Purpose::Chat,
        };
        let spec = call.model().unwrap_or(self.routes.default_spec());
        let route = self.routes.resolve(purpose, call.scope, spec).await?;
        let route = asking::without_functions(call, asking::readable(call, route)?)?;
        let examples = self.few_shot(call, ledger).await;
        let settings = call.settings();
        let mut lead = None;
        if !settings.cache_ttl().is_zero() {
            let key = cached::key(call, &route, &examples);
            match self.cached.turn(key, company).await {
                Turn::Lead(turn) => lead = Some(turn),
                Turn::Failed(error, of) => {
                    ledger.shares_failure(of);
                    return Err(error);
                }
                Turn::Kept(kept) => {
                    if let Some(sink) = &mut sink {
                        sink.kept(&kept).await?;
                    }
                    return Ok(Ending::Kept(kept));
                }
            }
        }
        let chat = prompt::build(call, &examples, &*self.asking.ids);
        let answers_left = AtomicU32::new(settings.max_attempts());
        let walk = Walk {
            call,
            ledger,
            answers_left: &answers_left,
            next_stop: &AtomicUsize::new(0),
            deadline,
            is_hedge: false,
            may_retry: true,
            unfinished: None,
        };
        let slow = sink.as_ref().map(|sink| sink.slow()).unwrap_or_default();
        let is_everybodys = AtomicBool::new(true);
        let answering = async {
            match sink {
                None => self.asking.run(&walk, &route, chat).await,
                Some(sink) => {
                    let answer = self.asking.flow(&walk, &route, chat, sink).await;
                    // What others may be told: a whole answer, or a failure that a plain call would have met too.
                    let may_be_told = if answer.is_ok() {
                        sink.is_whole()
                    } else {
                        !sink.has_sent()
                    };
                    is_everybodys.store(may_be_told, Ordering::Relaxed);
                    answer
                }
            }
        };
        tokio::pin!(answering);
        let answer = loop {
            tokio::select! {
                answer = &mut answering => break answer,
                // A reader that takes its time holds nobody else up: the turn goes to one of those who wait.
                () = slow.cancelled(), if lead.is_some() => drop(lead.take()),
            }
        };
        let lead = lead.filter(|_| is_everybodys.load(Ordering::Relaxed));
        match (lead, &answer) {
            (Some(lead), Ok(answer)) => {
                let kept = Kept {
                    output: answer.output.clone(),
                    beside: answer.beside.clone(),
                    model: answer.model.clone(),
                    finish_reason: answer.finish_reason,
                };
                self.cached.keep(call, lead, kept).await;
            }
            (Some(lead), Err(error)) => lead.fail(error, call.span_id),
            (None, _) => {}
        }
        answer.map(Ending::Answered)
    }

    /// The dataset's entries that are nearest to the input.
    async fn few_shot(&self, call: &Call, ledger: &Ledger) -> Vec<domain::Example> {
        let Task::Function(task) = &call.task else {
            return Vec::new();
        };
        let count = call.settings().few_shot_count();
        if count == 0 || task.function.dataset_version == 0 {
            return Vec::new();
        }
        let sought = Sought {
            scope: call.scope,
            dataset: task.function.dataset_id,
            version: Some(task.function.dataset_version),
            input: task.input.clone().unwrap_or_else(Json::null),
            count,
            below: Some((call.span_id, call.trace_id)),
        };
        match self.examples.nearest(sought).await {
            Ok(nearest) => {
                ledger.shown(&nearest);
                nearest.examples()
            }
            Err(error) => {
                tracing::debug!(%error, call.span_id = %call.span_id, "a call goes without examples");
                Vec::new()
            }
        }
    }
}

/// Counts a call among those under way until it is dropped.
struct UnderWay;

impl UnderWay {
    fn begin() -> Self {
        metrics::gauge!("gatewright_calls_under_way").increment(1);
        Self
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        metrics::gauge!("gatewright_calls_under_way").decrement(1);
    }
}
