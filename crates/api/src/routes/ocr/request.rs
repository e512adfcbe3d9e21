//! What a caller says of a document: where it is, and how it is to be read.

use std::sync::Arc;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use domain::{DocumentSource, Invalid, JsonObject, ModelName, OcrExtras, Progress};
use engine::OcrCall;
use serde::{Deserialize, de::IgnoredAny};
use utoipa::ToSchema;

use crate::{
    extract::{Integer, RequestBody, at_least_one},
    options::LimitsOptions,
    schemas,
};

/// With or without its end.
const PATIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, PATIENT);

/// A document to read.
#[derive(Deserialize, ToSchema)]
#[schema(as = OcrRequest)]
pub(crate) struct ReadDocument {
    /// Who reads it: `local/ocr` on this machine, a provider's OCR model, or `vision/` before the name of any model that sees.
    #[schema(value_type = schemas::ModelName)]
    model: ModelName,
    /// The document.
    document: DocumentBody,
    /// Which pages, from 0, in any order; all when absent or empty. Those that the document does not have are refused.
    #[schema(value_type = Option<Vec<u32>>)]
    pages: Option<Vec<Integer>>,
    /// Whether the pictures on the pages come with their bytes.
    include_image_base64: Option<bool>,
    /// How many pictures of a page are given: the first ones in reading order.
    #[serde(default, deserialize_with = "at_least_one")]
    #[schema(value_type = Option<i64>, minimum = 1)]
    image_limit: Option<Integer>,
    /// How many pixels wide and high a picture must be to be given.
    #[serde(default, deserialize_with = "at_least_one")]
    #[schema(value_type = Option<i64>, minimum = 1)]
    image_min_size: Option<Integer>,
    /// Settings in Mistral's words, which `local/ocr` knows too: `extract_header`, `extract_footer`, `table_format`,
    /// `bbox_annotation_format`, `document_annotation_format`; others are passed on.
    #[schema(value_type = Option<schemas::Object>)]
    mistral_extra: Option<JsonObject>,
    /// The same under its general name; `mistral_extra` goes before it.
    #[serde(rename = "vendorA_extra")]
    #[schema(value_type = Option<schemas::Object>)]
    vendor_a_extra: Option<JsonObject>,
    /// Settings in Docling's words, of which `local/ocr` knows `force_ocr`: `output_format`, `ocr_engine`, `force_ocr`,
    /// `table_mode`; others are passed on.
    #[schema(value_type = Option<schemas::Object>)]
    docling_extra: Option<JsonObject>,
    /// The same under its general name; `docling_extra` goes before it.
    #[serde(rename = "vendorB_extra")]
    #[schema(value_type = Option<schemas::Object>)]
    vendor_b_extra: Option<JsonObject>,
}

/// A document: its `type` says which of the other members holds it.
#[derive(Deserialize, ToSchema)]
#[schema(as = OcrDocument)]
struct DocumentBody {
    /// `document_url`, `image_url` or `base64`.
    #[serde(rename = "type")]
    kind: DocumentType,
    /// The `http(s):` or `data:` URL of a PDF or a picture.
    #[schema(value_type = Option<String>)]
    document_url: Option<Given>,
    /// The same; PDFs are taken here too.
    #[schema(value_type = Option<String>)]
    image_url: Option<Given>,
    /// The bytes in base64.
    #[schema(value_type = Option<String>)]
    content: Option<Given>,
    /// What the document is called.
    document_name: Option<String>,
}

/// A member that counts for one `type` alone, and may be anything for the others.
#[derive(Deserialize)]
#[serde(untagged)]
enum Given {
    Text(String),
    Other(IgnoredAny),
}

/// Where a document is.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = OcrDocumentType)]
enum DocumentType {
    /// At an address.
    DocumentUrl,
    /// At an address.
    ImageUrl,
    /// In the request.
    Base64,
}

impl RequestBody for ReadDocument {
    fn limit(limits: &LimitsOptions) -> usize {
        limits.ocr_body_bytes
    }
}

impl TryFrom<ReadDocument> for OcrCall {
    type Error = Invalid;

