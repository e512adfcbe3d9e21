//! What of a target's options goes into `generationConfig`, and by which name
//! (<https://ai.google.dev/api/generate-content#generationconfig>).

use domain::{
    Json, JsonObject,
    seams::{ProviderError, ProviderErrorKind as Kind, Target},
};
use serde::Serialize;
use serde_json::Value;

use crate::vocabulary::{
    self,
    Fate::{Instead, LeftOut, Own, Refused},
    Vocabulary,
};

/// The client's own members, which win over ours.
pub(super) const CONFIG: &str = "generationConfig";
pub(super) const MODALITIES: &str = "responseModalities";
const COUNT: &str = "candidateCount";
const THINKING: &str = "thinkingConfig";
const FORMAT: &str = "response_format";
const EFFORT: &str = "reasoning_effort";
const TOOLS: &str = "tools";

/// The options of the OpenAI dialect that have no member of the same name here.
pub(super) const VOCABULARY: Vocabulary = &[
    ("temperature", Own),
    ("top_p", Own),
    ("top_k", Own),
    ("max_tokens", Own),
    ("max_completion_tokens", Own),
    ("stop", Own),
    ("seed", Own),
    ("n", Own),
    ("logprobs", Own),
    ("top_logprobs", Own),
    ("presence_penalty", Own),
    ("frequency_penalty", Own),
    ("modalities", Own),
    ("service_tier", Own),
    ("size", LeftOut("has sizes for images alone")),
    (EFFORT, Own),
    (FORMAT, Own),
    (TOOLS, Own),
    (CONFIG, Own),
    // The count of tokens comes with every stream.
    ("stream_options", Own),
    ("user", LeftOut("has no place for an end user's id")),
    (
        "safety_identifier",
        LeftOut("has no place for an end user's id"),
    ),
    (
        "metadata",
        LeftOut("has no metadata; on Vertex AI, `labels` are alike"),
    ),
    ("store", LeftOut("keeps no answers")),
    ("verbosity", LeftOut("has no such setting")),
    ("prediction", LeftOut("takes no predicted answer")),
    ("prompt_cache_key", LeftOut("caches by the prompt alone")),
    (
        "prompt_cache_retention",
        LeftOut("caches by the prompt alone"),
    ),
    ("contents", Instead(&[], "messages")),
    (
        "systemInstruction",
        Instead(&[], "the instructions, or a system message"),
    ),
    ("logit_bias", Refused(&["{}"])),
    (
        "tool_choice",
        Instead(&["\"auto\""], "`toolConfig.functionCallingConfig`"),
    ),
    ("parallel_tool_calls", Refused(&["true"])),
    ("functions", Refused(&[])),
    ("function_call", Refused(&["\"auto\""])),
    ("audio", Refused(&[])),
    ("web_search_options", Refused(&[])),
    ("quality", Refused(&["\"auto\""])),
    ("style", Refused(&[])),
    ("background", Refused(&["\"auto\""])),
];

/// Options with another name. The later of two for one member wins.
const MEMBERS: [(&str, &str); 11] = [
    ("temperature", "temperature"),
    ("top_p", "topP"),
    ("top_k", "topK"),
    ("max_tokens", "maxOutputTokens"),
    ("max_completion_tokens", "maxOutputTokens"),
    ("seed", "seed"),
    ("n", COUNT),
    ("logprobs", "responseLogprobs"),
    ("top_logprobs", "logprobs"),
    ("presence_penalty", "presencePenalty"),
    ("frequency_penalty", "frequencyPenalty"),
];

/// Refuses options that a chat cannot carry.
pub(super) fn check(target: &Target) -> Result<(), ProviderError> {
    vocabulary::check(target, VOCABULARY)?;
    vocabulary::check_count(target, "n", given(target, "n"))?;
    vocabulary::check_soundless(target, "modalities", given(target, "modalities"))?;
    let own = clients(target)?;
    vocabulary::check_count(target, &format!("{CONFIG}.{COUNT}"), own.get(COUNT))?;
    vocabulary::check_soundless(target, MODALITIES, own.get(MODALITIES))?;
    if let Some(format) = given(target, FORMAT)
        && format.to_value()["type"] != "text"
    {
        let reason = format!(
            "the option `{FORMAT}` cannot be used with the model `{}`; in its dialect that is `{CONFIG}.responseMimeType` and `{CONFIG}.responseJsonSchema`",
            target.name
        );
        return Err(ProviderError::new(Kind::Invalid, reason));
    }
    Ok(())
}

