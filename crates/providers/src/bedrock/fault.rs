//! Bodies of errors: whose fault it is, and in what words
//! (<https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html>).
//!
//! The type of an error stands in a header, in the body of some, and names an exception of a stream. It tells more than
//! the status: what is wrong with a key is often a 400.

use domain::seams::ProviderErrorKind as Kind;
use serde_json::Value;

use crate::wire::{Fault, kind_of_status};

/// Types of errors, in lower case and without their ending, with the status that each has.
const TYPES: [(&str, Kind, u16); 23] = [
    ("throttling", Kind::RateLimited, 429),
    ("toomanyrequests", Kind::RateLimited, 429),
    ("servicequotaexceeded", Kind::RateLimited, 400),
    ("modelnotready", Kind::Overloaded, 429),
    ("serviceunavailable", Kind::Overloaded, 503),
    ("internalserver", Kind::Failed, 500),
    ("internalfailure", Kind::Failed, 500),
    ("modeltimeout", Kind::Failed, 408),
    ("modelstreamerror", Kind::Failed, 424),
    ("modelerror", Kind::Failed, 424),
    ("accessdenied", Kind::Auth, 403),
    ("notauthorized", Kind::Auth, 401),
    ("optinrequired", Kind::Auth, 403),
    ("unrecognizedclient", Kind::Auth, 403),
    ("expiredtoken", Kind::Auth, 403),
    ("invalidsignature", Kind::Auth, 403),
    ("signaturedoesnotmatch", Kind::Auth, 403),
    // It was signed too long ago.
    ("requestexpired", Kind::Auth, 400),
    ("incompletesignature", Kind::Auth, 403),
    ("missingauthenticationtoken", Kind::Auth, 403),
    ("invalidclienttokenid", Kind::Auth, 403),
    ("resourcenotfound", Kind::UnknownModel, 404),
    ("validation", Kind::Invalid, 400),
];

/// All in lower case.
const CONTEXT_TEXTS: [&str; 9] = [
    "input is too long",
    "prompt is too long",
    "too many input tokens",
    "input tokens exceed",
    "exceed context limit",
    "exceeds the maximum number of input tokens",
    "maximum context length",
    "context window",
    // Of a text to embed, at `cohere.embed…`.
    "expected maxlength",
];
const POLICY_TEXTS: [&str; 4] = [
    "content filter",
    "content policy",
    "responsible ai policy",
    "usage policy",
];
const MODEL_TEXTS: [&str; 5] = [
    "model identifier is invalid",
    "access to the model",
    "throughput isn",
    "throughput is not supported",
    "doesn't support the model",
];
const DEMAND_TEXTS: [&str; 12] = [
    "toolchoice",
    "tool_choice",
    "toolconfig",
    "tool use",
    "tool calling",
    "tools",
    "outputconfig",
    "output_config",
    "textformat",
    "response_format",
    "structured output",
    "schema",
];

/// The fault of an answer whose status is not a good one; `error_type` is what its head names.
pub(super) fn of_status(status: u16, error_type: Option<&str>, body: &[u8]) -> Fault {
    let in_head = error_type.and_then(of_type);
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return Fault {
            kind: in_head.map_or_else(|| kind_of_status(status), |(kind, _)| kind),
            status: None,
            words: plain_text(body),
            wait: None,
            may_be_demand: false,
        };
    };
    let named = ["__type", "code", "type"];
    let named = named.iter().find_map(|name| body[name].as_str());
    let named = named.and_then(of_type).or(in_head);
    let kind = match named {
        Some((kind, _)) => kind,
        // A model's failure, which is not the request's.
        None if status == 424 => Kind::Failed,
        None => kind_of_status(status),
    };
    let own_status = named.map(|(_, status)| status);
    told(kind, own_status.filter(|_| status < 400), &body)
}

/// The fault of a stream that ends with an exception.
pub(super) fn of_exception(exception: &str, data: &str) -> Fault {
    let body = serde_json::from_str(data).unwrap_or(Value::Null);
    let (kind, status) = of_type(exception).unwrap_or((Kind::Failed, 500));
    told(kind, Some(status), &body)
}

/// What a type stands for: `ValidationException`, `throttlingException`, `com.amazon…#ModelErrorException:http://…`.
fn of_type(name: &str) -> Option<(Kind, u16)> {
    let name = name.rsplit('#').next().unwrap_or(name);
    let name = name.split(':').next().unwrap_or(name).to_ascii_lowercase();
    let row = TYPES.iter().find(|(known, ..)| name.starts_with(known));
    row.map(|&(_, kind, status)| (kind, status))
}

/// What the words and the status of the model behind make of a kind.
fn told(kind: Kind, status: Option<u16>, body: &Value) -> Fault {
    let words = ["message", "Message", "originalMessage"];
    let words = words.iter().find_map(|name| body[name].as_str());
    let text = words
        .unwrap_or_default()
        .to_lowercase()
        .replace('\u{2019}', "'");
    let speaks_of = |known: &[&str]| known.iter().any(|known| text.contains(known));
    let behind = body["originalStatusCode"].as_u64();
    let behind = behind.and_then(|status| u16::try_from(status).ok());
    let kind = match (kind, behind) {
        (Kind::Failed, Some(behind @ 400..=499)) => kind_of_status(behind),
        _ => kind,
    };
    let kind = match kind {
        Kind::Invalid if speaks_of(&CONTEXT_TEXTS) => Kind::ContextWindow,
        Kind::Invalid if speaks_of(&POLICY_TEXTS) => Kind::ContentPolicy,
        // These fare better with another model, and their words say what to ask for.
        Kind::Invalid | Kind::Auth if speaks_of(&MODEL_TEXTS) => Kind::UnknownModel,
        Kind::RateLimited if text.contains("not ready") => Kind::Overloaded,
        kind => kind,
    };
    Fault {
        kind,
        status,
        words: words.map(str::to_owned),
        may_be_demand: matches!(kind, Kind::Invalid | Kind::Failed) && is_about_demand(&text),
        wait: None,
    }
}

/// Whether it is about the form that the answer was to have, and not about that of the request itself.
fn is_about_demand(text: &str) -> bool {
    let text = text.replace("schema violation", "");
    DEMAND_TEXTS.iter().any(|known| text.contains(known))
}

/// The body itself, if it is text for people: no page, nothing binary.
fn plain_text(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?.trim();
    let is_told = !text.is_empty() && !text.starts_with(['<', '{', '[']);
    (is_told && !text.contains('\0')).then(|| text.to_owned())
}
