//! Signatures, keys, and streams that are cut.

mod efforts;

use std::collections::VecDeque;

use domain::{
    Delta, Demand, FinishReason, Json, Message, Role, Secret, Timestamp, Usage,
    seams::{FixedClock, ProviderErrorKind as Kind},
};
use proptest::prelude::*;

use super::*;
use crate::{
    adapter::{self, Decoder},
    wire::{Event, frame_tests::frame, tests::target},
};

const KEY: &str = r#"{"access_key_id":"AKIDEXAMPLE","secret_access_key":"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}"#;
const TEMPORARY: &str = r#"{"AccessKeyId":"AKIDEXAMPLE","SecretAccessKey":"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY","SessionToken":"IQoJb3JpZ2luX2VjEXAMPLETOKEN=="}"#;

fn bedrock() -> Bedrock {
    // 2026-11-22T12:00:00Z
    let now = Timestamp::from_micros(1_795_348_800_000_000);
    Bedrock::new(Arc::new(FixedClock::at(now)))
}

fn with(key: &str, api_base: &str, model: &str) -> Target {
    Target {
        key: Some(Secret::new(key)),
        model: model.to_owned(),
        ..target(api_base)
    }
}

fn request() -> ChatRequest {
    ChatRequest {
        messages: vec![Message::text(Role::User, "Hi")],
        ..ChatRequest::default()
    }
}

/// Made with botocore 1.44.5 for the same address, body and time.
#[test]
fn signatures_are_those_of_awss_own_library() {
    let in_ireland =
        "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.amazon.nova-2-lite-v1:0";
    let mut on_a_port = with(KEY, "http://127.0.0.1:8080/base", "amazon.nova-micro-v1:0");
    on_a_port.settings = [("region".to_owned(), "us-west-2".to_owned())].into();
    let cases = [
        (
            with(
                KEY,
                "https://bedrock-runtime.us-east-1.amazonaws.com",
                "anthropic.claude-3-5-haiku-20241022-v1:0",
            ),
            Manner::Whole,
            "/model/anthropic.claude-3-5-haiku-20241022-v1:0/converse",
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261122/us-east-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=4c6a23d99e87c32db89af9ddd0619df0643b27e08e617212aff1bd1c43ee775a",
        ),
        (
            with(
                TEMPORARY,
                "https://bedrock-runtime.eu-west-1.amazonaws.com/",
                in_ireland,
            ),
            Manner::Streamed,
            "/model/arn:aws:bedrock:eu-west-1:123456789012:inference-profile%2Feu.amazon.nova-2-lite-v1:0/converse-stream",
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261122/eu-west-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=acccd9f046b909f7bea517ee9f3a23be19922c47ac1a4638ef9e26bbf23d0964",
        ),
        (
            on_a_port,
            Manner::Whole,
            "/base/model/amazon.nova-micro-v1:0/converse",
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261122/us-west-2/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=2fd42161f6591b9f6c52d122492f460f9b435d7d921dc062c4894d358731d0fd",
        ),
    ];

    for (target, manner, path, authorization) in cases {
        let (wire, _) = bedrock().chat(&target, &request(), manner).unwrap();

        let api_base = target.api_base.as_deref().unwrap().parse().unwrap();
        assert_eq!(wire.address(api_base).path(), path);
        assert_eq!(wire.headers["authorization"], authorization);
        assert!(wire.headers["authorization"].is_sensitive());
        assert_eq!(wire.headers["x-amz-date"], "20261122T120000Z");
        let token = wire.headers.get("x-amz-security-token");
        assert_eq!(token.is_some(), authorization.contains("security-token"));
    }
}

