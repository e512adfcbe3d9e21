//! Bodies of errors: whose fault it is, and in what words.
//!
//! Hosts of this dialect agree on little here, so codes are read first, then types, then the text.

use domain::seams::ProviderErrorKind as Kind;
use serde_json::Value;

use crate::wire::{Fault, kind_of_status};

/// Texts of vLLM, llama.cpp, Mistral, Groq, Together and others, in lower case.
const CONTEXT_TEXTS: [&str; 12] = [
    "maximum context length",
    "context length exceeded",
    "context_length_exceeded",
    "context window",
    "context size",
    "exceeds the context",
    "prompt is too long",
    "prompt too long",
    "too large for model",
    "too many tokens",
    "longer than the model's context",
    "reduce the length of the messages",
];
/// How hosts say that texts are too many for one request of embeddings or reranking.
const BATCH_TEXTS: [&str; 5] = [
    // Mistral, of late and before.
    "split into more batches",
    "too many tokens in batch",
    // Voyage
    "tokens per submitted batch",
    // TEI, and hosts that stand on it
    "maximum allowed batch size",
    // OpenAI
    "tokens per request",
];
const CONTEXT_CODES: [&str; 3] = [
    "context_length_exceeded",
    "context_window_exceeded",
    "exceed_context_size_error",
];
/// OpenAI's code for any text that is too long, be it a prompt or an id.
const LONG_CODE: &str = "string_above_max_length";
/// The members that hold a prompt.
const PROMPTS: [&str; 5] = ["content", "input", "instructions", "prompt", "text"];
const POLICY_CODES: [&str; 9] = [
    "bio_policy",
    "cyber_policy",
    "content_filter",
    "content_policy_violation",
    "responsibleaipolicyviolation",
    "content_moderation_failed",
    "data_inspection_failed",
    "image_content_policy_violation",
    "moderation_blocked",
];
const POLICY_TEXTS: [&str; 4] = [
    "violating our usage policy",
    "content management policy",
    "content policy violation",
    "flagged by moderation",
];
const MODEL_CODES: [&str; 4] = [
    "model_not_found",
    "invalid_model",
    "model_not_available",
    "unknown_model",
];

/// How hosts speak of what they were asked to hold an answer to: its form, a schema, a grammar, tools.
const DEMAND_TEXTS: [&str; 21] = [
    "text.format",
    "response_format",
    "response format",
    "json_object",
    "json mode",
    "json_mode",
    "json_validate_failed",
    "schema",
    "grammar",
    "structured output",
    "structured_output",
    "guided",
    "tool_choice",
    "tool choice",
    "tool_use",
    "tool use",
    "tool call",
    "tools",
    "function call",
    "call a function",
    "functions",
];

/// The fault of an answer whose status is not a good one.
pub(crate) fn of_status(status: u16, body: &[u8]) -> Fault {
    let kind = kind_of_status(status);
    let said = Said::read(body);
    // Too long and not allowed are told apart within "invalid" alone: elsewhere the status has the better reasons.
    let kind = match said.kind() {
        Some(better) if kind == Kind::Invalid => better,
        Some(Kind::ContentPolicy) if status == 403 => Kind::ContentPolicy,
        _ => kind,
    };
    let may_be_demand = matches!(kind, Kind::Invalid | Kind::Failed)
        && matches!(status, 400 | 422 | 500)
        && said.speaks_of_demand();
    Fault {
        kind,
        status: None,
        words: said.words,
        wait: None,
        may_be_demand,
    }
}

/// The fault of an event that is named `error`.
pub(crate) fn of_event(data: &str) -> Fault {
    match serde_json::from_str::<Value>(data) {
        Ok(value) => match value.get("error") {
            Some(error) if !error.is_null() => of_error(error),
            _ => of_error(&value),
        },
        Err(_) => Fault {
            words: plain_text(data.as_bytes()),
            ..Fault::protocol("")
        },
    }
}

