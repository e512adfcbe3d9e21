//! The ledger of a call: every attempt with its model, what became of it, what it took and cost.

use std::time::Instant;

use domain::{Cost, CostStatus, ModelName, Usage, seams::ProviderError};
use serde::Serialize;

use crate::{error::TriedModel, price::Bill};

use super::output::beginning;

/// What is kept of the faults of an answer.
const MAX_REASON_BYTES: usize = 2 * 1024;

/// Every attempt in order.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) entries: Vec<Entry>,
}

/// One attempt.
pub(super) struct Entry {
    pub(super) model: ModelName,
    pub(super) status: Status,
    pub(super) reason: Option<String>,
    pub(super) upstream_status: Option<u16>,
    pub(super) usage: Usage,
    pub(super) usage_estimated: bool,
    pub(super) bill: Option<Bill>,
    pub(super) ms: u64,
    began: Instant,
}

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    /// Under way when the call ended: cancelled with it.
    Cancelled,
    /// The model answered, and the answer does.
    Answered,
    /// The model answered, but the answer misses the output schema.
    Mismatched,
    /// The provider refused the request itself.
    Refused,
    /// The provider could not be asked or did not answer properly.
    Unavailable,
    /// No such model can be asked.
    Unresolved,
}

impl Ledger {
    /// A model is being asked.
    pub(super) fn begin(&mut self, model: &ModelName) {
        self.entries.push(Entry {
            model: model.clone(),
            status: Status::Cancelled,
            reason: None,
            upstream_status: None,
            usage: Usage::default(),
            usage_estimated: false,
            bill: None,
            ms: 0,
            began: Instant::now(),
        });
    }

    /// The model that is being asked answered.
    pub(super) fn answered(&mut self, usage: Usage, usage_estimated: bool, bill: Bill) {
        let entry = self.end(Status::Answered, None);
        entry.usage = usage;
        entry.usage_estimated = usage_estimated;
        entry.bill = Some(bill);
    }

    /// The last answer misses the output schema.
    pub(super) fn mismatched(&mut self, reason: &str) {
        let entry = self.last();
        entry.status = Status::Mismatched;
        entry.reason = Some(beginning(reason, MAX_REASON_BYTES).to_owned());
    }

    /// The last answer is a refusal.
    pub(super) fn refused(&mut self, reason: String) {
        let entry = self.last();
        entry.status = Status::Refused;
        entry.reason = Some(reason);
    }

    /// The model that is being asked did not answer.
    pub(super) fn failed(&mut self, error: &ProviderError) {
        let status = if error.kind.may_fall_back() {
            Status::Unavailable
        } else {
            Status::Refused
        };
        self.end(status, Some(error.reason.clone())).upstream_status = error.status;
    }

    /// A model of the spec could not be asked at all.
    pub(super) fn unresolved(&mut self, model: &ModelName, reason: String) {
        self.begin(model);
        self.end(Status::Unresolved, Some(reason));
    }

    /// The tokens of all attempts.
    pub(super) fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        self.entries.iter().for_each(|entry| sum += entry.usage);
        sum
    }

    /// The cost of all attempts, and how far it can be trusted.
    pub(super) fn bill(&self) -> Bill {
        let nothing = Bill {
            cost: Cost::default(),
            status: CostStatus::Exact,
        };
        self.entries
            .iter()
            .filter_map(|entry| entry.bill)
            .fold(nothing, |sum, bill| Bill {
                cost: Cost {
                    generation: sum.cost.generation + bill.cost.generation,
                    platform: sum.cost.platform + bill.cost.platform,
                },
                status: less_trusted(sum.status, bill.status),
            })
    }

    /// What became of each model, when several were tried: the last word on each, in the order in which they were asked.
    pub(super) fn models(&self) -> Option<Vec<TriedModel>> {
        let mut models: Vec<TriedModel> = Vec::new();
        for entry in &self.entries {
            let tried = TriedModel {
                name: entry.model.to_string(),
                status: entry.upstream_status,
                reason: entry.reason.clone().unwrap_or_default(),
            };
            match models.iter_mut().find(|model| model.name == tried.name) {
                Some(known) => *known = tried,
                None => models.push(tried),
            }
        }
        (models.len() > 1).then_some(models)
    }

    fn end(&mut self, status: Status, reason: Option<String>) -> &mut Entry {
        let entry = self.last();
        entry.status = status;
        entry.reason = reason;
        entry.ms = elapsed_ms(entry.began);
        entry
    }

    fn last(&mut self) -> &mut Entry {
        self.entries
            .last_mut()
            .expect("an attempt begins before it ends")
    }
}

/// Whole milliseconds since `began`.
pub(super) fn elapsed_ms(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn less_trusted(one: CostStatus, other: CostStatus) -> CostStatus {
    use CostStatus::{Estimated, Exact, Unknown};
    match (one, other) {
        (Unknown, _) | (_, Unknown) => Unknown,
        (Estimated, _) | (_, Estimated) => Estimated,
        (Exact, Exact) => Exact,
    }
}
