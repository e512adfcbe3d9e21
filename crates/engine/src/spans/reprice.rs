//! Counting the costs of recorded calls again, after a price was corrected.

use std::{collections::BTreeMap, ops::Add, sync::Arc};

use domain::{
    Cost, CostStatus, Json, JsonObject, MetaCorrection, RecordedMeta, SpanRange, Usage, UsageKinds,
    Usd, WholeUsage,
    seams::{Store, StoreError},
};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    options::PricesOptions,
    price::{OwnPrices, PriceBook, Prices, is_with_fees},
};

/// How many spans a step goes through.
const STEP: u64 = 500;

/// Counts the costs of a range of the record again, step by step.
///
/// A cost that the provider reported and a price of a custom model's registration stay as they are.
pub struct Repricing {
    store: Arc<dyn Store>,
    book: PriceBook,
    prices: Prices,
    range: SpanRange,
    /// Whether nothing is written.
    is_dry: bool,
    position: i64,
    /// Where the record ended at the first step. What comes later is the next command's affair: a server has the prices
    /// that it was started with.
    end: Option<i64>,
    report: Repriced,
}

/// What came of it so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repriced {
    /// The spans with costs.
    pub spans: u64,
    /// Those of them whose cost is another one now.
    pub changed: u64,
    /// Those that should be, and that were changed by somebody else meanwhile: they are as they were.
    pub missed: u64,
    /// By model, what changed.
    pub models: BTreeMap<String, Change>,
}

/// What changed of one model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Change {
    /// How many attempts.
    pub attempts: u64,
    /// What they cost before.
    pub before: Usd,
    /// What they cost now.
    pub after: Usd,
}

/// An attempt of a recorded call (`calls/conclude/meta.rs`).
#[derive(Deserialize)]
struct Attempt {
    model: String,
    #[serde(default)]
    usage: Counts,
    #[serde(default)]
    usage_kinds: UsageKinds,
    #[serde(default)]
    cost: Recorded,
    price: Option<String>,
    reported_cost: Option<Json>,
    /// Of how many requests it is the sum, if not of one alone (`calls/errand/meta.rs`).
    requests: Option<u64>,
    #[serde(default)]
    usage_each: Vec<Took>,
}

/// So many requests that took the same.
#[derive(Deserialize)]
struct Took {
    requests: u64,
    #[serde(flatten)]
    usage: WholeUsage,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counts {
    input_tokens: u64,
    output_tokens: u64,
    output_tokens_details: Details,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    reasoning_tokens: u64,
}

/// A cost as it was recorded: numbers in USD.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Recorded {
    generation: Option<Json>,
    platform: Option<Json>,
}

/// What came of counting the costs of a span again.
#[cfg_attr(test, derive(Debug, PartialEq))]
enum Recount {
    /// They are what they were.
    Same,
    Changed(Recounted),
}

/// One span with its costs counted again.
#[derive(Debug, PartialEq)]
struct Recounted {
    meta: Json,
    changes: Vec<(String, Change)>,
}

impl Repricing {
    /// Of that range, by the prices that hold now.
    pub fn new(
        store: Arc<dyn Store>,
        (own, options): (OwnPrices, &PricesOptions),
        range: SpanRange,
        is_dry: bool,
    ) -> Self {
        Self {
            store,
            book: PriceBook::new(own),
            prices: Prices::new(options),
            range,
            is_dry,
            position: 0,
            end: None,
            report: Repriced::default(),
        }
    }

    /// Goes a step further; says how far it is on which way, or that it is done.
    ///
    /// # Errors
    /// Storage that does not work. What was written so far stays.
    pub async fn step(&mut self) -> Result<Option<(u64, u64)>, StoreError> {
        if self.end.is_some_and(|end| self.position >= end) {
            return Ok(None);
        }
        let step = self.store.recorded(self.range, self.position, STEP).await?;
        let end = *self.end.get_or_insert(step.end);
        self.position = step.position;
        self.recount(step.spans).await?;
        let number = |position: i64| u64::try_from(position).unwrap_or_default();
        Ok(Some((number(step.position.min(end)), number(end))))
    }

    /// What came of it so far.
    pub const fn report(&self) -> &Repriced {
        &self.report
    }

