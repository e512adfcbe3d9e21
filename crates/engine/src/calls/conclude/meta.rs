//! The `meta` of a call's span (`interface.md` 8.3).

use domain::{
    Cost, CostStatus, FinishReason, Json, Kept, ModelName, Observation, Rung, SpanId, Tags, Usage,
    UsageKinds, Usd,
};
use serde::Serialize;

use crate::{
    calls::{
        Answer,
        ledger::{Entry, Ledger, Shown, Status, elapsed_ms},
        open::Call,
        pieces::Mending,
        prompt::unsent_media,
        task::Task,
    },
    price::Counted,
};

use super::Ending;

/// The members of `meta` (`interface.md` 8.3) that are known when a call begins.
#[derive(Serialize)]
pub(super) struct Beginning<'a> {
    tags: &'a Tags,
    #[serde(flatten)]
    function: Option<OfFunction<'a>>,
    streamed: bool,
}

/// Those of them that only the call of a function has.
#[derive(Serialize)]
struct OfFunction<'a> {
    function_id: domain::FunctionId,
    function_name: &'a str,
    revision_id: domain::RevisionId,
}

/// The other members of `meta`.
#[derive(Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the members are the contract's"
)]
struct Meta<'a> {
    #[serde(flatten)]
    beginning: Beginning<'a>,
    model: Option<&'a ModelName>,
    models_tried: Vec<Tried<'a>>,
    attempts: usize,
    cached: bool,
    finish_reason: Option<FinishReason>,
    usage: Usage,
    cost: Cost,
    cost_status: CostStatus,
    latency_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    few_shot_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    few_shot: Option<&'a Shown>,
    /// The span of an equal call that asked in this one's stead, in vain.
    #[serde(skip_serializing_if = "Option::is_none")]
    shares_failure_of: Option<SpanId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rung: Option<Rung>,
    /// Why it was not the firmest rung.
    #[serde(skip_serializing_if = "Option::is_none")]
    rung_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    mended: &'a [Mending],
    #[serde(skip_serializing_if = "is_false")]
    failover: bool,
    #[serde(skip_serializing_if = "is_false")]
    usage_estimated: bool,
    /// What was left out of the models' options, and what of the input is not what it is called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<&'a str>,
    #[serde(skip_serializing_if = "is_false")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    observer: Option<&'a Observation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_type: Option<&'static str>,
}

/// One attempt.
#[derive(Serialize)]
pub(in crate::calls) struct Tried<'a> {
    model: &'a ModelName,
    #[serde(skip_serializing_if = "Option::is_none")]
    rung: Option<Rung>,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'static str>,
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_status: Option<u16>,
    #[serde(skip_serializing_if = "is_false")]
    hedge: bool,
    ms: u64,
    usage: Usage,
    /// What of the usage has prices of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage_kinds: Option<UsageKinds>,
    cost: Cost,
    /// Where the price comes from that the cost was counted by.
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<&'a str>,
    /// What the provider itself says that it cost; then that is the cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    reported_cost: Option<Usd>,
    /// The provider's own count, as it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage_reported: Option<&'a Json>,
}

impl<'a> Beginning<'a> {
    /// What is known of it then.
    pub(super) fn of(call: &'a Call, streamed: bool) -> Self {
        let function = match &call.task {
            Task::Function(task) => Some(OfFunction {
                function_id: task.function.id,
                function_name: task.function.name.as_str(),
                revision_id: task.callee.revision.id,
            }),
            Task::Chat(_) => None,
        };
        Self {
            tags: &call.tags,
            function,
            streamed,
        }
    }
}

