//! Decimal numbers as they are written, in whole units of a power of ten. No binary float is on the way.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, de};

/// Pico-USD per USD, as a power of ten.
const PICO: i32 = 12;
/// Nine thousand USD: no price is higher, and sums of them stay far from the end of an integer.
const MAX: i64 = 9_000_000_000_000_000;
const MAX_DIGITS: usize = 30;

/// A decimal number times ten to the power of `shift`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scaled {
    /// What it comes to, half to even.
    pub amount: i64,
    /// Whether nothing was rounded.
    pub is_whole: bool,
}

impl Scaled {
    /// Reads digits with an optional fraction and exponent; `None` for anything else, and for what is beyond any price.
    pub fn read(text: &str, shift: i32) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i16>().ok()?.into()),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: Cow<'_, str> = match fraction {
            "" => whole.into(),
            _ => (whole.to_owned() + fraction).into(),
        };
        let is_plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_plain(&digits) || mantissa.ends_with('.') {
            return None;
        }
        let digits = digits.trim_start_matches('0');
        if digits.len() > MAX_DIGITS {
            return None;
        }
        let number: u128 = if digits.is_empty() {
            0
        } else {
            digits.parse().ok()?
        };
        let power = exponent + shift - i32::try_from(fraction.len()).ok()?;
        let (amount, is_whole) = scale(number, power)?;
        let amount = i64::try_from(amount).ok().filter(|amount| *amount <= MAX)?;
        Some(Self { amount, is_whole })
    }
}

fn scale(number: u128, power: i32) -> Option<(u128, bool)> {
    if number == 0 {
        return Some((0, true));
    }
    let Some(unit) = 10u128.checked_pow(power.unsigned_abs()) else {
        return (power < 0).then_some((0, false));
    };
    if power >= 0 {
        return Some((number.checked_mul(unit)?, true));
    }
    let (whole, rest) = (number / unit, number % unit);
    let half = unit / 2;
    let up = rest > half || (rest == half && whole % 2 == 1);
    Some((whole + u128::from(up), rest == 0))
}

/// An amount of USD that a client writes as a JSON number, in pico-USD; `None` if it is no price, being negative or
/// absurdly high.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UsdNumber(pub(crate) Option<i64>);

impl<'de> Deserialize<'de> for UsdNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = domain::Json::deserialize(deserializer)?;
        let text = json.text();
        if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
            return Err(de::Error::custom("not a number"));
        }
        Ok(Self(Scaled::read(text, PICO).map(|scaled| scaled.amount)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, shift: i32) -> Option<(i64, bool)> {
        Scaled::read(text, shift).map(|scaled| (scaled.amount, scaled.is_whole))
    }

    #[test]
    fn decimals_are_read_exactly() {
        for (text, shift, expected) in [
            ("0.15", 6, (150_000, true)),
            ("2", 6, (2_000_000, true)),
            ("0.000000150", PICO, (150_000, true)),
            ("1.875e-8", PICO, (18_750, true)),
            ("1E2", 0, (100, true)),
            ("0", PICO, (0, true)),
            ("0.0", PICO, (0, true)),
            ("0e-400", PICO, (0, true)),
            // What a client computed with binary floats.
            ("1.5000000000000002e-07", PICO, (150_000, false)),
            ("3.3333333333333335e-07", PICO, (333_333, false)),
            ("1e-300", PICO, (0, false)),
            ("0.5", 0, (0, false)),
            ("1.5", 0, (2, false)),
            ("2.5", 0, (2, false)),
            ("0.1230", 3, (123, true)),
        ] {
            assert_eq!(read(text, shift), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for text in [
            "",
            "-1",
            "+1",
            ".5",
            "5.",
            "1,5",
            "1 ",
            "0x10",
            "inf",
            "nan",
            "1e",
            "e5",
            "1e99999",
            "1e10",
            "99999999999999999999999999999999",
            "1_000",
            "٣",
        ] {
            assert_eq!(read(text, PICO), None, "{text}");
        }
    }

    #[test]
    fn a_client_writes_a_number() {
        let read = |text: &str| serde_json::from_str::<UsdNumber>(text).ok();

        assert_eq!(read("1e-6"), Some(UsdNumber(Some(1_000_000))));
        assert_eq!(read("-1"), Some(UsdNumber(None)));
        assert_eq!(read("1e9"), Some(UsdNumber(None)));
        assert_eq!(read("\"1\""), None);
        assert_eq!(read("true"), None);
    }
}
