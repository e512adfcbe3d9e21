//! The file that `prices.file` names: the operator's own prices.
//!
//! Numbers are read as they are written, never as binary floats.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Range,
    path::Path,
};

use domain::{Price, Tier, TokenPrice};
use engine::{OwnPrices, Scaled};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// Prices per million tokens.
const TOKENS: [&str; 9] = [
    "input",
    "cached_input",
    "cache_write",
    "cache_write_1h",
    "audio_input",
    "output",
    "reasoning",
    "audio_output",
    "image_output",
];
/// Prices for each of something.
const UNITS: [&str; 4] = ["per_request", "per_image", "per_page", "per_second"];
/// The prices for long inputs, and how long those are.
const ABOVE: &str = "above";
const ABOVE_TOKENS: &str = "tokens";
/// Pico-USD per token of one USD per million tokens, and per USD, as powers of ten.
const PER_MILLION: i32 = 6;
const PER_USD: i32 = 12;

/// Reads the file; none is no prices.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn read(path: Option<&Path>) -> Result<OwnPrices, Vec<String>> {
    let Some(path) = path else {
        return Ok(OwnPrices::default());
    };
    let text = fs::read_to_string(path).map_err(|fault| {
        let path = path.display();
        vec![format!(
            "cannot read the file `{path}`, which `prices.file` names: {fault}"
        )]
    })?;
    let mut file = File {
        path,
        text: &text,
        problems: Vec::new(),
    };
    let rows = file.rows();
    if !file.problems.is_empty() {
        return Err(file.problems);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(OwnPrices::new(&name, &text, rows))
}

struct File<'a> {
    path: &'a Path,
    text: &'a str,
    problems: Vec<String>,
}

/// What a section says: amounts in pico-USD by the members' names.
type Amounts = BTreeMap<&'static str, i64>;

