//! Bodies of errors: whose fault it is, and in what words.
//! <https://platform.claude.com/docs/en/api/errors>

use domain::seams::ProviderErrorKind as Kind;
use serde_json::Value;

use crate::wire::{Fault, kind_of_status};

const CONTEXT_TEXTS: [&str; 3] = [
    "prompt is too long",
    "exceed context limit",
    "context window",
];
const POLICY_TEXTS: [&str; 3] = ["content filtering policy", "usage policy", "usage policies"];
/// An account that cannot pay is told so as if the request were wrong.
const BILLING_TEXTS: [&str; 1] = ["credit balance is too low"];
/// How the provider speaks of what it was asked to hold an answer to.
const DEMAND_TEXTS: [&str; 9] = [
    "output_config",
    "output_format",
    "output format",
    "structured output",
    "schema",
    "grammar",
    "tool_choice",
    "tools",
    "tool use",
];
/// The other half of a member of which one half is the demand's.
const EFFORT: &str = "output_config.effort";

/// The fault of an answer whose status is not a good one.
pub(super) fn of_status(status: u16, body: &[u8]) -> Fault {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let said = Said::of(&value);
    let kind = said.kind(kind_of_status(status));
    said.fault(kind, matches!(status, 400 | 422))
}

/// The fault of an error in the body of an answer whose status is a good one, or in a stream.
pub(super) fn of_error(value: &Value) -> Fault {
    let said = Said::of(value);
    let kind = match said.code {
        "authentication_error" | "permission_error" => Kind::Auth,
        "not_found_error" => Kind::UnknownModel,
        "api_error" | "timeout_error" => Kind::Failed,
        "invalid_request_error" => Kind::Invalid,
        _ => Kind::Protocol,
    };
    let kind = said.kind(kind);
    said.fault(kind, true)
}

/// What an error body says: `{"type":"error","error":{"type","message"}}`.
struct Said<'a> {
    code: &'a str,
    words: Option<&'a str>,
    text: String,
}

impl<'a> Said<'a> {
    fn of(value: &'a Value) -> Self {
        let error = &value["error"];
        let words = [&error["message"], error, &value["message"]];
        let words = words.iter().find_map(|it| it.as_str());
        Self {
            code: error["type"].as_str().unwrap_or_default(),
            words,
            text: words.unwrap_or_default().to_lowercase(),
        }
    }

    fn speaks_of(&self, known: &[&str]) -> bool {
        known.iter().any(|known| self.text.contains(known))
    }

    /// The kind that the body knows better than `kind`.
    fn kind(&self, kind: Kind) -> Kind {
        match self.code {
            "overloaded_error" => Kind::Overloaded,
            "rate_limit_error" | "billing_error" => Kind::RateLimited,
            "request_too_large" => Kind::ContextWindow,
            _ if kind == Kind::Auth => kind,
            _ if self.speaks_of(&POLICY_TEXTS) => Kind::ContentPolicy,
            _ if kind != Kind::Invalid => kind,
            _ if self.speaks_of(&CONTEXT_TEXTS) => Kind::ContextWindow,
            _ if self.speaks_of(&BILLING_TEXTS) => Kind::RateLimited,
            _ => kind,
        }
    }

    fn fault(&self, kind: Kind, may_be_demand: bool) -> Fault {
        Fault {
            kind,
            status: None,
            words: self.words.map(str::to_owned),
            may_be_demand: may_be_demand
                && kind == Kind::Invalid
                && self.speaks_of(&DEMAND_TEXTS)
                && !self.speaks_of(&[EFFORT]),
            wait: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(code: &str, message: &str) -> Value {
        serde_json::json!({
            "type": "error",
            "error": { "type": code, "message": message },
            "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy",
        })
    }

    #[test]
    fn every_documented_error_has_its_kind_by_status_and_in_a_stream() {
        let cases = [
            (400, "invalid_request_error", "x", Kind::Invalid),
            (401, "authentication_error", "x", Kind::Auth),
            (402, "billing_error", "x", Kind::RateLimited),
            (403, "permission_error", "usage policy", Kind::Auth),
            (404, "not_found_error", "model: m", Kind::UnknownModel),
            (413, "request_too_large", "x", Kind::ContextWindow),
            (429, "rate_limit_error", "x", Kind::RateLimited),
            (500, "api_error", "Internal server error", Kind::Failed),
            (529, "overloaded_error", "Overloaded", Kind::Overloaded),
            (
                400,
                "invalid_request_error",
                "prompt is too long: 213462 tokens > 200000 maximum",
                Kind::ContextWindow,
            ),
            (
                400,
                "invalid_request_error",
                "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000",
                Kind::ContextWindow,
            ),
            (
                400,
                "invalid_request_error",
                "Output blocked by content filtering policy",
                Kind::ContentPolicy,
            ),
            (
                400,
                "invalid_request_error",
                "Your credit balance is too low to access the Anthropic API.",
                Kind::RateLimited,
            ),
        ];

        for (status, code, message, kind) in cases {
            let body = body(code, message);
            let fault = of_status(status, body.to_string().as_bytes());
            assert_eq!(fault.kind, kind, "{code} {message}");
            assert_eq!(fault.words.as_deref(), Some(message));
            assert_eq!(of_error(&body).kind, kind, "{code} {message}");
        }
        assert_eq!(of_status(504, b"<html></html>").kind, Kind::Overloaded);
        assert_eq!(of_error(&Value::Null).kind, Kind::Protocol);
    }

    #[test]
    fn what_is_said_of_the_demand_is_known() {
        let about = [
            "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
            "output_config: Extra inputs are not permitted",
            "Schema is too complex for compilation",
            "The compiled grammar is too large.",
            "tool_choice: type \"tool\" and \"any\" are not supported for this model.",
            "Thinking may not be enabled when tool_choice forces tool use.",
            "tools.0.custom.input_schema: JSON schema is invalid.",
        ];
        let not_about = [
            "output_config.effort: Input should be 'low', 'medium' or 'high'",
            "max_tokens: must be greater than or equal to 0",
            "prompt is too long: the schema has 213462 tokens",
        ];

        let kind = |message: &str| {
            let body = body("invalid_request_error", message).to_string();
            of_status(400, body.as_bytes()).of_demanding().kind
        };
        for message in about {
            assert_eq!(kind(message), Kind::Demand, "{message}");
        }
        for message in not_about {
            assert_ne!(kind(message), Kind::Demand, "{message}");
        }
    }
}
