//! Options by which a host is told to ask other models than the one that was chosen.
//!
//! Which models a project may ask, and on whose key, is decided before anything goes out; so such an option is refused.

use domain::seams::{ProviderError, ProviderErrorKind as Kind, Target};
use serde_json::Value;
use url::Url;

use super::TABLE;

/// Where an option names models: its name, and those of the members on the way, parted by `/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Steering {
    /// All that stands there.
    At(&'static str),
    /// What stands below in members whose names speak of a model.
    Below(&'static str),
}

const TOOLS: &str = "tools";
/// Where Anthropic itself is told to (<https://platform.claude.com/docs/en/api/messages>).
const ANTHROPIC: (&str, &[Steering]) = ("anthropic", &[Steering::At("fallbacks")]);

/// Refuses an option by which the host would ask another model.
pub(crate) fn check_model(target: &Target) -> Result<(), ProviderError> {
    let steers = |steering: &Steering| {
        let (path, names_others): (_, fn(&Value, &str) -> bool) = match *steering {
            Steering::At(path) => (path, |value, model| !is_harmless(value, model)),
            Steering::Below(path) => (path, is_below),
        };
        let value = value_at(target, path)?;
        names_others(&value, &target.model).then_some(path)
    };
    if let Some(path) = of(target).iter().find_map(steers) {
        return Err(refused(target, &path.replace('/', ".")));
    }
    let tools = value_at(target, TOOLS).unwrap_or_default();
    let mut tools = tools.as_array().into_iter().flatten();
    tools.try_for_each(|tool| check_tool(target, tool))
}

/// Refuses a tool by which the host would ask another model: an adviser, a panel. What the caller runs himself says nothing to
/// the host of models.
pub(crate) fn check_tool(target: &Target, tool: &Value) -> Result<(), ProviderError> {
    let is_run_by_host = tool["type"]
        .as_str()
        .is_some_and(|kind| !matches!(kind, "function" | "custom"));
    if is_run_by_host && is_below(tool, &target.model) {
        return Err(refused(target, TOOLS));
    }
    Ok(())
}

fn refused(target: &Target, option: &str) -> ProviderError {
    let reason = format!(
        "the option `{option}` cannot be used with the model `{}`: by it the host would ask other models; to fall back on them, ask for a list of models",
        target.name
    );
    ProviderError::new(Kind::Invalid, reason)
}

/// What is known of a target's host, by its name or its address.
fn of(target: &Target) -> &'static [Steering] {
    if target.provider == ANTHROPIC.0 {
        return ANTHROPIC.1;
    }
    let origin = |api_base: &str| Url::parse(api_base).map(|url| url.origin()).ok();
    let own = target.api_base.as_deref().and_then(origin);
    let mut steered = TABLE.iter().filter(|row| !row.steering.is_empty());
    let row = steered
        .find(|row| row.name == target.provider || (own.is_some() && own == origin(row.api_base)));
    row.map_or(&[], |row| row.steering)
}

fn value_at(target: &Target, path: &str) -> Option<Value> {
    let (name, members) = path.split_once('/').unwrap_or((path, ""));
    let mut value = target.options.get(name)?.to_value();
    for member in members.split('/').filter(|member| !member.is_empty()) {
        value = value.get_mut(member)?.take();
    }
    Some(value)
}

/// Whether a value names no model, or none but the one that was chosen.
fn is_harmless(value: &Value, model: &str) -> bool {
    match value {
        Value::Null => true,
        Value::String(name) => name.is_empty() || name == model,
        Value::Array(list) => list.iter().all(|value| is_harmless(value, model)),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether another model is named somewhere below.
fn is_below(value: &Value, model: &str) -> bool {
    match value {
        Value::Array(list) => list.iter().any(|value| is_below(value, model)),
        Value::Object(members) => members.iter().any(|(name, value)| {
            (name.contains("model") && !is_harmless(value, model)) || is_below(value, model)
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use domain::JsonObject;

    use super::*;
    use crate::wire;

    fn check(provider: &str, api_base: &str, options: &str) -> Result<(), String> {
        let options: JsonObject = serde_json::from_str(options).unwrap();
        let target = Target {
            provider: provider.to_owned(),
            model: "openai/gpt-5".to_owned(),
            options,
            ..wire::tests::target(api_base)
        };
        check_model(&target).map_err(|refused| {
            assert_eq!(refused.kind, Kind::Invalid);
            let (_, rest) = refused.reason.split_once('`').unwrap();
            rest.split('`').next().unwrap().to_owned()
        })
    }

    #[test]
    fn options_that_name_other_models_are_refused_where_they_steer() {
        let router = "https://openrouter.ai/api/v1";
        let cases = [
            (
                "openrouter",
                router,
                r#"{"models":["openai/gpt-5","a/b"]}"#,
                "models",
            ),
            (
                "openrouter",
                "http://proxy/v1",
                r#"{"route":"fallback"}"#,
                "route",
            ),
            (
                "mine",
                "https://openrouter.ai/v1",
                r#"{"preset":"cheap"}"#,
                "preset",
            ),
            (
                "openrouter",
                router,
                r#"{"plugins":[{"id":"web"},{"id":"fusion","analysis_models":["a/b"]}]}"#,
                "plugins",
            ),
            (
                "vercel",
                "https://ai-gateway.vercel.sh/v1",
                r#"{"providerOptions":{"gateway":{"order":["azure"],"models":["a/b"]}}}"#,
                "providerOptions.gateway.models",
            ),
            (
                "litellm",
                "http://h/v1",
                r#"{"fallbacks":[{"a":["b"]}]}"#,
                "fallbacks",
            ),
            (
                "openrouter",
                router,
                r#"{"tools":[{"type":"openrouter:advisor","parameters":{"model":"a/b"}}]}"#,
                "tools",
            ),
            (
                "anthropic",
                "https://api.anthropic.com",
                r#"{"tools":[{"type":"advisor_20260301","name":"advisor","model":"claude-opus-5"}]}"#,
                "tools",
            ),
            (
                "anthropic",
                "https://api.anthropic.com",
                r#"{"fallbacks":[{"model":"claude-opus-5"}]}"#,
                "fallbacks",
            ),
        ];

        for (provider, api_base, options, named) in cases {
            assert_eq!(check(provider, api_base, options), Err(named.to_owned()));
        }
    }

    #[test]
    fn all_other_options_pass() {
        let router = "https://openrouter.ai/api/v1";
        let cases = [
            (
                "openrouter",
                router,
                r#"{"models":["openai/gpt-5"],"route":null,"preset":""}"#,
            ),
            (
                "openrouter",
                router,
                r#"{"provider":{"order":["azure"]},"models":[]}"#,
            ),
            (
                "openrouter",
                router,
                r#"{"plugins":[{"id":"web","include_domains":["a.example"],"model":"openai/gpt-5"}]}"#,
            ),
            (
                "vercel",
                router,
                r#"{"providerOptions":{"gateway":{"order":["azure"]}}}"#,
            ),
            (
                "groq",
                "https://api.groq.com/openai/v1",
                r#"{"models":["a"]}"#,
            ),
            ("mine", "nonsense", r#"{"models":["a"]}"#),
            (
                "openrouter",
                router,
                r#"{"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"model":{"enum":["a"]}}}}},{"name":"g","input_schema":{"properties":{"model":{"const":"a"}}}},{"type":"openrouter:web_search"}]}"#,
            ),
        ];

        for (provider, api_base, options) in cases {
            assert_eq!(check(provider, api_base, options), Ok(()), "{options}");
        }
    }
}
