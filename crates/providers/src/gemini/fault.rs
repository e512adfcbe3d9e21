//! Bodies of errors: a `google.rpc.Status`, alone or in a list (<https://cloud.google.com/apis/design/errors>).

use std::time::Duration;

use domain::seams::ProviderErrorKind as Kind;
use serde_json::Value;

use crate::wire::{Fault, kind_of_status};

/// Texts in lower case. Vertex AI speaks of the context otherwise than AI Studio.
const CONTEXT_TEXTS: [&str; 5] = [
    "exceeds the maximum number of tokens",
    "input token count",
    "input context is too long",
    "input is too long",
    "context length",
];
const POLICY_TEXTS: [&str; 5] = [
    "responsible ai practices",
    "usage guidelines",
    "content policy",
    "prompt was blocked",
    "violate",
];
/// A bad key is a bad request in AI Studio.
const KEY_REASONS: [&str; 6] = [
    "API_KEY_INVALID",
    "API_KEY_EXPIRED",
    "API_KEY_SERVICE_BLOCKED",
    "ACCESS_TOKEN_EXPIRED",
    "ACCESS_TOKEN_TYPE_UNSUPPORTED",
    "CREDENTIALS_MISSING",
];
const KEY_TEXTS: [&str; 3] = ["api key not valid", "api key not found", "api key expired"];
/// How the host speaks of what it was asked to hold an answer to.
const DEMAND_TEXTS: [&str; 11] = [
    "schema",
    "mime type",
    "mime_type",
    "mimetype",
    "json mode",
    "json_mode",
    "too many states",
    "function call",
    "function_call",
    "function declaration",
    "tool",
];

/// The fault of an answer whose status is not a good one.
pub(super) fn of_status(status: u16, body: &[u8]) -> Fault {
    let said = Said::read(&serde_json::from_slice(body).unwrap_or_default());
    Fault {
        status: None,
        ..said.fault(status)
    }
}

/// The fault of an answer whose status is good and whose body holds an error all the same.
pub(super) fn of_error(error: &Value) -> Fault {
    let said = Said::of_error(error);
    let status = said.code;
    let fault = said.fault(status.unwrap_or(200));
    Fault { status, ..fault }
}

/// What an error says.
#[derive(Debug, Default)]
struct Said {
    /// The HTTP status that belongs to it.
    code: Option<u16>,
    /// The name of the class of errors.
    status: String,
    words: Option<String>,
    /// Reasons for machines.
    reasons: Vec<String>,
    /// The members of the request that are at fault.
    places: String,
    wait: Option<Duration>,
}

impl Said {
    fn read(body: &Value) -> Self {
        let body = body.get(0).unwrap_or(body);
        match body.get("error") {
            Some(error) => Self::of_error(error),
            None => Self::default(),
        }
    }

    fn of_error(error: &Value) -> Self {
        let code = error["code"].as_u64();
        let code = code.and_then(|code| u16::try_from(code).ok());
        let details = error["details"].as_array().into_iter().flatten();
        let mut said = Self {
            code: code.filter(|code| (400..600).contains(code)),
            status: error["status"].as_str().unwrap_or_default().to_owned(),
            words: error["message"].as_str().map(str::to_owned),
            ..Self::default()
        };
        for detail in details {
            let reason = detail["reason"].as_str().map(str::to_owned);
            said.reasons.extend(reason);
            let wait = detail["retryDelay"].as_str().and_then(seconds);
            said.wait = said.wait.or(wait);
            let violations = &detail["fieldViolations"];
            if !violations.is_null() {
                said.places += &violations.to_string();
            }
        }
        said
    }

    fn fault(self, status: u16) -> Fault {
        let kind = self.kind(status);
        let may_be_demand = matches!(kind, Kind::Invalid | Kind::Failed) && self.speaks_of_demand();
        Fault {
            kind,
            status: None,
            words: self.words,
            wait: self.wait,
            may_be_demand,
        }
    }

    fn kind(&self, status: u16) -> Kind {
        let text = self.words.as_deref().unwrap_or_default().to_lowercase();
        let speaks_of = |known: &[&str]| known.iter().any(|known| text.contains(known));
        let is_key = self
            .reasons
            .iter()
            .any(|reason| KEY_REASONS.contains(&reason.as_str()));
        let is_invalid = kind_of_status(status) == Kind::Invalid
            || matches!(self.status.as_str(), "INVALID_ARGUMENT" | "OUT_OF_RANGE");
        match self.status.as_str() {
            _ if is_key || (is_invalid && speaks_of(&KEY_TEXTS)) => Kind::Auth,
            "UNAUTHENTICATED" | "PERMISSION_DENIED" => Kind::Auth,
            "NOT_FOUND" => Kind::UnknownModel,
            "RESOURCE_EXHAUSTED" => Kind::RateLimited,
            "UNAVAILABLE" | "DEADLINE_EXCEEDED" => Kind::Overloaded,
            "INTERNAL" | "UNKNOWN" | "DATA_LOSS" => Kind::Failed,
            // The caller's country, a project without billing: nothing that another prompt would change.
            "FAILED_PRECONDITION" => Kind::Misconfigured,
            _ if is_invalid && speaks_of(&CONTEXT_TEXTS) => Kind::ContextWindow,
            _ if is_invalid && speaks_of(&POLICY_TEXTS) => Kind::ContentPolicy,
            _ if is_invalid => Kind::Invalid,
            _ => kind_of_status(status),
        }
    }

