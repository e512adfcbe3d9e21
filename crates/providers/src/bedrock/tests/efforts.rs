//! What becomes of `reasoning_effort`, and of the options that it or the model rules out.

use domain::{Tool, ToolCall, ToolChoice, ToolMode};
use serde_json::{Value, json};

use super::*;

/// What becomes of a model's options, as JSON: `inferenceConfig`, `additionalModelRequestFields`, and what is warned of.
fn worded(model: &str, options: &str, request: &ChatRequest) -> (String, String, Vec<String>) {
    let target = Target {
        options: serde_json::from_str(options).unwrap(),
        ..with("k", "http://localhost", model)
    };
    let (wire, _) = bedrock().chat(&target, request, Manner::Whole).unwrap();
    let body: JsonObject = serde_json::from_slice(&wire.body).unwrap();
    let member = |name: &str| body.get(name).map_or("", |member| member.text()).to_owned();
    (
        member("inferenceConfig"),
        member("additionalModelRequestFields"),
        bedrock().warnings(&target, Wanted::Chat(request)),
    )
}

fn with_a_tool(mode: Option<ToolMode>) -> ChatRequest {
    let as_given = Json::of(&json!({ "type": "function", "function": { "name": "now" } }));
    ChatRequest {
        tools: vec![Tool {
            kind: "function".to_owned(),
            name: "now".to_owned(),
            description: None,
            parameters: None,
            as_given,
        }],
        tool_choice: mode.map(|mode| ToolChoice {
            mode,
            as_given: Json::of(&Value::Null),
        }),
        ..request()
    }
}

/// A call, its result, and what the user says to that.
fn after_a_tool() -> ChatRequest {
    let mut request = with_a_tool(None);
    let mut called = Message::text(Role::Assistant, "");
    called.tool_calls.push(ToolCall {
        id: "a".to_owned(),
        name: "now".to_owned(),
        arguments: "{}".to_owned(),
    });
    let mut result = Message::text(Role::Tool, "21");
    result.tool_call_id = Some("a".to_owned());
    let further = Message::text(Role::User, "So?");
    request.messages.extend([called, result, further]);
    request
}

const HAIKU: &str = "global.anthropic.claude-haiku-4-5-20251001-v1:0";

/// Holds models and options to what goes out, without a warning.
fn hold(cases: &[(&str, &str, &str, &str)]) {
    for &(model, options, inference, additional) in cases {
        let told = worded(model, options, &request());
        let expected = (inference.to_owned(), additional.to_owned(), Vec::new());
        assert_eq!(told, expected, "{model} {options}");
    }
}

#[test]
fn reasoning_effort_is_in_the_words_of_each_claude() {
    let cases = [
        (
            "anthropic.claude-opus-4-6-v1",
            r#"{"reasoning_effort":"minimal"}"#,
            "",
            r#"{"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}}"#,
        ),
        (
            "anthropic.claude-opus-4-6-v1",
            r#"{"reasoning_effort":"xhigh"}"#,
            "",
            r#"{"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}}"#,
        ),
        (
            "us.anthropic.claude-opus-5",
            r#"{"reasoning_effort":"max"}"#,
            "",
            r#"{"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"max"}}"#,
        ),
        (
            "us.anthropic.claude-opus-4-8",
            r#"{"reasoning_effort":"none"}"#,
            "",
            "",
        ),
        (
            "us.anthropic.claude-opus-5",
            r#"{"reasoning_effort":"none"}"#,
            "",
            r#"{"thinking":{"type":"disabled"}}"#,
        ),
        (
            "us.anthropic.claude-sonnet-5-5",
            r#"{"reasoning_effort":"none"}"#,
            "",
            r#"{"thinking":{"type":"between_tools"}}"#,
        ),
        (
            "us.anthropic.claude-opus-5-5",
            r#"{"reasoning_effort":"none"}"#,
            "",
            r#"{"output_config":{"effort":"low"}}"#,
        ),
        (
            HAIKU,
            r#"{"reasoning_effort":"medium"}"#,
            r#"{"maxTokens":8192}"#,
            r#"{"thinking":{"type":"enabled","budget_tokens":4096}}"#,
        ),
        (
            HAIKU,
            r#"{"reasoning_effort":"high","max_tokens":3000}"#,
            r#"{"maxTokens":3000}"#,
            r#"{"thinking":{"type":"enabled","budget_tokens":1500}}"#,
        ),
        (
            HAIKU,
            r#"{"reasoning_effort":"high","inferenceConfig":{"maxTokens":5000}}"#,
            r#"{"maxTokens":5000}"#,
            r#"{"thinking":{"type":"enabled","budget_tokens":2500}}"#,
        ),
        // In all no more than the 32,000 that the model gives.
        (
            "us.anthropic.claude-opus-4-1-20250805-v1:0",
            r#"{"reasoning_effort":"xhigh"}"#,
            r#"{"maxTokens":28672}"#,
            r#"{"thinking":{"type":"enabled","budget_tokens":24576}}"#,
        ),
        (
            HAIKU,
            r#"{"reasoning_effort":"high","additionalModelRequestFields":{"thinking":{"type":"disabled"}}}"#,
            "",
            r#"{"thinking":{"type":"disabled"}}"#,
        ),
        (
            HAIKU,
            r#"{"thinking":{"type":"enabled","budget_tokens":2000},"temperature":1}"#,
            r#"{"temperature":1}"#,
            r#"{"thinking":{"type":"enabled","budget_tokens":2000}}"#,
        ),
    ];

    hold(&cases);
}

