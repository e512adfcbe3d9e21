//! Money: integers all the way, never a binary float.

use std::ops::{Add, AddAssign};

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::Usage;

const PICO_PER_NANO: i128 = 1_000;

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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Price {
    /// Per token sent.
    pub input: i64,
    /// Per token received.
    pub output: i64,
    /// Per request that was answered.
    pub request: i64,
}

impl Price {
    /// What `usage` of one answered request costs, rounded once.
    pub fn of(&self, usage: &Usage) -> Usd {
        let picos = i128::from(usage.input_tokens) * i128::from(self.input)
            + i128::from(usage.output_tokens) * i128::from(self.output)
            + i128::from(self.request);
        Usd::from_picos(picos)
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
    /// The sum of both parts.
    pub fn total(&self) -> Usd {
        self.generation + self.platform
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
            input: 18_750,
            output: 150_000,
            request: 0,
        };
        let usage = Usage {
            input_tokens: 1_000,
            output_tokens: 10,
            reasoning_tokens: 0,
        };

        assert_eq!(price.of(&usage), Usd::from_nanos(18_750 + 1_500));
    }

    #[test]
    fn halves_round_to_even() {
        let nanos: Vec<i64> = [500, 1_500, 2_500, 2_501, 499]
            .map(|picos| Usd::from_picos(picos).nanos())
            .to_vec();

        assert_eq!(nanos, [0, 2, 2, 3, 0]);
    }
}
