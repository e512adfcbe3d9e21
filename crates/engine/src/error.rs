//! What a caller can be told.

use std::{fmt, sync::Arc, time::Duration};

use domain::{Invalid, SpanId, seams::StoreError};
use serde::Serialize;
use thiserror::Error;

/// The class of an error: what a client would act on (`interface.md` 1.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Well-formed but impossible.
    BadRequest,
    /// The output still misses its schema after all attempts.
    StructuredGeneration,
    /// The model would not answer for reasons of policy.
    ContentPolicyViolation,
    /// The prompt is too long for the model.
    ContextWindowExceeded,
    /// No valid token.
    Unauthorized,
    /// No such resource in the project.
    NotFound,
    /// The name is in use.
    Conflict,
    /// More was sent, or lies where it is to be fetched, than is taken.
    PayloadTooLarge,
    /// Something in the request is malformed.
    RequestValidation,
    /// A rate limit, ours or the provider's.
    RateLimit,
    /// Our fault.
    Internal,
    /// The provider failed.
    Upstream,
    /// The provider did not answer in time.
    UpstreamTimeout,
    /// We cannot now.
    ServiceUnavailable,
}

impl Code {
    /// The class name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BadRequest => "BadRequestError",
            Self::StructuredGeneration => "StructuredGenerationError",
            Self::ContentPolicyViolation => "ContentPolicyViolationError",
            Self::ContextWindowExceeded => "ContextWindowExceededError",
            Self::Unauthorized => "UnauthorizedError",
            Self::NotFound => "NotFoundError",
            Self::Conflict => "ConflictError",
            Self::PayloadTooLarge => "PayloadTooLargeError",
            Self::RequestValidation => "RequestValidationError",
            Self::RateLimit => "RateLimitError",
            Self::Internal => "InternalServerError",
            Self::Upstream => "UpstreamError",
            Self::UpstreamTimeout => "UpstreamTimeoutError",
            Self::ServiceUnavailable => "ServiceUnavailableError",
        }
    }
}

/// A step on the way to a fault: a member's name or an item's index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Step {
    /// A member's name.
    Name(String),
    /// An item's index.
    Index(usize),
}

/// One fault in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Where: `body`, `path` or `query`, then names and indices.
    pub loc: Vec<Step>,
    /// What is wrong there.
    pub msg: String,
    /// The slug.
    #[serde(rename = "type")]
    pub slug: String,
}

impl Fault {
    /// A fault below `root`.
    pub fn new(root: &str, invalid: &Invalid) -> Self {
        let step = |name: &String| match name.parse() {
            Ok(index) => Step::Index(index),
            Err(_) => Step::Name(name.clone()),
        };
        let steps = invalid.path.iter().map(step);
        Self {
            loc: std::iter::once(Step::Name(root.to_owned()))
                .chain(steps)
                .collect(),
            msg: invalid.message.clone(),
            slug: invalid.slug.to_owned(),
        }
    }
}

/// What became of one of several models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TriedModel {
    /// The name that it was asked for under.
    pub name: String,
    /// The provider's status, if there was an answer.
    pub status: Option<u16>,
    /// Why it did not do.
    pub reason: String,
}

/// The `detail` of an error that came from running a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallDetail {
    /// One of our own words, or the provider's message, filtered.
    pub reason: String,
    /// What one of our own words means here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
    /// The span that recorded the call; filled in when it is concluded.
    pub span_id: Option<SpanId>,
    /// How many answers were tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// The beginning of the last answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_output: Option<String>,
    /// How the last answer missed its schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_errors: Option<Vec<String>>,
    /// The provider's status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_status: Option<u16>,
    /// Every model, when several were tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<Vec<TriedModel>>,
}

impl CallDetail {
    /// A reason, and nothing else known.
    pub fn because(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            explanation: None,
            span_id: None,
            attempts: None,
            last_output: None,
            validation_errors: None,
            upstream_status: None,
            models: None,
        }
    }
}

/// The `detail` of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Detail {
    /// A sentence.
    Text(String),
    /// Every fault of a request.
    Faults(Vec<Fault>),
    /// What came of a call.
    Call(Box<CallDetail>),
}

/// An error as a caller is told it. The cause is for the log and never in the answer.
#[derive(Debug, Clone, Error)]
pub struct Error {
    /// Its class.
    pub code: Code,
    /// What to know beyond the class.
    pub detail: Detail,
    /// After how long a repeat could help.
    pub retry_after: Option<Duration>,
    /// The span that recorded the call, if there was one.
    pub span_id: Option<SpanId>,
    /// What happened inside.
    #[source]
    pub cause: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.reason())
    }
}

impl Error {
    /// An error of a class with its detail.
    pub fn new(code: Code, detail: Detail) -> Self {
        Self {
            code,
            detail,
            retry_after: None,
            span_id: None,
            cause: None,
        }
    }

    /// An error whose detail is a sentence.
    pub fn text(code: Code, detail: impl Into<String>) -> Self {
        Self::new(code, Detail::Text(detail.into()))
    }

    /// `what` does not exist in the project: `Function not found` and the like.
    pub fn not_found(what: &str) -> Self {
        Self::text(Code::NotFound, format!("{what} not found"))
    }

    /// A failure of a call, with its reason.
    pub fn call(code: Code, detail: CallDetail) -> Self {
        Self::new(code, Detail::Call(Box::new(detail)))
    }

    /// A fault in the body.
    pub fn invalid(invalid: &Invalid) -> Self {
        Self::new(
            Code::RequestValidation,
            Detail::Faults(vec![Fault::new("body", invalid)]),
        )
    }

    /// A fault at a place in the body.
    pub fn invalid_at(loc: impl IntoIterator<Item = Step>, invalid: &Invalid) -> Self {
        let mut fault = Fault::new("body", invalid);
        fault.loc.extend(loc);
        Self::new(Code::RequestValidation, Detail::Faults(vec![fault]))
    }

    /// Something of ours broke.
    pub fn internal(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        let mut error = Self::text(Code::Internal, "");
        error.cause = Some(Arc::new(cause));
        error
    }

    /// We cannot now; `why` is one of `overloaded`, `draining`, `storage`.
    pub fn unavailable(why: &str) -> Self {
        let mut error = Self::text(Code::ServiceUnavailable, why);
        error.retry_after = Some(Duration::from_secs(1));
        error
    }

    /// The short reason, for a span's `error`.
    pub fn reason(&self) -> String {
        match &self.detail {
            Detail::Text(text) => text.clone(),
            Detail::Faults(faults) => faults
                .iter()
                .map(|fault| fault.msg.as_str())
                .collect::<Vec<_>>()
                .join("; "),
            Detail::Call(detail) => detail.reason.clone(),
        }
    }

    /// Says which span recorded the failed call.
    #[must_use]
    pub fn of_span(mut self, span_id: SpanId) -> Self {
        self.span_id = Some(span_id);
        if let Detail::Call(detail) = &mut self.detail {
            detail.span_id = Some(span_id);
        }
        self
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Self::invalid(&invalid)
    }
}

impl From<StoreError> for Error {
    /// [`StoreError::Taken`] and [`StoreError::Stale`] are handled where a name is written; what is left is storage
    /// that does not work.
    fn from(error: StoreError) -> Self {
        let mut answer = match error {
            StoreError::Corrupt(_) => Self::text(Code::Internal, ""),
            _ => Self::unavailable("storage"),
        };
        answer.cause = Some(Arc::new(error));
        answer
    }
}
