use domain::{EntryChange, Json, SpanChange, Timestamp};
use engine::{MetricChange, NewSpan};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use super::{RequestBody, body::parse};
use crate::routes::{
    datasets::{AddEntry, ChangeEntry},
    feedback::GiveFeedback,
    inline::CallByName,
    metrics::{AddMetric, ChangeMetric},
    spans::{ChangeSpan, CreateSpan},
};

fn read<T: RequestBody>(body: &Value) -> T {
    parse(body.to_string().as_bytes()).unwrap_or_else(|problem| panic!("{body}: {problem:?}"))
}

/// The place and slug of the fault in `body`.
async fn refused<T: RequestBody>(body: &str) -> (Value, Value) {
    let Err(problem) = parse::<T>(body.as_bytes()) else {
        panic!("{body} was taken");
    };
    let answer = problem.answer("an-id");
    assert_eq!(answer.status(), 422);
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    let mut body: Value = serde_json::from_slice(&bytes).unwrap();
    let mut fault = body["detail"][0].take();
    (fault["loc"].take(), fault["type"].take())
}

#[tokio::test]
async fn a_score_is_whole() {
    for (given, expected) in [("3", 3), ("3.0", 3), ("-7", -7), ("1e2", 100)] {
        let body: CreateSpan = parse(format!(r#"{{"name":"a","score":{given}}}"#).as_bytes())
            .unwrap_or_else(|problem| panic!("{given}: {problem:?}"));
        assert_eq!(NewSpan::from(body).score, Some(expected), "{given}");
    }
    for given in [
        "3.5",
        r#""3""#,
        "true",
        "[3]",
        "1e300",
        "18446744073709551615",
    ] {
        let body = format!(r#"{{"name":"a","score":{given}}}"#);
        let fault = (json!(["body", "score"]), json!("int_type"));
        assert_eq!(refused::<CreateSpan>(&body).await, fault, "{given}");
        assert_eq!(refused::<ChangeSpan>(&body).await, fault, "{given}");
    }
}

#[test]
fn null_and_absent_are_one_in_a_new_span() {
    let body = json!({
        "name": "a", "id": null, "start_time": null, "end_time": null, "trace_id": null, "parent_id": null,
        "type": null, "input": null, "output": null, "error": null, "meta": null, "score": null, "more": 1
    });

    let (full, bare) = (read::<CreateSpan>(&body), read(&json!({"name": "a"})));

    let (full, bare): (NewSpan, NewSpan) = (full.into(), CreateSpan::into(bare));
    assert_eq!(format!("{full:?}"), format!("{bare:?}"));
    assert!(full.input.is_none() && full.meta.is_empty());
}

#[test]
fn in_a_change_of_a_span_null_clears_where_it_can() {
    let nulls = json!({
        "name": null, "start_time": null, "end_time": null, "type": null, "input": null, "output": null,
        "error": null, "meta": null, "score": null
    });

    let cleared: SpanChange = read::<ChangeSpan>(&nulls).into();
    let untouched: SpanChange = read::<ChangeSpan>(&json!({})).into();

    let expected = SpanChange {
        name: None,
        kind: Some(None),
        start_time: Some(None),
        end_time: Some(None),
        input: Some(None),
        output: Some(None),
        error: Some(None),
        meta: None,
        score: Some(None),
    };
    assert_eq!(cleared, expected);
    assert_eq!(untouched, SpanChange::default());
}

#[tokio::test]
async fn a_span_s_times_ids_and_meta_are_held_to_their_forms() {
    let body = json!({"name": "a", "start_time": "2025-01-31T12:00:00", "end_time": "2025-01-31T13:00:00+01:00"});
    let span: NewSpan = read::<CreateSpan>(&body).into();
    let noon = Timestamp::parse("2025-01-31T12:00:00Z").unwrap();
    assert_eq!((span.start_time, span.end_time), (Some(noon), Some(noon)));

    for (member, value, slug) in [
        ("start_time", "\"noon\"", "datetime_parsing"),
        ("start_time", "5", "string_type"),
        ("id", "\"5\"", "uuid_parsing"),
        ("parent_id", "\"5\"", "uuid_parsing"),
        ("trace_id", "5", "string_type"),
        ("meta", "[]", "object_type"),
        ("type", "5", "string_type"),
        ("error", "{}", "string_type"),
    ] {
        let body = format!(r#"{{"name":"a","{member}":{value}}}"#);
        let fault = (json!(["body", member]), json!(slug));
        assert_eq!(refused::<CreateSpan>(&body).await, fault, "{body}");
    }
    let missing = (json!(["body", "name"]), json!("missing"));
    assert_eq!(refused::<CreateSpan>("{}").await, missing);
}

#[tokio::test]
async fn a_feedback_s_score_is_from_zero_to_one() {
    for given in ["0", "1", "0.5", "-0.0"] {
        let body = format!(r#"{{"score":{given},"comment":null,"save_to_dataset":null}}"#);
        assert!(parse::<GiveFeedback>(body.as_bytes()).is_ok(), "{given}");
    }
    for (given, slug) in [
        ("-0.1", "greater_than_equal"),
        ("1.1", "less_than_equal"),
        ("\"1\"", "float_type"),
        ("true", "float_type"),
        ("null", "float_type"),
    ] {
        let body = format!(r#"{{"score":{given}}}"#);
        let fault = (json!(["body", "score"]), json!(slug));
        assert_eq!(refused::<GiveFeedback>(&body).await, fault, "{given}");
    }
    let missing = (json!(["body", "score"]), json!("missing"));
    assert_eq!(refused::<GiveFeedback>("{}").await, missing);
    let unsure = (json!(["body", "save_to_dataset"]), json!("bool_type"));
    let body = r#"{"score":1,"save_to_dataset":"yes"}"#;
    assert_eq!(refused::<GiveFeedback>(body).await, unsure);
}

#[tokio::test]
async fn a_metric_has_a_dimension_and_a_number() {
    let kept: MetricChange =
        read::<ChangeMetric>(&json!({"dimension": null, "value": null, "comment": null})).into();
    assert_eq!((kept.dimension, kept.value), (None, None));
    assert_eq!(kept.comment, Some(None));

    let fault = (json!(["body", "value"]), json!("float_type"));
    let body = r#"{"dimension":"a","value":"1"}"#;
    assert_eq!(refused::<AddMetric>(body).await, fault);
    let missing = (json!(["body", "dimension"]), json!("missing"));
    assert_eq!(refused::<AddMetric>(r#"{"value":1}"#).await, missing);
}

#[tokio::test]
async fn an_entry_has_an_input_and_an_output_of_any_kind() {
    assert!(parse::<AddEntry>(br#"{"input":null,"output":[1]}"#).is_ok());
    for member in ["input", "output"] {
        let other = if member == "input" { "output" } else { "input" };
        let missing = (json!(["body", member]), json!("missing"));
        assert_eq!(
            refused::<AddEntry>(&format!(r#"{{"{other}":1}}"#)).await,
            missing
        );
    }

    let nulls = json!({"input": null, "output": null, "expected": null, "comment": null});
    let cleared: EntryChange = read::<ChangeEntry>(&nulls).into();

    let expected = EntryChange {
        expected: Some(None),
        comment: Some(None),
        ..EntryChange::default()
    };
    assert_eq!(cleared, expected);
}

#[tokio::test]
async fn a_call_by_name_is_held_to_the_rules_of_a_function_and_of_a_call() {
    for (body, loc, slug) in [
        ("{}", json!(["body", "name"]), "missing"),
        (
            r#"{"name":"a b"}"#,
            json!(["body", "name"]),
            "string_pattern_mismatch",
        ),
        (
            r#"{"name":"a","model":[]}"#,
            json!(["body", "model"]),
            "too_short",
        ),
        (
            r#"{"name":"a","configuration":[]}"#,
            json!(["body", "configuration"]),
            "object_type",
        ),
        (
            r#"{"name":"a","tags":{"b":[]}}"#,
            json!(["body", "tags", "b"]),
            "value_error",
        ),
        (
            r#"{"name":"a","examples":[{"input":1}]}"#,
            json!(["body", "examples", 0, "output"]),
            "missing",
        ),
        (
            r#"{"name":"a","parent_span_id":"b"}"#,
            json!(["body", "parent_span_id"]),
            "uuid_parsing",
        ),
    ] {
        assert_eq!(
            refused::<CallByName>(body).await,
            (loc, json!(slug)),
            "{body}"
        );
    }
}

#[test]
fn a_value_reads_as_its_text() {
    let text_of = Json::to_text;

    assert_eq!(text_of(&Json::of(&"a \"b\"")), "a \"b\"");
    assert_eq!(
        text_of(&Json::parse(r#"{ "a": [1.0, null] }"#).unwrap()),
        r#"{"a":[1.0,null]}"#
    );
    assert_eq!(text_of(&Json::null()), "null");
}
