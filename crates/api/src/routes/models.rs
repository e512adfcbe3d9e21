//! `/v2/models/custom`: models that a project registers.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
};
use domain::{CustomModel, Invalid, ModelKind, ModelName, Secret};
use engine::{ChangedModel, ModelChange, NewModel};
use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::ToSchema;

use crate::{
    doors::Doors,
    extract::{Body, Caller, Given, List, Params, Query, RequestBody, given, paged},
    options::LimitsOptions,
    problem::{ErrorBody, Problem},
    schemas,
};

const DEFAULT_LIMIT: u32 = 100;
const WARNING: HeaderName = HeaderName::from_static("x-gatewright-warning");
const KEY_LOST: &str =
    "its key was dropped: a key goes only to the host that it was stored for; give it again";

/// A model to be registered.
#[derive(Deserialize, ToSchema)]
pub(crate) struct RegisterModel {
    /// What it is asked for by, unique in the project.
    #[schema(min_length = 1, max_length = 255)]
    name: String,
    /// `<provider>/<model_name>`.
    #[serde(deserialize_with = "identifier")]
    #[schema(value_type = schemas::Identifier)]
    identifier: ModelName,
    /// Whose dialect and address it has; the part of the identifier before the slash when absent.
    provider: Option<String>,
    /// What it is for; `llm` when absent.
    #[serde(rename = "type")]
    #[schema(value_type = Option<schemas::ModelKind>)]
    kind: Option<ModelKind>,
    /// Provider settings, such as `api_base`.
    #[schema(value_type = Option<schemas::Object>)]
    extra: Option<domain::Json>,
    /// The key for it: sealed, and never answered.
    #[schema(value_type = Option<String>, write_only)]
    api_key: Option<Secret>,
}

/// Changes to a custom model. What is absent stays as it is; `null` clears what can be cleared.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ChangeModel {
    /// A new name.
    #[schema(min_length = 1, max_length = 255)]
    name: Option<String>,
    /// A new identifier.
    #[serde(default, deserialize_with = "optional_identifier")]
    #[schema(value_type = Option<schemas::Identifier>)]
    identifier: Option<ModelName>,
    /// A new provider.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    provider: Given<String>,
    /// What it is for.
    #[serde(default, rename = "type", deserialize_with = "given")]
    #[schema(value_type = Option<schemas::ModelKind>)]
    kind: Given<ModelKind>,
    /// Provider settings, replaced whole.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<schemas::Object>)]
    extra: Given<domain::Json>,
    /// A new key; `null` removes the present one.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, write_only)]
    api_key: Given<Secret>,
}

/// A registered model. Its key is never part of it.
#[derive(Serialize, ToSchema)]
#[schema(as = CustomModel)]
pub(crate) struct CustomModelBody {
    #[schema(value_type = uuid::Uuid)]
    id: domain::ModelId,
    name: String,
    #[schema(value_type = String)]
    identifier: ModelName,
    provider: String,
    #[serde(rename = "type")]
    #[schema(value_type = schemas::ModelKind)]
    kind: ModelKind,
    #[schema(value_type = schemas::Object)]
    extra: domain::Json,
}

/// Register a custom model
#[utoipa::path(post, operation_id = "register_custom_model", path = "/models/custom", tag = "models", request_body = RegisterModel, responses(
    (status = 200, description = "The registered model", body = CustomModelBody,
        headers(("X-Gatewright-Warning" = String, description = "What stands against using it as it is registered"))),
    (status = 409, description = "The name is taken", body = ErrorBody),
))]
pub(crate) async fn register(
    State(doors): State<Doors>,
    caller: Caller,
    body: Body<RegisterModel>,
) -> Result<Warned, Problem> {
    let models = &doors.gateway.models;
    let model = models.register(&caller, body.value.into()).await?;
    warned(&doors, &caller, model, None).await
}

/// A model, and what stands against using it.
type Warned = (HeaderMap, Json<CustomModelBody>);

async fn warned(
    doors: &Doors,
    caller: &Caller,
    model: CustomModel,
    said: Option<&str>,
) -> Result<Warned, Problem> {
    let warnings = doors.gateway.models.warnings_of(caller, &model).await?;
    let warnings = said.into_iter().chain(warnings.iter().map(String::as_str));
    let warning = warnings.collect::<Vec<&str>>().join("; ");
    let warning = Some(plain(&warning)).filter(|warning| !warning.is_empty());
    let warning = warning.and_then(|warning| HeaderValue::try_from(warning).ok());
    let headers = warning.map(|warning| (WARNING, warning));
    Ok((headers.into_iter().collect(), Json(model.into())))
}

/// A sentence as a header can carry it: what is not visible ASCII or a space is escaped, as in `\u{e9}`.
fn plain(sentence: &str) -> String {
    let is_plain = |sign: char| sign == ' ' || sign.is_ascii_graphic();
    let mut plain = String::with_capacity(sentence.len());
    for sign in sentence.chars() {
        if is_plain(sign) {
            plain.push(sign);
        } else {
            plain.extend(sign.escape_default());
        }
    }
    plain
}

