//! The Anthropic dialect: messages (<https://platform.claude.com/docs/en/api/messages/create>).
//!
//! Translation only. It has no JSON mode and no embeddings.

mod answer;
mod demand;
mod fault;
mod media;
pub(crate) mod model;
mod options;
mod request;
mod schema;
mod stream;
pub(crate) mod thought;
pub(crate) mod tools;

pub(crate) use demand::TOO_MUCH;

use domain::{
    ChatRequest, Generation, Part, Rung,
    seams::{ProviderError, ProviderErrorKind, Taken, Target, Wanted},
};
use http::{HeaderName, HeaderValue};
use serde_json::Value;

use crate::{
    adapter::{Adapter, Manner},
    count,
    wire::{Fault, WireRequest, secret_header},
};

/// The dialect's name, and that of the host whose own it is.
pub(crate) const NAME: &str = "anthropic";

const KEY: HeaderName = HeaderName::from_static("x-api-key");
const VERSION: HeaderName = HeaderName::from_static("anthropic-version");
const OUR_VERSION: &str = "2023-06-01";
/// The setting that names another version.
const VERSION_SETTING: &str = "api_version";

/// The dialect.
pub(crate) struct Anthropic;

impl Adapter for Anthropic {
    type Reading = demand::Reading;
    type Decoder = stream::EventDecoder;

    fn chat(
        &self,
        target: &Target,
        request: &ChatRequest,
        manner: Manner,
    ) -> Result<(WireRequest, Self::Reading), ProviderError> {
        options::check(target)?;
        let (demanded, reading) = demand::worded(target, request);
        let turns = request::turns(target, request)?;
        let members = options::members(target, request, demanded)?;
        let body = request::ChatBody {
            target,
            turns,
            members,
            manner,
        };
        let mut wire = WireRequest::json(path(target), &body);
        if let Some(key) = &target.key {
            let key = secret_header(key.expose().to_owned())?;
            wire.headers.insert(KEY, key);
        }
        if let Some(version) = version(target)? {
            wire.headers.insert(VERSION, version);
        }
        Ok((wire, reading))
    }

    fn generation(&self, reading: &Self::Reading, body: &[u8]) -> Result<Generation, Fault> {
        answer::generation(reading, body)
    }

    fn decoder(&self, reading: Self::Reading) -> Self::Decoder {
        stream::EventDecoder::new(reading)
    }

    fn rungs(&self, target: &Target) -> &'static [Rung] {
        if options::may_force_tool(target) {
            &[Rung::NativeSchema, Rung::ForcedTool, Rung::Prompt]
        } else {
            &[Rung::NativeSchema, Rung::Prompt]
        }
    }

    fn obstacle(&self, target: &Target, request: &ChatRequest, rung: Rung) -> Option<&'static str> {
        demand::obstacle(target, request, rung)
    }

    fn taken(&self, body: &[u8]) -> Taken {
        count::taken(body, |answer: &Value| answer::usage(&answer["usage"]), &[])
    }

    fn warnings(&self, target: &Target, wanted: Wanted<'_>) -> Vec<String> {
        match wanted {
            Wanted::Chat(request) => options::warnings(target, request),
            Wanted::Image | Wanted::Embedding | Wanted::Rerank(_) => Vec::new(),
        }
    }

    /// Other hosts of the dialect may want no key.
    fn check(&self, target: &Target) -> Result<(), ProviderError> {
        if target.provider == NAME && target.key.is_none() {
            let reason = "the provider `anthropic` has no key: set `ANTHROPIC_API_KEY`, or the `api_key` of the model";
            return Err(ProviderError::new(ProviderErrorKind::Misconfigured, reason));
        }
        Ok(())
    }

    fn needs_bytes(&self, _target: &Target, part: &Part) -> bool {
        media::needs_bytes(part)
    }

    fn fault(&self, status: u16, body: &[u8]) -> Fault {
        fault::of_status(status, body)
    }
}

/// The version segment belongs to the request here, though many write it into the address.
fn path(target: &Target) -> &'static str {
    let api_base = target.api_base.as_deref().unwrap_or_default();
    if api_base.trim_end_matches('/').ends_with("/v1") {
        "messages"
    } else {
        "v1/messages"
    }
}