    async fn recount(&mut self, spans: Vec<RecordedMeta>) -> Result<(), StoreError> {
        let mut corrections = Vec::new();
        for before in spans {
            let Some(recounted) = recount(&before.meta, &self.book, &self.prices) else {
                continue;
            };
            self.report.spans += 1;
            let Recount::Changed(Recounted { meta, changes }) = recounted else {
                continue;
            };
            for (model, more) in changes {
                let change = self.report.models.entry(model).or_default();
                change.attempts = change.attempts.saturating_add(more.attempts);
                change.before += more.before;
                change.after += more.after;
            }
            corrections.push(MetaCorrection {
                before,
                after: meta,
            });
        }
        let wanted = u64::try_from(corrections.len()).unwrap_or(u64::MAX);
        let changed = if self.is_dry || corrections.is_empty() {
            wanted
        } else {
            self.store.correct_meta(corrections).await?
        };
        self.report.changed += changed;
        self.report.missed += wanted - changed;
        Ok(())
    }
}

/// The `meta` of a call with its costs counted again; `None` if there is nothing to count.
fn recount(meta: &Json, book: &PriceBook, prices: &Prices) -> Option<Recount> {
    let mut members: JsonObject = read(meta)?;
    let mut tried: Vec<JsonObject> = read(members.get("models_tried")?)?;
    let is_estimated = members
        .get("usage_estimated")
        .is_some_and(|flag| flag.text() == "true");
    let (mut sum, mut changes, mut asked_again) = (Cost::default(), Vec::new(), false);
    let (mut is_unknown, mut is_about) = (false, is_estimated);
    for attempt in &mut tried {
        let before: Attempt = read(&Json::of(attempt))?;
        let was = before.cost.read();
        let again = match (&before.price, &before.reported_cost) {
            (Some(origin), None) => book.quote_again(origin),
            (None, None) => {
                // Nobody knew what it cost, or it took nothing.
                is_unknown |= before.usage() != Usage::default();
                None
            }
            (_, Some(_)) => None,
        };
        let again = again.zip(before.requests());
        let Some((quote, requests)) = again else {
            let is_ours = before.reported_cost.is_none();
            is_unknown |= is_ours && !before.was_priced();
            is_about |= is_ours && before.price.as_deref().is_some_and(is_with_fees);
            sum += was;
            continue;
        };
        asked_again = true;
        is_unknown |= quote.price.is_none();
        is_about |= !quote.is_exact;
        let cost = quote.price.map_or_else(Cost::default, |price| {
            let each = requests
                .iter()
                .map(|(count, usage)| times(prices.cost(price.of(usage)), *count));
            each.fold(Cost::default(), Add::add)
        });
        let generation = cost.generation;
        if generation == was.generation && before.was_priced() == quote.price.is_some() {
            sum += was;
            continue;
        }
        sum += cost;
        attempt.insert("cost".to_owned(), Json::of(&cost));
        attempt.insert("price".to_owned(), Json::of(&&*quote.origin));
        let change = Change {
            attempts: before.requests.unwrap_or(1),
            before: was.generation,
            after: generation,
        };
        changes.push((before.model, change));
    }
    if !asked_again {
        return Some(Recount::Same);
    }
    let status = match (is_unknown, is_about || sum.is_full()) {
        (true, _) => CostStatus::Unknown,
        (false, true) => CostStatus::Estimated,
        (false, false) => CostStatus::Exact,
    };
    let status = Json::of(&status);
    if changes.is_empty() && members.get("cost_status") == Some(&status) {
        return Some(Recount::Same);
    }
    members.insert("models_tried".to_owned(), Json::of(&tried));
    members.insert("cost".to_owned(), Json::of(&sum));
    members.insert("cost_status".to_owned(), status);
    let meta = Json::of(&members);
    Some(Recount::Changed(Recounted { meta, changes }))
}

impl Attempt {
    /// What its requests took, and how many of them the same; `None` where that was not kept.
    fn requests(&self) -> Option<Vec<(u64, Usage)>> {
        let Some(requests) = self.requests else {
            return Some(vec![(1, self.usage())]);
        };
        let each = self.usage_each.iter();
        let each: Vec<(u64, Usage)> = each
            .map(|took| (took.requests, took.usage.into()))
            .collect();
        let kept = each
            .iter()
            .fold(0, |sum: u64, (count, _)| sum.saturating_add(*count));
        (kept == requests).then_some(each)
    }

