//! SIGTERM under load: is every accepted request answered to its end, and every span closed?
//!
//! First directly: callers call until nobody listens any more. None of them may be reset or be left with half an answer,
//! the server has to end with 0, and every span whose id was told has to be there and closed. Then behind a balancer for
//! connections, which keeps new ones back while nobody listens: the server is stopped and started again and again, and
//! every call has to succeed. A call that is told `draining` comes again, as the answer says.

#![expect(clippy::print_stdout, reason = "the report is what the program is for")]

use std::{
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rand::RngExt;
use testkit::{
    Answer, Script, Upstream,
    arguments::Arguments,
    campaign::{Caller, Database, End, Failure, Launch, Outcome, TOKEN, Way, chance},
    client::Connection,
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::sleep,
};

/// Streams of this upstream last longer than the server waits in some rounds, and calls last for some milliseconds.
const DRAIN_SECONDS: f64 = 2.0;
/// For `/readyz` to fail, and for the first answer of a start.
const AT_ONCE: Duration = Duration::from_secs(1);
const FIRST_ANSWER: Duration = Duration::from_secs(30);
/// After which a call that was told `draining` comes again: much sooner than the answer asks for.
const COMES_AGAIN: Duration = Duration::from_millis(50);
const DRAINING: &str = "ServiceUnavailableError: draining";
/// Between two tries to get through to a server that is not there.
const AGAIN: Duration = Duration::from_millis(5);

/// What a phase saw.
#[derive(Debug, Default)]
struct Seen {
    answered: usize,
    draining: usize,
    cut_off: usize,
    lost: usize,
    faults: Vec<String>,
    unready: Duration,
    slowest: Duration,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let known = [
        ("server", ""),
        ("rounds", "20"),
        ("restarts", "10"),
        ("callers", "64"),
        ("seed", ""),
    ];
    let arguments = Arguments::read(&known)?;
    let callers: usize = arguments.get("callers")?;
    let (mut chance, seed) = chance(arguments.text("seed"))?;
    let folder = tempfile::tempdir()?;
    let upstream = Upstream::start(upstream()).await;
    let mut launch = launch(arguments.text("server"), folder.path(), &upstream)?;

    println!("SIGTERM under load: {callers} callers, seed {seed}");
    let (server, _) = launch.start().await?;
    let quick = launch.function("quick", "house/quick").await?;
    let long = launch.function("long", "house/long").await?;
    server.stop().await?;
    let mut passed = 0;
    let mut failed = 0;
    for round in 1..=arguments.get("rounds")? {
        let moment = Duration::from_millis(chance.random_range(100..900));
        let seen = directly(&mut launch, (&quick, &long), callers, moment).await?;
        tell(&format!("round {round:>3}"), &seen);
        if seen.is_good() {
            passed += 1;
        } else {
            failed += 1;
        }
    }
    let restarts: u32 = arguments.get("restarts")?;
    if restarts > 0 {
        let seen = balanced(&mut launch, &quick, callers, restarts).await?;
        tell(&format!("{restarts} restarts behind a balancer"), &seen);
        if seen.is_good() {
            passed += 1;
        } else {
            failed += 1;
        }
    }
    let database = Database::look(&launch.data_dir())?;
    println!("at the end: {database:?}");
    if database.open > 0 || database.integrity != "ok" {
        failed += 1;
    }
    println!("{passed} passed, {failed} failed");
    if failed > 0 {
        return Err("a stop was not graceful".into());
    }
    Ok(())
}

fn upstream() -> Script {
    Script::by(|request| {
        let is_long = request.json()["model"] == "long";
        let pause = Duration::from_millis(if is_long { 100 } else { 4 });
        Answer::text(&"still here ".repeat(if is_long { 20 } else { 2 }))
            .after(Duration::from_millis(10))
            .pause(pause)
    })
}

fn launch(server: &str, folder: &Path, upstream: &Upstream) -> Result<Launch, Failure> {
    let launch = Launch::new(server, folder)?
        .with("GATEWRIGHT_PROVIDERS__HOUSE__API_BASE", upstream.base_url())
        .with(
            "GATEWRIGHT_EGRESS__ALLOW",
            format!("[\"{}\"]", upstream.authority()),
        )
        .with(
            "GATEWRIGHT_SERVER__DRAIN_SECONDS",
            DRAIN_SECONDS.to_string(),
        );
    Ok(launch)
}

/// One stop under load, without anything in between.
async fn directly(
    launch: &mut Launch,
    (quick, long): (&str, &str),
    callers: usize,
    moment: Duration,
) -> Result<Seen, Failure> {
    let (mut server, _) = launch.start().await?;
    let answered = Arc::new(AtomicBool::new(false));
    let mut calls = JoinSet::new();
    for number in 0..callers {
        let way = [Way::Plain, Way::Streamed][number % 2];
        // Some streams outlast the drain, so that they are cut off in order.
        let function = if number % 8 == 7 { long } else { quick };
        let caller = Caller::new(launch.address, function, way);
        calls.spawn(call_until_closed(caller, Arc::clone(&answered)));
    }
    first_answer(&answered).await?;
    sleep(moment).await;
    let begun = Instant::now();
    server.terminate()?;
    while launch.is_ready().await {}
    let mut seen = Seen {
        unready: begun.elapsed(),
        ..Seen::default()
    };
    if seen.unready > AT_ONCE {
        seen.faults
            .push("`/readyz` did not fail at once".to_owned());
    }
    let status = server.ended().await?;
    seen.slowest = begun.elapsed();
    if !status.success() {
        seen.faults.push(format!("the server ended with {status}"));
    }
    let mut spans = Vec::new();
    while let Some(outcomes) = calls.join_next().await {
        for outcome in outcomes? {
            spans.extend(outcome.span.clone());
            seen.note(&outcome);
        }
    }

    let (server, _) = launch.start().await?;
    let mut connection = Connection::open(launch.address, TOKEN).await?;
    for span in spans {
        let reply = connection.get(&format!("/v2/spans/{span}")).await?;
        if reply.status != 200 || reply.json()["end_time"].is_null() {
            seen.lost += 1;
            seen.faults
                .push(format!("{span}: {} {}", reply.status, reply.json()));
        }
    }
    drop(connection);
    let status = server.stop().await?;
    if !status.success() {
        seen.faults
            .push(format!("the idle server ended with {status}"));
    }
    Ok(seen)
}

/// Calls until nobody listens, on connections that are kept where the server keeps them.
async fn call_until_closed(mut caller: Caller, answered: Arc<AtomicBool>) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    loop {
        let outcome = caller.call("still here").await;
        let end = outcome.end.clone();
        outcomes.push(outcome);
        match end {
            End::NotConnected | End::Broken(_) => return outcomes,
            End::Answered => answered.store(true, Ordering::Relaxed),
            End::Refused(_) | End::ErrorEvent(_) => sleep(COMES_AGAIN).await,
        }
    }
}

