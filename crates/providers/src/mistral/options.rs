//! Options: those in the words of the OpenAI dialect that Mistral does not know.

use domain::{Json, Tool};
use serde_json::json;

use crate::vocabulary::{Fate, NO_USERS, Vocabulary};

/// What OpenAI calls `required`; both are known today, this one to older versions too.
pub(super) const ANY: &str = "any";
/// How long vectors are to be, in Mistral's words.
pub(super) const DIMENSION: &str = "output_dimension";
/// The same in OpenAI's.
pub(super) const DIMENSIONS: &str = "dimensions";

/// What becomes of an option of a chat; as of <https://docs.mistral.ai/api/endpoint/chat>.
pub(super) const CHAT: Vocabulary = &[
    ("audio", Fate::Refused(&[])),
    ("function_call", Fate::Refused(&["\"none\"", "\"auto\""])),
    ("functions", Fate::Refused(&["[]"])),
    ("logit_bias", Fate::Refused(&["{}"])),
    ("logprobs", Fate::Refused(&["false"])),
    ("max_completion_tokens", Fate::Renamed("max_tokens")),
    ("modalities", Fate::Refused(&["[\"text\"]"])),
    ("safety_identifier", NO_USERS),
    ("seed", Fate::Renamed("random_seed")),
    ("service_tier", Fate::LeftOut("has no tiers")),
    ("store", Fate::LeftOut("keeps no answers")),
    // The count comes unasked.
    ("stream_options", Fate::Own),
    ("top_logprobs", Fate::Refused(&["0"])),
    ("user", NO_USERS),
    ("verbosity", Fate::LeftOut("has no verbosity")),
    ("web_search_options", Fate::Refused(&[])),
];

/// What becomes of an option of embeddings.
pub(super) const EMBEDDINGS: Vocabulary =
    &[(DIMENSIONS, Fate::Renamed(DIMENSION)), ("user", NO_USERS)];

/// A choice of tools that a client gave as an option.
pub(super) fn tool_choice(choice: &Json) -> Json {
    match choice.text() {
        "\"required\"" => Json::of(&ANY),
        _ => choice.clone(),
    }
}

/// Gives a function without arguments a schema that says so: here it must have one.
pub(super) fn complete(tool: &mut Tool) {
    let mut given = tool.as_given.to_value();
    if let Some(function) = given["function"].as_object_mut() {
        let none = || json!({ "type": "object", "properties": {} });
        function.entry("parameters").or_insert_with(none);
        tool.as_given = Json::of(&given);
    }
}
