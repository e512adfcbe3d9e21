//! Made-up texts and numbers within the bounds of a schema.

use serde_json::{Map, Number, Value};

use super::{fits::Document, format, pattern};

/// Longer texts are not made.
const MAX_LENGTH: usize = 16 * 1024;

/// A text for the member `name`; another `variant` gives another text.
pub(super) fn text(
    document: &Document<'_>,
    schema: &Map<String, Value>,
    name: &str,
    variant: usize,
) -> Option<Value> {
    let length = |keyword: &str| {
        let bound = schema.get(keyword).and_then(Value::as_u64);
        bound.map(|bound| usize::try_from(bound).unwrap_or(usize::MAX))
    };
    let (least, most) = (length("minLength").unwrap_or(0), length("maxLength"));
    if least > MAX_LENGTH {
        return None;
    }
    let mut texts = Vec::new();
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        texts.extend(pattern::examples(pattern, variant, least));
    }
    if let Some(format) = schema.get("format").and_then(Value::as_str) {
        texts.extend(format::example(format, variant));
    }
    texts.push(named(name, variant, least, most.unwrap_or(MAX_LENGTH)));
    let schema = Value::Object(schema.clone());
    let mut values = texts.into_iter().map(Value::String);
    values.find(|value| document.fits(&schema, value))
}

fn named(name: &str, variant: usize, least: usize, most: usize) -> String {
    let name = if name.is_empty() { "text" } else { name };
    let tail = if variant == 0 {
        String::new()
    } else {
        format!("-{}", variant + 1)
    };
    let room = most.saturating_sub(tail.len());
    let need = least.saturating_sub(tail.len());
    let letters = name.chars().count();
    let kept = letters.max(need).min(room);
    let head: String = name.chars().cycle().take(kept).collect();
    let whole = head + &tail;
    // Where the number leaves no room for the name, its last digits tell the variants apart.
    let skipped = whole.chars().count().saturating_sub(most);
    whole.chars().skip(skipped).collect()
}

/// A whole number; another `variant` gives another one.
pub(super) fn integer(schema: &Map<String, Value>, variant: usize) -> Option<Value> {
    let bounds = Bounds::of(schema);
    let step = schema.get("multipleOf").and_then(whole);
    let step = step.filter(|step| *step > 0).unwrap_or(1);
    let offset = i128::try_from(variant).ok()?.checked_mul(step)?;
    let lowest = bounds
        .lowest_whole
        .map(|low| low.div_euclid(step) * step + if low.rem_euclid(step) == 0 { 0 } else { step });
    let highest = bounds
        .highest_whole
        .map(|high| high.div_euclid(step) * step);
    let number = match (lowest, highest) {
        (Some(low), _) => low + offset,
        (None, Some(high)) if high < step => high - offset,
        (None, _) => step + offset,
    };
    Number::from_i128(number).map(Value::Number)
}

/// A number; another `variant` gives another one.
pub(super) fn number(
    document: &Document<'_>,
    schema: &Map<String, Value>,
    variant: usize,
) -> Option<Value> {
    let whole = Value::Object(schema.clone());
    let fitting = |value: &Value| document.fits(&whole, value);
    if let Some(value) = integer(schema, variant).filter(fitting) {
        return Some(value);
    }
    let Bounds { low, high, .. } = Bounds::of(schema);
    #[expect(clippy::cast_precision_loss, reason = "variants are few")]
    let variant = variant as f64;
    if let Some(factor) = schema.get("multipleOf").and_then(Value::as_f64) {
        let first = match (low, high) {
            (Some(low), _) => (low / factor).ceil(),
            (None, Some(high)) if high < factor => (high / factor).floor() - variant * 2.0,
            _ => 1.0,
        };
        let multiples = [0.0, 1.0].map(|more| multiple(first + variant + more, factor));
        return multiples.into_iter().flatten().find(fitting);
    }
    let (low, high) = (
        low.unwrap_or(f64::MIN / 4.0),
        high.unwrap_or(f64::MAX / 4.0),
    );
    let inner = low + (high - low) * ((variant + 1.0) / (variant + 2.0));
    let numbers = [inner, low, high];
    let mut values = numbers
        .into_iter()
        .filter_map(Number::from_f64)
        .map(Value::Number);
    values.find(fitting)
}

/// `times` the factor, without the dust that binary floats leave behind.
fn multiple(times: f64, factor: f64) -> Option<Value> {
    let digits = factor.to_string();
    let digits = digits
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len());
    let text = format!("{:.digits$}", times * factor);
    Number::from_f64(text.parse().ok()?).map(Value::Number)
}

/// The bounds of a number.
struct Bounds {
    low: Option<f64>,
    high: Option<f64>,
    lowest_whole: Option<i128>,
    highest_whole: Option<i128>,
}

impl Bounds {
    fn of(schema: &Map<String, Value>) -> Self {
        let float = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
        let above = |keyword: &str| {
            schema
                .get(keyword)
                .and_then(|bound| rounded(bound, f64::ceil))
        };
        let below = |keyword: &str| {
            schema
                .get(keyword)
                .and_then(|bound| rounded(bound, f64::floor))
        };
        let more = schema
            .get("exclusiveMinimum")
            .and_then(|bound| rounded(bound, f64::floor));
        let less = schema
            .get("exclusiveMaximum")
            .and_then(|bound| rounded(bound, f64::ceil));
        let lows = [float("minimum"), float("exclusiveMinimum")];
        let highs = [float("maximum"), float("exclusiveMaximum")];
        Self {
            low: lows.into_iter().flatten().reduce(f64::max),
            high: highs.into_iter().flatten().reduce(f64::min),
            lowest_whole: above("minimum").max(more.map(|bound| bound + 1)),
            highest_whole: [below("maximum"), less.map(|bound| bound - 1)]
                .into_iter()
                .flatten()
                .min(),
        }
    }
}

fn whole(value: &Value) -> Option<i128> {
    value.as_number()?.as_i128().or_else(|| {
        let number = value.as_f64()?;
        (number.fract() == 0.0).then(|| rounded(value, f64::trunc))?
    })
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "larger bounds are cut to the range"
)]
fn rounded(bound: &Value, round: fn(f64) -> f64) -> Option<i128> {
    let number = bound.as_number()?;
    let float = || {
        number
            .as_f64()
            .map(|bound| round(bound).clamp(-1e30, 1e30) as i128)
    };
    number.as_i128().or_else(float)
}
