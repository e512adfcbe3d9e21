//! `kill -9` under load: is every span that was answered still there?
//!
//! Each round starts the server on the same data directory, lets many callers call, kills it at a random moment,
//! starts it again and asks for every span id that an answer of 200 had carried.

#![expect(clippy::print_stdout, reason = "the report is what the program is for")]

use std::{
    error::Error,
    fs::File,
    hash::{BuildHasher, RandomState},
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{
    arguments::Arguments,
    client::{Connection, Reply},
};
use tokio::task::JoinSet;

type Failure = Box<dyn Error + Send + Sync>;

const TOKEN: &str = "crash-test-token-0123456789abcdef";
const PATIENCE: Duration = Duration::from_secs(30);
/// A start above this is a fault: what was begun and never closed must not make the next start slow.
const SLOW_START: Duration = Duration::from_secs(5);

/// How a server is started, again and again on the same data.
struct Launch {
    server: PathBuf,
    data_dir: PathBuf,
    address: SocketAddr,
}

/// So many rounds more are taken until one has an answer.
const MORE_ROUNDS: u32 = 10;

/// A running server. It is killed when it is dropped.
struct Server(Child);

/// What one round saw.
struct Round {
    answered: usize,
    lost: Vec<String>,
    start: Duration,
    alive: Duration,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments = Arguments::read(&[("server", ""), ("rounds", "20"), ("callers", "32")])?;
    let rounds: u32 = arguments.get("rounds")?;
    let callers: u32 = arguments.get("callers")?;
    let folder = tempfile::tempdir()?;
    let launch = Launch {
        server: arguments.text("server").into(),
        data_dir: folder.path().join("data"),
        address: free_address()?,
    };

    let (server, _) = launch.start(folder.path().join("first.log")).await?;
    let path = Arc::from(store_function(launch.address).await?);
    drop(server);

    println!("kill -9 under load: {rounds} rounds, {callers} callers");
    let (mut answered, mut lost) = (0, 0);
    let mut slowest = Duration::ZERO;
    let mut number = 0;
    // A slow machine may be killed before its first answer each time.
    while number < rounds || answered == 0 && number < rounds + MORE_ROUNDS {
        number += 1;
        let log = folder.path().join(format!("round-{number}.log"));
        let round = launch.round(&path, callers, log).await?;
        println!(
            "round {number:>3}: killed after {:>4} ms, {:>6} answered, {} lost, started again in {} ms",
            round.alive.as_millis(),
            round.answered,
            round.lost.len(),
            round.start.as_millis(),
        );
        for span in &round.lost {
            println!("  lost: {span}");
        }
        answered += round.answered;
        lost += round.lost.len();
        slowest = slowest.max(round.start);
    }
    println!(
        "{answered} spans answered, {lost} lost, slowest start {} ms",
        slowest.as_millis()
    );
    verdict(answered, lost, slowest)
}

fn verdict(answered: usize, lost: usize, slowest: Duration) -> Result<(), Failure> {
    if lost > 0 {
        return Err("answered spans were lost".into());
    }
    if answered == 0 {
        return Err("no call was answered, so nothing was shown".into());
    }
    if slowest > SLOW_START {
        return Err("a start after a kill was slow".into());
    }
    Ok(())
}

impl Launch {
    async fn round(&self, path: &Arc<str>, callers: u32, log: PathBuf) -> Result<Round, Failure> {
        let (server, _) = self.start(log.clone()).await?;
        let mut calls = JoinSet::new();
        for _ in 0..callers {
            calls.spawn(call_until_cut(self.address, Arc::clone(path)));
        }
        let alive = random_moment();
        tokio::time::sleep(alive).await;
        drop(server);
        let mut spans = Vec::new();
        while let Some(answered) = calls.join_next().await {
            spans.extend(answered??);
        }

        let (server, start) = self.start(log.with_extension("again.log")).await?;
        let lost = self.missing(&spans).await?;
        drop(server);
        Ok(Round {
            answered: spans.len(),
            lost,
            start,
            alive,
        })
    }

    /// Starts the server and waits until it is ready.
    async fn start(&self, log: PathBuf) -> Result<(Server, Duration), Failure> {
        let begun = Instant::now();
        let output = File::create(&log)?;
        let child = Command::new(&self.server)
            .args(["serve", "--listen", &self.address.to_string()])
            .arg("--data-dir")
            .arg(&self.data_dir)
            .env("GATEWRIGHT_BOOTSTRAP_TOKENS", format!("crash:{TOKEN}"))
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        let mut server = Server(child);
        while !ready(self.address).await {
            if server.0.try_wait()?.is_some() || begun.elapsed() > PATIENCE {
                let said = std::fs::read_to_string(&log)?;
                return Err(format!("the server did not become ready:\n{said}").into());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok((server, begun.elapsed()))
    }

    /// Returns the spans that are not there, or there but not closed.
    async fn missing(&self, spans: &[String]) -> Result<Vec<String>, Failure> {
        let mut connection = Connection::open(self.address, TOKEN).await?;
        let mut missing = Vec::new();
        for span in spans {
            let reply = connection.get(&format!("/v2/spans/{span}")).await?;
            let body = reply.json();
            if reply.status != 200 || body["end_time"].is_null() || !body["error"].is_null() {
                missing.push(format!("{span}: {} {body}", reply.status));
            }
        }
        Ok(missing)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGKILL, on purpose. It fails only for a process that has ended already.
        let _killed = self.0.kill();
        let _reaped = self.0.wait();
    }
}

fn free_address() -> Result<SocketAddr, Failure> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}

async fn ready(address: SocketAddr) -> bool {
    let Ok(mut connection) = Connection::open(address, TOKEN).await else {
        return false;
    };
    let reply = connection.get("/readyz").await;
    reply.is_ok_and(|reply| reply.status == 200)
}

/// Stores a function and returns the path of a call of its revision.
async fn store_function(address: SocketAddr) -> Result<String, Failure> {
    let mut connection = Connection::open(address, TOKEN).await?;
    let function = json!({
        "name": "crash",
        "instructions": "Repeat the input.",
        "model": "offline/echo",
    });
    let reply = connection.post("/v2/functions", &function).await?;
    let stored = expect(&reply, 201)?;
    let id = text(&stored, "id")?;
    Ok(format!(
        "/v2/functions/{id}/call/{}",
        text(&stored, "revision_id")?
    ))
}

/// Calls until the connection breaks; returns the span id of each call that was answered.
async fn call_until_cut(address: SocketAddr, path: Arc<str>) -> Result<Vec<String>, Failure> {
    let mut spans = Vec::new();
    let Ok(mut connection) = Connection::open(address, TOKEN).await else {
        return Ok(spans);
    };
    let body = json!({"input": "still here"});
    while let Ok(reply) = connection.post(&path, &body).await {
        spans.push(text(&expect(&reply, 200)?, "span_id")?);
    }
    Ok(spans)
}

fn expect(reply: &Reply, status: u16) -> Result<Value, Failure> {
    let body = reply.json();
    if reply.status != status {
        return Err(format!("{status} was expected, not {}: {body}", reply.status).into());
    }
    Ok(body)
}

fn text(body: &Value, name: &str) -> Result<String, Failure> {
    let text = body[name].as_str();
    Ok(text
        .ok_or_else(|| format!("no `{name}` in {body}"))?
        .to_owned())
}

/// Returns a moment from 50 to 1050 ms.
fn random_moment() -> Duration {
    // The hasher's seed is the standard library's own source of chance.
    let chance = RandomState::new().hash_one(());
    Duration::from_millis(50 + chance % 1000)
}
