//! Prices: what a model costs, and what a generation cost.

mod book;
#[cfg(test)]
mod costs;
mod decimal;
mod list;
mod names;
mod own;

use std::sync::Arc;

use domain::{Cost, CostStatus, Price, Usage, UsageReport, Usd};

pub use self::{
    book::{Limits, Row},
    decimal::Scaled,
    list::PriceBook,
    names::{Doubt, Found, Way},
    own::OwnPrices,
};
pub(crate) use self::{
    decimal::UsdNumber,
    list::{Asked, is_with_fees},
    names::{Name, has_fees, is_other_offer},
};
use crate::options::PricesOptions;

/// A price, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quote {
    /// The price, if one is known.
    pub(crate) price: Option<Price>,
    /// Whether it is what is charged, or only about that.
    pub(crate) is_exact: bool,
    /// Whose word it is, with its version; it is kept with every cost that was counted by it.
    pub(crate) origin: Arc<str>,
}

impl Quote {
    /// A price in the registration of a custom model.
    pub(crate) fn of_model(price: &Price) -> Self {
        Self {
            price: Some(*price),
            is_exact: true,
            origin: "custom model".into(),
        }
    }

    /// What is built in costs nothing.
    pub(crate) fn built_in() -> Self {
        Self {
            price: Some(Price::default()),
            is_exact: true,
            origin: "built in".into(),
        }
    }
}

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

/// The tokens of a generation, and whose count they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Counted {
    /// The provider's.
    Reported(UsageReport),
    /// Ours.
    Estimated(Usage),
}

impl Counted {
    /// The tokens.
    pub(crate) const fn usage(&self) -> &Usage {
        match self {
            Self::Reported(report) => &report.usage,
            Self::Estimated(usage) => usage,
        }
    }

    /// Whether we counted.
    pub(crate) const fn is_estimated(&self) -> bool {
        matches!(self, Self::Estimated(_))
    }
}

impl Prices {
    /// With the operator's markup.
    pub(crate) fn new(options: &PricesOptions) -> Self {
        Self {
            markup: options.markup,
        }
    }

    /// The cost of one answered attempt: what the provider says, else what the price comes to. Without either it is zero,
    /// and says so.
    pub(crate) fn bill(&self, quote: Option<&Quote>, counted: &Counted) -> Bill {
        let reported = match counted {
            Counted::Reported(report) => report.cost,
            Counted::Estimated(_) => None,
        };
        let priced = || {
            let quote = quote?;
            Some((quote.price?.of(counted.usage()), quote.is_exact))
        };
        let Some((generation, is_exact)) = reported.map(|cost| (cost, true)).or_else(priced) else {
            return Bill {
                cost: Cost::default(),
                status: CostStatus::Unknown,
            };
        };
        let cost = self.cost(generation);
        let status = if counted.is_estimated() || !is_exact || cost.is_full() {
            CostStatus::Estimated
        } else {
            CostStatus::Exact
        };
        Bill { cost, status }
    }

    /// The cost of a generation with what the operator adds.
    pub(crate) fn cost(&self, generation: Usd) -> Cost {
        Cost::new(generation, generation.times(self.markup))
    }
}

#[cfg(test)]
mod tests {
    use domain::TokenPrice;

    use super::*;

    fn options(markup: f64) -> PricesOptions {
        PricesOptions { markup, file: None }
    }

    #[test]
    fn a_cost_that_the_provider_reports_wins() {
        let prices = Prices::new(&options(0.0));
        let report = UsageReport {
            cost: Some(Usd::from_nanos(7)),
            ..UsageReport::default()
        };

        let bill = prices.bill(Some(&Quote::built_in()), &Counted::Reported(report));

        assert_eq!(bill.cost.generation, Usd::from_nanos(7));
        assert_eq!(bill.status, CostStatus::Exact);
        for quote in [None, Some(&Quote::of_stranger())] {
            let nobody_knows = prices.bill(quote, &Counted::Estimated(Usage::default()));
            assert_eq!(nobody_knows.status, CostStatus::Unknown);
        }
    }

    #[test]
    fn a_price_that_is_not_exact_gives_an_estimate() {
        let prices = Prices::new(&options(0.0));
        let about = Quote {
            is_exact: false,
            ..Quote::built_in()
        };

        let counted = Counted::Reported(Usage::default().into());

        assert_eq!(
            prices.bill(Some(&about), &counted).status,
            CostStatus::Estimated
        );
    }

    #[test]
    fn a_cost_beyond_all_amounts_is_no_exact_one() {
        let prices = Prices::new(&options(0.1));
        let most = (1 << 53) - 1;
        let usage = Usage {
            input_tokens: most,
            output_tokens: most,
            ..Usage::default()
        };
        let tokens = TokenPrice {
            input: 1_000_000,
            output: 2_000_000,
            ..TokenPrice::default()
        };
        let price = Price {
            tokens,
            ..Price::default()
        };
        let quote = Quote {
            price: Some(price),
            ..Quote::built_in()
        };

        let bill = prices.bill(Some(&quote), &Counted::Reported(usage.into()));

        let Cost {
            generation,
            platform,
        } = bill.cost;
        assert_eq!(
            bill.cost.total().nanos(),
            generation.nanos() + platform.nanos()
        );
        assert_eq!(bill.status, CostStatus::Estimated);
    }

    #[test]
    fn the_markup_is_the_platform_part() {
        let prices = Prices::new(&options(0.1));
        let usage = Usage {
            input_tokens: 1000,
            ..Usage::default()
        };
        let tokens = TokenPrice {
            input: 150_000,
            ..TokenPrice::default()
        };
        let price = Price {
            tokens,
            ..Price::default()
        };
        let quote = Quote {
            price: Some(price),
            ..Quote::built_in()
        };

        let bill = prices.bill(Some(&quote), &Counted::Reported(usage.into()));

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
