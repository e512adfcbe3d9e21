//! `/v2/ocr`: what stands on a document's pages.

use std::sync::Arc;

use axum::{Json, extract::State, response::Response};
use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use domain::{
    Bbox, Cost, Dimensions, DocumentSource, Element, ElementKind, Invalid, JsonObject, Label,
    ModelName, OcrExtras, OcrImage, OcrPage, Paged, Progress, SpanId,
};
use engine::{OcrCall, OcrModel, Recognized};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    doors::Doors,
    extract::{Body, Caller, Integer, List, RequestBody, at_least_one, paged},
    options::LimitsOptions,
    problem::{ErrorBody, Problem},
    routes::{offers::usd, recorded},
    schemas,
};

const TOP_LEFT: &str = "TOPLEFT";
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
pub(crate) struct DocumentBody {
    /// `document_url`, `image_url` or `base64`.
    #[serde(rename = "type")]
    kind: DocumentType,
    /// The `http(s):` or `data:` URL of a PDF or a picture.
    document_url: Option<String>,
    /// The same; PDFs are taken here too.
    image_url: Option<String>,
    /// The bytes in base64.
    content: Option<String>,
    /// What the document is called.
    document_name: Option<String>,
}

/// Where a document is.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = OcrDocumentType)]
pub(crate) enum DocumentType {
    /// At an address.
    DocumentUrl,
    /// At an address.
    ImageUrl,
    /// In the request.
    Base64,
}

/// A document that was read.
#[derive(Serialize, ToSchema)]
#[schema(as = OcrResult)]
pub(crate) struct ReadBody {
    /// The span that recorded it.
    id: String,
    /// The pages, ascending.
    pages: Vec<PageBody>,
    /// The model that was asked for.
    model: String,
    usage_info: UsageBody,
    #[schema(value_type = schemas::Cost)]
    cost: Cost,
}

/// A page. Every place on it is in the pixels of `dimensions`, from its upper left corner as a reader sees it.
#[derive(Serialize, ToSchema)]
#[schema(as = OcrPage)]
pub(crate) struct PageBody {
    /// Its place in the document, from 0.
    index: u32,
    /// What stands on it; pictures as `![img-0.jpeg](img-0.jpeg)`.
    markdown: String,
    #[schema(required)]
    dimensions: Option<DimensionsBody>,
    /// Its pictures in reading order.
    images: Vec<ImageBody>,
    /// What stands on it piece by piece, in reading order.
    elements: Vec<ElementBody>,
}

/// A page's size.
#[derive(Serialize, ToSchema)]
#[schema(as = OcrDimensions)]
pub(crate) struct DimensionsBody {
    /// Pixels per inch.
    dpi: u32,
    /// In pixels.
    height: u32,
    /// In pixels.
    width: u32,
}

/// A picture on a page.
#[derive(Serialize, ToSchema)]
#[schema(as = OcrImage)]
pub(crate) struct ImageBody {
    /// What the markdown calls it.
    id: String,
    top_left_x: i64,
    top_left_y: i64,
    bottom_right_x: i64,
    bottom_right_y: i64,
    /// The picture as a `data:` URL, if it was asked for.
    #[schema(required)]
    image_base64: Option<String>,
}

/// A piece of a page.
#[derive(Serialize, ToSchema)]
#[schema(as = OcrElement)]
pub(crate) struct ElementBody {
    /// What it is coarsely: `text`, `table`, `picture`, `formula` or `code`.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    kind: ElementKind,
    /// What it is finely: `title`, `section_header`, `text`, `list_item`, `table`, `picture`, `caption` and others.
    #[schema(value_type = String)]
    label: Label,
    /// What it says.
    text: String,
    bbox: BboxBody,
    /// What is known beside: the `level` of a heading, the cells of a table, how sure a recognised text is.
    #[schema(value_type = schemas::Object)]
    data: JsonObject,
}

/// A rectangle in the page's pixels.
#[derive(Serialize, ToSchema)]
#[schema(as = OcrBbox)]
pub(crate) struct BboxBody {
    l: f32,
    t: f32,
    r: f32,
    b: f32,
    coord_origin: &'static str,
}

/// What reading took.
#[derive(Serialize, ToSchema)]
#[schema(as = OcrUsage)]
pub(crate) struct UsageBody {
    pages_processed: usize,
    doc_size_bytes: usize,
    processing_time_seconds: f64,
    /// 0 for no page.
    time_per_page_seconds: f64,
    /// What was used of the settings, and what was chosen where nothing was said.
    #[schema(value_type = schemas::Object)]
    applied_settings: JsonObject,
}

/// A model that reads documents.
#[derive(Serialize, ToSchema)]
#[schema(as = OcrModel)]
pub(crate) struct OcrModelBody {
    /// Whose it is.
    hosting_provider: String,
    /// What it is asked for by.
    name: String,
    /// Where it reads.
    location: String,
    /// USD; 0 when it is not known, or not billed by pages.
    cost_per_page: f64,
}

