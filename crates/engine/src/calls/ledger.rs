//! The ledger of a call: every attempt with its model, what became of it, what it took and cost.
//!
//! Several attempts may be under way at once (`invocation.hedge.after_ms`), and any of them may be dropped where it
//! stands: an [`Attempt`] that is dropped without a word is booked as cancelled, with what it has cost until then.
//! What no provider counts is counted by us when the attempts are over: see [`Ledger::count`].

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use domain::{
    Cost, CostStatus, EntryId, Generation, Json, ModelName, ProjectId, Rung, SpanId, Usage,
    UsageReport,
    seams::{ProviderError, ProviderErrorKind, Taken},
};
use serde::Serialize;

use crate::{
    error::TriedModel,
    examples::{Chosen, Nearness},
    price::{Bill, Counted, Prices, Quote},
    projects::Projects,
    route::Reachable,
    tokens::{self, Received, Sent},
};

use super::output::beginning;

/// What is kept of the faults of an answer.
const MAX_REASON_BYTES: usize = 2 * 1024;

/// Every attempt in the order in which they began.
#[derive(Default)]
pub(crate) struct Ledger {
    entries: Mutex<Vec<Entry>>,
    few_shot: OnceLock<Shown>,
    shares_failure_of: OnceLock<SpanId>,
}

/// The dataset's entries that the model was shown.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    pub(super) entries: Vec<EntryId>,
    /// What they were chosen by.
    by: Nearness,
}

/// One attempt.
pub(super) struct Entry {
    pub(super) model: ModelName,
    /// The rung that it was made on, where JSON was demanded.
    pub(super) rung: Option<Rung>,
    pub(super) status: Status,
    /// The class of its failure.
    pub(super) class: Option<&'static str>,
    pub(super) reason: Option<String>,
    pub(super) upstream_status: Option<u16>,
    /// Whether it was made beside another one, because that one took its time.
    pub(super) is_hedge: bool,
    /// The tokens that it took, if it came that far.
    pub(super) counted: Option<Counted>,
    /// What is still to be counted of it.
    uncounted: Option<Box<Uncounted>>,
    /// What the provider had counted, in its own words, when the answer broke off.
    pub(super) begun_count: Option<Json>,
    pub(super) bill: Option<Bill>,
    /// Where its price comes from.
    pub(super) price_origin: Option<Arc<str>>,
    /// What was left out of the options.
    pub(super) warnings: Vec<String>,
    pub(super) ms: u64,
}

/// What no provider has counted.
struct Uncounted {
    /// What the host calls the model.
    model: String,
    sent: Sent,
    received: Received,
    /// What the provider had counted when the answer broke off.
    begun: Option<UsageReport>,
    quote: Option<Quote>,
}

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    /// Under way when the call ended, or when another attempt was quicker.
    Cancelled,
    /// The model answered, and the answer does.
    Answered,
    /// The model answered, but the answer misses the output schema.
    Mismatched,
    /// The provider refused the request itself.
    Refused,
    /// The provider could not be asked or did not answer properly.
    Unavailable,
    /// The answer broke off after a part of it had been passed on.
    Broken,
    /// Not asked: it has failed or refused too often of late (`reliability.md` 10).
    Resting,
    /// No such model can be asked.
    Unresolved,
}

/// An attempt under way.
pub(crate) struct Attempt<'a> {
    ledger: &'a Ledger,
    index: usize,
    began: Instant,
    sent: Sent,
    reachable: &'a Reachable,
    prices: &'a Prices,
    /// What a stream has brought so far.
    received: Received,
    /// What the provider has counted so far.
    begun: Option<UsageReport>,
    is_over: bool,
}

