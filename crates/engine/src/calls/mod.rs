//! Calls: the path of one execution of a function, from look-up to durable span.

mod attempt;
mod checks;
mod conclude;
mod input;
mod ledger;
mod open;
mod output;
mod prompt;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use domain::{
    CallRequest, CallResult, FinishReason, ModelName, Output, Principal, RevisionRef,
    seams::{Clock, Ids, Store},
};
use futures_util::FutureExt;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    error::{CallDetail, Code, Error},
    options::Options,
    price::Prices,
    route::Routes,
    spans::SpanWriter,
};

use self::{
    attempt::Attempts,
    checks::Checks,
    conclude::{Closing, Ending},
    ledger::Ledger,
    open::{Call, Opening},
};

/// The service of calls.
pub struct Calls {
    opening: Opening,
    routes: Routes,
    attempts: Attempts,
    checks: Arc<Checks>,
    closing: Closing,
    deadline: Duration,
    running: TaskTracker,
    stopping: CancellationToken,
}

/// What came of the attempts: an output, and who gave it.
pub(crate) struct Answer {
    pub(crate) output: Output,
    pub(crate) model: ModelName,
    pub(crate) finish_reason: FinishReason,
}

impl Calls {
    pub(crate) fn new(
        store: &Arc<dyn Store>,
        routes: Routes,
        spans: SpanWriter,
        (clock, ids): (&Arc<dyn Clock>, &Arc<dyn Ids>),
        options: &Options,
    ) -> Self {
        let checks = Arc::new(Checks::default());
        Self {
            opening: Opening::new(store.clone(), clock.clone(), ids.clone()),
            routes,
            attempts: Attempts::new(Prices::new(&options.prices), checks.clone(), ids.clone()),
            checks,
            closing: Closing::new(spans, clock.clone()),
            deadline: Duration::try_from_secs_f64(options.calls.timeout_seconds)
                .unwrap_or(Duration::MAX),
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
        let caller_gone = CancellationToken::new();
        let _caller_is_here = caller_gone.clone().drop_guard();
        let calls = self.clone();
        // A task of its own, so that a caller who leaves cannot take the span along.
        let running = self
            .running
            .spawn(async move { calls.run(call, caller_gone).await });
        running.await.map_err(Error::internal)?
    }

    /// Ends every call that is under way, and returns when their spans are written.
    pub(crate) async fn stop(&self) {
        self.stopping.cancel();
        self.running.close();
        self.running.wait().await;
    }

    async fn run(&self, call: Call, caller_gone: CancellationToken) -> Result<CallResult, Error> {
        let mut ledger = Ledger::default();
        let ending = {
            let answer = AssertUnwindSafe(self.answer(&call, &mut ledger)).catch_unwind();
            tokio::select! {
                biased;
                answer = answer => match answer {
                    Ok(Ok(answer)) => Ending::Answered(answer),
                    Ok(Err(error)) => Ending::Failed(error),
                    Err(_panic) => Ending::Failed(Error::text(Code::Internal, "")),
                },
                () = caller_gone.cancelled() => Ending::CallerGone,
                () = self.stopping.cancelled() => Ending::Failed(Error::unavailable("draining")),
                () = tokio::time::sleep(self.deadline) => Ending::Failed(self.too_late()),
            }
        };
        self.closing.conclude(call, ledger, ending).await
    }

    async fn answer(&self, call: &Call, ledger: &mut Ledger) -> Result<Answer, Error> {
        input::check(&self.checks, call).await?;
        let route = self
            .routes
            .resolve(call.scope, call.definition().model.as_ref())
            .await?;
        let chat = prompt::build(call);
        self.attempts.run(call, route, chat, ledger).await
    }

    fn too_late(&self) -> Error {
        let reason = format!(
            "the call took longer than {} s",
            self.deadline.as_secs_f64()
        );
        Error::call(Code::UpstreamTimeout, CallDetail::because(reason))
    }
}
