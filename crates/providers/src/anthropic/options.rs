//! A target's options, and the members of the body that they and the request make together.

use domain::{
    ChatRequest, Json, JsonObject,
    seams::{ProviderError, Target},
};
use serde_json::Value;

use super::{
    demand,
    model::{Model, Thinking},
    thought::{self, Asked, Thought},
    tools::{self, TOOL_CHOICE, TOOLS, Tooling},
};
use crate::vocabulary::{self, Fate, Vocabulary};

/// The OpenAI dialect's options, where they are not this one's too.
pub(super) const VOCABULARY: Vocabulary = &[
    ("max_tokens", Fate::Own),
    ("max_completion_tokens", Fate::Own),
    ("stop", Fate::Own),
    ("user", Fate::Own),
    ("safety_identifier", Fate::Own),
    ("metadata", Fate::Own),
    ("service_tier", Fate::Own),
    ("reasoning_effort", Fate::Own),
    ("parallel_tool_calls", Fate::Own),
    (THINKING, Fate::Own),
    (TOOLS, Fate::Own),
    (TOOL_CHOICE, Fate::Own),
    (OUTPUT_CONFIG, Fate::Own),
    // Every stream counts.
    ("stream_options", Fate::Own),
    (
        "system",
        Fate::Instead(&[], "the instructions, or a system message"),
    ),
    ("seed", Fate::LeftOut("has no seed")),
    ("presence_penalty", Fate::LeftOut("has no penalties")),
    ("frequency_penalty", Fate::LeftOut("has no penalties")),
    ("verbosity", Fate::LeftOut("has no setting for length")),
    ("store", Fate::LeftOut("stores nothing")),
    ("prediction", Fate::LeftOut("has no predictions")),
    ("prompt_cache_key", Fate::LeftOut("has no key to its cache")),
    (
        "prompt_cache_retention",
        Fate::LeftOut("says how long in `cache_control`"),
    ),
    ("n", Fate::Refused(&["1"])),
    ("logprobs", Fate::Refused(&["false"])),
    ("top_logprobs", Fate::Refused(&["0"])),
    ("logit_bias", Fate::Refused(&["{}"])),
    ("modalities", Fate::Refused(&[r#"["text"]"#])),
    ("audio", Fate::Refused(&[])),
    ("web_search_options", Fate::Refused(&[])),
    (
        "response_format",
        Fate::Instead(
            vocabulary::TEXT_FORMAT,
            "`output_config`, or with an `output_schema`",
        ),
    ),
    ("functions", Fate::Refused(&["[]"])),
    ("function_call", Fate::Refused(&[r#""none""#, r#""auto""#])),
];

const THINKING: &str = "thinking";
pub(super) const OUTPUT_CONFIG: &str = "output_config";
/// How bold a model is to be. Newer models refuse to be told, and so does one that thinks.
const SAMPLING: [&str; 3] = ["temperature", "top_p", "top_k"];

/// What a request demands of the answer's form, as members of its body.
#[derive(Debug, Default)]
pub(super) struct Demanded {
    /// The schema of the answer, with its kind.
    pub(super) format: Option<Json>,
    /// The tool that takes the answer, and the choice of it.
    pub(super) tool: Option<(Json, Json)>,
}

/// All members of the body but for the model, the conversation, and whether it streams. What a client wrote in the
/// dialect's own words wins over what we would ask for.
pub(super) fn members(
    target: &Target,
    request: &ChatRequest,
    demanded: Demanded,
) -> Result<JsonObject, ProviderError> {
    let tooling = Tooling::of(target, request, demanded.tool)?;
    let thought = thought(target, request, &tooling);
    let mut members = JsonObject::new();
    let mut add = |name: &str, value: Option<Json>| {
        if let Some(value) = value {
            members.insert(name.to_owned(), value);
        }
    };
    let most = || Json::of(&thought.max_tokens());
    let most = max_tokens(target).cloned().unwrap_or_else(most);
    add("max_tokens", Some(most));
    add(TOOLS, tooling.tools);
    add(TOOL_CHOICE, tooling.choice);
    let effort = thought.effort.as_ref();
    add(
        OUTPUT_CONFIG,
        output_config(target, demanded.format, effort),
    );
    add("metadata", metadata(target));
    add("stop_sequences", stop_sequences(target));
    add("service_tier", service_tier(target));
    let takes_sampling = thought.takes_sampling(Model::named(&target.model));
    add(THINKING, thought.thinking);
    for (name, value) in vocabulary::carried(target, VOCABULARY) {
        // `null` is refused here, where others read it as nothing.
        if !value.is_null() && (takes_sampling || !SAMPLING.contains(&name)) {
            add(name, Some(value.clone()));
        }
    }
    Ok(members)
}

/// Refuses options that the dialect cannot carry.
pub(super) fn check(target: &Target) -> Result<(), ProviderError> {
    vocabulary::check(target, VOCABULARY)?;
    // Models that decide themselves how long they think are told an effort as it is written.
    if !matches!(Model::named(&target.model).thinking(), Thinking::Adaptive) {
        vocabulary::check_effort(target)?;
    }
    let tools = given(target, "tools").map(Json::to_value);
    let tools = tools.as_ref().and_then(Value::as_array).into_iter();
    if tools.flatten().any(|tool| tool["type"] == "function") {
        let instead = r#"tools as `{"name":"…","input_schema":{…}}`"#;
        return Err(vocabulary::refused(target, "tools", Some(instead)));
    }
    let choice = given(target, "tool_choice").map(Json::to_value);
    if choice.is_some_and(|choice| !choice.is_object() || choice["type"] == "function") {
        let instead = r#"a choice as `{"type":"any"}`"#;
        return Err(vocabulary::refused(target, "tool_choice", Some(instead)));
    }
    Ok(())
}

/// A sentence for everything that is left out.
pub(super) fn warnings(target: &Target, request: &ChatRequest) -> Vec<String> {
    let mut warnings = vocabulary::warnings(target, VOCABULARY);
    let (demanded, _) = demand::worded(target, request);
    // What cannot be worded is refused, and needs no warning.
    let tooling = Tooling::of(target, request, demanded.tool).unwrap_or_default();
    let thought = thought(target, request, &tooling);
    if !request.tools.is_empty() && request.tool_choice.is_some() {
        warnings.extend(vocabulary::replaced(target, &[TOOL_CHOICE]));
    }
    warnings.extend(tools::warnings_of_strict(target, request));
    warnings.extend(thought.warnings());
    let mut warn = |name: &str, why: &str| {
        warnings.push(format!("the option `{name}` was left out: {why}"));
    };
    if !thought.takes_sampling(Model::named(&target.model)) {
        for name in SAMPLING {
            if given(target, name).is_some() {
                warn(name, "the model takes none, or none while it thinks");
            }
        }
    }
    if given(target, "metadata").is_some_and(|metadata| user_id(metadata).is_none()) {
        warn("metadata", "the dialect's has a `user_id` alone");
    }
    if given(target, "service_tier").is_some() && service_tier(target).is_none() {
        warn(
            "service_tier",
            "the dialect has `auto` and `standard_only` alone",
        );
    }
    warnings
}

/// An option, unless it is `null`.
pub(super) fn given<'t>(target: &'t Target, name: &str) -> Option<&'t Json> {
    target.options.get(name).filter(|value| !value.is_null())
}

/// Whether the target can be made to call a tool.
pub(super) fn may_force_tool(target: &Target) -> bool {
    thought::may_force_tool(Model::named(&target.model), given(target, THINKING))
}

/// Whether and how hard the model thinks.
fn thought(target: &Target, request: &ChatRequest, tooling: &Tooling) -> Thought {
    let most = max_tokens(target).and_then(|most| most.text().parse().ok());
    Thought::of(Asked {
        model: Model::named(&target.model),
        thinking: given(target, THINKING),
        effort: given(target, "reasoning_effort"),
        max_tokens: most,
        is_forced: tooling.is_forced(),
        goes_on_after_tools: thought::goes_on_after_tools(request),
    })
}

/// How long the client lets the answer be.
fn max_tokens(target: &Target) -> Option<&Json> {
    given(target, "max_tokens").or_else(|| given(target, "max_completion_tokens"))
}

/// The client's own members win.
fn output_config(target: &Target, format: Option<Json>, effort: Option<&Json>) -> Option<Json> {
    let given = given(target, OUTPUT_CONFIG);
    let mut config = JsonObject::new();
    config.extend(effort.map(|effort| ("effort".to_owned(), effort.clone())));
    config.extend(format.map(|format| ("format".to_owned(), format)));
    match given.map(|given| serde_json::from_str::<JsonObject>(given.text())) {
        Some(Ok(own)) => config.extend(own),
        // The provider will say what is wrong with it.
        Some(Err(_)) => return given.cloned(),
        None => {}
    }
    (!config.is_empty()).then(|| Json::of(&config))
}

/// Who asks, in the client's own words or in the OpenAI dialect's.
fn metadata(target: &Target) -> Option<Json> {
    if let Some(metadata) = given(target, "metadata").filter(|own| user_id(own).is_some()) {
        return Some(metadata.clone());
    }
    let user = given(target, "safety_identifier").or_else(|| given(target, "user"));
    user.map(|user| {
        Json::of(&JsonObject::from_iter([(
            "user_id".to_owned(),
            user.clone(),
        )]))
    })
}

/// The one member that the dialect's `metadata` has.
fn user_id(metadata: &Json) -> Option<Json> {
    let metadata: JsonObject = serde_json::from_str(metadata.text()).ok()?;
    metadata.get("user_id").cloned()
}

fn stop_sequences(target: &Target) -> Option<Json> {
    let stop = given(target, "stop")?;
    Some(
        stop.as_string()
            .map_or_else(|| stop.clone(), |one| Json::of(&[one])),
    )
}

fn service_tier(target: &Target) -> Option<Json> {
    let tier = given(target, "service_tier")?;
    match tier.as_string()?.as_str() {
        "auto" | "standard_only" => Some(tier.clone()),
        "default" => Some(Json::of(&"standard_only")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use domain::{Message, Role, Tool, ToolChoice, ToolMode};

    use super::*;
    use crate::wire::tests::target;

    fn with(model: &str, options: &str) -> Target {
        Target {
            model: model.to_owned(),
            options: serde_json::from_str(options).unwrap(),
            ..target("http://localhost")
        }
    }

    #[test]
    fn nothing_is_left_out_without_a_word() {
        let cases: [(&str, &str, &[&str]); 5] = [
            (
                "claude-haiku-4-5",
                r#"{"temperature":1,"seed":null,"user":"u","stop":"a","service_tier":"auto"}"#,
                &[],
            ),
            (
                "claude-haiku-5-5",
                r#"{"top_p":0.5,"seed":1,"service_tier":"flex"}"#,
                &[
                    "the option `seed` was left out: the dialect of `p` has no seed",
                    "the option `top_p` was left out: the model takes none, or none while it thinks",
                    "the option `service_tier` was left out: the dialect has `auto` and `standard_only` alone",
                ],
            ),
            (
                "claude-haiku-4-5",
                r#"{"temperature":0,"reasoning_effort":"low"}"#,
                &[
                    "the option `temperature` was left out: the model takes none, or none while it thinks",
                ],
            ),
            (
                "claude-3-5-haiku-20241022",
                r#"{"temperature":0,"reasoning_effort":"low"}"#,
                &["the option `reasoning_effort` was left out: the model cannot think"],
            ),
            (
                "claude-haiku-4-5",
                r#"{"metadata":{"topic":"a"},"max_tokens":2000,"reasoning_effort":"low"}"#,
                &[
                    "the option `reasoning_effort` was left out: `max_tokens` leaves no room to think",
                    "the option `metadata` was left out: the dialect's has a `user_id` alone",
                ],
            ),
        ];

        for (model, options, expected) in cases {
            let told = warnings(&with(model, options), &ChatRequest::default());
            assert_eq!(told, expected, "{model} {options}");
        }
    }

    #[test]
    fn what_becomes_of_tools_is_told() {
        let as_given = r#"{"type":"function","function":{"name":"now","strict":true}}"#;
        let request = ChatRequest {
            tools: vec![Tool {
                kind: "function".to_owned(),
                name: "now".to_owned(),
                description: None,
                parameters: None,
                as_given: Json::parse(as_given).unwrap(),
            }],
            tool_choice: Some(ToolChoice {
                mode: ToolMode::Required,
                as_given: Json::of(&"required"),
            }),
            ..ChatRequest::default()
        };
        let options = r#"{"reasoning_effort":"high","tools":[],"tool_choice":{"type":"auto"}}"#;

        let told = warnings(&with("claude-opus-4-8", options), &request);

        let expected = [
            "the option `tool_choice` was left out: the request has its own",
            "`strict` of the tool `now` was left out: its arguments are not held to its schema",
            "the option `reasoning_effort` goes out without thinking: the model cannot think where it has to call a tool",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_model_without_its_thoughts_is_not_told_to_think_after_a_tool() {
        let mut request = ChatRequest::default();
        for role in [Role::Assistant, Role::Tool, Role::User] {
            request.messages.push(Message::text(role, "x"));
        }
        let budget = r#"{"thinking":{"type":"enabled","budget_tokens":2048}}"#;
        let adaptive = r#"{"thinking":{"type":"adaptive"}}"#;
        let why =
            "the model goes on after a tool only with thoughts that the conversation does not hold";
        let cases = [
            ("claude-haiku-4-5", budget, Some("thinking")),
            ("claude-sonnet-4-6", budget, Some("thinking")),
            (
                "claude-haiku-4-5",
                r#"{"reasoning_effort":"low"}"#,
                Some("reasoning_effort"),
            ),
            ("claude-sonnet-5-5", adaptive, None),
        ];

        for (model, options, left_out) in cases {
            let target = with(model, options);
            let warned = warnings(&target, &request);
            let members = members(&target, &request, Demanded::default()).unwrap();

            let expected = left_out.map(|name| format!("the option `{name}` was left out: {why}"));
            assert_eq!(warned, Vec::from_iter(expected), "{model} {options}");
            let is_thinking = members.contains_key("thinking");
            assert_eq!(is_thinking, left_out.is_none(), "{model} {options}");
        }
        request.messages.push(Message::text(Role::Assistant, "y"));
        request.messages.push(Message::text(Role::User, "z"));
        assert_eq!(
            warnings(&with("claude-haiku-4-5", budget), &request),
            [""; 0]
        );
    }

    #[test]
    fn what_would_make_another_answer_is_refused() {
        let refused = [
            r#"{"n":2}"#,
            r#"{"logprobs":true}"#,
            r#"{"logit_bias":{"1":-100}}"#,
            r#"{"modalities":["text","audio"]}"#,
            r#"{"response_format":{"type":"json_object"}}"#,
            r#"{"web_search_options":{}}"#,
            r#"{"system":"Be brief."}"#,
            r#"{"reasoning_effort":"banana"}"#,
            r#"{"reasoning_effort":3}"#,
            r#"{"tools":[{"type":"function","function":{"name":"a"}}]}"#,
            r#"{"tool_choice":"required"}"#,
            r#"{"tool_choice":{"type":"function","function":{"name":"a"}}}"#,
        ];
        let taken = r#"{"n":1,"logprobs":false,"logit_bias":{},"modalities":["text"],"response_format":{"type":"text"},"audio":null,"system":null,"reasoning_effort":"xhigh","tools":[{"type":"web_search_20250305","name":"web_search"},{"name":"a","input_schema":{"type":"object"}}],"tool_choice":{"type":"auto"}}"#;

        for options in refused {
            let target = with("claude-haiku-4-5", options);
            assert!(check(&target).is_err(), "{options}");
        }
        assert!(check(&with("claude-haiku-4-5", taken)).is_ok());
        // The host knows best which efforts its newest models take.
        assert!(check(&with("claude-opus-5-5", r#"{"reasoning_effort":"ultra"}"#)).is_ok());
    }
}