#[test]
fn requests_are_signed_for_the_region_of_their_address() {
    let cases = [
        (
            "https://bedrock-runtime.eu-central-1.amazonaws.com",
            "eu-central-1",
        ),
        (
            "https://vpce-1-a.bedrock-runtime.us-gov-west-1.vpce.amazonaws.com",
            "us-gov-west-1",
        ),
        ("https://bedrock-runtime.my-proxy-1.example", "us-east-1"),
        ("https://proxy.internal", "us-east-1"),
    ];

    for (api_base, region) in cases {
        let mut target = with(KEY, api_base, "amazon.nova-micro-v1:0");
        target.settings = [("region".to_owned(), "us-east-1".to_owned())].into();
        let (wire, _) = bedrock().chat(&target, &request(), Manner::Whole).unwrap();
        let signed = wire.headers["authorization"].to_str().unwrap();
        let scope = format!("/{region}/bedrock/aws4_request");
        assert!(signed.contains(&scope), "{api_base}: {signed}");
    }
}

#[test]
fn a_target_without_a_usable_key_or_region_is_told_what_to_set() {
    let east = "https://bedrock-runtime.us-east-1.amazonaws.com";
    let vpc = "https://vpce-1-a.bedrock-runtime.eu-north-1.vpce.amazonaws.com";
    let no_key = target(east);
    let cases = [
        (no_key, "needs a key: a Bedrock API key, or the JSON"),
        (with(" ", east, "m"), "needs a key"),
        (
            with(r#"{"access_key_id":"A"}"#, east, "m"),
            "is not the JSON text",
        ),
        (with("{", east, "m"), "is not the JSON text"),
        (with(KEY, "https://proxy.internal", "m"), "set `region`"),
        (
            with("k", "https://bedrock-runtime.{region}.amazonaws.com", "m"),
            "set `region`",
        ),
    ];

    for (target, told) in cases {
        let error = bedrock().check(&target).unwrap_err();
        assert_eq!(error.kind, Kind::Misconfigured);
        assert!(error.reason.contains(told), "{}", error.reason);
        assert!(!error.reason.contains("wJalr"));
    }
    for target in [
        with("bedrock-api-key-x", "https://proxy.internal", "m"),
        with(KEY, east, "m"),
        with(KEY, vpc, "m"),
        with(
            TEMPORARY,
            "https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com",
            "m",
        ),
    ] {
        assert!(bedrock().check(&target).is_ok());
    }
}

/// What comes of a body that ends there: its text, and whether its end was an orderly one.
fn read(body: &[u8]) -> (String, Option<(FinishReason, Option<Usage>)>) {
    let mut events = VecDeque::new();
    Framing::frames().push(body, &mut events).unwrap();
    let decoder = bedrock().decoder(demand::Reading::default());
    adapter::tests::read(decoder, &Vec::from(events))
}

fn recorded() -> Vec<Vec<u8>> {
    let piece = |text: &str| {
        let event =
            serde_json::json!({"contentBlockIndex": 0, "delta": {"text": text}, "p": "abcdefgh"});
        frame("contentBlockDelta", &event.to_string())
    };
    vec![
        frame("messageStart", r#"{"p":"abcd","role":"assistant"}"#),
        piece("Hel"),
        piece("lo\u{e5}"),
        piece(" you"),
        frame("contentBlockStop", r#"{"contentBlockIndex":0,"p":"ab"}"#),
        frame("messageStop", r#"{"p":"abc","stopReason":"end_turn"}"#),
        frame(
            "metadata",
            r#"{"metrics":{"latencyMs":245},"p":"a","usage":{"inputTokens":9,"outputTokens":2,"totalTokens":11}}"#,
        ),
    ]
}

#[test]
fn a_stream_cut_after_any_byte_ends_in_order_only_with_its_stop() {
    let frames = recorded();
    let body = frames.concat();
    let stopped = frames[..6].concat().len();
    let usage = Usage {
        input_tokens: 9,
        output_tokens: 2,
        ..Usage::default()
    };
    let whole = ("Hello\u{e5} you", usage);
    adapter::tests::assert_ends_after(stopped, &body, whole, read);
}

#[test]
fn a_stream_that_lacks_any_one_event_ends_in_order_only_with_its_stop() {
    let frames = recorded();

    for lacking in 0..frames.len() {
        let mut given = frames.clone();
        given.remove(lacking);
        let (_, end) = read(&given.concat());
        assert_eq!(end.is_some(), lacking != 5, "{lacking}");
    }
}

#[test]
fn a_value_comes_out_of_its_tool_whatever_is_said_beside() {
    let target = with("k", "http://localhost", "amazon.nova-lite-v1:0");
    let request = ChatRequest {
        demand: Some(Demand {
            name: "answer".to_owned(),
            schema: Json::parse(r#"{"type":"array"}"#).unwrap(),
            rung: Rung::ForcedTool,
            as_given: None,
        }),
        ..request()
    };
    let call = |index: u32, id: &str, pieces: &[&str]| {
        let start = serde_json::json!({"contentBlockIndex": index, "start": {"toolUse": {"toolUseId": id, "name": "answer"}}});
        let mut events = vec![("contentBlockStart", start)];
        events.extend(pieces.iter().map(|piece| {
            let piece = serde_json::json!({"contentBlockIndex": index, "delta": {"toolUse": {"input": piece}}});
            ("contentBlockDelta", piece)
        }));
        events.push((
            "contentBlockStop",
            serde_json::json!({"contentBlockIndex": index}),
        ));
        events
    };
    let said = |text: &str| {
        let piece = serde_json::json!({"contentBlockIndex": 0, "delta": {"text": text}});
        vec![("contentBlockDelta", piece)]
    };
    let stop = vec![("messageStop", serde_json::json!({"stopReason": "tool_use"}))];
    let value = call(1, "a", &[r#"{"val"#, r#"ue":[1"#, "]}"]);
    let cases = [
        (vec![said("I call."), value.clone()], "[1]"),
        (
            vec![value.clone(), call(2, "b", &[r#"{"value":[1]}"#])],
            "[1]",
        ),
        (vec![value, call(2, "b", &[r#"{"value":[2]}"#])], "[1]\n[2]"),
        (vec![said("[1]")], "[1]"),
    ];

    for (pieces, text) in cases {
        let (_, reading) = bedrock().chat(&target, &request, Manner::Streamed).unwrap();
        let mut decoder = bedrock().decoder(reading);
        let mut told = String::new();
        for (name, data) in [pieces.concat(), stop.clone()].concat() {
            let (name, data) = (name.to_owned(), data.to_string());
            for delta in decoder.push(&Event { name, data }).unwrap() {
                let Delta::Text(piece) = delta else {
                    panic!("{delta:?}");
                };
                told += &piece;
            }
        }
        let deltas = decoder.finish().unwrap();
        let [rest @ .., Delta::End { finish_reason, .. }] = deltas.as_slice() else {
            panic!("{deltas:?}");
        };
        for delta in rest {
            let Delta::Text(piece) = delta else {
                panic!("{delta:?}");
            };
            told += piece;
        }
        assert_eq!((told.as_str(), *finish_reason), (text, FinishReason::Stop));
    }
}

proptest! {
    #[test]
    fn whatever_comes_is_no_panic(
        name in "contentBlockStart|contentBlockDelta|contentBlockStop|metadata|exception:[a-zA-Z]{0,9}|[a-z]{0,4}",
        data in "\\PC{0,40}|(\\{|\\}|\\[|\\]|\"delta\"|\"start\"|\"toolUse\"|\"text\"|:|,|null|0){0,30}",
    ) {
        let mut decoder = bedrock().decoder(demand::Reading::default());

        let pushed = decoder.push(&Event { name, data });

        let has_ended = |deltas: Vec<Delta>| deltas.iter().any(|it| matches!(it, Delta::End { .. }));
        prop_assert!(!pushed.is_ok_and(has_ended));
    }
}
