//! What is told of a document: its pages, and what reading them took.

use domain::{
    Bbox, Cost, Dimensions, Element, ElementKind, JsonObject, Label, ModelName, OcrImage, OcrPage,
    SpanId,
};
use engine::{OcrModel, Recognized};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{routes::offers::usd, schemas};

const TOP_LEFT: &str = "TOPLEFT";

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
struct PageBody {
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
struct DimensionsBody {
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
struct ImageBody {
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
struct ElementBody {
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
struct BboxBody {
    l: f32,
    t: f32,
    r: f32,
    b: f32,
    coord_origin: &'static str,
}

/// What reading took.
#[derive(Serialize, ToSchema)]
#[schema(as = OcrUsage)]
struct UsageBody {
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