    /// Whether somebody knew its price, or nobody was asked.
    fn was_priced(&self) -> bool {
        let price = self.price.as_deref();
        price.is_none_or(|price| !price.starts_with("unpriced"))
    }

    fn usage(&self) -> Usage {
        let counts = Usage {
            input_tokens: self.usage.input_tokens,
            output_tokens: self.usage.output_tokens,
            reasoning_tokens: self.usage.output_tokens_details.reasoning_tokens,
            ..Usage::default()
        };
        counts.with_kinds(self.usage_kinds)
    }
}

impl Recorded {
    fn read(&self) -> Cost {
        let amount = |number: &Option<Json>| Usd::from_decimal(number.as_ref()?.text());
        Cost {
            generation: amount(&self.generation).unwrap_or_default(),
            platform: amount(&self.platform).unwrap_or_default(),
        }
    }
}

fn times(cost: Cost, count: u64) -> Cost {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let times = |usd: Usd| Usd::from_nanos(usd.nanos().saturating_mul(count));
    Cost::new(times(cost.generation), times(cost.platform))
}

fn read<T: DeserializeOwned>(json: &Json) -> Option<T> {
    serde_json::from_str(json.text()).ok()
}

#[cfg(test)]
mod tests {
    use domain::Price;

    use super::*;

    const BOOK: &str = "book 2020-01-0000 openai/gpt-4o";

    fn own(input: i64) -> PriceBook {
        let tokens = domain::TokenPrice {
            input,
            cached: Some(1_000),
            ..domain::TokenPrice::default()
        };
        let price = Price {
            tokens,
            ..Price::default()
        };
        let rows = [("openai/gpt-4o".to_owned(), price)];
        PriceBook::new(OwnPrices::new("p", "abc", rows))
    }

    fn prices() -> Prices {
        Prices::new(&PricesOptions {
            markup: 0.5,
            file: None,
        })
    }

    fn changed(recount: Option<Recount>) -> Recounted {
        match recount {
            Some(Recount::Changed(recounted)) => recounted,
            other => panic!("{other:?}"),
        }
    }

    fn counted(meta: &str, book: &PriceBook) -> Option<Recount> {
        recount(&Json::parse(meta).unwrap(), book, &prices())
    }

