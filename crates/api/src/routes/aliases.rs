//! `/v2/models/aliases`: names that stand for lists of models.

use axum::{Json, extract::State, http::StatusCode};
use domain::{Alias, ModelName};
use engine::{AliasChange, NewAlias};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    doors::Doors,
    extract::{Body, Caller, Given, List, Params, Query, RequestBody, given, paged},
    options::LimitsOptions,
    problem::{ErrorBody, Problem},
    schemas,
};

const DEFAULT_LIMIT: u32 = 100;

/// An alias to be made.
#[derive(Deserialize, ToSchema)]
pub(crate) struct CreateAlias {
    /// What it is asked for by, unique among the project's aliases.
    #[schema(min_length = 1, max_length = 255)]
    name: String,
    /// The models that it stands for, tried in order. Each may be another alias.
    #[schema(value_type = Vec<schemas::ModelName>, min_items = 1, max_items = 16)]
    fallback_models: Vec<ModelName>,
    /// What it is for.
    #[schema(max_length = 1000)]
    description: Option<String>,
}

/// Changes to an alias. What is absent stays as it is; `null` clears what can be cleared.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ChangeAlias {
    /// A new name.
    #[schema(min_length = 1, max_length = 255)]
    name: Option<String>,
    /// Other models, in place of all the present ones.
    #[schema(value_type = Option<Vec<schemas::ModelName>>, min_items = 1, max_items = 16)]
    fallback_models: Option<Vec<ModelName>>,
    /// A new description.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, max_length = 1000)]
    description: Given<String>,
}

/// A name that stands for a list of models.
#[derive(Serialize, ToSchema)]
#[schema(as = ModelAlias)]
pub(crate) struct AliasBody {
    #[schema(value_type = uuid::Uuid)]
    id: domain::AliasId,
    name: String,
    #[schema(value_type = Vec<String>, min_items = 1)]
    fallback_models: Vec<ModelName>,
    description: Option<String>,
}

/// Create a model alias
///
/// The models need not exist yet. A custom model of the same name goes first.
#[utoipa::path(post, operation_id = "create_model_alias", path = "/models/aliases", tag = "models", request_body = CreateAlias, responses(
    (status = 200, description = "The alias", body = AliasBody),
    (status = 400, description = "The alias would lead back to itself", body = ErrorBody),
    (status = 409, description = "The name is taken", body = ErrorBody),
))]
pub(crate) async fn create(
    State(doors): State<Doors>,
    caller: Caller,
    body: Body<CreateAlias>,
) -> Result<Json<AliasBody>, Problem> {
    let alias = doors
        .gateway
        .aliases
        .create(&caller, body.value.into())
        .await?;
    Ok(Json(alias.into()))
}

/// List model aliases
#[utoipa::path(get, operation_id = "list_model_aliases", path = "/models/aliases", tag = "models", params(
    ("offset" = Option<u32>, Query, description = "How many items to pass over", minimum = 0),
    ("limit" = Option<u32>, Query, description = "How many items to give at most; 100 when absent", minimum = 1, maximum = 100),
), responses(
    (status = 200, description = "A page of aliases, by name", body = List<AliasBody>),
))]
pub(crate) async fn list(
    State(doors): State<Doors>,
    caller: Caller,
    query: Query,
) -> Result<Json<List<AliasBody>>, Problem> {
    let page = query.page(DEFAULT_LIMIT)?;
    Ok(paged(doors.gateway.aliases.list(&caller, page).await?))
}

/// Read a model alias
#[utoipa::path(get, operation_id = "get_model_alias", path = "/models/aliases/{alias_id}", tag = "models", params(
    ("alias_id" = uuid::Uuid, Path, description = "The alias"),
), responses(
    (status = 200, description = "The alias", body = AliasBody),
    (status = 404, description = "There is no such alias", body = ErrorBody),
))]
pub(crate) async fn get(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
) -> Result<Json<AliasBody>, Problem> {
    let alias = doors
        .gateway
        .aliases
        .get(&caller, params.id("alias_id")?)
        .await?;
    Ok(Json(alias.into()))
}

/// Read a model alias by its name
///
/// Slashes in the name may be sent raw or percent-encoded.
#[utoipa::path(get, operation_id = "get_model_alias_by_name", path = "/models/aliases/by-name/{name}", tag = "models", params(
    ("name" = String, Path, description = "The alias's name"),
), responses(
    (status = 200, description = "The alias", body = AliasBody),
    (status = 404, description = "There is no such alias", body = ErrorBody),
))]
pub(crate) async fn get_by_name(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
) -> Result<Json<AliasBody>, Problem> {
    let alias = doors
        .gateway
        .aliases
        .get_by_name(&caller, params.text("name"))
        .await?;
    Ok(Json(alias.into()))
}

/// Change a model alias
#[utoipa::path(patch, operation_id = "change_model_alias", path = "/models/aliases/{alias_id}", tag = "models", request_body = ChangeAlias, params(
    ("alias_id" = uuid::Uuid, Path, description = "The alias"),
), responses(
    (status = 200, description = "The changed alias", body = AliasBody),
    (status = 400, description = "The alias would lead back to itself", body = ErrorBody),
    (status = 404, description = "There is no such alias", body = ErrorBody),
    (status = 409, description = "The name is taken", body = ErrorBody),
))]
pub(crate) async fn change(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
    body: Body<ChangeAlias>,
) -> Result<Json<AliasBody>, Problem> {
    let change = body.value.into();
    let alias = doors
        .gateway
        .aliases
        .change(&caller, params.id("alias_id")?, &change)
        .await?;
    Ok(Json(alias.into()))
}

/// Delete a model alias
#[utoipa::path(delete, operation_id = "delete_model_alias", path = "/models/aliases/{alias_id}", tag = "models", params(
    ("alias_id" = uuid::Uuid, Path, description = "The alias"),
), responses(
    (status = 204, description = "The alias is gone"),
    (status = 404, description = "There is no such alias", body = ErrorBody),
))]
pub(crate) async fn delete(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
) -> Result<StatusCode, Problem> {
    doors
        .gateway
        .aliases
        .delete(&caller, params.id("alias_id")?)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

impl RequestBody for CreateAlias {
    fn limit(limits: &LimitsOptions) -> usize {
        limits.model_body_bytes
    }
}

impl RequestBody for ChangeAlias {
    fn limit(limits: &LimitsOptions) -> usize {
        limits.model_body_bytes
    }
}

impl From<CreateAlias> for NewAlias {
    fn from(body: CreateAlias) -> Self {
        Self {
            name: body.name,
            fallback_models: body.fallback_models,
            description: body.description,
        }
    }
}

impl From<ChangeAlias> for AliasChange {
    fn from(body: ChangeAlias) -> Self {
        Self {
            name: body.name,
            fallback_models: body.fallback_models,
            description: body.description,
        }
    }
}

impl From<Alias> for AliasBody {
    fn from(alias: Alias) -> Self {
        Self {
            id: alias.id,
            name: alias.name,
            fallback_models: alias.fallback_models,
            description: alias.description,
        }
    }
}
