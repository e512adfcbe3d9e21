//! Who calls, as the lock found out.

use axum::{
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::Principal;

use crate::{doors::Doors, extract::drain, problem::Problem};

/// The principal behind a request. Every route under `/v2` has one.
pub(crate) struct Caller(pub(crate) Principal);

impl std::ops::Deref for Caller {
    type Target = Principal;

    fn deref(&self) -> &Principal {
        &self.0
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let principal = parts.extensions.remove::<Principal>();
        principal
            .map(Self)
            .ok_or_else(|| engine::unauthorized().into())
    }
}

/// The lock in front of the whole of `/v2`, unknown paths included: nothing is read or told before it opened.
pub(crate) async fn lock(State(doors): State<Doors>, mut request: Request, next: Next) -> Response {
    let principal = match bearer(request.headers()) {
        Some(token) => doors.gateway.auth.principal(token).await,
        None => Err(engine::unauthorized()),
    };
    match principal {
        Ok(principal) => {
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err(error) => {
            drain(request).await;
            Problem::from(error).into_response()
        }
    }
}

/// The token of exactly one `Authorization: Bearer` header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (values.next()?, values.next()) else {
        return None;
    };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim_matches(' '))
}
