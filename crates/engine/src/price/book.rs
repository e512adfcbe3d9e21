//! The price book in the binary: a text of one line per model, sorted by name, that `scripts/price-book` makes.
//!
//! It is searched where it lies. Nothing of it is read at the start, and nothing of it is copied into memory.

use std::{cmp::Ordering, sync::LazyLock};

use domain::{Price, Tier, TokenPrice};

static TEXT: &str = include_str!("book.txt");

static BOOK: LazyLock<Book> = LazyLock::new(|| Book::open(TEXT));

/// The built-in price book.
pub(super) fn book() -> &'static Book {
    &BOOK
}

/// A price book.
pub(super) struct Book {
    /// Its date, and a hash of what it says.
    pub(super) version: &'static str,
    rules: Vec<Rule>,
    /// What stands before the first row.
    head: &'static str,
    rows: &'static str,
}

/// By which names of a provider a row is found besides its own, or when its price does not hold (`price/names.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule {
    provider: &'static str,
    /// Which rule.
    pub(super) kind: &'static str,
    /// What it is told.
    pub(super) text: &'static str,
}

/// A model in the price book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// `<provider>/<model>`.
    pub name: &'static str,
    /// The region that it holds in, if it is one alone.
    pub region: Option<&'static str>,
    /// What it is for: `chat`, `embedding` and the like.
    pub mode: &'static str,
    members: &'static str,
}

/// How much a model takes and gives, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Tokens that it takes.
    pub max_input_tokens: Option<u64>,
    /// Tokens that it gives.
    pub max_output_tokens: Option<u64>,
    /// The length of its vectors, where nobody asks for another.
    pub dimensions: Option<u64>,
}

impl Book {
    fn open(text: &'static str) -> Self {
        let mut end = 0;
        let (mut version, mut rules) = ("", Vec::new());
        for line in text.split_inclusive('\n') {
            let Some(line_of_head) = line.strip_prefix('#') else {
                break;
            };
            end += line.len();
            let mut words = line_of_head.trim().splitn(4, ' ');
            match (words.next(), words.next()) {
                (Some("version"), Some(found)) => version = found,
                (Some("rule"), Some(provider)) => rules.push(Rule {
                    provider,
                    kind: words.next().unwrap_or_default(),
                    text: words.next().unwrap_or_default(),
                }),
                _ => {}
            }
        }
        let (head, rows) = text.split_at(end);
        Self {
            version,
            rules,
            head,
            rows,
        }
    }

    /// The rules of a provider, in the order in which they are tried.
    pub(super) fn rules<'a>(&'a self, provider: &'a str) -> impl Iterator<Item = Rule> + 'a {
        let of_provider = self
            .rules
            .iter()
            .filter(move |rule| rule.provider == provider);
        of_provider.copied()
    }

    /// The row of exactly that name, in the region if one is given.
    pub(super) fn row(&self, name: &str, region: Option<&str>) -> Option<Row> {
        let key = match region {
            Some(region) => format!("{name}#{region}"),
            None => name.to_owned(),
        };
        let mut rows = self.from(&key);
        let row = rows.next()?;
        (row.key_order(&key) == Ordering::Equal).then_some(row)
    }

