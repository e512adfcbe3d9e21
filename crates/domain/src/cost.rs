//! Money: integers all the way, never a binary float.

use std::ops::{Add, AddAssign};

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::Usage;

const PICO_PER_NANO: i128 = 1_000;
/// The places of a USD's decimal point before which a nano-USD stands.
const NANO_PLACES: i64 = 9;

/// An amount in nano-USD (1e-9 USD).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usd(i64);

impl Usd {
    /// From nano-USD.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// In nano-USD.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// Rounds pico-USD half to even.
    pub fn from_picos(picos: i128) -> Self {
        let (whole, rest) = (
            picos.div_euclid(PICO_PER_NANO),
            picos.rem_euclid(PICO_PER_NANO),
        );
        let half = PICO_PER_NANO / 2;
        let up = rest > half || (rest == half && whole % 2 != 0);
        Self(i64::try_from(whole + i128::from(up)).unwrap_or(i64::MAX))
    }

    /// An amount in USD as JSON and most programs write numbers, rounded once, half to even. `None` for anything else,
    /// a negative amount among it.
    pub fn from_decimal(text: &str) -> Option<Self> {
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let places = i64::try_from(fraction.len()).ok()?;
        let shift = NANO_PLACES + i64::from(exponent.parse::<i32>().ok()?) - places;
        if shift >= 0 {
            let nanos: i64 = digits.parse().ok()?;
            let factor = 10_i64.checked_pow(u32::try_from(shift).ok()?);
            let nanos = factor.and_then(|factor| nanos.checked_mul(factor));
            return nanos.map(Self);
        }
        let cut = usize::try_from(-shift).ok()?;
        // With fewer digits than are cut, the first of those is a zero.
        let Some(kept) = digits.len().checked_sub(cut) else {
            return Some(Self(0));
        };
        let (kept, cut) = digits.split_at(kept);
        let nanos: i64 = if kept.is_empty() {
            0
        } else {
            kept.parse().ok()?
        };
        let is_half = cut.trim_end_matches('0') == "5";
        let up = if is_half { nanos % 2 != 0 } else { cut >= "5" };
        nanos.checked_add(i64::from(up)).map(Self)
    }

    /// `self` times `factor` (a markup), rounded to the nano-USD.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "far below 2^53 nano-USD"
    )]
    pub fn times(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round_ties_even() as i64)
    }
}

impl Add for Usd {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Serialize for Usd {
    /// A JSON number in USD.
    #[expect(
        clippy::cast_precision_loss,
        reason = "amounts stay far below 2^53 nano-USD"
    )]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 1e9)
    }
}

/// How far a cost can be trusted (`interface.md` 15.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CostStatus {
    /// The provider's own usage and a known price.
    Exact,
    /// The usage was counted by us.
    Estimated,
    /// No price is known: the zero is not a price.
    Unknown,
}

/// What a model costs, in pico-USD (1e-12 USD) per unit. One USD per million tokens is 1,000,000.
///
/// A kind of token without a price of its own costs what input or output does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Price {
    /// Per token.
    pub tokens: TokenPrice,
    /// Per token of an input above a length, and of its whole answer.
    pub above: Option<Tier>,
    /// Per request that was answered; per search, where the provider bills one request as several.
    pub request: i64,
    /// Per image that was made.
    pub image: i64,
    /// Per page that was read.
    pub page: i64,
    /// Per second of sound.
    pub second: i64,
}

/// Prices per token, in pico-USD.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenPrice {
    /// Sent.
    pub input: i64,
    /// Sent, and read from the provider's cache.
    pub cached: Option<i64>,
    /// Sent, and written to the provider's cache.
    pub cache_write: Option<i64>,
    /// Sent, and written to the provider's cache for an hour; without a price of its own as all that is written there.
    pub cache_write_1h: Option<i64>,
    /// Sent as sound.
    pub audio_input: Option<i64>,
    /// Received.
    pub output: i64,
    /// Received as reasoning.
    pub reasoning: Option<i64>,
    /// Received as sound.
    pub audio_output: Option<i64>,
    /// Received as images.
    pub image_output: Option<i64>,
}

/// Other prices for long inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tier {
    /// Holds for inputs of more tokens than this.
    pub above_tokens: u64,
    /// The prices then.
    pub tokens: TokenPrice,
}