impl Ledger {
    /// A model is being asked.
    pub(crate) fn begin<'a>(
        &'a self,
        sent: Sent,
        reachable: &'a Reachable,
        prices: &'a Prices,
        is_hedge: bool,
    ) -> Attempt<'a> {
        let demand = sent.chat().and_then(|chat| chat.demand.as_ref());
        let mut entry = Entry::of(&reachable.target.name, demand.map(|demand| demand.rung));
        entry.is_hedge = is_hedge;
        entry.warnings = reachable.warnings(&sent);
        let mut entries = self.entries();
        entries.push(entry);
        Attempt {
            ledger: self,
            index: entries.len() - 1,
            began: Instant::now(),
            sent,
            reachable,
            prices,
            received: Received::default(),
            begun: None,
            is_over: false,
        }
    }

    /// A model of the spec could not be asked at all.
    pub(super) fn unresolved(&self, model: &ModelName, reason: String) {
        let mut entry = Entry::of(model, None);
        entry.status = Status::Unresolved;
        entry.reason = Some(reason);
        self.entries().push(entry);
    }

    /// A model is left alone for a while.
    pub(super) fn resting(&self, model: &ModelName, failure: &ProviderError) {
        let mut entry = Entry::of(model, None);
        entry.blame(Status::Resting, failure);
        self.entries().push(entry);
    }

    /// The model is shown these.
    pub(super) fn shown(&self, nearest: &Chosen) {
        let shown = Shown {
            entries: nearest.ids(),
            by: nearest.by,
        };
        // A call looks for examples once.
        let _ = self.few_shot.set(shown);
    }

    /// Nobody was asked: an equal call asked meanwhile, in vain.
    pub(super) fn shares_failure(&self, of: SpanId) {
        // A call waits for another one's answer once.
        let _ = self.shares_failure_of.set(of);
    }

    /// The span of the call that asked in this one's stead, in vain.
    pub(super) fn shared_failure(&self) -> Option<SpanId> {
        self.shares_failure_of.get().copied()
    }

    /// What the model was shown.
    pub(super) fn few_shot(&self) -> Option<&Shown> {
        self.few_shot.get()
    }

    /// The attempts so far.
    pub(super) fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what no provider has counted, and what that costs. To be called once, when the attempts are over.
    async fn count(&self, prices: &Prices) {
        let uncounted: Vec<_> = {
            let mut entries = self.entries();
            let all = entries.iter_mut().enumerate();
            all.filter_map(|(index, entry)| Some((index, entry.uncounted.take()?)))
                .collect()
        };
        for (index, uncounted) in uncounted {
            let Uncounted {
                model,
                sent,
                received,
                begun,
                quote,
            } = *uncounted;
            let ours = tokens::usage(&model, sent, received).await;
            let usage = begun
                .as_ref()
                .map_or(ours, |begun| joined(ours, begun.usage));
            let counted = Counted::Estimated(usage);
            let bill = prices.bill(quote.as_ref(), &counted);
            let entry = &mut self.entries()[index];
            (entry.counted, entry.bill) = (Some(counted), Some(bill));
            entry.begun_count = begun.and_then(|begun| begun.raw);
        }
    }

    /// The tokens of all attempts.
    pub(super) fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        self.entries().iter().for_each(|entry| sum += entry.usage());
        sum
    }

    /// Counts what nobody counted, and books all of it on a project.
    pub(crate) async fn settle(&self, prices: &Prices, projects: &Projects, project: ProjectId) {
        self.count(prices).await;
        let cost = self.bill().cost;
        projects.book(project, &self.usage(), cost).await;
    }

    /// The cost of all attempts, and how far it can be trusted.
    pub(super) fn bill(&self) -> Bill {
        let nothing = Bill {
            cost: Cost::default(),
            status: CostStatus::Exact,
        };
        self.entries()
            .iter()
            .filter_map(|entry| entry.bill)
            .fold(nothing, |sum, bill| {
                let cost = sum.cost + bill.cost;
                let of_sum = if cost.is_full() {
                    CostStatus::Estimated
                } else {
                    CostStatus::Exact
                };
                let status = less_trusted(less_trusted(sum.status, bill.status), of_sum);
                Bill { cost, status }
            })
    }

    /// What became of each model, when several were tried: the last word on each, in the order in which they were asked.
    pub(super) fn models(&self) -> Option<Vec<TriedModel>> {
        let mut models: Vec<TriedModel> = Vec::new();
        for entry in self.entries().iter() {
            let tried = TriedModel {
                name: entry.model.to_string(),
                status: entry.upstream_status,
                reason: match (&entry.reason, entry.status) {
                    (Some(reason), _) => reason.clone(),
                    (None, Status::Cancelled) => "was cancelled".to_owned(),
                    (None, _) => String::new(),
                },
            };
            match models.iter_mut().find(|model| model.name == tried.name) {
                Some(known) => *known = tried,
                None => models.push(tried),
            }
        }
        (models.len() > 1).then_some(models)
    }
}