    /// Whether it is about the form that the answer was to have.
    fn speaks_of_demand(&self) -> bool {
        let words = self.words.as_deref().unwrap_or_default();
        let text = format!("{words}\n{}", self.places).to_lowercase();
        DEMAND_TEXTS.iter().any(|known| text.contains(known))
    }
}

/// A duration as protobuf writes it: `34.07s`.
fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fault(code: u16, status: &str, message: &str) -> Fault {
        let body = json!({"error": {"code": code, "message": message, "status": status}});
        of_status(code, body.to_string().as_bytes())
    }

    #[test]
    fn every_class_of_errors_has_its_kind() {
        let cases = [
            (
                400,
                "INVALID_ARGUMENT",
                "Invalid value at 'contents'.",
                Kind::Invalid,
            ),
            (
                400,
                "INVALID_ARGUMENT",
                "API key not valid. Please pass a valid API key.",
                Kind::Auth,
            ),
            (
                400,
                "INVALID_ARGUMENT",
                "API key expired. Please renew the API key.",
                Kind::Auth,
            ),
            (
                400,
                "INVALID_ARGUMENT",
                "The input token count (1054016) exceeds the maximum number of tokens allowed (1048576).",
                Kind::ContextWindow,
            ),
            (
                400,
                "INVALID_ARGUMENT",
                "The prompt could not be submitted. This prompt contains sensitive words that violate Google's Responsible AI practices.",
                Kind::ContentPolicy,
            ),
            (
                400,
                "FAILED_PRECONDITION",
                "User location is not supported for the API use.",
                Kind::Misconfigured,
            ),
            (
                401,
                "UNAUTHENTICATED",
                "Request had invalid authentication credentials.",
                Kind::Auth,
            ),
            (403, "PERMISSION_DENIED", "Permission denied.", Kind::Auth),
            (
                404,
                "NOT_FOUND",
                "models/gemini-0 is not found for API version v1beta.",
                Kind::UnknownModel,
            ),
            (
                429,
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota.",
                Kind::RateLimited,
            ),
            (
                500,
                "INTERNAL",
                "An internal error has occurred.",
                Kind::Failed,
            ),
            (
                503,
                "UNAVAILABLE",
                "The model is overloaded. Please try again later.",
                Kind::Overloaded,
            ),
            (
                504,
                "DEADLINE_EXCEEDED",
                "The request timed out.",
                Kind::Overloaded,
            ),
            (429, "", "", Kind::RateLimited),
        ];

        for (code, status, message, kind) in cases {
            assert_eq!(
                fault(code, status, message).kind,
                kind,
                "{status} {message}"
            );
            let error = json!({"code": code, "message": message, "status": status});
            let inside = of_error(&error);
            assert_eq!((inside.kind, inside.status), (kind, Some(code)), "{error}");
        }
        for body in ["", "<html>", "[]", "3", "{}"] {
            assert_eq!(
                of_status(502, body.as_bytes()).kind,
                Kind::Overloaded,
                "{body}"
            );
        }
        assert_eq!(of_error(&json!("what")).kind, Kind::Protocol);
    }

    #[test]
    fn the_wait_and_the_reason_stand_in_the_details() {
        let body = json!([{"error": {"code": 429, "message": "x", "status": "RESOURCE_EXHAUSTED", "details": [
            {"@type": "type.googleapis.com/google.rpc.Help", "links": []},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
        ]}}]);
        let key = json!({"error": {"code": 400, "message": "x", "status": "INVALID_ARGUMENT", "details": [
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
        ]}});

        let limited = of_status(429, body.to_string().as_bytes());
        let refused = of_status(400, key.to_string().as_bytes());

        assert_eq!(limited.kind, Kind::RateLimited);
        assert_eq!(limited.wait, Some(Duration::from_millis(34_500)));
        assert_eq!((refused.kind, refused.wait), (Kind::Auth, None));
        for text in ["s", "-1s", "1", "soon", "1e400s"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn what_the_host_says_of_how_json_was_demanded_is_known() {
        let about = [
            "Function calling with a response mime type: 'application/json' is unsupported",
            "Invalid JSON payload received. Unknown name \"responseJsonSchema\" at 'generation_config': Cannot find field.",
            "The specified schema produces a constraint that has too many states for serving.",
            "JSON mode is not enabled for models/gemma-3-27b-it",
            "Function calling is not enabled for models/gemma-3-27b-it",
        ];

        for message in about {
            for (code, status) in [(400, "INVALID_ARGUMENT"), (500, "INTERNAL")] {
                let fault = fault(code, status, message);
                assert_eq!(fault.of_demanding().kind, Kind::Demand, "{message}");
            }
            let limited = fault(429, "RESOURCE_EXHAUSTED", message);
            assert_eq!(limited.of_demanding().kind, Kind::RateLimited, "{message}");
        }
        let other = fault(400, "INVALID_ARGUMENT", "Unable to process input image.");
        assert_eq!(other.of_demanding().kind, Kind::Invalid);
    }
}