/// The fault of an answer whose status is good and whose body holds an error (`error`) all the same.
pub(crate) fn of_error(error: &Value) -> Fault {
    let said = Said::of_error(error);
    let status = said.codes.iter().find_map(|code| {
        let status: u16 = code.parse().ok()?;
        (400..600).contains(&status).then_some(status)
    });
    let has = |texts: &[&str]| {
        let mut codes = said.codes.iter();
        codes.any(|code| texts.iter().any(|text| code.contains(text)))
    };
    let kind = match (said.kind(), status) {
        (Some(kind), _) => kind,
        (None, Some(status)) => kind_of_status(status),
        (None, None) if has(&["rate_limit", "too_many_requests", "quota"]) => Kind::RateLimited,
        (None, None) if has(&["overloaded", "unavailable"]) => Kind::Overloaded,
        (None, None) if has(&["timeout", "server_error", "internal"]) => Kind::Failed,
        (None, None) if has(&["authentication", "api_key", "permission"]) => Kind::Auth,
        (None, None) if has(&["image", "invalid_prompt", "residency"]) => Kind::Invalid,
        (None, None) if has(&["not_found"]) => Kind::UnknownModel,
        (None, None) if has(&["invalid_request", "bad_request"]) => Kind::Invalid,
        (None, None) => Kind::Protocol,
    };
    let may_be_demand = matches!(kind, Kind::Invalid | Kind::Failed | Kind::Protocol)
        && matches!(status, None | Some(400 | 422 | 500))
        && said.speaks_of_demand();
    Fault {
        kind,
        status,
        words: said.words,
        wait: None,
        may_be_demand,
    }
}

/// The same of a host that says of a failure of its own no more than words.
pub(crate) fn of_words(error: &Value) -> Fault {
    let fault = of_error(error);
    let kind = match fault.kind {
        Kind::Protocol => Kind::Failed,
        kind => kind,
    };
    Fault { kind, ..fault }
}

/// What an error body says.
#[derive(Debug, Default)]
struct Said {
    /// `code`, `type` and `status`, in lower case.
    codes: Vec<String>,
    words: Option<String>,
    /// `param`, and the places that validation errors name.
    places: String,
    is_flagged: bool,
    /// Whether what it points at is a part of the prompt.
    is_about_prompt: bool,
}