impl Entry {
    pub(super) fn of(model: &ModelName, rung: Option<Rung>) -> Self {
        Self {
            model: model.clone(),
            rung,
            status: Status::Cancelled,
            class: None,
            reason: None,
            upstream_status: None,
            is_hedge: false,
            counted: None,
            uncounted: None,
            begun_count: None,
            bill: None,
            price_origin: None,
            warnings: Vec::new(),
            ms: 0,
        }
    }

    /// What became of it instead of an answer.
    fn blame(&mut self, status: Status, error: &ProviderError) {
        self.status = status;
        self.class = Some(class_of(error.kind));
        self.reason = Some(error.reason.clone());
        self.upstream_status = error.status;
    }

    /// The tokens that it took.
    pub(super) fn usage(&self) -> Usage {
        self.counted
            .as_ref()
            .map(|counted| *counted.usage())
            .unwrap_or_default()
    }

    /// Whether we counted them.
    pub(super) fn is_estimated(&self) -> bool {
        self.counted.as_ref().is_some_and(Counted::is_estimated)
    }
}

impl Attempt<'_> {
    /// A piece of the answer has come.
    pub(super) fn received(&mut self, text: &str) {
        self.received.push(text);
    }

    /// The provider has counted so far. Nothing is left of that where it counts the whole in the end.
    pub(super) fn counted(&mut self, report: &UsageReport) {
        self.begun = Some(report.clone());
    }

    /// The model answered. The attempt can still turn out to be [`Attempt::mismatched`] or [`Attempt::refused`].
    pub(crate) fn answered(&mut self, generation: &mut Generation) {
        let report = generation.usage.take();
        if report.is_none() {
            self.received = Received::of(&said(generation));
            if self.reachable.makes_images() {
                self.received.images = generation.images.len() as u64;
            }
        }
        self.book(Status::Answered, report);
    }

    /// The model did what it was asked for, which was not to say something.
    pub(super) fn done(&mut self, usage: Option<UsageReport>) {
        self.book(Status::Answered, usage);
    }

    /// The answer misses the output schema.
    pub(crate) fn mismatched(&mut self, reason: &str) {
        self.note(Status::Mismatched, beginning(reason, MAX_REASON_BYTES));
    }

    /// The answer is a refusal.
    pub(super) fn refused(&mut self, reason: &str) {
        self.note(Status::Refused, reason);
    }

    /// The model did not answer, or with something that is of no use.
    pub(crate) fn failed(&mut self, error: &ProviderError) {
        let status = if error.kind.may_fall_back() {
            Status::Unavailable
        } else {
            Status::Refused
        };
        self.tell_refused_keys();
        match &error.taken {
            Taken::Nothing => self.is_over = true,
            Taken::Uncounted => self.book(status, None),
            Taken::Counted(report) => self.book(status, Some(UsageReport::clone(report))),
        }
        self.fail(status, error);
    }

    /// The answer broke off after a part of it had come.
    pub(super) fn broke(&mut self, error: &ProviderError) {
        // The provider will most likely bill what came.
        if let Taken::Counted(report) = &error.taken {
            self.counted(report);
        }
        self.book(Status::Broken, None);
        self.fail(Status::Broken, error);
    }

    /// Enters the requests that were refused for their key before this one was made with another. The first of them has
    /// the place of this attempt, which goes behind the last: nobody else's place changes.
    fn tell_refused_keys(&mut self) {
        for refusal in self.reachable.target.key_refusals.take() {
            let mut entries = self.ledger.entries();
            let here = &mut entries[self.index];
            let mut refused = Entry::of(&here.model, here.rung);
            refused.is_hedge = here.is_hedge;
            refused.blame(Status::Unavailable, &refusal.error);
            refused.ms = whole_ms(refusal.took);
            let own = mem::replace(here, refused);
            entries.push(own);
            self.index = entries.len() - 1;
            self.began += refusal.took;
        }
    }

    fn fail(&self, status: Status, error: &ProviderError) {
        let mut entries = self.ledger.entries();
        let entry = &mut entries[self.index];
        entry.blame(status, error);
        entry.ms = elapsed_ms(self.began);
    }

    fn note(&self, status: Status, reason: &str) {
        let mut entries = self.ledger.entries();
        let entry = &mut entries[self.index];
        entry.status = status;
        entry.class = Some(match status {
            Status::Mismatched => "mismatch",
            _ => "refusal",
        });
        entry.reason = Some(reason.to_owned());
    }

    fn book(&mut self, status: Status, report: Option<UsageReport>) {
        self.is_over = true;
        self.tell_refused_keys();
        let quote = self.quote();
        let mut entries = self.ledger.entries();
        let entry = &mut entries[self.index];
        entry.status = status;
        entry.price_origin = quote.as_ref().map(|quote| quote.origin.clone());
        entry.ms = elapsed_ms(self.began);
        if let Some(report) = report {
            let counted = Counted::Reported(report);
            entry.bill = Some(self.prices.bill(quote.as_ref(), &counted));
            entry.counted = Some(counted);
        } else {
            entry.uncounted = Some(Box::new(Uncounted {
                model: self.reachable.target.model.clone(),
                sent: self.sent.clone(),
                received: mem::take(&mut self.received),
                begun: self.begun.take(),
                quote,
            }));
        }
    }

    /// What the model costs, for this request.
    fn quote(&self) -> Option<Quote> {
        let quote = self.reachable.quote.clone()?;
        let Reachable {
            provider, target, ..
        } = self.reachable;
        let chat = self.sent.chat();
        let has_fees = chat.is_some_and(|chat| provider.runs_tools(target, chat));
        Some(if has_fees { quote.with_fees() } else { quote })
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.book(Status::Cancelled, None);
        }
    }
}

