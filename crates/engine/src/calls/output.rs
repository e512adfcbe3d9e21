//! From what a model said to an output, or to the complaint that a repair starts from.

use domain::{Json, Message, Role};

use crate::schema::Mismatch;

/// What of a faulty answer is shown to the model again: an answer without measure must not make the next request so.
const MAX_FAULTY_BYTES: usize = 64 * 1024;

/// Why an answer is no output.
pub(super) struct Complaint {
    /// The faults, a line each.
    pub(super) faults: Vec<String>,
}

/// The one JSON value that an answer to a structured call must be.
pub(super) fn value(answer: &str) -> Result<Json, Complaint> {
    let text = without_fence(answer);
    if text.is_empty() {
        return Err(Complaint {
            faults: vec!["the answer is empty".to_owned()],
        });
    }
    Json::parse(text).map_err(|invalid| Complaint {
        faults: vec![format!("the answer is not JSON: {}", invalid.message)],
    })
}

impl Complaint {
    /// That a value misses its schema.
    pub(super) fn about(mismatches: &[Mismatch]) -> Self {
        Self {
            faults: mismatches.iter().map(Mismatch::line).collect(),
        }
    }

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
    use super::*;

    #[test]
    fn white_space_and_one_fence_are_taken_off() {
        for text in [
            "{\"n\":1}",
            " \n{\"n\": 1}\n",
            "```json\n{\"n\":1}\n```",
            "```\n{\"n\":1}```",
            "```{\"n\":1}```",
        ] {
            assert_eq!(value(text).ok(), Json::parse("{\"n\":1}").ok(), "{text}");
        }
    }

    #[test]
    fn what_is_no_json_value_is_a_complaint() {
        for text in [
            "",
            " ",
            "```\n```",
            "{\"n\":1",
            "n is 1",
            "{\"n\":1,\"n\":2}",
            "{\"n\":1} {}",
            "1e999",
        ] {
            let Err(complaint) = value(text) else {
                panic!("{text}")
            };

            assert_eq!(complaint.faults.len(), 1);
        }
    }

    #[test]
    fn numbers_keep_their_text() {
        let exact = "[0.10,12345678901234567890123]";

        assert_eq!(value(exact).ok(), Json::parse(exact).ok());
    }

    #[test]
    fn a_faulty_answer_without_measure_is_shown_in_part() {
        let complaint = Complaint {
            faults: vec!["no".to_owned()],
        };

        let [shown, _] = complaint.turns(&"å".repeat(MAX_FAULTY_BYTES));

        assert_eq!(
            shown,
            Message::text(Role::Assistant, "å".repeat(MAX_FAULTY_BYTES / 2))
        );
    }
}