impl Said {
    fn read(body: &[u8]) -> Self {
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            return Self {
                words: plain_text(body),
                ..Self::default()
            };
        };
        // One host wraps its errors in a list.
        let value = value.get(0).unwrap_or(&value);
        match value.get("error") {
            Some(error) if !error.is_null() => {
                let mut said = Self::of_error(error);
                said.words = said.words.or_else(|| words(value));
                said
            }
            _ => Self::of_error(value),
        }
    }

    fn of_error(error: &Value) -> Self {
        let inner = &error["innererror"];
        let codes = [
            &error["code"],
            &error["type"],
            &error["status"],
            &inner["code"],
        ];
        let text = |code: &&Value| match code {
            Value::String(text) => Some(text.to_lowercase()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        Self {
            codes: codes.iter().filter_map(text).collect(),
            words: words(error),
            places: places(error),
            is_flagged: error["metadata"].get("flagged_input").is_some(),
            is_about_prompt: error["param"].as_str().is_some_and(is_prompt),
        }
    }

    /// Whether it is about the form that the answer was to have.
    fn speaks_of_demand(&self) -> bool {
        let words = self.words.as_deref().unwrap_or_default();
        let text = format!("{words}\n{}\n{}", self.codes.join("\n"), self.places);
        let text = text.to_lowercase();
        DEMAND_TEXTS.iter().any(|known| text.contains(known))
    }

    /// The kinds that only the body knows of.
    fn kind(&self) -> Option<Kind> {
        let is_code = |known: &[&str]| self.codes.iter().any(|code| known.contains(&code.as_str()));
        let text = self.words.as_deref().unwrap_or_default().to_lowercase();
        let speaks_of = |known: &[&str]| known.iter().any(|known| text.contains(known));
        if self.is_flagged || is_code(&POLICY_CODES) {
            Some(Kind::ContentPolicy)
        } else if is_code(&CONTEXT_CODES) || (is_code(&[LONG_CODE]) && self.is_about_prompt) {
            Some(Kind::ContextWindow)
        } else if is_code(&MODEL_CODES) {
            Some(Kind::UnknownModel)
        } else if speaks_of(&POLICY_TEXTS) {
            Some(Kind::ContentPolicy)
        } else if speaks_of(&BATCH_TEXTS) {
            Some(Kind::Batch)
        } else if speaks_of(&CONTEXT_TEXTS) {
            Some(Kind::ContextWindow)
        } else {
            None
        }
    }
}

/// The sentence in an error, wherever it stands.
fn words(error: &Value) -> Option<String> {
    let places = [
        error,
        &error["message"],
        &error["detail"],
        &error["error"],
        &error["msg"],
        &error["message"]["detail"],
        &error["detail"][0]["msg"],
        &error["message"]["detail"][0]["msg"],
    ];
    let text = places.iter().find_map(|place| place.as_str())?;
    Some(text.to_owned())
}

/// What the error points at: OpenAI's `param`, and the places that validation errors of Mistral and vLLM name.
fn places(error: &Value) -> String {
    let places = [
        &error["param"],
        &error["detail"][0]["loc"],
        &error["message"]["detail"][0]["loc"],
    ];
    let given = places.into_iter().filter(|place| !place.is_null());
    given.map(Value::to_string).collect()
}

/// Whether a place such as `messages[1].content[0].text` or `input[3]` holds a part of the prompt.
fn is_prompt(place: &str) -> bool {
    let member = place.rsplit('.').next().unwrap_or(place);
    let name = member.split('[').next().unwrap_or(member);
    PROMPTS.contains(&name)
}

/// The body itself, if it is text for people: no page, nothing binary.
fn plain_text(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?.trim();
    let is_told = !text.is_empty() && !text.starts_with(['<', '{', '[']);
    (is_told && !text.contains('\0')).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(status: u16, body: &str) -> (Kind, Option<String>) {
        let fault = of_status(status, body.as_bytes());
        (fault.kind, fault.words)
    }

    #[test]
    fn the_sentence_is_found_in_every_shape() {
        let shapes = [
            r#"{"error":{"message":"no"}}"#,
            r#"{"error":"no"}"#,
            r#"{"message":"no"}"#,
            r#"{"detail":"no"}"#,
            r#"{"detail":[{"loc":["body"],"msg":"no"}]}"#,
            r#"{"object":"error","message":{"detail":[{"msg":"no"}]}}"#,
            r#"[{"error":{"message":"no"}}]"#,
            r#"{"error":{},"message":"no"}"#,
            r#"{"error":null,"message":"no"}"#,
            " no\n",
        ];

        for body in shapes {
            assert_eq!(
                fault(400, body),
                (Kind::Invalid, Some("no".into())),
                "{body}"
            );
        }
        for body in ["<html>no</html>", "", "{\"a", "\u{0}", "{}", "[]", "3"] {
            assert_eq!(fault(500, body), (Kind::Failed, None), "{body}");
        }
        assert_eq!(of_status(500, b"\xff\xfe").words, None);
    }

    #[test]
    fn too_long_prompts_are_known_by_code_and_by_text() {
        let bodies = [
            r#"{"error":{"message":"x","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}"#,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            r#"{"object":"error","message":"Prompt contains 40000 tokens, too large for model with 32768 maximum context length","type":"invalid_request_error"}"#,
            r#"{"error":{"message":"Please reduce the length of the messages or completion."}}"#,
        ];

        for body in bodies {
            assert_eq!(fault(400, body).0, Kind::ContextWindow, "{body}");
        }
        assert_eq!(fault(500, bodies[0]).0, Kind::Failed);
    }

    #[test]
    fn of_texts_that_are_too_long_only_those_of_the_prompt_exceed_the_context() {
        let kind = |param: &str| {
            let body = format!(
                r#"{{"error":{{"message":"Invalid '{param}': string too long.","type":"invalid_request_error","param":"{param}","code":"string_above_max_length"}}}}"#
            );
            fault(400, &body).0
        };
        let prompts = [
            "messages[1].content",
            "messages.[1].content",
            "input",
            "input[3]",
            "input[0].content[0].text",
            "instructions",
            "prompt",
        ];
        let others = [
            "messages[1].tool_calls[0].id",
            "messages[2].tool_call_id",
            "input[2].call_id",
            "metadata.text_id",
            "user",
        ];

        for place in prompts {
            assert_eq!(kind(place), Kind::ContextWindow, "{place}");
        }
        for place in others {
            assert_eq!(kind(place), Kind::Invalid, "{place}");
        }
    }

    #[test]
    fn policy_and_unknown_models_are_told_from_bad_requests() {
        let cases = [
            (
                400,
                r#"{"error":{"code":"content_filter","message":"x"}}"#,
                Kind::ContentPolicy,
            ),
            (
                400,
                r#"{"error":{"code":"x","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
                Kind::ContentPolicy,
            ),
            (
                403,
                r#"{"error":{"code":403,"message":"x","metadata":{"flagged_input":"y"}}}"#,
                Kind::ContentPolicy,
            ),
            (403, r#"{"error":{"message":"no"}}"#, Kind::Auth),
            (
                400,
                r#"{"type":"invalid_model","message":"x"}"#,
                Kind::UnknownModel,
            ),
            (
                429,
                r#"{"error":{"message":"context window"}}"#,
                Kind::RateLimited,
            ),
        ];

        for (status, body, kind) in cases {
            assert_eq!(fault(status, body).0, kind, "{body}");
        }
    }

    #[test]
    fn an_error_under_a_good_status_is_what_its_code_says() {
        let cases = [
            (
                r#"{"code":429,"message":"x"}"#,
                Kind::RateLimited,
                Some(429),
            ),
            (
                r#"{"code":"502","message":"x"}"#,
                Kind::Overloaded,
                Some(502),
            ),
            (r#"{"type":"rate_limit_error"}"#, Kind::RateLimited, None),
            (r#"{"type":"overloaded_error"}"#, Kind::Overloaded, None),
            (r#"{"type":"server_error"}"#, Kind::Failed, None),
            (
                r#"{"code":"invalid_api_key","type":"invalid_request_error"}"#,
                Kind::Auth,
                None,
            ),
            (r#"{"code":"model_not_found"}"#, Kind::UnknownModel, None),
            (r#"{"type":"invalid_request_error"}"#, Kind::Invalid, None),
            (
                r#"{"code":"context_length_exceeded","status":400}"#,
                Kind::ContextWindow,
                Some(400),
            ),
            (r#""what""#, Kind::Protocol, None),
        ];

        for (error, kind, status) in cases {
            let fault = of_error(&serde_json::from_str(error).unwrap());
            assert_eq!((fault.kind, fault.status), (kind, status), "{error}");
        }
    }

    #[test]
    fn what_hosts_say_of_how_json_was_demanded_is_known() {
        let about = [
            r#"{"error":"'response_format.type' must be 'json_schema' or 'text'"}"#,
            r#"{"error":{"message":"Thinking mode does not support this tool_choice"}}"#,
            r#"{"error":{"message":"Tool choice must be auto","code":400}}"#,
            r#"{"error":{"message":"Failed to generate JSON.","code":"json_validate_failed"}}"#,
            r#"{"error":{"message":"Failed to call a function.","code":"tool_use_failed"}}"#,
            r#"{"error":{"message":"Unsupported value","param":"response_format"}}"#,
            r#"{"object":"error","message":{"detail":[{"loc":["body","tools",0],"msg":"Extra inputs are not permitted"}]}}"#,
            r#"{"detail":[{"loc":["body","response_format"],"msg":"no"}]}"#,
            "failed to parse grammar",
        ];
        let not_about = [
            r#"{"error":{"message":"max_tokens must be positive","param":"max_tokens"}}"#,
            r#"{"error":{"message":"The image cannot be read"}}"#,
            r#"{"error":{"message":"this schema and the prompt exceed the context size"}}"#,
            "",
        ];

        for body in about {
            for status in [400, 422, 500] {
                let fault = of_status(status, body.as_bytes());
                assert_eq!(fault.of_demanding().kind, Kind::Demand, "{status} {body}");
            }
            for status in [401, 404, 413, 429, 503] {
                let fault = of_status(status, body.as_bytes());
                assert_ne!(fault.of_demanding().kind, Kind::Demand, "{status} {body}");
            }
        }
        for body in not_about {
            let fault = of_status(400, body.as_bytes());
            assert_ne!(fault.of_demanding().kind, Kind::Demand, "{body}");
        }
    }
}
