//! Power loss under load: is what was promised to be on the disk still there?
//!
//! Each round lets many callers call and functions be stored, kills the server at a random moment, and makes the disks that
//! a power loss may have left then: without all that was not synced, with some of it, with torn sectors. On each the
//! server has to start by itself, the database to be whole, every function to be there that was answered, and every span:
//! of those answered in the last second, only if `store.durability` is `strict`.

#![expect(clippy::print_stdout, reason = "the report is what the program is for")]

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rand::{RngExt, rngs::ChaCha8Rng};
use serde_json::json;
use testkit::{
    arguments::Arguments,
    campaign::{Caller, Database, Disk, End, Failure, Launch, TOKEN, Unsynced, Way, chance},
    client::Connection,
};
use tokio::task::JoinSet;

/// So much may be lost of a span's time in the standard mode.
const SECOND: Duration = Duration::from_secs(1);
/// Between two functions that are stored.
const STORE_PAUSE: Duration = Duration::from_millis(20);

/// What was answered, and when.
#[derive(Clone, Debug)]
struct Kept {
    path: String,
    at: Instant,
}

struct Campaign {
    launch: Launch,
    shim: String,
    journal: PathBuf,
    callers: usize,
    is_strict: bool,
    chance: ChaCha8Rng,
    /// What has to be there whatever comes.
    safe: Vec<String>,
    answered: usize,
    checked: usize,
    lost: usize,
    damaged: usize,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let known = [
        ("server", ""),
        ("shim", ""),
        ("rounds", "20"),
        ("callers", "16"),
        ("durability", "standard"),
        ("seed", ""),
    ];
    let arguments = Arguments::read(&known)?;
    let rounds: u32 = arguments.get("rounds")?;
    let durability = arguments.text("durability").to_owned();
    let (chance, seed) = chance(arguments.text("seed"))?;
    let folder = tempfile::tempdir()?;
    let place = folder.path().canonicalize()?;
    let launch = Launch::new(arguments.text("server"), &place)?
        .with("GATEWRIGHT_STORE__DURABILITY", &durability);
    let mut campaign = Campaign {
        journal: place.join("journal"),
        launch,
        shim: arguments.text("shim").to_owned(),
        callers: arguments.get("callers")?,
        is_strict: durability == "strict",
        chance,
        safe: Vec::new(),
        answered: 0,
        checked: 0,
        lost: 0,
        damaged: 0,
    };
    println!("power loss, durability `{durability}`: {rounds} rounds, seed {seed}");
    let (server, _) = campaign.launch.start().await?;
    let functions = [
        campaign.launch.function("plain", "offline/echo").await?,
        campaign.launch.function("streamed", "offline/echo").await?,
    ];
    server.stop().await?;
    for number in 1..=rounds {
        campaign.round(number, &functions).await?;
    }
    println!(
        "{} answered, {} looked for after {} losses of power, {} lost, {} damaged",
        campaign.answered,
        campaign.checked,
        rounds * 3,
        campaign.lost,
        campaign.damaged
    );
    if campaign.lost + campaign.damaged > 0 || campaign.answered == 0 {
        return Err("what was promised was not kept".into());
    }
    Ok(())
}

impl Campaign {
    async fn round(&mut self, number: u32, functions: &[String; 2]) -> Result<(), Failure> {
        let data = self.launch.data_dir();
        let mut disk = Disk::read(&data)?;
        let (killed_at, kept) = self.load(number, functions).await?;
        let changes = disk.replay(&self.journal)?;
        fs::remove_file(&self.journal)?;

        self.answered += kept.len();
        let due: Vec<String> = kept
            .into_iter()
            .filter(|kept| self.must_be_there(kept, killed_at))
            .map(|kept| kept.path)
            .collect();
        let due_count = due.len();
        self.safe.extend(due);
        for unsynced in [Unsynced::Torn, Unsynced::SomeKept, Unsynced::Lost] {
            disk.lay(&data, unsynced, &mut self.chance)?;
            let integrity = Database::look(&data)?.integrity;
            let (server, start) = self.launch.start().await?;
            let lost = self.missing().await?;
            server.kill();
            println!(
                "round {number:>3}: {changes:>5} changes, {due_count:>5} due, unsynced {unsynced:?}: {} lost, integrity {integrity}, \
                 started in {} ms",
                lost.len(),
                start.as_millis(),
            );
            for lost in lost.iter().take(3) {
                println!("  lost: {lost}");
            }
            self.lost += lost.len();
            self.damaged += usize::from(integrity != "ok");
        }
        // Older ones are asked for by a sample: each start reads them back from the same file.
        let most = self.safe.len().saturating_sub(2000);
        self.safe.drain(..most);
        Ok(())
    }