#[test]
fn reasoning_effort_is_in_the_words_of_other_families() {
    let cases = [
        (
            "us.amazon.nova-2-lite-v1:0",
            r#"{"reasoning_effort":"medium","max_tokens":90}"#,
            r#"{"maxTokens":90}"#,
            r#"{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"medium"}}"#,
        ),
        (
            "us.amazon.nova-2-lite-v1:0",
            r#"{"reasoning_effort":"none"}"#,
            "",
            r#"{"reasoningConfig":{"type":"disabled"}}"#,
        ),
        (
            "openai.gpt-oss-120b-1:0",
            r#"{"reasoning_effort":"low"}"#,
            "",
            r#"{"reasoning_effort":"low"}"#,
        ),
        (
            "meta.llama3-3-70b-instruct-v1:0",
            r#"{"reasoning_effort":null}"#,
            "",
            "",
        ),
    ];

    hold(&cases);
}

#[test]
fn an_effort_that_a_model_does_not_take_is_left_out_with_a_word() {
    let effort = r#"{"reasoning_effort":"low"}"#;
    let cases = [
        (
            "anthropic.claude-3-5-haiku-20241022-v1:0",
            effort,
            request(),
            "the model cannot think",
        ),
        (
            "amazon.nova-pro-v1:0",
            effort,
            request(),
            "the model `p/m` is not known to take one",
        ),
        (
            "us.anthropic.claude-opus-4-8",
            r#"{"reasoning_effort":3}"#,
            request(),
            "the model `p/m` takes a level in words",
        ),
        (
            HAIKU,
            r#"{"reasoning_effort":"low","max_tokens":2000}"#,
            request(),
            "`max_tokens` leaves no room to think",
        ),
        (
            HAIKU,
            effort,
            after_a_tool(),
            "the model goes on after a tool only with thoughts that the conversation does not hold",
        ),
        (
            HAIKU,
            effort,
            with_a_tool(Some(ToolMode::Required)),
            "the model cannot think where it has to call a tool",
        ),
        (
            HAIKU,
            r#"{"reasoning_effort":"low","toolConfig":{"toolChoice":{"tool":{"name":"now"}}}}"#,
            with_a_tool(None),
            "the model cannot think where it has to call a tool",
        ),
    ];

    for (model, options, request, why) in cases {
        let (_, additional, warnings) = worded(model, options, &request);
        assert_eq!(additional, "", "{model}");
        let told = format!("the option `reasoning_effort` was left out: {why}");
        assert_eq!(warnings, [told], "{model}");
    }
    let (_, additional, warnings) = worded(
        "us.anthropic.claude-opus-4-6-v1",
        effort,
        &with_a_tool(Some(ToolMode::Named("now".to_owned()))),
    );
    assert_eq!(additional, r#"{"output_config":{"effort":"low"}}"#);
    let told = "the option `reasoning_effort` goes out without thinking: the model cannot think where it has to call a tool";
    assert_eq!(warnings, [told]);
}

#[test]
fn a_claude_without_its_thoughts_is_not_told_to_think_after_a_tool() {
    let budget = r#"{"thinking":{"type":"enabled","budget_tokens":2048}}"#;
    let nested = r#"{"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2048},"top_k":5}}"#;
    let adaptive = r#"{"thinking":{"type":"adaptive"}}"#;
    let told = "the option `thinking` was left out: the model goes on after a tool only with thoughts that the conversation does not hold";
    let sonnet = "us.anthropic.claude-sonnet-4-6";
    let cases = [
        (HAIKU, budget, "", Some(told)),
        (sonnet, nested, r#"{"top_k":5}"#, Some(told)),
        (
            sonnet,
            adaptive,
            r#"{"thinking":{"type":"adaptive"}}"#,
            None,
        ),
        ("amazon.nova-pro-v1:0", budget, budget, None),
    ];

    for (model, options, expected, told) in cases {
        let (_, additional, warnings) = worded(model, options, &after_a_tool());
        assert_eq!(additional, expected, "{model} {options}");
        assert_eq!(warnings, Vec::from_iter(told), "{model} {options}");
    }
}

#[test]
fn what_cannot_be_told_beside_thinking_is_left_out_with_a_word() {
    let sampling = r#""temperature":0,"top_p":0.9,"top_k":5,"max_tokens":4000"#;
    let all = ["temperature", "top_p", "top_k"].as_slice();
    let cases = [
        (
            HAIKU,
            "",
            r#"{"temperature":0,"topP":0.9,"maxTokens":4000}"#,
            r#"{"top_k":5}"#,
            [].as_slice(),
        ),
        (
            HAIKU,
            r#","reasoning_effort":"low""#,
            r#"{"maxTokens":4000}"#,
            r#"{"thinking":{"type":"enabled","budget_tokens":1024}}"#,
            all,
        ),
        (
            "us.anthropic.claude-opus-4-8",
            "",
            r#"{"maxTokens":4000}"#,
            "",
            all,
        ),
        // What is written in Converse's own words goes out.
        (
            "us.anthropic.claude-opus-4-8",
            r#","inferenceConfig":{"temperature":1}"#,
            r#"{"maxTokens":4000,"temperature":1}"#,
            "",
            all,
        ),
        (
            "us.amazon.nova-2-lite-v1:0",
            r#","reasoning_effort":"high""#,
            "",
            r#"{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"high"},"inferenceConfig":{"topK":5}}"#,
            ["temperature", "top_p", "max_tokens"].as_slice(),
        ),
    ];

    for (model, further, inference, additional, left_out) in cases {
        let told = worded(model, &format!("{{{sampling}{further}}}"), &request());
        let warnings = left_out.iter().map(|name| {
            format!(
                "the option `{name}` was left out: the model `p/m` takes none, or none while it thinks so hard"
            )
        });
        let expected = (
            inference.to_owned(),
            additional.to_owned(),
            warnings.collect(),
        );
        assert_eq!(told, expected, "{model} {further}");
    }
}

#[test]
fn top_k_is_in_each_familys_words() {
    let cases = [
        (HAIKU, r#"{"top_k":5}"#),
        (
            "amazon.nova-micro-v1:0",
            r#"{"inferenceConfig":{"topK":5}}"#,
        ),
        (
            "us.amazon.nova-2-lite-v1:0",
            r#"{"inferenceConfig":{"topK":5}}"#,
        ),
        ("cohere.command-r-v1:0", r#"{"k":5}"#),
        ("mistral.mistral-large-2402-v1:0", r#"{"top_k":5}"#),
    ];

    for (model, expected) in cases {
        let (_, additional, warnings) = worded(model, r#"{"top_k":5}"#, &request());
        assert_eq!((additional.as_str(), warnings), (expected, Vec::new()));
    }
    let (_, additional, _) = worded("amazon.nova-micro-v1:0", r#"{"topK":5}"#, &request());
    assert_eq!(additional, r#"{"inferenceConfig":{"topK":5}}"#);
}
