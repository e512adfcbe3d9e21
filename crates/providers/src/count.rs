//! Counts in the answers of providers.

use serde_json::Value;

/// Above this, whole numbers have gaps in many a JSON reader; a count that large is none.
const MAX_COUNT: u64 = 1 << 53;

/// The number, if it is one that counts: not negative, whole, and of some sense. Cohere writes `37.0` for 37.
pub(crate) fn whole(number: &Value) -> Option<u64> {
    let count = number.as_u64().or_else(|| of_float(number.as_f64()?));
    count.filter(|count| *count <= MAX_COUNT)
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