    fn must_be_there(&self, kept: &Kept, killed_at: Instant) -> bool {
        let is_function = kept.path.starts_with("/v2/functions/");
        is_function || self.is_strict || kept.at + SECOND < killed_at
    }

    /// Lets callers call until the server is killed; returns when that was, and what had been answered.
    async fn load(
        &mut self,
        number: u32,
        functions: &[String; 2],
    ) -> Result<(Instant, Vec<Kept>), Failure> {
        let data = self.launch.data_dir();
        self.launch.set("LD_PRELOAD", self.shim.clone());
        self.launch.set("DISK_DIR", data.to_string_lossy());
        self.launch
            .set("DISK_JOURNAL", self.journal.to_string_lossy());
        let started = self.launch.start().await;
        for name in ["LD_PRELOAD", "DISK_DIR", "DISK_JOURNAL"] {
            self.launch.unset(name);
        }
        let (server, _) = started?;
        let over = Arc::new(AtomicBool::new(false));
        let address = self.launch.address;
        let mut running = JoinSet::new();
        for (caller, way) in (0..self.callers).zip([Way::Plain, Way::Streamed].into_iter().cycle())
        {
            let caller = Caller::new(address, &functions[caller % 2], way);
            running.spawn(call(caller, Arc::clone(&over)));
        }
        running.spawn(store(address, number));
        let moment = Duration::from_millis(self.chance.random_range(1100..2600));
        tokio::time::sleep(moment).await;
        let killed_at = Instant::now();
        server.kill();
        over.store(true, Ordering::Relaxed);
        let mut kept = Vec::new();
        while let Some(seen) = running.join_next().await {
            kept.extend(seen?);
        }
        Ok((killed_at, kept))
    }

    async fn missing(&mut self) -> Result<Vec<String>, Failure> {
        let mut connection = Connection::open(self.launch.address, TOKEN).await?;
        let mut missing = Vec::new();
        for path in &self.safe {
            let reply = connection.get(path).await?;
            let body = reply.json();
            let is_span = path.starts_with("/v2/spans/");
            let is_whole = !is_span || (!body["end_time"].is_null() && body["error"].is_null());
            if reply.status != 200 || !is_whole {
                missing.push(format!("{path}: {} {body}", reply.status));
            }
        }
        self.checked += self.safe.len();
        Ok(missing)
    }
}

async fn call(mut caller: Caller, over: Arc<AtomicBool>) -> Vec<Kept> {
    let mut kept = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let outcome = caller.call("still here").await;
        match (outcome.end, outcome.span) {
            (End::Answered, Some(span)) => kept.push(Kept {
                path: format!("/v2/spans/{span}"),
                at: outcome.at,
            }),
            (End::NotConnected | End::Broken(_), _) => break,
            _ => {}
        }
    }
    kept
}

/// Stores functions until the server is gone.
async fn store(address: SocketAddr, round: u32) -> Vec<Kept> {
    let mut kept = Vec::new();
    let Ok(mut connection) = Connection::open(address, TOKEN).await else {
        return kept;
    };
    for number in 0.. {
        let function = json!({
            "name": format!("kept/{round}-{number}"), "instructions": "x", "model": "offline/echo",
        });
        let Ok(reply) = connection.post("/v2/functions", &function).await else {
            break;
        };
        if let Some(id) = reply.json()["id"].as_str()
            && reply.status == 201
        {
            kept.push(Kept {
                path: format!("/v2/functions/{id}"),
                at: Instant::now(),
            });
        }
        tokio::time::sleep(STORE_PAUSE).await;
    }
    kept
}
