//! Peers that are slow, silent or absent: what they cost a server, when it is rid of them, and what a well-behaved caller
//! notices meanwhile.
//!
//! Idle connections are opened and kept; heads and bodies are sent byte by byte; streams are begun whose reader never reads
//! and whose upstream never stops. A limit on open files that is too low for the idle ones makes them fewer, which is said.
//!
//! `slow-peers --server PATH [--idle 10000] [--readers 1000] [--dribblers 200] [--head-seconds 10] [--body-seconds 30]
//! [--reader-seconds 30]`

#![expect(clippy::print_stdout, reason = "the report is what the program is for")]

use std::{
    error::Error,
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{
    Answer, Checks, Launched, Neighbour, Script, Upstream, Weight, arguments::Arguments,
};

mod dribble;
mod idle;
mod readers;

type Failure = Box<dyn Error + Send + Sync>;

/// What one stream may take beside the text that its span keeps (`reliability.md` S2).
const STREAM_KIB: u64 = 128;
/// What the first streams of a process bring with them, for pools and the like.
const SLACK_KIB: u64 = 16 * 1024;
/// Beyond a limit's time, for the connection to be closed in order on a busy machine.
const LATE: Duration = Duration::from_secs(10);
/// How slowly a body may begin.
const BODY_GRACE: Duration = Duration::from_secs(5);
const SETTLED: Duration = Duration::from_secs(2);

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments = Arguments::read(&[
        ("server", ""),
        ("idle", "10000"),
        ("readers", "1000"),
        ("dribblers", "200"),
        ("head-seconds", "10"),
        ("body-seconds", "30"),
        ("reader-seconds", "30"),
    ])?;
    let readers: usize = arguments.get("readers")?;
    let dribblers: usize = arguments.get("dribblers")?;
    let idle = fitting(arguments.get("idle")?, readers + dribblers)?;
    let seconds = |name| arguments.get(name).map(Duration::from_secs_f64);
    let (head, body) = (seconds("head-seconds")?, seconds("body-seconds")?);
    let reader = seconds("reader-seconds")?;

    let upstream = Arc::new(Upstream::start(Script::by(|request| play(&request.json()))).await);
    let limits = [("HEADER", head), ("BODY", body), ("READER", reader)];
    let environment = environment(&upstream, limits);
    let server = Launched::start(arguments.text("server"), &environment).await?;
    let address = server.address();
    let mut checks = Checks::default();

    let neighbour = || {
        let call = json!({"name": "neighbour", "model": "house/quick", "input": "hello"});
        Neighbour::start(address, Launched::NEIGHBOUR, "/v2/call", call)
    };
    let alone = neighbour();
    // What the first stream of a process loads is no stream's weight.
    drop(readers::begin(address, 8).await?);
    tokio::time::sleep(SETTLED).await;
    println!("a caller alone: {}", alone.stop().await.told());
    let before = weigh("before", &server)?;

    let neighbour = neighbour();
    let sleepers = idle::open(address, idle).await?;
    let with_idle = weigh(&format!("with {idle} idle connections"), &server)?;
    let of_idle = with_idle.resident_kib.saturating_sub(before.resident_kib);
    println!("  {} bytes each", of_idle * 1024 / idle.max(1) as u64);

    let heads = dribble::heads(address, dribblers);
    let bodies = dribble::bodies(address, dribblers);
    let began = Instant::now();
    let stalled = readers::begin(address, readers).await?;
    tokio::time::sleep(SETTLED).await;
    let with_readers = weigh(
        &format!("with {readers} streams that nobody reads"),
        &server,
    )?;
    let of_readers = with_readers
        .resident_kib
        .saturating_sub(with_idle.resident_kib);
    let cut = upstream_let_go(&upstream, reader + LATE).await;
    checks.that(
        "readers that take nothing are cut, and their requests upstream ended",
        cut,
        &format!("after {:.1} s", began.elapsed().as_secs_f64()),
    );
    let (faults, text_kib) = readers::spans(&server, &stalled).await?;
    let claim = format!("their spans say `client stalled`, with {text_kib} KiB of text each");
    checks.hold(&claim, &faults);
    let (all, each) = (of_readers / 1024, of_readers / readers.max(1) as u64);
    // A text that grows takes up to twice its length.
    let allowed = STREAM_KIB + 2 * text_kib as u64;
    checks.that(
        &format!("a stream that nobody reads takes {STREAM_KIB} KiB at most beside its text"),
        of_readers <= allowed * readers as u64 + SLACK_KIB,
        &format!("{all} MiB in all, {each} KiB each, {allowed} KiB are allowed"),
    );
    let [heads, bodies] = [heads.await?, bodies.await?];
    report(
        &mut checks,
        "a dribbled head is cut off in time",
        &heads,
        head,
    );
    report(
        &mut checks,
        "a dribbled body is cut off in time",
        &bodies,
        BODY_GRACE,
    );

    let served = neighbour.stop().await;
    println!("the caller beside them: {}", served.told());
    checks.hold(
        "a well-behaved caller is served meanwhile",
        &served.faults(),
    );
    drop((sleepers, stalled));
    tokio::time::sleep(SETTLED).await;
    let after = weigh("after", &server)?;
    checks.that(
        "no descriptor stays behind",
        after.descriptors <= before.descriptors + 20,
        &format!("{} before, {} after", before.descriptors, after.descriptors),
    );
    Ok(checks.verdict()?)
}