/// Read a document
#[utoipa::path(post, operation_id = "ocr", path = "/ocr", tag = "ocr", request_body = ReadDocument, responses(
    (status = 200, description = "What stands on its pages; the span can be read at once", body = ReadBody,
        headers(("X-Span-Id" = uuid::Uuid, description = "The span that recorded it"))),
    (status = 400, description = "The model cannot be asked for this, or the document's address may not be dialled", body = ErrorBody),
))]
pub(crate) async fn recognize(
    State(doors): State<Doors>,
    caller: Caller,
    body: Body<ReadDocument>,
) -> Result<Response, Problem> {
    let _permit = doors.admission.call()?;
    let call = OcrCall::try_from(body.value).map_err(|fault| Problem::invalid("body", &fault))?;
    let model = call.model.clone();
    let read = doors.gateway.ocr.recognize(&caller, call).await?;
    let span_id = read.span_id;
    Ok(recorded(span_id, ReadBody::of(read, &model)))
}

/// List models that read documents
///
/// This machine's own first, then those of configured providers, then the project's that say so. Models that see can be
/// asked too, with `vision/` before their names.
#[utoipa::path(get, operation_id = "list_ocr_models", path = "/ocr/models", tag = "ocr", responses(
    (status = 200, description = "All of them", body = List<OcrModelBody>),
))]
pub(crate) async fn models(
    State(doors): State<Doors>,
    caller: Caller,
) -> Result<Json<List<OcrModelBody>>, Problem> {
    let models = doors.gateway.ocr.models(&caller).await?;
    Ok(paged(Paged {
        total: models.len() as u64,
        items: models,
    }))
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
    let missing = |member: &str| {
        Invalid::new("missing", "this field is required by the document's `type`").at(member)
    };
    Ok(match body.kind {
        DocumentType::DocumentUrl => {
            DocumentSource::Url(body.document_url.ok_or_else(|| missing("document_url"))?)
        }
        DocumentType::ImageUrl => {
            DocumentSource::Url(body.image_url.ok_or_else(|| missing("image_url"))?)
        }
        DocumentType::Base64 => DocumentSource::Bytes {
            content: decoded(body.content.ok_or_else(|| missing("content"))?)?,
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

impl ReadBody {
    #[expect(clippy::cast_precision_loss, reason = "there are few pages")]
    pub(crate) fn of(read: Recognized, model: &ModelName) -> Self {
        let pages_processed = read.pages.len();
        Self {
            id: SpanId::to_string(&read.span_id),
            model: model.to_string(),
            usage_info: UsageBody {
                pages_processed,
                doc_size_bytes: read.doc_size_bytes,
                processing_time_seconds: read.seconds,
                time_per_page_seconds: match pages_processed {
                    0 => 0.0,
                    pages => read.seconds / pages as f64,
                },
                applied_settings: read.applied_settings,
            },
            pages: read.pages.into_iter().map(PageBody::from).collect(),
            cost: read.cost,
        }
    }
}

impl From<OcrPage> for PageBody {
    fn from(page: OcrPage) -> Self {
        Self {
            index: page.index,
            markdown: page.markdown,
            dimensions: page
                .dimensions
                .map(|Dimensions { dpi, height, width }| DimensionsBody { dpi, height, width }),
            images: page.images.into_iter().map(ImageBody::from).collect(),
            elements: page.elements.into_iter().map(ElementBody::from).collect(),
        }
    }
}

impl From<OcrImage> for ImageBody {
    fn from(image: OcrImage) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a float that is too large becomes the nearest whole number"
        )]
        let whole = |place: f32| place.round() as i64;
        Self {
            id: image.id,
            top_left_x: whole(image.bbox.l),
            top_left_y: whole(image.bbox.t),
            bottom_right_x: whole(image.bbox.r),
            bottom_right_y: whole(image.bbox.b),
            image_base64: image.data_url,
        }
    }
}

impl From<Element> for ElementBody {
    fn from(element: Element) -> Self {
        let Bbox { l, t, r, b } = element.bbox;
        Self {
            kind: element.kind,
            label: element.label,
            text: element.text,
            bbox: BboxBody {
                l,
                t,
                r,
                b,
                coord_origin: TOP_LEFT,
            },
            data: element.data,
        }
    }
}

impl From<OcrModel> for OcrModelBody {
    fn from(model: OcrModel) -> Self {
        Self {
            hosting_provider: model.hosting_provider,
            name: model.name,
            location: model.location,
            cost_per_page: usd(model.cost_per_page),
        }
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
    Object,
}

const MISTRAL: [(&str, Type); 5] = [
    ("extract_header", Type::Switch),
    ("extract_footer", Type::Switch),
    ("table_format", Type::Text),
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
            Type::Text => (begin == Some(&b'"'), "string_type", "must be a string"),
            Type::Object => (value.is_object(), "object_type", "must be an object"),
        };
        if !is_it {
            return Err(Invalid::new(slug, words).at(*name).at(member));
        }
    }
    Ok(given)
}
