//! `/v2/rerank`: texts in the order in which they answer a query.

use axum::{Json, extract::State, response::Response};
use domain::{Cost, Invalid, ModelName, Paged, RerankRequest, SpanId, Usage};
use engine::{RerankModel, Reranked};
use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::ToSchema;

use crate::{
    doors::Doors,
    extract::{Body, Caller, Integer, List, Query, RequestBody, at_least_one, object, paged},
    problem::{ErrorBody, Problem},
    routes::{offers::usd, recorded},
    schemas,
};

const DEFAULT_LIMIT: u32 = 100;
/// How many texts one request may have.
const MAX_DOCUMENTS: usize = 10_000;

/// Texts to put in order.
#[derive(Deserialize, ToSchema)]
#[schema(as = RerankRequest)]
pub(crate) struct RerankDocuments {
    /// What they should answer.
    query: String,
    /// The texts.
    #[serde(deserialize_with = "documents")]
    #[schema(min_items = 1, max_items = 10_000)]
    documents: Vec<DocumentBody>,
    /// Who puts them in order.
    #[schema(value_type = schemas::ModelName)]
    model: ModelName,
    /// How many of the best are wanted; all when absent.
    #[serde(default, deserialize_with = "at_least_one")]
    #[schema(value_type = Option<i64>, minimum = 1)]
    top_k: Option<Integer>,
    /// Whether the results come with their texts; they do when absent.
    return_documents: Option<bool>,
    /// Into how many pieces a long text may be cut, where the provider cuts.
    #[serde(default, deserialize_with = "at_least_one")]
    #[schema(value_type = Option<i64>, minimum = 1)]
    max_chunks_per_doc: Option<Integer>,
}

/// A text.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = RerankDocument)]
pub(crate) struct DocumentBody {
    /// The text itself.
    text: String,
    /// What comes back with it.
    #[schema(value_type = Option<schemas::Object>)]
    metadata: Option<domain::Json>,
}

impl<'de> Deserialize<'de> for DocumentBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Members {
            text: String,
            #[serde(default, deserialize_with = "metadata")]
            metadata: Option<domain::Json>,
        }
        let Members { text, metadata } = object(deserializer)?;
        Ok(Self { text, metadata })
    }
}

/// Texts in order.
#[derive(Serialize, ToSchema)]
#[schema(as = Reranking)]
pub(crate) struct RerankingBody {
    /// The span that recorded it.
    id: String,
    /// The best first.
    results: Vec<RankedBody>,
    /// The model that was asked.
    model: String,
    #[schema(value_type = schemas::Usage)]
    usage: Usage,
    #[schema(value_type = schemas::Cost)]
    cost: Cost,
}

/// A text, found.
#[derive(Serialize, ToSchema)]
#[schema(as = RerankResult)]
pub(crate) struct RankedBody {
    /// Its place in the request, from 0.
    index: usize,
    /// How well it answers: comparable within one answer alone.
    relevance_score: f64,
    /// The text, where texts were to come back.
    #[schema(required)]
    document: Option<DocumentBody>,
}

/// A model that puts texts in order.
#[derive(Serialize, ToSchema)]
#[schema(as = RerankModel)]
pub(crate) struct RerankModelBody {
    /// Whose it is.
    hosting_provider: String,
    /// What it is asked for by.
    name: String,
    /// Where it is asked.
    location: String,
    /// What one request costs in USD, if that is known and tokens are not billed instead.
    #[schema(required)]
    cost_per_request: Option<f64>,
}