/// Where the models are, and the server's patience with whoever sends or reads.
fn environment(upstream: &Upstream, limits: [(&str, Duration); 3]) -> Vec<(String, String)> {
    let limits = limits.map(|(what, limit)| {
        let name = format!("GATEWRIGHT_LIMITS__{what}_TIMEOUT_SECONDS");
        (name, limit.as_secs_f64().to_string())
    });
    let house = "GATEWRIGHT_PROVIDERS__HOUSE__API_BASE".to_owned();
    limits
        .into_iter()
        .chain([(house, upstream.base_url())])
        .collect()
}

/// The upstream: a short answer, or pieces without an end.
fn play(request: &Value) -> Answer {
    if request["model"] == "quick" {
        return Answer::text("hello");
    }
    readers::flood()
}

/// As many idle connections as this process may hold beside the others.
fn fitting(idle: usize, others: usize) -> Result<usize, Failure> {
    let limits = fs::read_to_string("/proc/self/limits")?;
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let limit = line.and_then(|line| line.split_whitespace().nth(3)?.parse().ok());
    // The readers are connections of this process on both sides of the server.
    let room = limit.unwrap_or(1024_usize).saturating_sub(2 * others + 200);
    if room < idle {
        println!("only {room} of {idle} idle connections: the limit on open files allows no more");
    }
    Ok(idle.min(room))
}

fn weigh(when: &str, server: &Launched) -> Result<Weight, Failure> {
    let weight = server.weight()?;
    println!(
        "{when}: {} MiB resident, {} descriptors",
        weight.resident_kib / 1024,
        weight.descriptors
    );
    Ok(weight)
}

/// Waits until only the neighbour's requests are left upstream.
async fn upstream_let_go(upstream: &Upstream, within: Duration) -> bool {
    let until = Instant::now() + within;
    while Instant::now() < until {
        if upstream.open_requests() <= 1 {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    false
}

fn report(checks: &mut Checks, claim: &str, open: &[Duration], limit: Duration) {
    let late = open.iter().filter(|open| **open > limit + LATE);
    let late: Vec<String> = late.map(|open| format!("open for {open:?}")).collect();
    let most = open.iter().max().copied().unwrap_or_default();
    let claim = format!(
        "{claim} ({} of them, at most {:.1} s)",
        open.len(),
        most.as_secs_f64()
    );
    checks.hold(&claim, &late);
}