/// List custom models
#[utoipa::path(get, operation_id = "list_custom_models", path = "/models/custom", tag = "models", params(
    ("offset" = Option<u32>, Query, description = "How many items to pass over", minimum = 0),
    ("limit" = Option<u32>, Query, description = "How many items to give at most; 100 when absent", minimum = 1, maximum = 100),
), responses(
    (status = 200, description = "A page of custom models, by name", body = List<CustomModelBody>),
))]
pub(crate) async fn list(
    State(doors): State<Doors>,
    caller: Caller,
    query: Query,
) -> Result<Json<List<CustomModelBody>>, Problem> {
    let page = query.page(DEFAULT_LIMIT)?;
    Ok(paged(doors.gateway.models.list(&caller, page).await?))
}

/// Read a custom model
#[utoipa::path(get, operation_id = "get_custom_model", path = "/models/custom/{model_id}", tag = "models", params(
    ("model_id" = uuid::Uuid, Path, description = "The custom model"),
), responses(
    (status = 200, description = "The custom model", body = CustomModelBody),
    (status = 404, description = "There is no such model", body = ErrorBody),
))]
pub(crate) async fn get(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
) -> Result<Json<CustomModelBody>, Problem> {
    let model = doors
        .gateway
        .models
        .get(&caller, params.id("model_id")?)
        .await?;
    Ok(Json(model.into()))
}

/// Read a custom model by its name
///
/// Slashes in the name may be sent raw or percent-encoded.
#[utoipa::path(get, operation_id = "get_custom_model_by_name", path = "/models/custom/by-name/{name}", tag = "models", params(
    ("name" = String, Path, description = "The custom model's name"),
), responses(
    (status = 200, description = "The custom model", body = CustomModelBody),
    (status = 404, description = "There is no such model", body = ErrorBody),
))]
pub(crate) async fn get_by_name(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
) -> Result<Json<CustomModelBody>, Problem> {
    let model = doors
        .gateway
        .models
        .get_by_name(&caller, params.text("name"))
        .await?;
    Ok(Json(model.into()))
}

/// Change a custom model
///
/// A change by which the key would go to another host drops it, unless the change gives one.
#[utoipa::path(patch, operation_id = "change_custom_model", path = "/models/custom/{model_id}", tag = "models", request_body = ChangeModel, params(
    ("model_id" = uuid::Uuid, Path, description = "The custom model"),
), responses(
    (status = 200, description = "The changed model", body = CustomModelBody,
        headers(("X-Gatewright-Warning" = String, description = "What stands against using it as it is now, and whether its key was dropped"))),
    (status = 404, description = "There is no such model", body = ErrorBody),
    (status = 409, description = "The name is taken", body = ErrorBody),
))]
pub(crate) async fn change(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
    body: Body<ChangeModel>,
) -> Result<Warned, Problem> {
    let (id, change) = (params.id("model_id")?, body.value.into());
    let changed = doors.gateway.models.change(&caller, id, &change).await?;
    let ChangedModel {
        model,
        has_lost_its_key,
    } = changed;
    let said = has_lost_its_key.then_some(KEY_LOST);
    warned(&doors, &caller, model, said).await
}

/// Delete a custom model
#[utoipa::path(delete, operation_id = "delete_custom_model", path = "/models/custom/{model_id}", tag = "models", params(
    ("model_id" = uuid::Uuid, Path, description = "The custom model"),
), responses(
    (status = 204, description = "The model is gone"),
    (status = 404, description = "There is no such model", body = ErrorBody),
))]
pub(crate) async fn delete(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
) -> Result<StatusCode, Problem> {
    doors
        .gateway
        .models
        .delete(&caller, params.id("model_id")?)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

fn identifier<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ModelName, D::Error> {
    let text = String::deserialize(deserializer)?;
    domain::identifier(&text).map_err(de::Error::custom::<Invalid>)
}

fn optional_identifier<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ModelName>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| domain::identifier(&text))
        .transpose()
        .map_err(de::Error::custom)
}

impl RequestBody for RegisterModel {
    fn limit(limits: &LimitsOptions) -> usize {
        limits.model_body_bytes
    }
}

impl RequestBody for ChangeModel {
    fn limit(limits: &LimitsOptions) -> usize {
        limits.model_body_bytes
    }
}

impl From<RegisterModel> for NewModel {
    fn from(body: RegisterModel) -> Self {
        Self {
            name: body.name,
            identifier: body.identifier,
            provider: body.provider,
            kind: body.kind.unwrap_or_default(),
            extra: body.extra,
            api_key: body.api_key,
        }
    }
}

impl From<ChangeModel> for ModelChange {
    fn from(body: ChangeModel) -> Self {
        Self {
            name: body.name,
            identifier: body.identifier,
            provider: body.provider,
            kind: body.kind,
            extra: body.extra,
            api_key: body.api_key,
        }
    }
}

impl From<CustomModel> for CustomModelBody {
    fn from(model: CustomModel) -> Self {
        Self {
            id: model.id,
            name: model.name,
            identifier: model.identifier,
            provider: model.provider,
            kind: model.kind,
            extra: model.extra,
        }
    }
}