/// Our count of an answer that broke off, with what its provider had counted by then: that knows better what it was sent,
/// and less of what it said.
fn joined(ours: Usage, begun: Usage) -> Usage {
    Usage {
        output_tokens: begun.output_tokens.max(ours.output_tokens),
        ..begun
    }
}

/// All that a model said.
fn said(generation: &Generation) -> String {
    let calls = generation.tool_calls.iter();
    let called = calls.flat_map(|call| [&call.name, &call.arguments]);
    let said = [&generation.text, &generation.reasoning];
    let said = said.into_iter().chain(&generation.refusal).chain(called);
    said.map(String::as_str).collect()
}

/// Whole milliseconds since `began`.
pub(super) fn elapsed_ms(began: Instant) -> u64 {
    whole_ms(began.elapsed())
}

fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

const fn class_of(kind: ProviderErrorKind) -> &'static str {
    use ProviderErrorKind as Kind;
    match kind {
        Kind::Connection => "connection",
        Kind::Timeout => "timeout",
        Kind::RateLimited => "rate_limit",
        Kind::Overloaded => "overloaded",
        Kind::Failed => "failed",
        Kind::Auth => "auth",
        Kind::UnknownModel => "unknown_model",
        Kind::Invalid => "invalid",
        Kind::ContentPolicy => "content_policy",
        Kind::ContextWindow => "context_window",
        Kind::Batch => "batch",
        Kind::Demand => "demand",
        Kind::Protocol => "protocol",
        Kind::RefusedAddress => "refused_address",
        Kind::Misconfigured => "misconfigured",
        Kind::Document(fault) => fault.slug(),
        Kind::Busy => "busy",
    }
}

fn less_trusted(one: CostStatus, other: CostStatus) -> CostStatus {
    use CostStatus::{Estimated, Exact, Unknown};
    match (one, other) {
        (Unknown, _) | (_, Unknown) => Unknown,
        (Estimated, _) | (_, Estimated) => Estimated,
        (Exact, Exact) => Exact,
    }
}
