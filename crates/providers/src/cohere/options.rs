//! Options: those in the words of the OpenAI dialect, and what this one says instead.

use domain::{Json, seams::Target};
use serde::Serialize;
use serde_json::Value;

use crate::vocabulary::{Fate, NO_USERS, Vocabulary};

/// What becomes of an option; as of <https://docs.cohere.com/reference/chat>.
pub(super) const VOCABULARY: Vocabulary = &[
    ("audio", Fate::Refused(&[])),
    ("function_call", Fate::Refused(&["\"none\"", "\"auto\""])),
    ("functions", Fate::Refused(&["[]"])),
    ("logit_bias", Fate::Refused(&["{}"])),
    ("max_completion_tokens", Fate::Renamed("max_tokens")),
    ("metadata", Fate::LeftOut("keeps no metadata")),
    ("modalities", Fate::Refused(&["[\"text\"]"])),
    ("n", Fate::Refused(&["1"])),
    ("parallel_tool_calls", Fate::Refused(&["true"])),
    ("prediction", Fate::LeftOut("takes no predictions")),
    (
        "prompt_cache_key",
        Fate::LeftOut("has no key for its cache"),
    ),
    ("reasoning_effort", Fate::Own),
    ("response_format", Fate::Own),
    ("safety_identifier", NO_USERS),
    (
        "service_tier",
        Fate::LeftOut("has `priority` instead of tiers"),
    ),
    ("stop", Fate::Own),
    ("store", Fate::LeftOut("keeps no answers")),
    // The count comes unasked.
    ("stream_options", Fate::Own),
    ("tool_choice", Fate::Own),
    ("top_k", Fate::Renamed("k")),
    ("top_logprobs", Fate::Refused(&["0"])),
    ("top_p", Fate::Renamed("p")),
    ("user", NO_USERS),
    ("verbosity", Fate::LeftOut("has no verbosity")),
    ("web_search_options", Fate::Refused(&[])),
];

/// How many tokens an effort may take for thought. From `high` on, the model has as many as it likes.
const BUDGETS: [(&str, u32); 3] = [("minimal", 512), ("low", 2048), ("medium", 8192)];

/// The options that the dialect words itself, unless the client gave what they become.
pub(super) fn own(target: &Target) -> Vec<(&'static str, Json)> {
    let given = |option: &str| target.options.get(option).filter(|value| !value.is_null());
    let has = |option: &str| target.options.contains_key(option);
    let mut members = Vec::new();
    if let Some(stop) = given("stop").filter(|_| !has("stop_sequences")) {
        let is_one = stop.text().starts_with('"');
        let stop = if is_one {
            Json::of(&[stop])
        } else {
            stop.clone()
        };
        members.push(("stop_sequences", stop));
    }
    if let Some(effort) = given("reasoning_effort").filter(|_| !has("thinking")) {
        members.push(("thinking", thinking(effort)));
    }
    if let Some(format) = given("response_format") {
        members.push(("response_format", response_format(format)));
    }
    members.extend(given("tool_choice").and_then(tool_choice));
    members
}

/// <https://docs.cohere.com/docs/reasoning>.
fn thinking(effort: &Json) -> Json {
    #[derive(Serialize)]
    struct Thinking {
        #[serde(rename = "type")]
        kind: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        token_budget: Option<u32>,
    }
    let effort = effort.to_text();
    let budget = BUDGETS.iter().find(|(name, _)| *name == effort);
    let kind = if effort == "none" {
        "disabled"
    } else {
        "enabled"
    };
    Json::of(&Thinking {
        kind,
        token_budget: budget.map(|(_, tokens)| *tokens),
    })
}

/// A schema stands beside the kind here, and both are called JSON objects.
fn response_format(format: &Json) -> Json {
    #[derive(Serialize)]
    struct Format {
        #[serde(rename = "type")]
        kind: &'static str,
        json_schema: Value,
    }
    let given = format.to_value();
    match given["json_schema"].get("schema") {
        Some(schema) if given["type"] == "json_schema" => Json::of(&Format {
            kind: "json_object",
            json_schema: schema.clone(),
        }),
        _ => format.clone(),
    }
}

/// The choice in capitals; `auto` is what happens where none is made.
fn tool_choice(choice: &Json) -> Option<(&'static str, Json)> {
    let word = match choice.as_string()?.as_str() {
        "auto" => return None,
        "required" => "REQUIRED",
        "none" => "NONE",
        _ => return Some(("tool_choice", choice.clone())),
    };
    Some(("tool_choice", Json::of(&word)))
}
