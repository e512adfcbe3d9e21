//! Every price that is known: the operator's own over those of the book.

use std::fmt;

use super::{
    Quote,
    book::{Limits, Row, book},
    names::{self, Found, Name},
    own::OwnPrices,
};

const FROM_FILE: &str = "file ";
const FROM_BOOK: &str = "book ";
const UNPRICED: &str = "unpriced";
const NOT_BY_BOOK: &str = " (not by the book)";

/// Every price that is known.
#[derive(Debug, Clone, Default)]
pub struct PriceBook {
    own: OwnPrices,
}

/// A model that a price is asked for. As text it is kept with each cost, so that the cost can be counted again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// The model.
    pub(crate) name: Name<'a>,
    /// Whether the operator's file alone can know: at another address than the provider's own, and for other offers
    /// than the usual one, the book's price does not hold.
    pub(crate) not_by_book: bool,
}

impl PriceBook {
    /// With the operator's own prices.
    pub fn new(own: OwnPrices) -> Self {
        Self { own }
    }

    /// The book's date, and a hash of what it says.
    pub fn version() -> &'static str {
        book().version
    }

    /// The rows of the book whose names begin so, by name.
    pub fn rows(beginning: &str) -> impl Iterator<Item = Row> + use<'_> {
        book().beginning(beginning)
    }

    /// The model in the book. A provider's regions, where it has several, may have prices of their own.
    pub fn find(provider: &str, model: &str, region: Option<&str>) -> Option<Found> {
        names::find(Name {
            provider,
            model,
            region,
        })
    }

    /// How much a model takes and gives, as far as the book knows.
    pub fn limits(provider: &str, model: &str) -> Limits {
        match Self::find(provider, model, None) {
            Some(Found::Row(row, _)) => row.limits(),
            Some(Found::Free(_)) | None => Limits::default(),
        }
    }

    /// The operator's own prices.
    pub fn own(&self) -> &OwnPrices {
        &self.own
    }

    /// What a model costs.
    pub(crate) fn quote(&self, asked: Asked<'_>) -> Quote {
        let Name {
            provider, model, ..
        } = asked.name;
        if let (Some(price), Some(version)) = (self.own.price(provider, model), self.own.version())
        {
            return Quote {
                price: Some(price),
                is_exact: true,
                origin: format!("{FROM_FILE}{version} {asked}").into(),
            };
        }
        let found = (!asked.not_by_book).then(|| names::find(asked.name));
        let found = found.flatten();
        let (price, is_exact) = match found {
            Some(Found::Row(row, _)) => (row.price(), !row.is_about()),
            Some(Found::Free(_)) => (domain::Price::default(), true),
            None => {
                return Quote {
                    price: None,
                    is_exact: false,
                    origin: format!("{UNPRICED} {asked}").into(),
                };
            }
        };
        Quote {
            price: Some(price),
            is_exact,
            origin: format!("{FROM_BOOK}{} {asked}", book().version).into(),
        }
    }

    /// What a model costs by now that had a price of that origin; `None` if that price was not one of these, or it was
    /// never asked for.
    pub(crate) fn quote_again(&self, origin: &str) -> Option<Quote> {
        let versioned = origin
            .strip_prefix(FROM_FILE)
            .or_else(|| origin.strip_prefix(FROM_BOOK));
        let asked = match versioned {
            Some(text) => text.split_once(' ')?.1,
            None => origin.strip_prefix(UNPRICED)?.strip_prefix(' ')?,
        };
        Some(self.quote(Asked::read(asked)?))
    }
}

impl Quote {
    /// A model at an address that somebody gave whom nobody here knows: what it costs there is anybody's guess.
    pub(crate) fn of_stranger() -> Self {
        Self {
            price: None,
            is_exact: false,
            origin: UNPRICED.into(),
        }
    }
}

impl<'a> Asked<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let by_book = text.strip_suffix(NOT_BY_BOOK);
        let (provider, model) = by_book.unwrap_or(text).split_once('/')?;
        let (model, region) = match model.rsplit_once('#') {
            Some((model, region)) => (model, Some(region)),
            None => (model, None),
        };
        let name = Name {
            provider,
            model,
            region,
        };
        Some(Self {
            name,
            not_by_book: by_book.is_some(),
        })
    }
}

