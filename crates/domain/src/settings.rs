//! Settings: the dotted keys of a function's `configuration`, in one table of key, kind and default.

use std::time::Duration;

use crate::{Invalid, Json, JsonObject};

/// What values a key takes, with its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number within bounds.
    Int {
        /// The smallest value.
        min: i64,
        /// The largest value.
        max: i64,
        /// The value when absent.
        default: i64,
    },
    /// One of a few words; the first is the default.
    Word(&'static [&'static str]),
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The dotted key.
    pub key: &'static str,
    /// What it takes.
    pub kind: Kind,
}

const INPUT_VALIDATION: Setting = Setting {
    key: "beta.invocation.input_validation.enabled",
    kind: Kind::Bool(true),
};
const XML_MODE: Setting = Setting {
    key: "beta.invocation.xml_mode.enabled",
    kind: Kind::Bool(false),
};
const CACHE_TTL: Setting = Setting {
    key: "invocation.cache.ttl",
    kind: Kind::Int {
        min: 0,
        max: i64::MAX,
        default: 0,
    },
};
const FEW_SHOT: Setting = Setting {
    key: "invocation.few_shot.count",
    kind: Kind::Int {
        min: 0,
        max: 100,
        default: 3,
    },
};
const MAX_ATTEMPTS: Setting = Setting {
    key: "invocation.structured_generation.max_attempts",
    kind: Kind::Int {
        min: 1,
        max: 20,
        default: 5,
    },
};

const FAILOVER: Setting = Setting {
    key: "invocation.stream.failover",
    kind: Kind::Word(&["off", CONTINUE]),
};
const HEDGE: Setting = Setting {
    key: "invocation.hedge.after_ms",
    kind: Kind::Int {
        min: 0,
        max: i64::MAX,
        default: 0,
    },
};
const CONTINUE: &str = "continue";

/// Every key that means something here (`interface.md` 15.1). Others are stored and returned, and do nothing.
pub const SETTINGS: &[Setting] = &[
    INPUT_VALIDATION,
    XML_MODE,
    CACHE_TTL,
    FEW_SHOT,
    MAX_ATTEMPTS,
    FAILOVER,
    HEDGE,
];

/// A function's overrides, as given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings(JsonObject);

impl Settings {
    /// The key that says how long answers are kept.
    pub const CACHE_TTL: &str = CACHE_TTL.key;

    /// Checks the values of known keys. A key given as `null` counts as absent.
    ///
    /// # Errors
    /// An [`Invalid`] at the key whose value has the wrong type or is out of range.
    pub fn parse(mut given: JsonObject) -> Result<Self, Invalid> {
        given.retain(|_, value| !value.is_null());
        for setting in SETTINGS {
            if let Some(value) = given.get(setting.key) {
                setting
                    .kind
                    .check(value)
                    .map_err(|invalid| invalid.at(setting.key))?;
            }
        }
        Ok(Self(given))
    }

    /// These settings with `changes` laid over them key by key; a key given as `null` is removed.
    ///
    /// # Errors
    /// As [`Settings::parse`].
    pub fn merged(&self, changes: JsonObject) -> Result<Self, Invalid> {
        let mut merged = self.0.clone();
        merged.extend(changes);
        Self::parse(merged)
    }

    /// The overrides as they were given.
    pub const fn given(&self) -> &JsonObject {
        &self.0
    }

    /// The overrides as they were given.
    pub fn into_given(self) -> JsonObject {
        self.0
    }

    /// Whether inputs are checked against the input schema.
    pub fn input_validation(&self) -> bool {
        self.bool(&INPUT_VALIDATION)
    }

    /// How many model answers a structured call may cost.
    pub fn max_attempts(&self) -> u32 {
        u32::try_from(self.int(&MAX_ATTEMPTS)).unwrap_or(1)
    }

    /// Whether the model is asked for XML, which is turned into the value.
    pub fn xml_mode(&self) -> bool {
        self.bool(&XML_MODE)
    }

    /// How long an answer is kept for equal calls; not at all if zero.
    pub fn cache_ttl(&self) -> Duration {
        Duration::from_secs(u64::try_from(self.int(&CACHE_TTL)).unwrap_or(0))
    }

    /// How many entries of the dataset are shown to the model.
    pub fn few_shot_count(&self) -> usize {
        usize::try_from(self.int(&FEW_SHOT)).unwrap_or(0)
    }

    /// Whether another model continues a stream that breaks after its first piece.
    pub fn failover(&self) -> bool {
        let given = self.0.get(FAILOVER.key).and_then(Json::as_string);
        given.as_deref() == Some(CONTINUE)
    }

    /// How long the first model may take before the next one is asked as well; never, if `None`.
    pub fn hedge_after(&self) -> Option<Duration> {
        let given = u64::try_from(self.int(&HEDGE)).ok()?;
        (given > 0).then(|| Duration::from_millis(given))
    }

