//! A target's options: members of Converse go out at its top level, sampling in `inferenceConfig`, and whatever else is
//! the model's own in `additionalModelRequestFields`.

use domain::{
    ChatRequest, Json, JsonObject,
    seams::{ProviderError, Target},
};
use serde_json::json;

use super::{
    demand,
    effort::{Effort, REASONING_EFFORT},
    family::Family,
};
use crate::{
    anthropic::{model::Thinking, tools},
    vocabulary::{
        self,
        Fate::{Instead, LeftOut, Own, Refused, Renamed},
        Vocabulary,
    },
};

/// The options of the OpenAI dialect.
pub(super) const VOCABULARY: Vocabulary = &[
    ("max_tokens", Renamed(MAX_TOKENS)),
    ("max_completion_tokens", Renamed(MAX_TOKENS)),
    ("top_p", Renamed("topP")),
    ("stop", Own),
    ("metadata", Renamed("requestMetadata")),
    ("service_tier", Own),
    (REASONING_EFFORT, Own),
    // The count of tokens comes unasked.
    ("stream_options", Own),
    ("seed", LeftOut("has no seed")),
    ("presence_penalty", LeftOut("has no penalties")),
    ("frequency_penalty", LeftOut("has no penalties")),
    ("verbosity", LeftOut("has no verbosity")),
    ("prediction", LeftOut("takes no predictions")),
    ("user", LeftOut("does not ask who the end user is")),
    (
        "safety_identifier",
        LeftOut("does not ask who the end user is"),
    ),
    ("store", LeftOut("keeps no answers")),
    ("prompt_cache_key", LeftOut("has caches by prefix alone")),
    (
        "prompt_cache_retention",
        LeftOut("has caches by prefix alone"),
    ),
    ("n", Refused(&["1"])),
    ("logprobs", Refused(&["false"])),
    ("top_logprobs", Refused(&["0"])),
    ("logit_bias", Refused(&["{}"])),
    ("modalities", Refused(&["[\"text\"]"])),
    ("audio", Refused(&[])),
    ("parallel_tool_calls", Refused(&["true"])),
    (
        "response_format",
        Instead(
            vocabulary::TEXT_FORMAT,
            "`outputConfig`, or with an `output_schema`",
        ),
    ),
    ("tools", Instead(&["[]"], "`toolConfig`")),
    (
        "tool_choice",
        Instead(&["\"auto\"", "\"none\""], "`toolConfig.toolChoice`"),
    ),
    ("functions", Refused(&["[]"])),
    ("function_call", Refused(&["\"auto\"", "\"none\""])),
    ("web_search_options", Refused(&[])),
];

const MAX_TOKENS: &str = "maxTokens";
/// What stands in `inferenceConfig`.
const INFERENCE: [&str; 4] = [MAX_TOKENS, "temperature", "topP", "stopSequences"];
/// How many of the likeliest tokens a model picks from. Converse has no name for it, each maker of models its own.
const TOP_K: &str = "top_k";
/// Whether and how a client has Claude think, in its maker's words.
pub(super) const THINKING: &str = "thinking";
pub(super) const INFERENCE_CONFIG: &str = "inferenceConfig";
pub(super) const SYSTEM: &str = "system";
pub(super) const TOOL_CONFIG: &str = "toolConfig";
pub(super) const OUTPUT_CONFIG: &str = "outputConfig";
pub(super) const ADDITIONAL: &str = "additionalModelRequestFields";
const SERVICE_TIER: &str = "serviceTier";
/// Members of a request, as of <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html>,
/// but for those that are put together from several sources.
const VERBATIM: [&str; 6] = [
    "guardrailConfig",
    "promptVariables",
    "additionalModelResponseFieldPaths",
    "requestMetadata",
    "performanceConfig",
    SERVICE_TIER,
];
const TOGETHER: [&str; 5] = [
    INFERENCE_CONFIG,
    SYSTEM,
    TOOL_CONFIG,
    OUTPUT_CONFIG,
    ADDITIONAL,
];

/// Refuses options that the dialect cannot carry.
pub(super) fn check(target: &Target) -> Result<(), ProviderError> {
    vocabulary::check(target, VOCABULARY)?;
    // Other models are told an effort as it is written.
    match Family::of(&target.model) {
        Family::Claude(model) if matches!(model.thinking(), Thinking::Adaptive) => {}
        Family::Claude(..) | Family::Nova2 => vocabulary::check_effort(target)?,
        _ => {}
    }
    for name in TOGETHER {
        match target.options.get(name).filter(|given| !given.is_null()) {
            Some(system) if name == SYSTEM && !system.text().starts_with('[') => {
                return Err(vocabulary::invalid(format!(
                    "the option `{SYSTEM}` is no list of blocks, as `[{{\"cachePoint\":{{\"type\":\"default\"}}}}]` is"
                )));
            }
            Some(_) if name != SYSTEM => vocabulary::check_object(target, name)?,
            _ => {}
        }
    }
    Ok(())
}

