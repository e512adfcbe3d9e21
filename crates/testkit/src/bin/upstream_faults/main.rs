//! Upstreams that hang, lie or flood, and what a caller of another upstream notices.
//!
//! Fault by fault, many calls at once go to the upstream that has it, while somebody calls a sound one. Told are how the calls
//! ended, how often the upstream was asked (retries have a budget), what the server took in memory at most, and how the
//! other caller was served. At the end many calls go to an upstream that is not there.
//!
//! `upstream-faults --server PATH [--calls 100] [--timeout-seconds 5]`

#![expect(clippy::print_stdout, reason = "the report is what the program is for")]

use std::{
    collections::BTreeMap,
    error::Error,
    net::SocketAddr,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{
    Answer, Checks, Launched, Neighbour, QuietPort, Upstream, arguments::Arguments,
    client::Connection,
};
use tokio::task::JoinSet;

mod faulty;

use faulty::{Fault, Faulty};

type Failure = Box<dyn Error + Send + Sync>;

/// Beyond the time that a request upstream has, for an answer on a busy machine: a line of 32 MiB is read slowly by a server
/// that was not optimised.
const LATE: Duration = Duration::from_mins(1);
/// Retries of one origin that are free in ten seconds, and the share of its calls that may be repeated beside them.
const FREE_RETRIES: usize = 30;
const CALLS_PER_RETRY: usize = 5;
/// What the process may take beside what each call may.
const SLACK_KIB: u64 = 64 * 1024;
const SAMPLE: Duration = Duration::from_millis(50);

/// How calls ended: how often each status, or no answer.
type Endings = BTreeMap<String, usize>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments = Arguments::read(&[("server", ""), ("calls", "100"), ("timeout-seconds", "5")])?;
    let calls: usize = arguments.get("calls")?;
    let timeout = arguments.text("timeout-seconds").to_owned();
    let patience = Duration::from_secs_f64(arguments.get("timeout-seconds")?) + LATE;

    let sound = Upstream::start(Answer::text("hello")).await;
    let nobody = QuietPort::take();
    let mut environment = vec![
        ("UPSTREAM__TIMEOUT_SECONDS".to_owned(), timeout.clone()),
        ("UPSTREAM__IDLE_TIMEOUT_SECONDS".to_owned(), timeout),
        base("house", sound.base_url()),
        base("dead", format!("http://{}/v1", nobody.address())),
    ];
    let mut upstreams = Vec::new();
    for fault in Fault::ALL {
        let upstream = Faulty::start(fault).await?;
        environment.push(base(&fault.name(), upstream.base_url()));
        upstreams.push((fault, upstream));
    }
    let prefixed = |(name, value)| (format!("GATEWRIGHT_{name}"), value);
    let environment: Vec<_> = environment.into_iter().map(prefixed).collect();
    let mut server = Launched::start(arguments.text("server"), &environment).await?;
    let address = server.address();
    let mut checks = Checks::default();

    let neighbour = || {
        let call = json!({"name": "neighbour", "model": "house/sound", "input": "hello"});
        Neighbour::start(address, Launched::NEIGHBOUR, "/v2/call", call)
    };
    let alone = neighbour();
    tokio::time::sleep(Duration::from_secs(1)).await;
    println!("a caller alone: {}", alone.stop().await.told());

    for (fault, upstream) in &upstreams {
        let neighbour = neighbour();
        let before = server.weight()?.resident_kib;
        let path = if fault.is_of_streams() {
            "/v2/call/stream"
        } else {
            "/v2/call"
        };
        let name = fault.name();
        let running = call_all(address, path, &name, calls, patience);
        let (endings, elapsed, most) = weighed(&server, running).await?;
        let grown = most.saturating_sub(before);
        let asked = upstream.requests();
        let served = neighbour.stop().await;
        println!(
            "{name}: {calls} calls, {asked} requests, {:.1} s, {} MiB more at most, ended {endings:?}",
            elapsed.as_secs_f64(),
            grown / 1024
        );
        println!("  the caller of another: {}", served.told());
        checks.hold(&format!("{name}: others are served"), &served.faults());
        checks.hold(
            &format!("{name}: every call ends, in an error"),
            &wrong(&endings),
        );
        let allowed = if fault.is_retried() {
            calls + calls / CALLS_PER_RETRY + FREE_RETRIES
        } else {
            calls
        };
        checks.that(
            &format!("{name}: no more requests than the budget has"),
            asked <= allowed,
            &format!("{asked} of {allowed}"),
        );
        let allowed = call_kib(*fault) * calls as u64 + SLACK_KIB;
        checks.that(
            &format!("{name}: memory is bounded"),
            grown <= allowed,
            &format!("{} of {} MiB", grown / 1024, allowed / 1024),
        );
    }
    let neighbour = neighbour();
    let (endings, elapsed, _) = weighed(
        &server,
        call_all(address, "/v2/call", "dead", calls, patience),
    )
    .await?;
    let served = neighbour.stop().await;
    println!(
        "dead: {calls} calls, {:.1} s, ended {endings:?}",
        elapsed.as_secs_f64()
    );
    println!("  the caller of another: {}", served.told());
    checks.hold("dead: others are served", &served.faults());
    checks.hold("dead: every call ends, in an error", &wrong(&endings));
    checks.that(
        "the server lives",
        server.is_alive()?,
        "it was looked for at the end",
    );
    Ok(checks.verdict()?)
}

