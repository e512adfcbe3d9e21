//! Images: by a Gemini model, whose answer has them among its parts
//! (<https://ai.google.dev/gemini-api/docs/image-generation>), or by Imagen, which is asked for a prediction
//! (<https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/imagen-api>).

use domain::{
    ChatRequest, ImageRequest, Images, Json, JsonObject, Message, Part, Role,
    seams::{ProviderError, ProviderErrorKind as Kind, Target},
};
use serde_json::{Value, json};

use super::{
    answer, config,
    request::{self, Body},
};
use crate::{vocabulary, wire::Fault};

/// Sizes of the OpenAI dialect.
const ASPECT_RATIOS: [(&str, &str); 8] = [
    ("256x256", "1:1"),
    ("512x512", "1:1"),
    ("1024x1024", "1:1"),
    ("2048x2048", "1:1"),
    ("1536x1024", "3:2"),
    ("1024x1536", "2:3"),
    ("1792x1024", "16:9"),
    ("1024x1792", "9:16"),
];
/// The client's own parameters of a prediction, which win over ours.
const PARAMETERS: &str = "parameters";

/// Whether the model makes images alone.
pub(super) fn is_imagen(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    name.starts_with("imagen")
}

/// The body for Imagen.
pub(super) fn prediction(target: &Target, request: &ImageRequest) -> Result<Value, ProviderError> {
    vocabulary::check(target, config::VOCABULARY)?;
    let mut parameters = JsonObject::from_iter([("sampleCount".to_owned(), Json::of(&1))]);
    for (option, parameter) in [("n", "sampleCount"), ("seed", "seed")] {
        if let Some(value) = config::given(target, option) {
            parameters.insert(parameter.to_owned(), value.clone());
        }
    }
    if let Some(ratio) = aspect_ratio(target)? {
        parameters.insert("aspectRatio".to_owned(), Json::of(&ratio));
    }
    for (name, value) in vocabulary::carried(target, config::VOCABULARY) {
        if name == PARAMETERS {
            let own: JsonObject = serde_json::from_str(value.text()).unwrap_or_default();
            parameters.extend(own);
        } else {
            parameters.insert(name.to_owned(), value.clone());
        }
    }
    let parameters = Json::of(&parameters).to_value();
    let prompt = &request.prompt;
    Ok(json!({ "instances": [{ "prompt": prompt }], "parameters": parameters }))
}

/// The body for a Gemini model.
pub(super) fn chat(target: &Target, request: &ImageRequest) -> Result<Json, ProviderError> {
    vocabulary::check(target, config::VOCABULARY)?;
    let mut ours = JsonObject::new();
    ours.insert(config::MODALITIES.to_owned(), Json::of(&["TEXT", "IMAGE"]));
    if let Some(ratio) = aspect_ratio(target)? {
        let image = json!({ "aspectRatio": ratio });
        ours.insert("imageConfig".to_owned(), Json::of(&image));
    }
    let mut parts = vec![Part::Text(request.prompt.clone())];
    parts.extend(request.media.iter().cloned());
    let request = ChatRequest {
        messages: vec![Message::new(Role::User, parts)],
        ..ChatRequest::default()
    };
    let body: Body<'_> = request::plain(target, &request, ours)?;
    Ok(Json::of(&body))
}

/// A sentence for everything that is left out.
pub(super) fn warnings(target: &Target) -> Vec<String> {
    let mut target = target.clone();
    // It goes out as an aspect ratio.
    target.options.shift_remove("size");
    config::warnings(&target)
}

fn aspect_ratio(target: &Target) -> Result<Option<&'static str>, ProviderError> {
    let size = config::given(target, "size").and_then(Json::as_string);
    let Some(size) = size.filter(|size| size != "auto") else {
        return Ok(None);
    };
    let row = ASPECT_RATIOS.iter().find(|(known, _)| *known == size);
    let row = row.ok_or_else(|| {
        let reason = format!(
            "the option `size` cannot be `{size}` for the model `{}`; in its dialect that is an `aspectRatio`",
            target.name
        );
        ProviderError::new(Kind::Invalid, reason)
    })?;
    Ok(Some(row.1))
}

/// Reads the images, whichever of the two made them.
pub(super) fn images(body: &[u8]) -> Result<Images, Fault> {
    let answer = answer::value(body)?;
    if answer.get("candidates").is_some() || answer.get("promptFeedback").is_some() {
        return of_parts(body);
    }
    // Imagen leaves out what it filtered, up to all of it.
    let predictions = answer["predictions"].as_array();
    let predictions: Vec<&Value> = predictions.into_iter().flatten().collect();
    let images = predictions.iter().filter_map(|it| {
        let data = it["bytesBase64Encoded"].as_str()?;
        Some(data.to_owned())
    });
    let images: Vec<String> = images.collect();
    let reason = predictions
        .iter()
        .find_map(|it| it["raiFilteredReason"].as_str());
    if images.is_empty() {
        let words = reason.unwrap_or("the provider made no image, as it does where it filters");
        return Err(Fault {
            kind: Kind::ContentPolicy,
            ..Fault::protocol(words)
        });
    }
    Ok(Images {
        images,
        usage: None,
    })
}

fn of_parts(body: &[u8]) -> Result<Images, Fault> {
    let mut images = Vec::new();
    let mut usage = None;
    let mut filtered = None;
    for mut answer in answer::answers(body)? {
        usage = answer.usage().or(usage);
        for mut candidate in answer.candidates()? {
            let data = candidate.parts().into_iter();
            let data = data.filter(|part| part.thought != Some(true));
            let data = data.filter_map(|part| part.inline_data);
            images.extend(data.map(|blob| blob.data));
            filtered = filtered.or(candidate.filtered());
            if images.is_empty() {
                candidate.finish_reason()?;
            }
        }
    }
    if images.is_empty() {
        let nothing = || Fault {
            kind: Kind::Failed,
            ..Fault::protocol("the provider made no image")
        };
        return Err(filtered.unwrap_or_else(nothing));
    }
    Ok(Images { images, usage })
}