/// The whole of it, when the call has ended.
pub(super) fn meta(
    beginning: Beginning<'_>,
    (call, ledger, ending): (&Call, &Ledger, &Ending),
    observer: Option<&Observation>,
    truncated: bool,
) -> Json {
    let answer = match ending {
        Ending::Answered(answer) => Some(answer),
        _ => None,
    };
    let (model, finish_reason) = match ending {
        Ending::Answered(Answer {
            model,
            finish_reason,
            ..
        })
        | Ending::Kept(Kept {
            model,
            finish_reason,
            ..
        }) => (Some(model), Some(*finish_reason)),
        _ => (None, None),
    };
    let (usage, bill) = (ledger.usage(), ledger.bill());
    let rung = answer.and_then(|answer| answer.rung.as_ref());
    let shown = ledger.few_shot();
    let few_shot_count = shown.map_or(0, |shown| shown.entries.len());
    let is_function = matches!(call.task, Task::Function(_));
    let entries = ledger.entries();
    let input = match &call.task {
        Task::Function(task) if !entries.is_empty() => task.input.as_ref(),
        _ => None,
    };
    let unsent = input.map(unsent_media).unwrap_or_default();
    Json::of(&Meta {
        beginning,
        model,
        models_tried: entries.iter().map(Tried::from).collect(),
        attempts: entries.len(),
        cached: matches!(ending, Ending::Kept(_)),
        finish_reason,
        usage,
        cost: bill.cost,
        cost_status: bill.status,
        latency_ms: elapsed_ms(call.began),
        few_shot_count: is_function.then_some(few_shot_count),
        few_shot: shown,
        shares_failure_of: ledger.shared_failure(),
        rung: rung.map(|rung| rung.rung),
        rung_reason: rung.and_then(|rung| rung.why.as_deref()),
        mended: answer.map_or(&[], |answer| &answer.mended),
        failover: answer.is_some_and(|answer| answer.failover),
        usage_estimated: entries.iter().any(Entry::is_estimated),
        warnings: warnings(&entries, &unsent),
        truncated,
        observer,
        error_type: match ending {
            Ending::Failed(error) => Some(error.code.name()),
            _ => None,
        },
    })
}

impl Tried<'_> {
    /// The tokens that it took.
    pub(in crate::calls) const fn usage(&self) -> Usage {
        self.usage
    }

    /// Whether it has a cost that may be counted again.
    pub(in crate::calls) const fn is_priced(&self) -> bool {
        self.price.is_some() && self.reported_cost.is_none()
    }

    /// Adds another attempt to this one, if the same became of it at the same price. Says whether it did.
    pub(in crate::calls) fn join(&mut self, other: &Self) -> bool {
        let became = |tried: &Self| {
            (
                tried.model.clone(),
                tried.status,
                tried.class,
                tried.reason.map(str::to_owned),
                tried.upstream_status,
                (
                    tried.price.map(str::to_owned),
                    tried.reported_cost.is_some(),
                ),
            )
        };
        if became(self) != became(other) {
            return false;
        }
        self.ms = self.ms.max(other.ms);
        self.usage += other.usage;
        self.usage_kinds = self.usage.kinds();
        self.cost += other.cost;
        self.reported_cost = match (self.reported_cost, other.reported_cost) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        self.usage_reported = None;
        true
    }
}

/// Each warning once.
pub(in crate::calls) fn warnings<'a>(entries: &'a [Entry], unsent: &'a [String]) -> Vec<&'a str> {
    let mut warnings: Vec<&str> = unsent.iter().map(String::as_str).collect();
    for warning in entries.iter().flat_map(|entry| &entry.warnings) {
        if !warnings.contains(&warning.as_str()) {
            warnings.push(warning);
        }
    }
    warnings
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
pub(in crate::calls) fn is_false(flag: &bool) -> bool {
    !flag
}

impl<'a> From<&'a Entry> for Tried<'a> {
    fn from(entry: &'a Entry) -> Self {
        let report = match &entry.counted {
            Some(Counted::Reported(report)) => Some(report),
            _ => None,
        };
        Self {
            model: &entry.model,
            rung: entry.rung,
            status: entry.status,
            class: entry.class,
            reason: entry.reason.as_deref(),
            upstream_status: entry.upstream_status,
            hedge: entry.is_hedge,
            ms: entry.ms,
            usage: entry.usage(),
            usage_kinds: entry.usage().kinds(),
            cost: entry.bill.map(|bill| bill.cost).unwrap_or_default(),
            price: entry.price_origin.as_deref(),
            reported_cost: report.and_then(|report| report.cost),
            usage_reported: report.map_or(entry.begun_count.as_ref(), |report| report.raw.as_ref()),
        }
    }
}
