//! `/v2/datasets`: the examples that belong to a function.

use axum::{Json, extract::State, http::StatusCode};
use domain::{Entry, EntryChange, EntryId};
use engine::NewEntry;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    doors::Doors,
    extract::{Body, Caller, Given, List, NoBody, Params, Query, RequestBody, given, paged},
    problem::{ErrorBody, Problem},
};

const DEFAULT_LIMIT: u32 = 100;
const DEFAULT_NEAREST: u32 = 5;

/// An example.
#[derive(Deserialize, ToSchema)]
pub(crate) struct AddEntry {
    /// An input.
    #[schema(value_type = serde_json::Value, required)]
    input: domain::Json,
    /// What it led to.
    #[schema(value_type = serde_json::Value, required)]
    output: domain::Json,
    /// What it should have led to, where that is something else.
    #[schema(value_type = serde_json::Value, required = false)]
    expected: Option<domain::Json>,
    /// What to note about it.
    comment: Option<String>,
}

/// Changes to an example. What is absent stays as it is; `null` clears what can be cleared.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ChangeEntry {
    /// An input.
    #[schema(value_type = serde_json::Value, required = false)]
    input: Option<domain::Json>,
    /// What it led to.
    #[schema(value_type = serde_json::Value, required = false)]
    output: Option<domain::Json>,
    /// What it should have led to.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = serde_json::Value, required = false)]
    expected: Given<domain::Json>,
    /// What to note about it.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    comment: Given<String>,
}

/// A stored example.
#[derive(Serialize, ToSchema)]
#[schema(as = DatasetEntry)]
pub(crate) struct EntryBody {
    #[schema(value_type = uuid::Uuid)]
    id: EntryId,
    /// A string as it is, anything else as JSON text.
    input: String,
    /// A string as it is, anything else as JSON text.
    output: String,
    /// A string as it is, anything else as JSON text.
    #[schema(required)]
    expected: Option<String>,
    #[schema(required)]
    comment: Option<String>,
}

/// Add an entry to a dataset
#[utoipa::path(post, operation_id = "add_dataset_entry", path = "/datasets/{dataset_id}", tag = "datasets", request_body = AddEntry, params(
    ("dataset_id" = uuid::Uuid, Path, description = "The dataset"),
), responses(
    (status = 200, description = "The entry", body = EntryBody),
    (status = 404, description = "There is no such dataset", body = ErrorBody),
))]
pub(crate) async fn add(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
    body: Body<AddEntry>,
) -> Result<Json<EntryBody>, Problem> {
    let entry = doors
        .gateway
        .datasets
        .add(&caller, params.id("dataset_id")?, body.value.into())
        .await?;
    Ok(Json(entry.into()))
}

/// Add an entry to a dataset, by the path of its list
#[utoipa::path(post, operation_id = "create_dataset_entry", path = "/datasets/{dataset_id}/entries", tag = "datasets", request_body = AddEntry, params(
    ("dataset_id" = uuid::Uuid, Path, description = "The dataset"),
), responses(
    (status = 200, description = "The entry", body = EntryBody),
    (status = 404, description = "There is no such dataset", body = ErrorBody),
))]
pub(crate) async fn create(
    state: State<Doors>,
    caller: Caller,
    params: Params,
    body: Body<AddEntry>,
) -> Result<Json<EntryBody>, Problem> {
    add(state, caller, params, body).await
}

/// List the entries of a dataset
#[utoipa::path(get, operation_id = "list_dataset_entries", path = "/datasets/{dataset_id}/entries", tag = "datasets", params(
    ("dataset_id" = uuid::Uuid, Path, description = "The dataset"),
    ("offset" = Option<u32>, Query, description = "How many items to pass over", minimum = 0),
    ("limit" = Option<u32>, Query, description = "How many items to give at most; 100 when absent", minimum = 1, maximum = 100),
), responses(
    (status = 200, description = "A page of entries", body = List<EntryBody>),
    (status = 404, description = "There is no such dataset", body = ErrorBody),
))]
pub(crate) async fn list(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
    query: Query,
) -> Result<Json<List<EntryBody>>, Problem> {
    let page = query.page(DEFAULT_LIMIT)?;
    let entries = doors
        .gateway
        .datasets
        .list(&caller, params.id("dataset_id")?, page)
        .await?;
    Ok(paged(entries))
}

