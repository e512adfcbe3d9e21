//! Options: those in the words of the OpenAI dialect, those of a model's run, and all others.

use domain::{
    Json, JsonObject,
    seams::{ProviderError, Target},
};
use serde_json::Value;

use crate::vocabulary::{self, Fate, NO_USERS, ONE_ENCODING, Vocabulary};

const OPTIONS: &str = "options";

/// What becomes of an option; as of <https://docs.ollama.com/api/chat>.
pub(super) const VOCABULARY: Vocabulary = &[
    ("audio", Fate::Refused(&[])),
    ("encoding_format", ONE_ENCODING),
    ("function_call", Fate::Refused(&["\"none\"", "\"auto\""])),
    ("functions", Fate::Refused(&["[]"])),
    ("logit_bias", Fate::Refused(&["{}"])),
    ("max_completion_tokens", Fate::Renamed("num_predict")),
    ("max_tokens", Fate::Renamed("num_predict")),
    ("metadata", Fate::LeftOut("keeps no metadata")),
    ("modalities", Fate::Refused(&["[\"text\"]"])),
    ("n", Fate::Refused(&["1"])),
    (OPTIONS, Fate::Own),
    ("parallel_tool_calls", Fate::Refused(&["true"])),
    ("prediction", Fate::LeftOut("takes no predictions")),
    (
        "prompt_cache_key",
        Fate::LeftOut("has no key for its cache"),
    ),
    ("reasoning_effort", Fate::Own),
    ("response_format", Fate::Own),
    ("safety_identifier", NO_USERS),
    ("service_tier", Fate::LeftOut("has no tiers")),
    ("stop", Fate::Own),
    ("store", Fate::LeftOut("keeps no answers")),
    // The count comes unasked.
    ("stream_options", Fate::Own),
    // No tool can be forced.
    ("tool_choice", Fate::Refused(&["\"auto\""])),
    ("user", NO_USERS),
    ("verbosity", Fate::LeftOut("has no verbosity")),
    ("web_search_options", Fate::Refused(&[])),
];

/// What stands in the object of a run's options: <https://docs.ollama.com/modelfile#parameter>, and what older versions
/// know.
const OF_A_RUN: [&str; 28] = [
    "draft_num_predict",
    "frequency_penalty",
    "low_vram",
    "main_gpu",
    "min_p",
    "mirostat",
    "mirostat_eta",
    "mirostat_tau",
    "num_batch",
    "num_ctx",
    "num_gpu",
    "num_keep",
    "num_predict",
    "num_thread",
    "numa",
    "penalize_newline",
    "presence_penalty",
    "repeat_last_n",
    "repeat_penalty",
    "seed",
    "temperature",
    "tfs_z",
    "top_k",
    "top_p",
    "typical_p",
    "use_mlock",
    "use_mmap",
    "vocab_only",
];

/// Refuses options that the dialect cannot carry.
pub(super) fn check(target: &Target) -> Result<(), ProviderError> {
    vocabulary::check(target, VOCABULARY)?;
    let format = target.options.get("response_format");
    let format = format
        .filter(|format| !format.is_null())
        .map(Json::to_value);
    let kind = format.as_ref().map(|format| format["type"].as_str());
    match kind {
        None | Some(Some("text" | "json_object" | "json_schema")) => Ok(()),
        Some(_) => Err(vocabulary::invalid(
            "the option `response_format` has none of the types `text`, `json_object` and `json_schema`"
                .to_owned(),
        )),
    }
}

/// The members that the target's options become, those of a run in an object of their own.
pub(super) fn members(target: &Target) -> JsonObject {
    let mut members = JsonObject::new();
    let mut run = JsonObject::new();
    for (name, value) in vocabulary::carried(target, VOCABULARY) {
        let place = if OF_A_RUN.contains(&name) {
            &mut run
        } else {
            &mut members
        };
        place.insert(name.to_owned(), value.clone());
    }
    let given = |option: &str| target.options.get(option).filter(|value| !value.is_null());
    if let Some(stop) = given("stop") {
        let is_one = stop.text().starts_with('"');
        let stop = if is_one {
            Json::of(&[stop])
        } else {
            stop.clone()
        };
        run.insert("stop".to_owned(), stop);
    }
    if let Some(options) = given(OPTIONS) {
        match serde_json::from_str::<JsonObject>(options.text()) {
            Ok(own) => run.extend(own),
            // The host will say what is wrong with it.
            Err(_) => drop(members.insert(OPTIONS.to_owned(), options.clone())),
        }
    }
    if !run.is_empty() {
        members.entry(OPTIONS.to_owned()).or_insert(Json::of(&run));
    }
    if let Some(effort) = given("reasoning_effort") {
        members.entry("think".to_owned()).or_insert(think(effort));
    }
    if let Some(format) = given("response_format").and_then(format) {
        members.entry("format".to_owned()).or_insert(format);
    }
    members
}

/// <https://docs.ollama.com/capabilities/thinking>.
fn think(effort: &Json) -> Json {
    match effort.to_text().as_str() {
        "none" => Json::of(&false),
        "minimal" => Json::of(&"low"),
        "xhigh" => Json::of(&"high"),
        _ => effort.clone(),
    }
}

/// The schema itself, or the word for any JSON at all.
fn format(format: &Json) -> Option<Json> {
    let given = format.to_value();
    match given["type"].as_str() {
        Some("json_object") => Some(Json::of(&"json")),
        Some("json_schema") => match &given["json_schema"]["schema"] {
            Value::Null => Some(Json::of(&"json")),
            schema => Some(Json::of(schema)),
        },
        _ => None,
    }
}
