//! Options in the words of the OpenAI dialect, and what becomes of each in a dialect with other words.
//!
//! An option that a dialect's table does not name goes out as it is: it is the dialect's own, or the provider will say
//! that it is nobody's. Nothing is left out without a word.

use domain::{
    Json,
    seams::{ProviderError, ProviderErrorKind, Target},
};
use serde_json::Value;

/// What options may not set (`interface.md` 2.2).
pub(crate) const OURS: [&str; 4] = ["model", "messages", "input", "stream"];

const REASONING_EFFORT: &str = "reasoning_effort";
/// How hard a model is to think, in the words of the OpenAI dialect.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
/// The `response_format` that asks for nothing.
pub(crate) const TEXT_FORMAT: &[&str] = &[r#"{"type":"text"}"#];

/// What becomes of `user` and the like where there is nothing of the kind.
pub(crate) const NO_USERS: Fate = Fate::LeftOut("does not tell users apart");
/// What becomes of `encoding_format` where numbers come whatever it says. A caller gets vectors in the form that they were
/// asked of the gateway in.
pub(crate) const ONE_ENCODING: Fate = Fate::LeftOut("writes vectors in one way");

/// What becomes of an option.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fate {
    /// It has another name. Whoever gives both means the dialect's own.
    Renamed(&'static str),
    /// The dialect words it itself.
    Own,
    /// It is left out, which changes no more than how likely an answer is; why, in words that follow `the dialect`.
    LeftOut(&'static str),
    /// It would make another answer, and cannot be carried; but for these values, which ask for nothing.
    Refused(&'static [&'static str]),
    /// The same of what the dialect has under another name and in another form: how to say it, in words that follow
    /// `it is said with`.
    Instead(&'static [&'static str], &'static str),
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
            Some(Fate::Renamed(to)) => (!is_given(target, to)).then_some((to, value)),
            Some(Fate::Own | Fate::LeftOut(_) | Fate::Refused(_) | Fate::Instead(..)) => None,
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
        Some(Fate::Renamed(to)) if is_given(target, to) => Some(said_twice(name, to)),
        _ => None,
    });
    warnings.collect()
}

/// That an option says what another one does, which holds.
pub(crate) fn said_twice(name: &str, by: &str) -> String {
    format!("the option `{name}` was left out: `{by}` says the same")
}

/// A sentence for every option that says what a request itself does.
pub(crate) fn ours(target: &Target) -> impl Iterator<Item = String> {
    let options = target.options.keys();
    let ours = options.filter(|name| OURS.contains(&name.as_str()));
    ours.map(|name| format!("the option `{name}` was left out: it is the gateway's to set"))
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
        let (harmless, instead) = match fate(vocabulary, name) {
            Some(Fate::Refused(harmless)) => (harmless, None),
            Some(Fate::Instead(harmless, instead)) => (harmless, Some(instead)),
            _ => continue,
        };
        if !value.is_null() && !harmless.contains(&value.text()) {
            return Err(refused(target, name, instead));
        }
    }
    Ok(())
}

/// Refuses an option that asks for several answers: all would be paid for, and one read.
pub(crate) fn check_count(
    target: &Target,
    name: &str,
    count: Option<&Json>,
) -> Result<(), ProviderError> {
    if count.is_none_or(|count| count.is_null() || count.text() == "1") {
        return Ok(());
    }
    Err(invalid(format!(
        "the option `{name}` cannot be used with the model `{}`: of several answers one would be read, and all paid for",
        target.name
    )))
}

/// That an option cannot be carried; what is to be said instead, if there is something.
pub(crate) fn refused(target: &Target, name: &str, instead: Option<&str>) -> ProviderError {
    let dialect = format!("the dialect of `{}`", target.provider);
    let why = match instead {
        Some(instead) => format!("in {dialect}, it is said with {instead}"),
        None => format!("{dialect} has nothing like it"),
    };
    let model = &target.name;
    invalid(format!(
        "the option `{name}` cannot be used with the model `{model}`: {why}"
    ))
}

/// Refuses a `reasoning_effort` in words of nobody's, where a dialect has other words for it.
pub(crate) fn check_effort(target: &Target) -> Result<(), ProviderError> {
    let effort = target.options.get(REASONING_EFFORT);
    let effort = effort.filter(|effort| !effort.is_null());
    match effort.map(Json::as_string) {
        Some(Some(effort)) if EFFORTS.contains(&effort.as_str()) => Ok(()),
        None => Ok(()),
        Some(_) => Err(unknown_effort()),
    }
}

/// That nobody knows what a `reasoning_effort` means.
pub(crate) fn unknown_effort() -> ProviderError {
    let known = EFFORTS.map(|effort| format!("`{effort}`"));
    let known = known.join(", ");
    invalid(format!(
        "the option `{REASONING_EFFORT}` is none of {known}"
    ))
}

