//! Signatures, keys, efforts, and streams that are cut.

use std::collections::VecDeque;

use domain::{
    Delta, Demand, FinishReason, Json, Message, Role, Secret, Timestamp, Usage,
    seams::{FixedClock, ProviderErrorKind as Kind},
};
use proptest::prelude::*;

use super::*;
use crate::{
    adapter::Decoder,
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

/// What becomes of an option, in `additionalModelRequestFields`, and how it is warned of.
fn worded(model: &str, options: &str, request: &ChatRequest) -> (String, Vec<String>) {
    let target = Target {
        options: serde_json::from_str(options).unwrap(),
        ..with("k", "http://localhost", model)
    };
    let additional = options::additional(&target, request);
    let additional = serde_json::to_string(&additional).unwrap();
    (additional, bedrock().warnings(&target, request))
}

#[test]
fn reasoning_effort_is_in_each_familys_words() {
    let haiku = "global.anthropic.claude-haiku-4-5-20251001-v1:0";
    let cases = [
        (
            "anthropic.claude-opus-4-6-v1",
            r#"{"reasoning_effort":"minimal"}"#,
            r#"{"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}}"#,
        ),
        (
            "us.anthropic.claude-opus-5",
            r#"{"reasoning_effort":"max"}"#,
            r#"{"thinking":{"type":"adaptive"},"output_config":{"effort":"max"}}"#,
        ),
        (
            "us.anthropic.claude-opus-5",
            r#"{"reasoning_effort":"none"}"#,
            "{}",
        ),
        (
            haiku,
            r#"{"reasoning_effort":"medium"}"#,
            r#"{"thinking":{"type":"enabled","budget_tokens":4096}}"#,
        ),
        (
            haiku,
            r#"{"reasoning_effort":"high","max_tokens":3000}"#,
            r#"{"thinking":{"type":"enabled","budget_tokens":2999}}"#,
        ),
        (
            haiku,
            r#"{"reasoning_effort":"xhigh","inferenceConfig":{"maxTokens":40000}}"#,
            r#"{"thinking":{"type":"enabled","budget_tokens":32768}}"#,
        ),
        (
            haiku,
            r#"{"reasoning_effort":"high","additionalModelRequestFields":{"thinking":{"type":"disabled"}}}"#,
            r#"{"thinking":{"type":"disabled"}}"#,
        ),
        (
            "us.amazon.nova-2-lite-v1:0",
            r#"{"reasoning_effort":"high"}"#,
            r#"{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"high"}}"#,
        ),
        (
            "us.amazon.nova-2-lite-v1:0",
            r#"{"reasoning_effort":"none"}"#,
            r#"{"reasoningConfig":{"type":"disabled"}}"#,
        ),
        (
            "openai.gpt-oss-120b-1:0",
            r#"{"reasoning_effort":"low"}"#,
            r#"{"reasoning_effort":"low"}"#,
        ),
        (
            "meta.llama3-3-70b-instruct-v1:0",
            r#"{"reasoning_effort":null}"#,
            "{}",
        ),
    ];

    for (model, options, additional) in cases {
        let told = worded(model, options, &request());
        assert_eq!(
            told,
            (additional.to_owned(), Vec::new()),
            "{model} {options}"
        );
    }
}

#[test]
fn an_effort_that_a_model_does_not_take_is_left_out_with_a_word() {
    let effort = r#"{"reasoning_effort":"low"}"#;
    let haiku = "anthropic.claude-haiku-4-5-20251001-v1:0";
    let mut after_a_tool = request();
    after_a_tool.messages.push(Message::text(Role::Tool, "21"));
    let cases = [
        (
            "anthropic.claude-3-5-haiku-20241022-v1:0",
            effort,
            request(),
            "does not reason",
        ),
        (
            "amazon.nova-pro-v1:0",
            effort,
            request(),
            "is not known to take one",
        ),
        (
            haiku,
            r#"{"reasoning_effort":3}"#,
            request(),
            "takes a level in words",
        ),
        (
            haiku,
            r#"{"reasoning_effort":"low","max_tokens":1024}"#,
            request(),
            "more than 1024",
        ),
        (haiku, effort, after_a_tool, "without its thoughts so far"),
    ];

    for (model, options, request, why) in cases {
        let (additional, warnings) = worded(model, options, &request);
        assert_eq!(additional, "{}", "{model}");
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains(why), "{}", warnings[0]);
    }
}

/// What comes of a body that ends there: its text, and whether its end was an orderly one.
fn read(body: &[u8]) -> (String, Option<(FinishReason, Option<Usage>)>) {
    let mut decoder = bedrock().decoder(demand::Reading::default());
    let mut events = VecDeque::new();
    Framing::frames().push(body, &mut events).unwrap();
    let mut text = String::new();
    let mut end = None;
    let mut take = |deltas: Result<Vec<Delta>, Fault>| {
        for delta in deltas.unwrap_or_default() {
            match delta {
                Delta::Text(piece) => text += &piece,
                Delta::End {
                    finish_reason,
                    usage,
                } => end = Some((finish_reason, usage.map(|report| report.usage))),
                _ => {}
            }
        }
        end.is_some()
    };
    let is_over = events.iter().any(|event| take(decoder.push(event)));
    if !is_over {
        take(decoder.finish());
    }
    (text, end)
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

    for cut in 0..=body.len() {
        let (text, end) = read(&body[..cut]);
        assert_eq!(end.is_some(), cut >= stopped, "{cut}");
        assert!("Hello\u{e5} you".starts_with(&text), "{cut}: {text}");
    }
    let usage = Usage {
        input_tokens: 9,
        output_tokens: 2,
        ..Usage::default()
    };
    let whole = (
        "Hello\u{e5} you".to_owned(),
        Some((FinishReason::Stop, Some(usage))),
    );
    assert_eq!(read(&body), whole);
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
