//! What hosts say beside an answer: where its text is from, its thoughts to be given back, machine and tier.
//!
//! By OpenAI's own reference, <https://docs.perplexity.ai/api-reference/chat-completions-post> and
//! <https://openrouter.ai/docs/use-cases/reasoning-tokens>.

use domain::{Json, Remarks};
use serde_json::Value;

/// What stands in an answer, or in a piece of one, and in its message.
pub(super) fn of(answer: &Value, message: &Value) -> Remarks {
    let told = |value: &Value| (!is_nothing(value)).then(|| Json::of(value));
    Remarks {
        annotations: told(&message["annotations"]),
        reasoning_details: told(&message["reasoning_details"]),
        citations: told(&answer["citations"]),
        search_results: told(&answer["search_results"]),
        system_fingerprint: told(&answer["system_fingerprint"]),
        service_tier: told(&answer["service_tier"]),
    }
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// What the pieces of a stream say together.
#[derive(Default)]
pub(super) struct Gathered {
    /// What the last piece said that said anything.
    of_answer: Value,
    annotations: Vec<Value>,
    reasoning_details: Vec<Value>,
}

impl Gathered {
    pub(super) fn take(&mut self, chunk: &Value, message: &Value) {
        for name in [
            "citations",
            "search_results",
            "system_fingerprint",
            "service_tier",
        ] {
            if !is_nothing(&chunk[name]) {
                self.of_answer[name] = chunk[name].clone();
            }
        }
        let list = |name: &str| message[name].as_array().into_iter().flatten().cloned();
        self.annotations.extend(list("annotations"));
        for detail in list("reasoning_details") {
            match self.reasoning_details.last_mut() {
                Some(begun) if goes_on(begun, &detail) => go_on(begun, detail),
                _ => self.reasoning_details.push(detail),
            }
        }
    }

    /// All of it, if there is any.
    pub(super) fn told(&mut self) -> Option<Remarks> {
        let mut message = Value::default();
        message["annotations"] = std::mem::take(&mut self.annotations).into();
        message["reasoning_details"] = std::mem::take(&mut self.reasoning_details).into();
        let remarks = of(&std::mem::take(&mut self.of_answer), &message);
        (remarks != Remarks::default()).then_some(remarks)
    }
}

/// Whether a thought is the next piece of the one that was begun; what is encrypted comes whole.
fn goes_on(begun: &Value, next: &Value) -> bool {
    let same = |name: &str| begun[name] == next[name];
    !next["index"].is_null() && same("index") && same("type") && next.get("data").is_none()
}

fn go_on(begun: &mut Value, next: Value) {
    let Value::Object(members) = next else { return };
    for (name, value) in members {
        match (&mut begun[&name], value) {
            (_, Value::Null) => {}
            (Value::String(text), Value::String(more))
                if ["text", "summary"].contains(&name.as_str()) =>
            {
                *text += &more;
            }
            (said, value) => *said = value,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn thoughts_in_pieces_are_joined_and_the_last_word_on_an_answer_holds() {
        let mut gathered = Gathered::default();
        let thought = |index: u64, text: &str| json!({"type": "reasoning.text", "index": index, "text": text});
        let sealed = json!({"type": "reasoning.encrypted", "index": 1, "data": "AA"});
        for (chunk, message) in [
            (
                json!({"service_tier": "auto"}),
                json!({"reasoning_details": [thought(0, "Hm")]}),
            ),
            (
                json!({"service_tier": null}),
                json!({"reasoning_details": [thought(0, "m.")]}),
            ),
            (
                json!({"service_tier": "default"}),
                json!({"reasoning_details": [
                    {"type": "reasoning.text", "index": 0, "text": null, "signature": "s"}, sealed, sealed, thought(2, "So"),
                ]}),
            ),
            (
                json!({"citations": []}),
                json!({"annotations": [{"type": "url_citation"}]}),
            ),
        ] {
            gathered.take(&chunk, &message);
        }

        let expected = json!({
            "annotations": [{"type": "url_citation"}],
            "reasoning_details": [
                {"type": "reasoning.text", "index": 0, "text": "Hmm.", "signature": "s"}, sealed, sealed, thought(2, "So"),
            ],
            "service_tier": "default",
        });
        assert_eq!(Json::of(&gathered.told().unwrap()).to_value(), expected);
        assert_eq!(gathered.told(), None);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_no_panic(chunk in any_json(), message in any_json(), detail in any_json()) {
            let mut gathered = Gathered::default();

            gathered.take(&chunk, &message);
            gathered.take(&chunk, &json!({"reasoning_details": [detail, {"index": 0}, detail]}));

            let _ = (gathered.told(), of(&chunk, &message));
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(Value::Null), Just(json!(0)), Just(json!("x"))];
        let name = "index|type|text|data|citations|annotations|reasoning_details";
        leaf.prop_recursive(3, 12, 3, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::hash_map(name, inner, 0..3).prop_map(|members| json!(members)),
            ]
        })
    }
}