impl Price {
    /// What `usage` of one answered request costs, rounded once.
    pub fn of(&self, usage: &Usage) -> Usd {
        let long = self
            .above
            .filter(|tier| usage.input_tokens > tier.above_tokens);
        let tokens = long.map_or(self.tokens, |tier| tier.tokens);
        let units = [
            (usage.searches.max(1), self.request),
            (usage.images, self.image),
            (usage.pages, self.page),
            (usage.seconds, self.second),
        ];
        let units = units.map(|(count, price)| i128::from(count) * i128::from(price));
        Usd::from_picos(tokens.picos(usage) + units.into_iter().sum::<i128>())
    }
}

impl TokenPrice {
    /// Each token once: a kind with a price of its own is taken out of the input or output that it is a part of.
    fn picos(&self, usage: &Usage) -> i128 {
        let sum = |all: u64, price: i64, kinds: &[(u64, Option<i64>)]| {
            let (mut rest, mut picos) = (all, 0);
            for &(count, own) in kinds {
                let count = count.min(rest);
                rest -= count;
                picos += i128::from(count) * i128::from(own.unwrap_or(price));
            }
            picos + i128::from(rest) * i128::from(price)
        };
        let written = usage.cache_write_tokens;
        let for_an_hour = usage.cache_write_1h_tokens.min(written);
        let sent = [
            (usage.cached_tokens, self.cached),
            (for_an_hour, self.cache_write_1h.or(self.cache_write)),
            (written - for_an_hour, self.cache_write),
            (usage.audio_input_tokens, self.audio_input),
        ];
        let received = [
            (usage.reasoning_tokens, self.reasoning),
            (usage.audio_output_tokens, self.audio_output),
            (usage.image_output_tokens, self.image_output),
        ];
        sum(usage.input_tokens, self.input, &sent)
            + sum(usage.output_tokens, self.output, &received)
    }
}

/// What a call cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// What the models cost.
    pub generation: Usd,
    /// What the operator adds.
    pub platform: Usd,
}

impl Cost {
    /// Of both parts. The operator's gives way where an amount has no room for their sum.
    pub fn new(generation: Usd, platform: Usd) -> Self {
        let room = Usd(i64::MAX - generation.0.max(0));
        Self {
            generation,
            platform: platform.min(room),
        }
    }

    /// Whether it is as much as an amount has room for: then it may have been more.
    pub fn is_full(&self) -> bool {
        self.total().0 == i64::MAX
    }

