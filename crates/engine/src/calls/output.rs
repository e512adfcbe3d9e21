//! From what a model said to an output, or to the complaint that a repair starts from.

use domain::{Generation, Json, Message, Output, Role};

use crate::schema::{Mismatch, Schema};

/// What of a faulty answer is shown to the model again: an answer without measure must not make the next request so.
const MAX_FAULTY_BYTES: usize = 64 * 1024;

/// Why an answer is no output.
pub(super) struct Complaint {
    /// The faults, a line each.
    pub(super) faults: Vec<String>,
}

/// Reads an answer. With a schema it must be one JSON value that satisfies it; without one it is text as it came.
pub(super) fn read(generation: &Generation, schema: Option<&Schema>) -> Result<Output, Complaint> {
    let Some(schema) = schema else {
        return Ok(Output::Message(generation.text.clone()));
    };
    let text = without_fence(&generation.text);
    if text.is_empty() {
        return Err(Complaint {
            faults: vec!["the answer is empty".to_owned()],
        });
    }
    let value = Json::parse(text).map_err(|invalid| Complaint {
        faults: vec![format!("the answer is not JSON: {}", invalid.message)],
    })?;
    let mismatches = schema.mismatches(&value.to_value());
    if mismatches.is_empty() {
        return Ok(Output::Payload(value));
    }
    Err(Complaint {
        faults: mismatches.iter().map(Mismatch::line).collect(),
    })
}

impl Complaint {
    /// The two turns that ask for a repair: the faulty answer, and what is wrong with it.
    pub(super) fn turns(&self, faulty: &str) -> [Message; 2] {
        let faults: Vec<String> = self
            .faults
            .iter()
            .map(|fault| format!("- {fault}"))
            .collect();
        let faults = faults.join("\n");
        let request = format!(
            "This answer does not do:\n{faults}\nAnswer again with one JSON value only that satisfies the JSON Schema."
        );
        [
            Message::text(Role::Assistant, beginning(faulty, MAX_FAULTY_BYTES)),
            Message::text(Role::User, request),
        ]
    }
}

/// At most so many bytes of a text.
pub(super) fn beginning(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The text without white space around it and without one Markdown code fence.
fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let Some(inside) = text
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"))
    else {
        return text;
    };
    // The opening line may name a language.
    match inside.split_once('\n') {
        Some((language, inside)) if !language.trim().contains(char::is_whitespace) => inside.trim(),
        _ => inside.trim(),
    }
}

#[cfg(test)]
mod tests {
    use domain::FinishReason;
    use serde_json::json;

    use super::*;

    fn says(text: &str) -> Generation {
        Generation {
            text: text.to_owned(),
            refusal: None,
            finish_reason: FinishReason::Stop,
            usage: None,
        }
    }

    fn schema() -> Schema {
        let schema =
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        Schema::compile(&Json::from_value(&schema)).unwrap()
    }

    #[test]
    fn without_a_schema_text_stays_as_it_came() {
        for text in ["", "  hi \n", "{\"a\": 1}"] {
            assert_eq!(
                read(&says(text), None).ok(),
                Some(Output::Message(text.to_owned()))
            );
        }
    }

    #[test]
    fn white_space_and_one_fence_are_taken_off() {
        for text in [
            "{\"n\":1}",
            " \n{\"n\": 1}\n",
            "```json\n{\"n\":1}\n```",
            "```\n{\"n\":1}```",
            "```{\"n\":1}```",
        ] {
            let output = read(&says(text), Some(&schema()));

            assert_eq!(
                output.ok(),
                Some(Output::Payload(Json::parse("{\"n\":1}").unwrap())),
                "{text}"
            );
        }
    }

    #[test]
    fn what_misses_the_schema_is_a_complaint() {
        for text in [
            "",
            "{}",
            "{\"n\":\"1\"}",
            "{\"n\":1",
            "n is 1",
            "{\"n\":1,\"n\":2}",
            "null",
            "{\"n\":1} {}",
        ] {
            let Err(complaint) = read(&says(text), Some(&schema())) else {
                panic!("{text}")
            };

            assert!(!complaint.faults.is_empty());
        }
    }

    #[test]
    fn numbers_keep_their_text() {
        let exact = Schema::compile(&Json::parse("{}").unwrap()).unwrap();

        let output = read(&says("[0.10, 12345678901234567890123]"), Some(&exact)).ok();

        assert_eq!(
            output,
            Some(Output::Payload(
                Json::parse("[0.10,12345678901234567890123]").unwrap()
            ))
        );
    }
}
