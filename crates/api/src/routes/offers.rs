//! `/v2/models`: all models that can be asked for, with their prices.

use axum::{Json, extract::State};
use engine::Offer;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    doors::Doors,
    extract::{Caller, List, Query, paged},
    problem::Problem,
};

const DEFAULT_LIMIT: u32 = 100;
const PICO_PER_USD: f64 = 1e12;

/// A model that can be asked for.
#[derive(Serialize, ToSchema)]
#[schema(as = Model)]
pub(crate) struct OfferBody {
    /// Who hosts it.
    hosting_provider: String,
    /// What it is asked for by.
    name: String,
    /// The region that it is in, `global`, or `custom` for a custom model that does not say.
    location: String,
    /// USD per token sent; `null` where that is not known, or where it is not billed by tokens.
    input_cost_per_token: Option<f64>,
    /// USD per token received; `null` as above.
    output_cost_per_token: Option<f64>,
}

/// List all models
///
/// First the project's custom models, then the models of the configured providers, each by name.
#[utoipa::path(get, operation_id = "list_models", path = "/models", tag = "models", params(
    ("offset" = Option<u32>, Query, description = "How many items to pass over", minimum = 0),
    ("limit" = Option<u32>, Query, description = "How many items to give at most; 100 when absent", minimum = 1, maximum = 100),
), responses(
    (status = 200, description = "A page of models", body = List<OfferBody>),
))]
pub(crate) async fn list(
    State(doors): State<Doors>,
    caller: Caller,
    query: Query,
) -> Result<Json<List<OfferBody>>, Problem> {
    let page = query.page(DEFAULT_LIMIT)?;
    Ok(paged(doors.gateway.catalogue.offers(&caller, page).await?))
}

impl From<Offer> for OfferBody {
    fn from(offer: Offer) -> Self {
        Self {
            hosting_provider: offer.provider,
            name: offer.name,
            location: offer.location,
            input_cost_per_token: offer.input.map(usd),
            output_cost_per_token: offer.output.map(usd),
        }
    }
}

/// Pico-USD as a JSON number in USD.
#[expect(
    clippy::cast_precision_loss,
    reason = "no price comes near 2^53 pico-USD"
)]
pub(crate) fn usd(picos: i64) -> f64 {
    picos as f64 / PICO_PER_USD
}