    /// The sum of both parts.
    pub fn total(&self) -> Usd {
        self.generation + self.platform
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(
            self.generation + other.generation,
            self.platform + other.platform,
        )
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Serialize for Cost {
    /// The shape on the wire (`interface.md` 3.3).
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut cost = serializer.serialize_struct("Cost", 3)?;
        cost.serialize_field("generation", &self.generation)?;
        cost.serialize_field("platform", &self.platform)?;
        cost.serialize_field("total", &self.total())?;
        cost.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_below_a_nano_dollar_per_token_is_exact() {
        let price = Price {
            tokens: TokenPrice {
                input: 18_750,
                output: 150_000,
                ..TokenPrice::default()
            },
            ..Price::default()
        };
        let usage = Usage {
            input_tokens: 1_000,
            output_tokens: 10,
            ..Usage::default()
        };

        assert_eq!(price.of(&usage), Usd::from_nanos(18_750 + 1_500));
    }

    #[test]
    fn a_sum_is_the_sum_however_much_it_is() {
        let much = Cost::new(Usd(i64::MAX), Usd(i64::MAX / 10));
        let some = Cost::new(Usd(i64::MAX - 3), Usd(2));

        assert_eq!((much.generation, much.platform), (Usd(i64::MAX), Usd(0)));
        assert_eq!((some.platform, some.is_full()), (Usd(2), false));
        for sum in [much, some + some, some + much] {
            assert_eq!(sum.total().0, sum.generation.0 + sum.platform.0);
            assert!(sum.is_full());
        }
    }

    #[test]
    fn a_kind_of_token_is_billed_once_at_its_own_price() {
        let price = Price {
            tokens: TokenPrice {
                input: 3_000_000,
                cached: Some(300_000),
                cache_write: Some(3_750_000),
                output: 15_000_000,
                reasoning: Some(20_000_000),
                ..TokenPrice::default()
            },
            request: 5_000,
            ..Price::default()
        };
        let usage = Usage {
            input_tokens: 1_000,
            cached_tokens: 600,
            cache_write_tokens: 100,
            output_tokens: 50,
            reasoning_tokens: 20,
            ..Usage::default()
        };

        // 300 x 3,000 + 600 x 300 + 100 x 3,750 + 30 x 15,000 + 20 x 20,000 + 5
        assert_eq!(price.of(&usage), Usd::from_nanos(2_305_005));
    }

    #[test]
    fn what_is_written_for_an_hour_has_its_price_or_that_of_all_that_is_written() {
        let tokens = TokenPrice {
            input: 3_000_000,
            cache_write: Some(3_750_000),
            cache_write_1h: Some(6_000_000),
            ..TokenPrice::default()
        };
        let of = |cache_write_1h, cache_write_1h_tokens| {
            let tokens = TokenPrice {
                cache_write_1h,
                ..tokens
            };
            let price = Price {
                tokens,
                ..Price::default()
            };
            let usage = Usage {
                input_tokens: 1_000,
                cache_write_tokens: 600,
                cache_write_1h_tokens,
                ..Usage::default()
            };
            price.of(&usage).nanos()
        };

        // 400 x 3,000 + 200 x 3,750 + 400 x 6,000
        assert_eq!(of(tokens.cache_write_1h, 400), 4_350_000);
        // 400 x 3,000 + 600 x 3,750
        assert_eq!(of(None, 400), 3_450_000);
        // 400 x 3,000 + 600 x 6,000: no more than was written at all
        assert_eq!(of(tokens.cache_write_1h, 700), 4_800_000);
    }

    #[test]
    fn a_long_input_has_the_prices_of_its_tier() {
        let price = Price {
            tokens: TokenPrice {
                input: 1_250_000,
                output: 10_000_000,
                ..TokenPrice::default()
            },
            above: Some(Tier {
                above_tokens: 200_000,
                tokens: TokenPrice {
                    input: 2_500_000,
                    output: 15_000_000,
                    ..TokenPrice::default()
                },
            }),
            ..Price::default()
        };
        let of = |input_tokens| {
            price.of(&Usage {
                input_tokens,
                output_tokens: 1,
                ..Usage::default()
            })
        };

        assert_eq!(of(200_000), Usd::from_nanos(250_000_000 + 10_000));
        assert_eq!(of(200_001), Usd::from_nanos(500_002_500 + 15_000));
    }

    #[test]
    fn decimal_amounts_are_read_without_a_float() {
        let cases = [
            ("0", Some(0)),
            ("0.00014", Some(140_000)),
            ("3.45e-05", Some(34_500)),
            ("12E+1", Some(120_000_000_000)),
            ("9007199254.740993001", Some(9_007_199_254_740_993_001)),
            ("0.0000000005", Some(0)),
            ("0.0000000015", Some(2)),
            ("0.00000000250000000000000000001", Some(3)),
            ("0.0000000049999999", Some(5)),
            ("1e-300", Some(0)),
            ("1e300", None),
            ("9223372036.854775808", None),
            ("-0.1", None),
            ("None", None),
            ("", None),
            (".", None),
            ("1e", None),
        ];

        for (text, nanos) in cases {
            assert_eq!(Usd::from_decimal(text).map(Usd::nanos), nanos, "{text}");
        }
    }

    #[test]
    fn a_request_is_billed_once_and_searches_each() {
        let price = Price {
            request: 2_000_000_000,
            ..Price::default()
        };
        let of = |searches| {
            price.of(&Usage {
                searches,
                ..Usage::default()
            })
        };

        let billed = [0, 1, 3].map(of);

        assert_eq!(
            billed,
            [2_000_000, 2_000_000, 6_000_000].map(Usd::from_nanos)
        );
    }

    #[test]
    fn halves_round_to_even() {
        let nanos: Vec<i64> = [500, 1_500, 2_500, 2_501, 499]
            .map(|picos| Usd::from_picos(picos).nanos())
            .to_vec();

        assert_eq!(nanos, [0, 2, 2, 3, 0]);
    }
}
