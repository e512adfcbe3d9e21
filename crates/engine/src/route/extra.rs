//! The members of a custom model's `extra` that mean something here (`interface.md` 5.4), and what they must be.
//!
//! What cannot be meant makes the model unusable: the registration warns of it, and the call says the same.

use std::{num::NonZeroU64, time::Duration};

use domain::Json;
use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

use crate::price::UsdNumber;

/// What stands in `extra`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Extra {
    pub(super) api_base: Option<String>,
    pub(super) timeout_seconds: Option<f64>,
    pub(super) headers: Option<IndexMap<String, String>>,
    pub(super) protocol: Option<String>,
    #[serde(deserialize_with = "whole")]
    pub(super) max_tokens: Option<NonZeroU64>,
    #[serde(deserialize_with = "whole")]
    pub(super) dimensions: Option<NonZeroU64>,
    pub(super) input_cost_per_token: Option<UsdNumber>,
    pub(super) output_cost_per_token: Option<UsdNumber>,
    pub(super) cost_per_request: Option<UsdNumber>,
    pub(super) cost_per_image: Option<UsdNumber>,
    pub(super) cost_per_page: Option<UsdNumber>,
    /// What else there is; of it, texts, numbers and switches are settings of the dialect.
    #[serde(flatten)]
    pub(super) settings: IndexMap<String, Value>,
}

/// What the members must be that are not texts.
static EXPECTED: [(&str, &str); 11] = [
    ("timeout_seconds", "a number of seconds above 0"),
    ("headers", "an object of texts"),
    ("max_tokens", WHOLE),
    ("dimensions", WHOLE),
    ("input_cost_per_token", PRICE),
    ("output_cost_per_token", PRICE),
    ("cost_per_request", PRICE),
    ("cost_per_image", PRICE),
    ("cost_per_page", PRICE),
    ("ocr", SWITCH),
    ("rerank", SWITCH),
];
const WHOLE: &str = "a whole number above 0";
const PRICE: &str = "a number of USD from 0 to 9000";
const SWITCH: &str = "`true` or `false`";
/// Above this, a number that is written with a fraction may not be what was meant.
const MOST_EXACT: f64 = 9.0e15;

/// The settings that some dialect reads, or the lists: a text, or a number as one.
static SETTINGS: [&str; 7] = [
    "account_id",
    "api_version",
    "deployment",
    "project",
    "region",
    "resource",
    "token_url",
];

impl Extra {
    /// Reads `extra`, or says which member of it cannot be used.
    pub(super) fn read(extra: &Json) -> Result<Self, String> {
        let mut reader = serde_json::Deserializer::from_str(extra.text());
        let extra: Self = serde_path_to_error::deserialize(&mut reader)
            .map_err(|error| unfit(&error.path().to_string(), "type"))?;
        extra.check()?;
        Ok(extra)
    }

    fn check(&self) -> Result<(), String> {
        let prices = [
            ("input_cost_per_token", self.input_cost_per_token),
            ("output_cost_per_token", self.output_cost_per_token),
            ("cost_per_request", self.cost_per_request),
            ("cost_per_image", self.cost_per_image),
            ("cost_per_page", self.cost_per_page),
        ];
        let is_none = |price: &Option<UsdNumber>| matches!(price, Some(UsdNumber(None)));
        if let Some((name, _)) = prices.iter().find(|(_, price)| is_none(price)) {
            return Err(unfit(name, "value"));
        }
        if self.timeout_seconds.is_some() && self.timeout().is_none() {
            return Err(unfit("timeout_seconds", "value"));
        }
        for (name, value) in &self.settings {
            let is_fit = match expected(name) {
                Some(SWITCH) => value.is_boolean(),
                _ if SETTINGS.contains(&name.as_str()) => value.is_string() || value.is_number(),
                _ => true,
            };
            if !is_fit && !value.is_null() {
                return Err(unfit(name, "type"));
            }
        }
        Ok(())
    }

    /// How long one request may take, if it says so.
    pub(super) fn timeout(&self) -> Option<Duration> {
        let timeout = Duration::try_from_secs_f64(self.timeout_seconds?).ok();
        timeout.filter(|timeout| !timeout.is_zero())
    }
}

