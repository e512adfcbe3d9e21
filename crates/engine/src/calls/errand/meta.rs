//! The `meta` of an errand's span: what a call's has, as far as there is such a thing (`interface.md` 8.3).

use std::time::Instant;

use domain::{Cost, CostStatus, Json, JsonObject, ModelName, Tags, Usage, WholeUsage};
use serde::Serialize;

use crate::calls::{
    conclude::{Tried, is_false, warnings},
    ledger::{Entry, Ledger, elapsed_ms},
};

use super::Ending;

#[derive(Serialize)]
struct Meta<'a> {
    tags: &'a Tags,
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<&'a str>,
    #[serde(skip_serializing_if = "is_false")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_type: Option<&'static str>,
}

/// The attempts at one model of which the same became: many texts go out in many requests.
#[derive(Serialize)]
pub(in crate::calls) struct Group<'a> {
    #[serde(flatten)]
    tried: Tried<'a>,
    #[serde(skip_serializing_if = "is_one")]
    requests: usize,
    /// What each of several took, so that their cost can be counted again: each was rounded, and had its fee and tier.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    usage_each: Vec<Took>,
}

/// So many requests that took the same.
#[derive(Serialize)]
struct Took {
    requests: usize,
    #[serde(flatten)]
    usage: WholeUsage,
}

pub(super) fn meta<T>(
    ending: &Ending<T>,
    ledger: &Ledger,
    ((tags, noted), began): ((&Tags, JsonObject), Instant),
    truncated: bool,
) -> Json {
    let (usage, bill) = (ledger.usage(), ledger.bill());
    let entries = ledger.entries();
    Json::of(&Meta {
        tags,
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
        noted,
        usage_estimated: entries.iter().any(Entry::is_estimated),
        warnings: warnings(&entries, &[]),
        truncated,
        error_type: match ending {
            Ending::Failed(error) => Some(error.code.name()),
            Ending::Done(..) | Ending::CallerGone => None,
        },
    })
}

/// The attempts, those of one fate together.
pub(in crate::calls) fn groups(entries: &[Entry]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for tried in entries.iter().map(Tried::from) {
        let usage = tried.usage().into();
        match groups.iter_mut().find_map(|group| {
            let joined = group.tried.join(&tried);
            joined.then_some(group)
        }) {
            Some(group) => {
                group.requests += 1;
                match group.usage_each.iter_mut().find(|took| took.usage == usage) {
                    Some(took) => took.requests += 1,
                    None => group.usage_each.push(Took { requests: 1, usage }),
                }
            }
            None => groups.push(Group {
                tried,
                requests: 1,
                usage_each: vec![Took { requests: 1, usage }],
            }),
        }
    }
    for group in &mut groups {
        if group.requests == 1 || !group.tried.is_priced() {
            group.usage_each.clear();
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

#[cfg(test)]
mod tests {
    use domain::Usd;
    use serde_json::{Value, json};

    use super::*;
    use crate::price::{Bill, Counted};

    fn entry(price: &str, (input_tokens, cached_tokens): (u64, u64), nanos: i64) -> Entry {
        let usage = Usage {
            input_tokens,
            cached_tokens,
            ..Usage::default()
        };
        let cost = Cost {
            generation: Usd::from_nanos(nanos),
            ..Cost::default()
        };
        let mut entry = Entry::of(&ModelName::parse("a/b").unwrap(), None);
        entry.counted = Some(Counted::Reported(usage.into()));
        entry.bill = Some(Bill {
            cost,
            status: CostStatus::Exact,
        });
        entry.price_origin = Some(price.into());
        entry
    }

    fn told(entries: &[Entry]) -> Vec<Value> {
        let members = |group: &Value| {
            let names = ["requests", "usage_each", "usage_kinds", "price"];
            let told = names.map(|name| group[name].clone());
            json!([
                told,
                group["usage"]["input_tokens"],
                group["cost"]["generation"]
            ])
        };
        groups(entries)
            .iter()
            .map(|group| members(&Json::of(group).to_value()))
            .collect()
    }

    #[test]
    fn several_requests_are_told_as_one_with_what_each_took() {
        let told = told(&[
            entry("p", (10, 4), 5),
            entry("p", (10, 4), 5),
            entry("p", (7, 0), 4),
            // A price that was another one in between.
            entry("q", (7, 0), 9),
        ]);

        let each = json!([
            {"requests": 2, "input_tokens": 10, "cached_tokens": 4},
            {"requests": 1, "input_tokens": 7},
        ]);
        assert_eq!(
            told,
            [
                json!([[3, each, {"cached_tokens": 8}, "p"], 27, 1.4e-8]),
                json!([[null, null, null, "q"], 7, 9e-9]),
            ]
        );
    }
}
