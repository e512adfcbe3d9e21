//! Amounts of money on a terminal: exact, without a binary float.

/// Places of a pico-USD, where the price is per USD.
pub(super) const PER_UNIT: u32 = 12;
/// Places of a pico-USD per token, where the price is per million tokens.
pub(super) const PER_MILLION: u32 = 6;
/// Places of a nano-USD.
pub(super) const NANO: u32 = 9;

/// An amount that has so many places behind its point, without zeros at the end.
pub(super) fn decimal(amount: i64, places: u32) -> String {
    let unit = 10_u64.pow(places);
    let (whole, rest) = (amount.unsigned_abs() / unit, amount.unsigned_abs() % unit);
    let sign = if amount < 0 { "-" } else { "" };
    let width = usize::try_from(places).unwrap_or_default();
    let rest = format!("{rest:0width$}");
    match rest.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        rest => format!("{sign}{whole}.{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_exactly() {
        for (amount, places, expected) in [
            (2_500_000, PER_MILLION, "2.5"),
            (75_000, PER_MILLION, "0.075"),
            (1, PER_UNIT, "0.000000000001"),
            (0, NANO, "0"),
            (-1_500_000_000, NANO, "-1.5"),
            (12_000_000_000, NANO, "12"),
        ] {
            assert_eq!(decimal(amount, places), expected);
        }
    }
}
