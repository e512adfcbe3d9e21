//! What hosts say that an answer took: counts under many names, and what some of them say that it costs.

use domain::{Json, JsonObject, Usage, UsageReport, Usd};
use serde::Deserialize;
use serde_json::Value;

use crate::count::whole;

/// 1 USD is 1e10 ticks: <https://docs.x.ai/developers/cost-tracking>.
const PICOS_PER_TICK: i128 = 100;

const INPUT: [&str; 2] = ["prompt_tokens", "input_tokens"];
const OUTPUT: [&str; 2] = ["completion_tokens", "output_tokens"];
/// Places of the kinds of tokens, from the root of the object.
type Places = &'static [&'static str];
const REASONING: Places = &[
    "/completion_tokens_details/reasoning_tokens",
    "/output_tokens_details/reasoning_tokens",
    // SGLang and Perplexity.
    "/reasoning_tokens",
];
const CACHED: Places = &[
    "/prompt_tokens_details/cached_tokens",
    "/input_tokens_details/cached_tokens",
    // https://api-docs.deepseek.com/api/create-chat-completion
    "/prompt_cache_hit_tokens",
    // Moonshot and Together.
    "/cached_tokens",
    // LiteLLM and Databricks, of Anthropic's models.
    "/cache_read_input_tokens",
];
const CACHE_WRITE: Places = &[
    // https://openrouter.ai/docs/use-cases/usage-accounting
    "/prompt_tokens_details/cache_write_tokens",
    // LiteLLM.
    "/prompt_tokens_details/cache_creation_tokens",
    // https://www.alibabacloud.com/help/en/model-studio/context-cache
    "/prompt_tokens_details/cache_creation_input_tokens",
    // LiteLLM, Databricks and Vercel's gateway, of Anthropic's models.
    "/cache_creation_input_tokens",
];
/// Places of what Anthropic's way to count has beside the input, and not in it.
const BESIDE: Places = &["/cache_read_input_tokens", "/cache_creation_input_tokens"];
const AUDIO_INPUT: Places = &[
    "/prompt_tokens_details/audio_tokens",
    "/input_tokens_details/audio_tokens",
];
const AUDIO_OUTPUT: Places = &[
    "/completion_tokens_details/audio_tokens",
    "/output_tokens_details/audio_tokens",
];
const IMAGE_OUTPUT: Places = &[
    "/completion_tokens_details/image_tokens",
    "/output_tokens_details/image_tokens",
];

/// What a chat took; `None` without counts that make sense.
pub(super) fn of_chat(usage: &Value, body: &[u8]) -> Option<UsageReport> {
    let counts = counts(usage)?;
    Some(report(counts, usage, body))
}

/// What embedding took; `None` without a count that makes sense.
pub(super) fn of_texts(usage: &Value, body: &[u8]) -> Option<UsageReport> {
    let input_tokens = named(usage, &INPUT).or_else(|| whole(&usage["total_tokens"]))?;
    let counts = Usage {
        input_tokens,
        ..Usage::default()
    };
    Some(report(counts, usage, body))
}

/// What making images took; `None` without counts that make sense, where it does not say the cost either.
pub(super) fn of_images(usage: &Value, body: &[u8]) -> Option<UsageReport> {
    let counted = counts(usage);
    let is_counted = counted.is_some();
    let mut counts = counted.unwrap_or_default();
    // https://platform.openai.com/docs/api-reference/images/object: unless said otherwise, what was received is images.
    if usage
        .get("output_tokens_details")
        .is_none_or(Value::is_null)
    {
        counts.image_output_tokens = counts.output_tokens;
    }
    let report = report(counts, usage, body);
    (is_counted || report.cost.is_some()).then_some(report)
}

/// What an answer of whatever kind took.
pub(super) fn of_any(usage: &Value, body: &[u8]) -> Option<UsageReport> {
    match named(usage, &OUTPUT) {
        Some(_) => of_chat(usage, body),
        None => of_texts(usage, body),
    }
}

fn report(usage: Usage, said: &Value, body: &[u8]) -> UsageReport {
    UsageReport {
        usage,
        cost: cost(said, body),
        raw: said.is_object().then(|| Json::of(said)),
    }
}

