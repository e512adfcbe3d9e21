//! Prices: what a model costs, and what a generation cost.

use domain::{ChatRequest, Cost, CostStatus, Part, Price, Usage};

use crate::options::PricesOptions;

/// Counts costs.
pub(crate) struct Prices {
    markup: f64,
}

/// The cost of one or more attempts, and how far it can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bill {
    /// The sum.
    pub(crate) cost: Cost,
    /// The least trustworthy of its parts.
    pub(crate) status: CostStatus,
}

impl Prices {
    /// With the operator's markup.
    pub(crate) fn new(options: &PricesOptions) -> Self {
        Self {
            markup: options.markup,
        }
    }

    /// The cost of one answered attempt. Without a price it is zero, and says so.
    pub(crate) fn bill(
        &self,
        price: Option<&Price>,
        usage: &Usage,
        usage_is_estimated: bool,
    ) -> Bill {
        let Some(price) = price else {
            return Bill {
                cost: Cost::default(),
                status: CostStatus::Unknown,
            };
        };
        let generation = price.of(usage);
        let cost = Cost {
            generation,
            platform: generation.times(self.markup),
        };
        let status = if usage_is_estimated {
            CostStatus::Estimated
        } else {
            CostStatus::Exact
        };
        Bill { cost, status }
    }
}

/// Counts tokens where a provider gave no usage: characters by four, rounded up (`interface.md` 16).
pub(crate) fn estimated_tokens(text: &str) -> u64 {
    tokens_of(text.chars().count())
}

/// The tokens that so many characters are taken for.
pub(crate) const fn tokens_of(chars: usize) -> u64 {
    (chars as u64).div_ceil(4)
}

/// A guess at the tokens of a conversation.
pub(crate) fn sent_tokens(chat: &ChatRequest) -> u64 {
    let parts = chat.messages.iter().flat_map(|message| &message.parts);
    let tokens = parts.map(|part| match part {
        Part::Text(text) => estimated_tokens(text),
        Part::Image(_) | Part::Audio(_) | Part::File(_) => 0,
    });
    tokens.sum()
}

/// A price per unit in USD, as a client writes it, in pico-USD. Not a price: negative, not a number, absurdly high.
pub(crate) fn picos(usd: f64) -> Option<i64> {
    let picos = (usd * 1e12).round_ties_even();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the range is checked first"
    )]
    (picos.is_finite() && (0.0..=9.0e15).contains(&picos)).then_some(picos as i64)
}

#[cfg(test)]
mod tests {
    use domain::Usd;

    use super::*;

    #[test]
    fn prices_of_clients_are_exact_in_pico_dollars() {
        assert_eq!(picos(0.000_000_15), Some(150_000));
        assert_eq!(picos(1.875e-8), Some(18_750));
        assert_eq!(picos(-1.0), None);
        assert_eq!(picos(f64::NAN), None);
        assert_eq!(picos(1e9), None);
    }

    #[test]
    fn the_markup_is_the_platform_part() {
        let prices = Prices::new(&PricesOptions { markup: 0.1 });
        let usage = Usage {
            input_tokens: 1000,
            output_tokens: 0,
            reasoning_tokens: 0,
        };

        let bill = prices.bill(
            Some(&Price {
                input: 150_000,
                output: 0,
                request: 0,
            }),
            &usage,
            false,
        );

        assert_eq!(
            bill.cost,
            Cost {
                generation: Usd::from_nanos(150_000),
                platform: Usd::from_nanos(15_000)
            }
        );
        assert_eq!(bill.status, CostStatus::Exact);
    }
}