    fn bool(&self, setting: &Setting) -> bool {
        let Kind::Bool(default) = setting.kind else {
            return false;
        };
        self.0
            .get(setting.key)
            .map_or(default, |value| value.text() == "true")
    }

    fn int(&self, setting: &Setting) -> i64 {
        let Kind::Int { default, .. } = setting.kind else {
            return 0;
        };
        self.0
            .get(setting.key)
            .and_then(whole_number)
            .unwrap_or(default)
    }
}

impl Kind {
    fn check(self, value: &Json) -> Result<(), Invalid> {
        match self {
            Self::Bool(_) if matches!(value.text(), "true" | "false") => Ok(()),
            Self::Bool(_) => Err(Invalid::new("bool_type", "must be true or false")),
            Self::Int { min, max, .. } => match whole_number(value) {
                None => Err(Invalid::new("int_type", "must be a whole number")),
                Some(number) if number < min => Err(Invalid::new(
                    "greater_than_equal",
                    format!("must be at least {min}"),
                )),
                Some(number) if number > max => Err(Invalid::new(
                    "less_than_equal",
                    format!("must be at most {max}"),
                )),
                Some(_) => Ok(()),
            },
            Self::Word(words) => match value.as_string() {
                Some(word) if words.contains(&word.as_str()) => Ok(()),
                _ => Err(Invalid::new(
                    "enum",
                    format!("must be one of: {}", words.join(", ")),
                )),
            },
        }
    }
}

/// `3` and `3.0` are whole numbers; `3.5`, `"3"` and `true` are not (`interface.md` 1.3).
fn whole_number(value: &Json) -> Option<i64> {
    if let Ok(number) = value.text().parse() {
        return Some(number);
    }
    let number: f64 = serde_json::from_str(value.text()).ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the range is checked first"
    )]
    (number.fract() == 0.0 && number.abs() <= 9.0e15).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str) -> JsonObject {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn absent_keys_have_their_defaults() {
        let settings = Settings::default();

        assert!(settings.input_validation() && !settings.xml_mode() && !settings.failover());
        assert_eq!((settings.max_attempts(), settings.few_shot_count()), (5, 3));
        assert_eq!(
            (settings.cache_ttl(), settings.hedge_after()),
            (Duration::ZERO, None)
        );
    }

    #[test]
    fn overrides_are_read() {
        let text = r#"{"invocation.stream.failover":"continue","invocation.cache.ttl":60.0,
            "invocation.few_shot.count":0,"invocation.hedge.after_ms":250,"beta.invocation.xml_mode.enabled":true}"#;

        let settings = Settings::parse(given(text)).unwrap();

        assert!(settings.failover() && settings.xml_mode());
        assert_eq!(settings.cache_ttl(), Duration::from_mins(1));
        assert_eq!(settings.few_shot_count(), 0);
        assert_eq!(settings.hedge_after(), Some(Duration::from_millis(250)));
    }

    #[test]
    fn overrides_are_kept_as_given_unknown_keys_included() {
        let text = r#"{"beta.evaluation":{"on":true},"invocation.structured_generation.max_attempts":3.0}"#;

        let settings = Settings::parse(given(text)).unwrap();

        assert_eq!(serde_json::to_string(settings.given()).unwrap(), text);
        assert_eq!(settings.max_attempts(), 3);
    }

    #[test]
    fn a_wrong_value_names_its_key() {
        let slugs: Vec<_> = [
            r#"{"invocation.cache.ttl":-1}"#,
            r#"{"invocation.cache.ttl":"1"}"#,
            r#"{"invocation.few_shot.count":101}"#,
            r#"{"beta.invocation.xml_mode.enabled":1}"#,
            r#"{"invocation.stream.failover":"maybe"}"#,
            r#"{"invocation.hedge.after_ms":1.5}"#,
        ]
        .map(|text| {
            let invalid = Settings::parse(given(text)).unwrap_err();
            assert_eq!(invalid.path.len(), 1, "{text}");
            invalid.slug
        })
        .to_vec();

        assert_eq!(
            slugs,
            [
                "greater_than_equal",
                "int_type",
                "less_than_equal",
                "bool_type",
                "enum",
                "int_type"
            ]
        );
    }

    #[test]
    fn merging_replaces_adds_and_removes() {
        let settings = Settings::parse(given(r#"{"invocation.cache.ttl":1,"x":1}"#)).unwrap();

        let merged = settings
            .merged(given(r#"{"x":null,"invocation.cache.ttl":2,"y":3}"#))
            .unwrap();

        assert_eq!(
            serde_json::to_string(merged.given()).unwrap(),
            r#"{"invocation.cache.ttl":2,"y":3}"#
        );
    }
}
