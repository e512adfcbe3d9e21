//! `/v2/functions`: functions and their revisions.

use axum::{Json, extract::State, http::StatusCode};
use domain::{
    Callee, FunctionFilter, FunctionName, FunctionSort, Invalid, JsonObject, ModelSpec, Revision,
};
use engine::{FunctionChange, NewFunction};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    doors::Doors,
    extract::{Body, Caller, Given, List, Params, Query, RequestBody, given, paged},
    options::LimitsOptions,
    problem::{ErrorBody, Problem},
    schemas,
};

const DEFAULT_LIMIT: u32 = 20;

/// A function to be stored.
#[derive(Deserialize, ToSchema)]
pub(crate) struct CreateFunction {
    /// Unique in the project.
    #[schema(value_type = schemas::FunctionName)]
    name: FunctionName,
    /// The prompt.
    #[schema(example = "Summarise the text in one sentence.")]
    instructions: String,
    /// What people say about it.
    description: Option<String>,
    /// What inputs must satisfy: a JSON Schema.
    #[schema(value_type = Option<schemas::Object>)]
    input_schema: Option<domain::Json>,
    /// What outputs must satisfy: a JSON Schema.
    #[schema(value_type = Option<schemas::Object>)]
    output_schema: Option<domain::Json>,
    /// Who is asked; the server's default model when absent.
    #[schema(value_type = Option<schemas::ModelSpec>)]
    model: Option<ModelSpec>,
    /// Overrides of the settings, by dotted keys.
    #[schema(value_type = Option<schemas::Object>)]
    configuration: Option<JsonObject>,
}

/// Changes to a function. What is absent stays as it is; `null` clears what can be cleared.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ChangeFunction {
    /// A new name.
    #[schema(value_type = Option<schemas::FunctionName>)]
    name: Option<FunctionName>,
    /// A new prompt.
    instructions: Option<String>,
    /// A new description.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    description: Given<String>,
    /// A new input schema.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<schemas::Object>)]
    input_schema: Given<domain::Json>,
    /// A new output schema.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<schemas::Object>)]
    output_schema: Given<domain::Json>,
    /// A new model.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<schemas::ModelSpec>)]
    model: Given<ModelSpec>,
    /// Settings laid over the present ones key by key; a key given as `null` is removed.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<schemas::Object>)]
    configuration: Given<JsonObject>,
}

/// A stored function.
#[derive(Serialize, ToSchema)]
#[schema(as = Function)]
pub(crate) struct FunctionBody {
    #[schema(value_type = uuid::Uuid)]
    id: domain::FunctionId,
    #[schema(value_type = String)]
    name: FunctionName,
    description: Option<String>,
    instructions: String,
    #[schema(value_type = Option<schemas::Object>, required)]
    input_schema: Option<domain::Json>,
    #[schema(value_type = Option<schemas::Object>, required)]
    output_schema: Option<domain::Json>,
    /// In object form; left out when the server's default model is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schemas::StoredModelSpec, required = false)]
    model: Option<ModelSpec>,
    #[schema(value_type = schemas::Object)]
    configuration: JsonObject,
    /// The dataset that was made with the function.
    #[schema(value_type = uuid::Uuid)]
    dataset_id: domain::DatasetId,
    /// The latest revision, or the one that was asked for.
    #[schema(value_type = uuid::Uuid)]
    revision_id: domain::RevisionId,
    observer_enabled: bool,
    is_v3: bool,
}

/// A function in a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct FunctionItem {
    #[schema(value_type = uuid::Uuid)]
    id: domain::FunctionId,
    #[schema(value_type = String)]
    name: FunctionName,
    #[schema(value_type = uuid::Uuid)]
    revision_id: domain::RevisionId,
    description: Option<String>,
    instructions: String,
    #[schema(value_type = Option<schemas::StoredModelSpec>, required)]
    model: Option<ModelSpec>,
}

/// A revision in a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct RevisionItem {
    #[schema(value_type = uuid::Uuid)]
    id: domain::RevisionId,
    #[schema(value_type = schemas::Object)]
    configuration: JsonObject,
    #[schema(value_type = schemas::Time)]
    created_at: domain::Timestamp,
    /// A revision never changes.
    #[schema(value_type = Option<schemas::Time>, required)]
    updated_at: Option<domain::Timestamp>,
}

