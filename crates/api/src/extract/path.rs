//! Parameters of the path.

use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::request::Parts,
};
use domain::Invalid;
use uuid::Uuid;

use crate::problem::Problem;

/// The parameters of the path, percent-decoded once.
pub(crate) struct Params(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // What cannot be decoded is no resource's address.
        let params = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|_| Problem::no_route())?;
        Ok(Self(
            params
                .iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        ))
    }
}

impl Params {
    /// The id in parameter `name`.
    pub(crate) fn id<Id: From<Uuid>>(&self, name: &str) -> Result<Id, Problem> {
        let text = self.text(name);
        let id = domain::FunctionId::parse(text)
            .map_err(|invalid: Invalid| Problem::invalid("path", &invalid.at(name)))?;
        Ok(id.uuid().into())
    }

    /// The text in parameter `name`.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map_or("", |(_, value)| value)
    }
}
