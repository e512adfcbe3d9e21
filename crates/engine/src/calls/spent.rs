//! What was spent beside the calls, on few-shot selection and on the judge: spans of our own say it as a call's span does, so
//! that it can be counted again.

use domain::{Cost, CostStatus, Json, Usage};
use serde::Serialize;

use super::{
    conclude::is_false,
    errand::groups,
    ledger::{Entry, Ledger},
};

/// What the attempts took: members of a span's `meta`.
#[derive(Serialize)]
pub(crate) struct Spent {
    models_tried: Json,
    attempts: usize,
    usage: Usage,
    cost: Cost,
    cost_status: CostStatus,
    #[serde(skip_serializing_if = "is_false")]
    usage_estimated: bool,
}

impl Spent {
    /// What all attempts took, once they are counted.
    pub(crate) fn of(ledger: &Ledger) -> Self {
        let bill = ledger.bill();
        let usage = ledger.usage();
        let entries = ledger.entries();
        Self {
            models_tried: Json::of(&groups(&entries)),
            attempts: entries.len(),
            usage,
            cost: bill.cost,
            cost_status: bill.status,
            usage_estimated: entries.iter().any(Entry::is_estimated),
        }
    }

    /// Whether there is nothing to be recorded.
    pub(crate) fn is_nothing(&self) -> bool {
        self.usage.total_tokens() == 0
    }
}
