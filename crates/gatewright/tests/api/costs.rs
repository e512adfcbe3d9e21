//! What calls cost, when much goes wrong: every amount adds up, in the answer and in the span alike.

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use testkit::{Answer, Received, Script};

use crate::server::{Api, Server, read};

/// Per token, of the two models that a call may be asked of.
const PRICES: [(f64, f64); 2] = [(0.000_000_15, 0.000_000_6), (0.000_003, 0.000_018_75)];
const AT_ONCE: usize = 32;

#[tokio::test]
async fn what_calls_cost_adds_up_whatever_goes_wrong() {
    let calls: usize = std::env::var("CALLS").map_or(300, |calls| calls.parse().unwrap());
    let count = AtomicU64::new(7);
    let (server, upstream) = Server::with_upstream_and(
        Script::by(move |request| faulty(request, &count)),
        &[("GATEWRIGHT_PRICES__MARKUP", "0.07")],
    )
    .await;
    let api = server.api();
    for (index, (input, output)) in PRICES.iter().enumerate() {
        let extra = json!({
            "api_base": upstream.base_url(), "input_cost_per_token": input, "output_cost_per_token": output,
            "cost_per_request": 0.000_000_001,
        });
        let model = json!({"name": format!("m{index}"), "identifier": format!("openai/m{index}"), "extra": extra});
        api.post("/v2/models/custom", model).await;
    }
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let mut functions = Vec::new();
    for (name, output_schema) in [("text", Value::Null), ("value", schema)] {
        let function = json!({
            "name": name, "instructions": "x", "model": ["m0", "m1"], "output_schema": output_schema,
            "configuration": {"invocation.structured_generation.max_attempts": 4},
        });
        functions.push(api.function(function).await);
    }

    let (api, functions) = (&api, &functions);
    let calling = (0..calls).map(|index| async move {
        let function = &functions[index % 2];
        let is_streamed = index % 3 == 0;
        one_call(api, function, is_streamed).await
    });
    let outcomes: Vec<Outcome> = stream::iter(calling)
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;

    let sum = |of: fn(&Outcome) -> usize| outcomes.iter().map(of).sum::<usize>();
    let (attempts, repeats) = (
        sum(|it| it.attempts),
        sum(|it| usize::from(it.attempts > 1)),
    );
    let failed = sum(|it| usize::from(it.failed));
    println!(
        "{calls} calls: {failed} failed, {repeats} took several attempts, {attempts} attempts; 0 sums off"
    );
    assert!(
        repeats > calls / 10 && failed > 0 && failed < calls / 2,
        "{repeats} {failed}"
    );
}

struct Outcome {
    attempts: usize,
    failed: bool,
}

/// Calls, and checks the sums of answer and span.
async fn one_call(api: &Api, function: &Value, is_streamed: bool) -> Outcome {
    let id = function["id"].as_str().unwrap();
    let (path, body) = (format!("/v2/functions/{id}/call"), json!({"input": "go"}));
    let answer = if is_streamed {
        read(api.open_stream(&format!("{path}/stream"), &body).await).await
    } else {
        api.post(&path, body).await
    };
    let told = if is_streamed && answer.status == 200 {
        let last = answer.text.trim_end().rsplit("data: ").next().unwrap();
        serde_json::from_str(last).unwrap()
    } else {
        answer.body.clone()
    };
    let span = api.span(&answer).await;
    let meta = &span["meta"];
    let tried = meta["models_tried"].as_array().unwrap();

    let spent: i64 = tried
        .iter()
        .map(|attempt| nanos(&attempt["cost"]["generation"]))
        .sum();
    let platform: i64 = tried
        .iter()
        .map(|attempt| nanos(&attempt["cost"]["platform"]))
        .sum();
    assert_eq!(nanos(&meta["cost"]["generation"]), spent, "{span}");
    assert_eq!(nanos(&meta["cost"]["platform"]), platform, "{span}");
    assert_eq!(nanos(&meta["cost"]["total"]), spent + platform, "{span}");
    for attempt in tried {
        assert_eq!(
            nanos(&attempt["cost"]["generation"]),
            priced(attempt),
            "{attempt}"
        );
    }
    for member in ["input_tokens", "output_tokens"] {
        let sum: i64 = tried
            .iter()
            .map(|attempt| attempt["usage"][member].as_i64().unwrap())
            .sum();
        assert_eq!(meta["usage"][member], json!(sum), "{span}");
    }
    if let Some(cost) = told.get("cost") {
        assert_eq!(
            (cost, &told["usage"]),
            (&meta["cost"], &meta["usage"]),
            "{span}"
        );
        let total = cost["generation"].as_f64().unwrap() + cost["platform"].as_f64().unwrap();
        assert!(
            (cost["total"].as_f64().unwrap() - total).abs() < 1e-12,
            "{cost}"
        );
    }
    Outcome {
        attempts: tried.len(),
        failed: !span["error"].is_null(),
    }
}

/// What an attempt's tokens cost by hand, in nano-USD, halves to even; nothing, if it took none.
fn priced(attempt: &Value) -> i64 {
    let usage = &attempt["usage"];
    let count = |member: &str| i128::from(usage[member].as_i64().unwrap());
    if count("total_tokens") == 0 {
        return 0;
    }
    let index = usize::from(attempt["model"] == "m1");
    let picos = [[150_000, 600_000], [3_000_000, 18_750_000]][index];
    let picos = count("input_tokens") * picos[0] + count("output_tokens") * picos[1] + 1_000;
    let (whole, rest) = (picos / 1_000, picos % 1_000);
    let up = rest > 500 || (rest == 500 && whole % 2 == 1);
    i64::try_from(whole + i128::from(up)).unwrap()
}

#[expect(clippy::cast_possible_truncation, reason = "amounts are small")]
fn nanos(usd: &Value) -> i64 {
    (usd.as_f64().unwrap() * 1e9).round() as i64
}

/// A host on a bad day: limits, failures, cuts, wrong values and missing counts, in an order of its own.
fn faulty(request: &Received, count: &AtomicU64) -> Answer {
    let mut chance = count.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
    chance = (chance ^ (chance >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    chance ^= chance >> 27;
    let (tokens, kind) = (chance % 977, (chance >> 20) % 100);
    let is_streamed = request.json()["stream"] == true;
    match kind {
        0..5 => Answer::error(429, "slow down").header("retry-after", "0"),
        5..10 => Answer::error(500, "broken"),
        10..14 => Answer::error(503, "busy").header("retry-after", "0"),
        14..17 => Answer::cut(),
        17..19 => Answer::error(400, "no"),
        19..35 => Answer::text(r#"{"n": "one"}"#).usage(tokens, chance % 53),
        35..40 => Answer::text(r#"{"n": 1}"#).without_usage(),
        40..44 if is_streamed => Answer::text(r#"{"n": 12345678}"#)
            .piece_bytes(4)
            .cut_after_pieces(2),
        _ => Answer::text(r#"{"n": 1}"#).usage(tokens, chance % 53),
    }
}
