//! What failures of the server and of its tasks mean.

use domain::{DocumentFault, seams::ProviderErrorKind as Kind};
use serde_json::Value;

use super::document::{ErrorItem, Failure};
use crate::reading::misplaced;
use crate::wire::{Fault, kind_of_status};

/// The fault of an answer whose status is not a good one. The server is made with `FastAPI`: a sentence in `detail`, or a list of what
/// is wrong with the request's members.
pub(super) fn of_status(status: u16, body: &[u8]) -> Fault {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let detail = &body["detail"];
    let words = misplaced(&body).or_else(|| {
        let places = [detail, &detail["message"], &body["message"]];
        places
            .into_iter()
            .find_map(Value::as_str)
            .map(str::to_owned)
    });
    fault(kind_of_status(status), words)
}

/// A task that the server knows no more.
pub(super) fn lost() -> Fault {
    let words = "docling-serve does not know the task any more: it was restarted, or several servers without a common \
                 queue share one address";
    fault(Kind::Failed, Some(words.to_owned()))
}

/// A server without such requests.
pub(super) fn no_such_request() -> Fault {
    let words = "there is no `/v1/convert/source/async` at that address: it is not docling-serve 1.0 or newer";
    fault(Kind::Misconfigured, Some(words.to_owned()))
}

/// A task that failed as a whole.
pub(super) fn of_task(failure: Option<&Failure>, message: Option<&str>) -> Fault {
    let category = failure.and_then(|failure| failure.category.as_deref());
    let kind = match category {
        Some("policy" | "source_unavailable") => Kind::Invalid,
        Some("capacity") => Kind::Overloaded,
        Some("timeout") => Kind::Timeout,
        _ => Kind::Failed,
    };
    let words = failure.and_then(|failure| failure.message.as_deref());
    let words = words.or(message).filter(|words| !words.is_empty());
    let words = words.unwrap_or("docling-serve could not convert the document");
    fault(kind, Some(words.to_owned()))
}

/// A document of which nothing came.
pub(super) fn of_document(errors: &[ErrorItem]) -> Fault {
    let Some(error) = errors.first() else {
        return of_task(None, None);
    };
    let component = error.component_type.as_deref();
    let kind = match (error.category.as_deref(), component) {
        (Some("timeout"), _) => Kind::Timeout,
        (Some("policy"), _) => Kind::Invalid,
        (_, Some("document_backend" | "user_input")) => Kind::Document(DocumentFault::Invalid),
        _ => Kind::Failed,
    };
    fault(kind, Some(error.error_message.clone()))
}

/// Pages of which none came.
pub(super) fn no_pages(first: &str) -> Fault {
    let words = format!("none of the pages could be read: {first}");
    fault(Kind::Failed, Some(words))
}

fn fault(kind: Kind, words: Option<String>) -> Fault {
    Fault {
        kind,
        words,
        ..Fault::protocol("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_is_found_with_its_place() {
        let told = |status, body: &str| {
            let fault = of_status(status, body.as_bytes());
            (fault.kind, fault.words)
        };
        let words = |text: &str| Some(text.to_owned());

        let invalid = r#"{"detail":[{"type":"enum","loc":["body","options","table_mode"],"msg":"no such mode"}]}"#;
        assert_eq!(
            told(422, invalid),
            (
                Kind::Invalid,
                words("`body.options.table_mode`: no such mode")
            )
        );
        assert_eq!(
            told(503, r#"{"detail":"busy"}"#),
            (Kind::Overloaded, words("busy"))
        );
        assert_eq!(
            told(403, r#"{"detail":{"message":"no"}}"#),
            (Kind::Auth, words("no"))
        );
        assert_eq!(told(500, "<html>"), (Kind::Failed, None));
        assert_eq!(told(500, r#"{"detail":[7]}"#), (Kind::Failed, None));
    }
}
