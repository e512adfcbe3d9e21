//! Models that are no conversation partners, each in its maker's own words: order and images
//! (<https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html>).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{
    ImageRequest, Images, Json, JsonObject, Ranked, RerankRequest, Reranking,
    seams::{ProviderError, ProviderErrorKind as Kind, Target},
};
use serde_json::{Value, json};

use super::fault;
use crate::{
    vocabulary::{
        self,
        Fate::{self, LeftOut, Own, Refused},
        NO_USERS, Vocabulary,
    },
    wire::Fault,
};

/// Words texts to put in order.
pub(super) fn rerank(
    target: &Target,
    request: &RerankRequest,
) -> Result<JsonObject, ProviderError> {
    if !target.model.contains(".rerank") {
        return Err(unknown(target, "reranking"));
    }
    let mut body = json!({ "query": request.query, "documents": request.documents });
    if let Some(top_k) = request.top_k {
        body["top_n"] = json!(top_k);
    }
    if target.model.contains("cohere.") {
        body["api_version"] = json!(2);
    }
    Ok(with_options(body, target, &[]))
}

/// Reads the order.
pub(super) fn reranking(request: &RerankRequest, body: &[u8]) -> Result<Reranking, Fault> {
    let answer = answer(body)?;
    let results = answer["results"].as_array();
    let results = results.ok_or_else(|| Fault::protocol("the provider's answer has no results"))?;
    let mut is_left = vec![true; request.documents.len()];
    let mut ranked = Vec::with_capacity(results.len());
    for result in results {
        let index = result["index"].as_u64();
        let index = index.and_then(|index| usize::try_from(index).ok());
        let place = index.and_then(|index| Some((index, is_left.get_mut(index)?)));
        let score = result["relevance_score"].as_f64();
        let (Some((index, is_left @ true)), Some(score)) = (place, score) else {
            return Err(Fault::protocol("a result of the provider's answer is none"));
        };
        *is_left = false;
        ranked.push(Ranked { index, score });
    }
    Ok(Reranking {
        results: ranked,
        usage: None,
    })
}

const TO_DRAW: Vocabulary = &[
    ("n", Own),
    ("size", Own),
    ("quality", Own),
    ("response_format", ONE_FORM),
    ("user", NO_USERS),
    ("textToImageParams", Own),
    ("imageGenerationConfig", Own),
];
const TO_DRAW_STABILITY: Vocabulary = &[
    ("n", Refused(&["1"])),
    ("response_format", ONE_FORM),
    ("user", NO_USERS),
];
const ONE_FORM: Fate = LeftOut("gives images in one form");

/// What becomes of the options of a model that makes images.
pub(super) fn to_draw(target: &Target) -> Vocabulary {
    if is_stability(target) {
        TO_DRAW_STABILITY
    } else {
        TO_DRAW
    }
}

fn is_stability(target: &Target) -> bool {
    target.model.contains("stability.")
}

/// Words an image to be made.
pub(super) fn image_request(
    target: &Target,
    request: &ImageRequest,
) -> Result<JsonObject, ProviderError> {
    let model = &target.model;
    vocabulary::check(target, to_draw(target))?;
    if is_stability(target) {
        let body = json!({ "prompt": request.prompt });
        return Ok(with_options(body, target, to_draw(target)));
    }
    if !model.contains("amazon.nova-canvas") && !model.contains("amazon.titan-image") {
        return Err(unknown(target, "images"));
    }
    let option = |name: &str| target.options.get(name).filter(|value| !value.is_null());
    let mut config = JsonObject::new();
    if let Some(count) = option("n") {
        config.insert("numberOfImages".to_owned(), count.clone());
    }
    if let Some((width, height)) = size(option("size"))? {
        config.insert("width".to_owned(), Json::of(&width));
        config.insert("height".to_owned(), Json::of(&height));
    }
    if let Some(quality) = quality(option("quality"))? {
        config.insert("quality".to_owned(), Json::of(&quality));
    }
    let config = super::options::merged(config, target, "imageGenerationConfig");
    let params = members(json!({ "text": request.prompt }));
    let params = super::options::merged(params, target, "textToImageParams");
    let mut body = json!({ "taskType": "TEXT_IMAGE", "textToImageParams": params });
    if !config.is_empty() {
        body["imageGenerationConfig"] = json!(config);
    }
    Ok(with_options(body, target, TO_DRAW))
}

/// Width and height, if they are not the model's to choose.
fn size(given: Option<&Json>) -> Result<Option<(u32, u32)>, ProviderError> {
    let Some(given) = given else {
        return Ok(None);
    };
    let word = given.as_string().unwrap_or_default();
    let pixels = |side: &str| side.parse::<u32>().ok();
    let sides = word.split_once('x');
    match sides.and_then(|(width, height)| pixels(width).zip(pixels(height))) {
        None if word != "auto" => Err(vocabulary::invalid(format!(
            "the option `size` is {}, and not such as `1024x1024`, or `auto`",
            given.text()
        ))),
        sides => Ok(sides),
    }
}

/// In the words of Amazon, if it is not the model's to choose.
fn quality(given: Option<&Json>) -> Result<Option<&'static str>, ProviderError> {
    let Some(given) = given else {
        return Ok(None);
    };
    match given.as_string().as_deref() {
        Some("hd" | "high" | "premium") => Ok(Some("premium")),
        Some("standard" | "low" | "medium") => Ok(Some("standard")),
        Some("auto") => Ok(None),
        _ => Err(vocabulary::invalid(format!(
            "the option `quality` is {}, and not `premium`, `standard` or `auto`",
            given.text()
        ))),
    }
}

/// Reads the images.
pub(super) fn images(body: &[u8]) -> Result<Images, Fault> {
    let answer = answer(body)?;
    let withheld = |words: &str| Fault {
        kind: Kind::ContentPolicy,
        ..Fault::protocol(words)
    };
    // Stability says of each image why it is none; Amazon, of all.
    let reason = answer["finish_reasons"][0].as_str();
    if let Some(reason) = reason.or_else(|| answer["error"].as_str()) {
        return Err(withheld(reason));
    }
    let images = answer["images"].as_array().into_iter().flatten();
    let images = images.filter_map(|image| image.as_str());
    let images: Vec<String> = images.map(str::to_owned).collect();
    if images.is_empty() || images.iter().any(|image| STANDARD.decode(image).is_err()) {
        return Err(Fault::protocol("the provider's answer has no images"));
    }
    Ok(Images {
        images,
        usage: None,
    })
}

pub(super) fn answer(body: &[u8]) -> Result<Value, Fault> {
    let answer: Value = serde_json::from_slice(body).map_err(|_| Fault::no_json())?;
    if answer.get("__type").is_some() {
        return Err(fault::of_status(200, None, body));
    }
    Ok(answer)
}

/// A body of ours with the client's options, which win.
pub(super) fn with_options(body: Value, target: &Target, vocabulary: Vocabulary) -> JsonObject {
    let mut body = members(body);
    let options = vocabulary::carried(target, vocabulary);
    body.extend(options.map(|(name, value)| (name.to_owned(), value.clone())));
    body
}

pub(super) fn members(object: Value) -> JsonObject {
    serde_json::from_value(object).unwrap_or_default()
}

pub(super) fn unknown(target: &Target, what: &str) -> ProviderError {
    let reason = format!(
        "the model `{}` cannot be asked for {what}: only the models of Amazon, Cohere and Stability AI for them are known here",
        target.name
    );
    ProviderError::new(Kind::Misconfigured, reason)
}
