//! A clock that jumps under a running server: `reliability.md` O8. The jumps are made by `libfaketime`.

use std::{
    collections::HashSet,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{Answer, Script};

use crate::server::{Api, Server};

/// Where Debian's package `faketime` has it, by machine.
const LIBRARIES: [&str; 2] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
];

/// A server whose clock is set by what stands in a file, and the host that it asks.
async fn server(set: &Path, script: Script) -> (Server, testkit::Upstream) {
    let library = LIBRARIES.into_iter().find(|path| Path::new(path).exists());
    let library = library.expect("`libfaketime` is here (`apt-get install faketime`)");
    std::fs::write(set, "+0").unwrap();
    Server::with_upstream_and(
        script,
        &[
            ("LD_PRELOAD", library),
            ("FAKETIME_TIMESTAMP_FILE", set.to_str().unwrap()),
            ("FAKETIME_NO_CACHE", "1"),
            // The kernel's other clock does not jump.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ],
    )
    .await
}

async fn span_of(api: &Api, function: &Value) -> Value {
    let called = api.call(function, json!({"input": "hi"})).await;
    assert_eq!(called.status, 200, "{called:?}");
    api.span(&called).await
}

/// Seconds from now to the edges of 32 bits, and an hour each way.
fn jumps() -> Vec<(&'static str, String)> {
    let until = |then: u64| {
        let now = std::time::SystemTime::now();
        let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
        format!("{:+}", i128::from(then) - i128::from(now.as_secs()))
    };
    vec![
        ("an hour on", "+3600".to_owned()),
        ("an hour back", "-3600".to_owned()),
        ("as it was", "+0".to_owned()),
        ("the last seconds of 31 bits", until((1 << 31) - 1)),
        ("the last seconds of 32 bits", until((1 << 32) - 1)),
        ("a day back", "-86400".to_owned()),
        ("a leap day", until(1_835_395_199)),
        ("the year 2000", until(946_684_799)),
        ("as it is", "+0".to_owned()),
    ]
}

#[tokio::test]
async fn ids_do_not_repeat_and_no_span_ends_before_it_began() {
    let dir = tempfile::tempdir().unwrap();
    let set = dir.path().join("clock");
    let (server, _upstream) = server(&set, Answer::text("hi").into()).await;
    let api = server.api();
    let function = api.echo().await;
    let (mut ids, mut years) = (HashSet::new(), HashSet::new());

    for (name, jump) in jumps() {
        std::fs::write(&set, &jump).unwrap();
        for number in 0..10 {
            let span = span_of(&api, &function).await;
            let (start, end) = (span["start_time"].as_str(), span["end_time"].as_str());
            assert!(start.unwrap() <= end.unwrap(), "{name}: {span:#}");
            assert!(ids.insert(span["id"].to_string()), "{name}: {span:#}");
            years.insert(start.unwrap()[..4].to_owned());
            let made = json!({"name": format!("f-{}-{number}", ids.len()), "instructions": "x"});
            let made = api.function(made).await;
            assert!(ids.insert(made["id"].to_string()), "{name}: {made:#}");
        }
    }

    assert!(
        years.contains("2038") && years.contains("2106") && years.contains("2000"),
        "{years:?}"
    );
    let page = api.get("/v2/functions?limit=100").await;
    assert_eq!(page.body["meta"]["total_count"], 1 + 10 * jumps().len());
    println!("{} ids, none twice; years {years:?}", ids.len());
}

#[tokio::test]
async fn a_call_that_is_under_way_when_the_clock_jumps_ends_in_time_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let set = dir.path().join("clock");
    let slow = Answer::text("late").after(Duration::from_secs(30));
    let (server, upstream) = server(&set, slow.into()).await;
    let api = server.api();
    let extra = json!({"api_base": upstream.base_url(), "timeout_seconds": 1.5});
    let model = json!({"name": "slow", "identifier": "openai/x", "extra": extra});
    api.post("/v2/models/custom", model).await;
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": "slow"}))
        .await;

    for jump in ["+3600", "-3600", "+0"] {
        let began = Instant::now();
        let calling = tokio::spawn({
            let (api, function) = (api.clone(), function.clone());
            async move { api.call(&function, json!({"input": "hi"})).await }
        });
        tokio::time::sleep(Duration::from_millis(500)).await;
        std::fs::write(&set, jump).unwrap();
        let answer = calling.await.unwrap();

        assert_eq!(answer.status, 504, "{jump}: {answer:?}");
        let took = began.elapsed().as_secs_f64();
        assert!((1.4..8.0).contains(&took), "{jump}: {took}");
        let span = api.span(&answer).await;
        let (start, end) = (span["start_time"].as_str(), span["end_time"].as_str());
        assert!(start.unwrap() <= end.unwrap(), "{jump}: {span:#}");
        let ms = span["meta"]["latency_ms"].as_f64().unwrap();
        assert!((1000.0..8000.0).contains(&ms), "{jump}: {ms} ms");
    }
}

#[tokio::test]
async fn what_is_kept_for_a_time_is_kept_for_that_time_whatever_the_clock_does() {
    let dir = tempfile::tempdir().unwrap();
    let set = dir.path().join("clock");
    let (server, upstream) = server(&set, Answer::text("hi").into()).await;
    let api = server.api();
    let function = json!({
        "name": "f", "instructions": "x", "model": "house/m",
        "configuration": {"invocation.cache.ttl": 3},
    });
    let function = api.function(function).await;
    let is_cached = async || {
        let answer = api.call(&function, json!({"input": "hi"})).await;
        answer.body["cached"] == true
    };

    assert!(!is_cached().await);
    std::fs::write(&set, "+3600").unwrap();
    assert!(is_cached().await, "an hour on is no three seconds");
    std::fs::write(&set, "-3600").unwrap();
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(!is_cached().await, "an hour back does not keep it");
    assert_eq!(upstream.requests().len(), 2);
}