/// The version of the dialect that is asked for, unless a header of the target's names one.
fn version(target: &Target) -> Result<Option<HeaderValue>, ProviderError> {
    let mut given = target.extra_headers.iter();
    if given.any(|(name, _)| name.eq_ignore_ascii_case(VERSION.as_str())) {
        return Ok(None);
    }
    let version = target.settings.get(VERSION_SETTING);
    let version = version.map_or(OUR_VERSION, String::as_str);
    let value = HeaderValue::try_from(version).map_err(|_| {
        let reason = "the setting `api_version` holds characters that no header can carry";
        ProviderError::new(ProviderErrorKind::Misconfigured, reason)
    })?;
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use domain::{Demand, Json, seams::BESIDE_TOOLS};

    use super::*;
    use crate::wire::tests::target;

    #[test]
    fn a_tool_is_forced_only_where_the_model_takes_that() {
        let with = |model: &str, options: &str| Target {
            model: model.to_owned(),
            options: serde_json::from_str(options).unwrap(),
            ..target("http://localhost")
        };
        let cases = [
            ("claude-haiku-5-5", "{}", true),
            ("claude-haiku-5-5", r#"{"reasoning_effort":"high"}"#, true),
            (
                "claude-haiku-4-5",
                r#"{"thinking":{"type":"disabled"}}"#,
                true,
            ),
            (
                "claude-haiku-4-5",
                r#"{"thinking":{"type":"enabled"}}"#,
                false,
            ),
            ("claude-opus-5-5", "{}", false),
        ];

        for (model, options, is_offered) in cases {
            let rungs = Anthropic.rungs(&with(model, options));
            assert_eq!(
                rungs.contains(&Rung::ForcedTool),
                is_offered,
                "{model} {options}"
            );
            assert_eq!(rungs.first(), Some(&Rung::NativeSchema));
            assert_eq!(rungs.last(), Some(&Rung::Prompt));
        }
    }

    #[test]
    fn a_schema_that_nothing_can_carry_is_asked_for_in_words() {
        let obstacle = |model: &str, schema: &str, tools: &str, rung| {
            let target = Target {
                model: model.to_owned(),
                options: serde_json::from_str(tools).unwrap(),
                ..target("http://localhost")
            };
            let demand = Demand {
                name: "d".to_owned(),
                schema: Json::parse(schema).unwrap(),
                rung,
                as_given: None,
            };
            let request = ChatRequest {
                demand: Some(demand),
                ..ChatRequest::default()
            };
            Anthropic.obstacle(&target, &request, rung)
        };
        let (fits, open) = (r#"{"type":"null"}"#, r#"{"type":"object"}"#);
        let tools = r#"{"tools":[{"type":"web_search_20250305","name":"web_search"}]}"#;
        let (native, tool) = (Rung::NativeSchema, Rung::ForcedTool);

        assert_eq!(obstacle("claude-haiku-5-5", fits, tools, native), None);
        assert_eq!(obstacle("claude-haiku-5-5", open, "{}", native), None);
        assert_eq!(
            obstacle("claude-haiku-5-5", open, tools, native),
            Some(TOO_MUCH)
        );
        assert_eq!(
            obstacle("claude-opus-5-5", open, "{}", native),
            Some(TOO_MUCH)
        );
        assert_eq!(
            obstacle("claude-haiku-5-5", fits, tools, tool),
            Some(BESIDE_TOOLS)
        );
        assert_eq!(
            obstacle("claude-haiku-5-5", open, tools, Rung::Prompt),
            None
        );
    }

    #[test]
    fn the_version_segment_stands_in_the_address_once() {
        let cases = [
            ("https://api.anthropic.com", "v1/messages"),
            ("https://api.anthropic.com/", "v1/messages"),
            ("https://h/anthropic/v1", "messages"),
            ("https://h/anthropic/v1/", "messages"),
        ];

        for (api_base, expected) in cases {
            assert_eq!(path(&target(api_base)), expected, "{api_base}");
        }
    }
}
