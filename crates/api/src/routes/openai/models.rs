//! `/v2/openai/models`: the names that can be asked for.

use axum::{Json, extract::State};
use engine::CatalogueItem;
use serde::Serialize;
use utoipa::ToSchema;

use super::completion::seconds;
use crate::{
    doors::Doors,
    extract::{Caller, Params},
    problem::{ErrorBody, Problem},
};

/// Models.
#[derive(Serialize, ToSchema)]
#[schema(as = OpenAiModels)]
pub(crate) struct ModelsBody {
    /// `list`.
    object: &'static str,
    data: Vec<ModelBody>,
}

/// A model.
#[derive(Serialize, ToSchema)]
#[schema(as = OpenAiModel)]
pub(crate) struct ModelBody {
    /// What it is asked for by.
    id: String,
    /// `model`.
    object: &'static str,
    /// When the project made the name, in seconds since 1970; 0 for a provider's own.
    created: i64,
    /// The provider, or `alias`.
    owned_by: String,
}

/// List models
///
/// The project's custom models and aliases, and the models of the configured providers, each by name; a provider's other
/// models can be asked for as well.
#[utoipa::path(get, operation_id = "list_openai_models", path = "/openai/models", tag = "openai", responses(
    (status = 200, description = "All of them", body = ModelsBody),
))]
pub(crate) async fn list(
    State(doors): State<Doors>,
    caller: Caller,
) -> Result<Json<ModelsBody>, Problem> {
    let items = doors.gateway.catalogue.names(&caller).await?;
    Ok(Json(ModelsBody {
        object: "list",
        data: items.into_iter().map(ModelBody::from).collect(),
    }))
}

/// Read a model
///
/// Slashes in the name may be sent raw or percent-encoded.
#[utoipa::path(get, operation_id = "get_openai_model", path = "/openai/models/{name}", tag = "openai", params(
    ("name" = String, Path, description = "The model's name"),
), responses(
    (status = 200, description = "The model", body = ModelBody),
    (status = 404, description = "No such name can be asked for", body = ErrorBody),
))]
pub(crate) async fn get(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
) -> Result<Json<ModelBody>, Problem> {
    let item = doors
        .gateway
        .catalogue
        .find(&caller, params.text("name"))
        .await?;
    Ok(Json(item.into()))
}

impl From<CatalogueItem> for ModelBody {
    fn from(item: CatalogueItem) -> Self {
        Self {
            id: item.name,
            object: "model",
            created: item.created.map_or(0, seconds),
            owned_by: item.owner,
        }
    }
}
