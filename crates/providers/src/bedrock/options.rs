//! A target's options: members of Converse go out at its top level, sampling in `inferenceConfig`, and whatever else is
//! the model's own in `additionalModelRequestFields`.

use domain::{ChatRequest, Json, JsonObject, seams::Target};
use serde_json::json;

use super::effort::{Effort, REASONING_EFFORT};
use crate::vocabulary::{
    self,
    Fate::{LeftOut, Own, Refused, Renamed},
    Vocabulary,
};

/// The options of the OpenAI dialect.
pub(super) const VOCABULARY: Vocabulary = &[
    ("max_tokens", Renamed("maxTokens")),
    ("max_completion_tokens", Renamed("maxTokens")),
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
    ("response_format", Refused(&["{\"type\":\"text\"}"])),
    ("tools", Refused(&["[]"])),
    ("tool_choice", Refused(&["\"auto\"", "\"none\""])),
    ("functions", Refused(&["[]"])),
    ("function_call", Refused(&["\"auto\"", "\"none\""])),
    ("web_search_options", Refused(&[])),
];

/// What stands in `inferenceConfig`.
const INFERENCE: [&str; 4] = ["maxTokens", "temperature", "topP", "stopSequences"];
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

/// The options that go out, under the names that they go out under. Converse takes no `null`.
fn carried(target: &Target) -> impl Iterator<Item = (&str, &Json)> {
    vocabulary::carried(target, VOCABULARY).filter(|(_, value)| !value.is_null())
}

/// `inferenceConfig`.
pub(super) fn inference(target: &Target) -> JsonObject {
    let sampling = carried(target).filter(|(name, _)| INFERENCE.contains(name));
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
    merged(inference, target, INFERENCE_CONFIG)
}

/// `additionalModelRequestFields`.
pub(super) fn additional(target: &Target, request: &ChatRequest) -> JsonObject {
    let mut additional = match Effort::of(target, request) {
        Effort::Fields(fields) => fields,
        Effort::Unsaid | Effort::LeftOut(_) => JsonObject::new(),
    };
    for (name, value) in carried(target) {
        let is_converses =
            INFERENCE.contains(&name) || VERBATIM.contains(&name) || TOGETHER.contains(&name);
        if !is_converses {
            additional.insert(name.to_owned(), value.clone());
        }
    }
    merged(additional, target, ADDITIONAL)
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
    if let Effort::LeftOut(why) = Effort::of(target, request) {
        warnings.push(format!(
            "the option `{REASONING_EFFORT}` was left out: the model `{}` {why}",
            target.name
        ));
    }
    warnings
}