/// The options that go out, under the names that they go out under. Converse takes no `null`.
fn carried(target: &Target) -> impl Iterator<Item = (&str, &Json)> {
    vocabulary::carried(target, VOCABULARY).filter(|(_, value)| !value.is_null())
}

/// `inferenceConfig`.
pub(super) fn inference(target: &Target, effort: &Effort) -> JsonObject {
    let is_said = |name| INFERENCE.contains(&name) && !effort.unsaid.contains(&name);
    let sampling = carried(target).filter(|(name, _)| is_said(*name));
    let mut inference: JsonObject = sampling
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect();
    let stop = target.options.get("stop").filter(|stop| !stop.is_null());
    if let Some(stop) = stop {
        let is_list = stop.text().starts_with('[');
        let stops = if is_list {
            stop.clone()
        } else {
            Json::of(&[stop])
        };
        inference.insert("stopSequences".to_owned(), stops);
    }
    if let Some(most) = effort.max_tokens {
        inference.insert(MAX_TOKENS.to_owned(), Json::of(&most));
    }
    merged(inference, target, INFERENCE_CONFIG)
}

/// How long the client lets the answer be.
pub(super) fn max_tokens(target: &Target) -> Option<u64> {
    let said = inference(target, &Effort::default());
    said.get(MAX_TOKENS)?.text().parse().ok()
}

/// `additionalModelRequestFields`.
pub(super) fn additional(target: &Target, effort: &Effort) -> JsonObject {
    let mut additional = effort.fields.clone();
    for (name, value) in carried(target) {
        let is_converses =
            INFERENCE.contains(&name) || VERBATIM.contains(&name) || TOGETHER.contains(&name);
        if is_converses || effort.unsaid.contains(&name) {
            continue;
        }
        // <https://docs.aws.amazon.com/nova/latest/nova2-userguide/core-inference.html>,
        // <https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-cohere-command-r-plus.html>
        let (name, value) = match (Family::of(&target.model), name) {
            (Family::Nova | Family::Nova2, TOP_K | "topK") => {
                (INFERENCE_CONFIG, Json::of(&json!({ "topK": value })))
            }
            (Family::Cohere, TOP_K) => ("k", value.clone()),
            _ => (name, value.clone()),
        };
        additional.insert(name.to_owned(), value);
    }
    let mut additional = merged(additional, target, ADDITIONAL);
    if effort.leaves_out_thinking {
        additional.shift_remove(THINKING);
    }
    additional
}

/// The client's own `thinking`.
pub(super) fn own_thinking(target: &Target) -> Option<Json> {
    let additional = merged(JsonObject::new(), target, ADDITIONAL);
    let own = additional.get(THINKING).or(target.options.get(THINKING));
    own.filter(|own| !own.is_null()).cloned()
}

/// The members that go out as they are.
pub(super) fn verbatim(target: &Target) -> JsonObject {
    let mut members = JsonObject::new();
    let tier = target.options.get("service_tier");
    if let Some(tier) = tier.filter(|tier| !tier.is_null() && tier.text() != "\"auto\"") {
        members.insert(SERVICE_TIER.to_owned(), Json::of(&json!({ "type": tier })));
    }
    let given = carried(target).filter(|(name, _)| VERBATIM.contains(name));
    members.extend(given.map(|(name, value)| (name.to_owned(), value.clone())));
    members
}

/// Our members of an object, and those that the client wrote for it itself, which win.
pub(super) fn merged(mut ours: JsonObject, target: &Target, name: &str) -> JsonObject {
    let given = target.options.get(name);
    let given = given.and_then(|given| serde_json::from_str::<JsonObject>(given.text()).ok());
    ours.extend(given.unwrap_or_default());
    ours
}

/// A sentence for every option that is left out.
pub(super) fn warnings(target: &Target, request: &ChatRequest) -> Vec<String> {
    let mut warnings = vocabulary::warnings(target, VOCABULARY);
    // What cannot be worded is refused, and needs no warning.
    let worded = demand::worded(target, request);
    let tool_config = worded.map(|worded| worded.tool_config).unwrap_or_default();
    let effort = Effort::of(target, request, &tool_config);
    warnings.extend(tools::warning_of_strict(request));
    let given = target.options.iter().filter(|(_, value)| !value.is_null());
    for (name, _) in given {
        if effort.unsaid.contains(&goes_out_as(name)) {
            warnings.push(format!(
                "the option `{name}` was left out: the model `{}` takes none, or none while it thinks so hard",
                target.name
            ));
        }
    }
    warnings.extend(effort.warnings);
    warnings
}

fn goes_out_as(option: &str) -> &str {
    let row = VOCABULARY.iter().find(|(known, _)| *known == option);
    match row {
        Some((_, Renamed(name))) => name,
        _ => option,
    }
}