async fn first_answer(answered: &AtomicBool) -> Result<(), Failure> {
    let begun = Instant::now();
    while !answered.load(Ordering::Relaxed) {
        if begun.elapsed() > FIRST_ANSWER {
            return Err("no call was answered".into());
        }
        sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// Stops and starts under load, behind a balancer.
async fn balanced(
    launch: &mut Launch,
    function: &str,
    callers: usize,
    restarts: u32,
) -> Result<Seen, Failure> {
    let (mut server, _) = launch.start().await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let front = listener.local_addr()?;
    let balancer = tokio::spawn(balance(listener, launch.address));
    let over = Arc::new(AtomicBool::new(false));
    let mut calls = JoinSet::new();
    for number in 0..callers {
        let way = [Way::Plain, Way::Streamed][number % 2];
        let caller = Caller::new(front, function, way);
        calls.spawn(call_until_over(caller, Arc::clone(&over)));
    }
    let mut seen = Seen::default();
    for _ in 0..restarts {
        sleep(Duration::from_millis(300)).await;
        let begun = Instant::now();
        let status = server.stop().await?;
        seen.slowest = seen.slowest.max(begun.elapsed());
        if !status.success() {
            seen.faults.push(format!("the server ended with {status}"));
        }
        (server, _) = launch.start().await?;
    }
    sleep(Duration::from_millis(300)).await;
    over.store(true, Ordering::Relaxed);
    while let Some(outcomes) = calls.join_next().await {
        for outcome in outcomes? {
            if outcome.end == End::NotConnected {
                seen.faults.push("a call did not get through".to_owned());
            }
            seen.note(&outcome);
        }
    }
    balancer.abort();
    server.stop().await?;
    Ok(seen)
}

async fn call_until_over(mut caller: Caller, over: Arc<AtomicBool>) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let outcome = caller.call("still here").await;
        if outcome.end != End::Answered {
            sleep(COMES_AGAIN).await;
        }
        outcomes.push(outcome);
    }
    outcomes
}

/// Hands every connection on, and keeps back those for which nobody listens yet.
async fn balance(listener: TcpListener, server: SocketAddr) {
    while let Ok((mut client, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut behind = loop {
                match TcpStream::connect(server).await {
                    Ok(behind) => break behind,
                    Err(_) => sleep(AGAIN).await,
                }
            };
            // What breaks on one side is told on the other by the end of the connection.
            let _ended = copy_bidirectional(&mut client, &mut behind).await;
        });
    }
}

impl Seen {
    fn note(&mut self, outcome: &Outcome) {
        match &outcome.end {
            End::Answered => self.answered += 1,
            End::Refused(why) if why == DRAINING && outcome.span.is_none() => self.draining += 1,
            // It was under way when the time for it ended.
            End::Refused(why) if why == DRAINING => self.cut_off += 1,
            End::ErrorEvent(why) if why.starts_with("ServiceUnavailableError") => self.cut_off += 1,
            End::NotConnected => {}
            other => self.faults.push(format!("{:?}: {other:?}", outcome.span)),
        }
    }

    fn is_good(&self) -> bool {
        self.faults.is_empty() && self.answered > 0
    }
}

fn tell(what: &str, seen: &Seen) {
    println!(
        "{what}: {} answered, {} told `draining`, {} cut off in order, {} spans lost, {} faults, unready after {} ms, stopped in {} ms",
        seen.answered,
        seen.draining,
        seen.cut_off,
        seen.lost,
        seen.faults.len(),
        seen.unready.as_millis(),
        seen.slowest.as_millis(),
    );
    for fault in seen.faults.iter().take(5) {
        println!("  {fault}");
    }
}
