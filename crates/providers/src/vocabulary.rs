//! Options in the words of the OpenAI dialect, and what becomes of each in a dialect with other words.
//!
//! An option that a dialect's table does not name goes out as it is: it is the dialect's own, or the provider will say
//! that it is nobody's. Nothing is left out without a word.

use domain::{
    Json,
    seams::{ProviderError, ProviderErrorKind, Target},
};

/// What options may not set (`interface.md` 2.2).
pub(crate) const OURS: [&str; 4] = ["model", "messages", "input", "stream"];

/// What becomes of an option.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fate {
    /// It has another name.
    Renamed(&'static str),
    /// The dialect words it itself.
    Own,
    /// It is left out, which changes no more than how likely an answer is; why, in words that follow `the dialect`.
    LeftOut(&'static str),
    /// It would make another answer, and cannot be carried; but for these values, which ask for nothing.
    Refused(&'static [&'static str]),
}

/// The options of a dialect that have another fate than to go out as they are.
pub(crate) type Vocabulary = &'static [(&'static str, Fate)];

/// The options that go out, by the names that they go out under; those that are the dialect's own to word are not
/// among them.
pub(crate) fn carried(
    target: &Target,
    vocabulary: Vocabulary,
) -> impl Iterator<Item = (&str, &Json)> {
    let options = target.options.iter();
    options.filter_map(move |(name, value)| {
        let name = name.as_str();
        match fate(vocabulary, name) {
            _ if OURS.contains(&name) => None,
            None => Some((name, value)),
            Some(Fate::Renamed(to)) => Some((to, value)),
            Some(Fate::Own | Fate::LeftOut(_) | Fate::Refused(_)) => None,
        }
    })
}

/// A sentence for every option that is left out.
pub(crate) fn warnings(target: &Target, vocabulary: Vocabulary) -> Vec<String> {
    let options = target.options.iter().filter(|(_, value)| !value.is_null());
    let warnings = options.filter_map(|(name, _)| match fate(vocabulary, name) {
        Some(Fate::LeftOut(why)) => Some(format!(
            "the option `{name}` was left out: the dialect of `{}` {why}",
            target.provider
        )),
        _ => None,
    });
    warnings.collect()
}

/// A sentence for every option of those names, where the request itself says what they say.
pub(crate) fn replaced(target: &Target, names: &[&str]) -> Vec<String> {
    let given = |name: &&&str| target.options.get(**name).is_some_and(|it| !it.is_null());
    let replaced = names.iter().filter(given);
    replaced
        .map(|name| format!("the option `{name}` was left out: the request has its own"))
        .collect()
}

/// Refuses options that cannot be carried.
pub(crate) fn check(target: &Target, vocabulary: Vocabulary) -> Result<(), ProviderError> {
    for (name, value) in &target.options {
        if let Some(Fate::Refused(harmless)) = fate(vocabulary, name)
            && !value.is_null()
            && !harmless.contains(&value.text())
        {
            let reason = format!(
                "the option `{name}` cannot be used with the model `{}`: the dialect of `{}` has nothing like it",
                target.name, target.provider
            );
            return Err(ProviderError::new(ProviderErrorKind::Invalid, reason));
        }
    }
    Ok(())
}

fn fate(vocabulary: Vocabulary, name: &str) -> Option<Fate> {
    let row = vocabulary.iter().find(|(known, _)| *known == name);
    row.map(|(_, fate)| *fate)
}

#[cfg(test)]
mod tests {
    use domain::JsonObject;

    use super::*;
    use crate::wire::tests::target;

    const VOCABULARY: Vocabulary = &[
        ("stop", Fate::Renamed("stop_sequences")),
        ("seed", Fate::LeftOut("has no seed")),
        ("n", Fate::Refused(&["1"])),
        ("effort", Fate::Own),
    ];

    fn with(options: &str) -> Target {
        let options: JsonObject = serde_json::from_str(options).unwrap();
        Target {
            options,
            ..target("http://localhost")
        }
    }

    #[test]
    fn every_option_has_a_fate() {
        let target = with(
            r#"{"stop":["a"],"seed":1,"n":1,"effort":"low","top_k":3,"model":"x","user":null}"#,
        );

        let carried: Vec<(&str, &str)> = carried(&target, VOCABULARY)
            .map(|(name, value)| (name, value.text()))
            .collect();

        let expected = [
            ("stop_sequences", r#"["a"]"#),
            ("top_k", "3"),
            ("user", "null"),
        ];
        assert_eq!(carried, expected);
        assert_eq!(
            warnings(&target, VOCABULARY),
            ["the option `seed` was left out: the dialect of `p` has no seed"]
        );
        assert!(check(&target, VOCABULARY).is_ok());
        let refused = check(&with(r#"{"n":2}"#), VOCABULARY).unwrap_err();
        assert_eq!(refused.kind, ProviderErrorKind::Invalid);
        assert!(refused.reason.starts_with("the option `n` cannot be used"));
    }
}