impl fmt::Display for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Name {
            provider,
            model,
            region,
        } = self.name;
        write!(f, "{provider}/{model}")?;
        if let Some(region) = region {
            write!(f, "#{region}")?;
        }
        f.write_str(if self.not_by_book { NOT_BY_BOOK } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use domain::{Price, TokenPrice};

    use super::*;

    const TWO: Price = Price {
        request: 2,
        tokens: TokenPrice {
            input: 0,
            cached: None,
            cache_write: None,
            audio_input: None,
            output: 0,
            reasoning: None,
            audio_output: None,
            image_output: None,
        },
        above: None,
        image: 0,
        page: 0,
        second: 0,
    };

    fn asked(
        model: &'static str,
        region: Option<&'static str>,
        not_by_book: bool,
    ) -> Asked<'static> {
        let (provider, model) = model.split_once('/').unwrap();
        Asked {
            name: Name {
                provider,
                model,
                region,
            },
            not_by_book,
        }
    }

    fn with_own() -> PriceBook {
        let rows = [("openai/gpt-4o".to_owned(), TWO)];
        PriceBook::new(OwnPrices::new("prices.toml", "abc", rows))
    }

    #[test]
    fn the_file_goes_before_the_book() {
        let (book, both) = (PriceBook::default(), with_own());
        let mini = asked("openai/gpt-4o-mini", None, false);
        let big = asked("openai/gpt-4o", None, false);

        assert_eq!(both.quote(mini), book.quote(mini));
        assert_eq!(book.quote(mini).price.unwrap().tokens.input, 150_000);
        assert_eq!(both.quote(big).price, Some(TWO));
        assert_eq!(
            &*both.quote(big).origin,
            "file prices.toml-ba7816bf openai/gpt-4o"
        );
        let version = PriceBook::version();
        assert_eq!(
            *book.quote(big).origin,
            format!("book {version} openai/gpt-4o")
        );
    }

    #[test]
    fn the_book_does_not_hold_elsewhere() {
        let (book, both) = (PriceBook::default(), with_own());

        let elsewhere = book.quote(asked("openai/gpt-4o", None, true));
        assert_eq!(elsewhere.price, None);
        assert_eq!(
            &*elsewhere.origin,
            "unpriced openai/gpt-4o (not by the book)"
        );
        assert_eq!(
            both.quote(asked("openai/gpt-4o", None, true)).price,
            Some(TWO)
        );
    }

    #[test]
    fn what_is_not_exact_says_so() {
        let exact = |model| {
            PriceBook::default()
                .quote(asked(model, None, false))
                .is_exact
        };

        assert!(exact("openai/gpt-4o") && exact("openrouter/x:free"));
        assert!(!exact("azure/gpt-4o") && !exact("deepseek/deepseek-flash"));
    }

    #[test]
    fn a_price_can_be_asked_again_by_its_origin() {
        let (book, both) = (PriceBook::default(), with_own());
        for one in [
            asked("openai/gpt-4o", None, false),
            asked("openai/gpt-4o", None, true),
            asked("openai/gpt-99", None, false),
            asked("bedrock/deepseek.v3.2", Some("eu-north-1"), false),
            asked("openrouter/a/b:free", None, false),
        ] {
            let then = book.quote(one);
            assert_eq!(book.quote_again(&then.origin), Some(then.clone()));
            assert_eq!(both.quote_again(&then.origin), Some(both.quote(one)));
            assert_eq!(book.quote_again(&both.quote(one).origin), Some(then));
        }
        for origin in [
            "custom model",
            "built in",
            "unpriced",
            "",
            "book",
            "book v",
            "file",
        ] {
            assert_eq!(both.quote_again(origin), None, "{origin}");
        }
    }

    #[test]
    fn the_book_knows_how_much_a_model_takes() {
        let limits = PriceBook::limits("openai", "text-embedding-3-small");

        assert_eq!(
            limits,
            Limits {
                max_input_tokens: Some(8191),
                max_output_tokens: None,
                dimensions: Some(1536)
            }
        );
        assert_eq!(PriceBook::limits("openai", "nothing"), Limits::default());
    }
}
