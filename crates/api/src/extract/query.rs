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

    /// The last value of parameter `name`, which has to be there.
    pub(crate) fn required_text(&self, name: &str) -> Result<&str, Problem> {
        let missing = || {
            let fault = Invalid::new("missing", "this parameter is required");
            Problem::invalid("query", &fault.at(name))
        };
        self.text(name).ok_or_else(missing)
    }

    /// `offset` and `limit` (`interface.md` 1.8).
    pub(crate) fn page(&self, default_limit: u32) -> Result<Page, Problem> {
        let offset = self.number("offset", (0, None), 0)?;
        let limit = self.limit(default_limit)?;
        Ok(Page { offset, limit })
    }

    /// `limit` alone.
    pub(crate) fn limit(&self, default: u32) -> Result<u32, Problem> {
        self.number("limit", (1, Some(MAX_PAGE)), default)
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

#[cfg(test)]
mod tests {
    use super::*;

    async fn query(uri: &str) -> Query {
        let (mut parts, ()) = http::Request::get(uri).body(()).unwrap().into_parts();
        Query::from_request_parts(&mut parts, &()).await.unwrap()
    }

    #[tokio::test]
    async fn a_plus_is_a_space_and_so_is_its_escape() {
        let query = query("/?query=one+two%20three%2Bfour").await;

        assert_eq!(query.required_text("query").unwrap(), "one two three+four");
    }

    #[tokio::test]
    async fn what_is_required_or_out_of_range_is_refused() {
        let query = query("/?limit=101").await;

        assert!(query.required_text("query").is_err());
        assert!(query.limit(5).is_err());
    }
}
