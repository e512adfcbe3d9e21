//! Answers with the pages of a document.

use domain::{
    Json, JsonObject, OcrPages, OcrRequest, Usage, UsageReport,
    seams::{Taken, Target},
};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{page, request::settings};
use crate::{
    count::{self, whole},
    openai::answer::answer,
    wire::Fault,
};

/// An answer's pages.
#[derive(Deserialize)]
struct Answer {
    pages: Vec<Page>,
}

/// A page as it is told.
#[derive(Deserialize)]
pub(super) struct Page {
    pub(super) index: u32,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) markdown: String,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) images: Vec<Image>,
    pub(super) dimensions: Option<Dimensions>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) tables: Vec<TableText>,
    pub(super) header: Option<String>,
    pub(super) footer: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) confidence_scores: Scores,
    pub(super) blocks: Option<Vec<Block>>,
}

/// A page's size, in pixels.
#[derive(Deserialize)]
pub(super) struct Dimensions {
    pub(super) dpi: f64,
    pub(super) height: f64,
    pub(super) width: f64,
}

/// A rectangle, in pixels.
#[derive(Clone, Copy, Default, Deserialize)]
pub(super) struct Corners {
    pub(super) top_left_x: Option<f32>,
    pub(super) top_left_y: Option<f32>,
    pub(super) bottom_right_x: Option<f32>,
    pub(super) bottom_right_y: Option<f32>,
}

/// A picture.
#[derive(Deserialize)]
pub(super) struct Image {
    pub(super) id: String,
    #[serde(flatten)]
    pub(super) corners: Corners,
    #[serde(rename = "image_base64")]
    pub(super) data: Option<String>,
    /// JSON in a text.
    #[serde(rename = "image_annotation")]
    pub(super) annotation: Option<Value>,
}

/// A table.
#[derive(Deserialize)]
pub(super) struct TableText {
    pub(super) id: String,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) content: String,
}

/// A piece of a page.
#[derive(Deserialize)]
pub(super) struct Block {
    #[serde(rename = "type", default)]
    pub(super) kind: String,
    #[serde(flatten)]
    pub(super) corners: Corners,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) content: String,
    pub(super) table_id: Option<String>,
    pub(super) image_id: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) confidence_scores: Scores,
}

/// How sure the model is, from 0 to 1.
#[derive(Default, Deserialize)]
pub(super) struct Scores {
    pub(super) average_page_confidence_score: Option<f64>,
    pub(super) average_content_confidence_score: Option<f64>,
}

fn nullable<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads an answer.
pub(in crate::mistral) fn pages(
    target: &Target,
    request: &OcrRequest,
    body: &[u8],
) -> Result<OcrPages, Fault> {
    let mut answer = answer(body)?;
    let usage = usage(&answer);
    let mut applied_settings = settings(target, request);
    if let Some(annotation) = of_text(answer["document_annotation"].take()) {
        let name = "document_annotation".to_owned();
        applied_settings.insert(name, Json::of(&annotation));
    }
    let told = Answer::deserialize(answer)
        .map_err(|_| Fault::protocol("the provider's answer has no pages"))?;
    let mut pages = told.pages;
    pages.sort_by_key(|page| page.index);
    let mut images = 0;
    let pages = pages.into_iter().map(|page| page::read(page, &mut images));
    Ok(OcrPages {
        pages: pages.collect(),
        applied_settings: without_pages(applied_settings),
        usage,
    })
}

/// The pages that were asked for are told by those that came.
fn without_pages(mut settings: JsonObject) -> JsonObject {
    settings.shift_remove("pages");
    settings
}

/// What stands in a text as JSON; a text that is none as it is.
pub(super) fn of_text(told: Value) -> Option<Value> {
    match told {
        Value::Null => None,
        Value::String(text) => Some(serde_json::from_str(&text).unwrap_or(Value::String(text))),
        value => Some(value),
    }
}

/// What an answer took that is of no use.
pub(in crate::mistral) fn taken(body: &[u8]) -> Taken {
    count::taken(body, usage, &["pages"])
}

fn usage(answer: &Value) -> Option<UsageReport> {
    let told = &answer["usage_info"];
    Some(UsageReport {
        usage: Usage {
            pages: whole(&told["pages_processed"])?,
            ..Usage::default()
        },
        cost: None,
        raw: Some(Json::of(told)),
    })
}