    #[test]
    fn an_attempt_is_counted_by_the_present_price_and_the_sum_follows() {
        let meta = format!(
            r#"{{"tags":{{"a":1.0}},"models_tried":[
                {{"model":"mine","status":"mismatched","usage":{{"input_tokens":10}},"cost":{{"generation":1e-8,"platform":0,"total":1e-8}},"price":"custom model"}},
                {{"model":"m","usage":{{"input_tokens":10,"output_tokens":5}},"usage_kinds":{{"cached_tokens":4}},"cost":{{"generation":0.5,"platform":0,"total":0.5}},"price":"{BOOK}"}},
                {{"model":"m","status":"unavailable","usage":{{"input_tokens":0}},"cost":{{"generation":0,"platform":0,"total":0}}}}
            ],"cost":{{"generation":0.5,"platform":0,"total":0.5}},"cost_status":"exact","latency_ms":1}}"#
        );

        let recounted = changed(counted(&meta, &own(2_000)));

        // 6 x 2 + 4 x 1 nano-USD, and half of it on top.
        let expected = r#"{"tags":{"a":1.0},"models_tried":[{"model":"mine","status":"mismatched","usage":{"input_tokens":10},"cost":{"generation":1e-8,"platform":0,"total":1e-8},"price":"custom model"},{"model":"m","usage":{"input_tokens":10,"output_tokens":5},"usage_kinds":{"cached_tokens":4},"cost":{"generation":1.6e-8,"platform":8e-9,"total":2.4e-8},"price":"file p-ba7816bf openai/gpt-4o"},{"model":"m","status":"unavailable","usage":{"input_tokens":0},"cost":{"generation":0,"platform":0,"total":0}}],"cost":{"generation":2.6e-8,"platform":8e-9,"total":3.4e-8},"cost_status":"exact","latency_ms":1}"#;
        assert_eq!(recounted.meta.text(), expected);
        let change = Change {
            attempts: 1,
            before: Usd::from_nanos(500_000_000),
            after: Usd::from_nanos(16),
        };
        assert_eq!(recounted.changes, [("m".to_owned(), change)]);
        // Once is enough.
        assert_eq!(
            counted(recounted.meta.text(), &own(2_000)),
            Some(Recount::Same)
        );
    }

    #[test]
    fn what_had_no_price_gets_one_and_what_has_none_any_more_says_so() {
        let meta = |price: &str, generation: &str, status: &str| {
            format!(
                r#"{{"models_tried":[{{"model":"m","usage":{{"input_tokens":10}},"cost":{{"generation":{generation},"platform":0,"total":{generation}}},"price":"{price}"}}],"usage_estimated":true,"cost":{{}},"cost_status":"{status}"}}"#
            )
        };
        let of = |text: &str, book: &PriceBook| {
            let recounted = changed(counted(text, book));
            let members: JsonObject = read(&recounted.meta).unwrap();
            let member = |name: &str| members[name].text().to_owned();
            (member("cost"), member("cost_status"))
        };

        let priced = of(&meta("unpriced openai/gpt-4o", "0", "unknown"), &own(2_000));
        let gone = of(&meta("file p-0 mine/llama", "0.1", "estimated"), &own(1));
        let cost = |generation: &str, platform: &str, total: &str| {
            format!(r#"{{"generation":{generation},"platform":{platform},"total":{total}}}"#)
        };
        assert_eq!(
            priced,
            (cost("2e-8", "1e-8", "3e-8"), "\"estimated\"".to_owned())
        );
        assert_eq!(gone, (cost("0.0", "0.0", "0.0"), "\"unknown\"".to_owned()));
    }

    #[test]
    fn what_others_said_stays() {
        for attempt in [
            r#""price":"book v openai/gpt-4o","reported_cost":0.5"#,
            r#""price":"custom model""#,
            r#""price":"built in""#,
            r#""price":"unpriced""#,
            r#""status":"unavailable""#,
        ] {
            let meta = format!(
                r#"{{"models_tried":[{{"model":"m","usage":{{"input_tokens":10}},"cost":{{"generation":0.5}},{attempt}}}],"cost_status":"exact"}}"#
            );
            assert_eq!(
                counted(&meta, &own(2_000)),
                Some(Recount::Same),
                "{attempt}"
            );
        }
    }

    #[test]
    fn several_requests_are_counted_one_by_one_or_not_at_all() {
        let meta = |each: &str| {
            format!(
                r#"{{"models_tried":[{{"model":"m","requests":3,"usage":{{"input_tokens":9}},{each}"cost":{{"generation":0.5}},"price":"{BOOK}"}}],"cost_status":"exact"}}"#
            )
        };
        // 9 x 0.5 nano-USD are 4.5 and round to 4; of each request 1.5, which is 2.
        let kept =
            r#""usage_each":[{"requests":2,"input_tokens":3},{"requests":1,"input_tokens":3}],"#;

        let recounted = changed(counted(&meta(kept), &own(500)));

        let change = Change {
            attempts: 3,
            before: Usd::from_nanos(500_000_000),
            after: Usd::from_nanos(6),
        };
        assert_eq!(recounted.changes, [("m".to_owned(), change)]);
        for lost in ["", r#""usage_each":[{"requests":2,"input_tokens":3}],"#] {
            let same = counted(&meta(lost), &own(500));
            assert_eq!(same, Some(Recount::Same), "{lost}");
        }
    }

    #[test]
    fn what_is_no_call_is_passed_over() {
        for meta in [
            "{}",
            r#"{"models_tried":3}"#,
            r#"{"models_tried":[3]}"#,
            r#"{"models_tried":[{"model":"m","usage":{"input_tokens":-1},"price":"book v openai/gpt-4o"}]}"#,
        ] {
            assert_eq!(counted(meta, &own(2_000)), None, "{meta}");
        }
        assert_eq!(
            counted(r#"{"models_tried":[]}"#, &own(1)),
            Some(Recount::Same)
        );
    }
}
