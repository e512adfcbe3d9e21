//! Every price that is known: the operator's own over those of the book.

use std::{borrow::Cow, fmt};

use super::{
    Quote,
    book::{Row, book},
    names::{self, Found, Name},
    own::OwnPrices,
};

const FROM_FILE: &str = "file ";
const FROM_BOOK: &str = "book ";
const UNPRICED: &str = "unpriced";
const NOT_BY_BOOK: &str = " (not by the book)";
const AND_FEES: &str = " (and fees)";
/// Stands before the region in an origin.
const REGION: char = '#';
/// Signs in names that would be taken for parts of an origin, the one that the codes begin with first.
const ESCAPED: [(char, &str); 3] = [('%', "%25"), (REGION, "%23"), (' ', "%20")];

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
            Some(Found::Row(row, _, doubt)) => (row.price(), doubt.is_none() && !row.is_about()),
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
        if let Some(origin) = origin.strip_suffix(AND_FEES) {
            return self.quote_again(origin).map(Quote::with_fees);
        }
        let versioned = origin
            .strip_prefix(FROM_FILE)
            .or_else(|| origin.strip_prefix(FROM_BOOK));
        let asked = match versioned {
            Some(text) => text.split_once(' ')?.1,
            None => origin.strip_prefix(UNPRICED)?.strip_prefix(' ')?,
        };
        let by_book = asked.strip_suffix(NOT_BY_BOOK);
        let (provider, model) = by_book.unwrap_or(asked).split_once('/')?;
        let (model, region) = match model.rsplit_once(REGION) {
            Some((model, region)) => (model, Some(unescaped(region))),
            None => (model, None),
        };
        let name = Name {
            provider,
            model: &unescaped(model),
            region: region.as_deref(),
        };
        Some(self.quote(Asked {
            name,
            not_by_book: by_book.is_some(),
        }))
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

    /// The same for what the host bills as well beside it, nobody here knows how much.
    pub(crate) fn with_fees(self) -> Self {
        if is_with_fees(&self.origin) {
            return self;
        }
        Self {
            is_exact: false,
            origin: format!("{}{AND_FEES}", self.origin).into(),
            ..self
        }
    }
}

/// Whether the host billed something beside the price of that origin.
pub(crate) fn is_with_fees(origin: &str) -> bool {
    origin.ends_with(AND_FEES)
}

impl fmt::Display for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Name {
            provider,
            model,
            region,
        } = self.name;
        write!(f, "{provider}/{}", escaped(model))?;
        if let Some(region) = region {
            write!(f, "{REGION}{}", escaped(region))?;
        }
        f.write_str(if self.not_by_book { NOT_BY_BOOK } else { "" })
    }
}

/// A name without the signs that mean something in an origin; few names have any.
fn escaped(name: &str) -> Cow<'_, str> {
    if !name.contains(ESCAPED.map(|(sign, _)| sign)) {
        return Cow::Borrowed(name);
    }
    let escaped = ESCAPED.iter().fold(name.to_owned(), |name, (sign, code)| {
        name.replace(*sign, code)
    });
    Cow::Owned(escaped)
}

fn unescaped(name: &str) -> Cow<'_, str> {
    if !name.contains('%') {
        return Cow::Borrowed(name);
    }
    let codes = ESCAPED.iter().rev();
    let name = codes.fold(name.to_owned(), |name, (sign, code)| {
        name.replace(code, sign.encode_utf8(&mut [0; 4]))
    });
    Cow::Owned(name)
}

#[cfg(test)]
mod tests {
    use domain::{Price, TokenPrice};

    use super::*;
    use crate::price::Limits;

    const TWO: Price = Price {
        request: 2,
        tokens: TokenPrice {
            input: 0,
            cached: None,
            cache_write: None,
            cache_write_1h: None,
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
        assert!(!exact("openai/gpt-4o-2099-01-31") && exact("openai/gpt-4o-2024-05-13"));
    }

    #[test]
    fn a_price_can_be_asked_again_by_its_origin() {
        let (book, both) = (PriceBook::default(), with_own());
        let every = ["openai/gpt-4o#eu", "openai/a%23 50% (not by the book)"];
        let every = every.map(|name| (name.to_owned(), TWO));
        let every = PriceBook::new(OwnPrices::new("p", "abc", every));
        for one in [
            asked("openai/gpt-4o", None, false),
            asked("openai/gpt-4o", None, true),
            asked("openai/gpt-99", None, false),
            asked("bedrock/deepseek.v3.2", Some("eu-north-1"), false),
            asked("openrouter/a/b:free", None, false),
            asked("openai/gpt-4o#eu", None, false),
            asked("openai/gpt-4o#eu", Some("a#b"), true),
            asked("openai/a%23 50% (not by the book)", None, false),
        ] {
            let then = book.quote(one);
            assert_eq!(book.quote_again(&then.origin), Some(then.clone()));
            assert_eq!(both.quote_again(&then.origin), Some(both.quote(one)));
            assert_eq!(every.quote_again(&then.origin), Some(every.quote(one)));
            assert_eq!(book.quote_again(&both.quote(one).origin), Some(then));
        }
        let with_fees = book.quote(asked("openai/gpt-4o", None, false)).with_fees();
        assert!(with_fees.price.is_some() && !with_fees.is_exact);
        assert_eq!(book.quote_again(&with_fees.origin), Some(with_fees.clone()));
        assert_eq!(with_fees.clone().with_fees(), with_fees);
        for origin in [
            "custom model",
            "custom model (and fees)",
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
        let row = book().row("openai/text-embedding-3-small", None);

        assert_eq!(
            row.unwrap().limits(),
            Limits {
                max_input_tokens: Some(8191),
                max_output_tokens: None,
                dimensions: Some(1536)
            }
        );
    }
}