/// Put texts in the order in which they answer a query
#[utoipa::path(post, operation_id = "rerank", path = "/rerank", tag = "rerank", request_body = RerankDocuments, responses(
    (status = 200, description = "The texts in order; their span can be read at once", body = RerankingBody,
        headers(("X-Span-Id" = uuid::Uuid, description = "The span that recorded it"))),
    (status = 400, description = "The model cannot be asked for this", body = ErrorBody),
))]
pub(crate) async fn rerank(
    State(doors): State<Doors>,
    caller: Caller,
    body: Body<RerankDocuments>,
) -> Result<Response, Problem> {
    let body = body.value;
    let model = body.model.clone();
    let (request, shown) = body.parted();
    let service = &doors.gateway.rerank;
    let reranked = service.rerank(&caller, request, model.clone()).await?;
    let span_id = reranked.span_id;
    Ok(recorded(
        span_id,
        RerankingBody::of(reranked, &model, &shown),
    ))
}

/// List models that put texts in order
///
/// Those of configured providers and the project's own, as far as they are known to do that; others can be asked for too.
#[utoipa::path(get, operation_id = "list_rerank_models", path = "/rerank/models", tag = "rerank", params(
    ("offset" = Option<u32>, Query, description = "How many items to pass over", minimum = 0),
    ("limit" = Option<u32>, Query, description = "How many items to give at most; 100 when absent", minimum = 1, maximum = 100),
), responses(
    (status = 200, description = "A page of models", body = List<RerankModelBody>),
))]
pub(crate) async fn models(
    State(doors): State<Doors>,
    caller: Caller,
    query: Query,
) -> Result<Json<List<RerankModelBody>>, Problem> {
    let page = query.page(DEFAULT_LIMIT)?;
    let models = doors.gateway.rerank.models(&caller).await?;
    let total = models.len() as u64;
    let models = models.into_iter().skip(page.offset as usize);
    Ok(paged(Paged {
        items: models.take(page.limit as usize).collect(),
        total,
    }))
}

impl RerankDocuments {
    /// What is asked, and what is shown of each result.
    fn parted(self) -> (RerankRequest, Vec<DocumentBody>) {
        let texts = self.documents.iter().map(|document| document.text.clone());
        let request = RerankRequest {
            query: self.query,
            documents: texts.collect(),
            top_k: self.top_k.and_then(|count| count.0.try_into().ok()),
            max_chunks_per_doc: self
                .max_chunks_per_doc
                .map(|count| count.0.try_into().unwrap_or(u32::MAX)),
        };
        let shown = if self.return_documents.unwrap_or(true) {
            self.documents
        } else {
            Vec::new()
        };
        (request, shown)
    }
}

impl RerankingBody {
    fn of(reranked: Reranked, model: &ModelName, shown: &[DocumentBody]) -> Self {
        let Reranked {
            span_id,
            results,
            usage,
            cost,
        } = reranked;
        let results = results.into_iter().map(|ranked| RankedBody {
            index: ranked.index,
            relevance_score: ranked.score,
            document: shown.get(ranked.index).cloned(),
        });
        Self {
            id: SpanId::to_string(&span_id),
            results: results.collect(),
            model: model.to_string(),
            usage,
            cost,
        }
    }
}

impl RequestBody for RerankDocuments {}

impl From<RerankModel> for RerankModelBody {
    fn from(model: RerankModel) -> Self {
        Self {
            hosting_provider: model.hosting_provider,
            name: model.name,
            location: model.location,
            cost_per_request: model.cost_per_request.map(usd),
        }
    }
}

fn documents<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<DocumentBody>, D::Error> {
    let documents = Vec::<DocumentBody>::deserialize(deserializer)?;
    let fault = match documents.len() {
        0 => Invalid::new("too_short", "at least one document"),
        1..=MAX_DOCUMENTS => return Ok(documents),
        _ => Invalid::new("too_long", format!("at most {MAX_DOCUMENTS} documents")),
    };
    Err(de::Error::custom(fault))
}

/// An object, or nothing.
fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<domain::Json>, D::Error> {
    let given = Option::<domain::Json>::deserialize(deserializer)?;
    let given = given.filter(|value| !value.is_null());
    if given.as_ref().is_some_and(|value| !value.is_object()) {
        let fault = Invalid::new("object_type", "must be an object");
        return Err(de::Error::custom(fault));
    }
    Ok(given)
}