    /// The rows whose name begins so, in the order of their names.
    pub(super) fn beginning<'a>(&self, prefix: &'a str) -> impl Iterator<Item = Row> + use<'a> {
        self.from(prefix)
            .take_while(move |row| row.name.starts_with(prefix))
    }

    /// The regions in which the model has a price of its own.
    pub(super) fn regions<'a>(
        &self,
        name: &'a str,
    ) -> impl Iterator<Item = &'static str> + use<'a> {
        let rows = self.from(name).take_while(move |row| row.name == name);
        rows.filter_map(|row| row.region)
    }

    /// The rows from the first one that is not before the key.
    fn from(&self, key: &str) -> impl Iterator<Item = Row> + use<> {
        let rows = self.rows;
        let (mut low, mut high) = (0, rows.len());
        // Invariant: both are beginnings of lines; what is before `low` is before the key, what is from `high` on is not.
        while low < high {
            let middle = low + (high - low) / 2;
            let start = rows.as_bytes()[low..middle]
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(low, |newline| low + newline + 1);
            let line = rows[start..].lines().next().unwrap_or_default();
            match Row::read(line).key_order(key) {
                Ordering::Less => low = start + line.len() + 1,
                _ => high = start,
            }
        }
        rows[low.min(rows.len())..].lines().map(Row::read)
    }

    fn numbered(&self, kind: &str, number: &str) -> Option<&'static str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| {
            let line = line.strip_prefix("# ")?.strip_prefix(kind)?;
            line.strip_prefix(' ')?
                .strip_prefix(number)?
                .strip_prefix(' ')
        })
    }
}

impl Row {
    fn read(line: &'static str) -> Self {
        let mut fields = line.splitn(3, '\t');
        let mut field = || fields.next().unwrap_or_default();
        let (key, mode, members) = (field(), field(), field());
        let (name, region) = match key.split_once('#') {
            Some((name, region)) => (name, Some(region)),
            None => (key, None),
        };
        Self {
            name,
            region,
            mode,
            members,
        }
    }

    /// Where its key stands beside another.
    fn key_order(&self, key: &str) -> Ordering {
        let region = self.region.into_iter().flat_map(|region| ["#", region]);
        let mine = [self.name].into_iter().chain(region);
        mine.flat_map(str::bytes).cmp(key.bytes())
    }

    /// The provider, and what it calls the model.
    pub fn split(&self) -> (&'static str, &'static str) {
        self.name.split_once('/').unwrap_or_default()
    }

    /// What it costs.
    pub fn price(&self) -> Price {
        let number = |name: &str| self.number(name);
        let amount = |name: &str| number(name).and_then(|amount| i64::try_from(amount).ok());
        let or_zero = |name: &str| amount(name).unwrap_or(0);
        let tokens = TokenPrice {
            input: or_zero("in"),
            cached: amount("cached"),
            cache_write: amount("write"),
            cache_write_1h: amount("write_1h"),
            audio_input: amount("audio_in"),
            output: or_zero("out"),
            reasoning: amount("reasoning"),
            audio_output: amount("audio_out"),
            image_output: amount("image_out"),
        };
        let above = number("long").map(|above_tokens| Tier {
            above_tokens,
            tokens: TokenPrice {
                input: amount("long.in").unwrap_or(tokens.input),
                cached: amount("long.cached"),
                cache_write: amount("long.write"),
                cache_write_1h: amount("long.write_1h"),
                output: amount("long.out").unwrap_or(tokens.output),
                ..tokens
            },
        });
        Price {
            tokens,
            above,
            request: or_zero("request"),
            image: or_zero("image"),
            page: or_zero("page"),
            second: or_zero("second"),
        }
    }

    /// Whether tokens have a price; else it is billed by other units alone.
    pub fn is_by_token(&self) -> bool {
        self.member("in").is_some()
    }

    /// How much it takes and gives.
    pub fn limits(&self) -> Limits {
        Limits {
            max_input_tokens: self.number("max_in"),
            max_output_tokens: self.number("max_out"),
            dimensions: self.number("dimensions"),
        }
    }