/// Refuses an option that is no object where one is taken apart.
pub(crate) fn check_object(target: &Target, name: &str) -> Result<(), ProviderError> {
    let given = target.options.get(name).filter(|given| !given.is_null());
    if given.is_none_or(Json::is_object) {
        return Ok(());
    }
    Err(invalid(format!("the option `{name}` is no object")))
}

/// Refuses an option whose value is, or has among its items, the word for sound.
pub(crate) fn check_soundless(
    target: &Target,
    option: &str,
    value: Option<&Json>,
) -> Result<(), ProviderError> {
    let value = value.map(Json::to_value).unwrap_or_default();
    let items = value.as_array().into_iter().flatten();
    let mut words = items.chain([&value]).filter_map(Value::as_str);
    if words.any(|word| word.eq_ignore_ascii_case("audio")) {
        return Err(no_sound(target, option));
    }
    Ok(())
}

/// That an option asks for sound, for which no answer of ours has a place.
pub(crate) fn no_sound(target: &Target, option: &str) -> ProviderError {
    let reason = format!(
        "the option `{option}` cannot ask the model `{}` for sound: an answer here has no place for it",
        target.name
    );
    invalid(reason)
}

/// Refuses a request for what its options say.
pub(crate) fn invalid(reason: String) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Invalid, reason)
}

/// Whether an option has a value.
pub(crate) fn is_given(target: &Target, name: &str) -> bool {
    let given = target.options.get(name);
    given.is_some_and(|given| !given.is_null())
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
        ("format", Fate::Instead(TEXT_FORMAT, "`form`")),
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
    fn sound_cannot_be_asked_for() {
        let check = |options: &str| {
            let target = with(options);
            let given = target.options.get("modalities");
            check_soundless(&target, "modalities", given)
        };
        let refused = [
            r#"{"modalities":["text","audio"]}"#,
            r#"{"modalities":["AUDIO"]}"#,
            r#"{"modalities":"audio"}"#,
        ];
        let taken = [
            "{}",
            r#"{"modalities":null}"#,
            r#"{"modalities":["text","image"]}"#,
            r#"{"modalities":[["audio"]]}"#,
        ];

        for options in refused {
            let refused = check(options).unwrap_err();
            assert_eq!(refused.kind, ProviderErrorKind::Invalid, "{options}");
            assert!(refused.reason.contains("`modalities`"), "{options}");
        }
        for options in taken {
            assert!(check(options).is_ok(), "{options}");
        }
    }

    fn carried_values(target: &Target) -> Vec<&str> {
        let carried = carried(target, VOCABULARY);
        carried.map(|(_, value)| value.text()).collect()
    }

    #[test]
    fn every_option_has_a_fate() {
        let target = with(
            r#"{"stop":["a"],"seed":1,"n":1,"effort":"low","top_k":3,"model":"x","user":null,"format":{"type":"text"}}"#,
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
        let twice = with(r#"{"stop":["a"],"stop_sequences":["b"]}"#);
        assert_eq!(carried_values(&twice), [r#"["b"]"#]);
        assert_eq!(
            warnings(&twice, VOCABULARY),
            ["the option `stop` was left out: `stop_sequences` says the same"]
        );
        let once = with(r#"{"stop":["a"],"stop_sequences":null}"#);
        assert_eq!(carried_values(&once), [r#"["a"]"#, "null"]);
        let elsewhere = check(&with(r#"{"format":{}}"#), VOCABULARY).unwrap_err();
        assert_eq!(
            elsewhere.reason,
            "the option `format` cannot be used with the model `p/m`: in the dialect of `p`, it is said with `form`"
        );
    }

    #[test]
    fn an_effort_that_nobody_knows_is_refused() {
        let effort =
            |given: &str| check_effort(&with(&format!(r#"{{"reasoning_effort":{given}}}"#)));

        for known in ["null", r#""none""#, r#""low""#, r#""max""#] {
            assert!(effort(known).is_ok(), "{known}");
        }
        for unknown in [r#""banana""#, r#""""#, "3", "true", r#"["low"]"#] {
            assert_eq!(
                effort(unknown).unwrap_err().reason,
                "the option `reasoning_effort` is none of `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`",
                "{unknown}"
            );
        }
    }

    #[test]
    fn one_answer_can_be_asked_for_and_no_more() {
        let target = with("{}");
        let check = |count: &str| {
            let count = Json::parse(count).unwrap();
            check_count(&target, "n", Some(&count)).map_err(|refused| refused.kind)
        };

        assert!(check_count(&target, "n", None).is_ok());
        assert_eq!(["1", "null"].map(check), [Ok(()), Ok(())]);
        for count in ["2", "0", "\"1\"", "128"] {
            assert_eq!(check(count), Err(ProviderErrorKind::Invalid), "{count}");
        }
    }
}
