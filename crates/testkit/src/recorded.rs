//! Spans as calls leave them, by number: whoever knows the number knows the span's id.

use std::fmt::Write;

use domain::{Json, ProjectId, Span, SpanId, SpanKind, Timestamp};
use serde_json::json;
use uuid::Uuid;

use crate::mixed;

/// When the first of them began.
const FIRST: i64 = 1_735_689_600_000_000;
const WORDS: [&str; 24] = [
    "which", "way", "leads", "north", "from", "the", "old", "harbour", "and", "how", "long",
    "does", "it", "take", "on", "foot", "when", "a", "storm", "is", "near", "please", "answer",
    "briefly",
];

/// The id of the span of that number: in the order of time, as those of calls are.
pub fn id(number: u64) -> SpanId {
    let millis = u128::from(FIRST.unsigned_abs() / 1000 + number);
    let chance = u128::from(mixed(number));
    let fixed = (0x7_u128 << 76) | (0b10_u128 << 62);
    Uuid::from_u128((millis << 80) | fixed | (chance & 0x3fff_ffff_ffff_ffff)).into()
}

/// The span of that number; `bytes` is how long its input is, its output a quarter of that.
pub fn span(number: u64, project: ProjectId, bytes: usize) -> Span {
    let start = Timestamp::from_micros(FIRST.saturating_add_unsigned(number * 1000));
    let cost = json!({"generation": 0.000_45, "platform": 0.0, "total": 0.000_45});
    let usage = json!({"input_tokens": number % 977, "output_tokens": 60, "total_tokens": number % 977 + 60});
    let meta = json!({
        "tags": {"team": "maps", "try": number % 5},
        "function_id": Uuid::from_u128(u128::from(number % 31)),
        "function_name": "maps/answer",
        "revision_id": Uuid::from_u128(u128::from(number % 31) + 100),
        "streamed": false,
        "model": "openai/gpt-4o-mini",
        "models_tried": [{
            "model": "openai/gpt-4o-mini", "status": "answered", "reason": null, "ms": number % 1500, "usage": usage,
            "cost": cost, "price": "the price book of 2026-11-01",
        }],
        "attempts": 1, "cached": false, "finish_reason": "stop", "usage": usage, "cost": cost,
        "cost_status": "exact", "latency_ms": number % 1500, "few_shot_count": 0,
        "observer": {"score": 100, "observations": "nothing stands out"},
    });
    Span {
        id: id(number),
        project,
        name: "maps/answer".to_owned(),
        kind: Some(SpanKind::GENERATION),
        trace_id: Uuid::from_u128(u128::from(mixed(number + 1))).into(),
        parent_id: None,
        start_time: Some(start),
        end_time: Some(start),
        input: Some(Json::of(&json!({"question": text(number, bytes)}))),
        output: Some(Json::of(&text(mixed(number), bytes / 4))),
        error: None,
        meta: Json::of(&meta),
        score: Some(100),
        feedback: None,
    }
}

/// Words in an order of their own.
fn text(seed: u64, bytes: usize) -> String {
    let (mut text, mut state) = (String::with_capacity(bytes + 16), seed);
    while text.len() < bytes {
        state = mixed(state);
        let word = WORDS[usize::try_from(state % 24).unwrap_or_default()];
        let _ = match state >> 60 {
            0 => write!(text, "{} ", state & 0xffff),
            _ => write!(text, "{word} "),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_in_order_and_of_the_seventh_version() {
        let ids: Vec<Uuid> = (0..1000).map(|number| id(number).uuid()).collect();

        assert!(ids.is_sorted_by(|one, next| one < next));
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
    }

    #[test]
    fn a_span_is_as_long_as_is_asked_for() {
        let span = span(7, id(0).uuid().into(), 4000);

        let (input, output) = (span.input.unwrap(), span.output.unwrap());
        assert!((4000..4100).contains(&input.text().len()));
        assert!((1000..1100).contains(&output.text().len()));
        assert_eq!(span.id, id(7));
    }
}
