//! Counts in the answers of providers.

use domain::{Usage, UsageReport, seams::Taken};
use serde_json::Value;

/// Above this, whole numbers have gaps in many a JSON reader; a count that large is none.
const MAX_COUNT: u64 = 1 << 53;

/// The number, if it is one that counts: not negative, whole, and of some sense. Cohere writes `37.0` for 37.
pub(crate) fn whole(number: &Value) -> Option<u64> {
    let count = number.as_u64().or_else(|| of_float(number.as_f64()?));
    count.filter(|count| *count <= MAX_COUNT)
}

/// The sum of several counts, if it is still one.
pub(crate) fn sum(counts: impl IntoIterator<Item = Usage>) -> Option<Usage> {
    let mut sum = Usage::default();
    for count in counts {
        sum += count;
        // No other count is above these two.
        if sum.input_tokens.max(sum.output_tokens) > MAX_COUNT {
            return None;
        }
    }
    Some(sum)
}

/// What an answer took that is of no use: its host's own count, as `usage` reads it. Without one it is uncounted, if there
/// is something in one of those `lists`; else nothing came.
pub(crate) fn taken(
    body: &[u8],
    usage: impl FnOnce(&Value) -> Option<UsageReport>,
    lists: &[&str],
) -> Taken {
    let Ok(answer) = serde_json::from_slice::<Value>(body) else {
        return Taken::Nothing;
    };
    let counted = usage(&answer).filter(is_something);
    let has_some = |list: &&str| answer[*list].as_array().is_some_and(|it| !it.is_empty());
    if counted.is_none() && !lists.iter().any(has_some) {
        return Taken::Nothing;
    }
    counted.into()
}

/// Whether a count says that anything was taken.
pub(crate) fn is_something(report: &UsageReport) -> bool {
    report.usage != Usage::default() || report.cost.is_some()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is whole, and within the bounds"
)]
fn of_float(number: f64) -> Option<u64> {
    let is_count = number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number);
    is_count.then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_of_no_use_took_what_its_host_counted() {
        let usage = |answer: &Value| {
            let counts = Usage {
                input_tokens: whole(&answer["count"])?,
                ..Usage::default()
            };
            Some(UsageReport::from(counts))
        };
        let took = |body: &str| taken(body.as_bytes(), usage, &["data"]);
        let three = Usage {
            input_tokens: 3,
            ..Usage::default()
        };

        assert_eq!(took(r#"{"count":3}"#), Some(three.into()).into());
        assert_eq!(took(r#"{"data":[1]}"#), Taken::Uncounted);
        for nothing in ["", "{}", "[]", r#"{"data":[]}"#, r#"{"count":0,"data":{}}"#] {
            assert_eq!(took(nothing), Taken::Nothing, "{nothing}");
        }
    }

    #[test]
    fn a_count_is_whole_and_of_some_sense() {
        let read = |text: &str| whole(&serde_json::from_str(text).unwrap());

        let counts = ["0", "37", "37.0", "9007199254740992"].map(read);
        let others = [
            "-1",
            "-1.0",
            "0.5",
            "9007199254740993",
            "1e300",
            "\"3\"",
            "null",
            "[1]",
        ];

        assert_eq!(counts, [0, 37, 37, 9_007_199_254_740_992].map(Some));
        assert_eq!(others.map(read), [None; 8]);
    }
}
