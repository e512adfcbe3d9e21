use domain::{FinishReason, Usage};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::wire::tests::events;

/// What comes of a body that ends there: its text, and whether its end was an orderly one.
fn read(body: &[u8]) -> (String, Option<(FinishReason, Option<Usage>)>) {
    adapter::tests::read(ResponseDecoder::new(Reading::default()), &events(body))
}

fn event(name: &str, members: Value) -> String {
    let mut data = members;
    data["type"] = json!(name);
    format!("event: {name}\ndata: {data}\n\n")
}

fn recorded() -> Vec<String> {
    let piece = |text: &str| {
        let members = json!({"output_index": 1, "content_index": 0, "delta": text, "logprobs": []});
        event("response.output_text.delta", members)
    };
    let usage = json!({"input_tokens": 9, "output_tokens": 2, "total_tokens": 11});
    let response = json!({"status": "completed", "error": null, "output": [], "usage": usage});
    vec![
        event(
            "response.created",
            json!({"response": {"status": "in_progress", "error": null}}),
        ),
        event("response.nobody_knows", json!({"x": 1})),
        event(
            "response.output_item.added",
            json!({"output_index": 1, "item": {"type": "message"}}),
        ),
        piece("Hel"),
        piece("lo\u{e5}"),
        ": a comment\n\n".to_owned(),
        piece(" you"),
        event(
            "response.output_text.done",
            json!({"output_index": 1, "text": "Hello\u{e5} you"}),
        ),
        event("response.completed", json!({"response": response})),
        "data: [DONE]\n\n".to_owned(),
    ]
}

#[test]
fn a_stream_cut_after_any_byte_ends_in_order_only_with_its_last_event() {
    let body = recorded().concat();
    let finished = body.find("data: [DONE]").unwrap();
    let usage = Usage {
        input_tokens: 9,
        output_tokens: 2,
        ..Usage::default()
    };
    let whole = ("Hello\u{e5} you", usage);
    adapter::tests::assert_ends_after(finished, body.as_bytes(), whole, read);
}

#[test]
fn a_stream_cut_at_any_event_is_no_whole_one_whatever_the_host_declares() {
    let events = recorded();

    for count in 0..events.len() - 1 {
        let body = events[..count].concat() + "data: [DONE]\n\n";
        let (_, end) = read(body.as_bytes());
        assert_eq!(end, None, "{count}");
    }
}

#[test]
fn calls_that_come_whole_are_told_as_those_that_come_in_pieces() {
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": ""});
    let mut whole = call.clone();
    whole["arguments"] = json!("{\"a\":1}");
    let added = event(
        "response.output_item.added",
        json!({"output_index": 2, "item": call}),
    );
    let pieces: Vec<String> = ["{\"a\"", ":1}"]
        .map(|piece| {
            let members = json!({"output_index": 2, "item_id": "fc_1", "delta": piece});
            event("response.function_call_arguments.delta", members)
        })
        .into();
    let done = event(
        "response.output_item.done",
        json!({"output_index": 2, "item": whole}),
    );
    let bodies = [
        format!("{added}{}{done}", pieces.concat()),
        format!("{added}{done}"),
        done.clone(),
        format!("{}{done}", pieces.concat()),
    ];

    for body in bodies {
        let mut decoder = ResponseDecoder::new(Reading {
            has_tools: true,
            ..Reading::default()
        });
        let mut begins = Vec::new();
        let mut arguments = String::new();
        for event in events(body.as_bytes()) {
            for delta in decoder.push(&event).unwrap() {
                let Delta::ToolCall(call) = delta else {
                    panic!("{delta:?}");
                };
                begins.extend(call.begins.map(|(id, name)| (call.index, id, name)));
                arguments += &call.arguments;
            }
        }
        assert_eq!(begins, [(0, "call_1".to_owned(), "f".to_owned())], "{body}");
        assert_eq!(arguments, "{\"a\":1}", "{body}");
    }
}

proptest! {
    #[test]
    fn whatever_comes_is_no_panic(
        name in "(response\\.(output_text\\.delta|output_item\\.(added|done)|failed)|error)?",
        data in "\\PC{0,40}|(\\{|\\}|\\[|\\]|\"type\"|\"item\"|\"delta\"|\"response\"|:|,|null|0){0,30}",
    ) {
        let mut decoder = ResponseDecoder::new(Reading::default());

        let pushed = decoder.push(&Event { name, data });

        let has_ended = |deltas: Vec<Delta>| deltas.iter().any(|it| matches!(it, Delta::End { .. }));
        prop_assert!(!pushed.is_ok_and(has_ended));
    }
}
