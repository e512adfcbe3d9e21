//! Tools that a client brings among the options of a model, in whatever dialect's words.

use domain::{
    ChatRequest, Json, Tool,
    seams::{ProviderError, Target},
};
use serde_json::Value;

use crate::vocabulary::invalid;

const TOOLS: &str = "tools";
/// The older word for functions.
const FUNCTIONS: &str = "functions";
/// Where Converse has them.
const TOOL_CONFIG: &str = "toolConfig";
/// Where Converse has what it passes on to the model.
const MORE_FIELDS: &str = "additionalModelRequestFields";
/// How the kinds of Anthropic's tools begin that are run by whoever reads the answer, as functions are.
const RUN_BY_READER: [&str; 4] = ["bash_", "computer_", "memory_", "text_editor_"];
/// Where Gemini has functions.
const DECLARATIONS: [&str; 2] = ["functionDeclarations", "function_declarations"];

/// The option that brings functions, which whoever reads the answer is to run, if one does. What hosts run themselves is
/// no business of anybody's.
pub(crate) fn functions(target: &Target) -> Option<&'static str> {
    let brings = |option: &str| {
        let given = target.options.get(option).map(Json::to_value);
        let given = given.unwrap_or_default();
        match option {
            FUNCTIONS => items(&given).next().is_some(),
            MORE_FIELDS => items(&given[TOOLS]).any(is_function),
            TOOL_CONFIG => items(&given[TOOLS]).any(|tool| tool["toolSpec"].is_object()),
            _ => items(&given).any(is_function),
        }
    };
    let mut options = [TOOLS, FUNCTIONS, TOOL_CONFIG, MORE_FIELDS].into_iter();
    options.find(|option| brings(option))
}

/// Whether a request has tools of its own, or its target's client brings some.
pub(crate) fn has_tools(target: &Target, request: &ChatRequest) -> bool {
    !request.tools.is_empty() || has_option(target) || functions(target).is_some()
}

/// Whether the calls in the answer to a request are for whoever reads it.
pub(crate) fn has_functions(target: &Target, request: &ChatRequest) -> bool {
    !request.tools.is_empty() || functions(target).is_some()
}

/// Whether some tool of a request, or of its target's options, is one that the host runs.
pub(crate) fn are_run_by_host(target: &Target, request: &ChatRequest) -> bool {
    let is_of_host = |tool: &Tool| !is_callers(&tool.kind);
    request.tools.iter().any(is_of_host) || brings_hosts(target)
}

fn brings_hosts(target: &Target) -> bool {
    let given = |option: &str| target.options.get(option).map(Json::to_value);
    let of_model = given(TOOLS).unwrap_or_default();
    let converse = given(TOOL_CONFIG).unwrap_or_default();
    let further = given(MORE_FIELDS).unwrap_or_default();
    items(&of_model)
        .chain(items(&further[TOOLS]))
        .any(is_run_by_host)
        || items(&converse[TOOLS]).any(|tool| tool["systemTool"].is_object())
}

/// Refuses tools of both kinds where the dialect has but one place for them.
pub(crate) fn check(target: &Target, request: &ChatRequest) -> Result<(), ProviderError> {
    if request.tools.is_empty() || !has_option(target) {
        return Ok(());
    }
    Err(twice(target, TOOLS))
}

/// The same where only functions have that one place.
pub(crate) fn check_functions(target: &Target, request: &ChatRequest) -> Result<(), ProviderError> {
    match functions(target) {
        Some(option) if !request.tools.is_empty() => Err(twice(target, option)),
        _ => Ok(()),
    }
}

fn twice(target: &Target, option: &str) -> ProviderError {
    invalid(format!(
        "the option `{option}` of the model `{}` cannot be used beside the `{TOOLS}` of the request: put them all into the request",
        target.name
    ))
}