    /// What it is said to know, of `schema`, `tools` and `vision`.
    pub fn abilities(&self) -> impl Iterator<Item = &'static str> {
        let mut known = ["schema", "tools", "vision"];
        known.sort_unstable();
        self.members
            .split(' ')
            .filter(move |word| known.contains(word))
    }

    /// Whether the price is not exact; the note says why.
    pub fn is_about(&self) -> bool {
        self.member("about").is_some()
    }

    /// What there is to know of the price.
    pub fn note(&self) -> Option<&'static str> {
        book().numbered("note", self.member("note")?)
    }

    /// The page that it was taken from, where the table tells.
    pub fn source(&self) -> Option<&'static str> {
        book().numbered("source", self.member("source")?)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.member(name)?.parse().ok()
    }

    /// The value of a member, empty for a flag.
    fn member(&self, name: &str) -> Option<&'static str> {
        self.members.split(' ').find_map(|word| {
            let (found, value) = word.split_once('=').unwrap_or((word, ""));
            (found == name).then_some(value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(rows: impl Iterator<Item = Row>) -> Vec<(&'static str, Option<&'static str>)> {
        rows.map(|row| (row.name, row.region)).collect()
    }

    fn small() -> Book {
        Book::open(
            "# The book\n# version 2026-11-abc\n# rule p dated\n# rule p free :free x\n# note 1 a note\n# source 12 s\n\
             a/b\tchat\tin=1 out=2\na/b#eu\tchat\tin=3 out=4\na/b-c\tchat\tin=5\na/bc\tocr\tpage=6\nb/a\tchat\tin=7\n",
        )
    }

    #[test]
    fn every_row_is_found_by_its_name_and_no_other_is() {
        let book = small();

        let keys = names(book.from(""));

        assert_eq!(
            keys,
            [
                ("a/b", None),
                ("a/b", Some("eu")),
                ("a/b-c", None),
                ("a/bc", None),
                ("b/a", None)
            ]
        );
        for (name, region) in keys {
            let found = book.row(name, region).unwrap();
            assert_eq!((found.name, found.region), (name, region));
        }
        for name in [
            "", "a", "a/", "a/a", "a/b ", "a/b-", "a/bcd", "c/a", "a/b-c#eu",
        ] {
            assert_eq!(book.row(name, None), None, "{name}");
        }
        assert_eq!(book.row("a/b", Some("us")), None);
        assert_eq!(names(book.beginning("a/b")).len(), 4);
        assert_eq!(names(book.beginning("b/")), [("b/a", None)]);
        assert_eq!(book.regions("a/b").collect::<Vec<_>>(), ["eu"]);
        assert_eq!(book.regions("a/bc").count(), 0);
    }

    #[test]
    fn the_head_tells_version_and_rules() {
        let book = small();

        assert_eq!(book.version, "2026-11-abc");
        let rules: Vec<_> = book.rules("p").map(|rule| (rule.kind, rule.text)).collect();
        assert_eq!(rules, [("dated", ""), ("free", ":free x")]);
        assert_eq!(book.numbered("note", "1"), Some("a note"));
        assert_eq!(book.numbered("source", "1"), None);
        assert_eq!(book.numbered("source", "12"), Some("s"));
    }

    #[test]
    fn the_shipped_book_is_sorted_and_whole() {
        let rows: Vec<Row> = book().from("").collect();

        assert!(rows.len() > 2_000, "{}", rows.len());
        assert!(book().version.starts_with("20"));
        for pair in rows.windows(2) {
            let key = [
                pair[1].name,
                pair[1].region.map_or("", |_| "#"),
                pair[1].region.unwrap_or(""),
            ];
            assert_eq!(pair[0].key_order(&key.concat()), Ordering::Less, "{key:?}");
        }
        for row in rows {
            assert_eq!(book().row(row.name, row.region), Some(row));
            let price = row.price();
            let is_free = price == Price::default();
            assert!(!is_free || row.is_by_token(), "{row:?}");
            assert!(!row.is_about() || row.note().is_some(), "{row:?}");
            assert!(
                row.member("source").is_none() || row.source().is_some(),
                "{row:?}"
            );
            let unread = row.members.split(' ').find(|word| {
                let (name, value) = word.split_once('=').unwrap_or((word, "1"));
                let is_known = "in cached write write_1h audio_in out reasoning audio_out image_out long long.in long.cached \
                                long.write long.write_1h long.out request image page second max_in max_out dimensions schema tools \
                                vision about note source";
                !is_known.split_whitespace().any(|known| known == name) || value.parse::<i64>().is_err()
            });
            assert_eq!(unread, None, "{row:?}");
        }
    }
}
