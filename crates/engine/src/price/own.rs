//! The operator's own prices: what the file says that `prices.file` names.

use std::{collections::HashMap, sync::Arc};

use aws_lc_rs::digest::{SHA256, digest};
use domain::Price;

/// The prices of the operator's file; none without one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnPrices(Option<Arc<File>>);

#[derive(Debug, PartialEq)]
struct File {
    version: String,
    /// By the name in lower case, with the name as it was written.
    exact: HashMap<String, (String, Price)>,
    /// Beginnings of names in lower case, the longest first.
    beginnings: Vec<(String, Price)>,
}

impl OwnPrices {
    /// The prices of a file of that name and text, by `<provider>/<model>`, or the beginning of such a name and a `*`,
    /// in large or small letters.
    pub fn new(name: &str, text: &str, rows: impl IntoIterator<Item = (String, Price)>) -> Self {
        let digest = digest(&SHA256, text.as_bytes());
        let [a, b, c, d] = digest.as_ref()[..4] else {
            unreachable!("SHA-256 has 32 bytes")
        };
        let start = format!("{:08x}", u32::from_be_bytes([a, b, c, d]));
        // One word, so that what stands behind it can be told apart.
        let name: Vec<&str> = name.split_whitespace().collect();
        let version = format!("{}-{start}", name.join("_"));
        let (mut exact, mut beginnings) = (HashMap::new(), Vec::new());
        for (name, price) in rows {
            let small = name.to_lowercase();
            match small.strip_suffix('*') {
                Some(beginning) => beginnings.push((beginning.to_owned(), price)),
                None => drop(exact.insert(small, (name, price))),
            }
        }
        beginnings.sort_by_key(|(beginning, _)| std::cmp::Reverse(beginning.len()));
        Self(Some(Arc::new(File {
            version,
            exact,
            beginnings,
        })))
    }

    /// The file's name and a hash of what it says.
    pub fn version(&self) -> Option<&str> {
        Some(&self.0.as_deref()?.version)
    }

    /// The beginnings of names that have a price, each with a `*` behind it.
    pub fn beginnings(&self) -> impl Iterator<Item = (String, &Price)> {
        let beginnings = self.0.iter().flat_map(|file| &file.beginnings);
        beginnings.map(|(beginning, price)| (format!("{beginning}*"), price))
    }

    /// The price of a model: under its own name, else under the longest beginning of it.
    pub fn price(&self, provider: &str, model: &str) -> Option<Price> {
        let file = self.0.as_deref()?;
        let name = format!("{provider}/{model}").to_lowercase();
        let beginning = || {
            let mut beginnings = file.beginnings.iter();
            let found = beginnings.find(|(beginning, _)| name.starts_with(beginning));
            found.map(|(_, price)| price)
        };
        let exact = file.exact.get(&name).map(|(_, price)| price);
        exact.or_else(beginning).copied()
    }

    /// The names that have a price of their own, as they were written, in no order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let files = self.0.as_deref().into_iter();
        files.flat_map(|file| file.exact.values().map(|(name, _)| name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_name_goes_before_a_beginning_and_a_long_one_before_a_short_one() {
        let price = |request| Price {
            request,
            ..Price::default()
        };
        let rows = [("p/*", 1), ("p/a*", 2), ("p/Abc", 3), ("*", 4)];
        let own = OwnPrices::new(
            "my prices.toml",
            "abc",
            rows.map(|(name, request)| (name.to_owned(), price(request))),
        );

        for (model, expected) in [("abc", 3), ("aBC", 3), ("abcd", 2), ("a", 2), ("b", 1)] {
            assert_eq!(own.price("p", model), Some(price(expected)), "{model}");
        }
        assert_eq!(own.price("q", "x"), Some(price(4)));
        assert_eq!(own.names().collect::<Vec<_>>(), ["p/Abc"]);
        assert_eq!(own.version(), Some("my_prices.toml-ba7816bf"));
        assert_eq!(OwnPrices::default().price("p", "abc"), None);
    }
}