/// Create a function
///
/// Stores the function together with its first revision. The answer names the revision to call.
#[utoipa::path(post, operation_id = "create_function", path = "/functions", tag = "functions", request_body = CreateFunction, responses(
    (status = 201, description = "The stored function", body = FunctionBody),
    (status = 409, description = "The name is taken", body = ErrorBody),
))]
pub(crate) async fn create(
    State(doors): State<Doors>,
    caller: Caller,
    body: Body<CreateFunction>,
) -> Result<(StatusCode, Json<FunctionBody>), Problem> {
    let callee = doors
        .gateway
        .functions
        .create(&caller, body.value.into())
        .await?;
    Ok((StatusCode::CREATED, Json(callee.into())))
}

/// List functions
#[utoipa::path(get, operation_id = "list_functions", path = "/functions", tag = "functions", params(
    ("name" = Option<String>, Query, description = "A part of the name, case-sensitive"),
    ("sort" = Option<schemas::FunctionSort>, Query, description = "The order; `name` when absent"),
    ("offset" = Option<u32>, Query, description = "How many items to pass over", minimum = 0),
    ("limit" = Option<u32>, Query, description = "How many items to give at most; 20 when absent", minimum = 1, maximum = 100),
), responses(
    (status = 200, description = "A page of functions", body = List<FunctionItem>),
))]
pub(crate) async fn list(
    State(doors): State<Doors>,
    caller: Caller,
    query: Query,
) -> Result<Json<List<FunctionItem>>, Problem> {
    let filter = FunctionFilter {
        name: query.text("name").map(str::to_owned),
        sort: sort(&query)?,
    };
    let page = query.page(DEFAULT_LIMIT)?;
    Ok(paged(
        doors.gateway.functions.list(&caller, &filter, page).await?,
    ))
}

/// Read a function
#[utoipa::path(get, operation_id = "get_function", path = "/functions/{function_id}", tag = "functions", params(
    ("function_id" = uuid::Uuid, Path, description = "The function"),
), responses(
    (status = 200, description = "The function with its latest revision", body = FunctionBody),
    (status = 404, description = "There is no such function", body = ErrorBody),
))]
pub(crate) async fn get(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
) -> Result<Json<FunctionBody>, Problem> {
    let callee = doors
        .gateway
        .functions
        .get(&caller, params.id("function_id")?)
        .await?;
    Ok(Json(callee.into()))
}

/// Read a function by its name
///
/// Slashes in the name may be sent raw or percent-encoded.
#[utoipa::path(get, operation_id = "get_function_by_name", path = "/functions/by-name/{name}", tag = "functions", params(
    ("name" = String, Path, description = "The function's name"),
), responses(
    (status = 200, description = "The function with its latest revision", body = FunctionBody),
    (status = 404, description = "There is no such function", body = ErrorBody),
))]
pub(crate) async fn get_by_name(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
) -> Result<Json<FunctionBody>, Problem> {
    let callee = doors
        .gateway
        .functions
        .get_by_name(&caller, params.text("name"))
        .await?;
    Ok(Json(callee.into()))
}

/// Change a function
///
/// A change of instructions, schemas, model or configuration makes a new revision; older ones stay callable.
#[utoipa::path(patch, operation_id = "change_function", path = "/functions/{function_id}", tag = "functions", request_body = ChangeFunction, params(
    ("function_id" = uuid::Uuid, Path, description = "The function"),
), responses(
    (status = 200, description = "The changed function", body = FunctionBody),
    (status = 404, description = "There is no such function", body = ErrorBody),
    (status = 409, description = "The name is taken", body = ErrorBody),
))]
pub(crate) async fn change(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
    body: Body<ChangeFunction>,
) -> Result<Json<FunctionBody>, Problem> {
    let change = body.value.into();
    let callee = doors
        .gateway
        .functions
        .change(&caller, params.id("function_id")?, &change)
        .await?;
    Ok(Json(callee.into()))
}

