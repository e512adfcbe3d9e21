//! Bodies of Converse requests.

use domain::{
    ChatRequest, Json, JsonObject,
    seams::{ProviderError, Target},
};

use super::{
    demand::{self, Reading},
    effort::Effort,
    messages::Conversation,
    options::{self, ADDITIONAL, INFERENCE_CONFIG, OUTPUT_CONFIG, SYSTEM, TOOL_CONFIG},
};

/// The body, and how its answer is read.
pub(super) fn converse(
    target: &Target,
    request: &ChatRequest,
) -> Result<(JsonObject, Reading), ProviderError> {
    let conversation = Conversation::of(target, &request.messages)?;
    let worded = demand::worded(target, request)?;
    let effort = Effort::of(target, request, &worded.tool_config);
    let mut system: Vec<Json> = conversation.system.iter().map(Json::of).collect();
    // Such as a mark up to where the prompt is to be cached.
    let given = target.options.get(SYSTEM);
    let given = given.and_then(|given| serde_json::from_str::<Vec<Json>>(given.text()).ok());
    system.extend(given.unwrap_or_default());

    let mut body = JsonObject::new();
    body.insert("messages".to_owned(), Json::of(&conversation.turns));
    if !system.is_empty() {
        body.insert(SYSTEM.to_owned(), Json::of(&system));
    }
    let objects = [
        (INFERENCE_CONFIG, options::inference(target, &effort)),
        (TOOL_CONFIG, worded.tool_config),
        (OUTPUT_CONFIG, worded.output_config),
        (ADDITIONAL, options::additional(target, &effort)),
    ];
    for (name, members) in objects {
        if !members.is_empty() {
            body.insert(name.to_owned(), Json::of(&members));
        }
    }
    body.extend(options::verbatim(target));
    Ok((body, worded.reading))
}
