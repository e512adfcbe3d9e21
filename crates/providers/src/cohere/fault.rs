//! Bodies of errors: `{"message": …}`, and statuses that are Cohere's own.
//!
//! <https://docs.cohere.com/reference/errors>.

use domain::seams::ProviderErrorKind as Kind;

use crate::{openai::fault, wire::Fault};

/// The fault of an answer whose status is not a good one.
pub(super) fn of_status(status: u16, body: &[u8]) -> Fault {
    let fault = fault::of_status(status, body);
    let kind = match status {
        // What was asked or answered holds something that the host's lists deny.
        498 => Kind::ContentPolicy,
        // The host gave the request up.
        499 => Kind::Failed,
        _ => fault.kind,
    };
    Fault { kind, ..fault }
}