fn has_option(target: &Target) -> bool {
    let given = target.options.get(TOOLS).map(Json::text);
    given.is_some_and(|given| !matches!(given, "null" | "[]"))
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn is_function(tool: &Value) -> bool {
    match tool["type"].as_str() {
        Some(kind) => is_callers(kind),
        // Anthropic's and Gemini's need no type.
        None => tool["name"].is_string() || DECLARATIONS.iter().any(|it| tool[it].is_array()),
    }
}

/// Whether tools of a kind are run by whoever reads the answer.
fn is_callers(kind: &str) -> bool {
    matches!(kind, "function" | "custom") || RUN_BY_READER.iter().any(|it| kind.starts_with(it))
}

fn is_run_by_host(tool: &Value) -> bool {
    if let Some(kind) = tool["type"].as_str() {
        return !is_callers(kind);
    }
    // Each member of one of Gemini's is a tool.
    let mut members = tool.as_object().into_iter().flatten();
    !tool["name"].is_string() && members.any(|(name, _)| !DECLARATIONS.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use domain::seams::ProviderErrorKind;

    use super::*;
    use crate::wire::tests::target;

    fn with(options: &str) -> Target {
        Target {
            options: serde_json::from_str(options).unwrap(),
            ..target("http://localhost")
        }
    }

    fn with_tool() -> ChatRequest {
        let tool = Tool {
            kind: "function".to_owned(),
            name: "f".to_owned(),
            description: None,
            parameters: None,
            as_given: Json::null(),
        };
        ChatRequest {
            tools: vec![tool],
            ..ChatRequest::default()
        }
    }

    #[test]
    fn functions_are_known_in_the_words_of_every_dialect() {
        let cases = [
            (
                r#"{"tools":[{"type":"web_search"},{"type":"function","function":{"name":"f"}}]}"#,
                Some("tools"),
            ),
            (r#"{"tools":[{"type":"custom","name":"f"}]}"#, Some("tools")),
            (
                r#"{"tools":[{"name":"f","input_schema":{"type":"object"}}]}"#,
                Some("tools"),
            ),
            (
                r#"{"tools":[{"functionDeclarations":[{"name":"f"}]}]}"#,
                Some("tools"),
            ),
            (
                r#"{"tools":[{"type":"bash_20250124","name":"bash"}]}"#,
                Some("tools"),
            ),
            (r#"{"functions":[{"name":"f"}]}"#, Some("functions")),
            (
                r#"{"toolConfig":{"tools":[{"toolSpec":{"name":"f"}}]}}"#,
                Some("toolConfig"),
            ),
            (
                r#"{"additionalModelRequestFields":{"tools":[{"name":"f","input_schema":{}}]}}"#,
                Some("additionalModelRequestFields"),
            ),
            ("{}", None),
            (r#"{"tools":null}"#, None),
            (r#"{"tools":[],"functions":[]}"#, None),
            (
                r#"{"tools":[{"type":"web_search_20250305","name":"web_search"}]}"#,
                None,
            ),
            (r#"{"tools":[{"googleSearch":{}}]}"#, None),
            (
                r#"{"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}}"#,
                None,
            ),
            (r#"{"tools":"f"}"#, None),
        ];

        for (options, expected) in cases {
            assert_eq!(functions(&with(options)), expected, "{options}");
        }
    }

    #[test]
    fn tools_that_the_host_runs_are_known_in_the_words_of_every_dialect() {
        let cases = [
            ("{}", false),
            (r#"{"tools":[]}"#, false),
            (
                r#"{"tools":[{"type":"function","function":{"name":"f"}}]}"#,
                false,
            ),
            (r#"{"tools":[{"name":"f","input_schema":{}}]}"#, false),
            (
                r#"{"tools":[{"type":"bash_20250124","name":"bash"}]}"#,
                false,
            ),
            (
                r#"{"tools":[{"functionDeclarations":[{"name":"f"}]}]}"#,
                false,
            ),
            (
                r#"{"toolConfig":{"tools":[{"toolSpec":{"name":"f"}},{"cachePoint":{}}]}}"#,
                false,
            ),
            (
                r#"{"tools":[{"type":"function"},{"type":"web_search"}]}"#,
                true,
            ),
            (
                r#"{"tools":[{"type":"web_search_20250305","name":"web_search"}]}"#,
                true,
            ),
            (r#"{"tools":[{"googleSearch":{}}]}"#, true),
            (
                r#"{"tools":[{"functionDeclarations":[],"googleMaps":{}}]}"#,
                true,
            ),
            (
                r#"{"toolConfig":{"tools":[{"systemTool":{"name":"nova_grounding"}}]}}"#,
                true,
            ),
            (
                r#"{"additionalModelRequestFields":{"tools":[{"type":"web_search_20250305"}]}}"#,
                true,
            ),
        ];

        for (options, expected) in cases {
            let found = are_run_by_host(&with(options), &ChatRequest::default());
            assert_eq!(found, expected, "{options}");
        }
        let mut request = with_tool();
        assert!(!are_run_by_host(&with("{}"), &request));
        request.tools[0].kind = "web_search_preview".to_owned();
        assert!(are_run_by_host(&with("{}"), &request));
    }

    #[test]
    fn tools_of_the_options_and_of_the_request_are_too_many() {
        let tools = r#"{"tools":[{"type":"web_search"}]}"#;

        let refused = check(&with(tools), &with_tool()).unwrap_err();

        assert_eq!(refused.kind, ProviderErrorKind::Invalid);
        assert!(refused.reason.contains("`tools`"), "{}", refused.reason);
        assert!(check(&with(tools), &ChatRequest::default()).is_ok());
        assert!(check(&with(r#"{"tools":[]}"#), &with_tool()).is_ok());
        assert!(check(&with("{}"), &with_tool()).is_ok());
    }
}