fn base(provider: &str, url: String) -> (String, String) {
    (
        format!("PROVIDERS__{}__API_BASE", provider.to_uppercase()),
        url,
    )
}

/// Calls the provider's model so many times at once.
async fn call_all(
    address: SocketAddr,
    path: &'static str,
    provider: &str,
    calls: usize,
    patience: Duration,
) -> Result<Endings, Failure> {
    let body = json!({"name": provider, "model": format!("{provider}/m"), "input": "hello"});
    let mut running = JoinSet::new();
    for _ in 0..calls {
        let body = body.clone();
        running.spawn(async move {
            let asked = tokio::time::timeout(patience, call(address, path, &body)).await;
            asked.unwrap_or_else(|_| Ok("no answer in time".to_owned()))
        });
    }
    let mut endings = Endings::new();
    while let Some(ending) = running.join_next().await {
        *endings.entry(ending??).or_default() += 1;
    }
    Ok(endings)
}

async fn call(address: SocketAddr, path: &str, body: &Value) -> Result<String, Failure> {
    let mut connection = Connection::open(address, Launched::TOKEN).await?;
    let mut stream = connection.open_stream(path, body).await?;
    let status = stream.status.as_u16();
    if status != 200 || path == "/v2/call" {
        stream.into_reply().await?;
        return Ok(status.to_string());
    }
    let last = stream.rest().await.pop();
    let name = last.and_then(|event| event.name);
    Ok(format!(
        "{status} and {}",
        name.as_deref().unwrap_or("no closing event")
    ))
}

/// What a call may take of what an upstream sends: an answer may have 32 MiB, and so may an event, for the image in it.
fn call_kib(fault: Fault) -> u64 {
    match fault {
        Fault::Flood | Fault::Line => 40 * 1024,
        _ => 1024,
    }
}

/// What became of `running`, how long it took, and the most memory that was resident meanwhile.
async fn weighed(
    server: &Launched,
    running: impl Future<Output = Result<Endings, Failure>>,
) -> Result<(Endings, Duration, u64), Failure> {
    let (began, mut most) = (Instant::now(), 0);
    tokio::pin!(running);
    let endings = loop {
        tokio::select! {
            endings = &mut running => break endings?,
            () = tokio::time::sleep(SAMPLE) => most = most.max(server.weight()?.resident_kib),
        }
    };
    let most = most.max(server.weight()?.resident_kib);
    Ok((endings, began.elapsed(), most))
}

/// Endings that are none of the errors that a failing upstream leads to, or a machine that has too much to do.
fn wrong(endings: &Endings) -> Vec<String> {
    let is_right = |ending: &str| matches!(ending, "502" | "503" | "504" | "200 and error");
    let wrong = endings.iter().filter(|(ending, _)| !is_right(ending));
    wrong
        .map(|(ending, count)| format!("{count} ended with {ending}"))
        .collect()
}
