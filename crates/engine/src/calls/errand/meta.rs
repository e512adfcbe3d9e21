//! The `meta` of an errand's span: what a call's has, as far as there is such a thing (`interface.md` 8.3).

use std::time::Instant;

use domain::{Cost, CostStatus, Json, JsonObject, ModelName, Tags, Usage};
use serde::Serialize;

use crate::calls::{
    conclude::{Tried, is_false},
    ledger::{Entry, Ledger, elapsed_ms},
};

use super::Ending;

#[derive(Serialize)]
struct Meta<'a> {
    tags: Tags,
    model: Option<&'a ModelName>,
    models_tried: Vec<Group<'a>>,
    attempts: usize,
    usage: Usage,
    cost: Cost,
    cost_status: CostStatus,
    latency_ms: u64,
    #[serde(flatten)]
    noted: JsonObject,
    #[serde(skip_serializing_if = "is_false")]
    usage_estimated: bool,
    #[serde(skip_serializing_if = "is_false")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_type: Option<&'static str>,
}

/// The attempts at one model of which the same became: many texts go out in many requests.
#[derive(Serialize)]
struct Group<'a> {
    #[serde(flatten)]
    tried: Tried<'a>,
    #[serde(skip_serializing_if = "is_one")]
    requests: usize,
}

pub(super) fn meta<T>(
    ending: &Ending<T>,
    ledger: &Ledger,
    (noted, began): (Option<JsonObject>, Instant),
    truncated: bool,
) -> Json {
    let (usage, bill) = (ledger.usage(), ledger.bill());
    let entries = ledger.entries();
    Json::of(&Meta {
        tags: Tags::default(),
        model: match ending {
            Ending::Done(model, _) => Some(model),
            Ending::Failed(_) | Ending::CallerGone => None,
        },
        models_tried: groups(&entries),
        attempts: entries.len(),
        usage,
        cost: bill.cost,
        cost_status: bill.status,
        latency_ms: elapsed_ms(began),
        noted: noted.unwrap_or_default(),
        usage_estimated: entries.iter().any(Entry::is_estimated),
        truncated,
        error_type: match ending {
            Ending::Failed(error) => Some(error.code.name()),
            Ending::Done(..) | Ending::CallerGone => None,
        },
    })
}

fn groups(entries: &[Entry]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for tried in entries.iter().map(Tried::from) {
        match groups.iter_mut().find_map(|group| {
            let joined = group.tried.join(&tried);
            joined.then_some(group)
        }) {
            Some(group) => group.requests += 1,
            None => groups.push(Group { tried, requests: 1 }),
        }
    }
    groups
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
fn is_one(count: &usize) -> bool {
    *count == 1
}