fn expected(name: &str) -> Option<&'static str> {
    let known = EXPECTED.iter().find(|(known, _)| *known == name);
    known.map(|(_, expected)| *expected)
}

/// That a member cannot be used. What stands there is not repeated: it may be a secret in the wrong place.
fn unfit(path: &str, what: &str) -> String {
    let member = path.split('.').next().unwrap_or(path);
    let expected = expected(member).unwrap_or("a text");
    format!("`extra.{path}` has the wrong {what}: `{member}` is {expected}")
}

/// `3` and `3.0` are whole numbers (`interface.md` 1.3).
fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<NonZeroU64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let float = number
        .as_f64()
        .filter(|it| *it <= MOST_EXACT && it.fract() == 0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "no fraction is there, and what is below 0 becomes 0"
    )]
    let whole = number.as_u64().or(float.map(|it| it as u64));
    let whole = whole.and_then(NonZeroU64::new);
    whole.map(Some).ok_or_else(|| de::Error::custom(WHOLE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(extra: &str) -> Option<String> {
        Extra::read(&Json::parse(extra).unwrap()).err()
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        for (extra, expected) in [
            (
                r#"{"timeout_seconds":-1}"#,
                "`extra.timeout_seconds` has the wrong value",
            ),
            (
                r#"{"timeout_seconds":0}"#,
                "`extra.timeout_seconds` has the wrong value",
            ),
            (
                r#"{"timeout_seconds":1e300}"#,
                "`extra.timeout_seconds` has the wrong value",
            ),
            (
                r#"{"timeout_seconds":"soon"}"#,
                "`extra.timeout_seconds` has the wrong type",
            ),
            (
                r#"{"max_tokens":"x"}"#,
                "`extra.max_tokens` has the wrong type",
            ),
            (r#"{"max_tokens":-1}"#, "a whole number above 0"),
            (r#"{"max_tokens":2.5}"#, "a whole number above 0"),
            (r#"{"dimensions":0}"#, "`extra.dimensions`"),
            (
                r#"{"input_cost_per_token":-0.1}"#,
                "`extra.input_cost_per_token` has the wrong value",
            ),
            (
                r#"{"output_cost_per_token":1e9}"#,
                "`extra.output_cost_per_token` has the wrong value",
            ),
            (
                r#"{"cost_per_page":"1"}"#,
                "`extra.cost_per_page` has the wrong type",
            ),
            (
                r#"{"cost_per_image":1e300}"#,
                "`extra.cost_per_image` has the wrong value",
            ),
            (r#"{"region":["eu"]}"#, "`extra.region` has the wrong type"),
            (
                r#"{"api_version":true}"#,
                "`extra.api_version` has the wrong type",
            ),
            (
                r#"{"ocr":"yes"}"#,
                "`extra.ocr` has the wrong type: `ocr` is `true` or `false`",
            ),
            (r#"{"rerank":1}"#, "`extra.rerank` has the wrong type"),
            (
                r#"{"headers":{"a":5}}"#,
                "`extra.headers.a` has the wrong type: `headers` is an object of texts",
            ),
            (r#"{"headers":[]}"#, "`extra.headers` has the wrong type"),
            (
                r#"{"api_base":5}"#,
                "`extra.api_base` has the wrong type: `api_base` is a text",
            ),
        ] {
            let said = fault(extra).unwrap_or_else(|| panic!("{extra}"));
            assert!(said.contains(expected), "{extra}: {said}");
        }
    }

    #[test]
    fn what_can_be_meant_is_taken_and_what_is_unknown_is_left_alone() {
        for extra in [
            "{}",
            r#"{"timeout_seconds":null,"max_tokens":null,"region":null,"ocr":null,"headers":null}"#,
            r#"{"timeout_seconds":0.5,"max_tokens":3.0,"dimensions":256,"ocr":true,"rerank":false}"#,
            r#"{"region":5,"api_version":2024,"input_cost_per_token":0,"cost_per_request":1e-300}"#,
            r#"{"b":1.0,"a":{"x":[null]}}"#,
        ] {
            assert_eq!(fault(extra), None, "{extra}");
        }
        let extra = Json::parse(r#"{"max_tokens":3.0}"#).unwrap();
        assert_eq!(Extra::read(&extra).unwrap().max_tokens, NonZeroU64::new(3));
    }
}