/// Delete a function
///
/// Its revisions go with it, its name is free again; what was recorded of its calls stays.
#[utoipa::path(delete, operation_id = "delete_function", path = "/functions/{function_id}", tag = "functions", params(
    ("function_id" = uuid::Uuid, Path, description = "The function"),
), responses(
    (status = 204, description = "The function is gone"),
    (status = 404, description = "There is no such function", body = ErrorBody),
))]
pub(crate) async fn delete(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
) -> Result<StatusCode, Problem> {
    doors
        .gateway
        .functions
        .delete(&caller, params.id("function_id")?)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the revisions of a function
#[utoipa::path(get, operation_id = "list_function_revisions", path = "/functions/{function_id}/revisions", tag = "functions", params(
    ("function_id" = uuid::Uuid, Path, description = "The function"),
    ("offset" = Option<u32>, Query, description = "How many items to pass over", minimum = 0),
    ("limit" = Option<u32>, Query, description = "How many items to give at most; 20 when absent", minimum = 1, maximum = 100),
), responses(
    (status = 200, description = "A page of revisions, newest first", body = List<RevisionItem>),
    (status = 404, description = "There is no such function", body = ErrorBody),
))]
pub(crate) async fn revisions(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
    query: Query,
) -> Result<Json<List<RevisionItem>>, Problem> {
    let page = query.page(DEFAULT_LIMIT)?;
    let revisions = doors
        .gateway
        .functions
        .revisions(&caller, params.id("function_id")?, page)
        .await?;
    Ok(paged(revisions))
}

/// Read a function as of one revision
#[utoipa::path(get, operation_id = "get_function_revision", path = "/functions/{function_id}/revisions/{revision_id}", tag = "functions", params(
    ("function_id" = uuid::Uuid, Path, description = "The function"),
    ("revision_id" = uuid::Uuid, Path, description = "The revision"),
), responses(
    (status = 200, description = "The function as of that revision", body = FunctionBody),
    (status = 404, description = "There is no such function or revision", body = ErrorBody),
))]
pub(crate) async fn at_revision(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
) -> Result<Json<FunctionBody>, Problem> {
    let (function, revision) = (params.id("function_id")?, params.id("revision_id")?);
    let callee = doors
        .gateway
        .functions
        .at_revision(&caller, function, revision)
        .await?;
    Ok(Json(callee.into()))
}

fn sort(query: &Query) -> Result<FunctionSort, Problem> {
    match query.text("sort") {
        None | Some("name") => Ok(FunctionSort::Name),
        Some("-name") => Ok(FunctionSort::NameDescending),
        Some("created" | "created_at") => Ok(FunctionSort::Created),
        Some("-created" | "-created_at") => Ok(FunctionSort::CreatedDescending),
        Some(_) => {
            let fault = Invalid::new("enum", "must be one of: name, -name, created, -created");
            Err(Problem::invalid("query", &fault.at("sort")))
        }
    }
}

impl RequestBody for CreateFunction {
    fn limit(limits: &LimitsOptions) -> usize {
        limits.function_body_bytes
    }
}

impl RequestBody for ChangeFunction {
    fn limit(limits: &LimitsOptions) -> usize {
        limits.function_body_bytes
    }
}

impl From<CreateFunction> for NewFunction {
    fn from(body: CreateFunction) -> Self {
        Self {
            name: body.name,
            description: body.description,
            instructions: body.instructions,
            input_schema: body.input_schema,
            output_schema: body.output_schema,
            model: body.model,
            configuration: body.configuration.unwrap_or_default(),
        }
    }
}

impl From<ChangeFunction> for FunctionChange {
    fn from(body: ChangeFunction) -> Self {
        Self {
            name: body.name,
            description: body.description,
            instructions: body.instructions,
            input_schema: body.input_schema,
            output_schema: body.output_schema,
            model: body.model,
            configuration: body.configuration,
        }
    }
}

impl From<Callee> for FunctionBody {
    fn from(Callee { function, revision }: Callee) -> Self {
        let definition = revision.definition;
        Self {
            id: function.id,
            name: function.name,
            description: function.description,
            instructions: definition.instructions,
            input_schema: definition.input_schema,
            output_schema: definition.output_schema,
            model: definition.model,
            configuration: definition.configuration.into_given(),
            dataset_id: function.dataset_id,
            revision_id: revision.id,
            observer_enabled: true,
            is_v3: false,
        }
    }
}

impl From<Callee> for FunctionItem {
    fn from(Callee { function, revision }: Callee) -> Self {
        Self {
            id: function.id,
            name: function.name,
            revision_id: function.revision_id,
            description: function.description,
            instructions: revision.definition.instructions,
            model: revision.definition.model,
        }
    }
}

impl From<Revision> for RevisionItem {
    fn from(revision: Revision) -> Self {
        Self {
            id: revision.id,
            configuration: revision.definition.configuration.into_given(),
            created_at: revision.created_at,
            updated_at: None,
        }
    }
}