    fn try_from(body: ReadDocument) -> Result<Self, Invalid> {
        let mistral = [
            extra("vendorA_extra", body.vendor_a_extra, &MISTRAL)?,
            extra("mistral_extra", body.mistral_extra, &MISTRAL)?,
        ];
        let docling = [
            extra("vendorB_extra", body.vendor_b_extra, &DOCLING)?,
            extra("docling_extra", body.docling_extra, &DOCLING)?,
        ];
        // Of a name in both, the second one's value stays.
        let merged = |extras: [JsonObject; 2]| extras.into_iter().flatten().collect();
        Ok(Self {
            model: body.model,
            document: source(body.document).map_err(|fault| fault.at("document"))?,
            pages: pages(body.pages.unwrap_or_default())?,
            with_images: body.include_image_base64.unwrap_or(false),
            image_limit: body.image_limit.map(count),
            image_min_size: body.image_min_size.map(count),
            extras: OcrExtras {
                mistral: merged(mistral),
                docling: merged(docling),
            },
            progress: Arc::new(Progress::default()),
        })
    }
}

fn source(body: DocumentBody) -> Result<DocumentSource, Invalid> {
    let text = |member: &str, given: Option<Given>| match given {
        Some(Given::Text(text)) => Ok(text),
        Some(Given::Other(_)) => Err(Invalid::new("string_type", "must be a string").at(member)),
        None => {
            let fault = "this field is required by the document's `type`";
            Err(Invalid::new("missing", fault).at(member))
        }
    };
    Ok(match body.kind {
        DocumentType::DocumentUrl => DocumentSource::Url(text("document_url", body.document_url)?),
        DocumentType::ImageUrl => DocumentSource::Url(text("image_url", body.image_url)?),
        DocumentType::Base64 => DocumentSource::Bytes {
            content: decoded(text("content", body.content)?)?,
            name: body.document_name,
        },
    })
}

fn decoded(content: String) -> Result<bytes::Bytes, Invalid> {
    let mut digits = content.into_bytes();
    digits.retain(|byte| !byte.is_ascii_whitespace());
    match BASE64.decode(digits) {
        Ok(content) => Ok(content.into()),
        Err(_) => Err(Invalid::new("value_error", "must be base64").at("content")),
    }
}

fn pages(given: Vec<Integer>) -> Result<Vec<u32>, Invalid> {
    let page = |(index, page): (usize, Integer)| {
        if page.0 < 0 {
            let fault = Invalid::new("greater_than_equal", "must be at least 0");
            return Err(fault.at(index.to_string()).at("pages"));
        }
        // There is no such page in any document.
        Ok(count(page))
    };
    given.into_iter().enumerate().map(page).collect()
}

/// A number that is none below zero; beyond what there can be of anything, the most that there can be.
fn count(number: Integer) -> u32 {
    u32::try_from(number.0).unwrap_or(u32::MAX)
}

/// Of which type a setting is.
#[derive(Clone, Copy)]
enum Type {
    Switch,
    Text,
    TableFormat,
    Object,
}

const MISTRAL: [(&str, Type); 5] = [
    ("extract_header", Type::Switch),
    ("extract_footer", Type::Switch),
    ("table_format", Type::TableFormat),
    ("bbox_annotation_format", Type::Object),
    ("document_annotation_format", Type::Object),
];
const DOCLING: [(&str, Type); 4] = [
    ("output_format", Type::Text),
    ("ocr_engine", Type::Text),
    ("force_ocr", Type::Switch),
    ("table_mode", Type::Text),
];

/// Settings of which some have a type; a `null` is as good as nothing.
fn extra(
    member: &str,
    given: Option<JsonObject>,
    types: &[(&str, Type)],
) -> Result<JsonObject, Invalid> {
    let mut given = given.unwrap_or_default();
    given.retain(|_, value| !value.is_null());
    for (name, kind) in types {
        let Some(value) = given.get(*name) else {
            continue;
        };
        let begin = value.text().as_bytes().first();
        let (is_it, slug, words) = match kind {
            Type::Switch => (
                matches!(value.text(), "true" | "false"),
                "bool_type",
                "must be true or false",
            ),
            Type::TableFormat => (
                matches!(value.text(), "\"markdown\"" | "\"html\""),
                if begin == Some(&b'"') {
                    "value_error"
                } else {
                    "string_type"
                },
                "must be `markdown` or `html`",
            ),
            Type::Text => (begin == Some(&b'"'), "string_type", "must be a string"),
            Type::Object => (value.is_object(), "object_type", "must be an object"),
        };
        if !is_it {
            return Err(Invalid::new(slug, words).at(*name).at(member));
        }
    }
    Ok(given)
}