impl File<'_> {
    fn rows(&mut self) -> Vec<(String, Price)> {
        let text = self.text;
        let document = match DeTable::parse(text) {
            Ok(document) => document.into_inner(),
            Err(fault) => {
                let at = fault.span().unwrap_or_default();
                self.refuse(&at, &format!("this is not TOML: {}", fault.message()));
                return Vec::new();
            }
        };
        let (mut rows, mut seen) = (Vec::new(), BTreeSet::new());
        for (section, value) in &document {
            let name = section.get_ref();
            let ("models", DeValue::Table(models)) = (name.as_ref(), value.get_ref()) else {
                let what = format!(
                    "unknown key `{name}`: prices stand in sections such as [models.\"openai/gpt-4o\"]"
                );
                self.refuse(&section.span(), &what);
                continue;
            };
            for (name, value) in models {
                if !seen.insert(name.get_ref().to_lowercase()) {
                    let what = format!("`models.{:?}` stands here twice", name.get_ref());
                    self.refuse(&name.span(), &what);
                }
                rows.extend(self.row(name, value));
            }
        }
        rows
    }

    fn row(
        &mut self,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<(String, Price)> {
        let (name, at) = (name.get_ref(), name.span());
        let key = format!("models.{name:?}");
        let whole = name.strip_suffix('*').unwrap_or(name);
        let parts = name
            .split_once('/')
            .filter(|(one, other)| !one.is_empty() && !other.is_empty() && !whole.contains('*'));
        let Some((provider, model)) = parts else {
            self.refuse(
                &at,
                &format!("bad name `{key}`: it is not `<provider>/<model>`, or the beginning of that and a `*`"),
            );
            return None;
        };
        let DeValue::Table(members) = value.get_ref() else {
            self.refuse(&at, &format!("bad value for `{key}`: a section is needed"));
            return None;
        };
        let known: Vec<&str> = TOKENS.into_iter().chain(UNITS).collect();
        let amounts = self.amounts(&key, members, &known, ABOVE);
        let above = members.iter().find(|(name, _)| name.get_ref() == ABOVE);
        let above = above.map(|(_, value)| self.above(&key, value));
        let price = Price {
            tokens: self.tokens(&key, &at, &amounts)?,
            above: match above {
                Some(above) => Some(above?),
                None => None,
            },
            request: amount(&amounts, "per_request"),
            image: amount(&amounts, "per_image"),
            page: amount(&amounts, "per_page"),
            second: amount(&amounts, "per_second"),
        };
        if amounts.is_empty() {
            self.refuse(
                &at,
                &format!(
                    "`{key}` names no price; the prices are: {}",
                    known.join(", ")
                ),
            );
            return None;
        }
        Some((format!("{}/{model}", provider.to_lowercase()), price))
    }

    fn above(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Tier> {
        let key = format!("{key}.{ABOVE}");
        let DeValue::Table(members) = value.get_ref() else {
            self.refuse(
                &value.span(),
                &format!("bad value for `{key}`: a section is needed"),
            );
            return None;
        };
        let amounts = self.amounts(&key, members, &TOKENS, ABOVE_TOKENS);
        let tokens = members
            .iter()
            .find(|(name, _)| name.get_ref() == ABOVE_TOKENS);
        let count = tokens.and_then(|(_, value)| match value.get_ref() {
            DeValue::Integer(count) => count.as_str().replace('_', "").parse().ok(),
            _ => None,
        });
        let Some(above_tokens) = count else {
            let what =
                format!("bad value for `{key}.{ABOVE_TOKENS}`: a number of tokens is needed");
            self.refuse(&value.span(), &what);
            return None;
        };
        let tokens = self.tokens(&key, &value.span(), &amounts)?;
        if !amounts.contains_key("input") {
            self.refuse(
                &value.span(),
                &format!("`{key}.input` and `{key}.output` are missing"),
            );
        }
        Some(Tier {
            above_tokens,
            tokens,
        })
    }

    /// The amounts that a section holds; everything else but `besides` is refused.
    fn amounts(
        &mut self,
        key: &str,
        members: &DeTable<'_>,
        known: &[&'static str],
        besides: &str,
    ) -> Amounts {
        let mut amounts = Amounts::new();
        for (name, value) in members {
            let (given, at) = (name.get_ref(), name.span());
            if given == besides {
                continue;
            }
            let Some(member) = known.iter().find(|member| *member == given) else {
                let what = format!(
                    "unknown key `{key}.{given}`; the prices are: {}",
                    known.join(", ")
                );
                self.refuse(&at, &what);
                continue;
            };
            let shift = if UNITS.contains(member) {
                PER_USD
            } else {
                PER_MILLION
            };
            let written = match value.get_ref() {
                DeValue::String(text) => Some(text.to_string()),
                DeValue::Integer(number) if number.radix() == 10 => {
                    Some(number.as_str().to_owned())
                }
                DeValue::Float(number) => Some(number.as_str().to_owned()),
                _ => None,
            };
            let scaled = written.and_then(|text| Scaled::read(&text.replace('_', ""), shift));
            let why = match scaled {
                Some(Scaled { is_whole: true, .. }) => None,
                Some(_) => Some("it is finer than a pico-USD"),
                None => Some("an amount in USD such as \"2.5\" is needed"),
            };
            if let Some(why) = why {
                self.refuse(&at, &format!("bad value for `{key}.{given}`: {why}"));
            }
            // A bad one is not missing as well.
            amounts.insert(*member, scaled.map_or(0, |scaled| scaled.amount));
        }
        amounts
    }

    fn tokens(&mut self, key: &str, at: &Range<usize>, amounts: &Amounts) -> Option<TokenPrice> {
        let has = |member: &str| amounts.contains_key(member);
        let missing = ["input", "output"].into_iter().find(|member| !has(member));
        if let Some(missing) = missing.filter(|_| TOKENS.into_iter().any(has)) {
            // A price that was forgotten must not read as nothing.
            let what = format!("`{key}.{missing}` is missing; write 0 if that costs nothing");
            self.refuse(at, &what);
            return None;
        }
        let own = |member: &str| amounts.get(member).copied();
        Some(TokenPrice {
            input: amount(amounts, "input"),
            cached: own("cached_input"),
            cache_write: own("cache_write"),
            cache_write_1h: own("cache_write_1h"),
            audio_input: own("audio_input"),
            output: amount(amounts, "output"),
            reasoning: own("reasoning"),
            audio_output: own("audio_output"),
            image_output: own("image_output"),
        })
    }

    fn refuse(&mut self, at: &Range<usize>, what: &str) {
        let before = self.text.get(..at.start).unwrap_or_default();
        let line = 1 + before.matches('\n').count();
        self.problems
            .push(format!("{}:{line}: {what}", self.path.display()));
    }
}

fn amount(amounts: &Amounts, member: &str) -> i64 {
    amounts.get(member).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<OwnPrices, Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my prices.toml");
        fs::write(&path, text).unwrap();
        let start = format!("{}:", path.display());
        let plain = |problem: String| problem.replace(&start, "FILE:");
        read(Some(&path)).map_err(|problems| problems.into_iter().map(plain).collect())
    }

    #[test]
    fn numbers_and_texts_are_read_exactly() {
        let own = of(r#"
            [models."OpenAI/gpt-4o"]
            input = "2.5"
            cached_input = 1.25
            output = 1e1
            reasoning = 1_0
            cache_write_1h = 5
            per_request = "0.000000000001"

            [models."openai/long"]
            input = 1
            output = 2
            above = { tokens = 272_000, input = 5, output = 0.05 }

            [models."ollama/*"]
            input = 0
            output = 0
        "#)
        .unwrap();

        let price = own.price("openai", "gpt-4o").unwrap();
        let tokens = TokenPrice {
            input: 2_500_000,
            cached: Some(1_250_000),
            output: 10_000_000,
            reasoning: Some(10_000_000),
            cache_write_1h: Some(5_000_000),
            ..TokenPrice::default()
        };
        assert_eq!(
            (price.tokens, price.request, price.above),
            (tokens, 1, None)
        );
        let above = own.price("openai", "long").unwrap().above.unwrap();
        assert_eq!(
            (above.above_tokens, above.tokens.input),
            (272_000, 5_000_000)
        );
        assert_eq!(above.tokens.output, 50_000);
        assert_eq!(own.price("ollama", "any"), Some(Price::default()));
        assert!(own.version().unwrap().starts_with("my_prices.toml-"));
        assert_eq!(read(None), Ok(OwnPrices::default()));
    }

    #[test]
    fn each_fault_is_named_with_its_place() {
        let section = "[models.\"a/b\"]\n";
        for (text, told) in [
            ("x", "FILE:1: this is not TOML: "),
            ("[price]", "FILE:1: unknown key `price`: prices stand in"),
            (
                "models = 1",
                "FILE:1: unknown key `models`: prices stand in",
            ),
            (
                "[models]\na = 1",
                "FILE:2: bad name `models.\"a\"`: it is not",
            ),
            (
                "[models]\n\"a/\" = 1",
                "FILE:2: bad name `models.\"a/\"`: it is not",
            ),
            (
                "[models.\"a/b\"]\nper_page = 1\n[models.\"A/b\"]\nper_page = 1",
                "FILE:3: `models.\"A/b\"` stands here twice",
            ),
            (
                "[models]\n\"a/*-b\" = 1",
                "FILE:2: bad name `models.\"a/*-b\"`: it is not",
            ),
            (
                "[models]\n\"a/b\" = 1",
                "FILE:2: bad value for `models.\"a/b\"`: a section",
            ),
            (
                "S",
                "FILE:1: `models.\"a/b\"` names no price; the prices are: input, ",
            ),
            (
                "Sinput = 1",
                "FILE:1: `models.\"a/b\".output` is missing; write 0",
            ),
            (
                "Scached_input = 1",
                "FILE:1: `models.\"a/b\".input` is missing",
            ),
            (
                "S\ninptu = 1",
                "FILE:3: unknown key `models.\"a/b\".inptu`; the prices are: input, ",
            ),
            (
                "Sinput = 'two'\noutput = 1",
                "FILE:2: bad value for `models.\"a/b\".input`: an amount",
            ),
            (
                "Sinput = -1\noutput = 1",
                "FILE:2: bad value for `models.\"a/b\".input`: an amount",
            ),
            (
                "Sinput = true\noutput = 1",
                "FILE:2: bad value for `models.\"a/b\".input`: an amount",
            ),
            (
                "Sinput = nan\noutput = 1",
                "FILE:2: bad value for `models.\"a/b\".input`: an amount",
            ),
            (
                "Sinput = 0x10\noutput = 1",
                "FILE:2: bad value for `models.\"a/b\".input`: an amount",
            ),
            (
                "Sinput = 0.1234567\noutput = 1",
                "FILE:2: bad value for `models.\"a/b\".input`: it is finer",
            ),
            (
                "Sinput = 1\noutput = 1\nabove = 3",
                "FILE:4: bad value for `models.\"a/b\".above`: a section",
            ),
            (
                "Sinput = 1\noutput = 1\nabove = { input = 1, output = 1 }",
                "FILE:4: bad value for `models.\"a/b\".above.tokens`",
            ),
            (
                "Sinput = 1\noutput = 1\nabove = { tokens = 9 }",
                "FILE:4: `models.\"a/b\".above.input` and ",
            ),
            (
                "Sinput = 1\noutput = 1\nabove = { tokens = 9, per_image = 1 }",
                "FILE:4: unknown key `models.\"a/b\".above.per_image`",
            ),
        ] {
            let problems = of(&text.replace('S', section)).unwrap_err();
            assert!(problems[0].starts_with(told), "{text}: {problems:?}");
        }
        let nowhere = read(Some(Path::new("/nowhere/prices.toml"))).unwrap_err();
        assert!(nowhere[0].contains("`prices.file`"), "{nowhere:?}");
    }

    #[test]
    fn all_faults_are_told_at_once() {
        let problems = of("[models.\"a/b\"]\ninput = 'x'\noutput = 'y'\n[models.c]\n").unwrap_err();

        assert_eq!(problems.len(), 3, "{problems:?}");
    }
}
