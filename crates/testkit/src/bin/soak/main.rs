//! A mixed load for a long time: does what a server takes stay flat?
//!
//! Callers call, stream, hang up, ask for what is not there, send nonsense, create, list and delete; models answer, fail, break
//! off and fall silent, and every minute their host is away for a moment. Samples of memory, descriptors, threads and the
//! database's log are printed as a table. At the end each must be flat over the second half of the time.
//!
//! `soak --server PATH [--seconds 3600] [--sample-seconds 10] [--callers 16] [--seed 1]`

#![expect(clippy::print_stdout, reason = "the report is what the program is for")]

use std::{
    error::Error,
    time::{Duration, Instant},
};

use testkit::{Chance, Checks, Launched, Upstream, arguments::Arguments};
use tokio::task::JoinSet;

mod flat;
mod load;

use flat::Sample;
use load::{Caller, Count};

type Failure = Box<dyn Error + Send + Sync>;

/// How often the models' host goes away for a moment.
const AWAY_EVERY: Duration = Duration::from_mins(1);
const AWAY: Duration = Duration::from_millis(500);
/// What is shorter says nothing of the long run: it is shown and not judged.
const SAYS_SOMETHING: Duration = Duration::from_mins(5);
const SETTLED: Duration = Duration::from_secs(3);

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments = Arguments::read(&[
        ("server", ""),
        ("seconds", "3600"),
        ("sample-seconds", "10"),
        ("callers", "16"),
        ("seed", "1"),
    ])?;
    let duration = Duration::from_secs_f64(arguments.get("seconds")?);
    let every = Duration::from_secs_f64(arguments.get("sample-seconds")?);
    let callers: u64 = arguments.get("callers")?;
    let seed: u64 = arguments.get("seed")?;

    let upstream = Upstream::start(load::script()).await;
    let (base_url, port) = (upstream.base_url(), port_of(&upstream)?);
    let environment = [
        ("GATEWRIGHT_PROVIDERS__HOUSE__API_BASE", base_url.as_str()),
        ("GATEWRIGHT_UPSTREAM__TIMEOUT_SECONDS", "3"),
        ("GATEWRIGHT_UPSTREAM__IDLE_TIMEOUT_SECONDS", "3"),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut server = Launched::start(arguments.text("server"), &environment).await?;
    println!(
        "{callers} callers for {} s, seed {seed}",
        duration.as_secs_f64()
    );

    let count = Count::default();
    let mut running = JoinSet::new();
    for number in 0..callers {
        let chance = Chance::new(seed.wrapping_mul(1000) + number);
        let caller = Caller::new(server.address(), chance, number, count.clone());
        running.spawn(caller.run());
    }
    let away = tokio::spawn(keep_away_now_and_then(upstream, port));
    let began = Instant::now();
    let mut samples = Vec::new();
    println!("{}", flat::HEAD);
    while began.elapsed() < duration {
        tokio::time::sleep(every).await;
        let sample = Sample {
            at: began.elapsed(),
            weight: server.weight()?,
            answered: count.answered(),
        };
        println!("{sample}");
        samples.push(sample);
    }
    running.shutdown().await;
    away.abort();
    tokio::time::sleep(SETTLED).await;

    let mut checks = Checks::default();
    checks.that(
        "calls were answered",
        count.answered() > 0,
        &format!("{} of {}", count.answered(), count.all()),
    );
    checks.hold(
        "every answer has a status that its request can have",
        &count.strange(),
    );
    checks.that(
        "the server lives",
        server.is_alive()?,
        "it was looked for at the end",
    );
    if duration >= SAYS_SOMETHING {
        flat::judge(&samples, &mut checks);
    } else {
        println!("  not judged: whether it stays flat, which takes five minutes at least");
    }
    Ok(checks.verdict()?)
}

fn port_of(upstream: &Upstream) -> Result<u16, Failure> {
    let authority = upstream.authority();
    let port = authority.rsplit(':').next().unwrap_or_default();
    Ok(port.parse()?)
}

/// Lets the models' host go away for a moment, again and again; it remembers nothing of the requests before.
async fn keep_away_now_and_then(mut upstream: Upstream, port: u16) {
    loop {
        tokio::time::sleep(AWAY_EVERY).await;
        drop(upstream);
        tokio::time::sleep(AWAY).await;
        upstream = loop {
            match Upstream::start_on(port, load::script()).await {
                Ok(upstream) => break upstream,
                // Its last connections are still being closed.
                Err(_) => tokio::time::sleep(AWAY).await,
            }
        };
    }
}
