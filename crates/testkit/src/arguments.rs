//! `--name value` pairs, for programs too small for a parser.

use std::{collections::BTreeMap, fmt::Display, str::FromStr};

/// The values given, and the defaults of the others.
#[derive(Debug)]
pub struct Arguments(BTreeMap<&'static str, String>);

impl Arguments {
    /// Reads the command line; `known` holds each name with its default.
    pub fn read(known: &[(&'static str, &str)]) -> Result<Self, String> {
        Self::parse(known, std::env::args().skip(1))
    }

    /// Reads the command line, whose last word belongs to no name, as [`Arguments::read`] does.
    pub fn read_with_last(known: &[(&'static str, &str)]) -> Result<(Self, String), String> {
        let mut given: Vec<_> = std::env::args().skip(1).collect();
        let last = given.pop().ok_or("the last argument is missing")?;
        if last.starts_with("--") {
            return Err(format!(
                "unknown argument `{last}`, or one without its value"
            ));
        }
        Ok((Self::parse(known, given.into_iter())?, last))
    }

    /// Reads what follows a command's name on the command line, as [`Arguments::read`] does.
    pub fn read_after_command(known: &[(&'static str, &str)]) -> Result<Self, String> {
        Self::parse(known, std::env::args().skip(2))
    }

    fn parse(
        known: &[(&'static str, &str)],
        mut given: impl Iterator<Item = String>,
    ) -> Result<Self, String> {
        let mut values: BTreeMap<_, _> = known
            .iter()
            .map(|(name, default)| (*name, (*default).to_owned()))
            .collect();
        while let Some(name) = given.next() {
            let value = name
                .strip_prefix("--")
                .and_then(|name| values.get_mut(name))
                .ok_or_else(|| format!("unknown argument `{name}`"))?;
            *value = given
                .next()
                .ok_or_else(|| format!("`{name}` needs a value"))?;
        }
        Ok(Self(values))
    }

    /// Returns a value as text.
    ///
    /// # Panics
    /// When the name is none of the known ones.
    pub fn text(&self, name: &str) -> &str {
        &self.0[name]
    }

    /// Returns a value in its own type.
    pub fn get<T: FromStr<Err: Display>>(&self, name: &str) -> Result<T, String> {
        let text = self.text(name);
        text.parse()
            .map_err(|error| format!("`--{name} {text}`: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(given: &[&str]) -> Result<Arguments, String> {
        let given = given.iter().map(ToString::to_string);
        Arguments::parse(&[("rounds", "20"), ("server", "")], given)
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        let arguments = parse(&["--server", "x"]).unwrap();

        assert_eq!(arguments.get::<u32>("rounds"), Ok(20));
        assert_eq!(arguments.text("server"), "x");
    }

    #[test]
    fn a_slip_is_named() {
        assert_eq!(
            parse(&["--round", "3"]).unwrap_err(),
            "unknown argument `--round`"
        );
        assert_eq!(
            parse(&["--rounds"]).unwrap_err(),
            "`--rounds` needs a value"
        );
        let arguments = parse(&["--rounds", "many"]).unwrap();
        assert_eq!(
            arguments.get::<u32>("rounds").unwrap_err(),
            "`--rounds many`: invalid digit found in string"
        );
    }
}
