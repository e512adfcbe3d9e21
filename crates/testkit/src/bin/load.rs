//! A load at a constant rate: requests leave on schedule, whether or not earlier ones were answered.
//!
//! Latency counts from the moment a request was due, so a server that stalls cannot hide it. `refused` were told to come
//! back later (429, or 503), each with its `Retry-After`; `failed` is everything else that is no 200. Prints one line of
//! `name=value` pairs; times are in microseconds.

#![expect(clippy::print_stdout, reason = "the line is what the program is for")]

use std::{
    error::Error,
    fs,
    net::SocketAddr,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Method, header::RETRY_AFTER};
use testkit::{
    arguments::Arguments,
    client::{Connection, Reply},
};
use tokio::{
    sync::{Mutex, mpsc},
    task::JoinSet,
};

/// Gives the runtime time to stand ready before the first request is due.
const HEAD_START: Duration = Duration::from_millis(50);

struct Plan {
    address: SocketAddr,
    path: String,
    token: String,
    body: Bytes,
    interval: Duration,
    requests: u32,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read(&[
        ("address", "127.0.0.1:8080"),
        ("path", "/"),
        ("token", ""),
        ("body", ""),
        ("rate", "500"),
        ("seconds", "5"),
        ("connections", "64"),
    ])?;
    let rate: u32 = arguments.get("rate")?;
    let plan = Plan {
        address: arguments.get("address")?,
        path: arguments.text("path").to_owned(),
        token: arguments.text("token").to_owned(),
        body: fs::read(arguments.text("body"))?.into(),
        interval: Duration::from_secs(1) / rate,
        requests: rate * arguments.get::<u32>("seconds")?,
    };
    let connections: u32 = arguments.get("connections")?;
    let mut became = run(Arc::new(plan), connections).await?;
    became.answered.sort_unstable();
    became.refused.sort_unstable();
    println!(
        "answered={} failed={} p50={} p90={} p99={} max={} refused={} refused_p99={}",
        became.answered.len(),
        became.failed,
        percentile(&became.answered, 50),
        percentile(&became.answered, 90),
        percentile(&became.answered, 99),
        percentile(&became.answered, 100),
        became.refused.len(),
        percentile(&became.refused, 99),
    );
    Ok(())
}

/// What became of requests.
#[derive(Default)]
struct Became {
    /// How long each of those took that were answered with 200.
    answered: Vec<Duration>,
    /// And of those that are to come back later.
    refused: Vec<Duration>,
    failed: u32,
}

async fn run(plan: Arc<Plan>, connections: u32) -> Result<Became, Box<dyn Error>> {
    let (due, waiting) = mpsc::unbounded_channel();
    let waiting = Arc::new(Mutex::new(waiting));
    let mut callers = JoinSet::new();
    for _ in 0..connections {
        let connection = Connection::open(plan.address, &plan.token).await?;
        callers.spawn(send(connection, Arc::clone(&plan), Arc::clone(&waiting)));
    }
    let (interval, requests) = (plan.interval, plan.requests);
    // A thread, because the runtime's timers are a millisecond coarse.
    let clock = thread::spawn(move || {
        let start = Instant::now() + HEAD_START;
        for index in 0..requests {
            let release = start + interval * index;
            thread::sleep(release.saturating_duration_since(Instant::now()));
            if due.send(release).is_err() {
                return;
            }
        }
    });
    let mut all = Became::default();
    while let Some(caller) = callers.join_next().await {
        let became = caller?;
        all.answered.extend(became.answered);
        all.refused.extend(became.refused);
        all.failed += became.failed;
    }
    clock.join().map_err(|_| "the clock thread panicked")?;
    Ok(all)
}

async fn send(
    mut connection: Connection,
    plan: Arc<Plan>,
    waiting: Arc<Mutex<mpsc::UnboundedReceiver<Instant>>>,
) -> Became {
    let mut became = Became::default();
    loop {
        let Some(release) = waiting.lock().await.recv().await else {
            return became;
        };
        let reply = connection
            .send(Method::POST, &plan.path, plan.body.clone())
            .await;
        match reply {
            Ok(reply) if reply.status == 200 => became.answered.push(release.elapsed()),
            Ok(reply) if is_refusal(&reply) => became.refused.push(release.elapsed()),
            Ok(_) => became.failed += 1,
            Err(_) => {
                became.failed += 1;
                let Ok(fresh) = Connection::open(plan.address, &plan.token).await else {
                    return became;
                };
                connection = fresh;
            }
        }
    }
}

fn is_refusal(reply: &Reply) -> bool {
    matches!(reply.status.as_u16(), 429 | 503) && reply.headers.contains_key(RETRY_AFTER)
}

/// Returns the smallest latency that `percent` of all are not above, in microseconds.
fn percentile(sorted: &[Duration], percent: usize) -> u128 {
    let rank = (sorted.len() * percent).div_ceil(100);
    let latency = sorted.get(rank.saturating_sub(1));
    latency.map_or(0, Duration::as_micros)
}
