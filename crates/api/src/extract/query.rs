//! Parameters of the query.

use axum::{extract::FromRequestParts, http::request::Parts};
use domain::{Invalid, Page, Paged};
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::Problem;

const MAX_PAGE: u32 = 100;

/// The parameters of the query, percent-decoded.
pub(crate) struct Query(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query =
            axum::extract::Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let refused = |_| {
            Problem::invalid(
                "query",
                &Invalid::new("value_error", "the query cannot be read"),
            )
        };
        query.map(|query| Self(query.0)).map_err(refused)
    }
}

impl Query {
    /// The last value of parameter `name`.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .rev()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// `offset` and `limit` (`interface.md` 1.8).
    pub(crate) fn page(&self, default_limit: u32) -> Result<Page, Problem> {
        let offset = self.number("offset", (0, None), 0)?;
        let limit = self.number("limit", (1, Some(MAX_PAGE)), default_limit)?;
        Ok(Page { offset, limit })
    }

    fn number(
        &self,
        name: &str,
        (min, max): (u32, Option<u32>),
        default: u32,
    ) -> Result<u32, Problem> {
        let Some(text) = self.text(name) else {
            return Ok(default);
        };
        let refused = |slug, fault: String| {
            Err(Problem::invalid(
                "query",
                &Invalid::new(slug, fault).at(name),
            ))
        };
        match text.parse::<i128>() {
            Err(_) => refused("int_type", "must be a whole number".to_owned()),
            Ok(number) if number < i128::from(min) => {
                refused("greater_than_equal", format!("must be at least {min}"))
            }
            Ok(number) => match max {
                Some(max) if number > i128::from(max) => {
                    refused("less_than_equal", format!("must be at most {max}"))
                }
                // No list is as long as what a larger number passes over.
                _ => Ok(u32::try_from(number).unwrap_or(u32::MAX)),
            },
        }
    }
}

/// What a list tells of itself.
#[derive(Serialize, ToSchema)]
pub(crate) struct Meta {
    /// How many items match in all, not only on this page.
    total_count: u64,
}

/// A page of a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct List<T> {
    meta: Meta,
    data: Vec<T>,
}

/// A page as it is answered.
pub(crate) fn paged<T, U: From<T>>(page: Paged<T>) -> axum::Json<List<U>> {
    let meta = Meta {
        total_count: page.total,
    };
    axum::Json(List {
        meta,
        data: page.items.into_iter().map(U::from).collect(),
    })
}