/// An option, unless it is `null`.
pub(super) fn given<'t>(target: &'t Target, name: &str) -> Option<&'t Json> {
    target.options.get(name).filter(|value| !value.is_null())
}

/// The members of `generationConfig`: those of ours, what the options say, and the client's own.
pub(super) fn generation_config(
    target: &Target,
    ours: JsonObject,
) -> Result<JsonObject, ProviderError> {
    let mut config = ours;
    for (option, member) in MEMBERS {
        if let Some(value) = given(target, option) {
            config.insert(member.to_owned(), value.clone());
        }
    }
    if let Some(stop) = given(target, "stop") {
        let stop = match stop.as_string() {
            Some(text) => Json::of(&[text]),
            None => stop.clone(),
        };
        config.insert("stopSequences".to_owned(), stop);
    }
    if let Some(Value::Array(modalities)) = given(target, "modalities").map(Json::to_value) {
        let names = modalities.iter().filter_map(Value::as_str);
        let names: Vec<String> = names.map(str::to_uppercase).collect();
        config.insert(MODALITIES.to_owned(), Json::of(&names));
    }
    if let Some(effort) = given(target, EFFORT) {
        let thinking = thinking(target, effort)?;
        config.insert(THINKING.to_owned(), Json::of(&thinking));
    }
    config.extend(clients(target)?);
    Ok(config)
}

/// A sentence for everything that is left out.
pub(super) fn warnings(target: &Target) -> Vec<String> {
    let mut warnings = vocabulary::warnings(target, VOCABULARY);
    let effort = given(target, EFFORT).and_then(Json::as_string);
    let is_own = clients(target).is_ok_and(|own| own.contains_key(THINKING));
    // https://ai.google.dev/gemini-api/docs/openai#thinking
    let always_thinks = target.model.contains("-pro") || is_third(&target.model);
    if effort.as_deref() == Some("none") && always_thinks && !is_own {
        warnings.push(format!(
            "the option `{EFFORT}` is as near to `none` as it can be: the model `{}` always thinks",
            target.name
        ));
    }
    warnings
}

/// The client's own `generationConfig`.
pub(super) fn clients(target: &Target) -> Result<JsonObject, ProviderError> {
    let Some(own) = given(target, CONFIG) else {
        return Ok(JsonObject::new());
    };
    serde_json::from_str(own.text()).map_err(|_| {
        let reason = format!("the option `{CONFIG}` is no object");
        ProviderError::new(Kind::Invalid, reason)
    })
}

/// The tools of the client's options, in the dialect's own words: `[{"googleSearch": {}}]`.
pub(super) fn clients_tools(target: &Target) -> Result<Vec<Json>, ProviderError> {
    let Some(tools) = given(target, TOOLS) else {
        return Ok(Vec::new());
    };
    let tools: Option<Vec<Json>> = serde_json::from_str(tools.text()).ok();
    let is_own = |tool: &Json| tool.is_object() && tool.to_value().get("type").is_none();
    tools
        .filter(|tools| tools.iter().all(is_own))
        .ok_or_else(|| {
            let reason = format!(
                "the option `{TOOLS}` is not in the words of the dialect of `{}`, as `[{{\"googleSearch\":{{}}}}]` is",
                target.provider
            );
            ProviderError::new(Kind::Invalid, reason)
        })
}

/// How quickly, and at which price, the answer is wanted.
pub(super) fn service_tier(target: &Target) -> Option<Json> {
    let tier = given(target, "service_tier")?;
    match tier.as_string().as_deref() {
        Some("auto") => None,
        Some("default") => Some(Json::of(&"standard")),
        _ => Some(tier.clone()),
    }
}

/// Whether the model is of the third generation or later, as names without a number are.
pub(super) fn is_third(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let older = ["gemini-1", "gemini-2", "gemma", "learnlm"];
    !older.iter().any(|family| name.starts_with(family))
}