/// The counts; a part is never more than its whole. More out of the cache than was sent is no count at all: nobody knows
/// which of the two is wrong.
fn counts(usage: &Value) -> Option<Usage> {
    let sent = named(usage, &INPUT)?;
    let answered = named(usage, &OUTPUT)?;
    let (reasoning, cached, written) = (
        first(usage, REASONING),
        first(usage, CACHED),
        first(usage, CACHE_WRITE),
    );
    // xAI and Perplexity count reasoning beside the answer, the others inside of it; the total or the size tells which.
    let total = whole(&usage["total_tokens"]);
    let is_beside =
        reasoning > answered || (reasoning > 0 && total == Some(sent + answered + reasoning));
    let output_tokens = if is_beside {
        answered + reasoning
    } else {
        answered
    };
    // What was cached is a part of what was sent, but in Anthropic's own way to count.
    let input_tokens = if cached + written <= sent {
        sent
    } else if first(usage, BESIDE) > 0 {
        sent + cached + written
    } else {
        return None;
    };
    let rest = input_tokens - cached - written;
    let said = output_tokens - reasoning;
    let audio_output_tokens = first(usage, AUDIO_OUTPUT).min(said);
    Some(Usage {
        input_tokens,
        output_tokens,
        reasoning_tokens: reasoning,
        cached_tokens: cached,
        cache_write_tokens: written,
        audio_input_tokens: first(usage, AUDIO_INPUT).min(rest),
        audio_output_tokens,
        image_output_tokens: first(usage, IMAGE_OUTPUT).min(said - audio_output_tokens),
        ..Usage::default()
    })
}

fn named(usage: &Value, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| whole(&usage[name]))
}

/// The first count that is not zero.
fn first(usage: &Value, places: Places) -> u64 {
    let mut counts = places
        .iter()
        .filter_map(|place| whole(usage.pointer(place)?));
    counts.find(|count| *count > 0).unwrap_or(0)
}

/// What the host says that the answer costs, read from the text of the body: a float could not hold it.
fn cost(usage: &Value, body: &[u8]) -> Option<Usd> {
    const NAMES: [&str; 3] = ["cost", "cost_in_usd_ticks", "estimated_cost"];
    #[derive(Deserialize)]
    struct Billed {
        usage: JsonObject,
    }
    if !NAMES.into_iter().any(|name| usage.get(name).is_some()) {
        return None;
    }
    let bill = serde_json::from_slice::<Billed>(body).ok()?.usage;
    let read = [credits, ticks, estimate];
    read.into_iter().find_map(|read| read(&bill))
}

/// `cost` in USD. `OpenRouter`'s is its own fee alone where another provider bills the caller's own key, and
/// Perplexity's an object.
fn credits(bill: &JsonObject) -> Option<Usd> {
    let cost = bill.get("cost")?;
    if cost.is_object() {
        return total(&cost.to_value());
    }
    let fee = amount(cost)?;
    if bill.get("is_byok").is_none_or(|own| own.text() != "true") {
        return Some(fee);
    }
    let details = bill.get("cost_details");
    let billed = details.and_then(|details| amount(&member(details, "upstream_inference_cost")?));
    Some(fee + billed.unwrap_or_default())
}

/// The whole of a cost that is told in its parts.
pub(crate) fn total(cost: &Value) -> Option<Usd> {
    // The shortest text of the number is the one that it came in.
    amount(&Json::of(&cost["total_cost"]))
}

fn ticks(bill: &JsonObject) -> Option<Usd> {
    let ticks: u64 = bill.get("cost_in_usd_ticks")?.text().parse().ok()?;
    Some(Usd::from_picos(i128::from(ticks) * PICOS_PER_TICK))
}

/// `DeepInfra`'s.
fn estimate(bill: &JsonObject) -> Option<Usd> {
    amount(bill.get("estimated_cost")?)
}

fn member(object: &Json, name: &str) -> Option<Json> {
    let mut members: JsonObject = serde_json::from_str(object.text()).ok()?;
    members.shift_remove(name)
}

fn amount(number: &Json) -> Option<Usd> {
    match number.as_string() {
        Some(text) => Usd::from_decimal(&text),
        None => Usd::from_decimal(number.text()),
    }
}
