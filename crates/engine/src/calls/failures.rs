//! What the caller is told of failures upstream (`interface.md` 1.6 and 15.6).

use std::time::Duration;

use domain::{
    DocumentFault, Invalid,
    seams::{ProviderError, ProviderErrorKind as Kind},
};

use crate::error::{CallDetail, Code, Error};

use super::ledger::Ledger;

/// The failures of the models that were tried.
#[derive(Default)]
pub(super) struct Failures {
    last: Option<ProviderError>,
    /// The shortest wait that a model asked for, while nothing but rate limits was met.
    shortest_wait: Option<Duration>,
}

impl Failures {
    pub(super) fn add(&mut self, failure: ProviderError) {
        let wait = failure.retry_after;
        self.shortest_wait = match self.shortest_wait {
            Some(shortest) => Some(wait.map_or(shortest, |wait| wait.min(shortest))),
            None => wait,
        };
        self.last = Some(failure);
    }

    /// The last failure, as the caller is told it; that there was nobody to ask, if nobody was.
    pub(super) fn told(self, ledger: &Ledger) -> Error {
        let Some(mut last) = self.last else {
            let detail = CallDetail::because("no other model can be asked");
            return Error::call(Code::Upstream, detail);
        };
        last.retry_after = self.shortest_wait;
        told(&last, ledger)
    }
}

/// That the deadline of the whole has passed, in a word if there is one for it.
pub(super) fn too_late(limit: Duration, word: Option<&str>, ledger: &Ledger) -> Error {
    let what = format!("the call took longer than {} s", limit.as_secs_f64());
    let mut detail = match word {
        Some(word) => CallDetail {
            explanation: Some(what),
            ..CallDetail::because(word)
        },
        None => CallDetail::because(what),
    };
    detail.models = ledger.models();
    Error::call(Code::UpstreamTimeout, detail)
}

/// A failure, as the caller is told it.
pub(super) fn told(failure: &ProviderError, ledger: &Ledger) -> Error {
    let code = match failure.kind {
        Kind::Document(fault) => return of_document(fault, &failure.reason),
        Kind::Busy => return Error::unavailable(&failure.reason),
        Kind::RateLimited => Code::RateLimit,
        Kind::Timeout => Code::UpstreamTimeout,
        Kind::Invalid | Kind::Demand | Kind::RefusedAddress | Kind::Misconfigured => {
            Code::BadRequest
        }
        Kind::ContentPolicy => Code::ContentPolicyViolation,
        Kind::ContextWindow | Kind::Batch => Code::ContextWindowExceeded,
        Kind::Connection
        | Kind::Overloaded
        | Kind::Failed
        | Kind::Auth
        | Kind::UnknownModel
        | Kind::Protocol => Code::Upstream,
    };
    let mut detail = CallDetail::because(failure.reason.clone());
    detail.upstream_status = failure.status;
    detail.models = ledger.models();
    let mut error = Error::call(code, detail);
    if code == Code::RateLimit {
        error.retry_after = Some(failure.retry_after.unwrap_or(Duration::from_secs(1)));
    }
    error
}

/// What is wrong with a document is told as a fault of the request.
fn of_document(fault: DocumentFault, reason: &str) -> Error {
    let member = match fault {
        DocumentFault::TooManyBytes => return Error::text(Code::PayloadTooLarge, reason),
        DocumentFault::TimedOut | DocumentFault::NotAllowed => {
            let code = match fault {
                DocumentFault::TimedOut => Code::UpstreamTimeout,
                _ => Code::BadRequest,
            };
            let detail = CallDetail {
                explanation: Some(reason.to_owned()),
                ..CallDetail::because(fault.slug())
            };
            return Error::call(code, detail);
        }
        DocumentFault::Pages => "pages",
        _ => "document",
    };
    Error::invalid(&Invalid::new(fault.slug(), reason).at(member))
}