#[derive(Serialize)]
struct Thinking {
    #[serde(rename = "thinkingLevel", skip_serializing_if = "Option::is_none")]
    level: Option<&'static str>,
    #[serde(rename = "thinkingBudget", skip_serializing_if = "Option::is_none")]
    budget: Option<u32>,
    #[serde(rename = "includeThoughts", skip_serializing_if = "is_false")]
    is_told: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// An effort as a level, or as a number of tokens for models that know no levels; the numbers are Google's own
/// (<https://ai.google.dev/gemini-api/docs/openai#thinking>).
fn thinking(target: &Target, effort: &Json) -> Result<Thinking, ProviderError> {
    let is_pro = target.model.contains("-pro");
    let effort = effort.as_string().unwrap_or_default();
    let (level, budget) = match effort.as_str() {
        // No thinking at all is for the smaller models of the second generation alone.
        "none" if is_pro => ("LOW", 128),
        "none" => ("MINIMAL", 0),
        "minimal" if is_pro => ("LOW", 1024),
        "minimal" => ("MINIMAL", 1024),
        "low" => ("LOW", 1024),
        "medium" => ("MEDIUM", 8192),
        "high" | "xhigh" | "max" => ("HIGH", 24_576),
        _ => return Err(vocabulary::unknown_effort()),
    };
    let is_third = is_third(&target.model);
    Ok(Thinking {
        level: is_third.then_some(level),
        budget: (!is_third).then_some(budget),
        is_told: effort != "none",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::target;

    fn thought(model: &str, effort: &str) -> String {
        let mut target = target("http://localhost");
        model.clone_into(&mut target.model);
        let effort = Json::of(&effort);
        target.options.insert(EFFORT.to_owned(), effort);
        let config = generation_config(&target, JsonObject::new()).unwrap();
        config["thinkingConfig"].text().to_owned()
    }

    #[test]
    fn an_effort_is_what_the_model_knows() {
        let told = |member: &str| format!("{{{member},\"includeThoughts\":true}}");
        let cases = [
            (
                "gemini-2.5-flash",
                "none",
                r#"{"thinkingBudget":0}"#.to_owned(),
            ),
            (
                "gemini-2.5-pro",
                "none",
                r#"{"thinkingBudget":128}"#.to_owned(),
            ),
            ("gemini-2.5-flash", "low", told(r#""thinkingBudget":1024"#)),
            ("gemini-2.5-pro", "max", told(r#""thinkingBudget":24576"#)),
            (
                "gemini-3.5-flash",
                "none",
                r#"{"thinkingLevel":"MINIMAL"}"#.to_owned(),
            ),
            (
                "gemini-3.1-pro-preview",
                "minimal",
                told(r#""thinkingLevel":"LOW""#),
            ),
            (
                "models/gemini-flash-latest",
                "medium",
                told(r#""thinkingLevel":"MEDIUM""#),
            ),
            ("gemini-4-argon", "high", told(r#""thinkingLevel":"HIGH""#)),
        ];

        for (model, effort, expected) in cases {
            assert_eq!(thought(model, effort), expected, "{model} {effort}");
        }
    }

    #[test]
    fn what_is_left_out_is_said() {
        let mut target = target("http://localhost");
        let options = r#"{"logit_bias":{},"user":"u","stream_options":{},"temperature":1,"store":null,"safetySettings":[],"reasoning_effort":"none"}"#;
        target.options = serde_json::from_str(options).unwrap();

        let no_users =
            "the option `user` was left out: the dialect of `p` has no place for an end user's id";
        let always = "the option `reasoning_effort` is as near to `none` as it can be: the model `p/m` always thinks";
        for (model, expected) in [
            ("gemini-2.5-flash", vec![no_users]),
            ("gemini-2.5-pro", vec![no_users, always]),
            ("gemini-3.5-flash", vec![no_users, always]),
        ] {
            model.clone_into(&mut target.model);
            assert_eq!(warnings(&target), expected, "{model}");
        }
        let own = r#"{"reasoning_effort":"none","generationConfig":{"thinkingConfig":{}}}"#;
        target.options = serde_json::from_str(own).unwrap();
        assert_eq!(warnings(&target), [""; 0]);
    }

    #[test]
    fn what_would_make_another_answer_is_refused() {
        for options in [
            r#"{"logit_bias":{"50256":-100}}"#,
            r#"{"systemInstruction":{"parts":[{"text":"a"}]}}"#,
            r#"{"contents":[]}"#,
            r#"{"tool_choice":"required"}"#,
        ] {
            let mut target = target("http://localhost");
            target.options = serde_json::from_str(options).unwrap();
            assert_eq!(check(&target).unwrap_err().kind, Kind::Invalid, "{options}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for options in [r#"{"generationConfig":[]}"#, r#"{"reasoning_effort":3}"#] {
            let mut target = target("http://localhost");
            target.options = serde_json::from_str(options).unwrap();
            let refused = generation_config(&target, JsonObject::new()).unwrap_err();
            assert_eq!(refused.kind, Kind::Invalid, "{options}");
        }
    }
}