/// Find the entries nearest to a text
///
/// The parameters stand in the query; no body is asked for.
#[utoipa::path(post, operation_id = "query_dataset", path = "/datasets/{dataset_id}/entries/query", tag = "datasets", params(
    ("dataset_id" = uuid::Uuid, Path, description = "The dataset"),
    ("query" = String, Query, description = "The text"),
    ("limit" = Option<u32>, Query, description = "How many entries to give at most; 5 when absent", minimum = 1, maximum = 100),
), responses(
    (status = 200, description = "The entries, nearest first", body = Vec<EntryBody>),
    (status = 404, description = "There is no such dataset", body = ErrorBody),
))]
pub(crate) async fn query(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
    query: Query,
    _: NoBody,
) -> Result<Json<Vec<EntryBody>>, Problem> {
    let dataset = params.id("dataset_id")?;
    let text = query.required_text("query")?;
    let limit = query.limit(DEFAULT_NEAREST)? as usize;
    let entries = doors
        .gateway
        .datasets
        .query(&caller, dataset, text, limit)
        .await?;
    Ok(Json(
        entries
            .iter()
            .map(|entry| EntryBody::from(&**entry))
            .collect(),
    ))
}

/// Read an entry
#[utoipa::path(get, operation_id = "get_dataset_entry", path = "/datasets/{dataset_id}/entries/{entry_id}", tag = "datasets", params(
    ("dataset_id" = uuid::Uuid, Path, description = "The dataset"),
    ("entry_id" = uuid::Uuid, Path, description = "The entry"),
), responses(
    (status = 200, description = "The entry", body = EntryBody),
    (status = 404, description = "There is no such dataset or entry", body = ErrorBody),
))]
pub(crate) async fn get(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
) -> Result<Json<EntryBody>, Problem> {
    let (dataset, entry) = (params.id("dataset_id")?, params.id("entry_id")?);
    let entry = doors.gateway.datasets.get(&caller, dataset, entry).await?;
    Ok(Json(entry.into()))
}

/// Change an entry
#[utoipa::path(patch, operation_id = "change_dataset_entry", path = "/datasets/{dataset_id}/entries/{entry_id}", tag = "datasets", request_body = ChangeEntry, params(
    ("dataset_id" = uuid::Uuid, Path, description = "The dataset"),
    ("entry_id" = uuid::Uuid, Path, description = "The entry"),
), responses(
    (status = 200, description = "The changed entry", body = EntryBody),
    (status = 404, description = "There is no such dataset or entry", body = ErrorBody),
))]
pub(crate) async fn change(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
    body: Body<ChangeEntry>,
) -> Result<Json<EntryBody>, Problem> {
    let (dataset, entry) = (params.id("dataset_id")?, params.id("entry_id")?);
    let entry = doors
        .gateway
        .datasets
        .change(&caller, dataset, entry, body.value.into())
        .await?;
    Ok(Json(entry.into()))
}

/// Delete an entry
#[utoipa::path(delete, operation_id = "delete_dataset_entry", path = "/datasets/{dataset_id}/entries/{entry_id}", tag = "datasets", params(
    ("dataset_id" = uuid::Uuid, Path, description = "The dataset"),
    ("entry_id" = uuid::Uuid, Path, description = "The entry"),
), responses(
    (status = 204, description = "The entry is gone"),
    (status = 404, description = "There is no such dataset or entry", body = ErrorBody),
))]
pub(crate) async fn delete(
    State(doors): State<Doors>,
    caller: Caller,
    params: Params,
) -> Result<StatusCode, Problem> {
    let (dataset, entry) = (params.id("dataset_id")?, params.id("entry_id")?);
    doors
        .gateway
        .datasets
        .delete(&caller, dataset, entry)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

impl RequestBody for AddEntry {}

impl RequestBody for ChangeEntry {}

impl From<AddEntry> for NewEntry {
    fn from(body: AddEntry) -> Self {
        Self {
            input: body.input,
            output: body.output,
            expected: body.expected,
            comment: body.comment,
        }
    }
}

impl From<ChangeEntry> for EntryChange {
    fn from(body: ChangeEntry) -> Self {
        Self {
            input: body.input,
            output: body.output,
            expected: body.expected,
            comment: body.comment,
        }
    }
}

impl From<Entry> for EntryBody {
    fn from(entry: Entry) -> Self {
        Self::from(&entry)
    }
}

impl From<&Entry> for EntryBody {
    fn from(entry: &Entry) -> Self {
        Self {
            id: entry.id,
            input: entry.input.to_text(),
            output: entry.output.to_text(),
            expected: entry.expected.as_ref().map(domain::Json::to_text),
            comment: entry.comment.clone(),
        }
    }
}
