//! The one place where an error becomes a status code and a body (`interface.md` 1.6).

use std::{sync::Arc, time::Duration};

use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::Invalid;
use engine::{Code, Detail, Error, Fault, Step};
use serde::Serialize;
use utoipa::ToSchema;

use crate::framing::{MAX_BYTES, MAX_FIELDS};

/// The header that names the span of a recorded call.
pub(crate) const SPAN_ID: HeaderName = HeaderName::from_static("x-span-id");

/// A refusal or failure on its way out. The body is written where the request's id is known: see [`Problem::answer`].
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    status: StatusCode,
    class: &'static str,
    message: &'static str,
    detail: Detail,
    retry_after: Option<Duration>,
    span_id: Option<domain::SpanId>,
    cause: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// Every answer under `/v2` that is no success.
#[derive(Serialize, ToSchema)]
#[schema(as = Error)]
pub(crate) struct ErrorBody<'a> {
    /// The class of the error.
    #[serde(rename = "type")]
    #[schema(example = "NotFoundError")]
    class: &'a str,
    /// One sentence, the same for every error of the class.
    #[schema(example = "The resource was not found")]
    message: &'a str,
    /// What to know beyond the class: a sentence, an object, or the list of a request's faults.
    #[schema(value_type = serde_json::Value)]
    detail: &'a Detail,
}

impl Problem {
    fn new(status: StatusCode, class: &'static str, message: &'static str, detail: Detail) -> Self {
        Self {
            status,
            class,
            message,
            detail,
            retry_after: None,
            span_id: None,
            cause: None,
        }
    }

    /// Faults in the request.
    pub(crate) fn faults(faults: Vec<Fault>) -> Self {
        Error::new(Code::RequestValidation, Detail::Faults(faults)).into()
    }

    /// One fault in the request, below `root` (`body`, `path` or `query`).
    pub(crate) fn invalid(root: &str, invalid: &Invalid) -> Self {
        Self::faults(vec![Fault::new(root, invalid)])
    }

    /// A fault of the body as a whole.
    pub(crate) fn bad_body(slug: &str, message: impl Into<String>) -> Self {
        let fault = Fault {
            loc: vec![Step::Name("body".to_owned())],
            msg: message.into(),
            slug: slug.to_owned(),
        };
        Self::faults(vec![fault])
    }

    /// The body is larger than the route takes.
    pub(crate) fn too_large(limit: usize) -> Self {
        let detail = Detail::Text(format!("the body may have at most {limit} bytes"));
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "PayloadTooLargeError",
            "The request is too large",
            detail,
        )
    }

    /// The message is coded in a way that is not taken.
    pub(crate) fn bad_framing() -> Self {
        Error::text(
            Code::BadRequest,
            "the message is not framed as HTTP/1.1 has it: one length or `chunked`, whole lines, no folded ones",
        )
        .into()
    }

    /// A header's value is too long.
    pub(crate) fn long_header(limit: usize) -> Self {
        Self::large_fields(format!("a header may have at most {limit} bytes"))
    }

    /// A head is too long, or has too many fields.
    pub(crate) fn large_head() -> Self {
        Self::large_fields(format!(
            "the head of a request may have at most {MAX_BYTES} bytes and {MAX_FIELDS} fields"
        ))
    }

    fn large_fields(detail: String) -> Self {
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        let detail = Detail::Text(detail);
        Self::new(
            status,
            "PayloadTooLargeError",
            "The request is too large",
            detail,
        )
    }

    /// No such route.
    pub(crate) fn no_route() -> Self {
        Error::text(Code::NotFound, "no such path").into()
    }

    /// The route takes other methods.
    pub(crate) fn wrong_method() -> Self {
        let detail = Detail::Text("see the `Allow` header".to_owned());
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowedError",
            "The method is not allowed",
            detail,
        )
    }

    /// Whether it is our fault, so that somebody should look into it.
    pub(crate) fn is_ours(&self) -> bool {
        self.status == StatusCode::INTERNAL_SERVER_ERROR
    }

    /// The class, for the log.
    pub(crate) fn class(&self) -> &'static str {
        self.class
    }

    /// The sentence of the class.
    pub(crate) fn message(&self) -> &'static str {
        self.message
    }

    /// What happened inside, for the log.
    pub(crate) fn cause(&self) -> Option<&Arc<dyn std::error::Error + Send + Sync>> {
        self.cause.as_ref()
    }

    /// The body; the detail of an error of ours is `correlation` alone.
    pub(crate) fn body<'a>(&'a self, correlation: &'a Detail) -> ErrorBody<'a> {
        ErrorBody {
            class: self.class,
            message: self.message,
            detail: if self.is_ours() {
                correlation
            } else {
                &self.detail
            },
        }
    }

    /// Writes the answer. The detail of an error of ours is the request's id alone.
    pub(crate) fn answer(&self, request_id: &str) -> Response {
        let correlation = Detail::Text(format!("request {request_id}"));
        let mut response = (self.status, axum::Json(self.body(&correlation))).into_response();
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(wait) = self.retry_after {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        if let Some(span_id) = self.span_id {
            headers.insert(SPAN_ID, span_header(span_id));
        }
        response
    }
}

/// The value of [`SPAN_ID`].
pub(crate) fn span_header(span_id: domain::SpanId) -> HeaderValue {
    HeaderValue::from_str(&span_id.to_string()).expect("a UUID is visible ASCII")
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (status, message) = told(error.code);
        Self {
            status,
            class: error.code.name(),
            message,
            detail: error.detail,
            retry_after: error.retry_after,
            span_id: error.span_id,
            cause: error.cause,
        }
    }
}

impl IntoResponse for Problem {
    /// An empty answer that carries the problem to where its body is written.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

fn told(code: Code) -> (StatusCode, &'static str) {
    match code {
        Code::BadRequest | Code::RequestValidation => {
            let status = if code == Code::BadRequest {
                StatusCode::BAD_REQUEST
            } else {
                StatusCode::UNPROCESSABLE_ENTITY
            };
            (status, "The request is invalid")
        }
        Code::PayloadTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "The request is too large"),
        Code::StructuredGeneration => (StatusCode::BAD_REQUEST, "The structured generation failed"),
        Code::ContentPolicyViolation => (StatusCode::BAD_REQUEST, "Content policy violation error"),
        Code::ContextWindowExceeded => (StatusCode::BAD_REQUEST, "Context window exceeded error"),
        Code::Unauthorized => (StatusCode::UNAUTHORIZED, "The request is unauthorized"),
        Code::NotFound => (StatusCode::NOT_FOUND, "The resource was not found"),
        Code::Conflict => (StatusCode::CONFLICT, "The resource already exists"),
        Code::RateLimit => (StatusCode::TOO_MANY_REQUESTS, "The rate limit was exceeded"),
        Code::Internal => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "An internal error occurred",
        ),
        Code::Upstream => (StatusCode::BAD_GATEWAY, "The model provider failed"),
        Code::UpstreamTimeout => (
            StatusCode::GATEWAY_TIMEOUT,
            "The model provider did not answer in time",
        ),
        Code::ServiceUnavailable => (
            StatusCode::SERVICE_UNAVAILABLE,
            "The service is unavailable",
        ),
    }
}
